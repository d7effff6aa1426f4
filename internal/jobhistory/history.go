// Package jobhistory reads the job histories of Hadoop's MapReduce (.jhist files): what each job was, and when its
// tasks ran, where, and what they counted.
//
// An ApplicationMaster writes its job's events as they happen, in Avro's binary encoding (Hadoop 3) or its JSON
// encoding (Hadoop 2). The job history server moves the file into its done directory, with the job's configuration
// beside it. The files carry their own schema. The names of events and of their fields are those of Events.avpr in
// hadoop-mapreduce-client-core.
//
// history.go makes a [Job] of its events, events.go reads the events in either encoding, avro.go decodes the binary
// one, and conf.go reads the configuration.
package jobhistory

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Limits of a history. A history beyond them is an error.
const (
	MaxTasks = 1 << 20 // tasks and attempts of a job, each
	maxTime  = 1 << 43 // ms since 1970: the year 2248, so that nanoseconds fit
)

// A Kind is what a task does. Jobs of old releases are set up and cleaned up by tasks of other kinds.
type Kind string

// The kinds of tasks.
const (
	Map    Kind = "MAP"
	Reduce Kind = "REDUCE"
)

// Succeeded is the State of a job and of an attempt that succeeded; other states are FAILED, KILLED and ERROR.
const Succeeded = "SUCCEEDED"

// A Job is a job's history. Times are since 1970-01-01 UTC; zero is not known.
type Job struct {
	ID, Name, User, Queue string
	State                 string // "": the history ends before the job did
	Submit                time.Duration
	Launch                time.Duration // when its ApplicationMaster had made its tasks
	Finish                time.Duration
	Uber                  bool // all tasks ran in the ApplicationMaster's container
	Masters               []Master
	Tasks                 []Task // in order of their start
	// Conf has what the job's configuration says, where there is one (ReadConf); nil: there is none.
	Conf map[string]string
}

// A Master is an execution of the job's ApplicationMaster.
type Master struct {
	Start time.Duration // of its process
	Host  string
}

// A Task is a map or a reduce.
type Task struct {
	ID        string
	Kind      Kind
	Start     time.Duration // when the ApplicationMaster began to ask for its container
	Locations []string      // of its input: hosts, or paths of racks and hosts
	Attempts  []Attempt
}

// Success returns the attempt that succeeded; nil where none did.
func (t *Task) Success() *Attempt {
	for i := range t.Attempts {
		if t.Attempts[i].State == Succeeded {
			return &t.Attempts[i]
		}
	}
	return nil
}

// An Attempt is an execution of a task. Times that are not known are zero.
type Attempt struct {
	ID         string
	State      string        // "": the history ends before the attempt did
	Start      time.Duration // of its container
	Fetched    time.Duration // of a reduce: when it had its input
	Sorted     time.Duration // of a reduce: when its input was merged; of a map: when it had read its input
	Finish     time.Duration
	Host, Rack string
	Counters   Counters
}

// Counters are what an attempt counted, as far as a model of the job needs it.
type Counters struct {
	InputBytes           int64 // read from the file system by the input format
	FileSystemRead       int64 // from file systems other than the local disks
	FileSystemWritten    int64
	LocalRead            int64 // from local disks
	LocalWritten         int64
	InputRecords         int64
	OutputRecords        int64
	MapOutputBytes       int64
	MaterializedBytes    int64 // a map's output as it is on disk, compressed perhaps
	CombineInputRecords  int64
	CombineOutputRecords int64
	ReduceGroups         int64
	ShuffleBytes         int64
	SpilledRecords       int64
	OutputBytes          int64 // written to the file system by the output format
	CPU                  time.Duration
	GC                   time.Duration
}

// add adds a counter by its name within a group.
func (c *Counters) add(group, name string, n int64) {
	switch name {
	case "BYTES_READ":
		c.InputBytes += n
	case "BYTES_WRITTEN":
		c.OutputBytes += n
	case "FILE_BYTES_READ":
		c.LocalRead += n
	case "FILE_BYTES_WRITTEN":
		c.LocalWritten += n
	case "MAP_INPUT_RECORDS", "REDUCE_INPUT_RECORDS":
		c.InputRecords += n
	case "MAP_OUTPUT_RECORDS", "REDUCE_OUTPUT_RECORDS":
		c.OutputRecords += n
	case "MAP_OUTPUT_BYTES":
		c.MapOutputBytes += n
	case "MAP_OUTPUT_MATERIALIZED_BYTES":
		c.MaterializedBytes += n
	case "COMBINE_INPUT_RECORDS":
		c.CombineInputRecords += n
	case "COMBINE_OUTPUT_RECORDS":
		c.CombineOutputRecords += n
	case "REDUCE_INPUT_GROUPS":
		c.ReduceGroups += n
	case "REDUCE_SHUFFLE_BYTES":
		c.ShuffleBytes += n
	case "SPILLED_RECORDS":
		c.SpilledRecords += n
	case "CPU_MILLISECONDS":
		c.CPU += time.Duration(n) * time.Millisecond
	case "GC_TIME_MILLIS":
		c.GC += time.Duration(n) * time.Millisecond
	default:
		if unqualified(group) != "FileSystemCounter" {
			return
		}
		if strings.HasSuffix(name, "_BYTES_READ") {
			c.FileSystemRead += n
		} else if strings.HasSuffix(name, "_BYTES_WRITTEN") {
			c.FileSystemWritten += n
		}
	}
}

// read adds the counters of an event.
func (c *Counters) read(f fields) {
	for _, g := range f.list("groups") {
		group := fieldsOf(g)
		for _, k := range group.list("counts") {
			count := fieldsOf(k)
			if n := count.number("value"); n > 0 && n < 1<<60 {
				c.add(group.text("name"), count.text("name"), n)
			}
		}
	}
}

// fieldsOf returns the fields of a value that is a record; nil: it is none.
func fieldsOf(v any) fields {
	m, _ := plain(v).(map[string]any)
	return m
}

// Read reads a job's history from r. name is its name in errors. If the error is ErrCut, the Job has what the history
// says before its end.
func Read(name string, r io.Reader) (*Job, error) {
	b := builder{tasks: map[string]int{}}
	err := events(name, r, b.event)
	if err == nil && b.job.ID == "" {
		err = fmt.Errorf("%s: says nothing of a job", name)
	}
	return &b.job, err
}

// A builder makes a job of its events.
type builder struct {
	job      Job
	tasks    map[string]int // places in job.Tasks, by ID
	attempts int
}

// event takes in an event. Events that say nothing of times, tasks or names are passed over.
func (b *builder) event(name string, f fields) (err error) {
	j := &b.job
	switch name {
	case "JobSubmitted":
		j.ID, j.Name, j.User, j.Queue = f.text("jobid"), f.text("jobName"), f.text("userName"), f.text("jobQueueName")
		j.Submit, err = f.time("submitTime")
	case "JobInfoChange": // an ApplicationMaster that took over
		if j.Submit, err = f.time("submitTime"); err == nil {
			j.Launch, err = f.time("launchTime")
		}
	case "JobQueueChange":
		j.Queue = f.text("jobQueueName")
	case "AMStarted":
		start, err := f.time("startTime")
		if err != nil || len(j.Masters) == MaxTasks {
			return err
		}
		j.Masters = append(j.Masters, Master{start, f.text("nodeManagerHost")})
	case "JobInited":
		j.Uber, _ = plain(f["uberized"]).(bool)
		j.Launch, err = f.time("launchTime")
	case "JobFinished":
		j.State = Succeeded
		j.Finish, err = f.time("finishTime")
	case "JobUnsuccessfulCompletion":
		j.State = f.text("jobStatus")
		j.Finish, err = f.time("finishTime")
	case "TaskStarted":
		t, err := b.task(f)
		if err != nil {
			return err
		}
		t.Locations = locations(f.text("splitLocations"))
		t.Start, err = f.time("startTime")
		return err
	case "TaskAttemptStarted", "MapAttemptFinished", "ReduceAttemptFinished", "TaskAttemptFinished",
		"TaskAttemptUnsuccessfulCompletion":
		return b.attempt(name, f)
	}
	return err
}

// task returns the task that an event is about.
func (b *builder) task(f fields) (*Task, error) {
	id := f.text("taskid")
	at, ok := b.tasks[id]
	if !ok {
		if len(b.job.Tasks) == MaxTasks {
			return nil, fmt.Errorf("tasks: are more than %d", MaxTasks)
		}
		at = len(b.job.Tasks)
		b.tasks[id] = at
		b.job.Tasks = append(b.job.Tasks, Task{ID: id, Kind: Kind(f.text("taskType"))})
	}
	return &b.job.Tasks[at], nil
}

// attempt takes in what an event says of an attempt.
func (b *builder) attempt(name string, f fields) error {
	t, err := b.task(f)
	if err != nil {
		return err
	}
	id := f.text("attemptId")
	var a *Attempt
	for i := range t.Attempts {
		if t.Attempts[i].ID == id {
			a = &t.Attempts[i]
		}
	}
	if a == nil {
		if b.attempts++; b.attempts > MaxTasks {
			return fmt.Errorf("attempts: are more than %d", MaxTasks)
		}
		t.Attempts = append(t.Attempts, Attempt{ID: id})
		a = &t.Attempts[len(t.Attempts)-1]
	}
	if name == "TaskAttemptStarted" {
		a.Start, err = f.time("startTime")
		return err
	}
	a.State, a.Host, a.Rack = f.text("taskStatus"), f.text("hostname"), f.text("rackname")
	sorted := "sortFinishTime"
	switch name {
	case "MapAttemptFinished":
		sorted = "mapFinishTime"
	case "TaskAttemptUnsuccessfulCompletion":
		a.State = f.text("status")
	}
	for _, at := range []struct {
		field string
		to    *time.Duration
	}{{"finishTime", &a.Finish}, {"shuffleFinishTime", &a.Fetched}, {sorted, &a.Sorted}} {
		if *at.to, err = f.time(at.field); err != nil {
			return err
		}
	}
	if a.Finish > 0 && a.Finish < a.Start {
		return fmt.Errorf("attempt %s: finishes %v before it starts", id, a.Start-a.Finish)
	}
	a.Counters = Counters{}
	a.Counters.read(f.object("counters"))
	return nil
}

// time returns a field that is an instant, in ms since 1970; negative times are not known.
func (f fields) time(name string) (time.Duration, error) {
	ms := f.number(name)
	if ms > maxTime {
		return 0, fmt.Errorf("%s: %d, must be milliseconds since 1970", name, ms)
	}
	return time.Duration(max(0, ms)) * time.Millisecond, nil
}

// locations splits the list of the hosts of a task's input, and returns the first 32.
func locations(text string) (hosts []string) {
	for host := range strings.SplitSeq(text, ",") {
		if host != "" && len(hosts) < 32 {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
