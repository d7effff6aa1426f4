package workload

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// Write writes the jobs of a source in a format, and returns how many. What a format cannot hold at all is an error;
// beyond that
//
//   - SWIM holds names, submissions and bytes, so tasks are counted anew by its reader;
//   - SLS holds names, users, queues, submissions and each task's time in whole milliseconds, at least one;
//   - YAML holds everything except places of input, which belong to one cluster.
//
// Rumen is not written.
func Write(w io.Writer, f Format, jobs Source) (n int64, err error) {
	var write func([]byte, *sched.JobSpec) ([]byte, error)
	head, last := "", sched.Time(0)
	switch f {
	case SWIM:
		write = func(b []byte, job *sched.JobSpec) ([]byte, error) { return appendSWIM(b, job, job.Submit-last) }
	case SLS:
		write = appendSLS
	case YAML:
		write, head = appendYAML, "jobs:\n"
	default:
		return 0, fmt.Errorf("write workload: format %q: must be %s, %s or %s", f, SWIM, SLS, YAML)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString(head)
	var b []byte
	for job, err := range jobs {
		if err != nil {
			return n, err
		}
		if b, err = write(b[:0], job); err != nil {
			return n, fmt.Errorf("write workload: job %s: %w", job.Name, err)
		}
		if _, err = out.Write(b); err != nil {
			return n, fmt.Errorf("write workload: %w", err)
		}
		last = job.Submit
		n++
	}
	if err := out.Flush(); err != nil {
		return n, fmt.Errorf("write workload: %w", err)
	}
	return n, nil
}

// truthOf returns a job's truth where the job is one that a trace can hold: a first stage and perhaps reduces.
func truthOf(job *sched.JobSpec) (*Truth, error) {
	t, ok := job.Payload.(*Truth)
	if !ok {
		return nil, errors.New("runs a program, and its task times are not known")
	}
	if len(job.Stages) > 2 ||
		len(job.Stages) == 2 && (job.Stages[0].Kind == sched.Reduce || job.Stages[1].Kind != sched.Reduce) {
		return nil, errors.New("has stages other than maps and reduces after them")
	}
	return t, nil
}

// An slsOut is an object of job.tasks as it is written.
type slsOut struct {
	Count    int64  `json:"count"`
	Duration int64  `json:"duration.ms"`
	Priority int    `json:"container.priority"`
	Type     string `json:"container.type"`
	Memory   int64  `json:"container.memory-mb,omitempty"`
	VCores   int64  `json:"container.vcores,omitempty"`
}

// appendSLS appends a job as SLS has it, equal tasks in a row as one.
func appendSLS(b []byte, job *sched.JobSpec) ([]byte, error) {
	t, err := truthOf(job)
	if err != nil {
		return nil, err
	}
	var tasks []slsOut
	total := int64(0)
	for i := range job.Stages {
		st := &job.Stages[i]
		if total += int64(st.Tasks); total > MaxList {
			return nil, fmt.Errorf("has %d tasks: sls lists each, and is limited to %d", total, MaxList)
		}
		one := slsOut{
			Count:    1,
			Priority: 20,
			Type:     "map",
			Memory:   st.PerTask[sched.Memory],
			VCores:   st.PerTask[sched.VCores],
		}
		if st.Kind == sched.Reduce {
			one.Priority, one.Type = 10, slsReduce
		}
		first := len(tasks)
		for k := int32(1); k <= st.Tasks; k++ {
			one.Duration = max(1, t.Task(int32(i), k).Time().Round(time.Millisecond).Milliseconds())
			if n := len(tasks); n > first && tasks[n-1].Duration == one.Duration {
				tasks[n-1].Count++
				continue
			}
			tasks = append(tasks, one)
		}
	}
	if len(tasks) == 0 {
		return nil, errors.New("has no task, and sls must have one")
	}
	text, err := json.Marshal(struct {
		Type  string   `json:"am.type"`
		Start int64    `json:"job.start.ms"`
		Queue string   `json:"job.queue.name,omitempty"`
		ID    string   `json:"job.id,omitempty"`
		User  string   `json:"job.user,omitempty"`
		Tasks []slsOut `json:"job.tasks"`
	}{strings.ToLower(job.Type), job.Submit.Round(time.Millisecond).Milliseconds(), job.Queue, job.Name,
		job.User, tasks})
	if err != nil {
		return nil, err
	}
	return append(append(b, text...), '\n'), nil
}

// A yamlLine is a flow mapping on its way.
type yamlLine []byte

func (l yamlLine) open(key string) yamlLine { return append(l.key(key), '{') }

func (l yamlLine) close() yamlLine { return append(l, '}') }

func (l yamlLine) key(key string) yamlLine {
	if n := len(l); n > 0 && l[n-1] != '{' && l[n-1] != '[' {
		l = append(l, ", "...)
	}
	if key == "" {
		return l
	}
	return append(append(l, key...), ": "...)
}

// raw writes what needs no quotes, unless it is empty.
func (l yamlLine) raw(key, value string) yamlLine {
	if value == "" {
		return l
	}
	return append(l.key(key), value...)
}

// text writes a string, unless it is empty.
func (l yamlLine) text(key, value string) yamlLine {
	if value == "" {
		return l
	}
	return strconv.AppendQuote(l.key(key), value)
}

// number writes a number, unless it is zero.
func (l yamlLine) number(key string, n int64) yamlLine {
	if n == 0 {
		return l
	}
	return strconv.AppendInt(l.key(key), n, 10)
}

// float writes a number, unless it is zero.
func (l yamlLine) float(key string, x float64) yamlLine {
	if x == 0 {
		return l
	}
	return strconv.AppendFloat(l.key(key), x, 'g', -1, 64)
}

// appendYAML appends a job as an item of our YAML's list.
func appendYAML(b []byte, job *sched.JobSpec) ([]byte, error) {
	l := yamlLine(nil).open("").text("name", job.Name).raw("submit", job.Submit.String())
	l = l.text("user", job.User).text("queue", job.Queue)
	l = l.float("weight", job.Weight).number("priority", int64(job.Priority))
	if job.Deadline > 0 {
		l = l.raw("deadline", job.Deadline.String())
	}
	l = l.needs(job.Min, sched.Resources{}, "min").needs(job.Max, sched.Resources{},
		"max").goal(job.Goal).profile(job.Profile)
	if job.Delays != 0 {
		l = strconv.AppendInt(l.key("delays"), int64(max(0, job.Delays)), 10)
	}
	if job.Type != mapReduce {
		l = l.text("type", job.Type)
	}
	if p, ok := job.Payload.(*Program); ok {
		l = l.program(p)
	} else {
		t, err := truthOf(job)
		if err != nil {
			return nil, err
		}
		plain := Defaults()
		l = l.stage("maps", &t.Stages[0]).needs(job.Stages[0].PerTask, plain.MapTask, "resources").close()
		if len(job.Stages) > 1 {
			l = l.stage("reduces", &t.Stages[1]).needs(job.Stages[1].PerTask, plain.ReduceTask, "resources").close()
		}
	}
	l = l.close()
	if n := valuesAtMost(l); n > valuesMax || len(l) > pieceMax {
		return nil, fmt.Errorf("lists too many tasks for yaml (%d values, %d at most): convert to sls", n, valuesMax)
	}
	return append(append(append(b, "  - "...), l...), '\n'), nil
}

// stage writes the tasks of a stage, and leaves its mapping open.
func (l yamlLine) stage(key string, t *StageTruth) yamlLine {
	l = l.open(key)
	if t.List == nil {
		l = l.raw("count", strconv.Itoa(int(t.Tasks))).
			raw("time", t.Base.String())
		if t.Start > 0 {
			l = l.raw("startup", t.Start.String())
		}
		return l.float("sigma", t.Sigma).
			float("rate", t.Rate).
			number("block", t.Block).
			number("input", t.Input).
			number("shuffle", t.Shuffle).
			number("output", t.Output).
			speeds(t.Speeds)
	}
	l = append(l.key("times"), '[')
	for _, k := range t.List {
		if k == (Task{Compute: k.Compute}) {
			l = l.raw("", k.Compute.String())
			continue
		}
		l = l.open("").raw("time", k.Compute.String())
		if k.Fetch > 0 {
			l = l.raw("fetch", k.Fetch.String())
		}
		l = l.number("input", k.Input).number("shuffle", k.Shuffle).number("output", k.Output).close()
	}
	return append(l, ']').speeds(t.Speeds)
}

// speeds writes the speeds of a stage on classes of nodes, unless there are none.
func (l yamlLine) speeds(speeds []ClassSpeed) yamlLine {
	if len(speeds) == 0 {
		return l
	}
	l = l.open("speeds")
	for _, s := range speeds {
		l = l.float(strconv.Quote(s.Class), s.Speed)
	}
	return l.close()
}

// goal writes the goal of a job, unless it has none.
func (l yamlLine) goal(g *sched.Goal) yamlLine {
	if g == nil {
		return l
	}
	l = l.open("goal").raw("metric", g.Metric.String()).float("weight", g.Weight)
	if len(g.Steps) > 0 {
		l = append(l.key("steps"), '[')
		for _, step := range g.Steps {
			l = l.open("").raw("after", step.After.String()).float("cost", step.Cost).close()
		}
		l = append(l, ']')
	}
	return l.close()
}

// profile writes the profile of a job, unless it has none.
func (l yamlLine) profile(p *sched.Profile) yamlLine {
	if p == nil {
		return l
	}
	l = l.open("profile")
	for phase, uses := range p.Phases {
		l = l.needs(uses, sched.Resources{}, sched.Phase(phase).String())
	}
	if len(p.Accelerators) > 0 {
		l = append(l.key("accelerators"), '[')
		for _, name := range p.Accelerators {
			l = strconv.AppendQuote(l.key(""), name)
		}
		l = append(l, ']')
	}
	return l.close()
}

// needs writes amounts of resources under a key, unless they are what holds anyway.
func (l yamlLine) needs(needs, anyway sched.Resources, key string) yamlLine {
	if needs == anyway {
		return l
	}
	l = l.open(key)
	for k, a := range needs {
		kind := sched.ResourceKind(k)
		switch {
		case a == 0:
		case kind == sched.Memory:
			l = l.raw(kind.String(), strconv.FormatInt(a, 10)+"MiB")
		default:
			l = l.number(kind.String(), a)
		}
	}
	return l.close()
}

// program writes what a job runs.
func (l yamlLine) program(p *Program) yamlLine {
	l = l.text("job", p.Job).text("mapper", p.Mapper).text("combiner", p.Combiner).text("reducer", p.Reducer)
	l = append(l.key("input"), '[')
	for _, in := range p.Input {
		l = strconv.AppendQuote(l.key(""), in)
	}
	l = append(l, ']').text("output", p.Output)
	if p.Reduces >= 0 {
		l = l.raw("reduces", strconv.Itoa(int(p.Reduces)))
	}
	if p.Conf != nil {
		l = l.open("conf")
		names := make([]string, 0, len(p.Conf))
		for name := range p.Conf {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			l = strconv.AppendQuote(l.key(strconv.Quote(name)), p.Conf[name])
		}
		l = l.close()
	}
	return l
}
