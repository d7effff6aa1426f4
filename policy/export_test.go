package policy

import "github.com/sojourn-sched/sojourn/sched"

// SiblingsInOrder is a policy of queues that keeps the children of every queue in order, however few.
func SiblingsInOrder(p sched.Policy) sched.Policy { return withFew(p, 0) }

// OneByOne is one that looks at children one by one, however many.
func OneByOne(p sched.Policy) sched.Policy { return withFew(p, 1<<30) }

// UsersInOrder is a policy capacity that keeps the users of every queue in order, however few, and queues of none.
func UsersInOrder(p sched.Policy) sched.Policy {
	p.(*capacity).siblings.few, p.(*capacity).limits.few = 1<<30, 0
	return p
}

func withFew(p sched.Policy, few int) sched.Policy {
	switch p := p.(type) {
	case *fair:
		p.siblings.few = few
	case *capacity:
		p.siblings.few, p.limits.few = few, few
	case *drf:
		p.siblings.few = few
	case *dynamicmr:
		p.Queues.Tree.siblings.few = few
	}
	return p
}

// FlexWork returns the work in slot-seconds that the policy flex sees in a stage, and how many slots it may have.
func FlexWork(p sched.Policy, v *sched.View, st *sched.Stage) (work float64, most int) {
	c := p.(*flex).Demand.job(v, laneOf(v, kindOf(st)), st)
	return c.Work, c.Max
}

// AskingAfter makes a policy that takes tasks back ask after so many looks in vain whether all looks are.
func AskingAfter(p sched.Policy, looks int) sched.Policy {
	at := p
	if w, ok := p.(*late); ok {
		at = w.Inner
	}
	switch at := at.(type) {
	case *srpt:
		at.Taking.helpers.after = looks
	case *hfsp:
		at.Taking.helpers.after = looks
	case *fsp:
		at.Taking.helpers.after = looks
	case *gittins:
		at.Taking.helpers.after = looks
	case *las:
		at.Taking.helpers.after = looks
	default:
		panic("a policy that takes nothing back")
	}
	return p
}
