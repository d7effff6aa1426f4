package predict

// Slotted are some equal tasks of a time in seconds, and the slots of the cluster that may run them.
type Slotted struct {
	Tasks int
	Time  float64
	Slots int
}

// time returns how long the tasks take on all slots, in seconds, without whole waves.
func (s Slotted) time() float64 {
	if s.Tasks == 0 {
		return 0
	}
	return float64(s.Tasks) * s.Time / float64(s.Slots)
}

// HerodotouTime returns a job's time by the static cost model alone (Herodotou, 2011; spec 13): all maps as if on all
// map slots at once, then all reduces on all reduce slots. It knows neither contention nor whole waves.
func HerodotouTime(maps, reduces Slotted) float64 { return maps.time() + reduces.time() }

// Waves are some tasks of a mean and a largest time, in seconds.
type Waves struct {
	Tasks         int
	Mean, Largest float64
}

// An ARIAJob is the profile of a job that ARIA's bounds need (Verma, Cherkasova and Campbell, 2011; spec 13).
type ARIAJob struct {
	Maps, Reduces Waves
	FirstShuffle  Waves // of the first wave of reduces, what of the shuffle no map hides; Tasks is not used
	Shuffle       Waves // of later waves
}

// Bounds of a job's time, in seconds.
type Bounds struct{ Low, Mean, High float64 }

// Bounds returns the bounds on the job's time with some slots for maps and for reduces. Greedy assignment of n tasks
// to k slots ends between n·mean/k and (n−1)·mean/k + largest.
func (j *ARIAJob) Bounds(mapSlots, reduceSlots int) Bounds {
	low := func(w Waves, slots int) float64 { return float64(w.Tasks) * w.Mean / float64(slots) }
	high := func(w Waves, slots int) float64 {
		return max(0, float64(w.Tasks-1)*w.Mean/float64(slots)) + w.Largest
	}
	b := Bounds{Low: low(j.Maps, mapSlots), High: high(j.Maps, mapSlots)}
	if n := float64(j.Reduces.Tasks); n > 0 {
		k := float64(reduceSlots)
		b.Low += j.FirstShuffle.Mean + max(0, n/k-1)*j.Shuffle.Mean + low(j.Reduces, reduceSlots)
		b.High += j.FirstShuffle.Largest + max(0, ((n-1)/k-1)*j.Shuffle.Mean+j.Shuffle.Largest) +
			high(j.Reduces, reduceSlots)
	}
	b.Mean = (b.Low + b.High) / 2
	return b
}
