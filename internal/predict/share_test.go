package predict

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// sharedEnds returns when the jobs end on a cluster whose tasks share, in which reduces wait for all maps.
func sharedEnds(t *testing.T, c Cluster, jobs ...Job) (ends []float64) {
	t.Helper()
	if err := check(&c, jobs); err != nil {
		t.Fatal(err)
	}
	_, courses := sharedTimeline(&c, jobs, nil, ramp{slowStart: 1, limit: 0.5, copiers: 5})
	for _, j := range courses {
		ends = append(ends, j.end)
	}
	return ends
}

// Timelines that can be worked out by hand.
func TestSharedTimelines(t *testing.T) {
	one := []float64{1}
	node := func(containers float64, cpus int) Node {
		return Node{Capacity: []float64{containers}, CPUs: cpus, Disks: 1}
	}
	maps := func(n int, d Cost) Job {
		return Job{Maps: n, MapSize: one, ReduceSize: one, Demands: [kinds]Cost{d}}
	}
	short := maps(1, Cost{CPU: 2})
	master := maps(1, Cost{CPU: 3})
	master.Master = Master{Size: one, Demand: Cost{CPU: 4}, Threads: 2}
	master.Ask, master.Commit = 0.5, 0.25
	reduced := maps(2, Cost{CPU: 4})
	reduced.Reduces, reduced.Ask = 1, 1
	reduced.Demands[ShuffleTask], reduced.Demands[MergeTask] = Cost{Net: 1}, Cost{CPU: 3}
	late := short
	late.Submit = 1
	for _, row := range []struct {
		what string
		on   Cluster
		jobs []Job
		want []float64
	}{
		{"three tasks of 4 s on two processors", Cluster{Nodes: []Node{node(3, 2)}}, []Job{maps(3, Cost{CPU: 4})},
			[]float64{6}},
		// Both run at half pace; the short one ends at 4, the other has 2 s left of its 4.
		{"a short and a long task", Cluster{Nodes: []Node{node(2, 1)}}, []Job{short, maps(1, Cost{CPU: 4})},
			[]float64{4, 6}},
		// One task more than processors: a pace of 2/3, and of it 1 ÷ (1 + 0.5).
		{"interference", Cluster{Nodes: []Node{node(3, 2)}, Interference: 0.5}, []Job{maps(3, Cost{CPU: 4})},
			[]float64{9}},
		{"a task that waits slows no other one", Cluster{Nodes: []Node{node(2, 1)}},
			[]Job{maps(1, Cost{Wait: 3}), short}, []float64{3, 2}},
		{"nodes of one machine", Cluster{Nodes: []Node{node(1, 1), node(1, 1)}, OneMachine: true},
			[]Job{short, short}, []float64{4, 4}},
		{"two machines", Cluster{Nodes: []Node{node(1, 1), node(1, 1)}}, []Job{short, short}, []float64{2, 2}},
		// The master starts in 2 s on both processors, and asks until 2.5; the task takes 3 s, the commit 0.25.
		{"a master", Cluster{Nodes: []Node{node(2, 2)}}, []Job{master}, []float64{5.75}},
		// Both masters start in 4 s. The first job's map has the third container until 7.5, the second's waits.
		{"masters share", Cluster{Nodes: []Node{node(3, 2)}}, []Job{master, master}, []float64{7.75, 10.75}},
		// Maps from 1 to 5 s; the reduce is asked for until 6; two copies share the network until 8; merge until 11.
		{"a reduce", Cluster{Nodes: []Node{node(2, 2)}}, []Job{reduced}, []float64{11}},
		// From 1 s on both run at half pace: 1 s is left of the first, which ends at 3, and 1 s of the other then.
		{"a later job", Cluster{Nodes: []Node{node(2, 1)}}, []Job{short, late}, []float64{3, 4}},
		{"no task", Cluster{Nodes: []Node{node(2, 1)}}, []Job{maps(0, Cost{})}, []float64{0}},
	} {
		nearAll(t, row.what, sharedEnds(t, row.on, row.jobs...), row.want, 1e-9)
	}
}

// Two equal tasks that are at a disk and at a processor for equal parts of their time meet there: each pace solves
// x = 1 + 1/2, as with probability 1/2 the other one is where a task comes.
func TestSharedDiskAndProcessor(t *testing.T) {
	c := Cluster{Nodes: []Node{{Capacity: []float64{2}, CPUs: 1, Disks: 1}}}
	j := Job{Maps: 2, MapSize: []float64{1}, Demands: [kinds]Cost{{CPU: 2, Disk: 2}}}
	nearAll(t, "end", sharedEnds(t, c, j), []float64{6}, 1e-9)
}

// Timelines of random systems: capacity is kept, each subtask runs once and after what it waits for, equal inputs give
// equal outputs, and no task is faster than alone.
func TestSharedProperties(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		c, jobs := randomSystem(r)
		c.Interference = float64(seed%3) * 0.05
		ramp := ramp{slowStart: 0.05, limit: 0.5, copiers: 5}
		lines, _ := sharedTimeline(&c, jobs, nil, ramp)
		again, _ := sharedTimeline(&c, jobs, nil, ramp)
		if !reflect.DeepEqual(lines, again) {
			t.Fatalf("seed %d: two timelines of the same differ", seed)
		}
		for i := range jobs {
			checkLine(t, seed, &jobs[i], lines[i], ramp.slowStart)
			for _, iv := range lines[i] {
				if alone := jobs[i].Demands[iv.Kind].Total(); iv.End-iv.Start < alone-1e-6 {
					t.Errorf("seed %d: a %v takes %v s, alone %v", seed, iv.Kind, iv.End-iv.Start, alone)
				}
			}
		}
		checkRoom(t, seed, &c, jobs, lines)
	}
}

// visits simulates tasks of one node. Each goes to the processors and the disk by turns, ten times each, for
// exponential times. Processors share their time among all there, the disk serves in order of arrival. It returns the
// mean end of the jobs' last tasks. It shares nothing with the model.
func visits(r *rand.Rand, maps, containers, cpus int, cpu, disk float64) (last float64) {
	type task struct{ left []float64 } // of visits, by turns
	var atCPU, atDisk []*task
	waiting := maps
	now := 0.0
	start := func() {
		t := &task{}
		for range 10 {
			t.left = append(t.left, r.ExpFloat64()*cpu/10, r.ExpFloat64()*disk/10)
		}
		waiting--
		atCPU = append(atCPU, t)
	}
	for range min(maps, containers) {
		start()
	}
	for len(atCPU)+len(atDisk) > 0 {
		pace := min(1, float64(cpus)/float64(max(1, len(atCPU))))
		step := math.Inf(1)
		for _, t := range atCPU {
			step = min(step, t.left[0]/pace)
		}
		if len(atDisk) > 0 {
			step = min(step, atDisk[0].left[0])
		}
		now += step
		var stay []*task
		var moved []*task
		for _, t := range atCPU {
			if t.left[0] -= step * pace; t.left[0] > 1e-12 {
				stay = append(stay, t)
			} else {
				moved = append(moved, t)
			}
		}
		atCPU = stay
		if len(atDisk) > 0 {
			t := atDisk[0]
			if t.left[0] -= step; t.left[0] <= 1e-12 {
				atDisk = atDisk[1:]
				if t.left = t.left[1:]; len(t.left) > 0 {
					atCPU = append(atCPU, t)
				} else {
					last = now
					if waiting > 0 {
						start()
					}
				}
			}
		}
		for _, t := range moved {
			t.left = t.left[1:]
			atDisk = append(atDisk, t)
		}
	}
	return last
}

// The shared timeline is near an independent simulation of tasks that visit processors and a disk by turns.
func TestSharedAgainstVisits(t *testing.T) {
	worst, all, n := 0.0, 0.0, 0.0
	for _, row := range []struct {
		maps, containers, cpus int
		cpu, disk              float64
	}{
		{4, 4, 2, 6, 0.5}, {12, 4, 2, 6, 1}, {20, 8, 4, 6, 1}, {12, 2, 2, 4, 4}, {12, 4, 4, 4, 2}, {20, 4, 2, 2, 4},
		{8, 8, 2, 5, 2}, {30, 3, 1, 3, 1},
	} {
		r := rand.New(rand.NewPCG(3, 9))
		simulated := 0.0
		const runs = 200
		for range runs {
			simulated += visits(r, row.maps, row.containers, row.cpus, row.cpu, row.disk) / runs
		}
		j := Job{Maps: row.maps, MapSize: []float64{1}, Demands: [kinds]Cost{{CPU: row.cpu, Disk: row.disk}}, CV: 0.3}
		c := Cluster{Nodes: []Node{{Capacity: []float64{float64(row.containers)}, CPUs: row.cpus, Disks: 1}}}
		p, err := Predict(c, []Job{j}, Usual())
		if err != nil {
			t.Fatal(err)
		}
		off := p.Mean/simulated - 1
		t.Logf("%+v: simulated %.2f, predicted %.2f (%+.1f %%)", row, simulated, p.Mean, 100*off)
		worst, all, n = max(worst, math.Abs(off)), all+math.Abs(off), n+1
	}
	t.Logf("mean %.3f worst %.3f", all/n, worst)
	if all/n > 0.08 || worst > 0.2 {
		t.Errorf("%.3f off on average, %.3f at worst", all/n, worst)
	}
}
