package theory

// attained serves LAS. Jobs of equal attained service form a group; the groups are a stack, least service on top,
// because a new job starts at zero and only the top group is served. It grows until its smallest job is done or until
// it has caught up with the group below, and the two become one.
type attained struct {
	groups []group
	sizes  []float64 // by seq
	heap   []leftist // by seq
}

// A group is the jobs that have received the same service.
type group struct {
	service float64 // received by each member
	count   int32
	root    int32 // the smallest member
}

// leftist is a node of a mergeable heap of jobs by size (Crane 1972): groups unite in O(log n).
type leftist struct {
	left, right int32 // -1: none
	rank        int32 // length of the right spine
}

func newAttained(n int) *attained {
	return &attained{sizes: make([]float64, n), heap: make([]leftist, n)}
}

func (s *attained) add(seq int32, j FluidJob) {
	s.sizes[seq] = j.Size
	s.heap[seq] = leftist{left: -1, right: -1, rank: 1}
	if top := len(s.groups) - 1; top >= 0 && s.groups[top].service == 0 {
		g := &s.groups[top]
		g.root = s.merge(g.root, seq)
		g.count++
		return
	}
	s.groups = append(s.groups, group{count: 1, root: seq})
}

func (s *attained) step(now, until float64) (float64, int32) {
	top := len(s.groups) - 1
	if top < 0 {
		return until, quiet
	}
	g := &s.groups[top]
	goal, finishes := s.sizes[g.root], true
	if top > 0 && s.groups[top-1].service < goal {
		goal, finishes = s.groups[top-1].service, false
	}
	t := now + max(0, (goal-g.service)*float64(g.count))
	if !due(t, until) {
		g.service += (until - now) / float64(g.count)
		return until, quiet
	}
	t = min(t, until)
	if !finishes {
		below := &s.groups[top-1]
		below.root = s.merge(below.root, g.root)
		below.count += g.count
		s.groups = s.groups[:top]
		return t, nobody
	}
	done := g.root
	g.service = goal
	g.root = s.merge(s.heap[done].left, s.heap[done].right)
	if g.count--; g.count == 0 {
		s.groups = s.groups[:top]
	}
	return t, done
}

// merge unites two heaps; -1 is the empty one. It recurses along right spines, which are logarithmic.
func (s *attained) merge(a, b int32) int32 {
	if a < 0 {
		return b
	}
	if b < 0 {
		return a
	}
	if (entry{s.sizes[b], b}).before(entry{s.sizes[a], a}) {
		a, b = b, a
	}
	n := &s.heap[a]
	n.right = s.merge(n.right, b)
	if s.rankOf(n.left) < s.rankOf(n.right) {
		n.left, n.right = n.right, n.left
	}
	n.rank = s.rankOf(n.right) + 1
	return a
}

func (s *attained) rankOf(a int32) int32 {
	if a < 0 {
		return 0
	}
	return s.heap[a].rank
}
