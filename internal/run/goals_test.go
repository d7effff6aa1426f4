package run

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// misledRun is drawnRun with goals, some of them out of reach, and with much that is wrong: profiles say that tasks use
// what they do not, and name hardware that makes them slower; nodes are lost and return; nodes of one class offer less
// at times, in the third quarter of each minute as little as lowest, and the forecast knows nothing of that.
func misledRun(t *testing.T, seed uint64, lowest int64) sim.Config {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 19))
	config := drawnRun(t, seed)
	var jobs []*sched.JobSpec
	for j, err := range config.Jobs {
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(3) > 0 {
			j.Deadline = sched.Time(1+r.IntN(300)) * time.Second
		}
		if r.IntN(3) > 0 {
			j.Profile = &sched.Profile{Accelerators: [][]string{nil, {"fast"}, {"none", "fast"}, {"plain"}}[r.IntN(4)]}
			for ph := range j.Profile.Phases {
				if r.IntN(2) == 0 {
					j.Profile.Phases[ph] = sched.Resources{sched.VCores: r.Int64N(9), sched.Memory: r.Int64N(8) << 10,
						sched.DiskIO: r.Int64N(1_500_000), sched.NetworkIO: r.Int64N(1_500_000)}
				}
			}
		}
		truth := j.Payload.(*workload.Truth)
		for i := range truth.Stages {
			truth.Stages[i].Speeds = []workload.ClassSpeed{{Class: "fast", Speed: 0.3}}
		}
		jobs = append(jobs, j)
	}
	config.Jobs = workload.Of(jobs...)
	config.Costs.Faults = sim.Faults{MTBF: 2 * time.Minute, MTTR: 15 * time.Second}
	config.Costs.Reporting.Heartbeat = []sched.Time{0, time.Second}[r.IntN(2)]
	part := func(gib int64) sched.Resources {
		return sched.Resources{sched.Memory: gib << 10, sched.VCores: gib}
	}
	table := func(period time.Duration, steps ...int64) *sched.Forecast {
		var list []sched.Supply
		for i, gib := range steps {
			from := sched.Time(i) * period / sched.Time(len(steps))
			list = append(list, sched.Supply{From: from, Capacity: part(gib)})
		}
		f, err := sched.NewForecast(period, list...)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	config.Timetables = map[string]*sched.Forecast{"plain": table(time.Minute, 4, 3, lowest, 2)}
	config.MostEvents = 1_000_000 // where a job stands still, cycles and nodes that return go on for ever
	config.Core.Forecast = table(70*time.Second, 0, 15, 2, 0, 30)
	return config
}

// losses counts what a run loses: jobs that do not succeed, and attempts that the policy ends.
type losses struct {
	view  *sched.View
	jobs  int
	kills int
	why   string
}

// Attach implements record.Follower.
func (l *losses) Attach(v *sched.View) { l.view = v }

// Record implements sched.Recorder.
func (l *losses) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	for i := range events {
		if e := &events[i]; e.Kind == sched.JobEnded {
			l.jobs++
			j := l.view.Job(e.Job)
			uber := j.Spec.Payload.(*workload.Truth).Uber // its master does its tasks
			for _, st := range j.Stages {
				if e.Outcome != sched.OK || st.Done < st.Total && !uber {
					l.why = fmt.Sprintf("at %v job %d ends %v, %d of %d tasks done", now, e.Job, e.Outcome, st.Done,
						st.Total)
				}
			}
		}
	}
	for i := range actions {
		if actions[i].Kind == sched.Kill {
			l.kills++
		}
	}
}

// Policies that steer by goals lose no job where nodes are lost and forecasts and profiles are wrong, and end no
// attempt unless they are told to. Then each node offers 2 GiB or more, so that its oldest map is never ended.
func TestMisledPoliciesLoseNothing(t *testing.T) {
	seeds := longtest.Few[uint64](8, 16)
	for _, policy := range []string{
		"adaptive:delays=2", "adaptive:shortage=fewest", "hardware", "hardware:calibrate=also", "ras:cycle=5s",
		"reverse:cycle=5s", "reverse:cycle=5s,burst=suspend", "reverse:cycle=3s,burst=kill,trigger=off",
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			kills, killed := strings.Contains(policy, "burst=kill"), 0
			for seed := range seeds {
				lowest := int64(0)
				if kills {
					lowest = 2
				}
				config, lost := misledRun(t, seed, lowest), &losses{}
				jobs := 0
				_, err := Simulate(t.Context(), Setup{Names: BuiltIn, Choice: Choice{policy, "mean"},
					Forecast: config.Core.Forecast, Watch: []record.Follower{lost},
					Row: func(*record.JobRow) { jobs++ }}, config)
				switch {
				case err != nil:
					t.Errorf("seed %d: %v", seed, err)
				case lost.why != "" || jobs < 6 || lost.jobs != jobs:
					t.Errorf("seed %d: %d jobs, %d ended; %s", seed, jobs, lost.jobs, lost.why)
				}
				killed += lost.kills
			}
			if kills != (killed > 0) {
				t.Errorf("the policy ends %d attempts", killed)
			}
		})
	}
}
