package sim

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A hunger says since when the maps of a job starve: none runs although some wait, while the job's reduces wait for
// their output.
type hunger struct {
	on    bool // the maps starve, and a look is in the queue
	since sched.Time
}

// A rampDown simulates what every ApplicationMaster does when the maps of its job starve: it ends reduces of the job.
type rampDown struct{ *tasks }

// starving returns the stage of a job that starves: none of its tasks runs, some wait or are suspended, and a running
// reduce needs their output. nil: no stage does.
func (d *rampDown) starving(j *job) *sched.Stage {
	row := d.view.Job(j.id)
	if row == nil || row.Ended || len(j.fetches) == 0 {
		return nil
	}
	for _, st := range row.Stages {
		if st.Pending+st.Suspended == 0 || st.Running > 0 {
			continue
		}
		for _, id := range j.fetches {
			r := d.find(d.net.fetches[id].id)
			for _, dep := range r.core.Stage.Spec.After {
				if dep.Stage == st.ID.Index {
					return st
				}
			}
		}
	}
	return nil
}

// watch plans a call of look after Master.Every if maps of job j starve now.
func (d *rampDown) watch(j *job) {
	if every := d.costs.Master.Every; every > 0 && !j.hungry.on && d.starving(j) != nil {
		j.hungry = hunger{true, d.now}
		d.queue.push(d.now+every, masterOf|uint64(j.id))
	}
}

// look ends reduces of a job if its maps still starve, and plans the next look. It ends as many reduces as make room
// for the maps that wait, but frees no more than Master.Part of what the job can get, and no less than one map needs.
// The least advanced reduces end first; of equal ones the youngest.
func (d *rampDown) look(id sched.JobID) {
	row := d.view.Job(id)
	if row == nil {
		return
	}
	j := d.of(row)
	st := d.starving(j)
	if st == nil {
		j.hungry.on = false
		return
	}
	c := &d.costs.Master
	d.queue.push(d.now+c.Every, masterOf|uint64(id))
	headroom := d.view.Headroom(row)
	if st.Spec.PerTask.FitsIn(headroom) && (c.Patience == 0 || d.now-j.hungry.since < c.Patience) {
		return
	}
	type victim struct {
		r    *attempt
		part float32
	}
	var victims []victim
	for _, f := range j.fetches {
		if r := d.find(d.net.fetches[f].id); r.state == fetching || r.state == waiting {
			_, part := d.progress(r)
			victims = append(victims, victim{r, part})
		}
	}
	if len(victims) == 0 {
		return
	}
	slices.SortFunc(victims, func(a, b victim) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(b.r.id, a.r.id))
	})
	each := d.view.Amount(victims[0].r.core.Holds)
	one := times(st.Spec.PerTask, each)
	all := times(st.Spec.PerTask.Times(int64(st.Pending)), each)
	limit := times(headroom.Add(row.Used), each)
	most := min(max(one, int64(float64(limit)*c.Part)), all, int64(len(victims)))
	for _, v := range victims[:most] {
		d.halt(v.r)
		v.r.outcome = sched.Killed
		d.end(v.r)
	}
}

// times returns how many times the amount each makes up wanted, in the kinds of resources that each has.
func times(wanted, each sched.Resources) (n int64) {
	for k, a := range each {
		if a > 0 {
			n = max(n, (wanted[k]+a-1)/a)
		}
	}
	return n
}
