package web

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/sched"
)

// A view is a copy of a run as one user may see it: jobs that the user may not look at have neither a name nor a user.
type view struct {
	of   *boardCopy // the copy from which the view was made
	made time.Time
	*boardCopy
}

// mostViews bounds the views that a board keeps.
const mostViews = 8

// user returns the user who sends the request; "": the site has no guard, so every user sees everything.
func (c *call) user() string {
	if c.site.guard == nil {
		return ""
	}
	return c.site.guard.User(c.r)
}

// latest returns a copy of the run as the user of the request may see it.
func (c *call) latest(b *Board) *boardCopy {
	s := b.latest()
	if c.site.guard == nil {
		return s
	}
	user := c.user()
	b.mu.Lock()
	last, ok := b.views[user]
	b.mu.Unlock()
	if ok && last.of == s && time.Since(last.made) < freshness {
		return last.boardCopy
	}
	v := view{s, time.Now(), s}
	if may := c.site.guard.Views(user); may != nil {
		v.boardCopy = s.veil(user, may)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.views == nil || len(b.views) >= mostViews {
		b.views = map[string]view{}
	}
	b.views[user] = v
	return v.boardCopy
}

// veil returns a copy for user, without names and users of the jobs that user may not look at.
func (s *boardCopy) veil(user string, may func(sched.JobID) bool) *boardCopy {
	v := &boardCopy{about: s.about, version: s.version, now: s.now, over: s.over, made: s.made, nodes: s.nodes,
		queues: s.queues, unshown: s.unshown, cluster: s.cluster, owed: s.owed, attempts: s.attempts, ends: s.ends,
		viewer: user, may: may, jobs: slices.Clone(s.jobs), orders: map[string][]int32{}}
	for i := range v.jobs {
		if r := &v.jobs[i]; !may(r.id) {
			r.name, r.user = "", ""
		}
	}
	return v
}

// viewer returns the part of a key that tells the views of users apart: requests with the same viewer see the same of
// the runs. "": the user sees everything.
func (c *call) viewer(of []*boardCopy) string {
	if i := slices.IndexFunc(of, func(s *boardCopy) bool { return s.may != nil }); i >= 0 {
		return of[i].viewer + " "
	}
	return ""
}

// shows returns an error if the user of the request may not look at job.
func (c *call) shows(b *Board, job sched.JobID) error {
	if s := c.latest(b); s.hides(job) {
		return refusal{http.StatusForbidden, fmt.Sprintf("user %s may not look at job %d", s.viewer, job)}
	}
	return nil
}

// hides reports whether the viewer of the copy may not look at job.
func (s *boardCopy) hides(job sched.JobID) bool { return s.may != nil && !s.may(job) }

// hide removes from an explanation the names of jobs that the user of the request may not see.
func (c *call) hide(b *Board, x *record.Explanation) {
	s := c.latest(b)
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
