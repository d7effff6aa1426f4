package jobs

import (
	"bytes"
	"math"
	"strconv"

	"github.com/sojourn-sched/sojourn/mr"
)

// RankedInvertedIndex orders the documents of each text by count: docs/spec/jobs.md, 2.6. The key is text, negated
// count, document: the shuffle's order is the output's, and the reduce only rewrites it.
func RankedInvertedIndex(conf mr.Conf) (*mr.Job, error) {
	return &mr.Job{
		Name:      "ranked-inverted-index",
		Conf:      conf,
		Partition: fieldPart,
		Map:       rankLines,
		Reduce:    writeRanked,
	}, nil
}

func rankLines(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	var keys pending
	bad := int64(0)
	for in.Next() {
		for text := in.Data(); len(text) > 0; {
			n := lineLength(text)
			line := text[:n]
			text = text[min(n+1, len(text)):]
			tab := bytes.LastIndexByte(line, '\t')
			bar := bytes.LastIndexByte(line[:max(tab, 0)], '|')
			count, ok := parseCount(line[tab+1:])
			if tab < 0 || bar < 0 || !ok {
				bad++
				continue
			}
			b := mr.AppendInt64(appendField(keys.text, line[:bar]), -count)
			keys.text = append(b, line[bar+1:tab]...)
			keys.end(out, nil)
		}
	}
	keys.flush(out, nil)
	malformed(t, bad)
	return nil
}

// parseCount reads a decimal number below 2^63 without sign.
func parseCount(s []byte) (n int64, ok bool) {
	for _, c := range s {
		d := int64(c) - '0'
		if d < 0 || d > 9 || n > (math.MaxInt64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, len(s) > 0
}

func writeRanked(_ *mr.Task, in *mr.Groups, out *mr.Emitter) error {
	var line []byte
	for in.Next() {
		for in.NextValue() {
			field, rest := cutField(in.Key())
			line = append(appendPlain(line[:0], field), '\t')
			line = append(strconv.AppendInt(line, -mr.OrderedInt64(rest), 10), '|')
			out.Write(append(append(line, rest[8:]...), '\n'))
		}
	}
	return nil
}
