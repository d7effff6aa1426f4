package workload

import (
	"fmt"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A yarnApplication is what YARN's ResourceManager says of an application (GET /ws/v1/cluster/apps). Times are ms since
// 1970.
type yarnApplication struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	User          string `json:"user"`
	Queue         string `json:"queue"`
	Type          string `json:"applicationType"`
	State         string `json:"state"`
	Started       int64  `json:"startedTime"`
	Launched      int64  `json:"launchTime"`
	Finished      int64  `json:"finishedTime"`
	MemorySeconds int64  `json:"memorySeconds"` // MiB·s
	VCoreSeconds  int64  `json:"vcoreSeconds"`
	Priority      number `json:"priority"`
}

// readYARNApplications reads the answer of YARN's REST interface to GET /ws/v1/cluster/apps. It has totals alone: an
// application is as many tasks of one vcore as worked at once in the mean, for as long as it ran.
func readYARNApplications(in *input, o *Options, e emit) error {
	in.report.never("the numbers and times of tasks: an application is as many tasks as worked at once in the mean, "+
		"all as long as it ran", "stages and their order", "the sizes of nodes: GET /ws/v1/cluster/nodes has them")
	t := newJSONText(in)
	var jobs []gathered
	application := func() error {
		var a yarnApplication
		line := t.line()
		if err := t.value("app", &a); err != nil {
			return err
		}
		if len(jobs) == maxGathered {
			return t.wrong("more than %d applications: part the answer", maxGathered)
		}
		job, err := o.yarnJob(&a, in.report, int64(len(jobs)+1))
		if err != nil {
			return t.wrong("application %.80s: %w", a.ID, err)
		}
		if job != nil {
			jobs = append(jobs, gathered{job, line})
		}
		return nil
	}
	err := t.top("answer", func() error {
		return t.object("answer", func(key string) error {
			if key != "apps" {
				return t.skip(key)
			}
			return t.object(key, func(key string) error {
				if key != "app" {
					return t.skip(key)
				}
				return t.array(key, application)
			})
		})
	})
	if err != nil {
		return err
	}
	return release(in, jobs, e)
}

// yarnJob makes a job of an application; nil for one that did not run or runs still.
func (o *Options) yarnJob(a *yarnApplication, report *Report, ordinal int64) (*sched.JobSpec, error) {
	if a.Finished <= 0 || a.VCoreSeconds <= 0 {
		report.leave("the application did not run, or runs still")
		return nil, nil
	}
	submit, err := since1970(a.Started)
	if err != nil {
		return nil, fmt.Errorf("startedTime: %w", err)
	}
	began := a.Launched
	if began <= 0 {
		began = a.Started
		report.lack("when the application was launched (launchTime, Hadoop 3): its waiting counts as work")
	}
	took, err := ran(began, a.Finished)
	if err != nil {
		return nil, err
	}
	whole, err := ran(a.Started, a.Finished)
	if err != nil {
		return nil, err
	}
	if a.VCoreSeconds > MaxBytes>>20 || a.MemorySeconds < 0 || a.MemorySeconds > MaxBytes {
		return nil, fmt.Errorf("%d MiB·s and %d vcore·s: too much", a.MemorySeconds, a.VCoreSeconds)
	}
	took = max(took, time.Millisecond)
	n := int64(float64(a.VCoreSeconds)/took.Seconds() + 0.5)
	n = min(max(1, n), MaxTasks)
	each := time.Duration(float64(a.VCoreSeconds) / float64(n) * 1e9)
	if each > MaxTime {
		return nil, fmt.Errorf("vcoreSeconds: %d in %v: too much", a.VCoreSeconds, took)
	}
	report.took(whole)
	spec := sched.JobSpec{Name: a.Name, User: a.User, Queue: strings.TrimPrefix(a.Queue, "root."), Submit: submit,
		Type: a.Type, Priority: int32(min(max(a.Priority, -1000), 1000))}
	if spec.Name == "" {
		spec.Name = a.ID
	}
	memory := (a.MemorySeconds + a.VCoreSeconds - 1) / a.VCoreSeconds
	return o.imported(spec, ordinal, []importedStage{{each: o.each(memory, 1), tasks: int32(n), time: each}})
}
