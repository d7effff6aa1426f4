package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// together is how many bytes of jobs are parsed at once, if one alone is not longer. The parser allocates 58 KB for
// each call, which is more than it needs for a job.
const together = 16 << 10

// yamlJobs reads our YAML a few jobs at a time. It cuts the list of jobs where lines begin with the dash of the list,
// and parses each piece alone. Memory therefore depends on the longest job, not on the file.
type yamlJobs struct {
	yamlText
	o       *Options
	emit    emit
	ordinal int64
	strange []string // names of classes that the cluster does not have: the first few

	line   []byte     // read already, not used
	number int        // its number
	ended  bool       // there is no such line: the text has ended
	inJobs bool       // line is the key of the list of jobs
	flow   *yaml.Node // the list of jobs where it stands on the line of its key
}

func newYAMLJobs(in *input, o *Options) *yamlJobs {
	return &yamlJobs{yamlText: yamlText{in: in}, o: o}
}

// next reads a line.
func (y *yamlJobs) next() error {
	y.line = y.line[:0]
	y.number++
	for {
		part, err := y.in.ReadSlice('\n')
		y.line = append(y.line, part...)
		switch {
		case err == nil:
			return nil
		case err == io.EOF:
			y.ended = len(y.line) == 0
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return y.in.broken(err)
		case len(y.line) > pieceMax:
			return y.in.at(y.number, 0, "is longer than %d MiB", pieceMax>>20)
		}
	}
}

// indent returns how far a line is indented; -1: it is empty or a comment.
func indent(line []byte) int {
	text := bytes.TrimLeft(line, " ")
	if t := bytes.TrimSpace(text); len(t) == 0 || t[0] == '#' {
		return -1
	}
	return len(line) - len(text)
}

// isJobs reports whether a line is the key of the list of jobs.
func isJobs(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("jobs:"))
	rest = bytes.TrimSpace(rest)
	return ok && (len(rest) == 0 || rest[0] == '#')
}

// isItem reports whether a line begins an item of a list that is indented so far.
func isItem(line []byte, at int) bool {
	rest, ok := bytes.CutPrefix(line[at:], []byte("-"))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\n' || rest[0] == '\r')
}

// piece reads lines from the current one until end, which is told the length of the piece so far, says that one does
// not belong to it.
func (y *yamlJobs) piece(end func(length int, line []byte) bool) (text []byte, first int, err error) {
	first = y.number
	for {
		text = append(text, y.line...)
		if len(text) > pieceMax+together {
			return nil, 0, y.in.at(first, 0, "what begins here is longer than %d MiB", pieceMax>>20)
		}
		if err := y.next(); err != nil {
			return nil, 0, err
		}
		if y.ended || end(len(text), y.line) {
			return text, first, nil
		}
	}
}

// head reads what stands before the list of jobs, and returns the queues.
func (y *yamlJobs) head() (queues []*sched.QueueSpec, err error) {
	if err := y.next(); err != nil || y.ended {
		return nil, err
	}
	if isJobs(y.line) {
		y.inJobs = true
		return nil, nil
	}
	text, line, err := y.piece(func(_ int, line []byte) bool { return isJobs(line) })
	if err != nil {
		return nil, err
	}
	y.inJobs = !y.ended
	root, err := y.parse(text, line)
	if err != nil {
		return nil, err
	}
	err = y.fields(root, "queues, jobs", func(key string, v *yaml.Node) (bool, error) {
		switch key {
		case "queues":
			queues, err = y.queueList(v, 0)
		case "jobs":
			if y.inJobs {
				return true, y.wrong(v, "is given twice")
			}
			if y.flow, err = y.plain(v); y.flow == nil {
				y.flow = v
			}
		default:
			return false, nil
		}
		return true, err
	})
	return queues, err
}

// jobs reads the list of jobs.
func (y *yamlJobs) jobs(e emit) error {
	y.emit = e
	if y.flow != nil {
		y.path = append(y.path[:0], "jobs")
		return unlessStopped(y.items(y.flow, y.job))
	}
	if !y.inJobs {
		return y.in.at(0, 0, "has no jobs: it should hold jobs: [{name: ..., maps: {count: 10, time: 20s}}]")
	}
	return unlessStopped(y.list())
}

// list reads the list of jobs that the current line, its key, begins.
func (y *yamlJobs) list() error {
	if err := y.next(); err != nil {
		return err
	}
	for !y.ended && indent(y.line) < 0 {
		if err := y.next(); err != nil {
			return err
		}
	}
	at := max(0, indent(y.line))
	for !y.ended && isItem(y.line, at) {
		text, line, err := y.piece(func(length int, line []byte) bool {
			n := indent(line)
			another := n == at && isItem(line, at)
			return n >= 0 && n < at || n == at && at == 0 && !another || another && length >= together
		})
		if err != nil {
			return err
		}
		root, err := y.parseItems(text, at, line)
		if err != nil {
			return err
		}
		y.path = append(y.path, "jobs")
		if err := y.items(root, y.job); err != nil {
			return err
		}
	}
	if end := bytes.TrimSpace(y.line); y.ended || bytes.Equal(end, []byte("...")) {
		return nil
	}
	return y.in.at(y.number, at+1, "must be an item of the list of jobs, \"- {name: ...}\"; other keys "+
		"stand before jobs")
}

const jobFields = "name, submit, user, queue, weight, priority, deadline, min, max, goal, profile, delays, type, " +
	"maps, reduces; or job, or mapper, combiner and reducer, and input, output, conf"

// yamlJob gathers a job.
type yamlJob struct {
	spec          sched.JobSpec
	program       Program
	maps, reduces yamlStage
}

// yamlStage gathers a stage.
type yamlStage struct {
	given bool
	truth StageTruth
	needs sched.Resources
}

// job reads one job.
func (y *yamlJobs) job(n *yaml.Node) error {
	y.ordinal++
	j := yamlJob{program: Program{Reduces: -1}}
	if err := y.fields(n, jobFields, func(key string, v *yaml.Node) (bool, error) {
		return y.field(&j, key, v)
	}); err != nil {
		return err
	}
	job, err := j.job(y.o, y.ordinal)
	if err != nil {
		return y.wrong(n, "%w", err)
	}
	if err := job.ValidateTerms(); err != nil {
		return y.wrong(n, "%w", err)
	}
	line := y.number
	if n, err := y.plain(n); err == nil && n != nil {
		line = y.above + n.Line
	}
	if !y.emit(job, line) {
		return errStop
	}
	return nil
}

// field reads one field of a job.
func (y *yamlJobs) field(j *yamlJob, key string, v *yaml.Node) (_ bool, err error) {
	p := &j.program
	switch key {
	case "name":
		j.spec.Name, err = y.text(v)
	case "submit":
		j.spec.Submit, err = yamlValue(&y.yamlText, v, ParseTime)
	case "user":
		j.spec.User, err = y.text(v)
	case "queue":
		j.spec.Queue, err = y.text(v)
	case "weight":
		j.spec.Weight, err = yamlValue(&y.yamlText, v, parseWeight)
	case "priority":
		j.spec.Priority, err = yamlValue(&y.yamlText, v, parseInt32)
	case "deadline":
		if j.spec.Deadline, err = yamlValue(&y.yamlText, v, ParseTime); err == nil && j.spec.Deadline == 0 {
			err = y.wrong(v, "must be after the submission")
		}
	case "min":
		j.spec.Min, err = y.resources(v)
	case "max":
		j.spec.Max, err = y.resources(v)
	case "goal":
		j.spec.Goal, err = y.goal(v)
	case "profile":
		j.spec.Profile, err = y.profile(v)
	case "delays":
		if j.spec.Delays, err = yamlValue(&y.yamlText, v, parseInt32); err == nil && j.spec.Delays == 0 {
			j.spec.Delays = -1
		}
	case "type":
		j.spec.Type, err = y.text(v)
	case "maps":
		err = y.stage(&j.maps, v)
	case "reduces":
		if m, _ := y.plain(v); m != nil && m.Kind != yaml.MappingNode {
			p.Reduces, err = yamlValue(&y.yamlText, v, parseTasks)
			break
		}
		err = y.stage(&j.reduces, v)
	case "job":
		p.Job, err = y.text(v)
	case "mapper":
		p.Mapper, err = y.text(v)
	case "reducer":
		p.Reducer, err = y.text(v)
	case "combiner":
		p.Combiner, err = y.text(v)
	case "input":
		p.Input, err = y.texts(v)
	case "output":
		p.Output, err = y.text(v)
	case "conf":
		p.Conf = map[string]string{}
		err = y.anyFields(v, p.Conf)
	default:
		return false, nil
	}
	return true, err
}

// goal reads {metric, weight, steps: [{after, cost}]}.
func (y *yamlText) goal(n *yaml.Node) (*sched.Goal, error) {
	g := &sched.Goal{}
	return g, y.fields(n, "metric, weight, steps", func(key string, v *yaml.Node) (_ bool, err error) {
		switch key {
		case "metric":
			g.Metric, err = yamlValue(y, v, parseMetric)
		case "weight":
			g.Weight, err = yamlValue(y, v, parseWeight)
		case "steps":
			err = y.items(v, func(v *yaml.Node) error {
				var step sched.CostStep
				err := y.fields(v, "after, cost", func(key string, v *yaml.Node) (_ bool, err error) {
					switch key {
					case "after":
						step.After, err = yamlValue(y, v, ParseTime)
					case "cost":
						step.Cost, err = yamlValue(y, v, parseWeight)
					default:
						return false, nil
					}
					return true, err
				})
				g.Steps = append(g.Steps, step)
				return err
			})
		default:
			return false, nil
		}
		return true, err
	})
}

// profile reads what a task uses by the names of phases, and the names of accelerators.
func (y *yamlText) profile(n *yaml.Node) (*sched.Profile, error) {
	p := &sched.Profile{}
	known := "accelerators"
	for phase := sched.NoPhase + 1; phase < sched.NumPhases; phase++ {
		known += ", " + phase.String()
	}
	return p, y.fields(n, known, func(key string, v *yaml.Node) (_ bool, err error) {
		if key == "accelerators" {
			p.Accelerators, err = y.texts(v)
			return true, err
		}
		for phase := sched.NoPhase + 1; phase < sched.NumPhases; phase++ {
			if phase.String() == key {
				p.Phases[phase], err = y.resources(v)
				return true, err
			}
		}
		return false, nil
	})
}

// parseMetric reads the name of a metric.
func parseMetric(text string) (sched.Metric, error) {
	m, ok := sched.MetricNamed(text)
	if !ok {
		return m, fmt.Errorf("%q must be one of response, stretch, tardy, tardiness, lateness, steps", text)
	}
	return m, nil
}

// anyFields reads a mapping of whatever names to single values.
func (y *yamlText) anyFields(n *yaml.Node, into map[string]string) error {
	return y.fields(n, "names and values", func(key string, v *yaml.Node) (_ bool, err error) {
		into[key], err = y.text(v)
		return true, err
	})
}

// stage reads {count, time, sigma, startup}, or {times}, and what else StageTruth has.
func (y *yamlJobs) stage(s *yamlStage, n *yaml.Node) error {
	s.given = true
	t, timed, counted := &s.truth, false, false
	var speeds []ClassSpeed
	err := y.fields(
		n,
		"count, time, sigma, startup, times, rate, block, input, shuffle, output, speeds, resources",
		func(key string, v *yaml.Node) (_ bool, err error) {
			switch key {
			case "count":
				counted = true
				t.Tasks, err = yamlValue(&y.yamlText, v, parseTasks)
			case "time":
				timed = true
				t.Base, err = y.taskTime(v)
			case "startup":
				t.Start, err = y.taskTime(v)
			case "sigma":
				t.Sigma, err = yamlValue(&y.yamlText, v, parseSigma)
			case "times":
				t.List = []Task{}
				err = y.items(v, func(v *yaml.Node) error {
					if len(t.List) == MaxList {
						return y.wrong(v, "are more than %d", MaxList)
					}
					task, err := y.task(v)
					t.List = append(t.List, task)
					return err
				})
			case "rate":
				t.Rate, err = yamlValue(&y.yamlText, v, parseBytesASecond)
			case "block":
				t.Block, err = y.bytes(v)
			case "input":
				t.Input, err = y.bytes(v)
			case "shuffle":
				t.Shuffle, err = y.bytes(v)
			case "output":
				t.Output, err = y.bytes(v)
			case "speeds":
				speeds, err = y.speeds(v)
			case "resources":
				s.needs, err = y.resources(v)
			default:
				return false, nil
			}
			return true, err
		},
	)
	switch {
	case err != nil:
		return err
	case t.List != nil && (counted || timed || t.Start != 0 || t.Sigma+t.Rate != 0 ||
		t.Block+t.Input+t.Shuffle+t.Output != 0):
		return y.wrong(n, "times says everything of each task: nothing but speeds and resources may stand beside it")
	case t.List != nil:
		s.truth = listed(t.List)
	case !counted || !timed:
		return y.wrong(n, "must have count and time, or times")
	case t.Start > t.Base:
		return y.wrong(n, "startup %v: must be at most the time, %v, which contains it", t.Start, t.Base)
	case t.Block > 0 && ceilDiv(t.Input, t.Block) > int64(t.Tasks):
		return y.wrong(n, "input: %d bytes are more than %s of a block of %d", t.Input,
			spelling.Count(t.Tasks, "task"), t.Block)
	}
	t.Speeds = speeds
	if err := t.check(); err != nil {
		return y.wrong(n, "%w", err)
	}
	return nil
}

// speeds reads {class: speed}, in order of names.
func (y *yamlJobs) speeds(n *yaml.Node) (speeds []ClassSpeed, err error) {
	err = y.fields(n, "names of classes of nodes", func(key string, v *yaml.Node) (bool, error) {
		y.noteClass(key, v)
		speed, err := yamlValue(&y.yamlText, v, parseNumber)
		if err == nil && !(speed > 0 && speed <= 1e6) {
			err = y.wrong(v, "must be above 0 and at most 1000000")
		}
		speeds = append(speeds, ClassSpeed{key, speed})
		return true, err
	})
	slices.SortFunc(speeds, func(a, b ClassSpeed) int { return strings.Compare(a.Class, b.Class) })
	return speeds, err
}

// noteClass notes, once, that the cluster has no class of a name. It is no error: one workload may be simulated on
// clusters with and without that hardware.
func (y *yamlJobs) noteClass(name string, n *yaml.Node) {
	const most = 10
	if len(y.o.Classes) == 0 || slices.Contains(y.o.Classes, name) || slices.Contains(y.strange, name) ||
		len(y.strange) == most {
		return
	}
	y.strange = append(y.strange, name)
	classes := strings.Join(y.o.Classes, ", ")
	y.in.report.Notes = append(y.in.report.Notes, y.wrong(n, "the cluster has no class of that name, so this speed is "+
		"used nowhere: name one of its classes (%s), or leave this out", classes).Error())
}

// task reads one element of times: a time, or {time, fetch, input, shuffle, output}.
func (y *yamlJobs) task(n *yaml.Node) (t Task, err error) {
	p, err := y.plain(n)
	if err != nil {
		return t, err
	}
	if isNull(p) || p.Kind != yaml.MappingNode {
		t.Compute, err = y.taskTime(p)
		return t, err
	}
	err = y.fields(p, "time, fetch, input, shuffle, output", func(key string, v *yaml.Node) (_ bool, err error) {
		switch key {
		case "time":
			t.Compute, err = y.taskTime(v)
		case "fetch":
			t.Fetch, err = y.taskTime(v)
		case "input":
			t.Input, err = y.bytes(v)
		case "shuffle":
			t.Shuffle, err = y.bytes(v)
		case "output":
			t.Output, err = y.bytes(v)
		default:
			return false, nil
		}
		return true, err
	})
	return t, err
}

// taskTime reads a time and stretches it as the options say.
func (y *yamlJobs) taskTime(n *yaml.Node) (sched.Time, error) {
	return yamlValue(&y.yamlText, n, func(s string) (sched.Time, error) {
		d, err := ParseTime(s)
		if err != nil {
			return 0, err
		}
		return y.o.scaleTime(d)
	})
}

// bytes reads a size and scales it as the options say.
func (y *yamlJobs) bytes(n *yaml.Node) (int64, error) {
	return yamlValue(&y.yamlText, n, func(s string) (int64, error) {
		b, err := ParseSize(s)
		if err != nil {
			return 0, err
		}
		return y.o.scaleBytes(b)
	})
}

// job makes the job of what was gathered.
func (j *yamlJob) job(o *Options, ordinal int64) (*sched.JobSpec, error) {
	p := &j.program
	if j.maps.given || j.reduces.given {
		switch {
		case p.Job != "" || p.Mapper != "" || p.Reducer != "" || p.Combiner != "" || p.Input != nil || p.Output != "" ||
			p.Conf != nil:
			return nil, errors.New("has maps or reduces with times, and something to run: it must be one of both")
		case !j.maps.given:
			return nil, errors.New("has reduces but no maps: {count, time}")
		case p.Reduces > 0:
			return nil, errors.New("reduces: must be {count, time} beside maps")
		}
		job := o.join(j.spec, ordinal, j.maps.truth, j.reduces.truth)
		for i := range job.Stages {
			s := &j.maps
			if i == 1 {
				s = &j.reduces
			}
			if s.needs != (sched.Resources{}) {
				job.Stages[i].PerTask = s.needs
			}
		}
		return job, nil
	}
	switch {
	case p.Job == "" && p.Mapper == "":
		return nil, errors.New("has nothing to do: give maps: {count, time}, or job, or mapper")
	case p.Job != "" && (p.Mapper != "" || p.Reducer != "" || p.Combiner != ""):
		return nil, errors.New("has both job and mapper, reducer or combiner: it must be one of both")
	case len(p.Input) == 0 || p.Output == "":
		return nil, errors.New("needs input and output")
	}
	spec := j.spec
	if spec.Type == "" {
		spec.Type = mapReduce
	}
	spec.Payload = p
	return &spec, nil
}
