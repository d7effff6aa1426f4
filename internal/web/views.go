package web

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/sched"
)

// A view is a run as one user may see it. Of jobs that the user may not look at it has neither names nor users.
type view struct {
	of   *snapshot // that it was made from
	made time.Time
	*snapshot
}

// mostViews bounds the views that a board keeps.
const mostViews = 8

// user returns who sends the request; "": that does not matter.
func (c *call) user() string {
	if c.site.guard == nil {
		return ""
	}
	return c.site.guard.User(c.r)
}

// snapshot returns the run as the user of the request may see it.
func (c *call) snapshot(b *Board) *snapshot {
	s := b.snapshot()
	if c.site.guard == nil {
		return s
	}
	user := c.user()
	b.mu.Lock()
	last, ok := b.views[user]
	b.mu.Unlock()
	if ok && last.of == s && time.Since(last.made) < freshness {
		return last.snapshot
	}
	v := view{s, time.Now(), s}
	if may := c.site.guard.Views(user); may != nil {
		v.snapshot = s.veil(user, may)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.views == nil || len(b.views) >= mostViews {
		b.views = map[string]view{}
	}
	b.views[user] = v
	return v.snapshot
}

// veil returns a copy for a user without names of jobs that the user may not look at.
func (s *snapshot) veil(user string, may func(sched.JobID) bool) *snapshot {
	v := &snapshot{about: s.about, version: s.version, now: s.now, over: s.over, made: s.made, nodes: s.nodes,
		queues: s.queues, cluster: s.cluster, owed: s.owed, attempts: s.attempts, ends: s.ends, viewer: user,
		may: may, jobs: slices.Clone(s.jobs), orders: map[string][]int32{}}
	for i := range v.jobs {
		if r := &v.jobs[i]; !may(r.id) {
			r.name, r.user = "", ""
		}
	}
	return v
}

// viewer tells apart the users whose views of runs differ; "": they see everything.
func (c *call) viewer(of []*snapshot) string {
	if i := slices.IndexFunc(of, func(s *snapshot) bool { return s.may != nil }); i >= 0 {
		return of[i].viewer + " "
	}
	return ""
}

// shows refuses what tells of one job, where the user of the request may not look at the job.
func (c *call) shows(b *Board, job sched.JobID) error {
	if s := c.snapshot(b); s.hides(job) {
		return refusal{http.StatusForbidden, fmt.Sprintf("user %s may not look at job %d", s.viewer, job)}
	}
	return nil
}

// hides reports whether the user that a snapshot is for may not look at a job.
func (s *snapshot) hides(job sched.JobID) bool { return s.may != nil && !s.may(job) }

// hide removes from an explanation the names of jobs that the user of the request may not see.
func (c *call) hide(b *Board, x *record.Explanation) {
	s := c.snapshot(b)
	for i := range x.Stages {
		for k := range x.Stages[i].Before {
			if r := &x.Stages[i].Before[k]; s.hides(r.Stage.Job) {
				r.Name = ""
			}
		}
		for k := range x.Stages[i].Holders {
			if h := &x.Stages[i].Holders[k]; s.hides(h.Job) {
				h.Name = ""
			}
		}
	}
}
