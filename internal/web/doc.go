// Package web shows runs in a browser: while they go, and from their records.
//
// A [Board] watches the core of one run, as a record's writer does, and keeps what the page shows: a row a job, a node
// and a queue, a bounded log of attempts, and averages over time. A [Site] serves the boards of one or several runs as
// one page, over a typed REST interface below /api/v1 that scripts can use too (openapi.json describes it).
// [WriteReport] puts the page and what it shows into one file.
//
// The engine's goroutine writes a board while the run goes, under the board's lock. Most answers come from a
// [boardCopy], an immutable copy that is made at most once a second, so that readers hold the lock for one copy only.
// Answers about attempts and stages are read from the board itself, under its lock.
//
// The files:
//
//	board.go  attempts.go  timeline.go            the board: rows, log of attempts, averages over time
//	boardcopy.go  views.go                        the copy of a board, and what one user may see of it
//	types.go                                      the answers of the REST interface
//	convert.go  users.go  lanes.go  past.go  compare.go  logs.go
//	                                              how answers are made
//	routes.go  site.go  token.go                  the paths, and the server
//	report.go  plots.go                           a run as one file, and its pictures
package web
