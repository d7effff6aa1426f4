package run

import "fmt"

// A Failure is an error of the work, not of what was asked for.
type Failure struct{ error }

// Unwrap returns the error.
func (f Failure) Unwrap() error { return f.error }

// Failuref returns a Failure with a message.
func Failuref(format string, args ...any) error { return Failure{fmt.Errorf(format, args...)} }

// A Loss is an error that lost what was to be kept: it counts even when the run was interrupted.
type Loss struct{ error }

// Unwrap returns the error.
func (l Loss) Unwrap() error { return l.error }

// Lost returns a Loss, which is a Failure too, for an error.
func Lost(err error) error { return Loss{Failure{err}} }

// A Panic is a panic while a policy decided.
type Panic struct {
	error
	Stack []byte
}

// Unwrap returns the error.
func (p Panic) Unwrap() error { return p.error }
