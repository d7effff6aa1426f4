package jobs

import "github.com/sojourn-sched/sojourn/mr"

// WordCount counts words: docs/spec/jobs.md, 2.1.
func WordCount(conf mr.Conf) (*mr.Job, error) {
	return &mr.Job{Name: "wordcount", Conf: conf, Fold: mr.Sum(1), Map: countWords}, nil
}

// wordBatch is how many words are handled at a time, so that their bytes are still in the cache.
const wordBatch = 512

func countWords(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	spans := make([]mr.Span, wordBatch)
	for in.Next() {
		text := in.Data()
		for at := 0; at < len(text); {
			n, next := mr.Words(spans, text, at)
			out.EmitEach(text, spans[:n], mr.One)
			at = next
		}
	}
	return nil
}
