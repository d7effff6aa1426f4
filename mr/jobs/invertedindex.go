package jobs

import (
	"bytes"

	"github.com/sojourn-sched/sojourn/mr"
)

// InvertedIndex finds the documents of each word: docs/spec/jobs.md, 2.4. The output line is the key: a set of lines,
// and all pairs of one word go to one part.
func InvertedIndex(conf mr.Conf) (*mr.Job, error) {
	return &mr.Job{
		Name:      "inverted-index",
		Conf:      conf,
		Fold:      mr.Distinct(),
		Partition: wordPart,
		Output:    mr.Keys,
		Map:       pairWords,
	}, nil
}

// wordPart returns the part of a key word TAB document, by the word. Words have no TAB.
func wordPart(key []byte, parts int) int {
	return partOf(key[:bytes.IndexByte(key, '\t')], parts)
}

func pairWords(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	spans := make([]mr.Span, wordBatch)
	var keys pending
	for in.Next() {
		name, err := document(in.Path())
		if err != nil {
			return err
		}
		suffix := append([]byte{'\t'}, name...)
		text := in.Data()
		for at := 0; at < len(text); {
			n, next := mr.Words(spans, text, at)
			for _, w := range spans[:n] {
				keys.text = append(append(keys.text, text[w.Start:w.End]...), suffix...)
				keys.end(out, nil)
			}
			at = next
		}
	}
	keys.flush(out, nil)
	return nil
}
