package workload

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// maxLine is the length in bytes of the longest line of a log or a table. Spark writes its whole environment in one.
const maxLine = 16 << 20

// maxGathered is how many jobs and stages of a table are read before the first is yielded, where the table is not in
// order of submission.
const maxGathered = 1 << 20

// An importedStage is tasks of an imported job that do the same.
type importedStage struct {
	each  sched.Resources
	list  []Task     // one by one
	tasks int32      // or, without list, so many of
	time  sched.Time // this time each
	after []int32    // stages that must be done before
}

// imported makes a job of its stages; ordinal is its place among all, from 1.
func (o *Options) imported(spec sched.JobSpec, ordinal int64, stages []importedStage) (*sched.JobSpec, error) {
	truth := &Truth{Seed: uint64(NewChance(o.Seed).With(uint64(ordinal)))}
	var err error
	for _, st := range stages {
		t := StageTruth{Tasks: st.tasks}
		if st.list != nil {
			for i := range st.list {
				if st.list[i].Compute, err = o.scaleTime(st.list[i].Compute); err != nil {
					return nil, err
				}
			}
			t = listed(st.list)
		} else if t.Base, err = o.scaleTime(st.time); err != nil {
			return nil, err
		}
		s := sched.StageSpec{
			Kind: sched.Other, PerTask: st.each, Tasks: t.Tasks, InputBytes: t.Input,
			MaxAttempts: sched.DefaultMaxAttempts,
		}
		for _, d := range st.after {
			s.After = append(s.After, sched.Dep{Stage: d, Part: 1})
		}
		truth.Stages, spec.Stages = append(truth.Stages, t), append(spec.Stages, s)
	}
	spec.Payload = truth
	return &spec, nil
}

// each returns what a task holds: memory in MiB and vcores on a cluster with containers, where they are known (not
// zero); else the default of the cluster.
func (o *Options) each(memory, vcores int64) sched.Resources {
	r := o.MapTask
	if r[sched.Memory] > 0 && memory > 0 {
		r[sched.Memory] = memory
	}
	if r[sched.VCores] > 0 && vcores > 0 {
		r[sched.VCores] = vcores
	}
	return r
}

// lines calls each with the lines of the text and their numbers, without their ends; blank lines are passed over. An
// errStop of each ends the reading without an error. The bytes of a line are valid until the next.
func (in *input) lines(each func(number int, line string) error) error {
	var long []byte
	for number := 1; ; number++ {
		long = long[:0]
		for {
			part, err := in.ReadSlice('\n')
			long = append(long, part...)
			if len(long) > maxLine {
				return in.at(number, 0, "is longer than %d MiB", maxLine>>20)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && err != io.EOF {
				return in.broken(err)
			}
			if err == io.EOF && len(long) == 0 {
				return nil
			}
			break
		}
		line := strings.TrimRight(string(long), "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := each(number, line); err != nil {
			return unlessStopped(err)
		}
	}
}

// A gathered is a job that waits until all jobs of a table are read.
type gathered struct {
	spec *sched.JobSpec
	line int
}

// release yields jobs in order of submission; those submitted at the same time in the order of the table.
func release(in *input, jobs []gathered, e emit) error {
	if len(jobs) == 0 {
		return in.at(0, 0, "holds no job that ran")
	}
	slices.SortStableFunc(jobs, func(a, b gathered) int { return cmp.Compare(a.spec.Submit, b.spec.Submit) })
	for _, j := range jobs {
		if !e(j.spec, j.line) {
			break
		}
	}
	return nil
}

// seconds reads a time in seconds, from 0 to ten years.
func seconds(text string) (sched.Time, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0) || x*1e9 > MaxTime {
		return 0, fmt.Errorf("%.40q, must be seconds, from 0 to ten years", text)
	}
	return sched.Time(x * 1e9), nil
}

// since1970 makes a time of milliseconds since 1970.
func since1970(ms int64) (sched.Time, error) {
	if ms < 0 || ms > 1<<43 {
		return 0, fmt.Errorf("%d, must be milliseconds since 1970", ms)
	}
	return sched.Time(ms) * time.Millisecond, nil
}

// ran returns the time between two instants of milliseconds since 1970.
func ran(start, end int64) (sched.Time, error) {
	if end < start || end-start > MaxTime/int64(time.Millisecond) {
		return 0, fmt.Errorf("ends at %d ms and starts at %d ms", end, start)
	}
	return sched.Time(end-start) * time.Millisecond, nil
}
