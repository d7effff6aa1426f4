package placement

// Kinds is the number of kinds of resources. The last three are for what an engine books of kinds that are soft: tasks
// may use more cores than a node has, but an engine may refuse to start tasks that ask for more.
const Kinds = 11

// A Demand is an amount of each kind of resource, in thousandths of its unit.
type Demand [Kinds]int64

// Plus returns d + n·o.
func (d Demand) Plus(n int64, o *Demand) Demand {
	for k := range d {
		d[k] += n * o[k]
	}
	return d
}

// A Problem is what is to be placed where.
type Problem struct {
	Nodes []Demand // what each node offers
	Jobs  []Job
	// Soft names the kinds that a task may use more of than its node offers, if it is alone there and the node offers
	// any: it runs slower. Of the other kinds a node never offers less than its tasks use.
	Soft   [Kinds]bool
	Copies int // maps at most from which a reduce copies at once (Hadoop's parallelcopies)
	Rounds int // passes over the nodes at most that improve the placement of maps
	// Literal chooses the job that is given room as the listing of the source does: only among jobs that have a task
	// which fits after one task of another job has left. Then a job with large tasks may starve (docs/spec/ras.md, P3).
	Literal bool
}

// A Job is maps and reduces to be placed.
type Job struct {
	Pending, Reduces int    // maps and reduces that are not completed, running ones included
	Map              Demand // what a map uses
	Shuffle          Demand // what a reduce uses while it waits for maps, whatever it copies
	Copy             Demand // what it uses besides for each placed map of its job, of Problem.Copies at most
	Reduce           Demand // what a reduce uses that has all its input
	Reducing         bool   // its reduces have all their input
	// Alone says that the job has no maps left. Its reduces, which wait for nothing, are the maps of this problem:
	// Pending and Map are theirs, and Reduces is 0. PlaceReduces places them, too.
	Alone bool
	// Guard is what must stay free beside each reduce that waits for maps, so that one of these maps can run there.
	Guard   Demand
	Shunned map[int]bool // nodes that its maps must not use; nil: none
	// Utility returns how well off the job is with maps and reduces placed. It never falls as either grows.
	Utility func(maps, reduces int) float64
	Goal    float64 // instant in seconds; of jobs that are equally well off the one with the earlier goal comes first
	ID      int64   // then the one with the lower ID
}

// A Cell is how many tasks of a job are on a node.
type Cell struct {
	Job, Maps, Reduces int32
}

// A State is a placement of a problem's jobs.
type State struct {
	*Problem
	cells   [][]Cell  // by node, by rising job; cells may be empty of tasks
	use     []Demand  // by node
	busy    []int32   // by node: maps and reducing reduces
	maps    []int     // by job: placed
	reduces []int     // by job: placed
	hosts   [][]int32 // by job: nodes with reduces of it, in order of their placement
	ranking
	journal []move // what PlaceMaps has done in this round
}

// A move adds maps of a job to a node, or takes them away.
type move struct {
	job, node, more int32
}

// New returns the placement of p without tasks. O(nodes + jobs).
func New(p *Problem) *State {
	s := &State{
		Problem: p,
		cells:   make([][]Cell, len(p.Nodes)),
		use:     make([]Demand, len(p.Nodes)),
		busy:    make([]int32, len(p.Nodes)),
		maps:    make([]int, len(p.Jobs)),
		reduces: make([]int, len(p.Jobs)),
		hosts:   make([][]int32, len(p.Jobs)),
	}
	s.ranking = newRanking(p.Jobs)
	return s
}

// On returns the jobs with tasks on a node, by rising index. The slice is lent until the placement changes.
func (s *State) On(node int) []Cell { return s.cells[node] }

// Use returns what the tasks on a node use.
func (s *State) Use(node int) Demand { return s.use[node] }

// Placed returns how many maps and reduces of a job are placed.
func (s *State) Placed(job int) (maps, reduces int) { return s.maps[job], s.reduces[job] }

// UtilityOf returns how well off a job is.
func (s *State) UtilityOf(job int) float64 { return s.u[job] }

// Put adds maps and reduces of a job to a node, whether there is room or not. O(tasks there), and where the number of
// copies changes O(reduces of the job).
func (s *State) Put(job, node, maps, reduces int) {
	if reduces != 0 {
		s.addReduces(job, node, reduces)
	}
	if maps != 0 {
		s.addMaps(job, node, maps)
	}
}

// cell returns the cell of a job on a node, a new one where need be.
func (s *State) cell(job, node int) *Cell {
	list := s.cells[node]
	i := 0
	for i < len(list) && int(list[i].Job) < job {
		i++
	}
	if i == len(list) || int(list[i].Job) != job {
		list = append(list, Cell{})
		copy(list[i+1:], list[i:])
		list[i] = Cell{Job: int32(job)}
		s.cells[node] = list
	}
	return &list[i]
}

// spreadOn returns how many of the tasks of a job that PlaceReduces places are on a node.
func (s *State) spreadOn(job, node int) int64 {
	for _, c := range s.cells[node] {
		if int(c.Job) == job {
			return int64(s.spreadIn(&c))
		}
	}
	return 0
}

// spreadIn returns how many of the tasks of a cell are placed by PlaceReduces.
func (s *State) spreadIn(c *Cell) int32 {
	if s.Jobs[c.Job].Alone {
		return c.Maps
	}
	return c.Reduces
}

// reducesOn returns how many reduces of a job are on a node.
func (s *State) reducesOn(job, node int) int64 {
	for _, c := range s.cells[node] {
		if int(c.Job) == job {
			return int64(c.Reduces)
		}
	}
	return 0
}

// copies returns how many placed maps one reduce of a job copies from at the same time, if maps of the job are placed:
// at most Problem.Copies, and 0 once the reduces have all their input.
func (s *State) copies(job, maps int) int64 {
	if s.Jobs[job].Reducing {
		return 0
	}
	return int64(min(maps, s.Copies))
}

// ofReduce returns what one reduce of a job uses now.
func (s *State) ofReduce(job int) Demand {
	j := &s.Jobs[job]
	if j.Reducing {
		return j.Reduce
	}
	return j.Shuffle.Plus(s.copies(job, s.maps[job]), &j.Copy)
}

// addMaps adds maps of a job to a node, or takes them away where more is negative.
func (s *State) addMaps(job, node, more int) {
	j := &s.Jobs[job]
	before := s.copies(job, s.maps[job])
	s.maps[job] += more
	if grown := s.copies(job, s.maps[job]) - before; grown != 0 {
		for _, h := range s.hosts[job] {
			s.use[h] = s.use[h].Plus(grown*s.reducesOn(job, int(h)), &j.Copy)
		}
	}
	s.cell(job, node).Maps += int32(more)
	s.use[node] = s.use[node].Plus(int64(more), &j.Map)
	s.busy[node] += int32(more)
	s.rank(s, job)
}

// addReduces adds reduces of a job to a node.
func (s *State) addReduces(job, node, more int) {
	c := s.cell(job, node)
	if c.Reduces == 0 {
		s.hosts[job] = append(s.hosts[job], int32(node))
	}
	c.Reduces += int32(more)
	s.reduces[job] += more
	each := s.ofReduce(job)
	s.use[node] = s.use[node].Plus(int64(more), &each)
	if s.Jobs[job].Reducing {
		s.busy[node] += int32(more)
	}
	s.rank(s, job)
}

// A Room is what a node offers and what of it is in use.
type Room struct {
	Offers, Use Demand
	Soft        *[Kinds]bool // as Problem.Soft
	Busy        bool         // a task runs there that is no reduce which waits
}

// Fits reports whether there is room for d. A node that is not busy takes any amount of a soft kind that it offers at
// all.
func (r *Room) Fits(d *Demand) bool {
	for k, more := range d {
		if more > 0 && r.Use[k]+more > r.Offers[k] && (r.Busy || !r.Soft[k] || r.Offers[k] == 0) {
			return false
		}
	}
	return true
}

// room returns the room of a node of the problem.
func (s *State) room(node int) Room {
	return Room{s.Nodes[node], s.use[node], &s.Soft, s.busy[node] > 0}
}

// fits reports whether a node has room for d.
func (s *State) fits(node int, d *Demand) bool {
	r := s.room(node)
	return r.Fits(d)
}

// AdmitsMap reports whether a job has a map to place for which a node has room.
func (s *State) AdmitsMap(job, node int) bool {
	return s.maps[job] < s.Jobs[job].Pending && s.hasRoom(job, node)
}

// AdmitsReduce reports whether a job has a reduce to place for which a node has room.
func (s *State) AdmitsReduce(job, node int) bool {
	each := s.ofReduce(job)
	return s.reduces[job] < s.Jobs[job].Reduces && s.hasRoomForReduce(job, node, &each)
}

// IsWorseOff reports whether job a is worse off than b: by utility, then by goal, then by ID.
func (s *State) IsWorseOff(a, b int) bool { return s.before(s.Jobs, a, b) }

// hasRoom reports whether a map of a job may be added to a node: for itself, and for what the job's reduces copy more
// (room_map of docs/spec/ras.md, 2.4). Nodes that are over-committed already do not count.
func (s *State) hasRoom(job, node int) bool {
	j := &s.Jobs[job]
	if j.Shunned[node] {
		return false
	}
	d := j.Map
	if grown := s.copies(job, s.maps[job]+1) - s.copies(job, s.maps[job]); grown != 0 && j.Copy != (Demand{}) {
		for _, h := range s.hosts[job] {
			reduces := s.reducesOn(job, int(h))
			if int(h) == node {
				d = d.Plus(reduces, &j.Copy)
				continue
			}
			more := Demand{}.Plus(reduces, &j.Copy)
			if !s.fits(int(h), &more) && !s.isOver(int(h), &more) {
				return false
			}
		}
	}
	return s.fits(node, &d)
}

// isOver reports whether a node is over-committed in a kind that d wants some of.
func (s *State) isOver(node int, d *Demand) bool {
	for k, more := range d {
		if more > 0 && s.use[node][k] > s.Nodes[node][k] {
			return true
		}
	}
	return false
}
