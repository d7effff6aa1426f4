package malleable

// Fair returns when the jobs complete if slots beyond the minima are shared by a waterline (FLEX 1, the allocation
// layer of Hadoop's fair scheduler). A job has min(Max, max(Min, λ)) slots. The level λ is such that these are all
// slots, or all maxima; it changes when a job arrives or completes. Slots are divisible, or whole: then one at a time
// goes to the job that has fewest, of equals to the first. O(n²) for n jobs, and the number of slots for each where
// they are whole.
func Fair(p *Problem, whole bool) Schedule {
	share := waterline
	if whole {
		share = wholeWaterline
	}
	s := Schedule{Done: make([]float64, len(p.Jobs))}
	left := make([]float64, len(p.Jobs))
	live := make([]bool, len(p.Jobs))
	for i := range p.Jobs {
		left[i], live[i] = p.Jobs[i].Work, true
	}
	at := p.Start
	for range p.Jobs {
		slots := share(p, live)
		first := -1
		for i := range slots {
			if live[i] && slots[i] > 0 && (first < 0 || left[i]/slots[i] < left[first]/slots[first]) {
				first = i
			}
		}
		length := max(0, left[first]/slots[first])
		for i := range left {
			left[i] -= slots[i] * length
		}
		at += length
		s.Done[first], live[first] = at, false
	}
	return s
}

// waterline returns the divisible slots of the jobs that live.
func waterline(p *Problem, live []bool) []float64 {
	slots := make([]float64, len(p.Jobs))
	most, low, high := 0.0, 0.0, float64(p.Slots)
	for i, ok := range live {
		if ok {
			most += float64(p.Jobs[i].Max)
		}
	}
	most = min(most, float64(p.Slots))
	fill := func(level float64) (sum float64) {
		for i, ok := range live {
			slots[i] = 0
			if ok {
				slots[i] = min(float64(p.Jobs[i].Max), max(float64(p.Jobs[i].Min), level))
			}
			sum += slots[i]
		}
		return sum
	}
	for range 100 {
		if mid := (low + high) / 2; fill(mid) < most {
			low = mid
		} else {
			high = mid
		}
	}
	fill(high)
	return slots
}

// wholeWaterline returns the whole slots of the jobs that live.
func wholeWaterline(p *Problem, live []bool) []float64 {
	slots := make([]float64, len(p.Jobs))
	slack := p.Slots
	for i, ok := range live {
		if ok {
			slots[i] = float64(p.Jobs[i].Min)
			slack -= p.Jobs[i].Min
		}
	}
	for ; slack > 0; slack-- {
		first := -1
		for i, ok := range live {
			if ok && slots[i] < float64(p.Jobs[i].Max) && (first < 0 || slots[i] < slots[first]) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		slots[first]++
	}
	return slots
}

// FIFO returns the schedule of arrival order without minima; maxima are kept (FLEX 4.1).
func FIFO(p *Problem) Schedule {
	free := *p
	free.Jobs = append([]Job(nil), p.Jobs...)
	order := make([]int, len(free.Jobs))
	for i := range free.Jobs {
		free.Jobs[i].Min, order[i] = 0, i
	}
	return free.Pack(order)
}
