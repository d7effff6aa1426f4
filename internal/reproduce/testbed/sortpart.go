package testbed

import (
	"bytes"
	"fmt"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/jobs"
)

// SortPart is the name of a job that mixes have beside the built-in ones. It sorts a part of the lines, evenly spread
// over its input.
const SortPart = "sort-part"

// partSorter makes the job SortPart. Its configuration has the part, from 0 to 1.
func partSorter(conf mr.Conf) (*mr.Job, error) {
	part, err := conf.Float("part", 1)
	if err != nil {
		return nil, err
	}
	if !(part >= 0 && part <= 1) {
		return nil, fmt.Errorf("part %v: must be from 0 to 1", part)
	}
	j, err := jobs.Sort(conf)
	if err != nil {
		return nil, err
	}
	j.Name, j.TotalOrder = SortPart, false
	j.Map = func(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
		due := 0.0
		for in.Next() {
			for line := range bytes.Lines(in.Data()) {
				if due += part; due >= 1 {
					due--
					out.Emit(bytes.TrimSuffix(line, []byte("\n")), nil)
				}
			}
		}
		return nil
	}
	return j, nil
}
