package theory

// Slots is the capacity of a cluster of fixed slots.
type Slots struct{ Map, Reduce int }

// SlotJob is a MapReduce job as counts and mean times of its tasks.
type SlotJob struct {
	Maps, Reduces       int     // >= 0
	MapTime, ReduceTime float64 // s, mean of one task, >= 0
}

// Flow returns the job as the two-machine model sees it: work ÷ slots for each stage (a slot count of zero is taken as
// one), with the mean as the longest task.
func (j SlotJob) Flow(s Slots) Flow {
	f := Flow{
		Map:    float64(j.Maps) * j.MapTime / float64(max(s.Map, 1)),
		Reduce: float64(j.Reduces) * j.ReduceTime / float64(max(s.Reduce, 1)),
	}
	if j.Maps > 0 {
		f.LongestMap = j.MapTime
	}
	if j.Reduces > 0 {
		f.LongestReduce = j.ReduceTime
	}
	return f
}

// Flows returns each job as the two-machine model sees it.
func Flows(jobs []SlotJob, s Slots) []Flow {
	flows := make([]Flow, len(jobs))
	for i, j := range jobs {
		flows[i] = j.Flow(s)
	}
	return flows
}

// Waves returns ceil(tasks ÷ slots), the rounds in which equal tasks run; slots > 0.
func Waves(tasks, slots int) int { return (tasks + slots - 1) / slots }

// StaticTime returns the time that the job takes alone when maps run on map slots and reduces on reduce slots only:
//
//	ceil(N_M/S_M)·t_M + ceil(N_R/S_R)·t_R
//
// Source: Tang, PhD thesis on DynamicMR, chapter 4. Slots are positive.
func (j SlotJob) StaticTime(s Slots) float64 {
	return float64(Waves(j.Maps, s.Map))*j.MapTime + float64(Waves(j.Reduces, s.Reduce))*j.ReduceTime
}

// PooledTime returns the time that the job takes alone when every slot runs either kind of task (DynamicMR's DHSA):
//
//	ceil(N_M/(S_M+S_R))·t_M + ceil(N_R/(S_M+S_R))·t_R
//
// It does not depend on how the slots are split.
func (j SlotJob) PooledTime(s Slots) float64 {
	all := s.Map + s.Reduce
	return j.StaticTime(Slots{all, all})
}
