package sched

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
)

// restoredConfig is the configuration of cores that are restored from runs under chaos.
func restoredConfig() Config {
	return Config{Policy: &inOrder{}, Can: CanKill | CanSuspend | CanResize | CanNameTasks}
}

// TestRestoreIsTheState restores a core after each Step of runs under chaos: it has the state that it was made from,
// and sums that are those of its attempts.
func TestRestoreIsTheState(t *testing.T) {
	for seed := range uint64(12) {
		watchChaos(t, seed, 0, func(g *rig) {
			want := StateOf(&g.core.View)
			c, err := Restore(restoredConfig(), copyOf(want))
			if err != nil {
				t.Fatalf("seed %d at %v: %v", seed, g.core.Now, err)
			}
			if got := StateOf(&c.View); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d at %v: restored\n%+v\nwant\n%+v", seed, g.core.Now, got, want)
			}
			checkSums(t, c)
		})
	}
}

// TestRestoredGoesOn restores a core now and then in runs under chaos, with the policy as it is. It is given the events
// of the Steps that follow, and must choose the same actions, come to the same state and have the same jobs in order.
// In every other run both forget in each Step the shapes that are not used.
func TestRestoredGoesOn(t *testing.T) {
	for seed := range uint64(30) {
		var other *Core
		steps, chosen := 0, 0
		var forget func() bool
		if seed%2 == 1 {
			forget = func() bool { return true }
		}
		watchChaos(t, seed, 0, func(g *rig) {
			g.core.state.config.Forget = forget
			if steps++; other != nil {
				now := g.core.Now
				if got := other.Step(now, slices.Clone(g.given)); !sameActions(other, got, g.core, g.acts[chosen:]) {
					t.Fatalf("seed %d at %v: restored, it chose %+v, want %+v", seed, now, got, g.acts[chosen:])
				}
				if got, want := StateOf(&other.View), StateOf(&g.core.View); !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d at %v: restored\n%+v\nwant\n%+v", seed, now, got, want)
				}
				checkSums(t, other)
				checkSame(t, &other.View, &g.core.View)
			}
			if chosen = len(g.acts); steps%17 != 1 {
				return
			}
			from := &rand.PCG{}
			text, err := g.core.policy.(*chaos).from.MarshalBinary()
			if err == nil {
				err = from.UnmarshalBinary(text)
			}
			if err != nil {
				t.Fatal(err)
			}
			config := restoredConfig()
			config.Policy, config.Limit, config.Spread = newChaos(from, 0), int(seed%5), seed%3 == 0
			config.Forget = forget
			if other, err = Restore(config, copyOf(StateOf(&g.core.View))); err != nil {
				t.Fatal(err)
			}
			checkSame(t, &other.View, &g.core.View)
		})
	}
}

// checkSame compares what a state leaves out of two views, because it follows from the rest.
func checkSame(t *testing.T, got, want *View) {
	t.Helper()
	if got.Capacity != want.Capacity || got.LiveJobs() != want.LiveJobs() {
		t.Fatalf("at %v: %v of %d jobs, want %v of %d", want.Now, got.Capacity, got.LiveJobs(), want.Capacity,
			want.LiveJobs())
	}
	for i, k := range want.Classes {
		if c := got.Classes[i]; c.Nodes != k.Nodes || c.Capacity != k.Capacity || c.Used != k.Used ||
			!reflect.DeepEqual(c.members, k.members) {
			t.Fatalf("at %v: class %+v, want %+v", want.Now, *c, *k)
		}
	}
	for i, n := range want.Nodes {
		if m := got.Nodes[i]; m.Open != n.Open || m.Lost != n.Lost || m.ID != n.ID || m.class.ID != n.class.ID {
			t.Fatalf("at %v: node %+v, want %+v", want.Now, *m, *n)
		}
	}
	for i, q := range want.Queues {
		p := got.Queues[i]
		if p.Min != q.Min || p.Max != q.Max || p.cap != q.cap || (p.above == nil) != (q.above == nil) ||
			p.above != nil && p.above.ID != q.above.ID {
			t.Fatalf("at %v: queue %+v, want %+v", want.Now, *p, *q)
		}
	}
	var ids []JobID
	for j := range want.Jobs() {
		ids = append(ids, j.ID)
	}
	for j := range got.Jobs() {
		if len(ids) == 0 || j.ID != ids[0] {
			t.Fatalf("at %v: job %d comes before %v", want.Now, j.ID, ids)
		}
		ids = ids[1:]
		w := want.Job(j.ID)
		if j.Weight != w.Weight || j.Queue != w.Queue || j.leaf.ID != w.leaf.ID {
			t.Fatalf("at %v: job %+v, want %+v", want.Now, *j, *w)
		}
		for i, st := range w.Stages {
			if o := j.Stages[i]; o.ID != st.ID || o.Kind != st.Kind || o.Shape.Row() != st.Shape.Row() ||
				o.cap != st.cap || o.alive != st.alive || o.Job != j {
				t.Fatalf("at %v: stage %+v, want %+v", want.Now, *o, *st)
			}
		}
	}
	if len(ids) > 0 {
		t.Fatalf("at %v: jobs %v are missing", want.Now, ids)
	}
	for i, st := range got.cluster.stages.rows { // also of jobs that have ended
		w := want.cluster.stages.rows[i]
		if st.Job != nil && (st.ID != w.ID || st.alive != w.alive || st.cap != w.cap) {
			t.Fatalf("at %v: stage %v is alive: %v, want %v of %v", want.Now, st.ID, st.alive, w.alive, w.ID)
		}
	}
}

// copyOf returns a copy of a state that shares nothing with it but specs.
func copyOf(s *State) *State {
	c := deepCopy(reflect.ValueOf(*s)).Interface().(State)
	return &c
}

func deepCopy(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Struct:
		c.Set(v)
		for i := range v.NumField() {
			c.Field(i).Set(deepCopy(v.Field(i)))
		}
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(deepCopy(v.Index(i)))
		}
	case reflect.Pointer:
		if v.IsNil() || v.Type() != reflect.TypeFor[*SavedWishes]() {
			return v // a spec
		}
		c.Set(reflect.New(v.Type().Elem()))
		c.Elem().Set(deepCopy(v.Elem()))
	default:
		return v
	}
	return c
}

// A damage is a change of one place of a state.
type damage struct {
	where string
	do    func()
}

// damages returns changes of all numbers and lists of v, which each undoes when it is called again.
func damages(v reflect.Value, where string, list []damage) []damage {
	swap := func(what string, to reflect.Value) {
		list = append(list, damage{where + what, func() {
			was := reflect.New(v.Type()).Elem()
			was.Set(v)
			v.Set(to)
			to = was
		}})
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[NodeSpec]() || v.Type() == reflect.TypeFor[QueueSpec]() {
			return list
		}
		for i := range v.NumField() {
			list = damages(v.Field(i), where+"."+v.Type().Field(i).Name, list)
		}
	case reflect.Array:
		list = damages(v.Index(0), where+"[0]", list)
	case reflect.Slice:
		for i := range v.Len() {
			list = damages(v.Index(i), fmt.Sprintf("%s[%d]", where, i), list)
		}
		if n := v.Len(); n > 0 {
			swap(" without the last", v.Slice3(0, n-1, n-1))
			twice := reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, n+1), v)
			swap(" with the last twice", reflect.Append(twice, v.Index(n-1)))
		}
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*SavedWishes]() && !v.IsNil() {
			return damages(v.Elem(), where, list)
		}
		if !v.IsNil() {
			swap(" = nil", reflect.Zero(v.Type()))
		}
	case reflect.Bool:
		swap(" inverted", reflect.ValueOf(!v.Bool()))
	case reflect.Int, reflect.Int32, reflect.Int64:
		for _, n := range []int64{-1, 0, v.Int() - 1, v.Int() + 1, 1 << 20, math.MinInt32, math.MaxInt32} {
			swap(fmt.Sprint(" = ", n), reflect.ValueOf(n).Convert(v.Type()))
		}
	case reflect.Uint8, reflect.Uint64:
		for _, n := range []uint64{0, v.Uint() - 1, v.Uint() + 1, 1 << 20, math.MaxUint64} {
			swap(fmt.Sprint(" = ", n), reflect.ValueOf(n).Convert(v.Type()))
		}
	}
	return list
}

// TestRestoreChecks changes every number and every list of states: Restore makes a core, or says what no core can have.
// It does not panic.
func TestRestoreChecks(t *testing.T) {
	refused, kept := map[string]int{}, 0
	for seed := range longtest.Few[uint64](1, 10) {
		steps := 0
		watchChaos(t, seed, 0, func(g *rig) {
			if steps++; steps != 60 { // in the middle
				return
			}
			s := copyOf(StateOf(&g.core.View))
			for _, d := range damages(reflect.ValueOf(s).Elem(), "", nil) {
				d.do()
				c, err := restoreQuietly(copyOf(s))
				d.do()
				switch {
				case err == nil && c != nil:
					kept++
				case c != nil || !strings.HasPrefix(err.Error(), "sched: no core has such a state: "):
					t.Fatalf("seed %d at %v: state%s: %v", seed, g.core.Now, d.where, err)
				default:
					refused[err.Error()]++
				}
			}
		})
	}
	if len(refused) < 20 || kept == 0 {
		t.Errorf("%d changes made no difference, and the others were refused for %d reasons: %v", kept, len(refused),
			refused)
	}
}

// restoreQuietly is Restore, and returns a panic as another error.
func restoreQuietly(s *State) (c *Core, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("panic: %v", broken)
		}
	}()
	return Restore(restoredConfig(), s)
}

// badRecorder has a defect.
type badRecorder struct{}

func (badRecorder) Attach(*View)                   { panic("a defect") }
func (badRecorder) Record(Time, []Event, []Action) {}

// TestRestoreHidesNoDefect restores where something panics that is no check of the state: the panic goes on.
func TestRestoreHidesNoDefect(t *testing.T) {
	state := StateOf(&New(restoredConfig()).View)
	if _, err := Restore(restoredConfig(), state); err != nil {
		t.Fatal(err)
	}
	bad := restoredConfig()
	bad.Recorder = badRecorder{}
	for name, restore := range map[string]func() error{
		"no state":       func() error { _, err := Restore(restoredConfig(), nil); return err },
		"a bad recorder": func() error { _, err := Restore(bad, state); return err },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			t.Errorf("%s: Restore returned %v", name, restore())
		}()
	}
}
