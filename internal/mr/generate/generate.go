// Package generate makes input for the built-in jobs: text, documents, movies with ratings, edges, associations and
// terasort records. Equal arguments give equal bytes on every machine: all weights are integers, and all chance comes
// from the seed. Everything is written as it is made, so size costs no memory.
package generate

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// Entry is a generator as a command line knows it: size and seed only, everything else at its default.
type Entry struct {
	About string                                // one line: what it makes, and for which jobs
	New   func(bytes int64, seed uint64) Writer // bytes > 0, approximately: output ends with the line that reaches it
}

// Writer writes its whole output, always the same, to w. The error is w's, or says which field is out of range.
type Writer interface{ Write(w io.Writer) error }

// All has every generator that writes one stream, by name. Documents, which needs a folder, is not among them.
var All = map[string]Entry{
	"text": {
		"words by Zipf's law, in lines: wordcount, grep, sort",
		func(n int64, seed uint64) Writer { return Text{Bytes: n, Seed: seed} },
	},
	"ratings": {
		"movies with their ratings: histograms, classification, kmeans",
		func(n int64, seed uint64) Writer { return Ratings{Bytes: n, Seed: seed} },
	},
	"edges": {
		"edges from,to of a graph with few big vertices: adjacency-list",
		func(n int64, seed uint64) Writer { return Edges{Bytes: n, Seed: seed} },
	},
	"associations": {
		"associations f1,…,fk that share prefixes: self-join",
		func(n int64, seed uint64) Writer { return Associations{Bytes: n, Seed: seed} },
	},
	"teragen": {"records of 100 bytes, Hadoop's teragen: terasort", func(n int64, seed uint64) Writer {
		return TeraGen{Rows: (n + recordBytes - 1) / recordBytes, Seed: seed}
	}},
}

// source returns the chance of a generator: stream keeps generators with the same seed apart.
func source(seed, stream uint64) *rand.PCG { return rand.NewPCG(seed, stream) }

// output collects what is written into large writes and knows when there is enough.
type output struct {
	w     io.Writer
	buf   []byte
	limit int64 // bytes wanted
	done  int64 // bytes handed to w
}

// outputBytes is the size of a write: large beside a system call, small beside a cache.
const outputBytes = 64 << 10

func newOutput(w io.Writer, limit int64) *output {
	return &output{w: w, limit: limit, buf: make([]byte, 0, outputBytes+4096)}
}

// fill appends to the output by next until the limit is reached, and writes everything to w.
func (o *output) fill(next func(buf []byte) []byte) error {
	for o.done+int64(len(o.buf)) < o.limit {
		o.buf = next(o.buf)
		if len(o.buf) >= outputBytes {
			if err := o.flush(); err != nil {
				return err
			}
		}
	}
	return o.flush()
}

func (o *output) flush() error {
	n, err := o.w.Write(o.buf)
	o.done += int64(n)
	o.buf = o.buf[:0]
	if err != nil {
		return fmt.Errorf("write generated data: %w", err)
	}
	return nil
}

// or returns v, or what stands for it where v is zero.
func or[T int | int64](v, standard T) T {
	if v == 0 {
		return standard
	}
	return v
}
