package policy

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/priority"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// wholeCluster is the dominant share of the whole cluster in the unit of the ledger, a millionth of a millionth. Shares
// are whole numbers of this unit, so that sums over time are exact.
const wholeCluster = 1e12

// terms are the parameters that say how much a queue is charged for what it holds.
type terms struct {
	karma      bool
	guaranteed float64
	discount   float64
	round      sched.Time
	rounds     int
	decay      int64 // in millionths
	cap, debt  sched.Time
	par        bool
	quantum    sched.Time
	adapt      bool
}

func termsOf(a Args) terms {
	return terms{
		karma:      a.Choice("credit") == "karma",
		guaranteed: a.Number("guaranteed"),
		discount:   a.Number("discount"),
		round:      roundOf(a.Time("round")),
		rounds:     a.Int("rounds"),
		decay:      int64(math.Round(a.Number("decay") * 1e6)),
		cap:        a.Time("cap"),
		debt:       a.Time("debt"),
		par:        a.Choice("par") == "on",
		quantum:    a.Time("quantum"),
		adapt:      a.Choice("adapt") == "on",
	}
}

// leastRound is the least length of a round, whose end costs O(queues).
const leastRound = sched.Time(time.Second)

// roundOf returns the length of a round, where asked is the parameter; 0: a round never ends.
func roundOf(asked sched.Time) sched.Time {
	if asked == 0 {
		return 0
	}
	return max(asked, leastRound)
}

// counted returns the rate at which a queue is charged that holds held, where its share is share.
func (t *terms) counted(held, share float64) float64 {
	if t.karma {
		return max(0, held-t.guaranteed*share)
	}
	return min(held, share) + t.discount*max(0, held-share)
}

// A clock is an amount that grows at a constant rate between changes.
type clock struct {
	Value theory.UnitTime
	Since sched.Time
	Rate  int64
}

// at returns the amount at instant t, which is not before Since.
func (c *clock) at(t sched.Time) theory.UnitTime {
	return c.Value.Add(theory.Held(c.Rate, int64(t-c.Since)))
}

// set changes the rate to rate from now on.
func (c *clock) set(now sched.Time, rate int64) { c.Value, c.Since, c.Rate = c.at(now), now, rate }

// An account says how much a queue, or a user of a queue, has been charged, in units of the ledger × time for its
// weight. The balance at an instant is
//
//	Counted + Until − Young × instant
//
// Young and Until are of the young attempts, which have not run for their quantum: such an attempt is charged at once
// for the rest of its quantum. All numbers are whole, so that the balance does not depend on how often it is read.
type account struct {
	Counted clock
	Young   int64           // Σ of the rates of young attempts
	Until   theory.UnitTime // Σ of the rate × the end of the quantum, of the same attempts

	Held  int64 // its dominant share now
	Share int64 // its fair share by weight
	Rates rates // its present rates, before the division by weight

	Donates int64           // with karma: what it does not hold of its guaranteed share, for its weight, in millionths
	Seen    theory.UnitTime // with karma: level.Earning of the queue above at the last change

	Began  theory.UnitTime   // Counted when the round began
	Rounds []theory.UnitTime // the charges of the earlier rounds that Counted still includes, the oldest first
	Active int64             // the round in which it last became active, from 1; 0: in none

	Below   *level // of the queue's children; nil: none was needed yet
	Quantum quantum
}

// A level has what the children of one queue have in common.
type level struct {
	Children int             // how many children the queue had when Weights was summed
	Changes  int             // View.QueueChanges at that time
	Weights  float64         // Σ of the weights of the children that share
	Rates    rates           // Σ of their rates
	Mean     clock           // the charge, for its weight, of a child that had its fair part of all charges
	Began    theory.UnitTime // as in account
	Rounds   []theory.UnitTime
	Earning  clock // with karma: the part of the donated shares that others used, in millionths, summed over time
}

// A quantum is how long tasks below a queue are assumed to run: the mean of the quanta of its children.
type quantum struct {
	Time  sched.Time
	Known bool       // Time was learned from tasks
	Sum   sched.Time // of the children (a leaf: of the jobs' means) that know one
	N     int64      // how many these are
}

// finished counts the tasks of a job that have succeeded, and sums their times.
type finished struct {
	N   int64
	Sum sched.Time
}

func (f finished) mean() sched.Time { return f.Sum / sched.Time(f.N) }

// A charge is the rate of a young attempt for each queue, from its user's upwards, until the end of its quantum.
type charge struct {
	Queue sched.QueueID
	Until sched.Time
	Parts []int64
}

// A ledger keeps the accounts of all queues and users. Accounts are found by name, so that an engine that starts again
// finds them, in whatever order its queues are created. A user's account outlasts the user's jobs.
//
// An event costs O(depth) additions. A change of capacity, of the configuration or of the present users costs
// O(queues), and so does the end of a round; with decay it costs O(queues · rounds).
type ledger struct {
	At       sched.Time // the instant of the last decision; in a saved ledger, when it was saved
	Capacity sched.Resources
	Changes  int        // View.QueueChanges at the last decision
	Before   sched.Time // how long the earlier runs lasted from which the accounts are: rounds go on over restarts
	Round    int64      // how many rounds have ended, those of earlier runs included
	Length   sched.Time // the length of the rounds that Round counts
	Accounts map[string]*account
	Owners   []string // by queue: the name of the account that it had last
	Young    map[sched.AttemptID]charge
	Jobs     sched.Per[finished]

	terms   terms
	users   bool // users have accounts; else only configured queues do
	rows    sched.Per[*account]
	ends    priority.Queue[quantumEnd] // of Young; nil: not made yet
	touched []*sched.Queue             // queues whose place may have changed in this decision
}

// A quantumEnd is the instant at which an attempt has run for its quantum.
type quantumEnd struct {
	at sched.Time
	id sched.AttemptID
}

// Before compares instants, and for equal ones the attempts' IDs.
func (a quantumEnd) Before(b quantumEnd) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

// of returns the account of a queue.
func (l *ledger) of(v *sched.View, q *sched.Queue) *account {
	row := l.rows.Of(q)
	if *row == nil {
		*row = l.find(v, q)
	}
	return *row
}

// find looks up the account of queue q by name. A new account begins with the average of its siblings, so that it has
// neither credit nor debt for the time before it existed. For a queue that exists from the start, the average is zero.
func (l *ledger) find(v *sched.View, q *sched.Queue) *account {
	name := v.Path(q)
	if q.User {
		name += "\n" + q.Spec.Name
	}
	for int(q.ID) >= len(l.Owners) {
		l.Owners = append(l.Owners, "")
	}
	if last := l.Owners[q.ID]; last != name {
		if gone := l.Accounts[last]; gone != nil {
			l.close(v, q, gone)
		}
		if old := slices.Index(l.Owners, name); old >= 0 {
			l.Owners[old] = "" // the queue or user that comes in that row next must not close this account
		}
		l.Owners[q.ID] = name
	}
	a := l.Accounts[name]
	if a == nil {
		if l.Accounts == nil {
			l.Accounts = map[string]*account{}
		}
		a = &account{Quantum: quantum{Time: l.terms.quantum}}
		a.Counted.Since = v.Now
		if q.ID != 0 {
			up := l.of(v, v.Queues[q.Parent])
			a.Quantum.Time = up.Quantum.Time
			if up.Below != nil {
				a.Counted.Value = up.Below.Mean.at(v.Now)
				a.Seen = up.Below.Earning.at(v.Now)
			}
		}
		l.Accounts[name] = a
	}
	return a
}

// close sets the rates of account a to zero from now on. The account belongs to a user whose row, q, another user has
// now.
func (l *ledger) close(v *sched.View, q *sched.Queue, a *account) {
	if above := l.of(v, v.Queues[q.Parent]).Below; above != nil {
		l.book(above, a, rates{}, v.Now)
	}
	a.Counted.set(v.Now, 0)
	a.Held = 0
}

// levelOf returns the level of the children of queue q.
func (l *ledger) levelOf(v *sched.View, q *sched.Queue) *level {
	a := l.of(v, q)
	if a.Below == nil {
		a.Below = &level{}
		a.Below.Mean.Since, a.Below.Earning.Since = v.Now, v.Now
	}
	return a.Below
}

// weightOf returns the weight of a queue in the ledger: its own, but at least a millionth. Rates are whole numbers in
// 64 bits, and would overflow with a smaller weight.
func weightOf(q *sched.Queue) float64 { return max(q.Weight(), 1e-6) }

// counts reports whether queue q has an account and a share: not if it is a user and users are not told apart.
func (l *ledger) counts(q *sched.Queue) bool { return l.users || !q.User }

// follow brings all accounts up to now. It returns true if the place of any queue may have changed, because a round has
// ended or a new run begins; else only that of the queues in touched may have.
func (l *ledger) follow(p *sched.Plan, users bool) (anew bool) {
	l.users, l.touched = users, l.touched[:0]
	v := p.View
	all := p.Now < l.At
	if all {
		l.restart()
	}
	anew = l.endRounds(p.Now) || all
	l.endQuanta(v)
	all = all || l.Capacity != p.Capacity || l.Changes != p.QueueChanges
	l.At, l.Capacity, l.Changes = p.Now, p.Capacity, p.QueueChanges
	for i := range p.Events {
		e := &p.Events[i]
		switch e.Kind {
		case sched.AttemptDone:
			l.done(p, e)
		case sched.JobEnded:
			l.forget(v, e.Job)
		case sched.SpecChanged:
			l.moveYoung(v)
			all = true
		}
		if e.Attempt != 0 {
			if a := v.Attempt(e.Attempt); a != nil {
				l.touch(v, v.Queues[a.Stage.Job.Queue])
			}
		} else if j := v.Job(e.Job); j != nil {
			l.touch(v, v.Queues[j.Queue])
		}
	}
	if all {
		l.touchBelow(v, v.Queues[0])
		l.closeAbsent(v)
	}
	return anew
}

// check returns an error if no run can have saved the ledger, which was read from a file.
func (l *ledger) check() error {
	if min(l.At, l.Before) < 0 || max(l.At, l.Before) > mostTime {
		return fmt.Errorf("field At is %d and Before %d: want nanoseconds from 0 to 100 years", l.At, l.Before)
	}
	if l.Round < 0 {
		return fmt.Errorf("field Round is %d, must not be negative", l.Round)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Accounts)) {
		a := l.Accounts[name]
		switch {
		case a == nil:
			return fmt.Errorf("field Accounts, %q: is null, want an account", name)
		case a.Counted.Since > l.At || a.Below != nil && a.Below.Mean.Since > l.At:
			return fmt.Errorf("field Accounts, %q: was counted after At, %d", name, l.At)
		case a.Quantum.Time < 0:
			return fmt.Errorf("field Accounts, %q: Quantum.Time is %d, must not be negative", name, a.Quantum.Time)
		}
	}
	return nil
}

// mostTime bounds the length of the run that saved a ledger, and that of all earlier runs together.
const mostTime = 100 * 365 * 24 * time.Hour

// restart prepares a ledger that a run saved at l.At for a new run, whose time starts at 0 and in which nothing runs
// yet. It brings the accounts up to l.At, and ends the rounds that were over by then. What a queue has earned since its
// last change (Donates, Seen) is settled when the new run first changes the queue.
func (l *ledger) restart() {
	if l.Length == l.terms.round { // else Round counts rounds of another length: the present round goes on
		l.endRounds(l.At)
	}
	l.Length = l.terms.round
	for _, a := range l.Accounts {
		a.Counted = clock{Value: a.Counted.at(l.At)}
		a.Young, a.Until, a.Held, a.Rates = 0, theory.UnitTime{}, 0, rates{}
		if b := a.Below; b != nil {
			mean, earning := clock{Value: b.Mean.at(l.At)}, clock{Value: b.Earning.at(l.At)}
			*b = level{Mean: mean, Earning: earning, Began: b.Began, Rounds: b.Rounds}
		}
		a.Quantum.Sum, a.Quantum.N = 0, 0
	}
	l.Before += l.At
	l.Young, l.ends, l.Owners, l.Round = nil, nil, nil, 0
	if l.terms.round > 0 {
		l.Round = int64(l.Before / l.terms.round)
	}
	l.At, l.Capacity = 0, sched.Resources{}
	l.Jobs, l.rows = sched.Per[finished]{}, sched.Per[*account]{}
}

// singleCost bounds the cost of the rounds that endRounds ends one by one after a gap: their number × the charges that
// each of them rounds. It is a few milliseconds for each account.
const singleCost = 1 << 16

// singleRounds returns how many rounds endRounds ends one by one at most, beside the first. A run in which something
// happens more often than that does not depend on how many rounds are ended at once. Without decay no charge is
// rounded, and all rounds but the first end at once.
func (t *terms) singleRounds() int64 {
	if t.decay == 0 {
		return 0
	}
	return int64(singleCost / max(64, t.rounds))
}

// endRounds ends the rounds that are over by now, and reports whether there were any. At the end of a round all
// accounts forget the oldest remembered round (parameter rounds) and a part of the rest (decay). That costs
// O(accounts), with decay O(accounts · rounds). After a long gap, the rounds that are over beyond those of singleRounds
// end at once, in O(accounts · (rounds + log gap)).
func (l *ledger) endRounds(now sched.Time) (ended bool) {
	if l.terms.round == 0 || l.terms.rounds == 0 && l.terms.decay == 0 {
		return false
	}
	over := int64((l.Before + now) / l.terms.round)
	for l.Round < over {
		end := sched.Time(l.Round+1)*l.terms.round - l.Before
		l.eachClock(func(c *clock, began *theory.UnitTime, rounds *[]theory.UnitTime) {
			*rounds = l.endRound(end, c, began, *rounds)
		})
		l.Round++
		if n := over - l.Round - l.terms.singleRounds(); n > 0 {
			end += sched.Time(n) * l.terms.round
			l.eachClock(func(c *clock, began *theory.UnitTime, rounds *[]theory.UnitTime) {
				*rounds = l.endWhole(n, end, c, *rounds)
				*began = c.Value
			})
			l.Round += n
		}
		ended = true
	}
	return ended
}

// eachClock calls f for each clock whose rounds end, with its value when the round began and the remembered rounds.
func (l *ledger) eachClock(f func(c *clock, began *theory.UnitTime, rounds *[]theory.UnitTime)) {
	for _, a := range l.Accounts {
		f(&a.Counted, &a.Began, &a.Rounds)
		if b := a.Below; b != nil {
			f(&b.Mean, &b.Began, &b.Rounds)
		}
	}
}

// endWhole ends n whole rounds of clock c at once, the last of them at end, and returns the charges of the rounds that
// are still remembered. If all rounds are remembered, a round makes x + d of the value x, where d is the charge of a
// round, and keeps the part k of that. So n rounds make kⁿ·x + (k + k² + … + kⁿ)·d of it. Both terms follow from those
// of n÷2 rounds, in O(log n). A value differs from what n calls of endRound make of it by what those calls round.
// Without decay it does not differ.
func (l *ledger) endWhole(n int64, end sched.Time, c *clock, rounds []theory.UnitTime) []theory.UnitTime {
	one := fading{keep: wholeKept / 1_000_000 * (1_000_000 - l.terms.decay)}
	one.charge = theory.Held(c.Rate, int64(l.terms.round)).Scale(one.keep, wholeKept)
	all := fading{keep: wholeKept}
	for left := n; left > 0; left /= 2 {
		if left%2 == 1 {
			all = all.then(one)
		}
		one = one.then(one)
	}
	c.Since = end
	if l.terms.rounds > 0 {
		return l.rememberWhole(n, all.keep, c, rounds)
	}
	c.Value = all.of(c.Value)
	for i := range rounds {
		rounds[i] = rounds[i].Scale(all.keep, wholeKept)
	}
	return rounds
}

// rememberWhole is endWhole for a limited number of remembered rounds. Together the n rounds keep the part keep, in
// units of wholeKept, of an amount. The value of clock c is the sum of the remembered charges and a rest. So the value
// at the end is the sum of the charges that are remembered then, and what the rounds keep of the rest. The charges of
// forgotten rounds are in neither. O(remembered rounds).
func (l *ledger) rememberWhole(n, keep int64, c *clock, rounds []theory.UnitTime) []theory.UnitTime {
	rest := c.Value
	for _, r := range rounds {
		rest = rest.Sub(r)
	}
	most := max(int64(len(rounds)), int64(l.terms.rounds)-1)
	fresh := min(n, most)
	old := rounds[max(0, int64(len(rounds))+fresh-most):]
	remembered := make([]theory.UnitTime, int64(len(old))+fresh)
	c.Value = rest.Scale(keep, wholeKept)
	for i, r := range old {
		remembered[i] = r.Scale(keep, wholeKept)
		c.Value = c.Value.Add(remembered[i])
	}
	charge := theory.Held(c.Rate, int64(l.terms.round))
	for i := len(remembered) - 1; i >= len(old); i-- { // a charge is rounded once for each round that ends after it
		charge = charge.Scale(1_000_000-l.terms.decay, 1_000_000)
		remembered[i] = charge
		c.Value = c.Value.Add(charge)
	}
	return remembered
}

// wholeKept is the unit of fading.keep: the whole of an amount.
const wholeKept = 1_000_000_000_000_000_000

// A fading is what some rounds in a row make of an amount: they keep a part of it, in units of wholeKept, and add a
// charge.
type fading struct {
	keep   int64
	charge theory.UnitTime
}

// of returns what the rounds make of amount x.
func (f fading) of(x theory.UnitTime) theory.UnitTime {
	return x.Scale(f.keep, wholeKept).Add(f.charge)
}

// then returns what the rounds of f and after them those of next make of an amount.
func (f fading) then(next fading) fading {
	hi, lo := bits.Mul64(uint64(f.keep), uint64(next.keep))
	keep, _ := bits.Div64(hi, lo, wholeKept)
	return fading{int64(keep), next.of(f.charge)}
}

// endRound ends a round of clock c, whose value at its beginning was began, and returns the charges of the rounds that
// are still remembered.
func (l *ledger) endRound(end sched.Time, c *clock, began *theory.UnitTime,
	rounds []theory.UnitTime) []theory.UnitTime {
	c.set(end, c.Rate)
	if most := l.terms.rounds; most > 0 {
		rounds = append(rounds, c.Value.Sub(*began))
		if len(rounds) >= most {
			c.Value = c.Value.Sub(rounds[0])
			rounds = slices.Delete(rounds, 0, 1)
		}
	}
	if keep := 1_000_000 - l.terms.decay; keep < 1_000_000 {
		c.Value = c.Value.Scale(keep, 1_000_000)
		for i := range rounds {
			rounds[i] = rounds[i].Scale(keep, 1_000_000)
		}
	}
	*began = c.Value
	return rounds
}

// rates are the rate at which a queue is charged and, with karma, how much of the guaranteed part of its share it does
// not hold (Donated) or holds beyond it (Borrowed), in millionths of the cluster.
type rates struct{ Charge, Donated, Borrowed int64 }

// add adds o times sign.
func (r *rates) add(o rates, sign int64) {
	r.Charge += sign * o.Charge
	r.Donated += sign * o.Donated
	r.Borrowed += sign * o.Borrowed
}

// touch brings the accounts of queue q, and of the queues above it, up to now, and sets their rates to what they hold
// now.
func (l *ledger) touch(v *sched.View, q *sched.Queue) {
	for ; q.ID != 0; q = v.Queues[q.Parent] {
		if !l.counts(q) {
			continue
		}
		if l.weigh(v, v.Queues[q.Parent]) {
			l.touchBelow(v, v.Queues[q.Parent])
		}
		l.one(v, q)
	}
}

// touchBelow brings the accounts of all queues below q up to now.
func (l *ledger) touchBelow(v *sched.View, q *sched.Queue) {
	l.weigh(v, q)
	l.levelOf(v, q).Rates = rates{}
	for _, id := range q.Children {
		if c := v.Queues[id]; l.counts(c) {
			l.of(v, c).Rates = rates{}
			l.one(v, c)
			l.touchBelow(v, c)
		}
	}
}

// weigh sums the weights of the children of q that share, and reports whether the sum has changed.
func (l *ledger) weigh(v *sched.View, q *sched.Queue) bool {
	b := l.levelOf(v, q)
	if b.Children == len(q.Children) && b.Changes == v.QueueChanges {
		return false
	}
	was := b.Weights
	b.Children, b.Changes, b.Weights = len(q.Children), v.QueueChanges, 0
	for _, id := range q.Children {
		if c := v.Queues[id]; l.counts(c) {
			b.Weights += weightOf(c)
		}
	}
	return b.Weights != was
}

// one brings the account of queue q, without those above and below it, up to now.
func (l *ledger) one(v *sched.View, q *sched.Queue) {
	a, up := l.of(v, q), v.Queues[q.Parent]
	b, above, weight := l.levelOf(v, up), float64(wholeCluster), weightOf(q)
	if up.ID != 0 {
		above = float64(l.of(v, up).Share)
	}
	held, share := q.Used.DominantShare(l.Capacity)*wholeCluster, above*weight/max(weight, b.Weights)
	a.Held, a.Share = int64(math.Round(held)), int64(math.Round(share))
	now := rates{Charge: int64(math.Round(l.terms.counted(held, share)))}
	if own := l.terms.guaranteed * share; !l.terms.karma {
		// nothing is donated
	} else if held >= own {
		now.Borrowed = int64(math.Round((held - own) / 1e6))
	} else if !q.User || q.Jobs > 0 { // a user whose last job has ended donates nothing any more
		now.Donated = int64(math.Round((own - held) / 1e6))
	}
	l.book(b, a, now, v.Now)
	a.Counted.set(v.Now, int64(math.Round(float64(now.Charge)/weight)))
	a.Donates = int64(math.Round(float64(now.Donated) / weight))
	l.bound(a, b, v.Now, int64(math.Round(share/weight)))
	if l.terms.par {
		l.activate(v, q, a)
	}
	l.touched = append(l.touched, q)
}

// book settles what account a has earned by donating, and changes its rates, and so those of its level b, to now.
func (l *ledger) book(b *level, a *account, now rates, at sched.Time) {
	b.Rates.add(a.Rates, -1)
	b.Rates.add(now, 1)
	a.Rates = now
	if l.terms.karma {
		earning := b.Earning.at(at)
		a.Counted.Value = a.Counted.Value.Sub(earning.Sub(a.Seen).Times(a.Donates))
		a.Seen = earning
		used := int64(0)
		if b.Rates.Donated > 0 {
			used = min(1_000_000, b.Rates.Borrowed*1_000_000/b.Rates.Donated)
		}
		b.Earning.set(at, used)
	}
	if b.Weights > 0 {
		earned := 1e6 * float64(min(b.Rates.Donated, b.Rates.Borrowed))
		b.Mean.set(at, int64(math.Round((float64(b.Rates.Charge)-earned)/b.Weights)))
	}
}

// bound limits the credit and the debt of account a, whose share for its weight is share. It is called only when
// something of the queue changes: without a change the queue cannot spend credit.
func (l *ledger) bound(a *account, b *level, now sched.Time, share int64) {
	mean := b.Mean.at(now)
	if l.terms.cap > 0 {
		if least := mean.Sub(theory.Held(share, int64(l.terms.cap))); a.Counted.Value.Compare(least) < 0 {
			a.Counted.Value = least
		}
	}
	if l.terms.debt > 0 {
		if most := mean.Add(theory.Held(share, int64(l.terms.debt))); a.Counted.Value.Compare(most) > 0 {
			a.Counted.Value = most
		}
	}
}

// activate gives a queue that is active for the first time in this round as much as the active sibling with most
// (LTYARN's pseudo accumulated resources, formula 5.16). O(siblings), once a round for each queue.
func (l *ledger) activate(v *sched.View, q *sched.Queue, a *account) {
	round := l.Round + 1
	if a.Active == round || q.Demand == (sched.Resources{}) {
		return
	}
	a.Active = round
	for _, id := range v.Queues[q.Parent].Children {
		o := v.Queues[id]
		if o == q || !l.counts(o) || o.Demand == (sched.Resources{}) {
			continue
		}
		if other := l.of(v, o); other.Active == round {
			if most := other.at(v.Now); most.Compare(a.Counted.Value) > 0 {
				a.Counted.Value = most
			}
		}
	}
}

// at returns the balance of an account at instant t.
func (a *account) at(t sched.Time) theory.UnitTime {
	return a.Counted.at(t).Add(a.Until).Sub(theory.Held(a.Young, int64(t)))
}

// owed reports whether queue q has been charged less than the average of its siblings.
func (l *ledger) owed(v *sched.View, q *sched.Queue) bool {
	return l.of(v, q).at(v.Now).Compare(l.levelOf(v, v.Queues[q.Parent]).Mean.at(v.Now)) < 0
}

// closeAbsent sets the rates of the accounts of queues and users that are gone to zero.
func (l *ledger) closeAbsent(v *sched.View) {
	there := map[*account]bool{l.of(v, v.Queues[0]): true}
	var down func(q *sched.Queue)
	down = func(q *sched.Queue) {
		for _, id := range q.Children {
			if c := v.Queues[id]; l.counts(c) {
				there[l.of(v, c)] = true
				down(c)
			}
		}
	}
	down(v.Queues[0])
	for _, a := range l.Accounts {
		if !there[a] {
			a.Counted.set(v.Now, 0)
			a.Held, a.Rates, a.Donates = 0, rates{}, 0
		}
	}
}

// launched charges a new attempt for its quantum.
func (l *ledger) launched(p *sched.Plan, at *sched.Attempt) {
	v, leaf := p.View, p.Queues[at.Stage.Job.Queue]
	var before []int64
	for q := leaf; q.ID != 0; q = v.Queues[q.Parent] {
		held := int64(0)
		if l.counts(q) {
			held = l.of(v, q).Held
		}
		before = append(before, held)
	}
	l.touch(v, leaf)
	long := l.assumed(v, at.Stage.Job)
	if long == 0 {
		return
	}
	c := charge{Queue: leaf.ID, Until: v.Now + long, Parts: before}
	for i, q := 0, leaf; q.ID != 0; i, q = i+1, v.Queues[q.Parent] {
		if !l.counts(q) {
			continue // before[i] is 0: a user is not charged where users do not count
		}
		a := l.of(v, q)
		more := l.terms.counted(float64(a.Held), float64(a.Share)) - l.terms.counted(float64(before[i]),
			float64(a.Share))
		c.Parts[i] = int64(math.Round(max(0, more) / weightOf(q)))
	}
	if l.Young == nil {
		l.Young = map[sched.AttemptID]charge{}
	}
	l.Young[at.ID] = c
	l.charge(v, &c, 1)
	l.ends.Push(quantumEnd{c.Until, at.ID})
}

// charge adds sign times the charge c of a young attempt to the accounts of its queues.
func (l *ledger) charge(v *sched.View, c *charge, sign int64) {
	for i, q := 0, v.Queues[c.Queue]; q.ID != 0; i, q = i+1, v.Queues[q.Parent] {
		if part := sign * c.Parts[i]; part != 0 {
			a := l.of(v, q)
			a.Young += part
			a.Until = a.Until.Add(theory.Held(part, int64(c.Until)))
		}
	}
}

// endQuanta ends the charges of attempts that have run for their quantum: from then on they are charged as they run.
func (l *ledger) endQuanta(v *sched.View) {
	if l.ends == nil && len(l.Young) > 0 {
		for id, c := range l.Young {
			l.ends = append(l.ends, quantumEnd{c.Until, id})
		}
		l.ends.Init()
	}
	for len(l.ends) > 0 && l.ends[0].at <= v.Now {
		l.discharge(v, l.ends.Pop().id)
	}
}

// discharge ends the charge of an attempt, if it has one.
func (l *ledger) discharge(v *sched.View, id sched.AttemptID) {
	if c, ok := l.Young[id]; ok {
		delete(l.Young, id)
		l.charge(v, &c, -1)
		for q := v.Queues[c.Queue]; q.ID != 0; q = v.Queues[q.Parent] {
			l.touched = append(l.touched, q)
		}
	}
}

// moveYoung finds the queues of charged attempts again, after jobs have moved.
func (l *ledger) moveYoung(v *sched.View) {
	for _, a := range l.Accounts {
		a.Young, a.Until = 0, theory.UnitTime{}
	}
	for id, c := range l.Young {
		at := v.Attempt(id)
		if at == nil {
			delete(l.Young, id)
			continue
		}
		if to := v.Queues[at.Stage.Job.Queue]; to.ID != c.Queue {
			c = charge{Queue: to.ID, Until: c.Until}
			share := v.Amount(at.Holds).DominantShare(l.Capacity) * wholeCluster
			for q := to; q.ID != 0; q = v.Queues[q.Parent] {
				part := int64(0)
				if l.counts(q) {
					part = int64(math.Round(share / weightOf(q)))
				}
				c.Parts = append(c.Parts, part)
			}
			l.Young[id] = c
		}
		l.charge(v, &c, 1)
	}
}

// done ends the charge of an attempt, and learns how long it ran.
func (l *ledger) done(p *sched.Plan, e *sched.Event) {
	at := p.Attempt(e.Attempt)
	if at == nil {
		return
	}
	l.discharge(p.View, at.ID)
	if !l.terms.adapt || e.Outcome != sched.OK {
		return
	}
	f := l.Jobs.Of(at.Stage.Job)
	was := *f
	f.N++
	f.Sum += p.Now - at.Start
	l.learn(p.View, at.Stage.Job, was, *f)
}

// forget removes a job that has ended from the quantum of its queue. After the last job, the queue keeps its quantum.
func (l *ledger) forget(v *sched.View, id sched.JobID) {
	j := v.Job(id)
	if j == nil {
		return
	}
	if f := l.Jobs.Of(j); f.N > 0 {
		was := *f
		*f = finished{}
		l.learn(v, j, was, finished{})
	}
}

// learn updates the quanta of the queues above job j, whose finished tasks have changed from was to now (LTYARN's
// quantum updater).
func (l *ledger) learn(v *sched.View, j *sched.Job, was, now finished) {
	moved, known := sched.Time(0), int64(0)
	if was.N > 0 {
		moved, known = -was.mean(), -1
	}
	if now.N > 0 {
		moved, known = moved+now.mean(), known+1
	}
	for q := v.Queues[v.Queues[j.Queue].Parent]; ; q = v.Queues[q.Parent] {
		u := &l.of(v, q).Quantum
		old, wasKnown := u.Time, u.Known
		u.Sum, u.N = u.Sum+moved, u.N+known
		if u.N > 0 {
			u.Time, u.Known = u.Sum/sched.Time(u.N), true
		}
		if q.ID == 0 || !u.Known {
			return
		}
		moved, known = u.Time-old, 0
		if !wasKnown {
			moved, known = u.Time, 1
		}
	}
}

// assumed returns how long a task of job j is assumed to run.
func (l *ledger) assumed(v *sched.View, j *sched.Job) sched.Time {
	if !l.terms.adapt {
		return l.terms.quantum
	}
	if f := l.Jobs.Of(j); f.N > 0 {
		return f.mean()
	}
	return l.of(v, v.Queues[v.Queues[j.Queue].Parent]).Quantum.Time
}
