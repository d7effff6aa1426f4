package web

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// userColumns are the columns that users can be sorted by, beside received.KIND (usersBy).
var userColumns = map[string]func(a, b *userSum) int{
	"user":       func(a, b *userSum) int { return cmp.Compare(a.Name, b.Name) },
	"jobs":       func(a, b *userSum) int { return cmp.Compare(a.Jobs, b.Jobs) },
	"unfinished": func(a, b *userSum) int { return cmp.Compare(a.Unfinished, b.Unfinished) },
	"waiting":    func(a, b *userSum) int { return cmp.Compare(a.Waiting, b.Waiting) },
	"failed":     func(a, b *userSum) int { return cmp.Compare(a.Failed, b.Failed) },
	"running":    func(a, b *userSum) int { return cmp.Compare(a.Running, b.Running) },
	"pending":    func(a, b *userSum) int { return cmp.Compare(a.Pending, b.Pending) },
	"service":    func(a, b *userSum) int { return cmp.Compare(a.Service, b.Service) },
	"used":       func(a, b *userSum) int { return cmp.Compare(a.dominant, b.dominant) },
	"sojourn":    func(a, b *userSum) int { return cmp.Compare(a.Sojourn.mean(), b.Sojourn.mean()) },
	"wait":       func(a, b *userSum) int { return cmp.Compare(a.Wait.mean(), b.Wait.mean()) },
}

// mean returns the mean of values; -1 if there are none, so that they come before all others.
func (s *Spread) mean() float64 {
	if s == nil {
		return -1
	}
	return s.Mean
}

// usersBy returns the order of a column of users. The column received.KIND is what they received of that kind.
func usersBy(column string) (func(a, b *userSum) int, error) {
	if by := userColumns[column]; by != nil {
		return by, nil
	}
	kind, ok := strings.CutPrefix(column, "received.")
	for k := range sched.NumResources {
		if ok && sched.ResourceKind(k).Key() == kind {
			return func(a, b *userSum) int { return cmp.Compare(a.received[k], b.received[k]) }, nil
		}
	}
	if ok {
		return nil, wrong("sort=%s: %s is no kind of resource: there are %s", column, kind, strings.Join(kinds(), ", "))
	}
	return nil, columnError(column, userColumns)
}

// kinds returns the keys of all kinds of resources.
func kinds() (list []string) {
	for k := range sched.NumResources {
		list = append(list, sched.ResourceKind(k).Key())
	}
	return list
}

func (c *call) users() (any, error) {
	b, _, err := c.board()
	if err != nil {
		return nil, err
	}
	p, err := c.page("user")
	if err != nil {
		return nil, err
	}
	by, err := usersBy(p.column)
	if err != nil {
		return nil, err
	}
	return c.latest(b).usersAnswer(strings.ToLower(c.r.FormValue("q")), p, by), nil
}

// A userSum is the row of a user, and what it is computed from.
type userSum struct {
	User
	sojourns, waits []float64
	used            sched.Resources
	dominant        float64 // share of the cluster that is used
	received        sched.Work
}

// usersAnswer returns a page of the users whose names contain text, which is in lower case. It looks at every job.
func (s *boardCopy) usersAnswer(text string, p page, by func(a, b *userSum) int) *Users {
	list := &Users{Now: s.now.Seconds(), Offset: p.offset, Rows: []User{}}
	var rows []*userSum
	for _, u := range s.userSums() {
		list.Service += u.Service
		if text == "" || contains(u.Name, text) {
			rows = append(rows, u)
		}
	}
	slices.SortStableFunc(rows, func(a, b *userSum) int {
		if p.down {
			a, b = b, a
		}
		return by(a, b)
	})
	list.Total = len(rows)
	for _, u := range cut(rows, p) {
		u.finish()
		list.Rows = append(list.Rows, u.User)
	}
	return list
}

// userSums returns the sums over the jobs of each user, in the order of their names. Jobs that the reader may not look
// at have a row of their own.
func (s *boardCopy) userSums() []*userSum {
	type who struct {
		name   string
		hidden bool
	}
	place := map[who]*userSum{}
	var all []*userSum
	for i := range s.jobs {
		r := &s.jobs[i]
		of := who{r.user, s.hides(r.id)}
		u := place[of]
		if u == nil {
			u = &userSum{User: User{Name: of.name, Hidden: of.hidden}}
			place[of] = u
			all = append(all, u)
		}
		u.add(s, r)
	}
	for _, u := range all {
		u.dominant = u.used.DominantShare(s.cluster.capacity)
		slices.Sort(u.sojourns)
		slices.Sort(u.waits)
		u.Sojourn, u.Wait = spreadOf(u.sojourns), spreadOf(u.waits)
	}
	slices.SortFunc(all, func(a, b *userSum) int {
		if c := cmp.Compare(a.Name, b.Name); c != 0 || a.Hidden == b.Hidden {
			return c
		}
		if a.Hidden {
			return 1
		}
		return -1
	})
	return all
}

// add adds job r of copy s to the sums.
func (u *userSum) add(s *boardCopy, r *jobRow) {
	u.Jobs++
	u.Running += r.running
	u.Pending += r.pending
	if r.first >= 0 {
		u.waits = append(u.waits, r.wait(s.now).Seconds())
	}
	for k, x := range r.use.until(s.now) {
		u.received[k] += x
	}
	switch {
	case r.end < 0:
		u.Unfinished++
		if r.first < 0 {
			u.Waiting++
		}
		u.Service += r.use.until(s.now).Seconds(s.cluster.capacity)
		if r.use != nil {
			u.used = u.used.Add(r.use.used)
		}
	case r.outcome == sched.OK:
		u.Service += r.service
		u.sojourns = append(u.sojourns, r.sojourn(s.now).Seconds())
	default:
		u.Service += r.service
		u.Failed++
	}
}

// finish sets the resources of the row. Only rows that are sent need them.
func (u *userSum) finish() {
	u.Used, u.Received = amounts(u.used), map[string]float64{}
	for k, x := range u.received {
		if x > 0 {
			u.Received[sched.ResourceKind(k).Key()] = x
		}
	}
}
