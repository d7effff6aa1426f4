package policytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// RandomSetup makes a small cluster with a few jobs and some trouble from a seed: slots or containers, racks and
// classes, a queue tree with shares and maxima, several users, barriers and slow start, inputs with places, attempts
// that fail, nodes that are lost and return, heartbeats, slow suspension. Times are multiples of 100 ms times scale, so
// that instants often coincide.
func RandomSetup(seed uint64, scale sched.Time) Setup {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	unit := 100 * time.Millisecond * scale
	s := Setup{Can: allPowers, Patience: 1200 * unit}
	containers := r.IntN(2) == 0
	nodes := 2 + r.IntN(5)
	for i := range nodes {
		n := sched.NodeSpec{
			Name:  fmt.Sprint("n", i+1),
			Class: [...]string{"new", "old"}[r.IntN(2)],
			Rack:  sched.RackID(1 + r.IntN(2)),
		}
		if containers {
			n.Capacity = sched.Resources{sched.Memory: 4096 + 1024*r.Int64N(5), sched.VCores: 4 + r.Int64N(3)}
		} else {
			n.Capacity = sched.Resources{sched.MapSlots: 1 + r.Int64N(3), sched.ReduceSlots: 1 + r.Int64N(2)}
		}
		s.Nodes = append(s.Nodes, n)
	}
	s.Queues = randomQueues(r, containers)
	for i := range 4 + r.IntN(9) {
		s.Jobs = append(s.Jobs, randomJob(r, i, jobKind{nodes, containers, unit}))
	}
	for range r.IntN(4) {
		lost := sched.NodeID(1 + r.IntN(nodes))
		at := sched.Time(r.IntN(600)) * unit
		if !s.lostAt(lost, at, unit) {
			s.Trouble = append(s.Trouble, Trouble{At: at, Node: lost},
				Trouble{At: at + 100*unit, Node: lost, Back: true})
		}
	}
	if r.IntN(4) == 0 {
		s.Heartbeat = 30 * unit
	}
	if r.IntN(3) == 0 {
		s.Progress = 25 * unit
	}
	if r.IntN(4) == 0 {
		s.Lag = 5 * unit
	}
	if r.IntN(5) == 0 {
		s.Can &^= sched.CanSuspend
	}
	drawClasses(&s, seed, unit)
	drawMasters(&s, seed, unit)
	switch r.IntN(3) {
	case 0:
		s.Estimator = func(func() *sched.Core) sched.Estimator { return &model.Mean{} }
	case 1:
		s.Estimator = func(func() *sched.Core) sched.Estimator { return &model.History{} }
	}
	s.Take = func(x Try) (sched.Time, sched.Outcome) { return randomTake(seed, x, unit) }
	return s
}

// drawClasses lets some jobs use the hardware of a class of nodes, or of both, and gives the nodes of a class devices
// that are counted, which may fail.
func drawClasses(s *Setup, seed uint64, unit sched.Time) {
	r := rand.New(rand.NewPCG(seed, 0xacce1))
	if r.IntN(2) == 0 {
		return
	}
	for _, j := range s.Jobs {
		if r.IntN(2) == 0 {
			if j.Profile == nil {
				j.Profile = &sched.Profile{}
			}
			j.Profile.Accelerators = [][]string{{"new"}, {"new", "old"}, {"old", "none"}}[r.IntN(3)]
		}
	}
	if r.IntN(2) == 0 {
		return
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Class == "new" {
			n.Capacity[sched.Accelerators] = 1 + r.Int64N(2)
			if at := sched.Time(r.IntN(300)) * unit; r.IntN(3) == 0 && !s.lostAt(sched.NodeID(i+1), at, unit) {
				without := n.Capacity
				without[sched.Accelerators] = 0
				s.Trouble = append(s.Trouble, Trouble{At: at, Node: sched.NodeID(i + 1), Offers: &without})
			}
		}
	}
}

// drawMasters gives some jobs on containers a master, which needs more than most of their tasks.
func drawMasters(s *Setup, seed uint64, unit sched.Time) {
	r := rand.New(rand.NewPCG(seed, 0xa9))
	if r.IntN(2) == 0 || s.Nodes[0].Capacity[sched.Memory] == 0 {
		return
	}
	for _, j := range s.Jobs {
		if r.IntN(3) > 0 {
			j.Stages = append(j.Stages, sched.StageSpec{
				Kind:        sched.Master,
				Tasks:       1,
				PerTask:     sched.Resources{sched.Memory: 1536, sched.VCores: 1},
				MaxAttempts: 12,
				Prior:       sched.Time(10*(1+r.IntN(20))) * unit,
			})
		}
	}
}

// drawDips makes a node offer less for a while, or none does: as where a service beside it bursts.
func (s *Setup) drawDips(seed uint64, scale sched.Time) {
	r, unit := rand.New(rand.NewPCG(seed, 0xd1b)), 100*time.Millisecond*scale
	for range r.IntN(3) {
		id := sched.NodeID(1 + r.IntN(len(s.Nodes)))
		at, whole := sched.Time(r.IntN(500))*unit, s.Nodes[id-1].Capacity
		less := whole
		for k := range less {
			less[k] = whole[k] * int64(r.IntN(4)) / 4
		}
		until := at + sched.Time(20+r.IntN(100))*unit
		if !s.offersAt(id, at) && !s.offersAt(id, until) {
			s.Trouble = append(s.Trouble, Trouble{At: at, Node: id, Offers: &less},
				Trouble{At: until, Node: id, Offers: &whole})
		}
	}
}

// offersAt reports whether a node comes to offer another amount at an instant. Of two such reports in one instant it is
// not said which is the later one.
func (s *Setup) offersAt(n sched.NodeID, at sched.Time) bool {
	return slices.ContainsFunc(s.Trouble, func(t Trouble) bool { return t.Offers != nil && t.Node == n && t.At == at })
}

// drawSizes adds to the trouble of s, if nodes have containers, up to five instants at which the oldest container that
// runs on some node is to be resized: its application asks for 1/8 to 3 times what it holds. Times are multiples of
// 100 ms times scale, as in RandomSetup.
func (s *Setup) drawSizes(seed uint64, scale sched.Time) {
	r, unit := rand.New(rand.NewPCG(seed, 0x512e)), 100*time.Millisecond*scale
	if s.Nodes[0].Capacity[sched.Memory] == 0 {
		return
	}
	for i := range sched.Time(r.IntN(6)) {
		at, n := 100*i+1+sched.Time(r.IntN(100)), sched.NodeID(1+r.IntN(len(s.Nodes)))
		s.Trouble = append(s.Trouble, Trouble{At: at * unit, Node: n, Asks: Eighths(1 + r.IntN(24))})
	}
}

// drawUses lets profiles say that reduces use other amounts while they copy, and other ones afterwards, than they ask
// for: less for the most part, and more at times.
func (s *Setup) drawUses(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0x05e5))
	for _, j := range s.Jobs {
		last := &j.Stages[len(j.Stages)-1]
		if last.Kind != sched.Reduce || r.IntN(4) == 0 {
			continue
		}
		for _, ph := range [...]sched.Phase{sched.PhaseShuffle, sched.PhaseReduce} {
			for k, n := range last.PerTask {
				if n > 0 && r.IntN(3) > 0 {
					profileOf(j).Phases[ph][k] = 1 + r.Int64N(n+n/4)
				}
			}
		}
	}
}

// drawForecast draws what the policy is told of the room to come, in two of three setups: amounts, or parts of what the
// nodes have altogether, once or day after day. It ignores what the nodes will offer, so the forecast is wrong. Times
// are multiples of 100 ms times scale, as in RandomSetup: scale 2 doubles them and changes nothing else.
func (s *Setup) drawForecast(seed uint64, scale sched.Time) {
	r, unit := rand.New(rand.NewPCG(seed, 0xf0ca)), 100*time.Millisecond*scale
	if r.IntN(3) == 0 {
		return
	}
	var whole sched.Resources
	for _, n := range s.Nodes {
		whole = whole.Add(n.Capacity)
	}
	inParts, repeats := r.IntN(2) == 0, r.IntN(2) == 0
	var steps []sched.Supply
	at := sched.Time(0)
	for range 1 + r.IntN(6) {
		step := sched.Supply{From: at}
		eighths := r.Int64N(9)
		for k, n := range whole {
			if inParts {
				n = 1_000_000
			}
			step.Capacity[k] = n * eighths / 8
		}
		steps = append(steps, step)
		at += sched.Time(10+r.IntN(200)) * unit
	}
	if !repeats {
		at = 0
	}
	f, err := sched.NewForecast(at, steps...)
	if err != nil {
		panic(err)
	}
	if s.Forecast = f; inParts {
		s.Forecast = f.InParts()
	}
}

// lostAt reports whether a node is lost around an instant.
func (s *Setup) lostAt(n sched.NodeID, at, unit sched.Time) bool {
	for _, t := range s.Trouble {
		if t.Offers == nil && t.Asks == 0 && t.Node == n && t.At-200*unit < at && at < t.At+200*unit {
			return true
		}
	}
	return false
}

// randomQueues draws the two queues a and b, and x and y below b, with their policies, shares and limits; nil, in one
// of three setups: none are configured.
func randomQueues(r *rand.Rand, containers bool) []*sched.QueueSpec {
	if r.IntN(3) == 0 {
		return nil
	}
	one := func(name string) *sched.QueueSpec {
		q := &sched.QueueSpec{Name: name, Policy: [...]string{"", "fifo", "fair", "drf"}[r.IntN(4)]}
		if r.IntN(2) == 0 {
			q.Weight = float64(1 + r.IntN(3))
		}
		if r.IntN(3) == 0 {
			q.Masters = float64(1+r.IntN(4)) / 10
		}
		q.Spared = r.IntN(8) == 0
		if r.IntN(3) == 0 {
			q.Min.Part = float64(1+r.IntN(4)) / 10
		}
		if r.IntN(4) == 0 && containers { // slots are so few that a maximum might be none at all
			q.Max.Part = float64(6+r.IntN(4)) / 10
		}
		return q
	}
	a, b := one("a"), one("b")
	b.Queues = []*sched.QueueSpec{one("x"), one("y")}
	return []*sched.QueueSpec{a, b}
}

// A jobKind is what random jobs of one load have in common.
type jobKind struct {
	nodes      int  // of the cluster, on which input lies
	containers bool // tasks ask for memory and vcores, not for slots
	unit       sched.Time
}

// randomJob draws the i-th job: 1 to 12 maps, and in half of the jobs 1 to 5 reduces, with their sizes, usual times,
// places of input and terms. Names repeat every four jobs, so that estimators see jobs again.
func randomJob(r *rand.Rand, i int, kind jobKind) *sched.JobSpec {
	nodes, containers, unit := kind.nodes, kind.containers, kind.unit
	j := &sched.JobSpec{
		Name: fmt.Sprint("job-", i%4), User: [...]string{"", "ana", "bo"}[r.IntN(3)], Queue: [...]string{"", "a", "b.x",
			"b.y"}[r.IntN(4)],
		Priority: int32(r.IntN(3)), Weight: float64(r.IntN(3)), Submit: sched.Time(10*r.IntN(40)) * unit,
	}
	stage := func(kind sched.StageKind, tasks int) sched.StageSpec {
		st := sched.StageSpec{
			Kind:        kind,
			Tasks:       int32(tasks),
			MaxAttempts: 12,
			Prior:       sched.Time(10*(1+r.IntN(20))) * unit,
		}
		switch {
		case containers:
			st.PerTask = sched.Resources{sched.Memory: 512 * (1 + r.Int64N(4)), sched.VCores: 1 + r.Int64N(2)}
		case kind == sched.Reduce:
			st.PerTask = sched.Resources{sched.ReduceSlots: 1}
		default:
			st.PerTask = sched.Resources{sched.MapSlots: 1}
		}
		return st
	}
	m := stage(sched.Map, 1+r.IntN(12))
	if r.IntN(2) == 0 {
		m.Copies = 2
		for range 2 * m.Tasks {
			m.Places = append(m.Places, sched.NodeID(r.IntN(nodes+1)))
		}
	}
	j.Stages = append(j.Stages, m)
	if r.IntN(2) == 0 {
		st := stage(sched.Reduce, 1+r.IntN(5))
		st.After = []sched.Dep{{Stage: 0, Part: [...]float64{0.05, 0.5, 1}[r.IntN(3)]}}
		j.Stages = append(j.Stages, st)
	}
	drawTerms(rand.New(rand.NewPCG(uint64(i), uint64(j.Submit/unit)+uint64(m.Tasks))), j, unit)
	return j
}

// drawTerms draws the deadline, the minimum and the profile of a job, or leaves them out. It draws no goal: times and
// counts in one objective weigh otherwise when all times are doubled.
func drawTerms(r *rand.Rand, j *sched.JobSpec, unit sched.Time) {
	if r.IntN(2) == 0 {
		j.Deadline = sched.Time(10+r.IntN(900)) * unit
	}
	if r.IntN(4) == 0 {
		j.Min = j.Stages[0].PerTask.Times(1 + r.Int64N(3))
	}
	if r.IntN(4) == 0 {
		j.Delays = r.Int32N(5) - 1
	}
	if r.IntN(3) == 0 {
		j.Profile = &sched.Profile{}
		j.Profile.Phases[sched.PhaseMap] = sched.Resources{sched.VCores: r.Int64N(4), sched.DiskIO: r.Int64N(600_000)}
		j.Profile.Phases[sched.PhaseShuffle] = sched.Resources{sched.NetworkIO: r.Int64N(100_000)}
		j.Profile.Phases[sched.PhaseReduce] = sched.Resources{sched.DiskIO: r.Int64N(1_200_000)}
		for _, ph := range [...]sched.Phase{sched.PhaseMap, sched.PhaseShuffle, sched.PhaseReduce} {
			if r.IntN(4) == 0 { // that may be more than any node has
				j.Profile.Phases[ph][sched.Memory] = 1024 * r.Int64N(12)
			}
		}
	}
}

// randomTake draws the time of an attempt from what it is: equal decisions give equal times.
func randomTake(seed uint64, x Try, unit sched.Time) (sched.Time, sched.Outcome) {
	r := rand.New(rand.NewPCG(seed^uint64(x.Stage)<<40^uint64(x.Task)<<20^uint64(x.Nth), uint64(x.Job.Submit/unit)))
	d := x.Job.Stages[x.Stage].Prior * sched.Time(5+r.IntN(15)) / 10
	if r.IntN(12) == 0 {
		d *= 5
	}
	if p := x.Job.Profile; p != nil && slices.Contains(p.Accelerators, x.Class) &&
		(x.Node.Capacity[sched.Accelerators] == 0 || x.Holds[sched.Accelerators] > 0) {
		d /= sched.Time(1 + x.Job.Submit/unit%5) // some jobs gain nothing
	}
	if x.Node.Name == "n1" {
		d *= 2
	}
	outcome := sched.OK
	if r.IntN(20) == 0 && x.Nth < 6 {
		outcome = sched.Failed
	}
	return max(unit, d/unit*unit), outcome
}
