package predict

import (
	"cmp"
	"math"
	"slices"
)

// sharing is the state of a timeline on which running tasks share processors, disks and the network. The pace of a task
// is its speed as a part of its speed alone; at each instant it follows from the tasks that run beside it. Operating
// systems share processors by time slices, so each of k tasks on s processors gets s/k of one. A disk and the network
// serve one request after the other, so a task waits there for the requests of others. The model spreads a task's use
// of each resource evenly over the task's time.
type sharing struct {
	machines []machine
	onNode   []int             // machine of each node
	class    [][pieceKinds]int // of the pieces of each job: an index into each machine's classes
	stretch  [][]float64
	serial   int
	net      float64 // load of the network, by all machines
	links    float64 // how many servers the network is
}

// A machine is what tasks share: a node, or several that are parts of one.
type machine struct {
	servers      [Net]float64
	interference float64
	classes      []class
	active       []*class // that have pieces, in order of their first ones
	at           float64  // instant up to which progress is computed
	next         float64  // when the first piece ends
	changed      bool     // a piece has begun or ended since paces were computed
	load         [Wait]float64
	heard        float64 // load of the network when paces were computed
}

// A class has the pieces of equal demands on a machine, which all go at one pace. A piece ends when the class has
// progressed by the piece's time alone since the piece began. So an instant costs a step for each class, not for each
// piece.
type class struct {
	parts    Cost    // of the time of a piece alone
	alone    float64 // that time in seconds
	threads  float64
	pieces   []piece // the next to end last
	progress float64 // in seconds of the time alone
	pace     float64
	presence [Wait]float64 // part of its present time that a piece is at a resource
}

// A piece is a subtask, or a master that starts.
type piece struct {
	kind      pieceKind
	job, task int     // index of the job, of its map or reduce
	ends      float64 // in the progress of its class
	serial    int
	line      *Interval // nil: of a master
}

// A pieceKind says what a piece is: the start of a master, or a kind of subtask.
type pieceKind uint8

const (
	masterPiece pieceKind = iota
	mapPiece
	shufflePiece
	mergePiece
	pieceKinds
)

// newSharing returns machines without a task. Jobs of equal demands share classes.
func newSharing(c *Cluster, jobs []Job, stretch [][]float64) *sharing {
	s := &sharing{onNode: make([]int, len(c.Nodes)), stretch: stretch, links: float64(max(1, c.NetServers))}
	type need struct {
		demand  Cost
		threads float64
	}
	var classes []class
	known := map[need]int{}
	for i := range jobs {
		j := &jobs[i]
		var own [pieceKinds]int
		for kind := range pieceKinds {
			n := need{threads: 1}
			if kind == masterPiece {
				n = need{j.Master.Demand, max(1, j.Master.Threads)}
			} else {
				n.demand = j.Demands[kind-mapPiece]
			}
			n.demand[CPU] /= n.threads
			at, old := known[n]
			if !old {
				at = len(classes)
				known[n] = at
				k := class{alone: n.demand.Total(), threads: n.threads}
				if k.alone > 0 {
					k.parts = n.demand.times(1 / k.alone)
				}
				classes = append(classes, k)
			}
			own[kind] = at
		}
		s.class = append(s.class, own)
	}
	for i := range c.Nodes {
		if i == 0 || !c.OneMachine {
			n := &c.Nodes[i]
			s.machines = append(s.machines, machine{
				servers:      [Net]float64{float64(n.CPUs), float64(n.Disks)},
				interference: c.Interference,
				classes:      slices.Clone(classes),
				next:         math.Inf(1),
			})
		}
		s.onNode[i] = len(s.machines) - 1
	}
	return s
}

// sharedTimeline lays out when each subtask runs, if running tasks share resources. stretch are factors on the demands
// of each job's subtasks, and after them of its master; nil: 1. It returns the intervals of a job in the order of its
// subtasks, and what else there is of jobs.
func sharedTimeline(c *Cluster, jobs []Job, stretch [][]float64, r ramp) (lines [][]Interval, courses []course) {
	s := newSharing(c, jobs, stretch)
	t := newScheduler(c, r)
	t.sharing = s
	for i := range jobs {
		t.add(i, &jobs[i], nil)
		t.push(event{at: jobs[i].Submit, kind: submission, job: i})
	}
	for {
		next := math.Inf(1)
		if len(t.events) > 0 {
			next = t.events[0].at
		}
		for i := range s.machines {
			next = min(next, s.machines[i].next)
		}
		if math.IsInf(next, 1) {
			break
		}
		t.now = next
		t.popBatch()
		for i := range s.machines {
			if s.machines[i].next <= t.now+tolerance {
				t.reap(i)
			}
		}
		for _, e := range t.batch {
			t.apply(e)
		}
		t.grant()
		s.settle(t.now)
	}
	for _, j := range t.jobs {
		lines, courses = append(lines, j.line), append(courses, j.course)
	}
	return lines, courses
}

// A course is what a timeline on which tasks share knows of a job besides its subtasks.
type course struct {
	submitted     bool // its master waits for a container
	home          int  // node of its master
	reduced       int  // reduces that have ended
	launched, end float64
}

// begin starts a piece of a job on a node: its subtask at an index, or its master, which has the index after them.
func (t *scheduler) begin(j *jobState, p piece, task, node int) {
	s := t.sharing
	m := &s.machines[s.onNode[node]]
	m.advance(t.now)
	k := &m.classes[s.class[j.index][p.kind]]
	s.serial++
	p.job, p.serial, p.ends = j.index, s.serial, k.progress+k.alone
	if s.stretch != nil {
		p.ends = k.progress + k.alone*s.stretch[j.index][task]
	}
	if p.kind != masterPiece {
		p.line = &j.line[task]
		p.line.Node, p.line.Start = node, t.now
	}
	if len(k.pieces) == 0 {
		copy(k.presence[:], k.parts[:Wait])
		m.active = append(m.active, k)
	}
	at, _ := slices.BinarySearchFunc(k.pieces, p, func(a, b piece) int {
		return cmp.Or(cmp.Compare(b.ends, a.ends), b.serial-a.serial)
	})
	k.pieces = slices.Insert(k.pieces, at, p)
	m.changed = true
}

// advance computes progress up to an instant.
func (m *machine) advance(now float64) {
	for _, k := range m.active {
		k.progress += k.pace * (now - m.at)
	}
	m.at = now
}

// reap ends the pieces of a machine whose time has come.
func (t *scheduler) reap(machine int) {
	m := &t.sharing.machines[machine]
	m.advance(t.now)
	var ended []piece
	kept := m.active[:0]
	for _, k := range m.active {
		n := len(k.pieces)
		for n > 0 && k.pieces[n-1].ends <= k.progress+tolerance {
			n--
			ended = append(ended, k.pieces[n])
		}
		if k.pieces = k.pieces[:n]; n > 0 {
			kept = append(kept, k)
		} else {
			k.progress = 0
		}
	}
	m.active, m.changed = kept, true
	for i := range ended {
		t.ended(&ended[i])
	}
}

// ended does what follows the end of a piece.
func (t *scheduler) ended(p *piece) {
	j := t.jobs[p.job]
	if p.line != nil {
		p.line.End = t.now
	}
	switch p.kind {
	case masterPiece:
		j.course.launched = t.now
		t.push(event{at: t.now + j.Ask, kind: arrival, job: p.job})
	case mapPiece:
		t.apply(event{at: t.now, kind: mapDone, job: p.job, task: p.task})
	case shufflePiece:
		for _, r := range j.reduces {
			if r.number == p.task {
				r.copying--
				r.lanes[p.line.lane] = 0
				t.shuffleOn(j, r)
			}
		}
	case mergePiece:
		t.apply(event{at: t.now, kind: reduceDone, job: p.job, task: p.task})
		j.course.reduced++
	}
	if len(j.completed) == j.Maps && j.course.reduced == j.Reduces && p.kind != masterPiece {
		t.over(j)
	}
}

// over ends a job: its master leaves when the output is committed.
func (t *scheduler) over(j *jobState) {
	j.course.end = t.now + j.Commit
	t.push(event{at: j.course.end, kind: departure, job: j.index})
}

// shuffleOn begins shuffle-sorts of a reduce on copiers that are free, and its merge after the last one. Those that
// take no time are passed over.
func (t *scheduler) shuffleOn(j *jobState, r *reduceState) {
	for len(r.ready) > 0 && r.copying < len(r.lanes) {
		q, lane := r.ready[0], slices.Index(r.lanes, 0)
		r.ready = r.ready[1:]
		r.given++
		task := j.shuffle(r.number, q)
		line := &j.line[task]
		line.owner, line.lane = -1-r.number, lane
		if j.Demands[ShuffleTask] == (Cost{}) {
			line.Node, line.Start, line.End = r.node, t.now, t.now
			continue
		}
		r.copying++
		r.lanes[lane] = 1
		t.begin(j, piece{kind: shufflePiece, task: r.number}, task, r.node)
	}
	if r.given == j.Maps && r.copying == 0 {
		t.finish(j, r, t.now)
	}
}

// netStep is the part by which the network's load has to change before paces on other machines are computed anew.
const netStep = 0.05

// settle computes the paces on machines on which something began or ended, and where the network's load has changed.
func (s *sharing) settle(now float64) {
	for i := range s.machines {
		if m := &s.machines[i]; m.changed {
			m.changed = false
			m.setPaces(s)
		}
	}
	for i := range s.machines {
		if m := &s.machines[i]; m.load[Net] > 0 && math.Abs(s.net-m.heard) > netStep*max(1, m.heard) {
			m.advance(now)
			m.setPaces(s)
		}
	}
}

// paceRounds is how often setPaces iterates. Loads and paces depend on each other: the more a task waits at one
// resource, the less it uses the others. The iteration begins with the loads of the instant before, so few rounds
// suffice.
const paceRounds = 3

// setPaces computes the paces of the machine's running pieces, and when the first of them ends.
func (m *machine) setPaces(s *sharing) {
	s.net -= m.load[Net]
	elsewhere := s.net
	for range paceRounds {
		m.load = [Wait]float64{}
		for _, k := range m.active {
			for z := range k.presence {
				m.load[z] += k.presence[z] * k.weight(Resource(z)) * float64(len(k.pieces))
			}
		}
		for _, k := range m.active {
			whole := k.parts[Wait]
			var at [Wait]float64
			for z := range at {
				if k.parts[z] == 0 {
					continue
				}
				w := k.weight(Resource(z))
				load, servers := m.load[z]+w*(1-k.presence[z]), s.links
				if Resource(z) == Net {
					load += elsewhere
				} else {
					servers = m.servers[z]
				}
				slower := max(1, load/servers)
				if Resource(z) == CPU {
					slower *= 1 + m.interference*max(0, load-servers)
				}
				at[z] = k.parts[z] * slower
				whole += at[z]
			}
			k.pace = 1
			if whole > 0 {
				k.pace = 1 / whole
			}
			for z := range at {
				k.presence[z] = at[z] * k.pace
			}
		}
	}
	s.net += m.load[Net]
	m.heard = s.net
	m.next = math.Inf(1)
	for _, k := range m.active {
		m.next = min(m.next, m.at+max(0, k.pieces[len(k.pieces)-1].ends-k.progress)/k.pace)
	}
}

// weight is how much of a resource a piece uses at once.
func (k *class) weight(z Resource) float64 {
	if z == CPU {
		return k.threads
	}
	return 1
}
