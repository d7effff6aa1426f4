package jobs

import (
	"bytes"

	"github.com/sojourn-sched/sojourn/mr"
)

// Sort sorts lines: docs/spec/jobs.md, 2.3.
func Sort(conf mr.Conf) (*mr.Job, error) {
	return &mr.Job{Name: "sort", Conf: conf, TotalOrder: true, Output: mr.Keys, Map: emitLines}, nil
}

func emitLines(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	spans := make([]mr.Span, 0, wordBatch)
	for in.Next() {
		text := in.Data()
		for at := 0; at < len(text); {
			spans = spans[:0]
			for at < len(text) && len(spans) < cap(spans) {
				end := at + lineLength(text[at:])
				spans = append(spans, mr.Span{Start: uint32(at), End: uint32(end)})
				at = end + 1
			}
			out.EmitEach(text, spans, nil)
		}
	}
	return nil
}

// lineLength returns the length of the line that text begins with, without its newline, which a last line may lack.
func lineLength(text []byte) int {
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}
