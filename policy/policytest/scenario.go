package policytest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// RunScenarios runs the scenarios below dir, one folder a policy. A file is a sequence of
//
//	cluster                                          jobs
//	node n1..n8 map-slots=2 rack=1 speed=0.5         A at=3s user=ana queue=etl: map 9x4s 1x60s near=n1; reduce 2x8s
//	queue etl weight=2 min=map-slots:4 max=50%       ----
//	----
//
//	run
//	policy fair:delay=5s
//	show actions
//	lose n2 7s
//	back n2 20s
//	----
//	A 16s
//
// where a run takes the cluster and the jobs last described, and its output is the instant at which each job ends, in
// the order in which the jobs are described. A stage follows the one before it with a full barrier; with after=0.05
// (slow start) its tasks may start, and hold their room, when that part is done, but take their whole time from when
// the last task they wait for has ended. A task asks for a slot of its kind unless memory= or vcores= are given. The
// policy is told the mean task time (prior=30s tells it another, "estimator mean" what has been observed). What package
// sim can express as well (one rack, no broken nodes, ...) is run there too and must come to the same actions at the
// same instants.
//
//	node   map-slots, reduce-slots, memory, vcores; rack; class; speed (divides task times);
//	       broken=5s (every attempt fails after 5s)
//	queue  weight; min, max as 50% or kind:amount,...; masters; spared; policy
//	job    at, user, queue, priority, weight, deadline; min, max as kind:amount,...;
//	       goal (a metric, or steps: 4s:2,8s:6); accelerators (names of classes, best first); delays (-1: none);
//	       map, shuffle, reduce, ... (phases: what a task uses there, by its profile, as kind:amount,...)
//	stage  near (nodes with the input of every task); after; prior; again (time of second attempts);
//	       memory, vcores; each (kind:amount,...); faster (class:factor,...: task times are divided by it there,
//	       where the node has accelerators for tasks that hold one); failing=class:5s (instead of being faster
//	       there, attempts fail after 5s)
//	run    policy; show actions; lose, back (node, instant); offers (node, instant, kind:amount,...); estimator;
//	       heartbeat, progress (intervals of reports); lag (until a suspend has happened); without (kill, ...)
func RunScenarios(t *testing.T, r policy.Registry, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("scenarios: %v", err)
	}
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		if filepath.Ext(path) != ".txt" {
			return
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Log("-rewrite writes what the policy does now into the file, for you to check")
			}
		})
		s := scenario{registry: r}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := s.do(d.Cmd, d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return out
		})
	})
}

// A scenario is what a file has described so far.
type scenario struct {
	registry policy.Registry
	setup    Setup
	names    map[string]sched.NodeID
	speed    []float64    // by NodeID-1
	broken   []sched.Time // by NodeID-1; zero: it works
	truth    map[*sched.JobSpec][]stageTruth
}

// stageTruth is how long the tasks of a stage take.
type stageTruth struct {
	times []sched.Time // by task-1
	again sched.Time   // of all attempts but the first; zero: as the first
	near  []string     // nodes with the input of every task

	speeds []workload.ClassSpeed

	failing   string     // class of nodes for which its code is wrong; empty: none
	failAfter sched.Time // on such a node
}

// do carries out one directive of a scenario file, and returns what it prints.
func (s *scenario) do(cmd, input string) (string, error) {
	lines := strings.FieldsFunc(input, func(c rune) bool { return c == '\n' })
	switch cmd {
	case "cluster":
		s.setup, s.names, s.speed, s.broken = Setup{Jobs: s.setup.Jobs}, map[string]sched.NodeID{}, nil, nil
		if err := each(lines, s.clusterLine); err != nil {
			return "", err
		}
		return "", policy.CheckQueues(s.setup.Queues)
	case "jobs":
		s.setup.Jobs, s.truth = nil, map[*sched.JobSpec][]stageTruth{}
		return "", each(lines, s.jobLine)
	case "run":
		return s.run(lines)
	}
	return "", fmt.Errorf("%q: a scenario knows cluster, jobs and run", cmd)
}

// each calls do for all lines, until one is wrong.
func each(lines []string, do func(string) error) error {
	for _, l := range lines {
		if err := do(l); err != nil {
			return fmt.Errorf("%q: %w", l, err)
		}
	}
	return nil
}

// options takes words apart into those with an equals sign and those without.
func options(words []string) (plain []string, opts map[string]string) {
	opts = map[string]string{}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			opts[k] = v
		} else {
			plain = append(plain, w)
		}
	}
	return plain, opts
}

func (s *scenario) clusterLine(line string) error {
	words, opts := options(strings.Fields(line))
	if len(words) != 2 {
		return fmt.Errorf("must be node NAME or queue PATH, with options")
	}
	switch words[0] {
	case "node":
		return s.addNodes(words[1], opts)
	case "queue":
		return s.addQueue(words[1], opts)
	}
	return fmt.Errorf("must begin with node or queue")
}

// noClass is the class of nodes for which a scenario names none.
const noClass = "node"

// nodeRange returns the names in n1..n3.
func nodeRange(text string) ([]string, error) {
	first, last, ok := strings.Cut(text, "..")
	if !ok {
		return []string{text}, nil
	}
	stem := strings.TrimRight(first, "0123456789")
	a, err1 := strconv.Atoi(first[len(stem):])
	b, err2 := strconv.Atoi(strings.TrimPrefix(last, stem))
	if err1 != nil || err2 != nil || b < a {
		return nil, fmt.Errorf("%s: must be like n1..n4", text)
	}
	var names []string
	for i := a; i <= b; i++ {
		names = append(names, stem+strconv.Itoa(i))
	}
	return names, nil
}

func (s *scenario) addNodes(text string, opts map[string]string) error {
	names, err := nodeRange(text)
	if err != nil {
		return err
	}
	spec := sched.NodeSpec{Class: noClass, Rack: 1}
	speed, broken := 1.0, sched.Time(0)
	for k, v := range opts {
		var err error
		switch k {
		case "rack":
			var n int
			n, err = strconv.Atoi(v)
			spec.Rack = sched.RackID(n)
		case "class":
			spec.Class = v
		case "speed":
			speed, err = strconv.ParseFloat(v, 64)
		case "broken":
			broken, err = time.ParseDuration(v)
		default:
			err = amount(&spec.Capacity, k, v)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	for _, n := range names {
		spec.Name = n
		s.setup.Nodes = append(s.setup.Nodes, spec)
		s.names[n] = sched.NodeID(len(s.setup.Nodes))
		s.speed, s.broken = append(s.speed, speed), append(s.broken, broken)
	}
	return nil
}

// amount sets one kind of r.
func amount(r *sched.Resources, kind, text string) error {
	k, ok := sched.ResourceNamed(kind)
	if !ok {
		return fmt.Errorf("there is no resource and no option %q", kind)
	}
	unit := int64(1)
	if k == sched.Memory {
		switch {
		case strings.HasSuffix(text, "GiB"):
			text, unit = strings.TrimSuffix(text, "GiB"), 1024
		case strings.HasSuffix(text, "MiB"):
			text = strings.TrimSuffix(text, "MiB")
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	r[k] = n * unit
	return err
}

// amounts reads kind:amount,...
func amounts(text string) (r sched.Resources, err error) {
	for part := range strings.SplitSeq(text, ",") {
		kind, n, ok := strings.Cut(part, ":")
		if !ok {
			return r, fmt.Errorf("%q: must be kind:amount", part)
		}
		if err := amount(&r, kind, n); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (s *scenario) addQueue(path string, opts map[string]string) error {
	q := &sched.QueueSpec{Name: path}
	level := &s.setup.Queues
	if i := strings.LastIndex(path, "."); i >= 0 {
		q.Name = path[i+1:]
		for name := range strings.SplitSeq(path[:i], ".") {
			at := slices.IndexFunc(*level, func(o *sched.QueueSpec) bool { return o.Name == name })
			if at < 0 {
				return fmt.Errorf("the queue above it is not there")
			}
			level = &(*level)[at].Queues
		}
	}
	for k, v := range opts {
		var err error
		switch k {
		case "weight":
			q.Weight, err = strconv.ParseFloat(v, 64)
		case "min":
			q.Min, err = share(v)
		case "max":
			q.Max, err = share(v)
		case "masters":
			q.Masters, err = strconv.ParseFloat(v, 64)
		case "spared":
			q.Spared, err = strconv.ParseBool(v)
		case "policy":
			q.Policy = v
		default:
			err = fmt.Errorf("there is no such option")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	*level = append(*level, q)
	return nil
}

func share(text string) (sched.Share, error) {
	if p, ok := strings.CutSuffix(text, "%"); ok {
		f, err := strconv.ParseFloat(p, 64)
		return sched.Share{Part: f / 100}, err
	}
	r, err := amounts(text)
	return sched.Share{Amount: r}, err
}

func (s *scenario) jobLine(line string) error {
	head, body, ok := strings.Cut(line, ": ")
	words, opts := options(strings.Fields(head))
	if !ok || len(words) != 1 {
		return fmt.Errorf("must be NAME options: stage; stage")
	}
	j := &sched.JobSpec{Name: words[0]}
	for k, v := range opts {
		var err error
		switch k {
		case "at":
			j.Submit, err = time.ParseDuration(v)
		case "user":
			j.User = v
		case "queue":
			j.Queue = v
		case "priority":
			var n int
			n, err = strconv.Atoi(v)
			j.Priority = int32(n)
		case "weight":
			j.Weight, err = strconv.ParseFloat(v, 64)
		case "deadline":
			j.Deadline, err = time.ParseDuration(v)
		case "min":
			j.Min, err = amounts(v)
		case "max":
			j.Max, err = amounts(v)
		case "goal":
			j.Goal, err = goal(v)
		case "delays":
			var n int
			n, err = strconv.Atoi(v)
			j.Delays = int32(n)
		case "accelerators":
			profileOf(j).Accelerators = strings.Split(v, ",")
		default:
			err = phaseUse(j, k, v)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	for text := range strings.SplitSeq(body, ";") {
		if err := s.addStage(j, strings.Fields(text)); err != nil {
			return err
		}
	}
	s.setup.Jobs = append(s.setup.Jobs, j)
	return j.Validate()
}

func profileOf(j *sched.JobSpec) *sched.Profile {
	if j.Profile == nil {
		j.Profile = new(sched.Profile)
	}
	return j.Profile
}

// phaseUse sets what a task of j uses in the phase of a name.
func phaseUse(j *sched.JobSpec, name, text string) (err error) {
	for ph := sched.PhaseRead; ph < sched.NumPhases; ph++ {
		if ph.String() == name {
			profileOf(j).Phases[ph], err = amounts(text)
			return err
		}
	}
	return fmt.Errorf("there is no such option")
}

// goal reads the name of a metric, or steps as 4s:2,8s:6: the cost of a job that completes after each instant.
func goal(text string) (*sched.Goal, error) {
	if m, ok := sched.MetricNamed(text); ok {
		return &sched.Goal{Metric: m}, nil
	}
	g := &sched.Goal{Metric: sched.MetricSteps}
	for step := range strings.SplitSeq(text, ",") {
		after, cost, _ := strings.Cut(step, ":")
		at, err := time.ParseDuration(after)
		if err != nil {
			return nil, err
		}
		c, err := strconv.ParseFloat(cost, 64)
		if err != nil {
			return nil, err
		}
		g.Steps = append(g.Steps, sched.CostStep{After: at, Cost: c})
	}
	return g, nil
}

// speeds reads class:factor,...
func speeds(text string) (list []workload.ClassSpeed, err error) {
	for part := range strings.SplitSeq(text, ",") {
		class, factor, _ := strings.Cut(part, ":")
		f, err := strconv.ParseFloat(factor, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, workload.ClassSpeed{Class: class, Speed: f})
	}
	return list, nil
}

var stageKinds = map[string]sched.StageKind{
	"map":    sched.Map,
	"reduce": sched.Reduce,
	"master": sched.Master,
	"other":  sched.Other,
}

func (s *scenario) addStage(j *sched.JobSpec, words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("a stage is a kind and task times, like map 10x4s")
	}
	kind, ok := stageKinds[words[0]]
	if !ok {
		return fmt.Errorf("%q: a stage is a map, a reduce, a master or other", words[0])
	}
	st := sched.StageSpec{Kind: kind, MaxAttempts: sched.DefaultMaxAttempts}
	if i := len(j.Stages); i > 0 {
		st.After = []sched.Dep{{Stage: int32(i - 1), Part: 1}}
	}
	var truth stageTruth
	groups, opts := options(words[1:])
	for _, g := range groups {
		count, each, ok := strings.Cut(g, "x")
		n, err := strconv.Atoi(count)
		d, err2 := time.ParseDuration(each)
		if !ok || err != nil || err2 != nil {
			return fmt.Errorf("%q: must be like 10x4s", g)
		}
		for range n {
			truth.times = append(truth.times, d)
			st.Prior += d
		}
	}
	st.Tasks = int32(len(truth.times))
	st.Prior /= sched.Time(len(truth.times))
	for k, v := range opts {
		var err error
		switch k {
		case "near":
			truth.near = strings.Split(v, ",")
		case "after":
			st.After[0].Part, err = strconv.ParseFloat(v, 64)
		case "prior":
			st.Prior, err = time.ParseDuration(v)
		case "again":
			truth.again, err = time.ParseDuration(v)
		case "each":
			st.PerTask, err = amounts(v)
		case "faster":
			truth.speeds, err = speeds(v)
		case "failing":
			after := ""
			truth.failing, after, _ = strings.Cut(v, ":")
			truth.failAfter, err = time.ParseDuration(after)
		default:
			err = amount(&st.PerTask, k, v)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	if st.PerTask == (sched.Resources{}) {
		st.PerTask[sched.MapSlots] = 1
		if kind == sched.Reduce {
			st.PerTask = sched.Resources{sched.ReduceSlots: 1}
		}
	}
	j.Stages = append(j.Stages, st)
	s.truth[j] = append(s.truth[j], truth)
	return nil
}

var powers = map[string]sched.Powers{
	"kill":    sched.CanKill,
	"suspend": sched.CanSuspend,
	"resize":  sched.CanResize,
	"name":    sched.CanNameTasks,
	"probe":   sched.CanProbe,
}

const allPowers = sched.CanKill | sched.CanSuspend | sched.CanResize | sched.CanNameTasks | sched.CanProbe

func (s *scenario) run(lines []string) (string, error) {
	setup := s.setup
	setup.Can, setup.Take = allPowers, s.take
	spec, show := "", false
	err := each(lines, func(line string) (err error) {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[0] == "policy":
			spec = words[1]
		case line == "show actions":
			show = true
		case line == "estimator mean":
			setup.Estimator = func(func() *sched.Core) sched.Estimator { return &model.Mean{} }
		case len(words) == 2 && words[0] == "heartbeat":
			setup.Heartbeat, err = time.ParseDuration(words[1])
		case len(words) == 2 && words[0] == "progress":
			setup.Progress, err = time.ParseDuration(words[1])
		case len(words) == 2 && words[0] == "lag":
			setup.Lag, err = time.ParseDuration(words[1])
		case len(words) == 2 && words[0] == "without":
			setup.Can &^= powers[words[1]]
		case len(words) == 3 && (words[0] == "lose" || words[0] == "back"):
			trouble := Trouble{Node: s.names[words[1]], Back: words[0] == "back"}
			trouble.At, err = time.ParseDuration(words[2])
			setup.Trouble = append(setup.Trouble, trouble)
		case len(words) == 4 && words[0] == "offers":
			trouble := Trouble{Node: s.names[words[1]], Offers: new(sched.Resources)}
			if trouble.At, err = time.ParseDuration(words[2]); err == nil {
				*trouble.Offers, err = amounts(words[3])
			}
			setup.Trouble = append(setup.Trouble, trouble)
		default:
			err = fmt.Errorf("not a line of a run")
		}
		return err
	})
	if err != nil {
		return "", err
	}
	p, _, err := s.registry.Parse(spec)
	if err != nil {
		return "", err
	}
	if err := s.locate(); err != nil {
		return "", err
	}
	res, err := Run(setup, p)
	if err == nil && s.simulable(setup) {
		if err := s.agree(setup, spec, res); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	if show {
		s.writeActions(&b, res)
	}
	for _, j := range setup.Jobs {
		if end, ok := res.Ends[j]; !ok {
			fmt.Fprintf(&b, "%s does not end\n", j.Name)
		} else if end.Outcome != sched.OK {
			fmt.Fprintf(&b, "%s %v at %s\n", j.Name, end.Outcome, instant(end.At))
		} else {
			fmt.Fprintf(&b, "%s %s\n", j.Name, instant(end.At))
		}
	}
	if n := res.Core.Refused(); n > 0 {
		fmt.Fprintf(&b, "%d actions refused; the first: %v\n", n, res.Core.FirstRefusal())
	}
	return b.String(), err
}

// locate puts the input of stages on the nodes that they name.
func (s *scenario) locate() error {
	for _, j := range s.setup.Jobs {
		for i := range j.Stages {
			st, near := &j.Stages[i], s.truth[j][i].near
			st.Copies, st.Places = int32(len(near)), nil
			for range st.Tasks {
				for _, name := range near {
					n, ok := s.names[name]
					if !ok {
						return fmt.Errorf("job %s: near=%s: there is no such node", j.Name, name)
					}
					st.Places = append(st.Places, n)
				}
			}
		}
	}
	return nil
}

// take says how long an attempt takes.
func (s *scenario) take(x Try) (sched.Time, sched.Outcome) {
	n := x.Node.ID - 1
	if s.broken[n] > 0 {
		return s.broken[n], sched.Failed
	}
	if x.Job.Probes != 0 {
		return time.Second, sched.OK
	}
	truth := s.truth[x.Job][x.Stage]
	d := truth.times[x.Task-1]
	if x.Nth > 0 && truth.again > 0 {
		d = truth.again
	}
	faster := 1.0
	if s.setup.Nodes[n].Capacity[sched.Accelerators] == 0 || x.Holds[sched.Accelerators] > 0 {
		if x.Class == truth.failing {
			return truth.failAfter, sched.Failed
		}
		faster = (&workload.StageTruth{Speeds: truth.speeds}).SpeedOn(x.Class)
	}
	return sched.Time(float64(d) / s.speed[n] / faster), sched.OK
}

// writeActions writes the actions of a run, those of one instant, kind and stage in one line.
func (s *scenario) writeActions(b *strings.Builder, res Result) {
	tasks := map[sched.AttemptID]int32{}
	last := ""
	for _, e := range res.Log {
		what := "nobody"
		if e.Stage != (sched.StageID{}) {
			what = fmt.Sprintf("%s.%d", strings.ReplaceAll(res.Jobs[e.Stage.Job-1].Name, " ", "-"), e.Stage.Index)
		}
		if e.Kind == sched.Launch {
			tasks[e.Attempt] = e.Task
		}
		head := fmt.Sprintf("%s %v %s", instant(e.At), e.Kind, what)
		if head != last {
			if last != "" {
				b.WriteString("\n")
			}
			b.WriteString(head)
			last = head
		}
		switch e.Kind {
		case sched.Probe:
		case sched.Reserve:
			fmt.Fprintf(b, " %s", s.setup.Nodes[e.Node-1].Name)
		default:
			fmt.Fprintf(b, " %d@%s", tasks[e.Attempt], s.setup.Nodes[e.Node-1].Name)
		}
	}
	if last != "" {
		b.WriteString("\n")
	}
}

// instant writes a time in seconds.
func instant(t sched.Time) string { return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) + "s" }
