package main

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/mr"
)

// newInitials makes a job that counts words by their first letters. It is written with Go values; mr.Job is the same
// over bytes, which is faster.
func newInitials(conf mr.Conf) (*mr.Job, error) {
	job := mr.Typed[string, int64]{
		Name: "initials",
		Map: func(line string, emit func(string, int64)) {
			for word := range strings.FieldsSeq(line) {
				first, _ := utf8.DecodeRuneInString(word)
				emit(string(unicode.ToLower(first)), 1)
			}
		},
		Reduce: func(letter string, counts iter.Seq[int64], emit func(string, int64)) {
			sum := int64(0)
			for n := range counts {
				sum += n
			}
			emit(letter, sum)
		},
		Combine: true, // a sum of sums is the sum
	}.Job()
	job.Conf = conf
	return job, nil
}
