package yarn

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// bigFleet has 100 nodes of 500 containers each, and an application whose ApplicationMaster has registered.
func bigFleet(t *testing.T) *few {
	f := newFleet(t, 0)
	for i := range int32(100) {
		q := registration(i+1, wire.Resource{Memory: 500 << 10, VCores: 500})
		f.do(func(m *manager) (answer, error) { return tracker{m}.register(q, nil) })
	}
	f.master = f.submitOne(true).current()
	f.do(func(m *manager) (answer, error) { return master{m, f.master}.register(&wire.RegisterMasterRequest{}) })
	return f
}

// priorities asks for count containers of each of 4,000 priorities.
func priorities(count int32) *wire.AllocateRequest {
	q := &wire.AllocateRequest{}
	for i := range 4000 {
		q.Asks = append(q.Asks, wire.ResourceRequest{
			Priority:   wire.Priority(i + 1),
			Place:      wire.Anywhere,
			Resource:   wire.Resource{Memory: 1024, VCores: 1},
			Containers: count,
			Relax:      true,
			Allocation: -1,
		})
	}
	return q
}

// send makes a call of the ApplicationMaster as its server does. It returns how many containers were granted in each of
// the turns that the call took.
func (f *few) send(q *wire.AllocateRequest) (granted []int) {
	f.t.Helper()
	q.ResponseID = f.id
	clock, before := f.m.clock, f.m.leases.count
	turned := func() {
		granted = append(granted, f.m.leases.count-before)
		before = f.m.leases.count
	}
	f.m.clock = func() time.Time { turned(); return clock() } // a turn begins
	id := token.Master{Attempt: f.master.id}
	call := &rpc.Call{Token: id.Append(nil), Body: q.Append(nil)}
	_, err := allocateInParts(f.f)(f.t.Context(), call)
	f.m.clock = clock
	if err != nil {
		f.t.Fatal(err)
	}
	turned()
	f.id++
	return granted[1:]
}

// A call that changes what it wants of 4,000 priorities takes several turns, each of a bounded number of asks. A turn
// grants few containers, because each grant sorts all of the priorities again. All is granted in the end, once.
func TestManyPrioritiesComeInParts(t *testing.T) {
	f := bigFleet(t)
	seen := map[wire.ContainerID]bool{}
	hear := func() {
		for _, c := range f.master.dues.last.Allocated {
			if seen[c.ID] {
				t.Fatalf("%v is granted twice", c.ID)
			}
			seen[c.ID] = true
		}
	}
	f.send(priorities(1))
	hear()
	want := len(seen) + 2*4000 // what was heard of is not asked for again
	turns := f.send(priorities(2))
	hear()
	if len(turns) != 4000/partOfCall {
		t.Errorf("the call takes %d turns", len(turns))
	}
	for i, n := range turns {
		if most := 1 + GrantsPerStep/(1+4001/16); n > most {
			t.Errorf("turn %d grants %d containers, may grant %d", i, n, most)
		}
	}
	for calls := 0; len(seen) < want; calls++ {
		f.now = f.now.Add(time.Millisecond)
		f.allocate(&wire.AllocateRequest{})
		if hear(); calls > want {
			t.Fatalf("%d of %d containers after %d calls", len(seen), want, calls)
		}
	}
	for range 100 {
		f.allocate(&wire.AllocateRequest{})
		hear()
	}
	if len(seen) != want || f.m.leases.count != want {
		t.Errorf("%d containers, %d in the books, want %d", len(seen), f.m.leases.count, want)
	}
}

// A part of a call that is repeated changes nothing more, and a call that is refused for one of its asks takes none in.
func TestPartsOfCallsAreChecked(t *testing.T) {
	f := bigFleet(t)
	q := priorities(1)
	q.Asks[3999].Resource.Memory = -1
	id := token.Master{Attempt: f.master.id}
	call := &rpc.Call{Token: id.Append(nil), Body: q.Append(nil)}
	if _, err := allocateInParts(f.f)(t.Context(), call); class(err) != classInvalidResource {
		t.Errorf("a negative amount of memory: %v", err)
	}
	if f.m.leases.count != 0 || f.master.app.asks.pending != 0 {
		t.Errorf("%d granted and %d pending of a call that was refused",
			f.m.leases.count, f.master.app.asks.pending)
	}
	f.send(priorities(1))
	pending, count := f.master.app.asks.pending, f.m.leases.count
	last := *f.master.dues.last
	f.id--
	f.send(priorities(1)) // its reply was lost
	if now := f.master.dues.last; now.ResponseID != last.ResponseID || len(now.Allocated) != len(last.Allocated) {
		t.Errorf("the repeated call is answered by %d with %d containers, the first by %d with %d",
			now.ResponseID, len(now.Allocated), last.ResponseID, len(last.Allocated))
	}
	if sum := f.master.app.asks.pending + int64(f.m.leases.count); sum != pending+int64(count) {
		t.Errorf("%d containers pending and granted after the repeated call, %d before", sum, pending+int64(count))
	}
}

// Containers are given back in parts, too.
func TestManyReleasesComeInParts(t *testing.T) {
	f := bigFleet(t)
	f.send(asks("* 2000 true"))
	for f.m.leases.count < 2000 {
		f.now = f.now.Add(time.Millisecond)
		f.f.turn(nil)
	}
	f.allocate(&wire.AllocateRequest{}) // it hears of all of them
	q := &wire.AllocateRequest{}
	for _, c := range f.master.sorted() {
		q.Releases = append(q.Releases, c.id)
	}
	if turns := f.send(q); len(turns) != 2000/partOfCall {
		t.Errorf("the call takes %d turns", len(turns))
	}
	f.send(asks("* 0 true"))
	if f.m.leases.count != 0 {
		t.Errorf("%d containers are left", f.m.leases.count)
	}
}

// A list of nodes takes turns of a bounded number of nodes, and has all of them.
func TestNodesAreListedInPages(t *testing.T) {
	f := newFleet(t, 2*pageOfNodes+1)
	turns := 0
	f.m.clock = func() time.Time { turns++; return f.now }
	r := clusterNodes(f.f, &wire.NodesRequest{})
	if len(r.Reports) != 2*pageOfNodes+1 || turns != 3 {
		t.Errorf("%d nodes in %d turns", len(r.Reports), turns)
	}
}

// However many callers ask by REST, few replies are made at once.
func TestRepliesAreMadeAFewAtATime(t *testing.T) {
	f := newFleet(t, 0)
	var now, most atomic.Int64
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			r := httptest.NewRequest(http.MethodGet, "/ws/v1/cluster/info", nil)
			f.f.answerREST(httptest.NewRecorder(), r, func() (body, error) {
				n := now.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				defer now.Add(-1)
				return f.f.inTurn(r, rest.info)
			})
		})
	}
	callers.Wait()
	if n := most.Load(); n < 1 || n > int64(cap(f.f.making)) {
		t.Errorf("%d replies were made at once, may be %d", n, cap(f.f.making))
	}
}
