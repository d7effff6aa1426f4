package jobs

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/sojourn-sched/sojourn/mr"
)

// TermVector finds the frequent words of each document: docs/spec/jobs.md, 2.7. Words are counted by (document, word),
// and a group is a document; its frequent words are kept until all are there and can be put in order.
func TermVector(conf mr.Conf) (*mr.Job, error) {
	cutoff, err := conf.Int("cutoff", 10, 1, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	reduce := func(_ *mr.Task, in *mr.Groups, out *mr.Emitter) error { return writeVectors(in, out, cutoff) }
	return &mr.Job{
		Name:      "term-vector",
		Conf:      conf,
		Fold:      mr.Sum(1),
		Partition: fieldPart,
		SameGroup: sameField,
		Map:       countTerms,
		Reduce:    reduce,
	}, nil
}

func countTerms(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	spans := make([]mr.Span, wordBatch)
	var keys pending
	for in.Next() {
		name, err := document(in.Path())
		if err != nil {
			return err
		}
		prefix := appendField(nil, name)
		text := in.Data()
		for at := 0; at < len(text); {
			n, next := mr.Words(spans, text, at)
			for _, w := range spans[:n] {
				keys.text = append(append(keys.text, prefix...), text[w.Start:w.End]...)
				keys.end(out, mr.One)
			}
			at = next
		}
	}
	keys.flush(out, mr.One)
	return nil
}

type term struct {
	word  []byte
	count int64
}

// writeVectors adds up the counts of the words of each document, and writes the words with at least cutoff, the most
// frequent first.
func writeVectors(in *mr.Groups, out *mr.Emitter, cutoff int64) error {
	var terms []term
	var current term // the word whose counts are being added
	var doc, value []byte
	end := func() {
		if current.count >= cutoff {
			terms = append(terms, term{slices.Clone(current.word), current.count})
		}
		current = term{word: current.word[:0]}
	}
	for in.Next() {
		terms = terms[:0]
		for in.NextValue() {
			field, word := cutField(in.Key())
			doc = appendPlain(doc[:0], field)
			if !bytes.Equal(word, current.word) {
				end()
				current.word = append(current.word, word...)
			}
			current.count += mr.Int64(in.Value(), 0)
		}
		end()
		// Words come in order, and a stable sort keeps it among equal counts.
		slices.SortStableFunc(terms, func(a, b term) int { return cmp.Compare(b.count, a.count) })
		for _, t := range terms {
			value = append(append(value[:0], t.word...), ':')
			value = strconv.AppendInt(value, t.count, 10)
			out.Emit(doc, value)
		}
	}
	return nil
}
