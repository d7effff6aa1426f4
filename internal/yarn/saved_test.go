package yarn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/store"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// A memory keeps the values of a store, and the size and the names of what was written last.
type memory struct {
	values  map[string][]byte
	written int
	names   []string // sorted
}

func (k *memory) Close() error { return nil }

func (k *memory) Commit(batch map[string][]byte) error {
	k.written, k.names = 0, slices.Sorted(maps.Keys(batch))
	for name, value := range batch {
		k.written += len(value)
		if k.values[name] = value; value == nil {
			delete(k.values, name)
		}
	}
	return nil
}

// keepIn makes a manager keep its state with a keeper until the test ends.
func keepIn(t *testing.T, m *manager, k store.Keeper) {
	kept := store.New(k, func(err error) { t.Error(err) })
	t.Cleanup(func() { kept.Close() })
	m.saves = &saver{to: kept, apps: map[*application]bool{}, changed: map[string][]byte{}}
}

// failAgain makes the ApplicationMaster of an application fail until there were so many attempts.
func (f *few) failAgain(app *application, attempts int) {
	f.t.Helper()
	for len(app.attempts) < attempts {
		f.now = f.now.Add(time.Second)
		before := len(app.attempts)
		if f.ends(app); len(app.attempts) != before+1 {
			f.t.Fatalf("after attempt %d there are %d: %s", before, len(app.attempts), app.outcome.diagnostics)
		}
	}
}

// oldParts counts the parts of attempts that are stored apart.
func (k *memory) oldParts() (n int) {
	for name := range k.values {
		if strings.HasPrefix(name, "old") {
			n++
		}
	}
	return n
}

// Saving an application writes what has changed of it, however many attempts it had before: those of long ago are
// written once. All of them are there again after a restart, and none is left when the application is forgotten.
func TestSavingManyAttempts(t *testing.T) {
	const count = 500
	f, k := newFew(t), &memory{values: map[string][]byte{}}
	keepIn(t, f.m, k)
	app := f.m.apps.byID[f.managed(func(s *wire.Submission) { s.Validity = 1 })]
	f.failAgain(app, 2*mostInFull)
	early := 0
	for n := range attemptsOfPart { // one of them writes a part
		f.failAgain(app, 2*mostInFull+n)
		early = max(early, k.written)
	}
	f.failAgain(app, count)
	late := 0
	for n := range attemptsOfPart {
		f.failAgain(app, count+n)
		late = max(late, k.written)
	}
	if late > early+early/10 {
		t.Errorf("%d bytes are written at a change after %d attempts, and were %d after %d", late, count, early,
			2*mostInFull)
	}
	if want := (len(app.attempts) - mostInFull) / attemptsOfPart; k.oldParts() != want {
		t.Errorf("%d parts are stored, want %d", k.oldParts(), want)
	}

	again := newFleet(t, 0)
	p, err := readPast(k.values)
	if err != nil {
		t.Fatal(err)
	}
	keepIn(t, again.m, &memory{values: maps.Clone(k.values)})
	again.do(func(m *manager) (answer, error) { m.restore(p); return nil, nil })
	next := again.m.apps.byID[app.id]
	if len(next.attempts) != len(app.attempts) {
		t.Fatalf("%d attempts are there after a restart, want %d", len(next.attempts), len(app.attempts))
	}
	for i, a := range app.attempts[:len(app.attempts)-1] { // the last one may still run
		b := next.attempts[i]
		if fmt.Sprint(a.id, a.state, a.failed, a.diagnostics, a.times, a.master.id) !=
			fmt.Sprint(b.id, b.state, b.failed, b.diagnostics, b.times, b.master.id) {
			t.Fatalf("attempt %d is %+v after a restart, was %+v", i+1, b.report(), a.report())
		}
	}

	f.m.config.Completed = 0
	f.do(func(*manager) (answer, error) { app.end(wire.AppKilled, outcome{wire.Killed, ""}); return nil, nil })
	f.ends(app)
	if n := k.oldParts(); n > 0 || !app.forgotten {
		t.Errorf("%d parts are left of an application that is forgotten: %v", n, app.forgotten)
	}
}

// Attempts that a program before this one stored in one value are taken over, and stored in parts. A part that is
// missing is an error that names it.
func TestAttemptsInOneValue(t *testing.T) {
	const count = 3 * mostInFull
	f, k := newFew(t), &memory{values: map[string][]byte{}}
	keepIn(t, f.m, k)
	app := f.m.apps.byID[f.managed(func(s *wire.Submission) { s.Validity = 1 })]
	f.failAgain(app, count)
	whole := app.saved()
	whole.Parts, whole.Attempts = 0, savedAttempts(app.attempts)
	name := savedName(app.id)
	later, again := k.takenOver(t, map[string][]byte{nameApp + name: whole.Append(nil)})
	later.do(func(m *manager) (answer, error) { m.apps.byID[app.id].save(); return nil, nil })
	if n := len(later.m.apps.byID[app.id].attempts); n != count || again.oldParts() != k.oldParts() {
		t.Errorf("%d attempts and %d parts, want %d and %d", n, again.oldParts(), count, k.oldParts())
	}
	delete(again.values, oldName(1, name))
	if _, err := readPast(again.values); err == nil || !strings.Contains(err.Error(), "part 2 of") {
		t.Errorf("without a part: %v", err)
	}
}

// takenOver returns a manager that has taken over the values of k, and some instead of them or beside them. It returns
// the store of that manager, too.
func (k *memory) takenOver(t *testing.T, others map[string][]byte) (*few, *memory) {
	t.Helper()
	values := maps.Clone(k.values)
	maps.Copy(values, others)
	p, err := readPast(values)
	if err != nil {
		t.Fatal(err)
	}
	later, again := newFleet(t, 0), &memory{values: values}
	keepIn(t, later.m, again)
	later.do(func(m *manager) (answer, error) { m.restore(p); return nil, nil })
	return later, again
}

// However many attempts are taken over in one value, a turn adds no more than mostParts parts, and all attempts are in
// the store after each turn. Those in parts are not in the application's value.
func TestPartsOfOneTurn(t *testing.T) {
	f, k := newFew(t), &memory{values: map[string][]byte{}}
	keepIn(t, f.m, k)
	app := f.m.apps.byID[f.managed(func(s *wire.Submission) { s.Validity = 1 })]
	f.failAgain(app, 2)
	whole := app.saved()
	more := attemptsOfPart*(2*mostParts+1) + mostInFull - len(whole.Attempts)
	whole.Attempts = slices.Concat(slices.Repeat(whole.Attempts[:1], more), whole.Attempts)
	for i := range whole.Attempts {
		whole.Attempts[i].Diagnostics = fmt.Sprint(i)
	}
	name, count := savedName(app.id), len(whole.Attempts)
	later, again := k.takenOver(t, map[string][]byte{nameApp + name: whole.Append(nil)})
	for turn, want := range []int{mostParts, 2 * mostParts, 2*mostParts + 1, 2*mostParts + 1} {
		later.do(func(m *manager) (answer, error) { m.apps.byID[app.id].save(); return nil, nil })
		if again.oldParts() != want {
			t.Fatalf("turn %d: %d parts are stored, want %d", turn, again.oldParts(), want)
		}
		p, err := readPast(again.values)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(p.apps[0].Attempts); n != count {
			t.Fatalf("turn %d: %d attempts are stored, want %d", turn, n, count)
		}
		for i, a := range p.apps[0].Attempts {
			if a.Diagnostics != fmt.Sprint(i) {
				t.Fatalf("turn %d: attempt %d says %q", turn, i, a.Diagnostics)
			}
		}
	}
}

// What a deletion that was cut short has left of an application is deleted at the next start, and nothing else is.
func TestLeftOfDeletion(t *testing.T) {
	f, k := newFew(t), &memory{values: map[string][]byte{}}
	keepIn(t, f.m, k)
	app := f.m.apps.byID[f.managed(func(s *wire.Submission) { s.Validity = 1 })]
	f.failAgain(app, 3*mostInFull)
	want := append(slices.Collect(maps.Keys(k.values)), nameKeys, nameLife)
	slices.Sort(want)
	left := map[string][]byte{}
	for _, name := range []string{nameLaunch + "1/9", oldName(0, "1/9"), oldName(12, "1/9"), oldName(0, "1/99")} {
		left[name] = []byte("left")
	}
	_, again := k.takenOver(t, left)
	if got := slices.Sorted(maps.Keys(again.values)); !slices.Equal(got, want) {
		t.Errorf("the store has %q, want %q", got, want)
	}
}

// A restart writes its life, its keys, and what changes by it: an application whose ApplicationMaster had said that it
// is over is over now. Those that were over before stay as they are, however many they are.
func TestRestartWritesLittle(t *testing.T) {
	const over = 100
	f, k := newFleet(t, 4), &memory{values: map[string][]byte{}}
	keepIn(t, f.m, k)
	for range over {
		app := f.submitOne(true)
		f.do(func(*manager) (answer, error) { app.end(wire.AppKilled, outcome{wire.Killed, ""}); return nil, nil })
	}
	runs, leaving := f.submitOne(false), f.submitOne(false)
	f.do(func(m *manager) (answer, error) {
		am := master{m, leaving.current()}
		if _, err := am.register(&wire.RegisterMasterRequest{}); err != nil {
			return nil, err
		}
		return am.finish(&wire.FinishMasterRequest{Final: wire.Succeeded})
	})
	if runs.over || leaving.over || leaving.state != wire.AppFinished || len(k.values) != over+4 {
		t.Fatalf("%d values, the last two applications are %s and %s", len(k.values), runs.state, leaving.state)
	}

	again, later := newFleet(t, 0), &memory{values: maps.Clone(k.values)}
	p, err := readPast(k.values)
	if err != nil {
		t.Fatal(err)
	}
	keepIn(t, again.m, later)
	again.do(func(m *manager) (answer, error) { m.restore(p); return nil, nil })
	last := savedName(leaving.id)
	want := []string{nameApp + last, nameKeys, nameLaunch + last, nameLife}
	if !slices.Equal(later.names, want) {
		t.Errorf("%d values are written, want %q: %.300q", len(later.names), want, later.names)
	}
	if app := again.m.apps.byID[leaving.id]; !app.over || app.current().state != wire.AttemptFinished ||
		len(again.m.apps.list) != over+2 || again.m.apps.gone != over+1 {
		t.Errorf("%d applications, %d over, the last in state %s", len(again.m.apps.list), again.m.apps.gone, app.state)
	}
}

// While nothing can be stored, as on a full disk, nodes are answered. The end of an ApplicationMaster is to be stored:
// its node would fall silent, and be lost with all that runs there.
func TestNodesBeatWhileNothingIsStored(t *testing.T) {
	c := start(t, nil)
	n := c.node()
	die := make(chan bool)
	c.master = func(ctx context.Context, m *peer.Master, id wire.ContainerID) int32 {
		defer m.Close()
		if _, err := m.Register(ctx); err != nil || id.Attempt.Attempt > 1 {
			return 1
		}
		select {
		case <-die:
		case <-ctx.Done():
		}
		return 1
	}
	id := c.submit(nil)
	c.until("it runs", func() bool { return c.report(id).State == wire.AppRunning })
	k := blocked{make(chan bool)}
	c.look(func(m *manager) { keepIn(t, m, k) })
	close(die)
	at := int32(-1) // the answer to the node that was the last when its ApplicationMaster had ended
	c.until("the node is answered twice after its ApplicationMaster has ended", func() (answered bool) {
		c.look(func(m *manager) {
			last := int32(0)
			if r := m.nodes.byID[n.ID()].last; r != nil { // nil: the node has not beaten yet
				last = r.ResponseID
			}
			switch ended := m.apps.byID[id].attempts[0].ended(); {
			case ended && at < 0:
				at = last
			case ended:
				answered = last >= at+2
			}
		})
		return answered
	})
	close(k.let)
	c.ends(id, wire.AppFailed)
}

// A call that repeats another, whose reply was lost, is answered when the changes of the first are stored, and so are
// two in one turn.
func TestRepeatedCallWaitsForTheStore(t *testing.T) {
	f := newFleet(t, 1)
	managed := f.submitOne(false)
	a := managed.current()
	f.do(func(m *manager) (answer, error) { return master{m, a}.register(&wire.RegisterMasterRequest{}) })
	r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
	one := wire.Submission{ID: r.(*wire.NewApplication).ID, Unmanaged: true, Resource: &wire.Resource{Memory: 512,
		VCores: 1}, Launch: wire.NewLaunchContext("")}
	f.m.config.MostPriority = 9
	keepIn(t, f.m, &memory{values: map[string][]byte{}})
	finish := func(u client) (answer, error) {
		q := &wire.FinishMasterRequest{Final: wire.Succeeded}
		return forMaster(token.Master{Attempt: a.id}, q, master.finish)(u.m)
	}
	last := uint64(0)
	for _, c := range []struct {
		name    string
		changes bool
		do      func(u client) (answer, error)
	}{
		{"submit", true, func(u client) (answer, error) { return u.submit(&wire.SubmitRequest{Submission: one}) }},
		{"priority", true, func(u client) (answer, error) {
			return u.changePriority(&wire.PriorityChange{ID: one.ID, Priority: 5})
		}},
		{"fail", true, func(u client) (answer, error) {
			return u.failAttempt(&wire.AttemptRequest{ID: wire.AttemptID{App: one.ID, Attempt: 1}})
		}},
		{"finish", true, finish},
		{"kill, after its failure", false, func(u client) (answer, error) {
			return u.kill(nil, &wire.KillRequest{ID: one.ID})
		}},
	} {
		turn := func() (first, second uint64) {
			do := func(m *manager) (answer, error) { return c.do(client{m, "user"}) }
			batch := []*call{{do: do}, {do: do}}
			f.f.turn(batch)
			if err := errors.Join(batch[0].err, batch[1].err); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			return batch[0].change, batch[1].change
		}
		first, second := turn()
		if first < last || c.changes == (first == last) || first != second {
			t.Errorf("%s: waits for changes %d, its repetition in the turn for %d; before were %d", c.name, first,
				second, last)
		}
		if third, fourth := turn(); third != first || fourth != first {
			t.Errorf("%s: waits for changes %d, its repetitions in the next turn for %d and %d", c.name, first, third,
				fourth)
		}
		last = first
	}
	f.report(a.master, wire.ContainerRunning)
	f.report(a.master, wire.ContainerComplete)
	again := &call{do: func(m *manager) (answer, error) { return finish(client{m, "user"}) }}
	f.f.turn([]*call{again})
	if !a.ended() || again.err != nil || again.change <= last || again.change != f.m.saves.last {
		t.Errorf("said again to be over once it has ended: %v, waits for changes %d; those of its end are %d",
			again.err, again.change, f.m.saves.last)
	}
}
