package cli

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// sourceFlags say which jobs: a workload, and what part of it.
type sourceFlags struct {
	trace     string
	most      int64
	timeScale float64
	sizeScale float64
	from      string
	until     string

	format workload.Format // of what was opened
}

func (s *sourceFlags) register(c *cobra.Command) {
	c.Flags().
		StringVar(&s.trace, "trace", "", "workload file, format by content: SWIM, Rumen, SLS, YAML, job histories "+
			"(a file or a folder), and others (docs/what-if.md); .gz and .zst as they are; - is standard input")
	s.registerPart(c)
}

// registerPart registers what says which part of a workload.
func (s *sourceFlags) registerPart(c *cobra.Command) {
	f := c.Flags()
	f.Int64Var(&s.most, "jobs", 0, "take only the first so many jobs; 0: all")
	f.Float64Var(&s.timeScale, "time-scale", 1, "multiply submission times; above 0, less is denser")
	f.Float64Var(&s.sizeScale, "size-scale", 1, "multiply bytes and task times; above 0")
	f.StringVar(&s.from, "from", "", "leave out jobs submitted before this time (90s, 5m)")
	f.StringVar(&s.until, "until", "", "leave out jobs submitted at this time or later")
}

// open opens the workload, with o saying how a trace's jobs become tasks.
func (s *sourceFlags) open(o workload.Options) (workload.Source, *workload.File, error) {
	if s.trace == "" {
		return nil, nil, usagef("--trace FILE is needed: which jobs? 'sojourn workload generate' makes some")
	}
	if !(s.timeScale > 0) || math.IsInf(s.timeScale, 0) {
		return nil, nil, usagef("--time-scale %v: must be above 0", s.timeScale)
	}
	if !(s.sizeScale > 0) || math.IsInf(s.sizeScale, 0) {
		return nil, nil, usagef("--size-scale %v: must be above 0", s.sizeScale)
	}
	if s.most < 0 {
		return nil, nil, usagef("--jobs %d: must be 0 or more", s.most)
	}
	o.SizeScale = s.sizeScale
	file, err := openWorkload(s.trace, o)
	if err != nil {
		return nil, nil, err
	}
	s.format = file.Format
	jobs := file.Jobs
	from, until, err := s.span()
	if err != nil {
		return nil, nil, err
	}
	if from > 0 || until > 0 {
		jobs = workload.Between(jobs, from, until)
	}
	if s.timeScale != 1 {
		jobs = workload.TimeScale(jobs, s.timeScale)
	}
	if s.most > 0 {
		jobs = workload.Take(jobs, int(s.most))
	}
	return jobs, file, nil
}

// span returns the times between which jobs are taken; an until of zero is no end.
func (s *sourceFlags) span() (from, until sched.Time, err error) {
	if s.from != "" {
		if from, err = workload.ParseTime(s.from); err != nil {
			return 0, 0, usageError{fmt.Errorf("--from: %w", err)}
		}
	}
	if s.until != "" {
		if until, err = workload.ParseTime(s.until); err != nil {
			return 0, 0, usageError{fmt.Errorf("--until: %w", err)}
		}
		if until <= from {
			return 0, 0, usagef("--until %v: must be later than --from %v", until, from)
		}
	}
	return from, until, nil
}

// bytes reports whether the opened format gives jobs by their bytes.
func (s *sourceFlags) bytes() bool { return s.format == workload.SWIM }

// openWorkload opens a workload, whose Jobs can be read several times, once for each policy. A file is opened again for
// each pass, and an error in its text comes with the jobs. Standard input has only one pass: openWorkload reads it to
// its end, keeps all jobs in memory, and returns the first error in it.
func openWorkload(path string, o workload.Options) (*workload.File, error) {
	file, err := workload.Open(path, o)
	if err != nil || path != workload.StandardInput {
		return file, err
	}
	var jobs []*sched.JobSpec
	for spec, err := range file.Jobs {
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, spec)
	}
	file.Jobs = workload.Of(jobs...)
	return file, nil
}
