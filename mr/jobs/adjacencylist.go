package jobs

import (
	"bytes"

	"github.com/sojourn-sched/sojourn/mr"
)

// AdjacencyList lists the neighbours of each vertex: docs/spec/jobs.md, 4.1. The key is vertex, direction, neighbour;
// the reduce writes lists as they come, so that a vertex with a billion neighbours needs no memory. Few edges come
// twice: sorting them all takes a third of the time of keeping a set of them.
func AdjacencyList(conf mr.Conf) (*mr.Job, error) {
	return &mr.Job{
		Name:      "adjacency-list",
		Conf:      conf,
		Partition: fieldPart,
		SameGroup: sameField,
		Map:       splitEdges,
		Reduce:    writeLists,
	}, nil
}

// Directions of an edge in a key, in the order they are written.
const (
	edgeFrom = 'f'
	edgeTo   = 't'
)

// splitEdges is the map function. It emits each edge twice: for the vertex where it begins, and for the one where it
// ends.
func splitEdges(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	var keys pending
	bad := int64(0)
	for in.Next() {
		for text := in.Data(); len(text) > 0; {
			n := lineLength(text)
			line := text[:n]
			text = text[min(n+1, len(text)):]
			comma := bytes.IndexByte(line, ',')
			if comma <= 0 || comma == n-1 || bytes.IndexByte(line[comma+1:], ',') >= 0 {
				bad++
				continue
			}
			from, to := line[:comma], line[comma+1:]
			keys.text = append(append(appendField(keys.text, from), edgeTo), to...)
			keys.end(out, nil)
			keys.text = append(append(appendField(keys.text, to), edgeFrom), from...)
			keys.end(out, nil)
		}
	}
	keys.flush(out, nil)
	malformed(t, bad)
	return nil
}

// writeLists is the reduce function. It writes a line for each vertex. Keys are in order, so equal neighbours follow
// each other and are written once, and the neighbours of one direction come before those of the other.
func writeLists(_ *mr.Task, in *mr.Groups, out *mr.Emitter) error {
	var line, last []byte
	for in.Next() {
		field, _ := cutField(in.Key())
		line = append(appendPlain(line[:0], field), "\tfrom{"...)
		direction, separator := byte(edgeFrom), ""
		last = last[:0]
		for in.NextValue() {
			_, neighbour := cutField(in.Key())
			if bytes.Equal(neighbour, last) {
				continue
			}
			last = append(last[:0], neighbour...)
			if neighbour[0] != direction {
				line = append(line, "}:to{"...)
				direction, separator = edgeTo, ""
			}
			line = append(append(line, separator...), neighbour[1:]...)
			separator = ","
			if len(line) >= fullPending {
				out.Write(line)
				line = line[:0]
			}
		}
		if direction == edgeFrom {
			line = append(line, "}:to{"...)
		}
		out.Write(append(line, "}\n"...))
	}
	return nil
}
