package workload

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// alibabaColumns are those of batch_task.csv of Alibaba's trace of 2018, which has no line of names
// (https://github.com/alibaba/clusterdata, cluster-trace-v2018, schema.txt).
const (
	alibabaTask = iota
	alibabaInstances
	alibabaJob
	alibabaType
	alibabaStatus
	alibabaStart // s
	alibabaEnd   // s
	alibabaCPU   // 100 is a core
	alibabaMemory
	alibabaColumns
)

var alibabaStatuses = []string{"Terminated", "Failed", "Running", "Waiting", "Ready", "Interrupted", "Cancelled"}

// isAlibaba reports whether a line is one of batch_task.csv.
func isAlibaba(line string) bool {
	f := strings.Split(line, ",")
	return len(f) == alibabaColumns && slices.Contains(alibabaStatuses, f[alibabaStatus])
}

// An alibabaLine is a line of batch_task.csv: a stage of a job.
type alibabaLine struct {
	name       string
	start, end sched.Time
	stage      importedStage
	number     int // of the line, from 1
}

// alibabaMachine is the memory of a machine of the trace in MiB, as plan_mem is in hundredths of it; the trace does not
// say it.
const alibabaMachine = 96 << 10

// readAlibaba reads the table batch_task.csv of Alibaba's trace of 2018. A task of the table is a stage whose instances
// each take as long as all took together. Names such as R3_1_2 say that a stage is after those of the numbers 1 and 2.
// The lines of a job stand together.
func readAlibaba(in *input, o *Options, e emit) error {
	in.report.never("when jobs were submitted: the start of the first task is taken",
		"how long each instance took: all of a task take as long as the task",
		"memory of a machine: 96 GiB is taken for 100 % of plan_mem")
	var jobs []gathered
	var lines []alibabaLine
	seen := map[string]bool{}
	job := ""
	stages := 0
	finish := func() error {
		if len(lines) == 0 {
			return nil
		}
		spec, err := o.alibabaJob(in.report, job, lines, int64(len(jobs)+1))
		if err != nil {
			return in.at(lines[0].number, 0, "job %.40s: %w", job, err)
		}
		jobs = append(jobs, gathered{spec, lines[0].number})
		lines = nil
		return nil
	}
	err := in.lines(func(number int, line string) error {
		f := strings.Split(line, ",")
		if len(f) != alibabaColumns {
			return in.at(number, 0, "has %s, must have %d (batch_task.csv)", spelling.Count(len(f), "field"),
				alibabaColumns)
		}
		if f[alibabaJob] != job {
			if err := finish(); err != nil {
				return err
			}
			if job = f[alibabaJob]; seen[job] {
				return in.at(number, 0, "job %.40s: its lines do not stand together: sort the table by job_name", job)
			}
			seen[job] = true
		}
		if stages++; stages > maxGathered {
			return in.at(number, 0, "more than %d tasks: part the table", maxGathered)
		}
		l, err := o.alibabaLine(f)
		if err != nil {
			return in.at(number, 0, "%w", err)
		}
		if l == nil {
			in.report.leave("a task of the job did not end well")
			return nil
		}
		l.number = number
		lines = append(lines, *l)
		return nil
	})
	if err == nil {
		err = finish()
	}
	if err != nil {
		return err
	}
	return release(in, jobs, e)
}

// alibabaLine reads a line; nil for a task that did not end well.
func (o *Options) alibabaLine(f []string) (*alibabaLine, error) {
	if f[alibabaStatus] != "Terminated" || f[alibabaEnd] == "0" || f[alibabaEnd] == "" {
		return nil, nil
	}
	l := &alibabaLine{name: f[alibabaTask]}
	var err error
	if l.start, err = seconds(f[alibabaStart]); err != nil {
		return nil, fmt.Errorf("start_time: %w", err)
	}
	if l.end, err = seconds(f[alibabaEnd]); err != nil {
		return nil, fmt.Errorf("end_time: %w", err)
	}
	if l.end < l.start {
		return nil, fmt.Errorf("end_time %s is before start_time %s", f[alibabaEnd], f[alibabaStart])
	}
	n, err := strconv.ParseInt(f[alibabaInstances], 10, 32)
	if err != nil || n < 1 || n > MaxTasks {
		return nil, fmt.Errorf("instance_num: %.40q, must be from 1 to %d", f[alibabaInstances], MaxTasks)
	}
	var cpu, memory float64
	for _, field := range []struct {
		text string
		to   *float64
		name string
	}{{f[alibabaCPU], &cpu, "plan_cpu"}, {f[alibabaMemory], &memory, "plan_mem"}} {
		if field.text == "" {
			continue
		}
		x, err := strconv.ParseFloat(field.text, 64)
		if err != nil || !(x >= 0 && x <= 1e5) {
			return nil, fmt.Errorf("%s: %.40q, must be hundredths, from 0", field.name, field.text)
		}
		*field.to = x
	}
	l.stage = importedStage{
		each:  o.each(int64(math.Ceil(memory/100*alibabaMachine)), int64(math.Ceil(cpu/100))),
		tasks: int32(n), time: l.end - l.start,
	}
	return l, nil
}

// alibabaJob makes a job of its lines, with the order of its stages that their names say.
func (o *Options) alibabaJob(
	report *Report, name string, lines []alibabaLine, ordinal int64,
) (*sched.JobSpec, error) {
	number := map[string]int32{} // of a stage in its name, to its place
	first := lines[0].start
	last := lines[0].end
	for i, l := range lines {
		first, last = min(first, l.start), max(last, l.end)
		own, _, _ := strings.Cut(strings.TrimLeft(l.name, "MRJabcdefghijklmnopqrstuvwxyz"), "_")
		if _, taken := number[own]; own != "" && !taken {
			number[own] = int32(i)
		}
	}
	stages := make([]importedStage, len(lines))
	for i, l := range lines {
		stages[i] = l.stage
		parts := strings.Split(l.name, "_")
		if strings.HasPrefix(l.name, "task_") {
			continue // no order is known
		}
		for _, before := range parts[1:] {
			k, ok := number[before]
			if ok && int(k) < i && !slices.Contains(stages[i].after, k) {
				stages[i].after = append(stages[i].after, k)
			} else if ok && int(k) > i {
				return nil, fmt.Errorf("task %.40s stands before task %s, which it is after: sort the lines of a job "+
					"by their numbers", l.name, before)
			}
		}
	}
	report.took(last - first)
	return o.imported(sched.JobSpec{Name: name, Type: "ALIBABA", Submit: first}, ordinal, stages)
}

// googleEvents are the types of instance events of Google's trace of 2019 that matter here (Wilkes: Google
// cluster-usage traces v3, 2020).
const (
	googleSubmit   = 0
	googleSchedule = 3
	googleEvict    = 4
	googleFinish   = 6
	googleKill     = 7
)

// The largest machine of the trace. Requests are parts of it, and the trace does not say its size.
const (
	googleVCores = 64
	googleMemory = 256 << 10 // MiB
)

// googleNeeds are the columns without which a row says nothing.
var googleNeeds = [...]string{"time", "type", "collection_id", "instance_index"}

// A googleEvent is a row of the table instance_events.
type googleEvent struct {
	Time       number `json:"time"` // µs
	Type       number `json:"type"`
	Collection number `json:"collection_id"`
	Kind       number `json:"collection_type"` // 0: a job, 1: an alloc set
	Priority   number `json:"priority"`
	Instance   number `json:"instance_index"`
	Machine    number `json:"machine_id"`
	Request    struct {
		CPUs   float64 `json:"cpus"`
		Memory float64 `json:"memory"`
	} `json:"resource_request"`
}

// googleColumns are the columns of the table as CSV, where BigQuery writes records as record.field or record_field.
var googleColumns = map[string]func(*googleEvent) any{
	"time":                    func(e *googleEvent) any { return &e.Time },
	"type":                    func(e *googleEvent) any { return &e.Type },
	"collection_id":           func(e *googleEvent) any { return &e.Collection },
	"collection_type":         func(e *googleEvent) any { return &e.Kind },
	"priority":                func(e *googleEvent) any { return &e.Priority },
	"instance_index":          func(e *googleEvent) any { return &e.Instance },
	"machine_id":              func(e *googleEvent) any { return &e.Machine },
	"resource_request_cpus":   func(e *googleEvent) any { return &e.Request.CPUs },
	"resource_request_memory": func(e *googleEvent) any { return &e.Request.Memory },
}

// A googleJob gathers the instances of a collection.
type googleJob struct {
	submit, last int64 // µs
	line         int
	instances    map[int64]*googleInstance
	order        []int64
	event        googleEvent // with the request of the first instance
}

type googleInstance struct{ began, took int64 } // µs; began −1: does not run

// readGoogle reads the table instance_events of Google's trace of 2019, as BigQuery writes it: JSON, an object a line,
// or CSV with a line of names. An instance takes what its last execution took that finished.
func readGoogle(in *input, o *Options, e emit) error {
	in.report.never(fmt.Sprintf("the size of machines: requests are parts of the largest one, for which %d vcores and "+
		"%d GiB are taken", googleVCores, googleMemory>>10), "names of jobs and users", "alloc sets: they are left out")
	g := googleTable{jobs: map[int64]*googleJob{}}
	var columns []string
	err := in.lines(func(number int, line string) error {
		var ev googleEvent
		var err error
		switch {
		case line[0] == '{':
			err = ev.parse([]byte(line))
		case columns == nil:
			columns = strings.Split(strings.ReplaceAll(strings.ToLower(line), ".", "_"), ",")
			for _, need := range googleNeeds {
				if !slices.Contains(columns, need) {
					return in.at(number, 0, "has no column %s (instance_events)", need)
				}
			}
			return nil
		default:
			err = ev.fill(columns, strings.Split(line, ","))
		}
		if err == nil {
			err = g.add(&ev, number)
		}
		if err != nil {
			return in.at(number, 0, "%w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	jobs, err := g.gather(in, o)
	if err != nil {
		return err
	}
	return release(in, jobs, e)
}

// fill reads the fields of a line of CSV.
func (e *googleEvent) fill(columns, f []string) error {
	if len(f) != len(columns) {
		return fmt.Errorf("has %s, and the first line names %d", spelling.Count(len(f), "field"), len(columns))
	}
	for i, name := range columns {
		of := googleColumns[name]
		if of == nil || f[i] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(f[i]), of(e)); err != nil {
			return fmt.Errorf("%s: %.40q, must be a number", name, f[i])
		}
	}
	return nil
}

// parse reads an event of JSON, which must have the members that a table's columns must have.
func (e *googleEvent) parse(line []byte) error {
	const absent = number(math.MinInt64)
	e.Time, e.Type, e.Collection, e.Instance = absent, absent, absent, absent
	if err := json.Unmarshal(line, e); err != nil {
		return err
	}
	for i, n := range [...]number{e.Time, e.Type, e.Collection, e.Instance} {
		if n == absent {
			return fmt.Errorf("has no member %s (instance_events)", googleNeeds[i])
		}
	}
	return nil
}

// A googleTable is what was read so far.
type googleTable struct {
	jobs      map[int64]*googleJob
	order     []*googleJob
	instances int
}

// add takes in an event.
func (g *googleTable) add(e *googleEvent, line int) error {
	const longest = MaxTime / 1000 // µs
	if e.Time < 0 || e.Time > longest && e.Time != math.MaxInt64 {
		return fmt.Errorf("time: %d, must be microseconds, at most ten years", e.Time)
	}
	if e.Kind != 0 || e.Time == math.MaxInt64 { // after the trace's end
		return nil
	}
	j := g.jobs[int64(e.Collection)]
	if j == nil {
		j = &googleJob{submit: int64(e.Time), line: line, instances: map[int64]*googleInstance{}, event: *e}
		g.jobs[int64(e.Collection)] = j
		g.order = append(g.order, j)
	}
	in := j.instances[int64(e.Instance)]
	if in == nil {
		if g.instances++; g.instances > maxGathered {
			return fmt.Errorf("more than %d instances: part the table", maxGathered)
		}
		in = &googleInstance{began: -1}
		j.instances[int64(e.Instance)] = in
		j.order = append(j.order, int64(e.Instance))
	}
	switch {
	case e.Type == googleSubmit:
		j.submit = min(j.submit, int64(e.Time))
	case e.Type == googleSchedule:
		in.began = int64(e.Time)
	case e.Type >= googleEvict && e.Type <= googleKill+1 && in.began >= 0:
		if int64(e.Time) < in.began {
			return fmt.Errorf("time: %d, before the instance was scheduled: sort the table by time", e.Time)
		}
		if e.Type == googleFinish {
			in.took = int64(e.Time) - in.began
			j.last = max(j.last, int64(e.Time))
		}
		in.began = -1
	}
	return nil
}

// gather makes the jobs of what was read.
func (g *googleTable) gather(in *input, o *Options) (list []gathered, err error) {
	for _, j := range g.order {
		r := j.event.Request
		if !(r.CPUs >= 0 && r.CPUs <= 1 && r.Memory >= 0 && r.Memory <= 1) {
			return nil, in.at(j.line, 0, "resource_request: %g and %g, must be from 0 to 1", r.CPUs, r.Memory)
		}
		st := importedStage{
			each: o.each(int64(math.Ceil(r.Memory*googleMemory)), int64(math.Ceil(r.CPUs*googleVCores))),
		}
		for _, k := range j.order {
			if took := j.instances[k].took; took > 0 {
				st.list = append(st.list, Task{Compute: sched.Time(took) * sched.Time(time.Microsecond)})
			}
		}
		if st.list == nil {
			in.report.leave("no instance of the job finished")
			continue
		}
		in.report.took(sched.Time(j.last-j.submit) * sched.Time(time.Microsecond))
		spec := sched.JobSpec{
			Name: strconv.FormatInt(int64(j.event.Collection), 10), Type: "GOOGLE",
			Submit:   sched.Time(j.submit) * sched.Time(time.Microsecond),
			Priority: int32(min(max(j.event.Priority, 0), 1000)),
		}
		job, err := o.imported(spec, int64(len(list)+1), []importedStage{st})
		if err != nil {
			return nil, in.at(j.line, 0, "%w", err)
		}
		list = append(list, gathered{job, j.line})
	}
	return list, nil
}
