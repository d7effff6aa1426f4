package policy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// PlainHFSP is hfsp as it is defined: the virtual cluster is divided anew among all jobs whenever one comes or is done
// there, and every job's end at its share is computed anew. It is what the policy must agree with.
var PlainHFSP = Entry{hfspCard, func(a Args) sched.Policy {
	h := &plainHFSP{DelayPlacer: NewDelayPlacer(a), sizes: newSizes(a)}
	h.Init(a, h.projected)
	return h
}}

type plainHFSP struct {
	Order
	DelayPlacer
	sizes
	Server plainServer
	Finish sched.Per[plainEnd]
}

type plainEnd struct {
	At   float64
	Late bool
}

func (h *plainHFSP) projected(_ *sched.View, st *sched.Stage, more int32) sched.Key {
	switch f := h.Finish.Of(st.Job); {
	case !h.known(st):
		return h.unknown(st, h.attempts(st, more))
	case f.Late:
		return h.Taking.lateness(st, more)
	default:
		return sched.Key{Class: ranked, Value: f.At}
	}
}

func (h *plainHFSP) Decide(p *sched.Plan) {
	now := p.Now.Seconds()
	for next := h.Server.next(); next <= now; next = h.Server.next() {
		h.Server.serve(next)
		h.settle(p)
	}
	h.Server.serve(now)
	for i := range p.Events {
		e := &p.Events[i]
		j := p.Job(e.Job)
		switch at, there := h.Server.find(e.Job); {
		case e.Kind == sched.JobSubmitted:
			h.Server.Jobs = append(h.Server.Jobs, plainJob{ID: j.ID, Open: true, Weight: j.Weight, Cap: 1})
		case e.Kind == sched.JobEnded && there && h.Server.Jobs[at].Open:
			h.Server.Jobs = slices.Delete(h.Server.Jobs, at, at+1)
		}
	}
	h.learn(p)
	for i := range h.Server.Jobs {
		if h.Of.ratio == 0 {
			break
		}
		v := &h.Server.Jobs[i]
		j, g := p.Job(v.ID), &hfsp{sizes: h.sizes}
		by := h.Of.ratioOf(j)
		if v.Got, v.Left = by*v.Got, by*v.Left; j != nil && !j.Ended && !v.Open {
			v.Cap = g.parallelism(p, j)
		}
	}
	for _, j := range h.news {
		if at, there := h.Server.find(j.ID); there && !j.Ended {
			v, g := &h.Server.Jobs[at], &hfsp{sizes: h.sizes}
			v.Open, v.Left, v.Cap = false, h.size(j)-v.Got, g.parallelism(p, j)
		}
	}
	h.settle(p)
	if next := h.Server.next(); !math.IsInf(next, 1) {
		p.Wake(instant(next))
	}
	h.Fill(p, &h.DelayPlacer)
}

// settle takes out who is done and shares among the rest.
func (h *plainHFSP) settle(p *sched.Plan) {
	for _, id := range h.Server.settle() {
		if j := p.Job(id); j != nil && !j.Ended {
			h.Finish.Of(j).Late = true
			p.TouchJob(j)
		}
	}
	for i := range h.Server.Jobs {
		v := &h.Server.Jobs[i]
		if j := p.Job(v.ID); j != nil && !j.Ended && !v.Open {
			h.Finish.Of(j).At = h.Server.At + v.Left/v.Rate
			p.TouchJob(j)
		}
	}
}

// A plainServer is a levelServer in which everything is computed at every change.
type plainServer struct {
	At   float64
	Jobs []plainJob
}

type plainJob struct {
	ID                sched.JobID
	Open              bool
	Got, Left, Rate   float64
	Weight, Cap, Done float64
}

func (c *plainServer) next() float64 {
	left := math.Inf(1)
	for _, v := range c.Jobs {
		if !v.Open {
			left = min(left, v.Left/v.Rate)
		}
	}
	return c.At + left
}

func (c *plainServer) serve(at float64) {
	for i := range c.Jobs {
		v := &c.Jobs[i]
		if !v.Open && c.At+v.Left/v.Rate <= at {
			v.Got, v.Left = v.Got+v.Left, 0
			continue
		}
		got := v.Rate * (at - c.At)
		v.Got += got
		v.Left -= got
	}
	c.At = at
}

func (c *plainServer) settle() (done []sched.JobID) {
	c.Jobs = slices.DeleteFunc(c.Jobs, func(v plainJob) bool {
		over := !v.Open && v.Left <= 0
		if over {
			done = append(done, v.ID)
		}
		return over
	})
	var claims []theory.Claim
	for _, v := range c.Jobs {
		claims = append(claims, theory.Claim{Weight: v.Weight, Max: v.Cap})
	}
	for i, rate := range theory.MaxMin(1, claims) {
		c.Jobs[i].Rate = rate
	}
	return done
}

func (c *plainServer) find(id sched.JobID) (int, bool) {
	return slices.BinarySearchFunc(c.Jobs, id, func(v plainJob, id sched.JobID) int { return cmp.Compare(v.ID, id) })
}

// A levelServer agrees with the plain one: at every change the same jobs are done by then, at the same instants, and
// each of the others has received the same and has the same end. Weights, sizes and caps are over three decades, so
// that jobs change sides often.
func TestLevelServer(t *testing.T) {
	for seed := range longtest.Few[uint64](30, 120) {
		r := rand.New(rand.NewPCG(seed, 3))
		decades := func(n float64) float64 { return math.Exp((r.Float64() - 0.5) * n * math.Ln10) }
		var c levelServer
		var plain plainServer
		slots := map[sched.JobID]int32{}
		sides := 0
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
				t.Fatalf("seed %d: %s is %v, want %v", seed, what, got, want)
			}
		}
		for step := range 400 {
			now := c.At + decades(2)/20
			for {
				next := plain.next()
				got, _ := c.next()
				if !math.IsInf(next, 1) || !math.IsInf(got, 1) {
					near("the next end", got, next)
				}
				if next > now {
					break
				}
				plain.serve(next)
				done := plain.settle()
				for range done {
					id := c.done(next+1e-6, func(sched.JobID) { sides++ })
					if !slices.Contains(done, id) {
						t.Fatalf("seed %d, step %d: job %d is done, want one of %v", seed, step, id, done)
					}
					delete(slots, id)
				}
			}
			c.serve(max(now, c.At))
			plain.serve(c.At)
			id := sched.JobID(step + 1)
			switch k := r.IntN(6); {
			case k < 3 || len(plain.Jobs) == 0:
				open, weight, limit := k == 0, decades(3), min(1, decades(3)/8)
				plain.Jobs = append(plain.Jobs, plainJob{ID: id, Open: open, Weight: weight, Cap: limit,
					Left: decades(2)})
				slots[id] = c.add(levelJob{ID: id, Open: open, Weight: weight, Cap: limit,
					Size: plain.Jobs[len(plain.Jobs)-1].Left})
			case k < 5: // another size
				v := &plain.Jobs[r.IntN(len(plain.Jobs))]
				v.Open, v.Left, v.Cap = false, decades(2), min(1, decades(3)/8)
				j := c.Jobs[slots[v.ID]]
				j.Got = c.received(&j)
				near("what was received", j.Got, v.Got)
				j.Open, j.Size, j.Cap = false, j.Got+v.Left, v.Cap
				c.remove(slots[v.ID])
				slots[v.ID] = c.add(j)
			default: // one leaves
				i := r.IntN(len(plain.Jobs))
				c.remove(slots[plain.Jobs[i].ID])
				delete(slots, plain.Jobs[i].ID)
				plain.Jobs = slices.Delete(plain.Jobs, i, i+1)
			}
			plain.settle()
			c.settle(func(sched.JobID) { sides++ })
			sum := 0.0
			for _, v := range plain.Jobs {
				j := &c.Jobs[slots[v.ID]]
				rate := j.clockRate()
				if j.Side == sharing {
					rate *= c.Level
				}
				sum += rate
				near(fmt.Sprintf("the share of job %d", v.ID), rate, v.Rate)
				if !v.Open {
					near(fmt.Sprintf("the end of job %d", v.ID), c.instant(j.Side, j.end()), plain.At+v.Left/v.Rate)
				}
			}
			if sum > 1+1e-9 {
				t.Fatalf("seed %d: shares sum to %v", seed, sum)
			}
		}
		if sides < 20 {
			t.Fatalf("seed %d: jobs changed sides %d times: nothing was tested", seed, sides)
		}
	}
}

// CheckRunners reports where a policy that takes back does not know which attempts of a stage run.
func CheckRunners(p *sched.Plan, policy sched.Policy) error {
	h, ok := policy.(*hfsp)
	if !ok {
		return fmt.Errorf("%T does not take back", policy)
	}
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if _, looked := h.Taking.runs.Has(st); !looked {
				continue
			}
			known := map[sched.AttemptID]bool{}
			last := sched.AttemptID(0)
			for _, id := range h.Taking.runningOf(p, st).ids {
				if id <= last {
					return fmt.Errorf("attempts of job %d are not in order of launch", j.ID)
				}
				last, known[id] = id, true
			}
			for a := range p.Attempts(st) {
				if a.State == sched.Running && !known[a.ID] {
					return fmt.Errorf("attempt %d of job %d runs and is not known to", a.ID, j.ID)
				}
			}
		}
	}
	return nil
}
