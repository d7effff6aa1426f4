// Package policy holds the scheduling policies, one a file, each headed by its source, and the little language in which
// the command line names them: fair:delay=5s,preempt=kill or late{fair:delay=5s}:max=0.1.
//
// Most policies are an order of stages (whose turn it is) and a placer (where), joined by fill. What a policy remembers
// is in its exported fields and goes through JSON; everything else is a parameter or a cache, so a decision is a
// function of the view and the memory. Policies are written against package sched alone and run on every engine.
//
// To add one: a section in docs/spec/policies.md, a file here with its card and its constructor, a line in All, and
// scenarios in testdata/<name>. Conformance runs on whatever All has.
package policy
