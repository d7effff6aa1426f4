package sched

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Jobs that ask for 100,000 vectors come and end, and the policy asks for as many others. The core knows few of them at
// any time, and an index keeps no more heaps. A task that runs all the time holds what it did.
func TestShapesAreForgotten(t *testing.T) {
	fill := &inOrder{}
	c := New(Config{Policy: policyFunc(func(p *Plan) {
		p.Shape(Resources{VCores: int64(p.Now)})
		fill.Decide(p)
	})})
	submit := func(id JobID, memory int64) Event {
		return Event{Kind: JobSubmitted, Job: id, Body: &JobSpec{
			Stages: []StageSpec{{PerTask: Resources{Memory: memory}, Tasks: 1}}}}
	}
	launched := func(acts []Action, memory int64) AttemptID {
		if len(acts) != 1 || c.Amount(acts[0].Shape) != (Resources{Memory: memory}) {
			t.Fatalf("at %v: actions %+v, want a launch with %d MiB", c.Now, acts, memory)
		}
		return acts[0].Attempt
	}
	stays := launched(c.Step(0, []Event{submit(1, 1<<29),
		{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: Resources{Memory: 1 << 30}}}}), 1<<29)
	vectors, rows, heaps, active := 0, 0, 0, 0
	events := []Event{}
	for i := range int64(100_000) {
		last := launched(c.Step(Time(i+1), append(events, submit(JobID(i+2), i+1))), i+1)
		events = append(events[:0], Event{Kind: AttemptDone, Attempt: last})
		s := &c.state.ledger.shapes
		vectors, rows = max(vectors, len(s.byAmt)), max(rows, len(s.list))
		heaps, active = max(heaps, len(fill.index.heaps)), max(active, len(s.active))
	}
	if most := sweepAfter + 16; vectors > most || rows > most || heaps > most || active > 2*keepIdle {
		t.Errorf("%d vectors in %d rows, %d heaps and %d sets of nodes at once, want at most %d", vectors, rows, heaps,
			active, most)
	}
	if got := c.Amount(c.Attempt(stays).Holds); got != (Resources{Memory: 1 << 29}) {
		t.Errorf("the task that runs all the time holds %v", got)
	}
}

// A plainShapes is what a table of shapes must say: it keeps every ID that was given, and who has it.
type plainShapes struct {
	given map[ShapeID]Resources // ever
	valid map[ShapeID]bool
	most  int // valid at once
}

// draw returns an ID that is valid.
func (p *plainShapes) draw(t *rapid.T) ShapeID {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(p.valid))).Draw(t, "shape")
}

// TestShapesByModel compares the table of shapes with a plain one, while vectors, stages and attempts come and go and
// sweeps forget what no row has. No ID is given to two vectors.
func TestShapesByModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &shapes{view: &View{}, byAmt: map[Resources]ShapeID{}}
		s.intern(Resources{})
		model := plainShapes{map[ShapeID]Resources{0: {}}, map[ShapeID]bool{0: true}, 1}
		stages, attempts := &stageTable{}, &attemptTable{}
		var withStage []*Stage
		var held []*Attempt
		end := func(t *rapid.T, n int) int {
			if n == 0 {
				t.Skip("there is none")
			}
			return rapid.IntRange(0, n-1).Draw(t, "which")
		}
		t.Repeat(map[string]func(*rapid.T){
			"vector": func(t *rapid.T) {
				r := Resources{Memory: rapid.Int64Range(1, 30).Draw(t, "memory"),
					NetworkIO: rapid.Int64Range(0, 1).Draw(t, "network")}
				id := s.intern(r)
				if was, ok := model.given[id]; ok && (was != r || !model.valid[id]) {
					t.Fatalf("shape %d of %v is given again, for %v", id, was, r)
				}
				model.given[id], model.valid[id] = r, true
				model.most = max(model.most, len(model.valid))
			},
			"stage": func(t *rapid.T) {
				st := stages.get()
				st.Shape = model.draw(t)
				withStage = append(withStage, st)
			},
			"attempt": func(t *rapid.T) {
				a := attempts.get()
				a.Holds, a.wants = model.draw(t), model.draw(t)
				held = append(held, a)
			},
			"end of a stage": func(t *rapid.T) {
				i := end(t, len(withStage))
				withStage[i].Shape = 0
				stages.free = append(stages.free, withStage[i].slot)
				withStage = slices.Delete(withStage, i, i+1)
			},
			"end of an attempt": func(t *rapid.T) {
				i := end(t, len(held))
				attempts.ended = append(attempts.ended, held[i].ID.Row())
				attempts.recycle()
				held = slices.Delete(held, i, i+1)
			},
			"sweep": func(*rapid.T) {
				s.sweep(stages, attempts)
				model.valid = map[ShapeID]bool{0: true}
				for _, st := range withStage {
					model.valid[st.Shape] = true
				}
				for _, a := range held {
					model.valid[a.Holds], model.valid[a.wants] = true, true
				}
			},
			"": func(t *rapid.T) {
				for id, want := range model.given {
					switch got := s.find(id); {
					case (got != nil) != model.valid[id]:
						t.Fatalf("shape %d of %v is known: %v", id, want, got != nil)
					case got != nil && (got.amount != want || s.intern(want) != id):
						t.Fatalf("shape %d is %v, want %v", id, got.amount, want)
					}
				}
				if len(s.list) != model.most || len(s.byAmt) != len(model.valid) {
					t.Fatalf("%d vectors in %d rows, want %d in %d", len(s.byAmt), len(s.list), len(model.valid),
						model.most)
				}
			},
		})
	})
}

// A row has 2,048 IDs, which are used one after another. A stage or an attempt keeps its own for as long as it has it.
func TestIDsOfRow(t *testing.T) {
	s := &shapes{view: &View{}, byAmt: map[Resources]ShapeID{}}
	s.intern(Resources{})
	stages := &stageTable{}
	stages.get().Shape = s.intern(Resources{VCores: 1})
	seen := map[ShapeID]int{}
	const ids = 1 << (31 - shapeBits)
	for i := range 2*ids + 1 {
		id := s.intern(Resources{Memory: int64(i + 1)})
		if before, again := seen[id]; id.Row() != 2 || id < 0 || again != (i >= ids) || again && i-before != ids {
			t.Fatalf("vector %d in row 2 has the ID %d, as vector %d had", i, id, before)
		}
		seen[id] = i
		s.sweep(stages, &attemptTable{})
	}
	if id := stages.rows[0].Shape; s.find(id) == nil || s.at(id).amount[VCores] != 1 {
		t.Error("the shape of a stage is forgotten")
	}
}

// A policy may use a shape that no stage and no attempt has in the Step in which it asks for it. Later it is told that
// the core has forgotten the shape, and so it is of an ID that never was.
func TestForgottenShape(t *testing.T) {
	x := &Index{Key: func(_ *View, st *Stage, _ Time) (Key, bool) { return Key{}, st.Pending > 0 }}
	for name, use := range map[string]func(*Plan, ShapeID) bool{
		"LaunchAs": func(p *Plan, id ShapeID) bool {
			return p.LaunchAs(p.Job(1).Stages[0], p.Node(1), As{Shape: id})
		},
		"Speculate": func(p *Plan, id ShapeID) bool {
			return p.Speculate(youngest(p.View, p.Job(1).Stages[0]), p.Node(1), id)
		},
		"Resize": func(p *Plan, id ShapeID) bool {
			return p.Resize(youngest(p.View, p.Job(1).Stages[0]), id)
		},
		"FirstWhere": func(p *Plan, id ShapeID) bool {
			return p.FirstWhere(p.Job(1).Stages[0], Where{Shape: id}) != nil
		},
		"FitsAs": func(p *Plan, id ShapeID) bool {
			for range p.FitsAs(p.Job(1).Stages[0], 0, id) {
				return true
			}
			return false
		},
		"FirstOf": func(p *Plan, id ShapeID) bool {
			x.Sync(p)
			return x.FirstOf(0, id) != nil
		},
		"Amount": func(p *Plan, id ShapeID) (known bool) {
			defer func() { // not a Breach, which only an engine commits
				if what, ok := recover().(string); ok {
					_, reason, _ := strings.Cut(what, fmt.Sprintf("the amount of shape %d: ", id))
					p.out.refuse(Action{Shape: id}, reason)
				}
			}()
			return p.Amount(id) == slots(1, 1)
		},
	} {
		var kept ShapeID
		decide := func(p *Plan) {
			p.Launch(p.Job(1).Stages[0], p.Node(1))
			kept = p.Shape(slots(1, 1))
			if !use(p, kept) || p.out.refused > 0 {
				t.Errorf("%s: a new shape is refused", name)
			}
		}
		c := New(Config{Can: CanResize | CanNameTasks, Policy: policyFunc(func(p *Plan) { decide(p) })})
		c.Step(0, []Event{
			{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slots(9, 9)}},
			{Kind: JobSubmitted, Job: 1, Body: mapReduce(0, 9, sec, 0, 0)},
		})
		for _, id := range []ShapeID{kept, kept + 1<<shapeBits, -1, -kept, 1<<shapeBits - 1, 1<<31 - 1} {
			decide = func(p *Plan) {
				if use(p, id) {
					t.Errorf("%s of shape %d: it is taken", name, id)
				}
			}
			var ends []Event // of what the policy started with the shape, so that nothing has it
			for a := range c.AttemptsOn(c.Node(1)) {
				if a.Holds == kept || a.wants == kept {
					ends = append(ends, Event{Kind: AttemptDone, Outcome: Killed, Attempt: a.ID})
				}
			}
			if len(ends) > 0 {
				was := decide
				decide = func(p *Plan) { p.Launch(p.Job(1).Stages[0], p.Node(1)) }
				c.Step(c.Now+sec, ends)
				decide = was
			}
			c.state.config.Forget = func() bool { return true }
			c.Step(c.Now+sec, nil)
			if r := c.Refusals(); len(r) != 1 || r[0].Reason != forgotten || r[0].Action.Shape != id {
				t.Errorf("%s of shape %d: refused %v", name, id, r)
			}
		}
	}
}

// holds says what attempts hold and stages ask for, by amounts.
func holds(v *View) string {
	var b strings.Builder
	for _, n := range v.Nodes {
		for a := range v.AttemptsOn(n) {
			fmt.Fprintln(&b, a.ID, a.State, v.Amount(a.Holds), v.Amount(a.wants))
		}
	}
	for j := range v.Jobs() {
		for _, st := range j.Stages {
			fmt.Fprintln(&b, st.ID, st.Pending, v.Amount(st.Shape))
		}
	}
	return b.String()
}

// sameActions reports whether two cores have chosen the same in a Step, whatever IDs they have for shapes.
func sameActions(c *Core, acts []Action, other *Core, others []Action) bool {
	return slices.EqualFunc(acts, others, func(a, b Action) bool {
		same := c.Amount(a.Shape) == other.Amount(b.Shape)
		a.Shape = b.Shape
		return same && a == b
	})
}

// Under chaos a core that forgets in every Step decides as one that never does, after every Step the attempts hold the
// same, and so they do in a core that is restored from its state.
func TestForgettingChangesNothing(t *testing.T) {
	again := 0
	for seed := range uint64(12) {
		var want []string
		step := func(g *rig, chosen int) string {
			text := holds(&g.core.View)
			for _, a := range g.acts[chosen:] {
				amount := g.core.Amount(a.Shape)
				a.Shape = 0
				text += fmt.Sprintln(a, amount)
			}
			return text
		}
		chosen := 0
		watchChaos(t, seed, 0, func(g *rig) {
			want = append(want, step(g, chosen))
			chosen = len(g.acts)
		})
		chosen = 0
		watchChaos(t, seed, 0, func(g *rig) {
			g.core.state.config.Forget = func() bool { return true }
			if got := step(g, chosen); len(want) == 0 || got != want[0] {
				t.Fatalf("seed %d at %v: a core that forgets has\n%s\nwant\n%s", seed, g.core.Now, got, want[:1])
			}
			for _, a := range g.acts[chosen:] {
				if a.Shape >= 1<<shapeBits {
					again++
				}
			}
			want, chosen = want[1:], len(g.acts)
			state := StateOf(&g.core.View)
			c, err := Restore(restoredConfig(), copyOf(state))
			if err != nil {
				t.Fatalf("seed %d at %v: %v", seed, g.core.Now, err)
			}
			if holds(&c.View) != holds(&g.core.View) || !reflect.DeepEqual(StateOf(&c.View), state) {
				t.Fatalf("seed %d at %v: the restored core holds\n%s\nwant\n%s", seed, g.core.Now, holds(&c.View),
					holds(&g.core.View))
			}
			checkSums(t, c)
		})
	}
	if again < 100 {
		t.Errorf("%d actions have a shape in a row that another had before, want many", again)
	}
}

// A state ends with the last row of a shape that is in use. A core that is restored from it gives new vectors the same
// rows as the one that the state was taken from.
func TestStateLeavesOutFreeRowsAtTheEnd(t *testing.T) {
	forget := false
	c := New(Config{Policy: &inOrder{}, Forget: func() bool { return forget }})
	amount := func(i int) Resources { return Resources{Memory: int64(i)} }
	job := func(id JobID, memory int) []Event {
		spec := &JobSpec{Stages: []StageSpec{{PerTask: amount(memory), Tasks: 1}}}
		return []Event{{Kind: JobSubmitted, Job: id, Body: spec}}
	}
	c.Step(0, job(1, 1))
	for i := range 9 {
		c.Shape(amount(i + 1))
	}
	c.Step(0, job(2, 4))
	if got := len(StateOf(&c.View).Shapes); got != 10 {
		t.Fatalf("before shapes are forgotten, the state has %d rows of them, want 10", got)
	}
	forget = true
	c.Step(0, nil)
	s := StateOf(&c.View)
	if want := []Resources{{}, amount(1), {}, {}, amount(4)}; !slices.Equal(s.Shapes, want) {
		t.Fatalf("the state has the shapes %v, want %v", s.Shapes, want)
	}
	other, err := Restore(restoredConfig(), copyOf(s))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		got, want := other.Shape(amount(100+i)).Row(), c.Shape(amount(100+i)).Row()
		if got != want {
			t.Errorf("new vector %d has row %d after Restore, want %d", i, got, want)
		}
	}
}
