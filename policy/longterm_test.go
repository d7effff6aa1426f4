package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/theory/reference"
	"github.com/sojourn-sched/sojourn/sched"
)

// A till is a core under longterm with a queue for each weight, and what runs.
type till struct {
	core    *sched.Core
	policy  *longterm
	running []sched.AttemptID
	jobs    sched.JobID
	queues  []*sched.QueueSpec
}

func newTill(t testing.TB, spec string, weights ...float64) *till {
	t.Helper()
	p, _, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	x := &till{policy: p.(*longterm)}
	for i, w := range weights {
		x.queues = append(x.queues, &sched.QueueSpec{Name: fmt.Sprint("q", i), Weight: w})
	}
	x.core = sched.New(sched.Config{Policy: p, Queues: x.queues, Can: sched.CanKill})
	return x
}

// step is a Step at a second, and returns the queues of what was launched, in order.
func (x *till) step(second int, events ...sched.Event) (queues []string) {
	for _, a := range x.core.Step(sched.Time(second)*time.Second, events) {
		if a.Kind == sched.Launch {
			x.running = append(x.running, a.Attempt)
			queues = append(queues, x.core.Attempt(a.Attempt).Stage.Job.Spec.Queue)
		}
	}
	return queues
}

func (x *till) node(slots int64) sched.Event {
	return sched.Event{
		Kind: sched.NodeJoined,
		Node: 1,
		Body: &sched.NodeSpec{Name: "n", Class: "c", Capacity: sched.Resources{sched.VCores: slots}},
	}
}

func (x *till) job(queue, tasks int) sched.Event {
	x.jobs++
	return sched.Event{
		Kind: sched.JobSubmitted,
		Job:  x.jobs,
		Body: &sched.JobSpec{Queue: fmt.Sprint("q", queue), Stages: []sched.StageSpec{
			{PerTask: sched.Resources{sched.VCores: 1}, Tasks: int32(tasks), MaxAttempts: 4},
		}},
	}
}

// finish takes the i-th running attempt out.
func (x *till) finish(i int) sched.Event {
	id := x.running[i]
	x.running = append(x.running[:i:i], x.running[i+1:]...)
	return sched.Event{Kind: sched.AttemptDone, Attempt: id}
}

// Every launch is the one that the plain engine of LTYARN (reference.LongTermTree) makes at the same instants, and
// every account is what it has, under random arrivals and ends. Weights and slots are powers of two, so that its
// floating point numbers are exact.
func TestLongtermAgainstPlainEngine(t *testing.T) {
	const slots, quantum = 8, 4
	for seed := range uint64(60) {
		chance := rand.New(rand.NewPCG(seed, 26))
		weights := []float64{1, 2, 4, 1}
		x := newTill(
			t,
			fmt.Sprintf("longterm:guaranteed=0,round=0s,cap=0s,par=on,adapt=off,quantum=%ds", quantum),
			weights...)
		plain := reference.LongTermTree{
			Root:     &reference.LongTermNode{Name: "root", Weight: 1},
			Capacity: slots,
			Discount: 1,
		}
		nodes, tasks := map[string]*reference.LongTermNode{}, map[sched.AttemptID]*reference.LongTermTask{}
		for i, w := range weights {
			name := fmt.Sprint("q", i)
			n := &reference.LongTermNode{Name: name, Weight: w, Size: 1, Quantum: quantum}
			nodes[name] = plain.Add(plain.Root, n)
		}
		x.step(0, x.node(slots))
		for second := 1; second < 60; second += 1 + chance.IntN(5) {
			plain.Tick(float64(second))
			var events []sched.Event
			for range chance.IntN(3) {
				if len(x.running) > 0 {
					i := chance.IntN(len(x.running))
					plain.Finish(tasks[x.running[i]])
					events = append(events, x.finish(i))
				}
			}
			if q := chance.IntN(4); chance.IntN(2) == 0 {
				n := 1 + chance.IntN(6)
				nodes[fmt.Sprint("q", q)].Pending += n
				events = append(events, x.job(q, n))
			}
			plain.Tick(float64(second))
			before := len(x.running)
			for k, got := range x.step(second, events...) {
				want := plain.Next(1)
				if want == nil || want.Name != got {
					t.Fatalf("seed %d, %d s: %s starts, want %v", seed, second, got, want)
				}
				tasks[x.running[before+k]] = plain.Start(want)
			}
			if len(x.running) < slots && plain.Next(1) != nil {
				t.Fatalf("seed %d, %d s: %s waits", seed, second, plain.Next(1).Name)
			}
			for name, n := range nodes {
				q, _ := x.core.QueueNamed(name)
				a := x.policy.Ledger.of(&x.core.View, q)
				want := plain.Accumulated(n) / n.Weight / slots
				if got := a.at(x.core.Now).Seconds() / wholeCluster; got-want > 1e-9 || want-got > 1e-9 {
					t.Fatalf("seed %d, %d s: %s is counted for %v, want %v", seed, second, name, got, want)
				}
			}
		}
	}
}

// The kinetic tournament names the child that a look at all children names, at every instant.
func TestLongtermOrderAgainstLookingAtAll(t *testing.T) {
	const queues = 23
	specs := []string{
		"longterm:guaranteed=0",
		"longterm:credit=karma,cap=30s",
		"longterm:guaranteed=0.3,round=50s,rounds=2",
	}
	for seed := range uint64(30) {
		chance := rand.New(rand.NewPCG(seed, 27))
		weights := make([]float64, queues)
		for i := range weights {
			weights[i] = float64(1 + chance.IntN(3))
		}
		x := newTill(
			t,
			specs[seed%3],
			weights...)
		x.step(0, x.node(40))
		for second := 1; second < 300; second++ {
			var events []sched.Event
			if chance.IntN(3) == 0 {
				events = append(events, x.job(chance.IntN(queues), 1+chance.IntN(20)))
			}
			for range chance.IntN(3) {
				if len(x.running) > 0 {
					events = append(events, x.finish(chance.IntN(len(x.running))))
				}
			}
			x.step(second, events...)
			line := x.policy.order.lines[0][sched.VCores]
			if line == nil {
				continue
			}
			x.policy.order.restore()
			var best *contender
			for i := range line.players {
				if c := &line.players[i]; c.queue != nil && (best == nil || c.before(best, x.core.Now)) {
					best = c
				}
			}
			got := line.first(x.core.Now)
			if (best == nil) != (got == nil) || best != nil && best.queue != got {
				t.Fatalf("seed %d, %d s: %v is first, want %v", seed, second, got, best)
			}
		}
	}
}

// A policy that begins anew on another core, with the memory that the last one left, goes on with the debts: queues are
// found by name, also where they come in another order.
func TestLongtermRestartKeepsDebts(t *testing.T) {
	for _, credit := range []string{"ltrf", "karma"} {
		spec := "longterm:guaranteed=0,quantum=10s,credit=" + credit
		x := newTill(t, spec, 1, 1)
		x.step(0, x.node(4), x.job(1, 100)) // q1 has all for 100 s
		for second := 10; second <= 100; second += 10 {
			var ends []sched.Event
			for len(x.running) > 0 {
				ends = append(ends, x.finish(0))
			}
			x.step(second, ends...)
		}
		memory, err := json.Marshal(x.policy)
		if err != nil {
			t.Fatal(err)
		}
		for _, remembers := range []bool{true, false} {
			y := newTill(t, spec, 1, 1)
			y.queues[0].Name, y.queues[1].Name = "q1", "q0"
			y.core = sched.New(sched.Config{Policy: y.policy, Queues: y.queues})
			if remembers {
				if err := json.Unmarshal(memory, y.policy); err != nil {
					t.Fatal(err)
				}
			}
			got, owed := map[string]int{}, 0
			for _, q := range y.step(0, y.node(4), y.job(0, 100), y.job(1, 100)) {
				got[q]++
			}
			if owed = 4; !remembers {
				owed = 2
			}
			if got["q0"] != owed {
				t.Errorf("%s, memory %v: q0 has %d of 4 slots, want %d", credit, remembers, got["q0"], owed)
			}
			// What runs at the end of the old run counts to its end, and nothing of the time between.
			q, _ := y.core.QueueNamed("q1")
			if a := y.policy.Ledger.of(&y.core.View, q); remembers &&
				a.Counted.at(0) != theory.Held(wholeCluster, 100e9) {
				t.Errorf("%s: q1 is counted for %v after the restart", credit, a.Counted.at(0))
			}
		}
	}
}

// Credits that a queue has earned since anything of it changed outlast a run, and are settled once.
func TestLongtermRestartKeepsEarnings(t *testing.T) {
	const spec = "longterm:credit=karma,guaranteed=0.5,round=0s"
	x := newTill(t, spec, 1, 1)
	x.step(0, x.node(4), x.job(1, 100)) // q1 has all; q0 donates a quarter of the cluster, which q1 uses
	for runs := range int64(2) {
		memory, err := json.Marshal(x.policy.Left(100 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		x = newTill(t, spec, 1, 1)
		if err := x.policy.Recall(memory); err != nil {
			t.Fatal(err)
		}
		x.step(0, x.node(4), x.job(1, 100))
		q, _ := x.core.QueueNamed("q0")
		want := theory.Held(-wholeCluster, (runs+1)*25e9)
		if got := x.policy.Ledger.of(&x.core.View, q).at(0); got != want {
			t.Errorf("q0 is counted for %v after the restart, want %v", got, want)
		}
	}
}

// Where users are not told apart they have no accounts: there are those of the root and of the queue only.
func TestLongtermUsersWithoutAccounts(t *testing.T) {
	for spec, want := range map[string]int{"longterm": 2, "longterm:users=on": 52} {
		p, _, err := Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		c := sched.New(sched.Config{Policy: p})
		events := []sched.Event{slotNode(1, 50)}
		for id := range sched.JobID(50) {
			e := secondsJob(id+1, 1)
			e.Body.(*sched.JobSpec).User = fmt.Sprint("u", id)
			events = append(events, e)
		}
		if n := len(launchesOf(c.Step(0, events))); n != 50 {
			t.Fatalf("%s: tasks of %d jobs start, want of 50", spec, n)
		}
		if got := len(p.(*longterm).Ledger.Accounts); got != want {
			t.Errorf("%s: %d accounts, want %d", spec, got, want)
		}
	}
}

// Users come and go: one who is away earns nothing, and the rates of a level are the sum of those of the users who are
// there, whichever rows they get.
func TestLongtermUsersComeAndGo(t *testing.T) {
	for _, credit := range []string{"ltrf", "karma"} {
		chance := rand.New(rand.NewPCG(7, 28))
		x := newTill(t, "longterm:guaranteed=1,round=0s,users=on,credit="+credit, 1)
		x.step(0, x.node(4))
		left := map[string]theory.UnitTime{} // by name of an account: what it is counted for while its user is away
		for second := 1; second < 3000; second += 1 + chance.IntN(20) {
			var events []sched.Event
			for range chance.IntN(3) {
				if len(x.running) > 0 {
					events = append(events, x.finish(chance.IntN(len(x.running))))
				}
			}
			if chance.IntN(2) == 0 {
				e := x.job(0, 1+chance.IntN(3))
				e.Body.(*sched.JobSpec).User = fmt.Sprint("u", chance.IntN(6))
				events = append(events, e)
			}
			x.step(second, events...)
			if len(events) == 0 {
				continue // accounts change with an event of their queue
			}
			q, _ := x.core.QueueNamed("q0")
			var sum rates
			there := map[string]bool{}
			for _, id := range q.Children {
				user := x.core.View.Queues[id]
				a, name := x.policy.Ledger.of(&x.core.View, user), user.Spec.Name
				there[name] = true
				sum.add(a.Rates, 1)
				if want := user.Used.DominantShare(x.core.Capacity) * wholeCluster; float64(a.Held) != want {
					t.Fatalf("%s, %d s: %s holds %d, want %v", credit, second, name, a.Held, want)
				}
				if was, ok := left[name]; ok && a.Counted.at(x.core.Now) != was {
					t.Fatalf("%s, %d s: %s is counted for %v, was for %v", credit, second, name,
						a.Counted.at(x.core.Now), was)
				}
			}
			if got := x.policy.Ledger.of(&x.core.View, q).Below.Rates; got != sum {
				t.Fatalf("%s, %d s: the rates of the level are %v, want %v", credit, second, got, sum)
			}
			clear(left)
			for name, a := range x.policy.Ledger.Accounts {
				if _, user, ok := strings.Cut(name, "\n"); ok && !there[user] {
					left[user] = a.Counted.at(x.core.Now)
				}
			}
		}
	}
}

// Rounds go on over restarts: an engine that is started anew every 40 s still forgets what was counted before the last
// round of 100 s.
func TestLongtermRestartedOftenForgets(t *testing.T) {
	const spec = "longterm:guaranteed=0,round=100s,rounds=1,quantum=0s"
	memory := []byte("{}")
	var counted []float64
	for range 6 {
		x := newTill(t, spec, 1, 1)
		if err := x.policy.Recall(memory); err != nil {
			t.Fatal(err)
		}
		x.step(0, x.node(4), x.job(1, 100)) // q1 has all
		x.step(40)
		q, _ := x.core.QueueNamed("q1")
		counted = append(counted, x.policy.Ledger.of(&x.core.View, q).at(x.core.Now).Seconds()/wholeCluster)
		var err error
		if memory, err = json.Marshal(x.policy.Left(x.core.Now)); err != nil {
			t.Fatal(err)
		}
	}
	// Rounds end at 100 s and 200 s of running time: in the third run after 20 s, at the end of the fifth.
	if want := []float64{40, 80, 20, 60, 0, 40}; !slices.Equal(counted, want) {
		t.Errorf("q1 is counted for %v s, want %v", counted, want)
	}
}

// A queue of hardly any weight is counted for much when it holds anything, so that it waits for the others: no amount
// overflows.
func TestLongtermTinyWeight(t *testing.T) {
	for _, credit := range []string{"ltrf", "karma"} {
		x := newTill(t, "longterm:guaranteed=0,cap=0s,round=0s,credit="+credit, 1e-12, 1)
		x.step(0, x.node(4), x.job(0, 100)) // q0 has all for 10 s
		for second := 10; second <= 40; second += 10 {
			var events []sched.Event
			for len(x.running) > 0 {
				events = append(events, x.finish(0))
			}
			if second == 10 {
				events = append(events, x.job(1, 8))
			}
			want := "q1"
			if second > 20 {
				want = "q0"
			}
			if got := x.step(second, events...); !slices.Equal(got, slices.Repeat([]string{want}, 4)) {
				t.Errorf("%s, %d s: %v start, want %s four times", credit, second, got, want)
			}
		}
	}
}

// What is left counts up to the instant at which it is left, not to the last decision, and rounds that have ended since
// then are forgotten. The run that leaves it goes on as if it had not.
func TestLongtermLeavesUpToNow(t *testing.T) {
	const spec = "longterm:guaranteed=0,round=100s,rounds=2,quantum=0s"
	counted := func(x *till, queue string) float64 {
		q, _ := x.core.QueueNamed(queue)
		return x.policy.Ledger.of(&x.core.View, q).at(x.core.Now).Seconds() / wholeCluster
	}
	x := newTill(t, spec, 1, 1)
	x.step(0, x.node(4), x.job(1, 100)) // q1 has all, and nothing happens from now on
	for at, want := range map[int]float64{0: 0, 30: 30, 130: 130, 230: 130, 1000: 100, 1050: 150} {
		memory, err := json.Marshal(x.policy.Left(sched.Time(at) * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		y := newTill(t, spec, 1, 1)
		if err := y.policy.Recall(memory); err != nil {
			t.Fatal(err)
		}
		if got := counted(y, "q1"); math.Abs(got-want) > 1e-9 {
			t.Errorf("left at %d s: q1 is counted for %v s, want %v", at, got, want)
		}
	}
	if x.step(40); counted(x, "q1") != 40 {
		t.Errorf("q1 is counted for %v s after 40", counted(x, "q1"))
	}
}

// Ten years in which nothing happens, while all rounds of 1 s are remembered in part: 3·10⁸ rounds end in the next
// decision, or in the next run, and cost no more than some. Each keeps 1 − decay, and q1 has the whole cluster all the
// time, so that the sum of what is kept is (1 − decay) ÷ decay seconds at the end of a round.
func TestLongtermAfterYears(t *testing.T) {
	const years = 10 * 365 * 24 * 3600
	for _, decay := range []float64{0.1, 0.001, 0.000001, 1} {
		spec := fmt.Sprintf("longterm:guaranteed=0,round=1s,rounds=0,quantum=0s,decay=%f", decay)
		x := newTill(t, spec, 1, 1)
		x.step(0, x.node(4), x.job(1, 100))
		memory, err := json.Marshal(x.policy.Left(years * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		x.step(years)
		y := newTill(t, spec, 1, 1)
		if err := y.policy.Recall(memory); err != nil {
			t.Fatal(err)
		}
		y.step(0)
		want := (1 - decay) / decay
		for name, z := range map[string]*till{"a decision": x, "a restart": y} {
			q, _ := z.core.QueueNamed("q1")
			got := z.policy.Ledger.of(&z.core.View, q).at(z.core.Now).Seconds() / wholeCluster
			if math.Abs(got-want) > 1e-6*want {
				t.Errorf("decay %v, %s after ten years: q1 is counted for %v s, want %v", decay, name, got, want)
			}
		}
	}
}

// Rounds that end at once leave what they leave one by one, but for the rounding of 5,000 rounds, and go on as these.
func TestLongtermRoundsAtOnce(t *testing.T) {
	const rounds, second = 5000, int64(time.Second)
	for _, decay := range []int64{1, 1000, 100_000, 999_999, 1_000_000} {
		for _, rate := range []int64{0, 7, -3, wholeCluster, 1e18} {
			l := ledger{terms: terms{round: time.Second, decay: decay}}
			start := clock{Value: theory.Held(1e12, 12345*second), Rate: rate}
			single, whole := start, start
			var began theory.UnitTime
			before := []theory.UnitTime{theory.Held(1e12, second)}
			after := slices.Clone(before)
			for k := sched.Time(1); k <= rounds; k++ {
				before = l.endRound(k*time.Second, &single, &began, before)
			}
			after = l.endWhole(rounds, rounds*time.Second, &whole, after)
			for what, pair := range map[string][2]theory.UnitTime{
				"value": {single.Value, whole.Value}, "a remembered round": {before[0], after[0]},
			} {
				off := math.Abs(pair[0].Sub(pair[1]).Float())
				if off > 2*rounds+1e-12*math.Abs(pair[0].Float()) {
					t.Errorf("decay %d, rate %d, %s: %v one by one, %v at once", decay, rate, what, pair[0], pair[1])
				}
			}
			if whole.Since != single.Since || whole.Rate != single.Rate {
				t.Errorf("decay %d, rate %d: goes on as %+v, want %+v", decay, rate, whole, single)
			}
		}
	}
}

// Where only the last rounds are remembered, rounds that end at once leave what they leave one by one, and go on as
// these. Without decay both are equal to the last unit. With it, each round that ends alone rounds the value and all
// remembered charges.
func TestLongtermRememberedRoundsAtOnce(t *testing.T) {
	const second = int64(time.Second)
	for _, rounds := range []int64{1, 7, 500, 2000} {
		for _, most := range []int{1, 2, 7, 300} {
			for _, decay := range []int64{0, 1, 1000, 100_000, 1_000_000} {
				for _, rate := range []int64{0, -3, wholeCluster, 1e18} {
					l := ledger{terms: terms{round: time.Second, rounds: most, decay: decay}}
					single := clock{Value: theory.Held(1e12, 12345*second), Rate: rate}
					var before []theory.UnitTime
					for k := range int64(most - 1) { // one charge is not like the next
						before = append(before, theory.Held(wholeCluster+k*1e9, second))
						single.Value = single.Value.Add(before[k])
					}
					whole, began := single, single.Value
					after := l.endWhole(rounds, sched.Time(rounds)*time.Second, &whole, slices.Clone(before))
					for k := sched.Time(1); k <= sched.Time(rounds); k++ {
						before = l.endRound(k*time.Second, &single, &began, before)
					}
					what := fmt.Sprintf("%d rounds, %d remembered, decay %d, rate %d", rounds, most, decay, rate)
					roundings := 2 * float64(rounds)
					if decay == 0 {
						roundings = 0
					}
					same := func(of string, one, all theory.UnitTime, roundings float64) {
						off := math.Abs(one.Sub(all).Float())
						if off > roundings+1e-12*math.Abs(one.Float())*min(1, roundings) {
							t.Errorf("%s, %s: %v one by one, %v at once", what, of, one, all)
						}
					}
					same("value", single.Value, whole.Value, roundings*float64(most))
					if len(before) != len(after) || whole.Since != single.Since || whole.Rate != single.Rate {
						t.Fatalf("%s: goes on as %+v with %d rounds, want %+v with %d", what, whole, len(after), single,
							len(before))
					}
					for i := range before {
						same(fmt.Sprint("remembered round ", i), before[i], after[i], roundings)
					}
				}
			}
		}
	}
}

// Ten years in which nothing happens, where many rounds of 1 s are remembered: the next decision does not walk through
// all of them. Each round keeps 1 − decay, and q1 has the whole cluster all the time. So q1 is counted for the sum of
// (1 − decay)^k seconds, k from 1 to the number of earlier rounds that are remembered.
func TestLongtermManyRoundsAfterYears(t *testing.T) {
	const years = 10 * 365 * 24 * 3600
	for _, decay := range []float64{0, 0.1, 0.00001} {
		for _, rounds := range []int{7, 5000, 100_000} {
			spec := fmt.Sprintf("longterm:guaranteed=0,round=1s,rounds=%d,quantum=0s,decay=%f", rounds, decay)
			x := newTill(t, spec, 1, 1)
			x.step(0, x.node(4), x.job(1, 100))
			x.step(years)
			want := float64(rounds - 1)
			if keep := 1 - decay; keep < 1 {
				want = keep * (1 - math.Pow(keep, want)) / decay
			}
			q, _ := x.core.QueueNamed("q1")
			got := x.policy.Ledger.of(&x.core.View, q).at(x.core.Now).Seconds() / wholeCluster
			if math.Abs(got-want) > 1e-6*want {
				t.Errorf("decay %v, %d rounds: q1 is counted for %v s, want %v", decay, rounds, got, want)
			}
		}
	}
}

// How many rounds end one by one after a gap depends on their cost, so that the cost of a decision has a bound. Without
// decay all but the first end at once, as nothing is rounded.
func TestLongtermSingleRounds(t *testing.T) {
	for _, c := range []struct {
		rounds int
		decay  int64
		want   int64
	}{
		{0, 1, 1024}, {0, 0, 0}, {7, 0, 0}, {1, 1, 1024}, {64, 1, 1024}, {1024, 1, 64}, {100_000, 1, 0},
	} {
		if got := (&terms{rounds: c.rounds, decay: c.decay}).singleRounds(); got != c.want {
			t.Errorf("%d rounds, decay %d: %d end one by one, want %d", c.rounds, c.decay, got, c.want)
		}
	}
}

// A file that no run can have left is refused, with the field that is wrong.
func TestLongtermRecallRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                               "unexpected end",
		`[]`:                             "array",
		`{"At":-1}`:                      "At is -1",
		`{"Before":9000000000000000000}`: "Before 9000000000000000000",
		`{"Round":-5}`:                   "Round is -5",
		`{"Accounts":{"root":null}}`:     `"root": is null`,
		`{"Accounts":{"a":{"Counted":{"Since":5}}}}`:   `"a": was counted after At`,
		`{"Accounts":{"a":{"Quantum":{"Time":-1}}}}`:   "Quantum.Time is -1",
		`{"Accounts":{"a":{"Counted":{"Value":"x"}}}}`: `"x"`,
	} {
		x := newTill(t, "longterm", 1, 1)
		if err := x.policy.Recall([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		x.step(0, x.node(4), x.job(1, 100)) // it goes on without
	}
}

// FuzzLongtermRecall: whatever a file has, the policy refuses it or goes on with it; no input makes it panic or hang.
func FuzzLongtermRecall(f *testing.F) {
	x := newTill(f, "longterm:credit=karma,quantum=5s,round=10s", 1, 2)
	x.step(0, x.node(4), x.job(1, 3), x.job(0, 2))
	x.step(25, x.finish(0))
	memory, err := json.Marshal(x.policy.Left(30 * time.Second))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(memory)
	f.Add([]byte(`{"Round":1,"Length":1000000000,"Accounts":{"q0":{"Below":{}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		x := newTill(t, "longterm:credit=karma,quantum=5s,round=10s", 1, 2)
		if x.policy.Recall(text) != nil {
			return
		}
		x.step(0, x.node(4), x.job(1, 100), x.job(0, 100))
		x.step(25, x.finish(0))
		if _, err := json.Marshal(x.policy.Left(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
	})
}

// Burst of a queue with much credit: with half of a share guaranteed no other queue starves (LTYARN 4.4).
func TestLongtermBurstDoesNotStarve(t *testing.T) {
	for guaranteed, least := range map[string]int{"0": 0, "0.5": 2} {
		x := newTill(t, "longterm:quantum=10s,guaranteed="+guaranteed, 1, 1, 1)
		x.step(0, x.node(12), x.job(1, 1000), x.job(2, 1000))
		for second := 10; second <= 100; second += 10 {
			var events []sched.Event
			for len(x.running) > 0 {
				events = append(events, x.finish(0))
			}
			if second == 100 {
				events = append(events, x.job(0, 1000))
			}
			got := map[string]int{}
			for _, q := range x.step(second, events...) {
				got[q]++
			}
			if second == 100 && (got["q1"] != least || got["q2"] != least || got["q0"] != 12-2*least) {
				t.Errorf("guaranteed %s: %v", guaranteed, got)
			}
		}
	}
}

// BenchmarkLongterm is the cost of one completion, core included, beside that of fair, for many queues and jobs.
func BenchmarkLongterm(b *testing.B) {
	for _, jobs := range []int{1000, 10000} {
		for _, queues := range []int{10, 100, 1000} {
			for _, spec := range []string{"fair", "longterm", "longterm:credit=karma"} {
				b.Run(fmt.Sprintf("%s/jobs=%d/queues=%d", spec, jobs, queues), func(b *testing.B) {
					p, _, err := Parse(spec)
					if err != nil {
						b.Fatal(err)
					}
					l := newLoop(1000, jobs, p, queues)
					start := cpu()
					for b.Loop() {
						l.step(queues)
					}
					b.ReportMetric(float64(cpu()-start)/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}

// BenchmarkLongtermState is the cost of leaving accounts and of beginning with them, for many queues.
func BenchmarkLongtermState(b *testing.B) {
	for _, queues := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("queues=%d", queues), func(b *testing.B) {
			p, _, err := Parse("longterm")
			if err != nil {
				b.Fatal(err)
			}
			l := newLoop(1000, 1000, p, queues)
			for range 1000 {
				l.step(queues)
			}
			kept, fresh := p.(*longterm), newTill(b, "longterm").policy
			var text []byte
			start := cpu()
			for b.Loop() {
				if text, err = json.Marshal(kept.Left(time.Hour)); err == nil {
					err = fresh.Recall(text)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu()-start)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(len(text)), "bytes")
		})
	}
}

// A queue that comes back in the row of another one keeps its account, whatever comes in its own old row. The jobs of
// q1 hold four of ten cores for an hour, and more queues come meanwhile.
func TestAccountSurvivesAnotherRow(t *testing.T) {
	p, _, err := Parse("longterm")
	if err != nil {
		t.Fatal(err)
	}
	change := func(names ...string) []sched.Event {
		var list []*sched.QueueSpec
		for _, name := range names {
			list = append(list, &sched.QueueSpec{Name: name})
		}
		return []sched.Event{{Kind: sched.SpecChanged, Body: &sched.Queues{List: list}}}
	}
	cores := sched.Resources{sched.VCores: 1}
	c := sched.New(sched.Config{Policy: p})
	c.Step(0, append(change("default", "q0", "q1"), sched.Event{Kind: sched.NodeJoined, Node: 1,
		Body: &sched.NodeSpec{Name: "n", Capacity: cores.Times(10)}}, jobOf(1, "default", 2, cores)))
	c.Step(1*time.Second, change("default"))
	c.Step(2*time.Second, change("default", "q1"))
	c.Step(3*time.Second, []sched.Event{jobOf(2, "q1", 4, cores)})
	c.Step(4*time.Second, []sched.Event{jobOf(3, "default", 1, cores)})
	before := p.(*longterm).Ledger.Accounts["q1"].Held
	c.Step(time.Hour, change("default", "q1", "q9"))
	if after := p.(*longterm).Ledger.Accounts["q1"].Held; before == 0 || after != before {
		t.Errorf("q1 holds %d, and then %d, want the same, above zero", before, after)
	}
}
