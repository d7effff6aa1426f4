package jobs

import "github.com/sojourn-sched/sojourn/mr"

// A terasort record is a key and a payload.
const (
	recordBytes = 100
	keyBytes    = 10
)

// TeraSort sorts records: docs/spec/jobs.md, 5.1. The whole record is the key: its first ten bytes decide nearly
// always, and what follows decides between equal ones, so that the order does not depend on splits.
func TeraSort(conf mr.Conf) (*mr.Job, error) {
	return &mr.Job{
		Name:       "terasort",
		Conf:       conf,
		Record:     recordBytes,
		TotalOrder: true,
		Output:     mr.Plain,
		Map:        emitRecords,
	}, nil
}

func emitRecords(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	var spans []mr.Span
	for in.Next() {
		data := in.Data()
		spans = spans[:0]
		for at := 0; at < len(data); at += recordBytes {
			spans = append(spans, mr.Span{Start: uint32(at), End: uint32(at + recordBytes)})
		}
		out.EmitEach(data, spans, nil)
	}
	return nil
}
