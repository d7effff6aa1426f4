package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/theory/goals"
	"github.com/sojourn-sched/sojourn/sched"
)

// mostNamed is how many jobs a note names at most.
const mostNamed = 5

// warnings make notes when the goals of jobs cannot all be met. They look at all goals when a job is submitted or
// changes; when the first task of a stage has finished; when nodes join or are lost; and when nodes together have come
// to offer more or less by one part in fewGoals. With shortage=fewest they also look when a master asks for more tasks
// than ever before. There is at most one note about each job.
//
// A look costs O(n log n) for n stages. With more than fewGoals jobs, the next look waits for so many events that it
// costs O(log n) for each of them. Changes of what nodes offer do not wait.
type warnings struct {
	Told  sched.Per[bool]  // by job: a note was made
	Asked sched.Per[int32] // by job: the most tasks that were known when its master asked (with shortage=fewest)
	Since int              // events since the last look that may change its result (news)
	There sched.Resources  // what nodes together offered at the last look

	on    bool
	notes []string
}

// fewGoals is the number of jobs up to which there is a look at all goals for each new job. It also says which change
// of what nodes offer is too small for a look: less than one part in fewGoals.
const fewGoals = 64

// A rival is a stage, and the work that is left of it.
type rival struct {
	stage *sched.Stage
	goals.Demand
}

// follow makes the notes of a decision, before any task is started.
func (w *warnings) follow(p *sched.Plan, l *lineup) {
	w.notes = w.notes[:0]
	if !w.on && !l.fewest {
		return
	}
	w.Since += w.news(p, l)
	if enough := w.Since > 0 && w.Since*fewGoals >= p.LiveJobs(); !enough && !w.changed(p) {
		return
	}
	w.Since, w.There = 0, p.Capacity
	lists := rivalsOf(p, l)
	if l.fewest {
		l.giveUp(p, lists)
	}
	for i := range lists {
		if w.on {
			w.check(p, &lists[i])
		}
	}
}

// rivals are the stages whose tasks ask for one kind of resource.
type rivals struct {
	kind  sched.ResourceKind
	load  float64 // their work ÷ what there is of it, in seconds
	among []rival
}

// rivalsOf returns the rivals for each kind of resource that tasks of jobs with deadlines ask for, those with the
// largest load first.
func rivalsOf(p *sched.Plan, l *lineup) []rivals {
	lists := make([]rivals, sched.NumResources)
	for k := range lists {
		lists[k].kind = sched.ResourceKind(k)
	}
	for j := range p.Jobs() {
		if j.Spec.Deadline <= 0 {
			continue
		}
		for _, st := range j.Stages {
			if unfinished(st) == 0 || st.Kind == sched.Master && told(st) == 0 {
				continue
			}
			d := demandOf(p, l, st)
			if d.Work <= 0 {
				continue
			}
			work := d.Work
			for k, each := range &st.Spec.PerTask {
				if each > 0 {
					d.Work = work * float64(each)
					lists[k].among = append(lists[k].among, rival{st, d})
					lists[k].load += d.Work / float64(p.Capacity[k])
				}
			}
		}
	}
	slices.SortStableFunc(lists, func(a, b rivals) int { return cmp.Compare(b.load, a.load) })
	return lists
}

// news returns how many events of this Step may have added work, or changed what there is for it. With shortage=fewest
// it counts a job whose master asks for more tasks than ever before: until it asks, little is known of the job.
func (w *warnings) news(p *sched.Plan, l *lineup) (n int) {
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.JobSubmitted, sched.SpecChanged, sched.NodeJoined, sched.NodeLost:
			n++
		case sched.AttemptDone:
			if a := p.Attempt(e.Attempt); a != nil && e.Outcome == sched.OK && l.Lengths.Of(a.Stage).N == 1 {
				n++
			}
		case sched.AsksChanged:
			if j := p.Job(e.Job); j != nil && l.fewest && w.asksMore(j) {
				n++
			}
		}
	}
	return n
}

// changed reports whether nodes together offer more or less than at the last look, by one part in fewGoals.
func (w *warnings) changed(p *sched.Plan) bool {
	for k, now := range &p.Capacity {
		if was := w.There[k]; now != was && max(now-was, was-now)*fewGoals >= was {
			return true
		}
	}
	return false
}

// asksMore reports whether more tasks of a job are known than ever before, and notes them. O(stages of the job).
func (w *warnings) asksMore(j *sched.Job) bool {
	tasks := int32(0)
	for _, st := range j.Stages {
		if st.Kind != sched.Master {
			tasks += tasksOf(st)
		}
	}
	known := w.Asked.Of(j)
	more := tasks > *known
	*known = max(*known, tasks)
	return more
}

// demandOf returns the work that is left of a stage, in tasks × seconds; zero if nothing is known of its tasks. A
// master stands for the tasks that it has not asked for yet, as far as the user has told how long they take; their
// containers are taken to be as large as its own.
func demandOf(p *sched.Plan, l *lineup, st *sched.Stage) (d goals.Demand) {
	if st.Kind == sched.Master {
		d.Work, d.Goal = told(st).Seconds(), (l.goal(p.View, st) - p.Now).Seconds()
		d.Missed = d.Goal <= 0
		return d
	}
	f := l.facts(p.View, st)
	if !f.known {
		f.mean = p.Estimate(st, 0).Mean.Seconds()
	}
	var run *runs
	if m, ok := l.members.Has(st); ok && *m != 0 {
		run = &l.rows[*m].runs
	} else {
		run = &runs{base: st.Job.Submitted} // it has not begun
	}
	s, young := f.at(p.Now, run)
	d.Work, d.Goal = s.Work(), s.Goal
	switch {
	case s.Unstarted > 0:
		d.Least = s.Mean
	case young > 0:
		d.Least = goals.Remaining(s.Mean, (p.Now - run.starts[len(run.starts)-1]).Seconds())
	}
	d.Missed = s.Goal <= 0
	return d
}

// giveUp computes which jobs to give up: those with a stage whose goal cannot be met together with the goals of others.
// A stage that is given up for one kind of resource needs none of the others. What masters hold is of no use for tasks
// until their jobs end, so it does not count. O(n log n) for n stages, and O(jobs).
func (l *lineup) giveUp(p *sched.Plan, lists []rivals) {
	hopeless := map[sched.JobID]bool{}
	lost := map[*sched.Stage]bool{}
	for i := range lists {
		var list []rival
		for _, c := range lists[i].among {
			if !lost[c.stage] {
				list = append(list, c)
			}
		}
		k := lists[i].kind
		for _, i := range goals.Hopeless(0, float64(p.Capacity[k]-p.Queues[0].Masters[k]), demandsOf(list)) {
			st := list[i].stage
			lost[st], hopeless[st.ID.Job] = true, true
		}
	}
	for j := range p.Jobs() {
		if g := l.GivenUp.Of(j); *g != hopeless[j.ID] {
			*g = !*g
			p.TouchJob(j)
		}
	}
	l.waits.Sync(p)
}

// demandsOf returns the work of rivals, by their places in the list.
func demandsOf(list []rival) []goals.Demand {
	demands := make([]goals.Demand, len(list))
	for i := range list {
		demands[i] = list[i].Demand
	}
	return demands
}

// check makes a note if the goals of rivals cannot all be met, and there was no note yet about one of
// their jobs.
func (w *warnings) check(p *sched.Plan, r *rivals) {
	k, list := r.kind, r.among
	verdict := goals.Check(0, float64(p.Capacity[k]), demandsOf(list))
	if verdict.Met() || p.Capacity[k] == 0 { // nodes may be about to join
		return
	}
	jobs := map[sched.JobID]bool{}
	for i := range list {
		jobs[list[i].stage.ID.Job] = true
	}
	var late []*sched.Job
	news := false
	for _, i := range verdict.Late {
		j := list[i].stage.Job
		if len(late) > 0 && late[len(late)-1] == j {
			continue
		}
		late = append(late, j)
		told := w.Told.Of(j)
		news = news || !*told
		*told = true
	}
	if !news {
		return
	}
	text := fmt.Sprintf("at %v the goal of %s cannot be met on %d %v", p.Now, names(late), p.Capacity[k], k)
	if len(jobs) > 1 {
		text = fmt.Sprintf("at %v the goals of %d jobs cannot all be met on %d %v; late will be %s", p.Now,
			len(jobs), p.Capacity[k], k, names(late))
	}
	if slots := math.Ceil(verdict.Slots); slots > float64(p.Capacity[k]) {
		text += fmt.Sprintf("; %.0f %v would do", slots, k)
	}
	text += fmt.Sprintf("; or goals %.3g s later", verdict.Delay)
	if len(jobs) > 1 {
		text += "; or without the late ones"
	}
	w.notes = append(w.notes, text)
}

// names returns the names of the first few jobs.
func names(jobs []*sched.Job) string {
	var list []string
	for _, j := range jobs[:min(len(jobs), mostNamed)] {
		name := fmt.Sprintf("job %d", j.ID)
		if j.Spec.Name != "" {
			name += " (" + j.Spec.Name + ")"
		}
		list = append(list, name)
	}
	if more := len(jobs) - mostNamed; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// Notes implements Noter.
func (w *warnings) Notes() []string { return w.notes }
