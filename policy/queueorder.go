package policy

import "github.com/sojourn-sched/sojourn/sched"

// A queueOrder is what a queue says of the order of its own jobs: sched.QueueSpec.Policy, read.
type queueOrder struct {
	name string // fifo, fair or drf; "": the queue says nothing
	near nearness
}

// queueOrders are those of all configured queues, by QueueID. They are a cache of the queues' specs.
type queueOrders struct {
	list     []queueOrder
	differ   bool // some queue has parameters of its own
	dominant bool // some queue's policy is drf
	shares   bool // keys are of shares of the capacity in all queues, whatever their policies
}

// heldForWeight returns the key of st among the jobs of a queue that share it: what its job holds for its weight. Under
// the order drf that is the job's dominant share, else its amount of the kind for which st competes.
func heldForWeight(t *tree, order string, st *sched.Stage) sched.Key {
	if order == "drf" {
		return sched.Key{Value: st.Job.Used.DominantShare(t.Total) / st.Job.Weight}
	}
	return sched.Key{Value: float64(st.Job.Used[kindOf(st)]) / st.Job.Weight}
}

// heldForWeightInWords says a key of heldForWeight.
func heldForWeightInWords(order string, st *sched.Stage, k sched.Key) string {
	if order == "drf" {
		return shareInWords(k)
	}
	return holdsInWords(kindOf(st), k)
}

// read reads the orders of all queues. A parameter that a queue does not give is that of the policy, by. A policy that
// cannot be read counts as none: CheckQueues refuses it where the queues come from.
func (o *queueOrders) read(v *sched.View, by nearness) {
	o.list = append(o.list[:0], make([]queueOrder, len(v.Queues))...)
	o.differ, o.dominant = false, false
	for i, q := range v.Queues {
		o.list[i].near = by
		if q == nil || q.User || q.Spec.Policy == "" {
			continue
		}
		if name, given, err := parseQueue(q.Spec.Policy); err == nil {
			o.list[i] = queueOrder{name, by.with(given)}
			o.differ = o.differ || o.list[i].near != by
			o.dominant = o.dominant || name == "drf"
		}
	}
}

// touch marks the jobs whose keys are other ones with another capacity: those that hold something, where keys are of
// shares of the capacity. O(jobs) if there is such a queue.
func (o *queueOrders) touch(p *sched.Plan) {
	if !o.shares && !o.dominant {
		return
	}
	for j := range p.Jobs() {
		if j.Used != (sched.Resources{}) && (o.shares || o.name(p.Queues[j.Queue].Parent) == "drf") {
			p.TouchJob(j)
		}
	}
}

// of returns the order of a queue; nil: the queue was made for a job, and says nothing.
func (o *queueOrders) of(q sched.QueueID) *queueOrder {
	if int(q) < len(o.list) {
		return &o.list[q]
	}
	return nil
}

// name returns the name of a queue's order; "": the queue says nothing.
func (o *queueOrders) name(q sched.QueueID) string {
	if own := o.of(q); own != nil {
		return own.name
	}
	return ""
}
