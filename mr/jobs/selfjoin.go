package jobs

import (
	"bytes"

	"github.com/sojourn-sched/sojourn/mr"
)

// SelfJoin pairs the items of a prefix: docs/spec/jobs.md, 4.2. The key is prefix and item; a group is a prefix. Few
// pairs come twice, so they are sorted rather than folded.
func SelfJoin(conf mr.Conf) (*mr.Job, error) {
	return &mr.Job{
		Name:      "self-join",
		Conf:      conf,
		Partition: fieldPart,
		SameGroup: sameField,
		Map:       cutItems,
		Reduce:    writePairs,
	}, nil
}

func cutItems(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	var keys pending
	bad := int64(0)
	for in.Next() {
		for text := in.Data(); len(text) > 0; {
			n := lineLength(text)
			line := text[:n]
			text = text[min(n+1, len(text)):]
			comma := bytes.LastIndexByte(line, ',')
			if comma < 0 {
				bad++
				continue
			}
			keys.text = append(appendField(keys.text, line[:comma]), line[comma+1:]...)
			keys.end(out, nil)
		}
	}
	keys.flush(out, nil)
	malformed(t, bad)
	return nil
}

// writePairs is the reduce function. It keeps the different items of a prefix, which come in order, and writes each
// pair of them, the smaller item first.
func writePairs(_ *mr.Task, in *mr.Groups, out *mr.Emitter) error {
	var prefix, items, lines []byte // items one behind the other
	var ends []int
	for in.Next() {
		field, _ := cutField(in.Key())
		prefix = append(appendPlain(prefix[:0], field), '\t')
		items, ends = items[:0], ends[:0]
		start := 0 // of the last item
		for in.NextValue() {
			_, item := cutField(in.Key())
			if len(ends) > 0 && bytes.Equal(item, items[start:]) {
				continue
			}
			start = len(items)
			items = append(items, item...)
			ends = append(ends, len(items))
		}
		start = 0
		for i, end := range ends {
			x := items[start:end]
			for _, next := range ends[i+1:] {
				lines = append(append(append(lines, prefix...), x...), ',')
				lines = append(append(lines, items[end:next]...), '\n')
				end = next
				if len(lines) >= fullPending {
					out.Write(lines)
					lines = lines[:0]
				}
			}
			start = ends[i]
		}
	}
	out.Write(lines)
	return nil
}
