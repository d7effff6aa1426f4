package policy

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// A fspyCluster is the virtual cluster of fspy. It also says which queue each job is in.
type fspyCluster struct {
	fspySizes
	Cluster theory.VirtualCluster
	Jobs    sched.Per[fspyJob] // by job
	Asked   sched.Per[int32]   // by stage: finished tasks when the size was asked last
	Held    [sizedQueue + 1]int64
	Target  float64 // what the fair queue has in the virtual cluster
	Next    float64 // when the next job has nothing left there; zero: no job will

	fspyOptions
	changed bool // the virtual cluster has changed at this instant

	// The fields below follow from the virtual cluster and the time.
	race    theory.Race        // which job of known size has nothing left first; without late jobs
	started bool               // since the last share
	ranks   sched.Per[float64] // by job: in the race
	racers  []theory.Racer
}

// fspyOptions are the parameters that are about the order of jobs.
type fspyOptions struct {
	drf          bool // vra=drf: the virtual cluster is shared by dominant resource fairness
	byFinish     bool // rank=finish: jobs are ranked by when they will end there, else by what is left of them there
	lateShare    bool // late=share
	age          bool // late=age
	probeTimeout sched.Time
}

// A fspyQueue is where a job is.
type fspyQueue uint8

const (
	noQueue fspyQueue = iota // it has ended
	probeQueue
	fairQueue  // size unknown
	sizedQueue // size known
)

// fspyJob is what is remembered of a job.
type fspyJob struct {
	Queue  fspyQueue
	Late   bool        // done in the virtual cluster
	Orphan bool        // a probe of a job that is over
	Tries  int8        // probes asked for
	Aged   int8        // how often it was given a new size
	Held   int64       // amount that it held when count was called last
	Since  sched.Time  // when its probe was asked for last
	Probe  sched.JobID // its probe
	Finish float64     // when a late job was done in the virtual cluster, ns
}

// mostProbes is how often a job is probed: once more if the first probe fails.
const mostProbes = 2

func newFSPYCluster(a Args) fspyCluster {
	return fspyCluster{
		fspySizes: fspySizes{
			probing:    a.Number("probing"),
			production: a.Choice("virtual") == "production",
			whole:      a.Choice("waves") == "whole",
			printed:    a.Choice("bound") == "printed",
			uber: uberRule{
				maps:  int32(a.Int("uber-maps")),
				block: int64(a.Int("uber-block")) << 20,
				task:  a.Time("uber-task"),
			},
		},
		fspyOptions: fspyOptions{
			drf:          a.Choice("vra") == "drf",
			byFinish:     a.Choice("rank") == "finish",
			lateShare:    a.Choice("late") == "share",
			age:          a.Choice("late") == "age",
			probeTimeout: a.Time("probe-timeout"),
		},
	}
}

// count brings up to date what the queue of a job holds.
func (f *fspyCluster) count(p *sched.Plan, j *sched.Job) {
	m := f.Jobs.Of(j)
	now := int64(f.amount(j.Used)[0])
	if m.Queue == noQueue {
		now = 0
	}
	f.Held[m.Queue] += now - m.Held
	m.Held = now
	if len(j.Stages) > 1 {
		p.TouchJob(j)
	}
}

// move puts a job into another queue.
func (f *fspyCluster) move(p *sched.Plan, j *sched.Job, to fspyQueue) {
	m := f.Jobs.Of(j)
	f.Held[m.Queue] -= m.Held
	m.Held, m.Queue = 0, to
	f.count(p, j)
	p.TouchJob(j)
}

// advance brings the virtual cluster and the queues up to now.
func (f *fspyCluster) advance(p *sched.Plan) {
	now := float64(p.Now)
	f.changed = false
	for f.Next != 0 && f.Next <= now {
		for _, v := range f.Cluster.Deplete(f.Next) {
			f.depleted(p, v)
		}
		f.share(p)
	}
	if f.Total != p.Capacity {
		f.resize(p)
	}
	for i := range p.Events {
		f.happen(p, &p.Events[i])
	}
	if f.changed {
		f.share(p)
	}
	f.rerank(p)
	if f.age && f.Next != 0 {
		p.Wake(sched.Time(math.Ceil(f.Next)))
	}
}

// change serves the virtual cluster up to now. It is called before each change of the virtual cluster.
func (f *fspyCluster) change(p *sched.Plan) {
	if !f.changed {
		f.changed = true
		for _, v := range f.Cluster.Serve(float64(p.Now)) { // jobs that rounding has left almost done
			f.depleted(p, v)
		}
	}
}

// happen updates the virtual cluster and the queues by an event.
func (f *fspyCluster) happen(p *sched.Plan, e *sched.Event) {
	switch e.Kind {
	case sched.AttemptDone, sched.AttemptSuspended, sched.AttemptResized, sched.ResizeAsked, sched.AttemptFound:
		if a := p.Attempt(e.Attempt); a != nil {
			f.count(p, a.Stage.Job)
			if e.Kind == sched.AttemptDone && e.Outcome == sched.OK {
				f.observe(p, a)
			}
		}
	case sched.JobSubmitted:
		if j := p.Job(e.Job); !j.Ended {
			f.submit(p, j)
		}
	case sched.AsksChanged:
		if j := p.Job(e.Job); j != nil && f.byTasks(f.Jobs.Of(j)) {
			f.ask(p, j)
		}
	case sched.JobEnded:
		if j := p.Job(e.Job); j != nil {
			f.end(p, j, e.Outcome)
		}
	}
}

// submit adds a job to the virtual cluster and to a queue (2.6, onSubmit).
func (f *fspyCluster) submit(p *sched.Plan, j *sched.Job) {
	if of := j.Spec.Probes; of != 0 {
		o := p.Job(of)
		m := f.Jobs.Of(j)
		m.Orphan = o == nil || o.Ended
		if !m.Orphan {
			f.Jobs.Of(o).Probe = j.ID
		}
		f.move(p, j, probeQueue)
		return
	}
	f.change(p)
	f.Cluster.Jobs = append(f.Cluster.Jobs, theory.VirtualJob{ID: int64(j.ID), Open: true, Bound: f.firstBound(j),
		Master: f.master(j)})
	f.move(p, j, fairQueue)
	if f.ask(p, j); f.Jobs.Of(j).Queue != fairQueue {
		return
	}
	if f.isUber(j) {
		f.settle(p, j, f.loads(p, j))
		return
	}
	f.probe(p, j)
}

// probe asks for a probe of a job.
func (f *fspyCluster) probe(p *sched.Plan, j *sched.Job) {
	if p.Probe(j) {
		m := f.Jobs.Of(j)
		m.Tries++
		m.Since = p.Now
	}
}

// byTasks reports whether finished tasks may tell the size of a job: the size is unknown, and the job was not probed.
// The size of a probed job becomes known when its probe is through and never before: the tasks that finish first are
// the shortest ones, and once a size is known the policy ignores the probe.
func (f *fspyCluster) byTasks(m *fspyJob) bool { return m.Queue == fairQueue && m.Tries == 0 }

// observe learns of attempt a, which succeeded, and asks for the size of its job if finished tasks may tell it.
func (f *fspyCluster) observe(p *sched.Plan, a *sched.Attempt) {
	j, st := a.Stage.Job, a.Stage
	m := f.Jobs.Of(j)
	switch {
	case !f.isUber(j):
	case st.Kind != sched.Master:
		f.Small[smallKind(st)].add(p.Ran(a, p.Now))
	default:
		f.ran(j, p.Ran(a, p.Now))
	}
	if asked := f.Asked.Of(st); f.byTasks(m) && st.Done > 0 && st.Done >= 2**asked {
		*asked = st.Done
		f.ask(p, j)
	}
}

// ran learns from the time that the master of an uber job ran. If the master ran all tasks itself, each is taken to
// have had an equal part of that time.
func (f *fspyCluster) ran(j *sched.Job, took sched.Time) {
	n := int32(0)
	for _, st := range j.Stages {
		if st.Kind != sched.Master {
			if n += st.Total; st.Done > 0 {
				return
			}
		}
	}
	for _, st := range j.Stages {
		if st.Kind != sched.Master && st.Total > 0 {
			f.Small[smallKind(st)].add(took / sched.Time(n))
		}
	}
}

// end removes a job from its queue (2.6, onProbeDone and onFinish). A virtual job of known size goes on until it is
// done, unless the real job failed.
func (f *fspyCluster) end(p *sched.Plan, j *sched.Job, outcome sched.Outcome) {
	was := f.Jobs.Of(j).Queue
	if was == fairQueue || was == sizedQueue && outcome != sched.OK {
		f.change(p)
		f.Cluster.Remove(int64(j.ID))
	}
	f.move(p, j, noQueue)
	if was == probeQueue {
		f.probed(p, j, outcome)
		return
	}
	if probe := p.Job(f.Jobs.Of(j).Probe); probe != nil && !probe.Ended {
		f.Jobs.Of(probe).Orphan = true
		p.TouchJob(probe)
	}
}

// probed is called when a probe has ended. If it succeeded, probed asks for the size of its job; else it asks for
// another probe, if there may be one.
func (f *fspyCluster) probed(p *sched.Plan, probe *sched.Job, outcome sched.Outcome) {
	j := p.Job(probe.Spec.Probes)
	if j == nil || j.Ended || f.Jobs.Of(j).Queue != fairQueue {
		return
	}
	if outcome == sched.OK {
		f.ask(p, j)
	} else if m := f.Jobs.Of(j); m.Tries < mostProbes && !f.gaveUp(p, m) {
		f.probe(p, j)
	}
}

// gaveUp reports whether a job was probed, and the time for its last probe is over.
func (f *fspyCluster) gaveUp(p *sched.Plan, m *fspyJob) bool {
	return m.Tries > 0 && p.Now > m.Since+f.probeTimeout
}

// ask asks the estimator for the size of a job, and ranks the job by it if it is known.
func (f *fspyCluster) ask(p *sched.Plan, j *sched.Job) {
	if f.gaveUp(p, f.Jobs.Of(j)) {
		return
	}
	if _, known := p.Size(j); known {
		f.settle(p, j, f.loads(p, j))
	}
}

// settle gives a job its size. What the virtual cluster has served of the job stays served (eq. 10).
func (f *fspyCluster) settle(p *sched.Plan, j *sched.Job, loads []theory.StageLoad) {
	f.change(p)
	at, _ := f.Cluster.Find(int64(j.ID))
	v := &f.Cluster.Jobs[at]
	v.Open, v.Size, v.Bound, v.Master = false, f.size(j, loads), f.bound(p, j, loads), f.workless(j)
	f.move(p, j, sizedQueue)
	if v.Left()[0] <= 0 {
		done := *v
		f.Cluster.Remove(done.ID)
		f.depleted(p, done)
	}
}

// depleted is called when job v has nothing left in the virtual cluster. The job is late from now on; or, with the
// parameter age, it gets a new size: the time of its unfinished tasks, by the estimator the first time, twice that the
// second time, and so on.
func (f *fspyCluster) depleted(p *sched.Plan, v theory.VirtualJob) {
	j := p.Job(sched.JobID(v.ID))
	if j == nil || j.Ended {
		return
	}
	if f.age {
		m := f.Jobs.Of(j)
		loads := f.unfinished(p, j)
		for i := range loads {
			loads[i].Mean = math.Ldexp(loads[i].Mean, int(m.Aged))
		}
		more := f.size(j, loads)
		v.Size, v.Bound = v.Served.Add(1, more), f.bound(p, j, loads)
		if more[0] > shortest*v.Bound[0] {
			at, _ := f.Cluster.Find(v.ID)
			f.Cluster.Jobs = slices.Insert(f.Cluster.Jobs, at, v)
			m.Aged = min(m.Aged+1, mostAged)
			return
		}
	}
	m := f.Jobs.Of(j)
	m.Late, m.Finish = true, f.Cluster.At
	p.TouchJob(j)
}

// Limits on new sizes of aged jobs, so that no job gets one over and over. Sizes double each time, too.
const (
	shortest = 1e6 // a job that takes no longer than this at its bound gets no new size, ns
	mostAged = 32  // the time of a task is doubled at most so often
)

// resize gives the virtual cluster the capacity of the real one.
func (f *fspyCluster) resize(p *sched.Plan) {
	f.change(p)
	f.Total = p.Capacity
	if slots := f.Total[sched.Memory] == 0; slots != f.Slots && f.Total != (sched.Resources{}) {
		f.Slots = slots
		for j := range p.Jobs() {
			f.count(p, j)
			p.TouchJob(j)
		}
	}
	for i := range f.Cluster.Jobs {
		v := &f.Cluster.Jobs[i]
		j := p.Job(sched.JobID(v.ID))
		switch {
		case j == nil || j.Ended:
			v.Bound = v.Bound.Min(f.capacity())
		case v.Open:
			v.Bound = f.firstBound(j)
		default:
			v.Bound = f.bound(p, j, f.loads(p, j))
		}
	}
}

// share divides the virtual cluster anew.
func (f *fspyCluster) share(p *sched.Plan) {
	f.Cluster.Share(f.capacity(), f.drf)
	f.Target = f.Cluster.Open[0]
	if f.Next = f.Cluster.Next(); math.IsInf(f.Next, 1) {
		f.Next = 0
	}
	f.started = false
}

// rerank ranks the jobs of known size as they are now in the virtual cluster. Those whose real job has ended have a
// rank there as well, so that only what happens there changes ranks.
func (f *fspyCluster) rerank(p *sched.Plan) {
	moved := func(id int64, rank float64) {
		if j := p.Job(sched.JobID(id)); j != nil && !j.Ended {
			*f.ranks.Of(j) = rank
			p.TouchJob(j)
		}
	}
	if !f.started {
		f.started = true
		f.racers = f.racers[:0]
		for i := range f.Cluster.Jobs {
			v := &f.Cluster.Jobs[i]
			switch {
			case v.Open:
			case f.byFinish:
				f.racers = append(f.racers, theory.Racer{ID: v.ID, Left: f.Cluster.At + v.End()})
			default:
				f.racers = append(f.racers, theory.Racer{ID: v.ID, Left: v.Left()[0], Rate: v.Rate[0]})
			}
		}
		f.race.Start(f.racers, moved)
	}
	f.race.Advance(float64(p.Now)-f.Cluster.At, moved)
}
