package jobs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// restless is a policy that starts what it can in order of submission, and now and then kills, suspends or resumes some
// attempt at random.
type restless struct {
	sched.Policy // the order
	random       *rand.Rand
	killed       int
	suspended    int
}

func (r *restless) Decide(p *sched.Plan) {
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			for a := range p.Attempts(st) {
				switch n := r.random.IntN(40); {
				case n == 0 && (a.State == sched.Running || a.State == sched.Suspended) && p.Kill(a, 0):
					r.killed++
				case n == 1 && a.State == sched.Running && p.Suspend(a):
					r.suspended++
				case n > 30 && a.State == sched.Suspended:
					p.Resume(a)
				}
			}
		}
	}
	r.Policy.Decide(p)
	p.Wake(p.Now + sched.Time(2*time.Millisecond)) // whatever happens, suspended attempts are resumed
}

// A mix is several jobs at once, on little memory for all.
type mix struct {
	policy string // "restless", or as of policy.Parse
	counts int    // word counts, which fold and spill
	sorts  int    // small sorts
	seed   uint64
	misled bool // jobs have goals, and profiles and a forecast that are wrong
}

// mislead gives a job a goal that it may not meet, hardware that it has no code for, and a profile that says of its
// tasks what is not so.
func mislead(spec *sched.JobSpec, r *rand.Rand) {
	spec.Deadline = time.Duration(1+r.IntN(4000)) * time.Millisecond
	spec.Profile = &sched.Profile{Accelerators: []string{"other"}}
	for ph := range spec.Profile.Phases {
		spec.Profile.Phases[ph] = sched.Resources{sched.VCores: r.Int64N(6), sched.Memory: r.Int64N(12),
			sched.DiskIO: r.Int64N(1_500_000), sched.NetworkIO: r.Int64N(1_500_000)}
	}
}

// wrongForecast says that a node of so many cores offers all and nothing in turns of a fifth of a second.
func wrongForecast(t *testing.T, cores int64) *sched.Forecast {
	t.Helper()
	f, err := sched.NewForecast(400*time.Millisecond,
		sched.Supply{Capacity: sched.Resources{sched.VCores: cores, sched.Memory: 2 * cores}},
		sched.Supply{From: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// run runs the mix under chaos, and compares every output with its reference.
func (m mix) run(t *testing.T) {
	t.Helper()
	const slots = 3
	memory, err := mr.NewMemory(60<<20, 2*slots) // as many again may be suspended: 2 MiB for an attempt
	if err != nil {
		t.Fatal(err)
	}
	one := sched.Resources{sched.VCores: 1, sched.Memory: 1}
	place := mr.Site{Memory: memory, Map: one, Reduce: one, Cores: slots}
	dir := t.TempDir()
	big := large(text)
	counted := refWordCount(big)
	paths := big.write(t)
	var jobs []mr.Submission
	var outputs []string
	var want [][]string
	add := func(name string, submit time.Duration, paths []string, split int, reduces int, wanted []string) {
		job, err := All[name].New(mr.Conf{
			"mapreduce.input.fileinputformat.split.maxsize": fmt.Sprint(split),
			"mapreduce.input.fileinputformat.split.minsize": "1",
		})
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, fmt.Sprintf("%s-%d", name, len(jobs)))
		work, err := mr.Open(mr.Order{Job: job, Input: paths, Output: out, Reduces: reduces}, place)
		if err != nil {
			t.Fatal(err)
		}
		spec := &sched.JobSpec{Name: filepath.Base(out), Submit: sched.Time(submit), Open: job.Next != nil}
		if m.misled {
			mislead(spec, rand.New(rand.NewPCG(m.seed, uint64(len(jobs)))))
		}
		jobs = append(jobs, mr.Submission{Spec: spec, Work: work})
		outputs, want = append(outputs, out), append(want, wanted)
	}
	for i := range m.counts {
		add("wordcount", time.Duration(i)*5*time.Millisecond, paths, 400_000, 2, counted)
	}
	for i := range m.sorts {
		in := corpus{"lines": junk(m.seed+uint64(i), 20_000+1000*i, "abcdefgh \n")}
		add("sort", time.Duration(i)*2*time.Millisecond, in.write(t), 8_000, 2, refSort(in))
	}
	core := sched.Config{Estimator: &model.Mean{}}
	nodes := []sched.NodeSpec{
		{Class: "c", Capacity: sched.Resources{sched.VCores: slots, sched.Memory: 2 * slots}},
	}
	if m.misled {
		core.Forecast = wrongForecast(t, slots+1)
		nodes = append(nodes, sched.NodeSpec{Class: "other",
			Capacity: sched.Resources{sched.VCores: 1, sched.Memory: 2}})
	}
	wild := &restless{random: rand.New(rand.NewPCG(m.seed, 3))}
	if m.policy == "restless" {
		if wild.Policy, _, err = policy.Parse("fifo"); err != nil {
			t.Fatal(err)
		}
		core.Policy = wild
	} else if core.Policy, _, err = policy.Parse(m.policy); err != nil {
		t.Fatal(err)
	}
	service := rand.New(rand.NewPCG(m.seed, 4))
	results, err := mr.Serve(t.Context(), mr.Config{
		Core:  core,
		Nodes: nodes,
		Chaos: mr.Chaos{Rate: 0.15, Seed: m.seed},
		Offers: func(ctx context.Context, tell func(sched.NodeID, sched.Resources, float64)) {
			for ctx.Err() == nil {
				cores := service.Int64N(slots + 1)
				tell(1, sched.Resources{sched.VCores: cores, sched.Memory: 2 * slots}, float64(cores)/slots)
				time.Sleep(time.Duration(1+3*cores) * time.Millisecond)
			}
		},
	}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Outcome != sched.OK {
			t.Fatalf("%s ended %v: %v", jobs[i].Spec.Name, r.Outcome, r.Err)
		}
		got, wanted := string(joined(readParts(t, outputs[i]))), strings.Join(want[i], "\n")+"\n"
		if strings.HasPrefix(jobs[i].Spec.Name, "wordcount") { // parts are sorted each for itself
			got, wanted = string(sorted([]byte(got))), string(sorted([]byte(wanted)))
		}
		if got != wanted {
			t.Errorf("%s: %d lines, want %d, or in another order", jobs[i].Spec.Name, strings.Count(got, "\n"),
				strings.Count(wanted, "\n"))
		}
	}
	if used := memory.InUse(); used != 0 {
		t.Errorf("%d bytes of memory are still in use", used)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if m.policy == "restless" && (wild.killed == 0 || wild.suspended == 0) {
		t.Errorf("%d attempts were killed, %d suspended", wild.killed, wild.suspended)
	}
	if err := memory.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMixUnderGoals is TestMix under the policies that steer by goals, which know nothing right: jobs have goals that
// they may not meet and profiles of other jobs, and the forecast is another node's.
func TestMixUnderGoals(t *testing.T) {
	for i, name := range []string{
		"adaptive:delays=1", "adaptive:shortage=fewest", "hardware:epoch=0s", "ras:cycle=50ms",
		"reverse:cycle=50ms,burst=suspend", "reverse:cycle=50ms,burst=kill",
	} {
		t.Run(name, func(t *testing.T) {
			mix{policy: name, counts: 3, sorts: 12, seed: uint64(i), misled: true}.run(t)
		})
	}
}

// TestMix runs several jobs at once, on little memory for all, while attempts are killed, suspended, slowed and lost,
// and outputs of maps are lost: no job fails or stands still, every output is that of its reference, and no memory is
// kept.
// With SOJOURN_PROPERTY_FOR=1h it goes on with new seeds for an hour.
func TestMix(t *testing.T) {
	long, _ := time.ParseDuration(os.Getenv("SOJOURN_PROPERTY_FOR"))
	end := time.Now().Add(long)
	for seed := uint64(1); seed == 1 || time.Now().Before(end) && !t.Failed(); seed++ {
		for _, name := range []string{"restless", "srpt:preempt=kill", "srpt:preempt=suspend"} {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				mix{policy: name, counts: 3, sorts: 20, seed: seed}.run(t)
			})
		}
	}
}
