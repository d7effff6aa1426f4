package yarn

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// Nodes run mixes of containers that use 2 and 0.25 processors, and report the sum alone. From enough mixes what each
// kind uses is found; a node that says nothing, or nonsense, changes nothing.
func TestLearnUse(t *testing.T) {
	f := newFew(t)
	app := f.master.app
	n := f.m.nodes.list[0]
	cores := map[wire.Priority]float64{20: 2, 10: 0.25}
	report := func(maps, reduces int, said []byte) {
		n.containers = n.containers[:0]
		for range maps {
			n.containers = append(n.containers, &container{attempt: f.master, priority: 20, state: running})
		}
		for range reduces {
			n.containers = append(n.containers, &container{attempt: f.master, priority: 10, state: running})
		}
		n.containers = append(n.containers, &container{attempt: f.master, priority: 5}) // it has not begun
		if said == nil {
			sum := float64(maps)*cores[20] + float64(reduces)*cores[10]
			said = proto.Append(nil, &wire.Use{Cores: float32(sum)})
		}
		n.doing.utilization = said
		n.learnUse()
	}
	report(1, 0, nil)
	if got := app.asks.uses[20]; got != 2 {
		t.Fatalf("a map alone uses %v, want 2 after one report", got)
	}
	report(2, 2, nil)
	if got := app.asks.uses[10]; math.Abs(got-0.25) > 1e-6 {
		t.Fatalf("reduces beside known maps use %v, want 0.25", got)
	}
	cores[20], cores[10] = 1, 0.5
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		report(1+r.IntN(4), r.IntN(4), nil)
	}
	for priority, want := range cores {
		if got := app.asks.uses[priority]; math.Abs(got-want) > 0.01 {
			t.Errorf("containers of priority %d use %v, want %v", priority, got, want)
		}
	}
	was := app.asks.uses[20]
	for _, said := range [][]byte{{}, {0xff}, proto.Append(nil, &wire.Use{Cores: float32(math.NaN())}),
		proto.Append(nil, &wire.Use{Cores: -1}), proto.Append(nil, &wire.Use{Cores: 1e9})} {
		if report(1, 1, said); app.asks.uses[20] != was {
			t.Errorf("a report of %x changes what is known from %v to %v", said, was, app.asks.uses[20])
		}
	}
	if _, known := app.asks.uses[5]; known {
		t.Error("something is known of containers that have not begun")
	}
}

// A sum over containers of many kinds says nothing of any, so a report costs no more than mostKindsOfUse a container.
func TestUseOfManyKinds(t *testing.T) {
	f := newFew(t)
	n := f.m.nodes.list[0]
	n.doing.utilization = proto.Append(nil, &wire.Use{Cores: 8})
	for kinds, want := range map[wire.Priority]int{mostKindsOfUse + 1: 0, mostKindsOfUse: mostKindsOfUse} {
		f.master.app.asks.uses = nil
		n.containers = n.containers[:0]
		for p := range 2 * kinds {
			n.containers = append(n.containers, &container{attempt: f.master, priority: p % kinds, state: running})
		}
		n.learnUse()
		if got := len(f.master.app.asks.uses); got != want {
			t.Errorf("of %d kinds something is learned of %d, want %d", kinds, got, want)
		}
	}
}
