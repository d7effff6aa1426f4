package predict

import (
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/priority"
)

// An Interval is when and where a subtask runs on the timeline.
type Interval struct {
	Job, Task  int // indices: of the jobs given, and of the job's subtasks
	Kind       Kind
	Node       int
	Start, End float64 // seconds
	// Intervals of one owner and lane follow each other. Owners are container slots, which have one lane, and reduces,
	// which have a lane for each copier.
	owner, lane int
}

// A ramp says how many reduces may hold containers while maps still wait.
type ramp struct {
	interleave bool    // one reduce, one map, in turns (the thesis); else as Hadoop's ApplicationMaster does
	slowStart  float64 // part of the maps that must have ended
	limit      float64 // part of the cluster that early reduces may hold
	copiers    int     // parallel copiers of a reduce; 0: as many as maps
}

// timeline simulates the ResourceManager's grants, and returns when each subtask runs (spec 6.2). Subtask i of job j
// takes response[j][i] seconds once it has begun. A map has a container of its own; a reduce keeps one container for
// its shuffle-sorts and its merge. Jobs are served in the order of Submit; a later job may use what the jobs before it
// cannot. The intervals of a job are in the order of its subtasks, in seconds on the clock of Job.Submit. The cluster
// and the jobs must have passed check, so that each container fits on a node.
func timeline(c *Cluster, jobs []Job, response [][]float64, r ramp) [][]Interval {
	t := newScheduler(c, r)
	for i := range jobs {
		j := &jobs[i]
		t.add(i, j, response[i])
		t.push(event{at: j.Submit + j.Master.Demand.Total() + j.Ask, kind: arrival, job: i})
	}
	for len(t.events) > 0 {
		t.now = t.events[0].at
		t.popBatch()
		for _, e := range t.batch {
			t.apply(e)
		}
		t.grant()
	}
	lines := make([][]Interval, len(jobs))
	for i, j := range t.jobs {
		lines[i] = j.line
	}
	return lines
}

// newScheduler returns a timeline without jobs, on which all nodes are free.
func newScheduler(c *Cluster, r ramp) *scheduler {
	t := &scheduler{cluster: c, ramp: r, total: make([]float64, len(c.Nodes[0].Capacity))}
	t.held = make([]float64, len(t.total))
	for i := range c.Nodes {
		n := &c.Nodes[i]
		t.nodes = append(t.nodes, nodeState{used: make([]float64, len(n.Capacity)),
			reduces: make([]float64, len(n.Capacity))})
		for d, x := range n.Capacity {
			t.total[d] += x
		}
	}
	return t
}

// popBatch takes the events of the instant.
func (t *scheduler) popBatch() {
	t.batch = t.batch[:0]
	for first := t.now; len(t.events) > 0 && t.events[0].at <= first+tolerance; {
		e := t.events.Pop()
		t.now = e.at
		t.batch = append(t.batch, e)
	}
}

// An eventKind says what happens on a timeline.
type eventKind uint8

const (
	arrival    eventKind = iota // a job's master asks for containers
	mapDone                     // a map ends
	reduceDone                  // a reduce ends
	submission                  // where tasks share: a job's master waits for its container
	asking                      // reduces are asked for
	departure                   // where tasks share: a job's master leaves
)

// An event is something that happens to a job at an instant.
type event struct {
	at     float64
	serial int // of insertion: breaks ties
	kind   eventKind
	job    int
	task   int // map or reduce
}

// Before reports whether e happens before o: earlier, or pushed earlier.
func (e event) Before(o event) bool {
	return cmp.Or(cmp.Compare(e.at, o.at), cmp.Compare(e.serial, o.serial)) < 0
}

// A nodeState is what a node's containers hold at present.
type nodeState struct {
	used, reduces []float64 // held by all containers, and by reduces alone
	slots         []bool    // container numbers in use
}

// take returns the lowest free container number.
func (n *nodeState) take() int {
	free := slices.Index(n.slots, false)
	if free < 0 {
		free = len(n.slots)
		n.slots = append(n.slots, false)
	}
	n.slots[free] = true
	return free
}

// A reduceState is a reduce that has a container.
type reduceState struct {
	number, node, slot int
	lanes              []float64 // when each copier is free; where tasks share, 1: it is not
	given              int       // shuffle-sorts laid out
	ready              []int     // where tasks share: maps whose output waits for a copier
	copying            int       // where tasks share: copiers at work
}

// A jobState is how far a job has come.
type jobState struct {
	*Job
	index      int
	response   []float64 // of each subtask; nil: tasks share
	line       []Interval
	slot       []int // container number of each map
	waiting    mapQueue
	running    int            // maps
	completed  []int          // maps in order of completion
	placed     int            // reduces that were given a container
	reduces    []*reduceState // that have not ended
	active     bool           // its master has asked for containers
	turnOfMaps bool           // when reduces and maps take turns: a reduce was placed last
	asksAt     float64        // when its reduces are asked for, once enough maps have ended

	course course // where tasks share
}

// scheduler is the state of one run of the timeline.
type scheduler struct {
	cluster *Cluster
	ramp    ramp
	total   []float64 // capacity of the cluster
	held    []float64 // by all running reduces
	nodes   []nodeState
	jobs    []*jobState
	order   []*jobState // by submission, then as given
	events  priority.Queue[event]
	batch   []event // of the present instant
	serial  int     // of the next event
	now     float64
	sharing *sharing // nil: a task's time is given
}

// add makes the state of a job that waits for its arrival.
func (t *scheduler) add(index int, j *Job, response []float64) {
	s := &jobState{
		Job:      j,
		index:    index,
		response: response,
		line:     make([]Interval, j.tasks()),
		slot:     make([]int, j.Maps),
	}
	for i := range s.line {
		s.line[i] = Interval{Job: index, Task: i, Kind: j.kind(i), Node: -1}
	}
	s.waiting = newMapQueue(t.cluster, j)
	t.jobs = append(t.jobs, s)
	at, _ := slices.BinarySearchFunc(t.order, s, func(a, b *jobState) int {
		if a.Submit <= b.Submit {
			return -1
		}
		return 1
	})
	t.order = slices.Insert(t.order, at, s)
}

// push adds an event. Its serial is set here.
func (t *scheduler) push(e event) {
	e.serial = t.serial
	t.serial++
	t.events.Push(e)
}

// apply changes the state as an event says. It grants nothing.
func (t *scheduler) apply(e event) {
	j := t.jobs[e.job]
	switch e.kind {
	case submission:
		j.course.submitted = true
	case departure:
		change(t.nodes[j.course.home].used, j.Master.Size, -1)
	case arrival:
		j.active = true
		if t.sharing != nil && j.Maps+j.Reduces == 0 {
			t.over(j)
		}
	case mapDone:
		node := &t.nodes[j.line[e.task].Node]
		change(node.used, j.MapSize, -1)
		node.slots[j.slot[e.task]] = false
		j.running--
		j.completed = append(j.completed, e.task)
		if len(j.completed) == t.ramp.needs(j) && j.Ask > 0 {
			j.asksAt = e.at + j.Ask
			t.push(event{at: j.asksAt, kind: asking, job: e.job})
		}
		for _, r := range j.reduces {
			t.copy(j, r, e.task, e.at)
		}
	case reduceDone:
		at := slices.IndexFunc(j.reduces, func(r *reduceState) bool { return r.number == e.task })
		r := j.reduces[at]
		j.reduces = slices.Delete(j.reduces, at, at+1)
		node := &t.nodes[r.node]
		change(node.used, j.ReduceSize, -1)
		change(node.reduces, j.ReduceSize, -1)
		change(t.held, j.ReduceSize, -1)
		node.slots[r.slot] = false
	}
}

// grant gives out containers until no job gets another one.
func (t *scheduler) grant() {
	for _, j := range t.order {
		if j.course.submitted {
			t.placeMaster(j)
		}
		for j.active {
			placed := false
			if t.ramp.interleave && j.waiting.left > 0 {
				if !j.turnOfMaps && t.placeReduce(j) {
					j.turnOfMaps, placed = true, true
				}
				if t.placeMap(j) {
					j.turnOfMaps, placed = false, true
				}
			} else {
				// Reduces that may be asked for go before maps: their priority number is the smaller one (erratum E1).
				placed = t.placeReduce(j)
				placed = t.placeMap(j) || placed
			}
			if !placed {
				break
			}
		}
	}
}

// placeMaster starts a job's master where there is room for it.
func (t *scheduler) placeMaster(j *jobState) {
	node := t.leastOccupied(j.Master.Size, nil)
	if node < 0 {
		return
	}
	j.course.submitted, j.course.home = false, node
	change(t.nodes[node].used, j.Master.Size, 1)
	t.begin(j, piece{kind: masterPiece}, j.tasks(), node)
}

// fits reports whether a node has room for a container.
func (t *scheduler) fits(size []float64, node int) bool {
	for d, x := range size {
		if t.nodes[node].used[d]+x > t.cluster.Nodes[node].Capacity[d]+tolerance {
			return false
		}
	}
	return true
}

// leastOccupied returns the least occupied node on which a container fits: one of those given, or, for nil, of all
// nodes. How much of a node is occupied is the largest part over its resources. -1: the container fits on none.
func (t *scheduler) leastOccupied(size []float64, of []int) int {
	best, least := -1, math.Inf(1)
	consider := func(node int) {
		if !t.fits(size, node) {
			return
		}
		occupied := 0.0
		for d, used := range t.nodes[node].used {
			if capacity := t.cluster.Nodes[node].Capacity[d]; capacity > 0 {
				occupied = max(occupied, used/capacity)
			}
		}
		if occupied = math.Round(occupied*1e12) / 1e12; occupied < least || occupied == least && node < best {
			best, least = node, occupied
		}
	}
	if of == nil {
		for node := range t.nodes {
			consider(node)
		}
		return best
	}
	for _, node := range of {
		consider(node)
	}
	return best
}

// placeMap gives the next map of j a container, if there is room for one.
func (t *scheduler) placeMap(j *jobState) bool {
	if j.waiting.left == 0 {
		return false
	}
	q, node := j.waiting.next(t, j)
	if node < 0 {
		return false
	}
	j.waiting.take(q)
	change(t.nodes[node].used, j.MapSize, 1)
	slot := t.nodes[node].take()
	j.slot[q] = slot
	j.running++
	line := &j.line[q]
	line.owner = node<<16 | slot
	if t.sharing != nil {
		t.begin(j, piece{kind: mapPiece, task: q}, q, node)
		return true
	}
	line.Node, line.Start, line.End = node, t.now, t.now+j.response[q]
	t.push(event{at: line.End, kind: mapDone, job: j.index, task: q})
	return true
}

// needs returns how many maps must have ended before reduces are asked for.
func (r ramp) needs(j *jobState) int { return int(math.Ceil(r.slowStart * float64(j.Maps))) }

// allowed returns how many reduces of j may have been placed by now (spec 6.3).
func (t *scheduler) allowed(j *jobState) int {
	completed := len(j.completed)
	switch {
	case completed < t.ramp.needs(j) || t.now < j.asksAt-tolerance:
		return 0
	case j.waiting.left == 0 || t.ramp.interleave:
		return j.Reduces
	}
	out := float64(j.waiting.left + j.running)
	part := min(float64(completed)/float64(j.Maps), t.ramp.limit)
	least := math.Inf(1)
	for d, total := range t.total {
		if j.ReduceSize[d] <= 0 {
			continue
		}
		share := total * part
		if j.MapSize[d] <= 0 || math.Floor((total-share)/j.MapSize[d]) >= out {
			share = total - out*j.MapSize[d]
		}
		least = min(least, math.Floor(share/j.ReduceSize[d]))
	}
	return int(max(0, min(least, float64(math.MaxInt32))))
}

// placeReduce gives the next reduce of j a container, if it may have one and there is room for it.
func (t *scheduler) placeReduce(j *jobState) bool {
	if j.placed == j.Reduces || j.placed >= t.allowed(j) {
		return false
	}
	node := t.leastOccupied(j.ReduceSize, nil)
	if node < 0 || j.waiting.left > 0 && !t.early(j, node) {
		return false
	}
	n := &t.nodes[node]
	change(n.used, j.ReduceSize, 1)
	change(n.reduces, j.ReduceSize, 1)
	change(t.held, j.ReduceSize, 1)
	lanes := max(1, j.Maps)
	if t.ramp.copiers > 0 {
		lanes = min(lanes, t.ramp.copiers)
	}
	r := &reduceState{number: j.placed, node: node, slot: n.take(), lanes: make([]float64, lanes)}
	for i := range r.lanes {
		if t.sharing == nil {
			r.lanes[i] = t.now
		}
	}
	j.reduces = append(j.reduces, r)
	j.placed++
	for _, q := range j.completed {
		t.copy(j, r, q, t.now)
	}
	if j.Maps == 0 {
		t.finish(j, r, t.now)
	}
	return true
}

// early reports whether a reduce of j may be placed on a node while maps of j wait: reduces together keep below the
// limit, and some node keeps room for a map beside its reduces. So maps that reduces wait for can always run.
func (t *scheduler) early(j *jobState, node int) bool {
	for d, x := range j.ReduceSize {
		if t.held[d]+x > t.ramp.limit*t.total[d]+tolerance {
			return false
		}
	}
	for i := range t.nodes {
		room := true
		for d, capacity := range t.cluster.Nodes[i].Capacity {
			reduces := t.nodes[i].reduces[d]
			if i == node {
				reduces += j.ReduceSize[d]
			}
			room = room && capacity-reduces >= j.MapSize[d]-tolerance
		}
		if room {
			return true
		}
	}
	return false
}

// copy lays out the shuffle-sort of map q for a reduce that learns at an instant that q has ended. It uses the lane
// that can begin first. After the last shuffle-sort it lays out the merge.
func (t *scheduler) copy(j *jobState, r *reduceState, q int, at float64) {
	if t.sharing != nil {
		r.ready = append(r.ready, q)
		t.shuffleOn(j, r)
		return
	}
	lane := 0
	for i, free := range r.lanes {
		if max(free, at) < max(r.lanes[lane], at) {
			lane = i
		}
	}
	task := j.shuffle(r.number, q)
	start := max(r.lanes[lane], at)
	end := start + j.response[task]
	r.lanes[lane] = end
	line := &j.line[task]
	line.Node, line.Start, line.End, line.owner, line.lane = r.node, start, end, -1-r.number, lane
	if r.given++; r.given == j.Maps {
		t.finish(j, r, max(at, slices.Max(r.lanes)))
	}
}

// finish lays out the merge of a reduce.
func (t *scheduler) finish(j *jobState, r *reduceState, start float64) {
	task := j.merge(r.number)
	line := &j.line[task]
	line.owner = -1 - r.number
	if t.sharing != nil {
		t.begin(j, piece{kind: mergePiece, task: r.number}, task, r.node)
		return
	}
	line.Node, line.Start, line.End = r.node, start, start+j.response[task]
	t.push(event{at: line.End, kind: reduceDone, job: j.index, task: r.number})
}

// change adds size to amount sign times.
func change(amount, size []float64, sign float64) {
	for d, x := range size {
		amount[d] += sign * x
	}
}
