// Package policy holds the scheduling policies, one a file, each headed by its source, and the little language in which
// the command line names them: fair:delay=5s,preempt=kill or late{fair:delay=5s}:max=0.1.
//
// Most policies are an [Order] of stages (whose turn it is) and a [Placer] (where), joined by [Order.Fill]. The memory
// of a policy is in its exported fields and goes through JSON. Everything else is a parameter or a cache. So a decision
// is a function of the view and the memory. Policies read package sched alone and run on every engine.
//
// A program outside this module writes a policy with the same parts, see the example. It gives the policy a [Card] and
// an [Entry], adds it to the command line by cli.Main(cli.With(cli.Policy{...})), and tests it with package policytest.
//
// A policy of this package is a section in docs/spec/policies.md, a file with its card and its constructor, a line in
// All, and scenarios in testdata/<name>. The conformance suite runs on each policy of All.
package policy
