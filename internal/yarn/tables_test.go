package yarn

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// Tables hold what a map would, and nothing when everything is out again.
func TestContainerTables(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var byID containerTable
	var byLease leaseTable
	n := &node{}
	model := map[int64]*container{}
	var free []int32 // rows used before, with a new serial
	for next := int64(1); next < 5000; {
		if len(model) == 0 || r.IntN(100) < 55 && next < 4000 {
			c := &container{id: wire.ContainerID{ID: next}, lease: sched.NewAttemptID(uint64(next), int32(len(model)))}
			if len(free) > 0 {
				c.lease = sched.NewAttemptID(uint64(next), free[len(free)-1])
				free = free[:len(free)-1]
			} else {
				c.lease = sched.NewAttemptID(uint64(next), int32(len(byLease.slots)))
			}
			model[next] = c
			byID.put(c)
			byLease.put(c)
			n.hold(c)
			next++
		} else {
			ids := byID.sorted()
			c := ids[r.IntN(len(ids))]
			delete(model, c.id.ID)
			if !byID.remove(c) || byID.remove(c) {
				t.Fatalf("container %d is not taken out once", c.id.ID)
			}
			byLease.remove(c)
			n.drop(c)
			free = append(free, c.lease.Row())
			if byID.at(c.id.ID) != nil || byLease.at(c.lease) != nil {
				t.Fatalf("container %d is found after it was taken out", c.id.ID)
			}
			if next >= 4000 {
				next++
			}
		}
		if byID.count != len(model) || byLease.count != len(model) || len(n.containers) != len(model) {
			t.Fatalf("%d, %d and %d are held, want %d", byID.count, byLease.count, len(n.containers), len(model))
		}
	}
	for id, c := range model {
		if byID.at(id) != c || byLease.at(c.lease) != c || n.containers[c.at] != c {
			t.Fatalf("container %d is not found", id)
		}
	}
	sorted := byID.sorted()
	if !slices.IsSortedFunc(sorted, func(a, b *container) int { return int(a.id.ID - b.id.ID) }) {
		t.Error("not in order of ids")
	}
	for _, c := range sorted {
		byID.remove(c)
	}
	if len(byID.pages) != 0 {
		t.Errorf("%d pages are left of nothing", len(byID.pages))
	}
}

// A caller waits for its turn while another leads: all calls are carried out, one at a time.
func TestOneOwner(t *testing.T) {
	c := start(t, nil)
	const callers, calls = 8, 500
	count := 0 // the owner's alone
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for k := range calls {
				if (i+k)%3 == 0 {
					c.rm.front.post(func() { count++ })
					continue
				}
				before := 0
				c.rm.front.ask(func(*manager) (answer, error) {
					before = count
					count++
					return nil, nil
				})
				if before < 0 || before >= callers*calls {
					t.Errorf("call %d came at %d", k, before)
				}
			}
		})
	}
	wg.Wait()
	got := 0
	c.rm.front.ask(func(*manager) (answer, error) { got = count; return nil, nil })
	if got != callers*calls {
		t.Errorf("%d calls were carried out of %d", got, callers*calls)
	}
}
