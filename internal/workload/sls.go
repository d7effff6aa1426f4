package workload

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// errStop ends the reading of a text when no more of it is wanted.
var errStop = errors.New("stop")

// unlessStopped returns err, nil for errStop.
func unlessStopped(err error) error {
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// slsTask is an element of job.tasks.
type slsTask struct {
	Count    number `json:"count"`
	Host     string `json:"container.host"`
	Start    number `json:"container.start.ms"`
	End      number `json:"container.end.ms"`
	Duration number `json:"container.duration.ms"`
	Legacy   number `json:"duration.ms"`
	Type     string `json:"container.type"`
	Memory   number `json:"container.memory-mb"`
	VCores   number `json:"container.vcores"`
}

// slsJob gathers a job.
type slsJob struct {
	spec  sched.JobSpec
	count int64
	tasks [2][]Task // maps, reduces
	hosts [2][]sched.NodeID
	needs [2]sched.Resources // memory and vcores, the most of any task
}

// countMax is how many jobs one object may stand for (job.count).
const countMax = 1_000_000

// slsReduce is the container.type of reduces; every other is a map, as in SLS.
const slsReduce = "reduce"

// readSLS reads the input of YARN's Scheduler Load Simulator (Hadoop's hadoop-sls, "SLS JSON input file format"). A
// task takes container.duration.ms or duration.ms, else the time between its start and its end. Priorities follow from
// types, and are not looked at; nor are request delays, execution types and the end of the job. Memory and vcores apply
// where tasks hold containers, the largest of a stage for all of it. An object without job.tasks that has num.nodes
// describes SLS's cluster, and is passed over.
func readSLS(in *input, o *Options, e emit) error {
	t := newJSONText(in)
	ordinal := int64(0)
	err := t.top("job", func() error {
		j := slsJob{count: 1}
		jobLine, cluster := t.line(), false
		if err := t.object("job", func(key string) error {
			cluster = cluster || key == "num.nodes"
			return j.field(t, o, key)
		}); err != nil {
			return err
		}
		if len(j.tasks[0])+len(j.tasks[1]) == 0 {
			if cluster {
				return nil
			}
			return t.wrong("job %s: job.tasks: must have at least one task", j.spec.Name)
		}
		for k := range j.count {
			ordinal++
			spec := j.spec
			switch {
			case spec.Name == "":
				spec.Name = "job_" + strconv.FormatInt(ordinal-1, 10)
			case k > 0:
				spec.Name += "#" + strconv.FormatInt(k+1, 10)
			}
			if !e(j.job(o, spec, ordinal), jobLine) {
				return errStop
			}
		}
		return nil
	})
	return unlessStopped(err)
}

// field reads one field of a job.
func (j *slsJob) field(t *jsonText, o *Options, key string) error {
	switch key {
	case "am.type":
		var s string
		err := t.value(key, &s)
		j.spec.Type = strings.ToUpper(s)
		return err
	case "job.id":
		return t.value(key, &j.spec.Name)
	case "job.user":
		return t.value(key, &j.spec.User)
	case "job.queue.name":
		return t.value(key, &j.spec.Queue)
	case "job.start.ms":
		ms, err := t.whole(key, 0, MaxTime/int64(time.Millisecond))
		j.spec.Submit = sched.Time(ms) * time.Millisecond
		return err
	case "job.count":
		n, err := t.whole(key, 0, countMax)
		j.count = max(1, n)
		return err
	case "job.tasks":
		j.tasks, j.hosts, j.needs = [2][]Task{}, [2][]sched.NodeID{}, [2]sched.Resources{}
		return t.array(key, func() error {
			task := slsTask{Count: 1, Start: -1, End: -1, Duration: -1, Legacy: -1}
			if err := t.value(key, &task); err != nil {
				return err
			}
			if err := j.add(&task, o); err != nil {
				return t.wrong("%s: %w", key, err)
			}
			return nil
		})
	}
	return t.skip(key)
}

// whole reads a whole number from least to most.
func (t *jsonText) whole(field string, least, most int64) (int64, error) {
	var n number
	if err := t.value(field, &n); err != nil {
		return 0, err
	}
	if int64(n) < least || int64(n) > most {
		return 0, t.wrong("%s: %d, must be from %d to %d", field, n, least, most)
	}
	return int64(n), nil
}

// add adds the tasks that one element of job.tasks stands for.
func (j *slsJob) add(task *slsTask, o *Options) error {
	ms := task.Duration
	switch {
	case ms >= 0:
	case task.Legacy >= 0:
		ms = task.Legacy
	case task.Start < 0 || task.End < 0:
		return errors.New("needs container.duration.ms, or container.start.ms and container.end.ms, not negative")
	case task.End < task.Start:
		return fmt.Errorf("container.end.ms %d is before container.start.ms %d", task.End, task.Start)
	default:
		ms = task.End - task.Start
	}
	if int64(ms) > MaxTime/int64(time.Millisecond) {
		return fmt.Errorf("duration of %d ms must be at most ten years", ms)
	}
	d, err := o.scaleTime(sched.Time(ms) * time.Millisecond)
	if err != nil {
		return err
	}
	s := 0
	if strings.EqualFold(task.Type, slsReduce) {
		s = 1
	}
	n := max(1, int64(task.Count))
	if n+int64(len(j.tasks[s])) > MaxList {
		return fmt.Errorf("count: more than %d tasks", MaxList)
	}
	host := sched.NodeID(0)
	if task.Host != "" && o.Nodes > 0 {
		host = o.nodeOf(task.Host[strings.LastIndexByte(task.Host, '/')+1:])
	}
	for range n {
		j.tasks[s] = append(j.tasks[s], Task{Compute: d})
		if o.Nodes > 0 {
			j.hosts[s] = append(j.hosts[s], host)
		}
	}
	if task.Memory < 0 || task.Memory > maxAmount || task.VCores < 0 || task.VCores > maxAmount {
		return fmt.Errorf("container.memory-mb %d and container.vcores %d must be from 0 to %d", task.Memory,
			task.VCores, int64(maxAmount))
	}
	j.needs[s][sched.Memory] = max(j.needs[s][sched.Memory], int64(task.Memory))
	j.needs[s][sched.VCores] = max(j.needs[s][sched.VCores], int64(task.VCores))
	return nil
}

// job makes a job of what was gathered.
func (j *slsJob) job(o *Options, spec sched.JobSpec, ordinal int64) *sched.JobSpec {
	if j.tasks[0] == nil {
		j.tasks[0] = []Task{}
	}
	job := o.join(spec, ordinal, listed(j.tasks[0]), listed(j.tasks[1]))
	for i := range job.Stages {
		st := &job.Stages[i]
		for _, k := range [...]sched.ResourceKind{sched.Memory, sched.VCores} {
			if st.PerTask[k] > 0 && j.needs[i][k] > 0 {
				st.PerTask[k] = j.needs[i][k]
			}
		}
		for _, h := range j.hosts[i] {
			if h != 0 {
				st.Places, st.Copies = j.hosts[i], 1
				break
			}
		}
	}
	return job
}
