package predict

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Two classes with overlap factors, by hand: closed mode of spec 14.4.
func TestSpec14_4ModifiedMVAWithOverlaps(t *testing.T) {
	const alpha12, alpha21 = 0.5, 1
	beta := [2][2]float64{{0.6, 0.4}, {0.6, 0.4}}
	for _, row := range []struct {
		jobs    int
		printed bool // without the class itself among those that it meets, as the thesis prints it (erratum E2)
		sweep   [2]Cost
		fixed   [2]float64
	}{
		{1, false, [2]Cost{{4.285714285714286, 2.857142857142857}, {1.736842105263158, 3.789473684210526}},
			[2]float64{7.264133472614, 5.679269061433}},
		{2, false, [2]Cost{{6.07, 3.965}, {2.2851282051282054, 5.144615384615385}},
			[2]float64{10.185800074164, 7.677688040154}},
		{3, false, [2]Cost{{7.8368, 5.0816}, {2.835932203389831, 6.492203389830509}},
			[2]float64{13.128812345933, 9.683958304694}},
		{2, true, [2]Cost{{4.63, 3.485}, {2.165128205128205, 4.304615384615385}}, [2]float64{}},
	} {
		c := customers{
			demand:    make([]Cost, 2),
			queueing:  []Cost{{4, 2}, {1, 3}},
			residence: []Cost{{4, 2}, {1, 3}},
			delay:     make([]float64, 2),
			response:  []float64{6, 4},
			presence:  make([]Cost, 2),
		}
		sweep := func() (next []Cost) {
			c.locate()
			n := float64(row.jobs)
			for i := range 2 {
				var found Cost
				for j := range 2 {
					within, back := alpha12*1.0, alpha21*1.0
					if i == 1 {
						within, back = back, within
					}
					m := meeting{weight: within + (n-1)*beta[i][j], less: (back + (n-1)*beta[j][i]) / n}
					if i == j {
						m = meeting{weight: (n - 1) * beta[i][i], less: beta[i][i]}
					}
					if m.weight > 0 && !(row.printed && i == j) {
						c.meet(&found, i, j, m)
					}
				}
				next = append(next, c.settle(i, found))
			}
			return next
		}
		first := sweep()
		for i := range first {
			nearAll(t, fmt.Sprintf("class %d of %d jobs after a sweep", i+1, row.jobs), first[i][:],
				row.sweep[i][:], 1e-12)
		}
		if row.printed {
			continue
		}
		for range 200 {
			for i, r := range sweep() {
				c.residence[i], c.response[i] = r, r.Total()
			}
		}
		nearAll(t, "fixed point", c.response, row.fixed[:], 1e-11)
	}
}

func flat(children ...*node) *node  { return &node{kind: parallel, children: children} }
func chain(children ...*node) *node { return &node{kind: series, children: children} }
func task(i int) *node              { return &node{kind: leaf, task: i} }

func TestSpec14_5ParallelNodes(t *testing.T) {
	for _, row := range []struct {
		k                      int
		nary, binary           float64
		tripathi               Moments
		naryThird, binaryThird float64
	}{
		{2, 1.5, 1.5, Moments{1.5, 1.25}, 1.15, 1.15},
		{3, 1.8333333333, 2.25, Moments{1.8265306122, 1.2516139109}, 1.25, 1.3225},
		{4, 2.0833333333, 2.25, Moments{2.0625, 1.23046875}, 1.325, 1.3225},
		{5, 2.2833333333, 3.375, Moments{2.2482527199, 1.1796191922}, 1.385, 1.520875},
		{8, 2.7178571429, 3.375, Moments{2.70703125, 1.4456634521}, 1.5153571429, 1.520875},
		{16, 3.3807289932, 5.0625, Moments{3.3732147217, 1.3824791150}, 1.7142186980, 1.74900625},
	} {
		p := flat()
		response := make([]float64, row.k)
		for i := range response {
			response[i] = 1
			p.children = append(p.children, task(i))
		}
		for _, form := range []struct {
			n       *node
			c, want float64
		}{{p, 1, row.nary}, {p.binary(), 1, row.binary}, {p, 0.3, row.naryThird}, {p.binary(), 0.3, row.binaryThird}} {
			got, _ := form.n.forkJoin(response, form.c)
			near(t, fmt.Sprint("fork/join of ", row.k), got, form.want, 1e-10)
		}
		m := p.binary().moments(response, 1, nil)
		near(t, "Tripathi's mean", m.Mean, row.tripathi.Mean, 1e-10)
		near(t, "Tripathi's variance", m.Variance, row.tripathi.Variance, 1e-10)
	}
	response := []float64{2, 3, 6, 4}
	p := flat(task(0), task(1), task(2))
	nary, _ := p.forkJoin(response, 1)
	binary, _ := p.binary().forkJoin(response, 1)
	m := p.binary().moments(response, 1, nil)
	nearAll(t, "P(2,3,6)", []float64{nary, binary, m.Mean, m.Variance}, []float64{11, 9, 7.2609838167, 30.4472441231},
		1e-10)
	s := chain(flat(task(0), task(1)), task(3))
	nary, _ = s.forkJoin(response, 1)
	m = s.moments(response, 1, nil)
	nearAll(t, "S(P(2,3),4)", []float64{nary, m.Mean, m.Variance}, []float64{8.5, 7.8, 24.68}, 1e-12)
}

func TestSpec14_7TreeOverlap(t *testing.T) {
	const a, b, c, d = 0, 1, 2, 3
	pairs := func(root *node, response ...float64) map[[2]int]float64 {
		found := map[[2]int]float64{}
		for i, list := range treeOverlaps(root.binary(), response, 1) {
			for _, o := range list {
				found[[2]int{i, o.with}] = o.part
			}
		}
		return found
	}
	check := func(got, want map[[2]int]float64) {
		t.Helper()
		if len(got) != len(want) {
			t.Errorf("%d pairs overlap, want %d: %v", len(got), len(want), got)
		}
		for pair, part := range want {
			near(t, fmt.Sprint("overlap of ", pair), got[pair], part, 1e-10)
		}
	}
	check(pairs(chain(flat(task(a), task(b)), task(c)), 2, 3, 4), map[[2]int]float64{{a, b}: 0.6, {b, a}: 0.4})
	two := flat(chain(task(a), task(b)), chain(task(c), task(d)))
	check(pairs(two, 2, 3, 4, 1), map[[2]int]float64{
		{a, c}: 0.6666666667, {c, a}: 0.3333333333, {a, d}: 0.0476190476, {d, a}: 0.0952380952,
		{b, c}: 0.3839579224, {c, b}: 0.2879684418, {b, d}: 0.0657775273, {d, b}: 0.1973325819,
	})
	root := two.moments([]float64{2, 3, 4, 1}, 1, nil)
	nearAll(t, "root", []float64{root.Mean, root.Variance}, []float64{7.2222222222, 22.3765432099}, 1e-10)
	four := pairs(flat(task(a), task(b), task(c), task(d)), 10, 10, 10, 10)
	near(t, "overlap of 1 and 2", four[[2]int{a, b}], 0.5, 1e-12)
	near(t, "overlap of 1 and 3", four[[2]int{a, c}], 0.4166666667, 1e-10)
	near(t, "overlap of 1 and 4", four[[2]int{a, d}], 0.4166666667, 1e-10)
}

// equal returns a cluster of equal nodes of a number of containers, and jobs with tasks of given times on it.
func equal(nodes, containers int) *Cluster {
	c := &Cluster{}
	for range nodes {
		c.Nodes = append(c.Nodes, Node{Capacity: []float64{float64(containers)}, CPUs: 1, Disks: 1})
	}
	return c
}

func timed(submit float64, maps, reduces int, times [kinds]float64) (Job, []float64) {
	j := Job{Submit: submit, Maps: maps, Reduces: reduces, MapSize: []float64{1}, ReduceSize: []float64{1}}
	response := make([]float64, j.tasks())
	for i := range response {
		response[i] = times[j.kind(i)]
	}
	return j, response
}

// placed is where and when subtasks of a kind run: node (from 1), start and end.
func placed(j *Job, line []Interval, kind Kind, reduce int) (list [][3]float64) {
	for i, iv := range line {
		of := 0
		if j.Maps > 0 && j.kind(i) == ShuffleTask {
			of = (i - j.Maps) / j.Maps
		} else if j.kind(i) == MergeTask {
			of = i - j.merge(0)
		}
		if j.kind(i) == kind && of == reduce {
			list = append(list, [3]float64{float64(iv.Node + 1), iv.Start, iv.End})
		}
	}
	return list
}

func expect(t *testing.T, what string, got, want [][3]float64) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b [3]float64) bool {
		return a[0] == b[0] && math.Abs(a[1]-b[1]) < 1e-9 && math.Abs(a[2]-b[2]) < 1e-9
	}) {
		t.Errorf("%s: node, start, end\n got %v\nwant %v", what, got, want)
	}
}

// shape returns a job's tree as text and the estimates of its length.
func shape(j *Job, line []Interval, response []float64) (text string, estimate func(c float64, binary bool) float64,
	m Moments) {
	root := tree(line)
	p := JobPrediction{}
	p.Tree = root.text(j)
	return p.Tree, func(c float64, binary bool) float64 {
		n := root
		if binary {
			n = root.binary()
		}
		total, _ := n.forkJoin(response, c)
		return total
	}, root.binary().moments(response, 1, nil)
}

var ramps = map[string]ramp{
	"hadoop":     {slowStart: 0.05, limit: 0.5, copiers: 1},
	"interleave": {slowStart: 0.05, limit: 0.5, copiers: 1, interleave: true},
}

var times = [kinds]float64{10, 2, 5}

func TestSpec14_8AppendixB(t *testing.T) {
	c := equal(4, 1)
	j, response := timed(0, 4, 1, times)
	j.Prefer = [][]int{{0, 2}, {0, 2}, {1, 3}, {1, 3}}
	for _, row := range []struct {
		copiers                             int
		shuffles                            [][3]float64
		merge                               [3]float64
		text, halved                        string // n-ary and binary
		nary, binary, zero, tripathi, varia float64
	}{
		{
			4, [][3]float64{{1, 10, 12}, {1, 10, 12}, {1, 10, 12}, {1, 10, 12}}, [3]float64{1, 12, 17},
			"S(P(m1, m2, m3, m4), P(ss1, ss2, ss3, ss4), mg)",
			"S(P(P(m1, m2), P(m3, m4)), P(P(ss1, ss2), P(ss3, ss4)), mg)", 30, 32, 17, 29.75, 152.96875,
		},
		{
			1, [][3]float64{{1, 10, 12}, {1, 12, 14}, {1, 14, 16}, {1, 16, 18}}, [3]float64{1, 18, 23},
			"S(P(m1, m2, m3, m4), ss1, ss2, ss3, ss4, mg)",
			"S(P(P(m1, m2), P(m3, m4)), ss1, ss2, ss3, ss4, mg)", 33.8333333333, 35.5, 23, 33.625, 164.046875,
		},
	} {
		for name, r := range ramps {
			r.copiers = row.copiers
			line := timeline(c, []Job{j}, [][]float64{response}, r)[0]
			expect(t, name+" maps", placed(&j, line, MapTask, 0), [][3]float64{{1, 0, 10}, {3, 0, 10},
				{2, 0, 10}, {4, 0, 10}})
			expect(t, name+" shuffles", placed(&j, line, ShuffleTask, 0), row.shuffles)
			expect(t, name+" merge", placed(&j, line, MergeTask, 0), [][3]float64{row.merge})
			text, estimate, m := shape(&j, line, response)
			if text != row.text {
				t.Errorf("tree is %s, want %s", text, row.text)
			}
			if got := tree(line).binary().text(&j); got != row.halved {
				t.Errorf("binary tree is %s, want %s", got, row.halved)
			}
			got := []float64{
				estimate(1, false),
				estimate(1, true),
				estimate(0, false),
				estimate(0, true),
				m.Mean,
				m.Variance,
			}
			nearAll(t, name, got, []float64{row.nary, row.binary, row.zero, row.zero, row.tripathi, row.varia}, 1e-10)
		}
	}
}

func TestSpec14_9Timelines(t *testing.T) {
	for name, r := range ramps {
		t.Run(name, func(t *testing.T) {
			j, response := timed(0, 4, 1, times)
			one := func(c *Cluster, r ramp) []Interval { return timeline(c, []Job{j}, [][]float64{response}, r)[0] }

			line := one(equal(2, 2), r)
			expect(t, "a: maps", placed(&j, line, MapTask, 0), [][3]float64{{1, 0, 10}, {2, 0, 10},
				{1, 0, 10}, {2, 0, 10}})
			expect(t, "a: shuffles", placed(&j, line, ShuffleTask, 0),
				[][3]float64{{1, 10, 12}, {1, 12, 14}, {1, 14, 16}, {1, 16, 18}})
			expect(t, "a: merge", placed(&j, line, MergeTask, 0), [][3]float64{{1, 18, 23}})
			text, estimate, m := shape(&j, line, response)
			if want := "S(P(m1, m2, m3, m4), ss1, ss2, ss3, ss4, mg)"; text != want {
				t.Errorf("a: tree is %s, want %s", text, want)
			}
			nearAll(t, "a", []float64{estimate(1, false), estimate(1, true), estimate(0, true), m.Mean, m.Variance},
				[]float64{33.8333333333, 35.5, 23, 33.625, 164.046875}, 1e-10)

			line = one(equal(2, 1), r)
			expect(t, "b: maps", placed(&j, line, MapTask, 0), [][3]float64{{1, 0, 10}, {2, 0, 10},
				{2, 10, 20}, {2, 20, 30}})
			expect(t, "b: shuffles", placed(&j, line, ShuffleTask, 0),
				[][3]float64{{1, 10, 12}, {1, 12, 14}, {1, 20, 22}, {1, 30, 32}})
			expect(t, "b: merge", placed(&j, line, MergeTask, 0), [][3]float64{{1, 32, 37}})
			text, estimate, m = shape(&j, line, response)
			if want := "S(P(m1, m2), P(S(ss1, ss2), m3), P(ss3, m4), ss4, mg)"; text != want {
				t.Errorf("b: tree is %s, want %s", text, want)
			}
			nearAll(
				t,
				"b",
				[]float64{
					estimate(0, false),
					estimate(1, false),
					estimate(1, true),
					estimate(0.3, false),
					estimate(0.3, true),
					m.Mean,
					m.Variance,
				},
				[]float64{37, 52, 52, 41.5, 41.5, 43.2777777778, 339.0709876543},
				1e-10,
			)

			line = one(equal(3, 1), r)
			expect(t, "c: maps", placed(&j, line, MapTask, 0), [][3]float64{{1, 0, 10}, {2, 0, 10},
				{3, 0, 10}, {2, 10, 20}})
			expect(t, "c: shuffles", placed(&j, line, ShuffleTask, 0),
				[][3]float64{{1, 10, 12}, {1, 12, 14}, {1, 14, 16}, {1, 20, 22}})
			expect(t, "c: merge", placed(&j, line, MergeTask, 0), [][3]float64{{1, 22, 27}})
			text, estimate, m = shape(&j, line, response)
			if want := "S(P(m1, m2, m3), P(S(ss1, ss2, ss3), m4), ss4, mg)"; text != want {
				t.Errorf("c: tree is %s, want %s", text, want)
			}
			nearAll(t, "c", []float64{estimate(0, false), estimate(1, false), estimate(1, true), m.Mean},
				[]float64{27, 40.3333333333, 44.5, 37.0523432}, 1e-8)

			both := timeline(equal(2, 2), []Job{j, j}, [][]float64{response, response}, r)
			expect(t, "d: first merge", placed(&j, both[0], MergeTask, 0), [][3]float64{{1, 18, 23}})
			expect(t, "d: second maps", placed(&j, both[1], MapTask, 0),
				[][3]float64{{2, 10, 20}, {1, 10, 20}, {2, 10, 20}, {1, 20, 30}})
			expect(t, "d: second shuffles", placed(&j, both[1], ShuffleTask, 0),
				[][3]float64{{2, 20, 22}, {2, 22, 24}, {2, 24, 26}, {2, 30, 32}})
			expect(t, "d: second merge", placed(&j, both[1], MergeTask, 0), [][3]float64{{2, 32, 37}})
			_, estimate, _ = shape(&j, both[0], response)
			near(t, "d: response of the first", estimate(0, false), 23, 1e-12)
			_, estimate, _ = shape(&j, both[1], response)
			near(t, "d: response of the second after a wait of 10 s", 10+estimate(0, false), 37, 1e-12)

			wide, response8 := timed(0, 8, 2, times)
			two := r
			two.copiers = 2
			line = timeline(equal(2, 2), []Job{wide}, [][]float64{response8}, two)[0]
			expect(
				t,
				"e: maps",
				placed(&wide, line, MapTask, 0),
				[][3]float64{{1, 0, 10}, {2, 0, 10}, {1, 0, 10}, {2, 0, 10},
					{2, 10, 20}, {2, 10, 20}, {2, 20, 30}, {2, 20, 30}},
			)
			for reduce := range 2 {
				expect(
					t,
					"e: shuffles",
					placed(&wide, line, ShuffleTask, reduce),
					[][3]float64{{1, 10, 12}, {1, 10, 12},
						{1, 12, 14}, {1, 12, 14}, {1, 20, 22}, {1, 20, 22}, {1, 30, 32}, {1, 30, 32}},
				)
				expect(t, "e: merge", placed(&wide, line, MergeTask, reduce), [][3]float64{{1, 32, 37}})
			}
			_, estimate, _ = shape(&wide, line, response8)
			nearAll(t, "e", []float64{estimate(0, false), estimate(1, false), estimate(1, true)},
				[]float64{37, 77.8333333333, 90.75}, 1e-10)
			two.slowStart = 1
			line = timeline(equal(2, 2), []Job{wide}, [][]float64{response8}, two)[0]
			if maps := placed(&wide, line, MapTask, 0); maps[7][2] != 20 {
				t.Errorf("e: the last map ends at %v, want 20", maps[7][2])
			}
			for reduce := range 2 {
				on := float64(reduce + 1)
				expect(t, "e: shuffles after all maps", placed(&wide, line, ShuffleTask, reduce), [][3]float64{
					{on, 20, 22}, {on, 20, 22}, {on, 22, 24}, {on, 22, 24},
					{on, 24, 26}, {on, 24, 26}, {on, 26, 28}, {on, 26, 28},
				})
				expect(t, "e: merge after all maps", placed(&wide, line, MergeTask, reduce),
					[][3]float64{{on, 28, 33}})
			}
			_, estimate, _ = shape(&wide, line, response8)
			nearAll(t, "e after all maps", []float64{estimate(1, false), estimate(1, true)},
				[]float64{65.8333333333, 70.5}, 1e-10)

			first, response1 := timed(0, 3, 1, times)
			second, response2 := timed(4, 2, 1, [kinds]float64{6, 1, 3})
			both = timeline(equal(3, 1), []Job{first, second}, [][]float64{response1, response2}, r)
			expect(t, "f: first merge", placed(&first, both[0], MergeTask, 0), [][3]float64{{1, 16, 21}})
			expect(t, "f: second maps", placed(&second, both[1], MapTask, 0), [][3]float64{{2, 10, 16}, {3, 10, 16}})
			expect(t, "f: second shuffles", placed(&second, both[1], ShuffleTask, 0),
				[][3]float64{{2, 16, 17}, {2, 17, 18}})
			expect(t, "f: second merge", placed(&second, both[1], MergeTask, 0), [][3]float64{{2, 18, 21}})
			expect(t, "f: first maps", placed(&first, both[0], MapTask, 0),
				[][3]float64{{1, 0, 10}, {2, 0, 10}, {3, 0, 10}})
			_, estimate, _ = shape(&first, both[0], response1)
			near(t, "f: response of the first", estimate(0, false), 21, 1e-12)
			_, estimate, _ = shape(&second, both[1], response2)
			near(t, "f: response of the second after a wait of 6 s", 6+estimate(0, false), 17, 1e-12)
		})
	}
}

func TestSpec14_9AllowedReduces(t *testing.T) {
	for _, row := range [][6]int{ // maps completed, running, waiting; allowed for containers of 1 and of 2
		{20, 0, 10, 10, 0, 0}, {20, 1, 9, 10, 0, 0}, {20, 4, 6, 10, 2, 1}, {20, 8, 2, 10, 4, 2}, {20, 16, 2, 2, 6, 3},
		{20, 14, 6, 0, 5, 5},
	} {
		for size := 1; size <= 2; size++ {
			j := &Job{Maps: row[0], Reduces: 5, MapSize: []float64{1}, ReduceSize: []float64{float64(size)}}
			s := scheduler{total: []float64{10}, ramp: ramps["hadoop"]}
			state := &jobState{Job: j, completed: make([]int, row[1]), running: row[2], waiting: mapQueue{left: row[3]}}
			if got := s.allowed(state); got != row[3+size] {
				t.Errorf("%v, size %d: %d reduces may be placed, want %d", row, size, got, row[3+size])
			}
			// Where maps and reduces take turns, one of 20 maps is enough for all reduces: at least 5 % have ended,
			// which need not be more than 5 % (erratum E5).
			s.ramp = ramps["interleave"]
			if got, want := s.allowed(state), 5*min(1, row[1]); got != want {
				t.Errorf("%v, size %d, in turns: %d reduces may be placed, want %d", row, size, got, want)
			}
		}
	}
}

// system is the small cluster and job of the fixed points of spec 14.10 and 14.11, with some equal jobs.
func system(jobs int) (Cluster, []Job) {
	c := Cluster{}
	for range 2 {
		c.Nodes = append(c.Nodes, Node{Capacity: []float64{2}, CPUs: 2, Disks: 1})
	}
	j := Job{Maps: 4, Reduces: 1, MapSize: []float64{1}, ReduceSize: []float64{1},
		Demands: [kinds]Cost{{6, 4, 0}, {0, 0.5, 1.5}, {3, 2, 0}}}
	return c, slices.Repeat([]Job{j}, jobs)
}

func predictSystem(t *testing.T, jobs int, s Settings) *Prediction {
	t.Helper()
	c, list := system(jobs)
	p, err := Predict(c, list, s)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Converged {
		t.Errorf("%d jobs: no convergence after %d iterations", jobs, p.Iterations)
	}
	return p
}

func TestSpec14_10FixedPoint(t *testing.T) {
	s := Fifo()
	s.Copiers = 1
	p := predictSystem(t, 1, s)
	near(t, "c=0", p.Mean, 25.462672433, 1e-10)
	nearAll(t, "tasks", p.Jobs[0].Tasks[:], []float64{12.4626724466, 2, 5}, 1e-8)
	if p.Iterations != 12 {
		t.Errorf("%d iterations, want 12", p.Iterations)
	}
	for _, row := range []struct {
		cv     float64
		binary bool
		want   float64
	}{
		{0.1, false, 26.812795280}, {0.1, true, 26.740096357}, {0.3, false, 29.513040974}, {0.3, true, 29.481884293},
		{1, false, 38.963900902}, {1, true, 41.041012974},
	} {
		s.CV, s.Binary = row.cv, row.binary
		near(t, fmt.Sprint("c=", row.cv), predictSystem(t, 1, s).Mean, row.want, 1e-9)
	}
	s.CV, s.Tripathi = 1, true
	near(t, "Tripathi", predictSystem(t, 1, s).Mean, 38.704261893, 1e-9)

	s = Fifo()
	s.Copiers = 1
	means := map[int]float64{2: 34.552458, 3: 43.607368, 4: 52.102893}
	for _, want := range [][]float64{{27.179570, 41.925345}, {27.193031, 46.829211, 56.799862},
		{27.193031, 46.867093, 58.518878, 75.832571}} {
		p := predictSystem(t, len(want), s)
		near(t, "mean", p.Mean, means[len(want)], 1e-6)
		for i, job := range p.Jobs {
			near(t, fmt.Sprintf("job %d of %d", i+1, len(want)), job.Response, want[i], 1e-6)
		}
		if len(want) == 2 {
			if got, want := p.Jobs[1].Tree, "S(P(m2, S(m1, m4), m3, S(Delay, ss2, ss1, ss3)), ss4, mg)"; got != want {
				t.Errorf("the second job's tree is %s, want %s", got, want)
			}
		}
	}
}

// after predicts with a number of sweeps. The estimate is that before the last sweep, the tasks' times are after it.
func after(t *testing.T, sweeps, jobs int, s Settings) *Prediction {
	t.Helper()
	s.Epsilon, s.MaxIterations, s.Window = 0, sweeps, 1
	c, list := system(jobs)
	p, err := Predict(c, list, s)
	if err != nil {
		t.Fatal(err)
	}
	if p.Iterations != sweeps || p.Converged {
		t.Fatalf("%d sweeps, want %d without convergence", p.Iterations, sweeps)
	}
	return p
}

func TestSpec14_10Iterations(t *testing.T) {
	s := Fifo()
	s.Copiers = 1
	for _, row := range []struct {
		sweeps                 int
		before, change, mapped float64
	}{
		{1, 23, 2.12, 12.12}, {2, 25.12, 0.30053522665, 12.420535226652},
		{3, 25.420535226652, 0.03623073434, 12.456765960994}, {4, 25.456765960994, 0.00489108667, 12.461657047669},
		{12, 25.462672394119, 3.9e-8, 12.46267243},
	} {
		p := after(t, row.sweeps, 1, s)
		near(t, fmt.Sprintf("job before sweep %d", row.sweeps), p.Mean, row.before, 1e-12)
		near(t, fmt.Sprintf("map after sweep %d", row.sweeps), p.Jobs[0].Tasks[MapTask], row.mapped, 1e-9)
		last := 10.0
		if row.sweeps > 1 {
			last = after(t, row.sweeps-1, 1, s).Jobs[0].Tasks[MapTask]
		}
		near(t, fmt.Sprintf("change by sweep %d", row.sweeps), p.Jobs[0].Tasks[MapTask]-last, row.change, 1e-9)
	}
	// R of a map at the limit, by the parts at the processor and at the disk and the delay.
	c, list := system(1)
	m := newModel(&c, list, s)
	m.copies = 1
	m.solve()
	nearAll(t, "a map's parts", append(slices.Clone(m.residence[0][:Net]), m.delay[0]),
		[]float64{3.9157889116, 5.5468835351, 3}, 1e-7)
}

func TestSpec14_11FirstSweep(t *testing.T) {
	s := Thesis()
	s.Copiers = 1
	near(t, "map of one job", after(t, 1, 1, s).Jobs[0].Tasks[MapTask], 10.7874325801, 1e-11)
	tasks := after(t, 1, 2, s).Jobs[0].Tasks
	nearAll(t, "tasks of two jobs", tasks[:], []float64{11.6123761954, 2.3223097935, 5.4202243279}, 1e-10)
}

func TestSpec14_11ThesisFixedPoint(t *testing.T) {
	for _, row := range []struct {
		binary, tripathi, nary float64
		tasks                  [kinds]float64
		iterations, others     int
	}{
		{37.577957281, 35.529794174, 35.757367853, [kinds]float64{10.923536569, 2.0, 5.0}, 10, 10},
		{42.385462267, 40.383185316, 40.605399135, [kinds]float64{12.195779952, 2.345044650, 5.564778775}, 16, 16},
		{48.259754211, 46.351841446, 46.563157229, [kinds]float64{13.800778907, 2.729109243, 6.291564697}, 22, 23},
		{55.116771630, 53.332808342, 53.529937364, [kinds]float64{15.728084362, 3.137030527, 7.180459706}, 28, 29},
	} {
		jobs := (row.iterations - 4) / 6
		s := Thesis()
		s.Copiers = 1
		p := predictSystem(t, jobs, s)
		near(t, "binary", p.Mean, row.binary, 1e-9)
		nearAll(t, "tasks", p.Jobs[0].Tasks[:], row.tasks[:], 1e-9)
		if p.Iterations != row.iterations {
			t.Errorf("%d jobs: %d iterations, want %d", jobs, p.Iterations, row.iterations)
		}
		s.Tripathi = true
		p = predictSystem(t, jobs, s)
		near(t, "Tripathi", p.Mean, row.tripathi, 1e-9)
		if p.Iterations != row.others {
			t.Errorf("%d jobs, Tripathi: %d iterations, want %d", jobs, p.Iterations, row.others)
		}
		s.Tripathi, s.Binary = false, false
		p = predictSystem(t, jobs, s)
		near(t, "nary", p.Mean, row.nary, 1e-9)
		if p.Iterations != row.others {
			t.Errorf("%d jobs, nary: %d iterations, want %d", jobs, p.Iterations, row.others)
		}
	}
}

func TestSpec14_11EpsilonStudy(t *testing.T) {
	for _, row := range []struct {
		epsilon, want float64
		iterations    int
	}{
		{1e-3, 55.11482260356758, 13}, {1e-4, 55.11643084028694, 16}, {1e-5, 55.11673837286624, 20},
		{1e-6, 55.11676864492072, 24},
		{1e-7, 55.11677163048028, 28}, {1e-9, 55.116771954120445, 36}, {1e-12, 55.11677195729966, 48},
	} {
		s := Thesis()
		s.Copiers, s.Epsilon = 1, row.epsilon
		p := predictSystem(t, 4, s)
		near(t, fmt.Sprint("epsilon ", row.epsilon), p.Mean, row.want, 1e-12)
		if p.Iterations != row.iterations {
			t.Errorf("epsilon %v: %d iterations, want %d", row.epsilon, p.Iterations, row.iterations)
		}
	}
}

func randomSystem(r *rand.Rand) (Cluster, []Job) {
	c := Cluster{}
	capacity := float64(2 + r.IntN(3))
	for range 1 + r.IntN(4) {
		c.Nodes = append(c.Nodes, Node{Capacity: []float64{capacity}, CPUs: 1 + r.IntN(3), Disks: 1 + r.IntN(2),
			Rack: 1 + r.IntN(2)})
	}
	var jobs []Job
	for range 1 + r.IntN(3) {
		j := Job{
			Submit:     20 * r.Float64(),
			Maps:       r.IntN(12),
			Reduces:    r.IntN(4),
			MapSize:    []float64{1},
			ReduceSize: []float64{float64(1 + r.IntN(2))},
		}
		for k := range j.Demands {
			for z := range j.Demands[k] {
				j.Demands[k][z] = float64(r.IntN(3)) * r.Float64()
			}
		}
		if r.IntN(2) == 0 {
			for range j.Maps {
				j.Prefer = append(j.Prefer, []int{r.IntN(len(c.Nodes)), r.IntN(len(c.Nodes))})
			}
		}
		jobs = append(jobs, j)
	}
	return c, jobs
}

// Properties 3 to 7 of spec 14.15, on random clusters and jobs.
func TestSpec14_15Properties(t *testing.T) {
	for seed := range uint64(300) {
		c, jobs := randomSystem(rand.New(rand.NewPCG(seed, 1)))
		s := Fifo()
		s.Interleave, s.Copiers = seed%2 == 0, int(seed%4)
		p, err := Predict(c, jobs, s)
		if err != nil {
			t.Fatal(seed, err)
		}
		again, _ := Predict(c, jobs, s)
		if !reflect.DeepEqual(p, again) {
			t.Fatalf("seed %d: two predictions of the same differ", seed)
		}
		for i := range jobs {
			checkLine(t, seed, &jobs[i], p.Timeline[i], s.SlowStart)
			end := jobs[i].Submit + p.Jobs[i].Wait
			for _, iv := range p.Timeline[i] {
				if iv.End > iv.Start { // tasks without length are not in the tree
					end = max(end, iv.End)
				}
			}
			if p.Converged {
				near(t, fmt.Sprintf("seed %d: estimate with c=0 of job %d", seed, i+1), p.Jobs[i].Response,
					end-jobs[i].Submit, 1e-6)
			}
			checkForms(t, seed, p.Timeline[i])
			for k, mean := range p.Jobs[i].Tasks {
				if mean < p.Jobs[i].Service[k]-1e-9 {
					t.Errorf("seed %d: a %v takes %v s, less than its demand of %v s", seed, Kind(k), mean,
						p.Jobs[i].Service[k])
				}
			}
		}
		checkRoom(t, seed, &c, jobs, p.Timeline)
		checkOverlaps(t, seed, p.Timeline)
	}
}

// checkForms holds both forms of a job's tree, and the overlaps that Algorithm 3 finds in it, against its timeline.
func checkForms(t *testing.T, seed uint64, line []Interval) {
	t.Helper()
	root := tree(line)
	if root == nil {
		return
	}
	response := make([]float64, len(line))
	start, end := math.Inf(1), 0.0
	for i, iv := range line {
		if response[i] = iv.End - iv.Start; response[i] > 0 {
			start, end = min(start, iv.Start), max(end, iv.End)
		}
	}
	nary, _ := root.forkJoin(response, 0)
	binary, _ := root.binary().forkJoin(response, 0)
	nearAll(t, fmt.Sprintf("seed %d: both forms", seed), []float64{nary, binary},
		[]float64{end - start, end - start}, 1e-9)
	found := map[[2]int]float64{}
	for i, list := range treeOverlaps(root.binary(), response, 1) {
		for _, o := range list {
			found[[2]int{i, o.with}] = o.part
		}
	}
	for pair, part := range found {
		back := found[[2]int{pair[1], pair[0]}]
		near(t, fmt.Sprintf("seed %d: common time of %v in the tree", seed, pair), part*response[pair[0]],
			back*response[pair[1]], 1e-9)
	}
}

// checkOverlaps holds the overlaps of all tasks of a timeline against each other: parts of a task's time, and the same
// time whichever of the two it is a part of.
func checkOverlaps(t *testing.T, seed uint64, lines [][]Interval) {
	t.Helper()
	c := customers{}
	var list []int
	for _, line := range lines {
		for _, iv := range line {
			if c.interval = append(c.interval, iv); iv.End > iv.Start {
				list = append(list, len(c.interval)-1)
			}
		}
	}
	length := func(i int) float64 { return c.interval[i].End - c.interval[i].Start }
	c.pairs(list, func(i, j int, m meeting) {
		if m.weight < 0 || m.weight > 1+1e-9 {
			t.Errorf("seed %d: task %d overlaps %d for %v of its time", seed, i, j, m.weight)
		}
		near(t, fmt.Sprintf("seed %d: common time of %d and %d", seed, i, j), m.weight*length(i),
			m.less*length(j), 1e-9)
	})
}

func checkLine(t *testing.T, seed uint64, j *Job, line []Interval, slowStart float64) {
	t.Helper()
	var ends []float64
	for i, iv := range line {
		if iv.Node < 0 {
			t.Fatalf("seed %d: subtask %s never runs", seed, j.name(i))
		}
		if iv.Kind == MapTask {
			ends = append(ends, iv.End)
		}
	}
	slices.Sort(ends)
	for i, iv := range line {
		switch iv.Kind {
		case ShuffleTask:
			q, r := (i-j.Maps)%j.Maps, (i-j.Maps)/j.Maps
			if iv.Start < line[q].End-1e-6 {
				t.Errorf("seed %d: %s starts at %v, before its map ends at %v", seed, j.name(i), iv.Start, line[q].End)
			}
			if enough := int(math.Ceil(slowStart * float64(j.Maps))); enough > 0 && iv.Start < ends[enough-1]-1e-6 {
				t.Errorf("seed %d: %s starts at %v, before %d maps have ended", seed, j.name(i), iv.Start, enough)
			}
			if merge := line[j.merge(r)]; merge.Start < iv.End-1e-6 {
				t.Errorf("seed %d: %s starts at %v, before %s ends at %v", seed, j.name(j.merge(r)), merge.Start,
					j.name(i), iv.End)
			}
		}
	}
}

// checkRoom holds the containers of maps and reduces against each node's capacity, at each start of one.
func checkRoom(t *testing.T, seed uint64, c *Cluster, jobs []Job, lines [][]Interval) {
	t.Helper()
	type lease struct {
		node       int
		size       float64
		start, end float64
	}
	var leases []lease
	for i := range jobs {
		j := &jobs[i]
		for q := range j.Maps {
			leases = append(leases, lease{lines[i][q].Node, j.MapSize[0], lines[i][q].Start, lines[i][q].End})
		}
		for r := range j.Reduces {
			l := lease{lines[i][j.merge(r)].Node, j.ReduceSize[0], lines[i][j.merge(r)].Start, lines[i][j.merge(r)].End}
			for q := range j.Maps {
				l.start = min(l.start, lines[i][j.shuffle(r, q)].Start)
			}
			leases = append(leases, l)
		}
	}
	for _, at := range leases {
		used := 0.0
		for _, l := range leases {
			if l.node == at.node && l.start <= at.start && at.start < l.end-1e-6 {
				used += l.size
			}
		}
		if used > c.Nodes[at.node].Capacity[0]+1e-9 {
			t.Fatalf("seed %d: containers of %v on node %d at %v", seed, used, at.node+1, at.start)
		}
	}
}

// Properties 1 and 2 of spec 14.15: the solvers agree on one customer, and exact analysis keeps the laws of queues.
func TestSpec14_15Solvers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		demands := make([]float64, 1+r.IntN(5))
		for k := range demands {
			demands[k] = r.Float64()
		}
		n := Network{Demands: [][]float64{demands}}
		total := sum(demands)
		modified, _ := ModifiedMVA(demands, 1, 0.01, 1e-12)
		nearAll(t, "one customer", []float64{n.Exact([]int{1}).Response[0],
			n.BardSchweitzer([]int{1}, 1e-12).Response[0], modified}, []float64{total, total, total}, 1e-12)
		jobs := 1 + r.IntN(20)
		s := n.Exact([]int{jobs})
		near(t, "ΣQ", sum(s.Queue), float64(jobs), 1e-9)
		near(t, "X·R", s.Throughput[0]*s.Response[0], float64(jobs), 1e-9)
		if most := slices.Max(demands); s.Throughput[0] > 1/most+1e-9 ||
			s.Response[0] < max(total, float64(jobs)*most)-1e-9 {
			t.Errorf("throughput %v and response %v break the bounds of demands %v for %d jobs", s.Throughput[0],
				s.Response[0], demands, jobs)
		}
	}
}

func TestPredictRefuses(t *testing.T) {
	c, jobs := system(1)
	for what, change := range map[string]func(c *Cluster, j *Job){
		"no nodes":        func(c *Cluster, j *Job) { c.Nodes = nil },
		"no cores":        func(c *Cluster, j *Job) { c.Nodes = []Node{{Capacity: []float64{2}, Disks: 1}} },
		"negative demand": func(c *Cluster, j *Job) { j.Demands[MapTask][CPU] = -1 },
		"demand NaN":      func(c *Cluster, j *Job) { j.Demands[MergeTask][Disk] = math.NaN() },
		"negative maps":   func(c *Cluster, j *Job) { j.Maps = -1 },
		"prefers no node": func(c *Cluster, j *Job) { j.Prefer = [][]int{{0}, {1}, {2}, {0}} },
		"few preferences": func(c *Cluster, j *Job) { j.Prefer = [][]int{{0}} },
	} {
		c, j := c, jobs[0]
		change(&c, &j)
		if _, err := Predict(c, []Job{j}, Fifo()); err == nil {
			t.Errorf("%s is not refused", what)
		}
	}
	jobs[0].ReduceSize = []float64{3}
	if _, err := Predict(c, jobs, Fifo()); !errors.Is(err, ErrUnschedulable) {
		t.Errorf("a container larger than each node: %v", err)
	}
}

// The range of a prediction surrounds its mean, and widens with the variation of the tasks.
func TestQuantilesOfPrediction(t *testing.T) {
	c, jobs := system(1)
	width := 0.0
	for _, cv := range []float64{0, 0.2, 0.5, 1} {
		jobs[0].CV = cv
		p, err := Predict(c, jobs, Fifo())
		if err != nil {
			t.Fatal(err)
		}
		j := &p.Jobs[0]
		low, high := j.Quantile(0.05), j.Quantile(0.95)
		if cv == 0 && (low != j.Response || high != j.Response) {
			t.Errorf("without variation the range is %v to %v, want %v", low, high, j.Response)
		}
		if cv > 0 && !(low < j.Response && j.Response < high && high-low > width) {
			t.Errorf("variation %v: range %v to %v around %v, %v wide before", cv, low, high, j.Response, width)
		}
		width = high - low
	}
}

// Two exponential-like tasks side by side: drawn timelines give the mean of the larger one, which for lognormal times
// of mean 1 and σ is 2·Φ(σ/√2). Equal inputs give equal draws, and another seed other ones.
func TestDrawnTimelines(t *testing.T) {
	c := equal(2, 1)
	j := Job{Maps: 2, MapSize: []float64{1}, Demands: [kinds]Cost{{10, 0, 0}}}
	const sigma = 0.5
	j.CV = math.Sqrt(math.Expm1(sigma * sigma))
	s := Usual()
	s.Draws, s.Error = 20_000, 0
	predictOnce := func() *Prediction {
		p, err := Predict(*c, []Job{j}, s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := predictOnce()
	want := 10 * (1 + math.Erf(sigma/2)) // 2·Φ(σ/√2) = 1 + erf(σ/2)
	// The larger of the two has a standard deviation of about 5.6 s: four standard errors of 20,000 draws are 0.16 s.
	if math.Abs(p.Mean-want) > 0.16 {
		t.Errorf("mean of the larger of two tasks is %v, want %v", p.Mean, want)
	}
	// P(max ≤ t) = F(t)², so the median of the larger is at F = 1/√2.
	z := math.Sqrt2 * math.Erfinv(2/math.Sqrt2-1)
	if got, want := p.Jobs[0].Quantile(0.5), 10*math.Exp(sigma*z-sigma*sigma/2); math.Abs(got-want) > 0.03*want {
		t.Errorf("median is %v, want %v", got, want)
	}
	if !reflect.DeepEqual(p, predictOnce()) {
		t.Error("two predictions of the same differ")
	}
	s.Seed = 2
	if other := predictOnce(); other.Mean == p.Mean {
		t.Error("another seed draws the same times")
	}
	j.CV = 0
	if p = predictOnce(); p.Mean != 10 {
		t.Errorf("tasks that do not vary take %v s, want 10", p.Mean)
	}
}

// Jobs without tasks or without time end at once and divide by nothing.
func TestPredictNothing(t *testing.T) {
	c, jobs := system(1)
	for _, s := range []Settings{Fifo(), Thesis()} {
		empty := jobs[0]
		empty.Maps, empty.Reduces = 0, 0
		idle := jobs[0]
		idle.Demands = [kinds]Cost{}
		merges := jobs[0]
		merges.Maps = 0
		for what, j := range map[string]struct {
			job  Job
			want float64
		}{"no tasks": {empty, 0}, "no demand": {idle, 0}, "merges only": {merges, 5}} {
			p, err := Predict(c, []Job{j.job}, s)
			if err != nil {
				t.Fatal(what, err)
			}
			near(t, what, p.Mean, j.want, 1e-12)
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	c := Cluster{}
	for range 8 {
		c.Nodes = append(c.Nodes, Node{Capacity: []float64{8}, CPUs: 4, Disks: 1})
	}
	for _, size := range []struct{ maps, reduces, jobs int }{{80, 1, 4}, {80, 4, 4}, {1000, 9, 1}, {9000, 0, 1}} {
		j := Job{Maps: size.maps, Reduces: size.reduces, MapSize: []float64{1}, ReduceSize: []float64{1},
			Demands: [kinds]Cost{{6, 4, 0}, {0, 0.05, 0.15}, {3, 2, 0}}, CV: 0.3}
		jobs := slices.Repeat([]Job{j}, size.jobs)
		for _, form := range []struct {
			name string
			set  Settings
		}{{"usual", Usual()}, {"fifo", Fifo()}} {
			name := fmt.Sprintf("%s/maps=%d/reduces=%d/jobs=%d", form.name, size.maps, size.reduces, size.jobs)
			b.Run(name, func(b *testing.B) {
				before := used(b)
				for b.Loop() {
					if _, err := Predict(c, jobs, form.set); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric((used(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// used returns the processor time of this process, which other load on the machine does not stretch.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
