package theory

import (
	"math"
	"slices"
)

// TaskClaim is what one user asks of several resources: any fraction or number of equal tasks.
type TaskClaim struct {
	Weight float64   // > 0 to take part
	Task   []float64 // what one task takes of each resource, >= 0, in the order of the capacity
	Limit  float64   // most tasks it can use, >= 0, +Inf for no limit
}

// dominantShare returns the largest share of a resource that the task takes: +Inf where there is none of it.
func dominantShare(capacity, task []float64) float64 {
	share := 0.0
	for k, need := range task {
		if need > 0 {
			share = max(share, need/capacity[k])
		}
	}
	return share
}

// filling divides a capacity by weighted dominant resource fairness (Ghodsi et al., NSDI 2011): the dominant shares
//
//	s_i = max_k tasks_i × Task_i[k] ÷ capacity[k]
//
// grow together, in proportion to the weights, until a user has reached its Limit or a resource that it needs is used
// up (progressive filling). A user that needs a resource of capacity zero gets nothing; one whose task takes nothing
// gets its Limit. O(n log n + n·k) for n users and k resources.
//
// At the level of weighted dominant share reached so far, user i has speed[i] × level tasks unless it has stopped.
type filling struct {
	users []TaskClaim
	speed []float64 // tasks per level; zero once stopped
	tasks []float64 // of those that have stopped
	rest  []float64 // of each resource
	rate  []float64 // at which the resource is taken, per level
	level float64
}

func newFilling(capacity []float64, users []TaskClaim) *filling {
	f := &filling{
		users: users,
		speed: make([]float64, len(users)),
		tasks: make([]float64, len(users)),
		rest:  slices.Clone(capacity),
		rate:  make([]float64, len(capacity)),
	}
	for i, u := range users {
		dominant := dominantShare(capacity, u.Task)
		switch {
		case dominant == 0:
			f.tasks[i] = u.Limit
		case u.Weight > 0 && !math.IsInf(dominant, 1):
			f.speed[i] = u.Weight / dominant
			f.add(i, 1)
		}
	}
	return f
}

// reaches returns the level at which a user would reach its limit; +Inf: it takes no part.
func (f *filling) reaches(user int32) float64 {
	if f.speed[user] == 0 {
		return math.Inf(1)
	}
	return f.users[user].Limit / f.speed[user]
}

// serve raises the level until a user has stopped. Users come by the level at which they reach their limits.
func (f *filling) serve(user int32) {
	for f.speed[user] > 0 {
		goal := f.reaches(user)
		k, full := f.nextFull()
		if goal <= full {
			f.advance(goal)
			f.stop(int(user), f.users[user].Limit)
			return
		}
		f.advance(full)
		f.exhaust(k)
	}
}

// add adds what user i takes per level to the rates (sign 1), or takes it off (sign -1).
func (f *filling) add(i int, sign float64) {
	for k, need := range f.users[i].Task {
		f.rate[k] += sign * f.speed[i] * need
	}
}

// stop ends the growth of user i at a number of tasks.
func (f *filling) stop(i int, tasks float64) {
	f.add(i, -1)
	f.tasks[i] = tasks
	f.speed[i] = 0
}

// nextFull returns the resource that is used up first and the level at which it is; -1 and +Inf for none.
func (f *filling) nextFull() (k int, level float64) {
	k, level = -1, math.Inf(1)
	for r, rate := range f.rate {
		if rate > 0 {
			if at := f.level + f.rest[r]/rate; at < level {
				k, level = r, at
			}
		}
	}
	return k, level
}

// advance raises the level of all users that still take part, and takes what they use from the rest of each resource. A
// level below the present one changes nothing.
func (f *filling) advance(level float64) {
	step := max(0, level-f.level)
	for k, rate := range f.rate {
		f.rest[k] = max(0, f.rest[k]-step*rate)
	}
	f.level = max(f.level, level)
}

// exhaust stops all users that need resource k.
func (f *filling) exhaust(k int) {
	for i, u := range f.users {
		if f.speed[i] > 0 && u.Task[k] > 0 {
			f.stop(i, f.speed[i]*f.level)
		}
	}
	f.rate[k] = 0 // exact, where rounding may have left a trace
}
