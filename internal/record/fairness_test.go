package record

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// Two queues with a share of two slots each. A uses one from 0 to 10, B three; from 10 to 20 only B runs, four.
func TestFairnessByHand(t *testing.T) {
	l := &Loans{}
	r := newRig(sched.Config{Queues: []*sched.QueueSpec{{Name: "a"}, {Name: "b"}}}, l)
	r.node(sched.Resources{sched.MapSlots: 4})
	r.submit(1, oneStage("a", 1, 10*sec))
	r.submit(2, oneStage("b", 7, 10*sec))
	for r.step() {
	}
	k := l.Fairness()[0]
	want := []Standing{
		{
			Queue:   "a",
			Share:   theory.Held(40, 1e9),
			Used:    theory.Held(10, 1e9),
			Lent:    theory.Held(30, 1e9),
			Alone:   theory.Held(10, 1e9),
			Benefit: 1,
		},
		{
			Queue:    "b",
			Share:    theory.Held(40, 1e9),
			Used:     theory.Held(70, 1e9),
			Borrowed: theory.Held(30, 1e9),
			Alone:    theory.Held(40, 1e9),
			Benefit:  1.75,
		},
	}
	if k.Kind != "map-slots" || len(k.Queues) != 2 || k.Queues[0] != want[0] || k.Queues[1] != want[1] {
		t.Errorf("%+v, want %+v", k, want)
	}
	if k.Gain != 0.75 || k.Loss != 0 || k.Lent != theory.Held(30, 1e9) || k.Borrowed != k.Lent {
		t.Errorf("Ψ %v, Ω %v, lent %v, borrowed %v", k.Gain, k.Loss, k.Lent, k.Borrowed)
	}
	if b := k.Queues[1]; b.Balance() != theory.Held(-30, 1e9) {
		t.Errorf("the balance of b is %v", b.Balance())
	}
}

// oneStage is a job of equal maps.
func oneStage(queue string, tasks int32, each sched.Time) *sched.JobSpec {
	return &sched.JobSpec{Queue: queue, Stages: []sched.StageSpec{
		{PerTask: sched.Resources{sched.MapSlots: 1}, Tasks: tasks, Prior: each, MaxAttempts: 4},
	}}
}

// Accounts balance to the unit·nanosecond while nodes are lost and return, attempts fail, jobs are killed, users come
// and go, queues get other weights, and capacity shrinks below use.
func TestFairnessBalancesUnderChaos(t *testing.T) {
	for seed := range uint64(20) {
		chance := rand.New(rand.NewPCG(seed, 14))
		l := &Loans{}
		specs := []*sched.QueueSpec{
			{Name: "a", Weight: 1.5},
			{Name: "b", Queues: []*sched.QueueSpec{{Name: "x"}, {Name: "y", Weight: 3}}},
		}
		r := newRig(sched.Config{Queues: specs, Can: sched.CanKill}, l)
		for range 5 {
			r.node(sched.Resources{sched.Memory: 4096 + chance.Int64N(4096), sched.VCores: 4})
		}
		r.takes = func(*sched.Attempt) sched.Time { return sched.Time(1 + chance.Int64N(30e9)) }
		comes := sched.Time(0)
		for j := range 30 {
			comes += sched.Time(chance.Int64N(6e9))
			spec := oneStage([]string{"a", "b.x", "b.y", "new"}[chance.IntN(4)], 1+chance.Int32N(9), sec)
			spec.User, spec.Submit = fmt.Sprint("u", chance.IntN(3)), comes
			spec.Stages[0].PerTask = sched.Resources{sched.Memory: 512 + chance.Int64N(1500), sched.VCores: 1}
			r.submit(sched.JobID(j+1), spec)
		}
		lost := map[sched.NodeID]bool{}
		for at := sched.Time(0); at < 120e9; at += sched.Time(1 + chance.Int64N(8e9)) {
			n := sched.NodeID(1 + chance.IntN(4)) // the fifth stays, so that everything ends
			if lost[n] = !lost[n]; lost[n] {
				r.at(at+1, sched.Event{Kind: sched.NodeLost, Node: n})
			} else {
				memory, cores := 2048+chance.Int64N(8192), 2+chance.Int64N(6)
				capacity := sched.Resources{sched.Memory: memory, sched.VCores: cores}
				spec := &sched.NodeSpec{Name: fmt.Sprint("n", n), Class: "c", Capacity: capacity}
				r.at(at+1, sched.Event{Kind: sched.NodeJoined, Node: n, Body: spec})
			}
		}
		r.at(
			40e9,
			sched.Event{
				Kind: sched.NodeReported,
				Node: 5,
				Body: &sched.NodeSpec{
					Name:     "n5",
					Class:    "c",
					Capacity: sched.Resources{sched.Memory: 2048, sched.VCores: 2},
				},
			},
		)
		r.at(
			60e9,
			sched.Event{
				Kind: sched.SpecChanged,
				Body: &sched.Queues{
					List: []*sched.QueueSpec{{Name: "a", Weight: 0.3}, {Name: "b", Queues: specs[1].Queues}},
				},
			},
		)
		for range 5 {
			r.at(sched.Time(chance.Int64N(120e9)),
				sched.Event{Kind: sched.JobEnded, Job: sched.JobID(1 + chance.IntN(30)), Outcome: sched.Killed})
		}
		for r.step() {
		}
		moved := false
		for _, k := range l.Fairness() {
			var lent, borrowed, used, all theory.UnitTime
			for _, u := range k.Users {
				lent, borrowed, used = lent.Add(u.Lent), borrowed.Add(u.Borrowed), used.Add(u.Used)
			}
			for _, q := range k.Queues {
				all = all.Add(q.Used)
			}
			if lent != borrowed || k.Lent != k.Borrowed {
				t.Errorf("seed %d, %s: users lent %v and borrowed %v, queues %v and %v", seed, k.Kind, lent, borrowed,
					k.Lent, k.Borrowed)
			}
			if used != all {
				t.Errorf("seed %d, %s: users used %v, queues %v", seed, k.Kind, used, all)
			}
			moved = moved || lent.Compare(theory.UnitTime{}) > 0
		}
		if !moved {
			t.Errorf("seed %d: nothing was lent", seed)
		}
	}
}

// A statement goes on in another run, from the text that the first has left and without it, to the unit·nanosecond.
func TestFairnessGoesOn(t *testing.T) {
	run := func(l *Loans, borrower string, seconds sched.Time) {
		r := newRig(sched.Config{Queues: []*sched.QueueSpec{{Name: "a"}, {Name: "b"}}}, l)
		r.node(sched.Resources{sched.MapSlots: 3})
		r.submit(1, oneStage(borrower, 3, seconds*sec+7))
		for r.step() {
		}
	}
	whole := &Loans{}
	run(whole, "b", 10)
	text, err := json.Marshal(whole.Left(0))
	if err != nil {
		t.Fatal(err)
	}
	whole.Resume()
	run(whole, "a", 4)

	again := &Loans{}
	if err := again.Recall(text); err != nil {
		t.Fatal(err)
	}
	run(again, "a", 4)
	got, want := again.Fairness(), whole.Fairness()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Of three slots two are a's. b had them for 10 s and 7 ns, and a had b's one for 4 s and 7 ns.
	a := got[0].Queues[0]
	if a.Lent != theory.Held(2, 10*1e9+7) || a.Borrowed != theory.Held(1, 4*1e9+7) {
		t.Errorf("a lent %v and borrowed %v", a.Lent, a.Borrowed)
	}
}

// A statement that no run can have left is refused.
func TestFairnessRecallRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                    "unexpected end",
		`[{"kind":"spoons"}]`: `"spoons"`,
		`[{"kind":"memory","queues":[{"queue":"a","lent":"5"}]}]`:               "5 more is lent than borrowed",
		`[{"kind":"memory","users":[{"queue":"a","user":"u","borrowed":"1"}]}]`: "users: -1 more",
		`[{"kind":"memory","queues":[{"queue":"a","used":"-5"}]}]`:              `queue "a", user "": -5`,
	} {
		if err := (&Loans{}).Recall([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
