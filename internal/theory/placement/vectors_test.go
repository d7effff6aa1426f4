package placement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The vectors of docs/spec/ras.md, section 4. Demands are in percent of a node, which offers 100 of each kind: CPU, I/O
// and memory.

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got != want && !(math.Abs(got-want) <= 1e-6) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// 4.1: the utility of maps, of reduces, of both, at the edges, and the required maps.
func TestVectors4_1Utility(t *testing.T) {
	inf := math.Inf(-1)
	for _, v := range []struct {
		maps              int
		required          float64
		pending           int
		reduces, of       int
		ofMaps, ofReduces float64
		both              float64
	}{
		{0, 20, 35, 0, 10, inf, -1, inf},
		{1, 20, 35, 1, 10, -1, -1, -2},
		{2, 20, 35, 2, 10, -0.768622, -0.698970, -1.467592},
		{5, 20, 35, 3, 10, -0.462756, -0.522879, -0.985635},
		{10, 20, 35, 5, 10, -0.231378, -0.301030, -0.532408},
		{15, 20, 35, 8, 10, -0.096031, -0.096910, -0.192941},
		{19, 20, 35, 9, 10, -0.017122, -0.045757, -0.062879},
		{20, 20, 35, 10, 10, 0, 0, 0},
		{25, 20, 35, 0, 1, 0.333333, -1, -0.666667},
		{30, 20, 35, 1, 1, 0.666667, 0, 0.666667},
		{34, 20, 35, 10, 10, 0.933333, 0, 0.933333},
		{35, 20, 35, 10, 10, 1, 0, 1},
		{20, 20, 35, 5, 10, 0, -0.301030, -0.301030},
		{10, 20, 35, 10, 10, -0.231378, 0, -0.231378},
		{10, 20, 35, 1, 10, -0.231378, -1, -1.231378},
		{30, 20, 35, 2, 10, 0.666667, -0.698970, -0.032303},
		{0, 20, 35, 10, 10, inf, 0, inf},
		{1, 1, 35, 0, 0, 0, 0, 0},
		{2, 0.5, 35, 0, 0, 0.043478, 0, 0.043478},
		{3, 40, 35, 0, 0, -0.702183, 0, -0.702183},
		{35, 40, 35, 0, 0, 1, 0, 1},
		{5, 5, 5, 0, 0, 1, 0, 1},
		{4, 5, 5, 0, 0, -0.138647, 0, -0.138647},
	} {
		need := Need{v.required, v.pending, v.of}
		what := fmt.Sprintf("u(%d, %d) of %+v", v.maps, v.reduces, need)
		near(t, what+", maps", need.UtilityOfMaps(v.maps), v.ofMaps)
		near(t, what+", reduces", UtilityOfReduces(v.reduces, v.of), v.ofReduces)
		near(t, what, need.Utility(v.maps, v.reduces), v.both)
	}
	for _, v := range []struct {
		pending                int
		mean, goal, now, wants float64
	}{{35, 100, 1000, 0, 3.5}, {200, 50, 1000, 0, 10}, {200, 50, 1000, 900, 100}, {50, 30, 100, 200, 50}} {
		near(t, fmt.Sprint("s_req of ", v), Required(v.pending, v.mean, v.goal-v.now, false), v.wants)
	}
	near(t, "s_req without a completed map", Required(7, 0, 1000, false), 7)
	near(t, "s_req without a goal", Required(7, 10, math.Inf(1), false), 7)
	near(t, "s_req of 7 maps in 3 whole waves", Required(7, 30, 110, true), 7.0/3)
	near(t, "s_req with less than a wave left", Required(7, 30, 20, true), 7)
}

// The applications of table 4.2.
type app struct{ cpu, io, memory float64 }

func percent(a app) Demand {
	return Demand{int64(math.Round(a.cpu * 1000)), int64(math.Round(a.io * 1000)), int64(math.Round(a.memory * 1000))}
}

var node = percent(app{100, 100, 100})

func jobOf(id int, m, r app, copyIO float64) Job {
	return Job{ID: int64(id), Goal: math.Inf(1), Map: percent(m), Copy: percent(app{0, copyIO, 0}), Reduce: percent(r)}
}

func sortJob(id int) Job    { return jobOf(id, app{30, 45, 25}, app{20, 50, 60}, 0.15) }
func combineJob(id int) Job { return jobOf(id, app{25, 10, 10}, app{10, 10, 25}, 0.015) }
func selectJob(id int) Job  { return jobOf(id, app{15, 20, 10}, app{10, 10, 25}, 0.015) }

func cpuJob(id int, cpu float64) Job { return jobOf(id, app{cpu, 0, 0}, app{}, 0) }

// with completes a job by what it needs.
func (j Job) with(required float64, pending, reduces int) Job {
	j.Pending, j.Reduces = pending, reduces
	j.Utility = Need{required, pending, reduces}.Utility
	return j
}

func problem(nodes int, jobs ...Job) *Problem {
	return &Problem{Nodes: slices.Repeat([]Demand{node}, nodes), Jobs: jobs, Copies: 5, Rounds: 10}
}

// show writes the placement of maps and reduces as "S1 C2 | S2" by node, in order of jobs.
func show(s *State, names string, of func(Cell) int32) string {
	var nodes []string
	for n := range s.Nodes {
		var list []string
		for _, c := range s.On(n) {
			if k := of(c); k > 0 {
				list = append(list, fmt.Sprintf("%c%d", names[c.Job], k))
			}
		}
		nodes = append(nodes, strings.Join(list, " "))
	}
	return strings.Join(nodes, " | ")
}

func maps(c Cell) int32    { return c.Maps }
func reduces(c Cell) int32 { return c.Reduces }

func expect(t *testing.T, s *State, names, want string, u ...float64) {
	t.Helper()
	if got := show(s, names, maps); got != want {
		t.Errorf("maps: %s, want %s", got, want)
	}
	for i, w := range u {
		near(t, fmt.Sprintf("u of %c", names[i]), s.UtilityOf(i), w)
	}
	s.check(t)
}

// check compares the sums that a placement keeps with what is in its cells.
func (s *State) check(t *testing.T) {
	t.Helper()
	for n := range s.Nodes {
		var use Demand
		for _, c := range s.cells[n] {
			if c.Maps < 0 || c.Reduces < 0 {
				t.Errorf("node %d: cell %+v", n, c)
			}
			each := s.ofReduce(int(c.Job))
			use = use.Plus(int64(c.Maps), &s.Jobs[c.Job].Map).Plus(int64(c.Reduces), &each)
		}
		if use != s.use[n] {
			t.Errorf("node %d: use %v, want %v", n, s.use[n], use)
		}
	}
}

// 4.2: how many maps of each application fit on a node, and what a reduce of Sort copies.
func TestVectors4_2Profiles(t *testing.T) {
	for _, v := range []struct {
		job  Job
		want int
	}{{sortJob(0), 2}, {combineJob(0), 4}, {selectJob(0), 5}} {
		s := New(problem(1, v.job.with(1, 100, 0)))
		s.PlaceMaps()
		if got, _ := s.Placed(0); got != v.want {
			t.Errorf("%v: %d maps on a node, want %d", v.job.Map, got, v.want)
		}
	}
	for _, v := range []struct {
		maps int
		io   int64
	}{{3, 450}, {5, 750}, {80, 750}} {
		s := New(problem(1, sortJob(0).with(1, 100, 1)))
		s.Put(0, 0, v.maps, 0)
		if got := s.ofReduce(0)[1]; got != v.io {
			t.Errorf("a reduce of Sort with %d maps: %d thousandths of a percent of I/O, want %d", v.maps, got, v.io)
		}
	}
}

// 4.3, P1 to P9: placements.
func TestVectors4_3Placement(t *testing.T) {
	t.Run("P1", func(t *testing.T) {
		s := New(problem(1, sortJob(1).with(1, 35, 0), combineJob(2).with(1, 35, 0), selectJob(3).with(1, 35, 0)))
		s.PlaceMaps()
		expect(t, s, "SCL", "S1 C2 L1", 0, 0.029412, 0)
		if want := percent(app{95, 85, 55}); s.Use(0) != want {
			t.Errorf("use %v, want %v", s.Use(0), want)
		}
	})
	start := func(s *State) *State {
		s.Put(0, 0, 4, 0)
		s.Put(0, 1, 4, 0)
		return s
	}
	t.Run("P2", func(t *testing.T) {
		p := problem(2, cpuJob(1, 25).with(2, 40, 0), cpuJob(2, 25).with(4, 40, 0))
		s := start(New(p))
		s.PlaceMaps()
		expect(t, s, "AB", "B4 | A3 B1", 0.026316, 0.027778)
		p.Rounds = 1
		s = start(New(p))
		s.PlaceMaps()
		expect(t, s, "AB", "B4 | A3 B1", 0.026316, 0.027778) // the second round changes nothing
	})
	t.Run("P3", func(t *testing.T) {
		p := problem(2, cpuJob(1, 25).with(2, 40, 0), cpuJob(2, 50).with(4, 40, 0))
		s := start(New(p))
		s.PlaceMaps()
		expect(t, s, "AB", "B2 | A2 B1", 0, -0.207519)
		p.Literal = true
		s = start(New(p))
		s.PlaceMaps()
		expect(t, s, "AB", "A4 | A4", 6.0/38, math.Inf(-1))
	})
	t.Run("P4", func(t *testing.T) {
		c, i := jobOf(1, app{60, 10, 10}, app{}, 0), jobOf(2, app{10, 60, 10}, app{}, 0)
		p := problem(2, c.with(2, 20, 0), i.with(2, 20, 0))
		s := New(p)
		s.PlaceMaps()
		expect(t, s, "CI", "C1 I1 | C1 I1", 0, 0)
		for n := range p.Nodes {
			if want := percent(app{70, 70, 20}); s.Use(n) != want {
				t.Errorf("use of node %d: %v, want %v", n+1, s.Use(n), want)
			}
		}
	})
	three := func(required ...float64) *Problem { // ids in the order of the alphabet: Combine, Select, Sort
		return problem(
			4,
			sortJob(3).with(required[0], 60, 0),
			combineJob(1).with(required[1], 60, 0),
			selectJob(2).with(required[2], 60, 0),
		)
	}
	t.Run("P5", func(t *testing.T) {
		p := three(4, 4, 4)
		s := New(p)
		s.PlaceMaps()
		expect(t, s, "SCL", "S2 C1 | S1 C1 L2 | S1 C2 L1 | S1 C1 L2", 0.017857, 0.017857, 0.017857)
		p.Literal = true
		s = New(p)
		s.PlaceMaps()
		expect(t, s, "SCL", "S1 C2 L1 | S1 C1 L2 | S1 C2 L1 | S1 C1 L2", 0, 0.035714, 0.035714)
	})
	t.Run("P6", func(t *testing.T) {
		for _, literal := range []bool{false, true} {
			p := three(6, 2, 2)
			p.Literal = literal
			s := New(p)
			s.PlaceMaps()
			expect(t, s, "SCL", "S1 C1 L2 | S1 C1 L2 | S2 C1 | S2 C1", 0, 0.034483, 0.034483)
		}
	})
	t.Run("P7", func(t *testing.T) {
		s := New(problem(2, sortJob(2).with(4, 60, 4), combineJob(1).with(2, 60, 1)))
		s.PlaceReduces()
		if got := show(s, "SC", reduces); got != "S2 C1 | S2" {
			t.Errorf("reduces: %s, want S2 C1 | S2", got)
		}
		s.PlaceMaps()
		expect(t, s, "SC", "S1 C2 | S2", -0.207519, 0)
		for n, want := range []Demand{percent(app{80, 65.93, 45}), percent(app{60, 90.9, 50})} {
			if s.Use(n) != want {
				t.Errorf("use of node %d: %v, want %v", n+1, s.Use(n), want)
			}
		}
	})
	t.Run("P8", func(t *testing.T) {
		s := New(problem(2, cpuJob(1, 25).with(2, 3, 0), cpuJob(2, 25).with(2, 40, 0)))
		s.PlaceMaps()
		expect(t, s, "AB", "A2 B2 | A1 B3", 1, 0.078947)
	})
	t.Run("P9", func(t *testing.T) {
		s := New(problem(4, cpuJob(1, 0).with(1, 1, 3), cpuJob(2, 0).with(1, 1, 2), cpuJob(3, 0).with(1, 1, 5)))
		s.PlaceReduces()
		if got, want := show(s, "ABC", reduces), "A1 B1 C1 | A1 C2 | A1 C1 | B1 C1"; got != want {
			t.Errorf("reduces: %s, want %s", got, want)
		}
	})
}

// Random placements keep the constraints, and a run of the algorithm lowers no lowest utility.
func TestRandomPlacementsKeepConstraints(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 4))
		var jobs []Job
		for id := range 1 + r.IntN(6) {
			d := func() app { return app{float64(r.IntN(60)), float64(r.IntN(60)), float64(5 + r.IntN(50))} }
			j := jobOf(id, d(), d(), float64(r.IntN(3)))
			j.Reducing = r.IntN(5) == 0
			reduces := r.IntN(4)
			if j.Alone = r.IntN(4) == 0; j.Alone {
				j.Reducing, j.Reduce, reduces = true, j.Map, 0
			}
			jobs = append(jobs, j.with(float64(r.IntN(12)), 1+r.IntN(20), reduces))
		}
		p := problem(1+r.IntN(5), jobs...)
		p.Literal = r.IntN(2) == 0
		s := New(p)
		s.PlaceReduces()
		low := slices.Min(s.u)
		for range 3 {
			s.PlaceMaps()
			s.check(t)
			if l := slices.Min(s.u); l < low {
				t.Fatalf("seed %d: the lowest utility fell from %v to %v", seed, low, l)
			} else {
				low = l
			}
		}
		for n := range p.Nodes {
			if s.use[n].over(&p.Nodes[n]) {
				t.Errorf("seed %d: node %d uses %v of %v", seed, n, s.use[n], p.Nodes[n])
			}
		}
		for i := range jobs {
			if m, red := s.Placed(i); m > jobs[i].Pending || red > jobs[i].Reduces {
				t.Errorf("seed %d: job %d is given %d maps and %d reduces", seed, i, m, red)
			}
		}
	}
}

func (d Demand) over(o *Demand) bool {
	for k := range d {
		if d[k] > o[k] {
			return true
		}
	}
	return false
}

// A task that uses more CPU than any node offers runs alone; one that needs more memory never runs.
func TestSoftKindsAdmitOneTask(t *testing.T) {
	p := problem(1, jobOf(1, app{130, 0, 20}, app{}, 0).with(2, 5, 0))
	p.Soft = [Kinds]bool{true, true}
	s := New(p)
	s.PlaceMaps()
	expect(t, s, "A", "A1")
	p = problem(1, jobOf(1, app{30, 0, 120}, app{}, 0).with(2, 5, 0))
	p.Soft = [Kinds]bool{true, true}
	s = New(p)
	s.PlaceMaps()
	expect(t, s, "A", "")
}

// Reduces of a job without maps are spread by step 1 as those of P9 are, and not over nodes that the job must not use.
// Where maps of another job hold all nodes, step 2 makes room for them, because nothing of their job is placed.
func TestReducesWithoutMaps(t *testing.T) {
	alone := func(id int, cpu float64, reduces int) Job {
		j := cpuJob(id, cpu).with(1, reduces, 0)
		j.Alone, j.Reducing, j.Reduce = true, true, j.Map
		return j
	}
	for _, v := range []struct {
		shunned map[int]bool // by A
		want    string
	}{
		{nil, "A1 B1 C1 | A1 C2 | A1 C1 | B1 C1"},
		{map[int]bool{0: true}, "B1 C2 | A1 B1 C1 | A1 C1 | A1 C1"},
	} {
		p := problem(4, alone(1, 0, 3), alone(2, 0, 2), cpuJob(3, 0).with(1, 1, 5))
		p.Jobs[0].Shunned = v.shunned
		s := New(p)
		s.PlaceReduces()
		if got := show(s, "ABC", func(c Cell) int32 { return c.Maps + c.Reduces }); got != v.want {
			t.Errorf("A not on %v: %s, want %s", v.shunned, got, v.want)
		}
		s.check(t)
	}
	s := New(problem(2, cpuJob(1, 25).with(2, 40, 0), alone(2, 25, 3)))
	for n := range s.Nodes {
		s.Put(0, n, 4, 0)
	}
	s.PlaceReduces()
	if maps, _ := s.Placed(1); maps != 0 {
		t.Errorf("%d reduces are placed on nodes without room", maps)
	}
	s.PlaceMaps()
	expect(t, s, "AB", "A2 B2 | A4", 4.0/38, 0.5)
}

// Reduces that wait leave room for a map of their job.
func TestReducesLeaveRoomForMaps(t *testing.T) {
	j := jobOf(1, app{0, 0, 40}, app{}, 0)
	j.Shuffle, j.Guard = percent(app{0, 0, 30}), percent(app{0, 0, 40})
	s := New(problem(1, j.with(1, 3, 3)))
	s.PlaceReduces()
	if _, got := s.Placed(0); got != 2 {
		t.Errorf("%d reduces of 30 beside a map of 40 on a node of 100, want 2", got)
	}
	s.PlaceMaps()
	expect(t, s, "A", "A1")
}

// BenchmarkPlacement is a cycle of 10,000 nodes: the first one, which places everything, and later ones, in which one
// job in ten has changed its requirement.
func BenchmarkPlacement(b *testing.B) {
	for _, jobs := range []int{10, 100, 1000} {
		p := problem(10000)
		need := make([]float64, jobs)
		for i := range jobs {
			j := []func(int) Job{sortJob, combineJob, selectJob}[i%3](i).with(1, 200000/jobs, 20)
			need[i] = float64(10000 / jobs * (1 + i%5))
			j.Utility = func(maps, placed int) float64 { return Need{need[i], 200000 / jobs, 20}.Utility(maps, placed) }
			p.Jobs = append(p.Jobs, j)
		}
		b.Run(fmt.Sprintf("first/jobs=%d", jobs), func(b *testing.B) {
			for b.Loop() {
				s := New(p)
				s.PlaceReduces()
				s.PlaceMaps()
			}
		})
		b.Run(fmt.Sprintf("later/jobs=%d", jobs), func(b *testing.B) {
			s := New(p)
			s.PlaceReduces()
			s.PlaceMaps()
			for k := 0; b.Loop(); k++ {
				for i := k % 10; i < jobs; i += 10 {
					need[i] = float64(10000 / jobs * (1 + (i+k)%5))
				}
				next := New(p)
				for n := range p.Nodes {
					for _, c := range s.On(n) {
						next.Put(int(c.Job), n, int(c.Maps), int(c.Reduces))
					}
				}
				next.PlaceReduces()
				next.PlaceMaps()
				s = next
			}
		})
	}
}

// 4.4: what a node with two maps and a reduce of Sort has room for, while the reduce waits and afterwards.
func TestVectors4_4TaskScheduler(t *testing.T) {
	p := problem(1, sortJob(1).with(1, 60, 1), combineJob(2).with(1, 60, 0), selectJob(3).with(1, 60, 0))
	s := New(p)
	s.Put(0, 0, 2, 1)
	if want := percent(app{60, 90.3, 50}); s.Use(0) != want {
		t.Errorf("use %v, want %v", s.Use(0), want)
	}
	p.Jobs[0].Reducing = true
	s = New(p)
	s.Put(0, 0, 2, 1)
	if want := percent(app{80, 140, 110}); s.Use(0) != want {
		t.Errorf("use %v, want %v", s.Use(0), want)
	}
	for job := range p.Jobs {
		if s.AdmitsMap(job, 0) {
			t.Errorf("a map of job %d is admitted to an over-committed node", job)
		}
	}
	s = New(p)
	s.Put(0, 0, 0, 1)
	if want := percent(app{20, 50, 60}); s.Use(0) != want {
		t.Errorf("use after both maps %v, want %v", s.Use(0), want)
	}
	uses := []Demand{percent(app{50, 95, 85}), percent(app{95, 80, 90})}
	fits := func(job int) (n int) {
		for ; s.AdmitsMap(job, 0); n++ {
			s.Put(job, 0, 1, 0)
		}
		if s.Use(0) != uses[job] {
			t.Errorf("use with %d maps of job %d: %v, want %v", n, job, s.Use(0), uses[job])
		}
		for range n {
			s.Put(job, 0, -1, 0)
		}
		return n
	}
	if sorts, combines := fits(0), fits(1); sorts != 1 || combines != 3 {
		t.Errorf("beside a reduce of Sort %d maps of Sort or %d of Combine, want 1 and 3", sorts, combines)
	}
}
