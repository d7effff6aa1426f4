package theory

// uncertain serves GITTINS. The first job is served to the age at which its rank rises, to its end, or to the next
// arrival; jobs whose ranks rise past each other take turns.
type uncertain struct {
	line    ranked
	jobs    []uncertainJob // by seq
	belief  SizeBelief
	table   *RankTable
	relearn int // finished jobs from which on the table is made anew
	done    int
}

// An uncertainJob is a job, and the age until which it has its present rank. All are in seconds of the server.
type uncertainJob struct{ size, estimate, until float64 }

// newUncertain begins with what is believed already.
func newUncertain(n int, b SizeBelief) *uncertain {
	s := &uncertain{line: newRanked(n), jobs: make([]uncertainJob, n), belief: b}
	s.table = s.belief.Table()
	return s
}

func (s *uncertain) add(seq int32, j FluidJob) {
	s.jobs[seq] = uncertainJob{size: j.Size, estimate: j.Estimate}
	s.line.add(entry{s.rank(seq, 0), seq}, j.Size)
}

// rank looks up a job's rank at an age, and notes until when it has it.
func (s *uncertain) rank(seq int32, age float64) (rank float64) {
	j := &s.jobs[seq]
	rank, j.until = s.table.Rank(j.estimate, age)
	return rank
}

func (s *uncertain) step(now, until float64) (float64, int32) {
	if len(s.line.queue) == 0 {
		return until, quiet
	}
	seq := s.line.queue[0].seq
	j := &s.jobs[seq]
	left := s.line.left()
	t := now + min(left, j.until-(j.size-left))
	if !due(t, until) {
		s.line.serve(until - now)
		s.line.pop() // beyond the ages believed possible its rank has risen: another job may be first now
		s.line.push(entry{s.rank(seq, j.size-s.line.remaining[seq]), seq})
		return until, quiet
	}
	t = min(t, until)
	if left <= j.until-(j.size-left) {
		s.line.serve(t - now)
		s.line.finish()
		s.learn(j)
		return t, seq
	}
	s.line.remaining[seq] = j.size - j.until
	s.line.pop()
	s.line.push(entry{s.rank(seq, j.until), seq})
	return t, nobody
}

// learn takes a finished job into account. The table follows when there are an eighth more of them, which costs each
// job O(1) rankings.
func (s *uncertain) learn(j *uncertainJob) {
	s.belief.Learn(j.size, j.estimate)
	if s.done++; s.done < s.relearn {
		return
	}
	s.relearn = s.done + s.done/8 + 1
	s.table = s.belief.Table()
	waiting := s.line.queue
	s.line.queue = make(queue, 0, len(waiting))
	for _, e := range waiting {
		s.line.push(entry{s.rank(e.seq, s.jobs[e.seq].size-s.line.remaining[e.seq]), e.seq})
	}
}
