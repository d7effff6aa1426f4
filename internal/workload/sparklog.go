package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// A sparkEvent is an event of Spark's event log (spark.eventLog.enabled), as far as it matters here. Times are ms since
// 1970.
type sparkEvent struct {
	Event      string
	Name       string            `json:"App Name"`
	ID         string            `json:"App ID"`
	User       string            `json:"User"`
	Timestamp  int64             `json:"Timestamp"`
	Properties map[string]string `json:"Spark Properties"`
	Stages     []sparkStageInfo  `json:"Stage Infos"` // of a job
	Stage      int64             `json:"Stage ID"`    // of a task
	TaskInfo   struct {
		Index  int64  `json:"Index"`
		Host   string `json:"Host"`
		Launch int64  `json:"Launch Time"`
		Finish int64  `json:"Finish Time"`
		Failed bool   `json:"Failed"`
		Killed bool   `json:"Killed"`
	} `json:"Task Info"`
	Metrics struct {
		Input struct {
			Bytes int64 `json:"Bytes Read"`
		} `json:"Input Metrics"`
		Output struct {
			Bytes int64 `json:"Bytes Written"`
		} `json:"Output Metrics"`
	} `json:"Task Metrics"`
}

type sparkStageInfo struct {
	ID      int64   `json:"Stage ID"`
	Parents []int64 `json:"Parent IDs"`
}

// isSparkLog reports whether a text begins as an event log of Spark.
func isSparkLog(start string) bool { return strings.HasPrefix(start, `{"Event":"SparkListener`) }

// A sparkStage gathers the tasks of a stage.
type sparkStage struct {
	id      int64
	parents []int64
	done    map[int64]bool // partitions
	list    []Task
}

// A sparkApplication gathers what a log says.
type sparkApplication struct {
	name, id, user string
	start, end     int64
	conf           map[string]string
	stages         []*sparkStage
	byID           map[int64]*sparkStage
	tasks          int             // that succeeded
	hosts          map[string]bool // on which these ran
}

// readSparkLog reads the event log of one Spark application: its stages, with the order that they had, and how long
// each task took. A task holds its part of an executor, and gives it back at its end.
func readSparkLog(in *input, o *Options, e emit) error {
	app, err := readSparkApplication(in)
	if err != nil {
		return err
	}
	if app.start == 0 {
		return in.at(0, 0, "says nothing of an application (SparkListenerApplicationStart)")
	}
	spec, err := app.job(o, in.report)
	if err != nil {
		return in.at(0, 0, "application %.80s: %w", app.id, err)
	}
	e(spec, 0)
	return nil
}

// readSparkApplication gathers what a log says. The error of a log that is cut off wraps errCut: its last line is no
// whole event, or its compressed text ends in the middle.
func readSparkApplication(in *input) (*sparkApplication, error) {
	in.report.never("the sizes of nodes: describe them with --cluster", "queues",
		"that executors are held between tasks: each task asks for its part of one",
		"what the driver did between stages")
	app := &sparkApplication{byID: map[int64]*sparkStage{}, hosts: map[string]bool{}}
	err := in.lines(func(number int, line string) error {
		var ev sparkEvent
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			if _, after := in.Peek(1); after == nil {
				return in.at(number, 0, "event: %w: the line is damaged", err)
			}
			return in.at(number, 0, "event: %w: the last line is damaged, or %w", err, errCut)
		}
		if err := app.add(&ev); err != nil {
			return in.at(number, 0, "%w", err)
		}
		return nil
	})
	return app, err
}

// unfinished returns why a folder leaves out the application of a log that was read with an error or without; "": it is
// a job of the workload.
func (a *sparkApplication) unfinished(err error) string {
	switch {
	case errors.Is(err, errCut):
		return "the event log is cut off"
	case err != nil:
		return ""
	case a.start == 0 || a.end == 0:
		return "the event log ends before the application did"
	case a.tasks == 0:
		return "no task of the application succeeded"
	}
	return ""
}

// add takes in an event.
func (a *sparkApplication) add(e *sparkEvent) error {
	switch e.Event {
	case "SparkListenerApplicationStart":
		a.name, a.id, a.user, a.start = e.Name, e.ID, e.User, e.Timestamp
	case "SparkListenerApplicationEnd":
		a.end = e.Timestamp
	case "SparkListenerEnvironmentUpdate":
		a.conf = e.Properties
	case "SparkListenerJobStart":
		for _, s := range e.Stages {
			st, err := a.stage(s.ID)
			if err != nil {
				return err
			}
			st.parents = s.Parents
		}
	case "SparkListenerTaskEnd":
		t := &e.TaskInfo
		st, err := a.stage(e.Stage)
		if err != nil || t.Failed || t.Killed || st.done[t.Index] {
			return err
		}
		took, err := ran(t.Launch, t.Finish)
		if err != nil {
			return fmt.Errorf("task: %w", err)
		}
		if a.tasks++; a.tasks > MaxList {
			return fmt.Errorf("more than %d tasks", MaxList)
		}
		a.hosts[t.Host] = true
		st.done[t.Index] = true
		st.list = append(st.list, Task{Compute: took, Input: bounded(e.Metrics.Input.Bytes),
			Output: bounded(e.Metrics.Output.Bytes)})
	}
	return nil
}

func bounded(bytes int64) int64 { return min(max(0, bytes), MaxBytes>>20) }

// stage returns the stage of an ID.
func (a *sparkApplication) stage(id int64) (*sparkStage, error) {
	if st := a.byID[id]; st != nil {
		return st, nil
	}
	if len(a.stages) == MaxList {
		return nil, fmt.Errorf("more than %d stages", MaxList)
	}
	st := &sparkStage{id: id, done: map[int64]bool{}}
	a.byID[id] = st
	a.stages = append(a.stages, st)
	return st, nil
}

// job makes the job of what was gathered. Stages that Spark skipped, as their output was there already, are left out.
func (a *sparkApplication) job(o *Options, report *Report) (*sched.JobSpec, error) {
	submit, err := since1970(a.start)
	if err != nil {
		return nil, fmt.Errorf("timestamp: %w", err)
	}
	slices.SortStableFunc(a.stages, func(x, y *sparkStage) int { return int(min(max(x.id-y.id, -1), 1)) })
	place := map[int64]int32{}
	var stages []importedStage
	each := o.each(a.memory(), a.number("spark.task.cpus"))
	for _, st := range a.stages {
		if st.list == nil {
			continue
		}
		s := importedStage{each: each, list: st.list}
		for _, parent := range st.parents {
			if k, ok := place[parent]; ok && !slices.Contains(s.after, k) {
				s.after = append(s.after, k)
			}
		}
		place[st.id] = int32(len(stages))
		stages = append(stages, s)
	}
	if stages == nil {
		return nil, fmt.Errorf("none of its tasks succeeded")
	}
	for host := range a.hosts {
		report.host(host)
	}
	switch took, err := ran(a.start, a.end); {
	case a.end == 0:
		report.lack("the end of the application: its log is not complete")
	case err != nil:
		return nil, err
	default:
		report.took(took)
	}
	return o.imported(sched.JobSpec{Name: a.name, User: a.user, Type: "SPARK", Submit: submit}, 1, stages)
}

// number returns a number of the configuration; 1 where there is none.
func (a *sparkApplication) number(name string) int64 {
	n, err := strconv.ParseInt(a.conf[name], 10, 32)
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// memory returns a task's part of its executor's memory in MiB, overhead included (at least 384 MiB, else a tenth);
// zero: not said.
func (a *sparkApplication) memory() int64 {
	n := sparkMiB(a.conf["spark.executor.memory"])
	if n == 0 {
		return 0
	}
	n += max(384, n/10)
	slots := max(1, a.number("spark.executor.cores")/a.number("spark.task.cpus"))
	return (n + slots - 1) / slots
}

// sparkUnits are the units of Spark's sizes, in bytes. A size of memory without a unit is in MiB.
var sparkUnits = map[string]int64{
	"": 1 << 20, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30,
	"t": 1 << 40, "tb": 1 << 40, "p": 1 << 50, "pb": 1 << 50,
}

// sparkMiB returns a size of memory in MiB, rounded down as Spark does. It is zero for a text that is no size, and for
// sizes below 1 MiB and above 1 PiB.
func sparkMiB(text string) int64 {
	text = strings.ToLower(strings.TrimSpace(text))
	unit := strings.TrimLeft(text, "0123456789")
	bytes, known := sparkUnits[unit]
	n, err := strconv.ParseInt(strings.TrimSuffix(text, unit), 10, 64)
	if !known || err != nil || n > 1<<50/bytes {
		return 0
	}
	return n * bytes >> 20
}
