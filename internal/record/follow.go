package record

import "github.com/sojourn-sched/sojourn/sched"

// A Follower watches a core as its Config.Recorder. The core calls Attach with the view before the first Step, and
// Record after each Step. During Record the rows of what ended in the Step can still be read.
type Follower interface {
	Attach(*sched.View)
	sched.Recorder
}

// A Tee is several followers as one: a Writer and a Tally, say.
type Tee []Follower

// Attach shows all of them the view.
func (t Tee) Attach(v *sched.View) {
	for _, f := range t {
		f.Attach(v)
	}
}

// Record tells all of them of a Step.
func (t Tee) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	for _, f := range t {
		f.Record(now, events, actions)
	}
}
