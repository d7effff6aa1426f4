package placement

import "slices"

// PlaceReduces places reduces of all jobs in their order (step 1 of algorithm 1), and the maps of jobs that are Alone.
// It goes over the nodes in passes, and places at most one task of a job on each node in a pass. Nodes with the fewest
// reduces come first, of equals those with the fewest of the job. Passes end when all tasks of the job are placed, or
// when a pass has placed none. PlaceReduces costs O(nodes) for each pass of a job that lacks reduces, and nothing for
// jobs whose reduces use what another job found no room for.
func (s *State) PlaceReduces() {
	count := make([]int32, len(s.Nodes))
	for n, cells := range s.cells {
		for _, c := range cells {
			count[n] += s.spreadIn(&c)
		}
	}
	type use struct{ each, guard Demand }
	full := map[use]bool{}
	for job := range s.Jobs {
		each := s.ofReduce(job)
		key := use{each, s.Jobs[job].Guard}
		for s.lacksReduces(job) && !full[key] {
			placed := false
			for _, n := range s.byReduces(count, job) {
				if !s.lacksReduces(job) {
					break
				}
				switch {
				case !s.hasRoomForReduce(job, int(n), &each):
					continue
				case !s.Jobs[job].Alone:
					s.addReduces(job, int(n), 1)
				case s.Jobs[job].Shunned[int(n)]:
					continue
				default:
					s.addMaps(job, int(n), 1)
				}
				count[n]++
				placed = true
			}
			full[key] = !placed && s.Jobs[job].Shunned == nil
			if !placed {
				break
			}
		}
	}
}

// lacksReduces reports whether PlaceReduces has tasks of a job to place.
func (s *State) lacksReduces(job int) bool {
	if j := &s.Jobs[job]; !j.Alone {
		return s.reduces[job] < j.Reduces
	}
	return s.maps[job] < s.Jobs[job].Pending
}

// byReduces returns the nodes by the number of their reduces, then by how many of these are the job's, then by index.
func (s *State) byReduces(count []int32, job int) []int32 {
	most := int32(0)
	for _, c := range count {
		most = max(most, c)
	}
	starts := make([]int32, most+2)
	for _, c := range count {
		starts[c+1]++
	}
	for i := range starts[1:] {
		starts[i+1] += starts[i]
	}
	order := make([]int32, len(count))
	for n, c := range count {
		order[starts[c]] = int32(n)
		starts[c]++
	}
	if len(s.hosts[job]) == 0 && (!s.Jobs[job].Alone || s.maps[job] == 0) {
		return order
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		if count[a] != count[b] {
			return int(count[a] - count[b])
		}
		return int(s.spreadOn(job, int(a)) - s.spreadOn(job, int(b)))
	})
	return order
}

// hasRoomForReduce reports whether a reduce of a job, which uses each, may be added to a node (room_red of
// docs/spec/ras.md, 2.4). Beside reduces that wait for maps, the largest guard of their jobs stays free of other such
// reduces: reduces hold what they have until their maps are done, so they must not keep these maps from running.
func (s *State) hasRoomForReduce(job, node int, each *Demand) bool {
	if !s.fits(node, each) {
		return false
	}
	if s.Jobs[job].Guard == (Demand{}) {
		return true
	}
	held, guard := *each, s.Jobs[job].Guard
	for _, c := range s.cells[node] {
		if c.Reduces == 0 {
			continue
		}
		of := s.ofReduce(int(c.Job))
		held = held.Plus(int64(c.Reduces), &of)
		for k, g := range s.Jobs[c.Job].Guard {
			guard[k] = max(guard[k], g)
		}
	}
	for k, g := range guard {
		if g > 0 && held[k]+g > s.Nodes[node][k] {
			return false
		}
	}
	return true
}

// PlaceMaps improves the placement of maps in rounds (step 2 of algorithm 1). On each node the jobs that are best off
// give up maps as long as they stay better off than a job that needs the room, and the room is filled again, always
// with a map of the job that is worst off. It ends after Rounds, or when a round made nothing better.
//
// With k tasks on a node and d distinct demands a round costs O(nodes · (k + d)), and O(k + d + log jobs) for each map
// that moves.
func (s *State) PlaceMaps() {
	for range s.Rounds {
		before := s.sorted()
		s.journal = s.journal[:0]
		for n := range s.Nodes {
			s.release(n)
			s.fill(n)
		}
		after := s.sorted()
		if c := slices.Compare(after, before); c <= 0 {
			if c < 0 {
				for _, m := range slices.Backward(s.journal) {
					s.addMaps(int(m.job), int(m.node), -int(m.more))
				}
			}
			return
		}
	}
}

// sorted returns the utilities of all jobs in ascending order.
func (s *State) sorted() []float64 {
	list := slices.Clone(s.u)
	slices.Sort(list)
	return list
}

// move adds maps of a job to a node and notes it in the journal.
func (s *State) move(job, node, more int) {
	s.addMaps(job, node, more)
	s.journal = append(s.journal, move{int32(job), int32(node), int32(more)})
}

// happiest returns the job that is best off of those with maps on a node; -1: there is none.
func (s *State) happiest(node int) int {
	best := -1
	for _, c := range s.cells[node] {
		if c.Maps > 0 && (best < 0 || s.before(s.Jobs, best, int(c.Job))) {
			best = int(c.Job)
		}
	}
	return best
}

// release makes the jobs that are best off on a node give up maps there (2a of docs/spec/ras.md, 2.5).
func (s *State) release(node int) {
	for {
		out := s.happiest(node)
		if out < 0 || s.u[out] <= s.worst() {
			return
		}
		was := s.u[out]
		marked := len(s.journal)
		s.move(out, node, -1)
		in := s.candidate(node, out)
		now := s.u[out]
		if s.isCandidate(node, out) { // by what it was before
			s.u[out] = was
			if in < 0 || s.before(s.Jobs, out, in) {
				in = out
			}
			s.u[out] = now
		}
		if in < 0 || in == out || now <= s.u[in] {
			s.addMaps(out, node, 1)
			s.journal = s.journal[:marked]
			return
		}
	}
}

// candidate returns the job but for one that is worst off of those that a node could serve; -1: none.
func (s *State) candidate(node, but int) int {
	if s.Literal {
		return s.first(
			s.Jobs,
			func(d *Demand) bool { return s.fits(node, d) },
			func(job int) bool { return job != but && s.hasRoom(job, node) },
		)
	}
	r := s.besideReduces(node)
	return s.first(
		s.Jobs,
		r.Fits,
		func(job int) bool { return job != but && !s.Jobs[job].Shunned[node] },
	)
}

// isCandidate reports whether a node could serve a job that has a map to place.
func (s *State) isCandidate(node, job int) bool {
	if s.Literal {
		return s.hasRoom(job, node)
	}
	r := s.besideReduces(node)
	return r.Fits(&s.Jobs[job].Map)
}

// besideReduces returns the room of a node without its maps.
func (s *State) besideReduces(node int) Room {
	r := Room{Offers: s.Nodes[node], Soft: &s.Soft}
	for _, c := range s.cells[node] {
		if c.Reduces > 0 {
			each := s.ofReduce(int(c.Job))
			r.Use = r.Use.Plus(int64(c.Reduces), &each)
			r.Busy = r.Busy || s.Jobs[c.Job].Reducing
		}
	}
	return r
}

// fill adds maps to a node while one fits (2b of docs/spec/ras.md, 2.5).
func (s *State) fill(node int) {
	for {
		job := s.first(
			s.Jobs,
			func(d *Demand) bool { return s.fits(node, d) },
			func(job int) bool { return s.hasRoom(job, node) },
		)
		if job < 0 {
			return
		}
		s.move(job, node, 1)
	}
}
