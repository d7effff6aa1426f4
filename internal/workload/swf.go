package workload

import (
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// swfFields are the fields of a line of the Standard Workload Format that matter here, by their places from 0.
const (
	swfJob       = 0
	swfSubmit    = 1 // s
	swfRun       = 3 // s
	swfAllocated = 4 // processors
	swfUsedKB    = 6 // a processor
	swfRequested = 7 // processors
	swfAskedKB   = 9 // a processor
	swfUser      = 11
	swfQueue     = 14
	swfColumns   = 18
)

// isSWF reports whether a line is one of the Standard Workload Format: 18 numbers.
func isSWF(line string) bool {
	f := strings.Fields(line)
	if len(f) != swfColumns {
		return false
	}
	for _, text := range f {
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return false
		}
	}
	return true
}

// readSWF reads jobs of the Parallel Workloads Archive, one a line (Chapin et al.: Benchmarks and Standards for the
// Evaluation of Parallel Job Schedulers, JSSPP 1999; https://www.cs.huji.ac.il/labs/parallel/workload/swf.html). A job
// on p processors for t seconds is p tasks of one vcore for t.
func readSWF(in *input, o *Options, e emit) error {
	in.report.never("that the processors of a job start together: they are tasks, which start when there is room",
		"names of users and queues: they are numbers", "the sizes of nodes: describe them with --cluster")
	ordinal := int64(0)
	return in.lines(func(number int, line string) error {
		if strings.HasPrefix(strings.TrimSpace(line), ";") {
			return nil
		}
		f := strings.Fields(line)
		if len(f) != swfColumns {
			return in.at(number, 0, "has %s, must have %d (Standard Workload Format)",
				spelling.Count(len(f), "field"), swfColumns)
		}
		v := [swfColumns]float64{}
		for i := range f {
			x, err := strconv.ParseFloat(f[i], 64)
			if err != nil || !(x >= -1 && x <= MaxBytes) {
				return in.at(number, 0, "field %d: %.40q, must be a number, or -1 for not known", i+1, f[i])
			}
			v[i] = x
		}
		processors := v[swfAllocated]
		if processors <= 0 {
			processors = v[swfRequested]
		}
		if v[swfRun] <= 0 || processors < 1 {
			in.report.leave("the job did not run")
			return nil
		}
		if processors > MaxTasks || v[swfRun]*1e9 > MaxTime || v[swfSubmit] < 0 || v[swfSubmit]*1e9 > MaxTime {
			return in.at(number, 0, "%g processors for %g s, submitted at %g s: too many, too long or too late",
				processors, v[swfRun], v[swfSubmit])
		}
		kb := v[swfAskedKB]
		if kb <= 0 {
			kb = v[swfUsedKB]
		}
		if kb <= 0 {
			in.report.lack("memory: tasks have the default")
		}
		spec := sched.JobSpec{Name: f[swfJob], Type: "SWF", Submit: sched.Time(v[swfSubmit] * float64(time.Second))}
		if v[swfUser] >= 0 {
			spec.User = "user" + f[swfUser]
		}
		if v[swfQueue] >= 0 {
			spec.Queue = "queue" + f[swfQueue]
		}
		ordinal++
		job, err := o.imported(spec, ordinal, []importedStage{{
			each: o.each((int64(max(0, kb))+1023)/1024, 1), tasks: int32(processors),
			time: sched.Time(v[swfRun] * float64(time.Second)),
		}})
		if err != nil {
			return in.at(number, 0, "%w", err)
		}
		if !e(job, number) {
			return errStop
		}
		return nil
	})
}
