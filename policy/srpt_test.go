package policy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// oneSlotJob is a job of map tasks for one slot, in seconds.
type oneSlotJob struct {
	at    int
	tasks []int
}

// size returns the time that all tasks take one after the other.
func (j oneSlotJob) size() (sum int) {
	for _, t := range j.tasks {
		sum += t
	}
	return sum
}

// optimum returns the smallest possible sum of completion times on one slot, by trying at each second every job that
// has come and is not done. Nothing is gained by a change between two seconds, since all times are whole.
func optimum(jobs []oneSlotJob) int {
	memo := map[string]int{}
	var best func(now int, left []int) int
	best = func(now int, left []int) int {
		key := fmt.Sprint(now, left)
		if v, ok := memo[key]; ok {
			return v
		}
		least, open, ready := -1, false, false
		for i := range jobs {
			if left[i] == 0 {
				continue
			}
			open = true
			if jobs[i].at > now {
				continue
			}
			ready = true
			left[i]--
			sum := best(now+1, left)
			if left[i] == 0 {
				sum += now + 1
			}
			left[i]++
			if least < 0 || sum < least {
				least = sum
			}
		}
		switch {
		case !open:
			least = 0
		case !ready:
			least = best(now+1, left)
		}
		memo[key] = least
		return least
	}
	left := make([]int, len(jobs))
	for i, j := range jobs {
		left[i] = j.size()
	}
	return best(0, left)
}

// completions returns the sum of the completion times of jobs under a policy on so many slots, in seconds. The policy
// is told the true mean of each job's tasks.
func completions(t *testing.T, spec string, slots int64, jobs []oneSlotJob) float64 {
	t.Helper()
	s := policytest.Setup{
		Nodes: []sched.NodeSpec{{Name: "n1", Rack: 1, Capacity: sched.Resources{sched.MapSlots: slots}}},
		Can:   sched.CanSuspend | sched.CanKill,
	}
	times := map[*sched.JobSpec][]int{}
	for i, j := range jobs {
		spec := &sched.JobSpec{Name: fmt.Sprint("j", i+1), Submit: sched.Time(j.at) * time.Second,
			Stages: []sched.StageSpec{{
				Kind: sched.Map, Tasks: int32(len(j.tasks)), MaxAttempts: 4,
				PerTask: sched.Resources{sched.MapSlots: 1},
				Prior:   sched.Time(j.size()) * time.Second / sched.Time(len(j.tasks)),
			}}}
		times[spec] = j.tasks
		s.Jobs = append(s.Jobs, spec)
	}
	s.Take = func(x policytest.Try) (sched.Time, sched.Outcome) {
		return sched.Time(times[x.Job][x.Task-1]) * time.Second, sched.OK
	}
	res, err := policytest.Run(s, parsed(t, spec))
	if err != nil {
		t.Fatal(err)
	}
	sum := sched.Time(0)
	for _, e := range res.Ends {
		sum += e.At
	}
	return sum.Seconds()
}

// On one slot with exact sizes, srpt with suspension reaches the least possible sum of completion times (Schrage 1968).
// The tasks of a job take equally long, so that the mean tells the size of each exactly.
func TestSRPTIsOptimalOnOneSlot(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		var jobs []oneSlotJob
		for range 2 + r.IntN(3) {
			j := oneSlotJob{at: r.IntN(9), tasks: make([]int, 1+r.IntN(3))}
			each := 1 + r.IntN(5)
			for i := range j.tasks {
				j.tasks[i] = each
			}
			jobs = append(jobs, j)
		}
		jobs[0].at = 0
		sortByArrival(jobs)
		if got, want := completions(t, "srpt:preempt=suspend", 1, jobs), float64(optimum(jobs)); got != want {
			t.Errorf("seed %d: %v end after %v s in sum, the optimum is %v", seed, jobs, got, want)
		}
	}
}

// On several slots, too, suspension shortens the mean: tasks of very different lengths come at random.
func TestSRPTSuspensionHelpsOnManySlots(t *testing.T) {
	off, suspend := 0.0, 0.0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		var jobs []oneSlotJob
		at := 0
		for range 60 {
			at += r.IntN(20)
			j := oneSlotJob{at: at, tasks: make([]int, 1+r.IntN(4))}
			each := 1 << r.IntN(7)
			for i := range j.tasks {
				j.tasks[i] = each
			}
			jobs = append(jobs, j)
		}
		off += completions(t, "srpt", 4, jobs)
		suspend += completions(t, "srpt:preempt=suspend", 4, jobs)
	}
	if t.Logf("%.0f s without and %.0f s with suspension", off, suspend); suspend >= off {
		t.Errorf("completion times of %.0f s in sum with suspension, of %.0f s without", suspend, off)
	}
}

func sortByArrival(jobs []oneSlotJob) {
	for i := range jobs {
		for k := i; k > 0 && jobs[k].at < jobs[k-1].at; k-- {
			jobs[k], jobs[k-1] = jobs[k-1], jobs[k]
		}
	}
}
