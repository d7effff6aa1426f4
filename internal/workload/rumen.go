package workload

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// copiesMax is how many places of a task's input are kept: HDFS keeps 3 copies, and 10 of what all nodes read.
const copiesMax = 10

// rumenPriorities are Hadoop's JobPriority.
var rumenPriorities = map[string]int32{"VERY_HIGH": 2, "HIGH": 1, "NORMAL": 0, "LOW": -1, "VERY_LOW": -2}

// rumenTask is a LoggedTask, as far as it matters here. Times are ms since 1970; -1, like zero, is not known.
type rumenTask struct {
	TaskID             string         `json:"taskID"`
	InputBytes         int64          `json:"inputBytes"`
	OutputBytes        int64          `json:"outputBytes"`
	Attempts           []rumenAttempt `json:"attempts"`
	PreferredLocations []struct {
		Layers []string `json:"layers"`
	} `json:"preferredLocations"`
}

// rumenAttempt is a LoggedTaskAttempt.
type rumenAttempt struct {
	Result             string `json:"result"`
	StartTime          int64  `json:"startTime"`
	FinishTime         int64  `json:"finishTime"`
	ShuffleFinished    int64  `json:"shuffleFinished"`
	HDFSBytesWritten   int64  `json:"hdfsBytesWritten"`
	ReduceShuffleBytes int64  `json:"reduceShuffleBytes"`
}

// rumenJob gathers a LoggedJob, or a job of a job history (jhist.go), which says the same.
type rumenJob struct {
	spec          sched.JobSpec
	id            string
	maps, reduces rumenStage
	mapMB         int64
	reduceMB      int64
}

// rumenStage gathers the tasks of one stage.
type rumenStage struct {
	list  []Task
	spans []span         // of the attempts that succeeded, parallel to list
	hosts []sched.NodeID // on which the input of the tasks lies, one task after the other
	ends  []int32        // parallel to list: how many of hosts belong to this task and those before it
}

// A span is when an attempt ran and, of a reduce, had its input: ms since 1970. The zero span is not known.
type span struct{ start, fetched, finish int64 }

// readRumen reads Hadoop's job histories as its tool Rumen writes them (org.apache.hadoop.tools.rumen.LoggedJob). A
// task takes as long as its attempt that succeeded did; one without such an attempt, the mean of its stage. A reduce's
// waiting for maps is no part of its time: what it still fetched after the last map is Fetch. Setup and cleanup tasks
// are left out: since Hadoop 2 the ApplicationMaster does their work. Submissions count from the first.
func readRumen(in *input, o *Options, e emit) error {
	t := newJSONText(in)
	ordinal := int64(0)
	err := t.top("job", func() error {
		ordinal++
		var j rumenJob
		start := t.line()
		if err := t.object("job", func(key string) error { return j.field(t, o, key) }); err != nil {
			return err
		}
		spec, err := j.job(o, ordinal)
		if err != nil {
			return t.wrong("job %s: %w", j.id, err)
		}
		if !e(spec, start) {
			return errStop
		}
		return nil
	})
	return unlessStopped(err)
}

// field reads one field of a job.
func (j *rumenJob) field(t *jsonText, o *Options, key string) error {
	switch key {
	case "jobID":
		return t.value(key, &j.id)
	case "jobName":
		return t.value(key, &j.spec.Name)
	case "user":
		return t.value(key, &j.spec.User)
	case "queue":
		return t.value(key, &j.spec.Queue)
	case "priority":
		var p string
		err := t.value(key, &p)
		j.spec.Priority = rumenPriorities[p]
		return err
	case "submitTime":
		var ms int64
		if err := t.value(key, &ms); err != nil {
			return err
		}
		if ms < 0 || ms > 1<<43 { // the year 2248: nanoseconds since 1970 still fit
			return t.wrong("%s: %d, must be milliseconds since 1970", key, ms)
		}
		j.spec.Submit = sched.Time(ms) * time.Millisecond
		return nil
	case "jobMapMB":
		return t.value(key, &j.mapMB)
	case "jobReduceMB":
		return t.value(key, &j.reduceMB)
	case "mapTasks":
		return j.maps.read(t, o, key)
	case "reduceTasks":
		return j.reduces.read(t, o, key)
	}
	return t.skip(key)
}

// read reads the tasks of a stage.
func (s *rumenStage) read(t *jsonText, o *Options, key string) error {
	*s = rumenStage{}
	return t.array(key, func() error {
		if len(s.list) == MaxList {
			return t.wrong("%s: are more than %d", key, MaxList)
		}
		var task rumenTask
		if err := t.value(key, &task); err != nil {
			return err
		}
		if err := s.add(&task, o); err != nil {
			return t.wrong("%s: task %s: %w", key, task.TaskID, err)
		}
		return nil
	})
}

// add adds a task.
func (s *rumenStage) add(task *rumenTask, o *Options) error {
	r := Task{Input: max(0, task.InputBytes), Output: max(0, task.OutputBytes)}
	var ran span
	for i := range task.Attempts {
		a := &task.Attempts[i]
		if a.Result != "SUCCESS" {
			continue
		}
		if a.StartTime > 0 && a.FinishTime > 0 {
			if a.FinishTime < a.StartTime {
				return fmt.Errorf("attempt: finishTime %d is before startTime %d", a.FinishTime, a.StartTime)
			}
			if a.FinishTime-a.StartTime > MaxTime/int64(time.Millisecond) {
				return fmt.Errorf("attempt: from startTime %d to finishTime %d is more than ten years",
					a.StartTime, a.FinishTime)
			}
			ran = span{a.StartTime, min(max(a.StartTime, a.ShuffleFinished), a.FinishTime), a.FinishTime}
		}
		r.Shuffle = max(0, a.ReduceShuffleBytes)
		if a.HDFSBytesWritten > 0 {
			r.Output = a.HDFSBytesWritten
		}
	}
	if err := o.scaleTask(&r); err != nil {
		return err
	}
	s.append(r, ran)
	if o.Nodes > 0 {
		first := len(s.hosts)
		for _, l := range task.PreferredLocations {
			if n := len(l.Layers); n > 0 {
				s.place(o, first, l.Layers[n-1])
			}
		}
		s.ends = append(s.ends, int32(len(s.hosts)))
	}
	return nil
}

// append adds a task, and when its attempt that succeeded ran.
func (s *rumenStage) append(r Task, ran span) {
	s.list, s.spans = append(s.list, r), append(s.spans, ran)
}

// place adds a host with the input of the task whose places begin at first.
func (s *rumenStage) place(o *Options, first int, host string) {
	node := o.nodeOf(host)
	// Two hosts of the trace may share a node of the cluster.
	if len(s.hosts)-first < copiesMax && !slices.Contains(s.hosts[first:], node) {
		s.hosts = append(s.hosts, node)
	}
}

// nodeOf lays a host of the trace onto a node of the cluster: by its name, so that it depends on nothing that was read
// before.
func (o *Options) nodeOf(host string) sched.NodeID {
	h := fnv.New64a()
	h.Write([]byte(host))
	return sched.NodeID(NewChance(h.Sum64()).Below(int(o.Nodes))) + 1
}

// job makes the job of what was gathered.
func (j *rumenJob) job(o *Options, ordinal int64) (*sched.JobSpec, error) {
	if j.spec.Name == "" {
		j.spec.Name = j.id
	}
	lastMap := int64(0)
	for _, s := range j.maps.spans {
		lastMap = max(lastMap, s.finish)
	}
	if err := j.maps.setTimes(o, 0); err != nil {
		return nil, err
	}
	if err := j.reduces.setTimes(o, lastMap); err != nil {
		return nil, err
	}
	for i := range j.reduces.list { // what a reduce reads are the maps' outputs
		r := &j.reduces.list[i]
		if r.Shuffle == 0 {
			r.Shuffle = r.Input
		}
		r.Input = 0
	}
	if j.maps.list == nil {
		j.maps.list = []Task{} // a job that failed before its first task is still a job
	}
	spec := o.join(j.spec, ordinal, listed(j.maps.list), listed(j.reduces.list))
	spec.Stages[0].Places, spec.Stages[0].Copies = j.maps.spread()
	if o.MapTask[sched.Memory] > 0 && j.mapMB > 0 {
		spec.Stages[0].PerTask[sched.Memory] = j.mapMB
	}
	if len(spec.Stages) > 1 && o.ReduceTask[sched.Memory] > 0 && j.reduceMB > 0 {
		spec.Stages[1].PerTask[sched.Memory] = j.reduceMB
	}
	return spec, nil
}

// setTimes sets the times of the tasks; a reduce counts from the end of the last map, zero for maps.
func (s *rumenStage) setTimes(o *Options, lastMap int64) error {
	known, sum := int64(0), float64(0)
	for i, ran := range s.spans {
		if ran.finish == 0 {
			continue
		}
		r := &s.list[i]
		begin := min(max(ran.start, lastMap), ran.finish)
		fetched := max(begin, ran.fetched)
		var err error
		if r.Compute, err = o.scaleTime(sched.Time(ran.finish-fetched) * time.Millisecond); err != nil {
			return err
		}
		if r.Fetch, err = o.scaleTime(sched.Time(fetched-begin) * time.Millisecond); err != nil {
			return err
		}
		known++
		sum += float64(r.Time())
	}
	if known == 0 {
		return nil
	}
	for i, ran := range s.spans {
		if ran.finish == 0 {
			s.list[i].Compute = sched.Time(sum / float64(known))
		}
	}
	return nil
}

// spread returns the places of all tasks as a StageSpec holds them: copies for each task, zeros where a task has fewer.
func (s *rumenStage) spread() (places []sched.NodeID, copies int32) {
	first := int32(0)
	for _, end := range s.ends {
		copies = max(copies, end-first)
		first = end
	}
	if copies == 0 {
		return nil, 0
	}
	places = make([]sched.NodeID, int(copies)*len(s.ends))
	first = 0
	for i, end := range s.ends {
		copy(places[i*int(copies):], s.hosts[first:end])
		first = end
	}
	return places, copies
}
