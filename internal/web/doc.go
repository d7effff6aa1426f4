// Package web shows runs in a browser: while they go, and from their records.
//
// A [Board] watches the core of one run, as a record's writer does, and keeps what the page shows: a row a job, a node
// and a queue, a bounded log of attempts, and averages over time. A [Site] serves the boards of one or several runs as
// one page, over a typed REST interface below /api/v1 that scripts can use too (openapi.json describes it).
// [WriteReport] puts the page and what it shows into one file.
//
// A board belongs to the engine's goroutine while the run goes. Each answer comes from a [boardCopy], an immutable copy
// that is made at most once a second, so that a reader never makes the engine wait for longer than one copy takes.
package web
