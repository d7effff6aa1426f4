package jobs

import (
	"bytes"
	"strconv"

	"github.com/sojourn-sched/sojourn/mr"
)

// SequenceCount counts three words in a row by document: docs/spec/jobs.md, 2.5. Most sequences come once, so they are
// sorted rather than folded; where they recur, combining keeps spills small.
func SequenceCount(conf mr.Conf) (*mr.Job, error) {
	return &mr.Job{
		Name:    "sequence-count",
		Conf:    conf,
		Map:     countSequences,
		Combine: addUp(false),
		Reduce:  addUp(true),
	}, nil
}

// addUp adds counts, and writes them in decimal if these are the last.
func addUp(last bool) mr.Func[*mr.Groups] {
	return func(_ *mr.Task, in *mr.Groups, out *mr.Emitter) error {
		var b []byte
		for in.Next() {
			n := int64(0)
			for in.NextValue() {
				n += mr.Int64(in.Value(), 0)
			}
			if last {
				b = strconv.AppendInt(b[:0], n, 10)
			} else {
				b = mr.AppendSum(b[:0], n)
			}
			out.Emit(in.Key(), b)
		}
		return nil
	}
}

// countSequences is the map function. It emits the key w1|w2|w3|document with count 1 for every three consecutive words
// of a line. A sequence does not go beyond the end of a line.
func countSequences(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	spans := make([]mr.Span, wordBatch)
	var keys pending
	for in.Next() {
		name, err := document(in.Path())
		if err != nil {
			return err
		}
		suffix := append([]byte{'|'}, name...)
		text := in.Data()
		var first, second mr.Span // the two words before, empty where the line has none
		for at := 0; at < len(text); {
			n, next := mr.Words(spans, text, at)
			for _, third := range spans[:n] {
				if bytes.IndexByte(text[second.End:third.Start], '\n') >= 0 {
					first, second = mr.Span{}, mr.Span{}
				}
				if first.End > first.Start {
					b := append(append(keys.text, text[first.Start:first.End]...), '|')
					b = append(append(b, text[second.Start:second.End]...), '|')
					keys.text = append(append(b, text[third.Start:third.End]...), suffix...)
					keys.end(out, mr.One)
				}
				first, second = second, third
			}
			at = next
		}
	}
	keys.flush(out, mr.One)
	return nil
}
