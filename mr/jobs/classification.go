package jobs

import (
	"encoding/binary"
	"strconv"

	"github.com/sojourn-sched/sojourn/mr"
)

// Classification puts movies to given centroids: docs/spec/jobs.md, 3.3.
func Classification(conf mr.Conf) (*mr.Job, error) {
	return withCentroids(conf, "classification", func(c *centroids) (*mr.Job, error) {
		classify := func(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
			var keys pending
			sums := make([]affinity, len(c.lines))
			eachMovie(t, in, func(m *movie, _ []byte) {
				cluster, _ := c.nearest(m, sums)
				b := binary.BigEndian.AppendUint16(keys.text, uint16(cluster))
				keys.text = binary.BigEndian.AppendUint64(b, m.id)
				keys.end(out, nil)
			})
			keys.flush(out, nil)
			return nil
		}
		return &mr.Job{
			Name:      "classification",
			Conf:      conf,
			Partition: clusterPart,
			Map:       classify,
			Reduce:    writeClasses,
		}, nil
	})
}

// clusterPart deals clusters to parts in turn: there are few, and a hash would leave parts empty.
func clusterPart(key []byte, parts int) int { return int(binary.BigEndian.Uint16(key)) % parts }

func writeClasses(_ *mr.Task, in *mr.Groups, out *mr.Emitter) error {
	var lines []byte
	for in.Next() {
		for in.NextValue() {
			key := in.Key()
			lines = append(strconv.AppendUint(lines, uint64(binary.BigEndian.Uint16(key)), 10), '\t')
			lines = append(strconv.AppendUint(lines, binary.BigEndian.Uint64(key[2:]), 10), '\n')
			if len(lines) >= fullPending {
				out.Write(lines)
				lines = lines[:0]
			}
		}
	}
	out.Write(lines)
	return nil
}
