package streaming

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/joblog"
)

// Reporter takes what a program reports on standard error; a *mr.Task is one.
type Reporter interface {
	Count(group, name string, n int64) // a line "reporter:counter:group,name,amount"
	Status(s string)                   // a line "reporter:status:message"
}

const (
	tailBytes = 4 << 10 // of standard error that are kept for an error message
	tailLines = 20
	lineBytes = 64 << 10 // longer lines of standard error are not looked into
)

// errorStream reads a program's standard error: lines for the reporter are obeyed, of the rest the end is kept.
type errorStream struct {
	reporter Reporter
	line     []byte // begun, not ended; empty: long, or no line is begun
	long     bool   // the line is longer than lineBytes: what was read of it is kept already
	tail     []byte
	log      *joblog.File // of the rest; nil: it is not kept
}

// read reads to the end, and says at every read that the program lives.
func (e *errorStream) read(from io.Reader, alive func()) {
	buf := make([]byte, 4<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			alive()
			e.take(buf[:n])
		}
		if err != nil { // the end, or the pipe was closed on us
			if len(e.line) > 0 || e.long {
				e.end()
			}
			e.log.Close(e.tail)
			return
		}
	}
}

func (e *errorStream) take(b []byte) {
	for {
		i := bytes.IndexByte(b, '\n')
		part := b
		if i >= 0 {
			part = b[:i]
		}
		if !e.long && len(e.line)+len(part) > lineBytes {
			e.long = true
			e.keep(e.line)
			e.line = e.line[:0]
		}
		if e.long {
			e.keep(part)
		} else {
			e.line = append(e.line, part...)
		}
		if i < 0 {
			return
		}
		e.end()
		b = b[i+1:]
	}
}

// end ends a line.
func (e *errorStream) end() {
	switch {
	case e.long:
		e.keep([]byte{'\n'})
	case !e.report(string(e.line)):
		e.keep(append(e.line, '\n'))
	}
	e.line, e.long = e.line[:0], false
}

// keep adds text for people to the log, and to the tail.
func (e *errorStream) keep(text []byte) {
	e.log.Write(text)
	e.tail = append(e.tail, text...)
	if extra := len(e.tail) - tailBytes; extra > 0 {
		e.tail = append(e.tail[:0], e.tail[extra:]...)
	}
}

// report obeys a line for the reporter. What only looks like one is left for people to see.
func (e *errorStream) report(line string) bool {
	order, ok := strings.CutPrefix(line, "reporter:")
	if !ok {
		return false
	}
	if status, ok := strings.CutPrefix(order, "status:"); ok {
		e.reporter.Status(strings.TrimSpace(status))
		return true
	}
	if counter, ok := strings.CutPrefix(order, "counter:"); ok {
		f := strings.Split(strings.TrimSpace(counter), ",")
		if len(f) != 3 {
			return false
		}
		n, err := strconv.ParseInt(f[2], 10, 64)
		if err == nil {
			e.reporter.Count(f[0], f[1], n)
		}
		return err == nil
	}
	return false
}

// last returns the end of what was written for people.
func (e *errorStream) last() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(e.tail), "\uFFFD")), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
