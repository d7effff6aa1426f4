package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Standing says what one queue, or one user of a queue, used, lent and borrowed of one kind of resource. Amounts are
// exact, in units × time: MiB·s of memory, core·s, slot·s.
type Standing struct {
	Queue    string          `json:"queue" xml:"queue"`
	User     string          `json:"user,omitempty" xml:"user,omitempty"` // "": the queue while it had no users
	Share    theory.UnitTime `json:"share" xml:"share"`                   // what was its own by weight, over time
	Used     theory.UnitTime `json:"used" xml:"used"`
	Lent     theory.UnitTime `json:"lent" xml:"lent"`         // of its share, what others used
	Borrowed theory.UnitTime `json:"borrowed" xml:"borrowed"` // what it used of others' shares
	Alone    theory.UnitTime `json:"alone" xml:"alone"`       // what it would have used of a partition of its own
	Benefit  float64         `json:"benefit" xml:"benefit"`   // β: used ÷ alone; 1 where alone is 0
}

// Balance returns what the queue has lent and not borrowed; negative: what it owes.
func (s *Standing) Balance() theory.UnitTime { return s.Lent.Sub(s.Borrowed) }

// A KindFairness is the statement of one kind of resource. The sums of lent and of borrowed are equal, of queues and of
// users.
type KindFairness struct {
	Kind     string          `json:"kind" xml:"kind"`
	Lent     theory.UnitTime `json:"lent" xml:"lent"`         // by all queues
	Borrowed theory.UnitTime `json:"borrowed" xml:"borrowed"` // by all queues
	Gain     float64         `json:"gain" xml:"gain"`         // Ψ: Σ of what is above 1 of the queues' benefits
	Loss     float64         `json:"loss" xml:"loss"`         // Ω: Σ of what is below 1, not above 0
	Queues   []Standing      `json:"queues" xml:"queue"`
	Users    []Standing      `json:"users" xml:"user"`
}

// Loans follows a run and keeps what queues and users lend to each other (docs/spec/ltyarn.md, 5). An instant at which
// something changes costs O(q log q) for q queues and users.
type Loans struct {
	view *sched.View
	last sched.Time
	kind [sched.NumResources]kindLoans
}

// A holder is a queue, or a user of one.
type holder struct{ queue, user string }

// kindLoans are the loans of one kind of resource.
type kindLoans struct {
	queues, users standings
}

// standings are those of all holders, and what they do now.
type standings struct {
	all map[holder]*Standing
	now []holding
}

// A holding is what a holder does between two instants.
type holding struct {
	of                                  *Standing
	share, held, demand, lent, borrowed int64
}

// Attach implements Follower.
func (l *Loans) Attach(v *sched.View) { l.view = v }

// Record implements sched.Recorder.
func (l *Loans) Record(now sched.Time, _ []sched.Event, _ []sched.Action) {
	l.settle(now)
	users := l.holders()
	for k := range l.kind {
		if l.view.Capacity[k] == 0 && l.kind[k].users.all == nil {
			continue
		}
		l.kind[k].look(l.view, users, k)
	}
}

// settle adds what has been lent until now.
func (l *Loans) settle(now sched.Time) {
	if passed := int64(now - l.last); passed > 0 {
		for k := range l.kind {
			l.kind[k].queues.settle(passed)
			l.kind[k].users.settle(passed)
		}
	}
	l.last = now
}

func (s *standings) settle(passed int64) {
	for _, h := range s.now {
		h.of.Share = h.of.Share.Add(theory.Held(h.share, passed))
		h.of.Used = h.of.Used.Add(theory.Held(h.held, passed))
		h.of.Lent = h.of.Lent.Add(theory.Held(h.lent, passed))
		h.of.Borrowed = h.of.Borrowed.Add(theory.Held(h.borrowed, passed))
		h.of.Alone = h.of.Alone.Add(theory.Held(min(h.share, h.demand), passed))
	}
}

// A leaf is a row without others below it, and its part of the cluster by weight.
type leaf struct {
	row   *sched.Queue
	whose holder
	share sched.Resources
}

// holders divides the cluster among the leaves of the queue tree.
func (l *Loans) holders() (leaves []leaf) {
	v := l.view
	var down func(q *sched.Queue, share sched.Resources)
	down = func(q *sched.Queue, share sched.Resources) {
		if len(q.Children) == 0 {
			whose := holder{queue: v.Path(q)}
			if q.User {
				whose.user = q.Spec.Name
			}
			leaves = append(leaves, leaf{q, whose, share})
			return
		}
		weights := make([]int64, len(q.Children))
		for i, id := range q.Children {
			weights[i] = int64(math.Round(v.Queues[id].Weight() * 1e6))
		}
		parts := make([]sched.Resources, len(weights))
		for k := range share {
			if share[k] > 0 {
				for i, p := range theory.Apportion(share[k], weights) {
					parts[i][k] = p
				}
			}
		}
		for i, id := range q.Children {
			down(v.Queues[id], parts[i])
		}
	}
	down(v.Queues[0], v.Capacity)
	return leaves
}

// look computes what is lent from now on.
func (k *kindLoans) look(v *sched.View, leaves []leaf, kind int) {
	k.users.begin()
	k.queues.begin()
	for i := range leaves {
		f := &leaves[i]
		k.users.add(f.whose, f.share[kind], f.row, kind)
		k.queues.add(holder{queue: f.whose.queue}, f.share[kind], f.row, kind)
	}
	k.users.divide()
	k.queues.divide()
}

func (s *standings) begin() {
	if s.all == nil {
		s.all = map[holder]*Standing{}
	}
	s.now = s.now[:0]
}

// add adds what leaf row does, which has a share, to the standing of its holder. Leaves of the same holder come one
// after the other, except that queues below a queue may come between the queue's own users.
func (s *standings) add(whose holder, share int64, row *sched.Queue, kind int) {
	of := s.all[whose]
	if of == nil {
		of = &Standing{Queue: whose.queue, User: whose.user}
		s.all[whose] = of
	}
	h := holding{of: of, share: share, held: row.Used[kind], demand: row.Demand[kind]}
	if n := len(s.now); n > 0 && s.now[n-1].of == of {
		last := &s.now[n-1]
		last.share, last.held, last.demand = last.share+h.share, last.held+h.held, last.demand+h.demand
		return
	}
	s.now = append(s.now, h)
}

// divide computes what each queue and user lends and borrows.
func (s *standings) divide() {
	share, held := make([]int64, len(s.now)), make([]int64, len(s.now))
	for i, h := range s.now {
		share[i], held[i] = h.share, h.held
	}
	lent, borrowed := theory.Loans(share, held)
	for i := range s.now {
		s.now[i].lent, s.now[i].borrowed = lent[i], borrowed[i]
	}
}

// list returns all standings by name. A line on which nothing was used or lent, and nothing was its own, is left out.
func (s *standings) list() []Standing {
	list := []Standing{}
	for _, of := range s.all {
		if *of != (Standing{Queue: of.Queue, User: of.User}) {
			of.Benefit = theory.Benefit(of.Used.Seconds(), of.Alone.Seconds())
			list = append(list, *of)
		}
	}
	slices.SortFunc(list, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.User, b.User))
	})
	return list
}

// FairnessAt returns the statement up to an instant at or after the last Step: what is held is held until then.
func (l *Loans) FairnessAt(now sched.Time) []KindFairness {
	l.settle(now)
	return l.Fairness()
}

// Fairness returns the statement up to the last Step, a kind of resource each.
func (l *Loans) Fairness() []KindFairness {
	kinds := []KindFairness{}
	for k := range l.kind {
		of := &l.kind[k]
		if of.users.all == nil {
			continue
		}
		f := KindFairness{Kind: sched.ResourceKind(k).String(), Queues: of.queues.list(), Users: of.users.list()}
		betas := make([]float64, len(f.Queues))
		for i, s := range f.Queues {
			f.Lent, f.Borrowed, betas[i] = f.Lent.Add(s.Lent), f.Borrowed.Add(s.Borrowed), s.Benefit
		}
		f.Gain, f.Loss = theory.SharingBenefit(betas), theory.SharingLoss(betas)
		kinds = append(kinds, f)
	}
	return kinds
}

// Resume ends a run, and makes what was lent in it the beginning of another one, whose time starts at 0.
func (l *Loans) Resume() {
	l.last = 0
	for k := range l.kind {
		l.kind[k].queues.now, l.kind[k].users.now = nil, nil
	}
}

// Left returns the statement up to now, to be written as JSON at once.
func (l *Loans) Left(now sched.Time) any { return l.FairnessAt(max(now, l.last)) }

// Recall makes a statement that Left gave in another run the beginning of this one.
func (l *Loans) Recall(text []byte) error {
	var kinds []KindFairness
	if err := json.Unmarshal(text, &kinds); err != nil {
		return err
	}
	for _, f := range kinds {
		k, ok := sched.ResourceNamed(f.Kind)
		if !ok {
			return fmt.Errorf("kind %q: there is no such resource", f.Kind)
		}
		if err := l.kind[k].queues.recall(f.Queues); err != nil {
			return fmt.Errorf("kind %s, queues: %w", f.Kind, err)
		}
		if err := l.kind[k].users.recall(f.Users); err != nil {
			return fmt.Errorf("kind %s, users: %w", f.Kind, err)
		}
	}
	return nil
}

// recall takes standings over, which must balance.
func (s *standings) recall(list []Standing) error {
	s.begin()
	var balance, nothing theory.UnitTime
	for i := range list {
		of := &list[i]
		for _, amount := range []theory.UnitTime{of.Share, of.Used, of.Lent, of.Borrowed, of.Alone} {
			if amount.Compare(nothing) < 0 {
				return fmt.Errorf("queue %q, user %q: %v must not be negative", of.Queue, of.User, amount)
			}
		}
		balance = balance.Add(of.Balance())
		s.all[holder{of.Queue, of.User}] = of
	}
	if balance != nothing {
		return fmt.Errorf("%v more is lent than borrowed", balance)
	}
	return nil
}
