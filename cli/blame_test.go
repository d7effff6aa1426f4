package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A faulty policy is fifo until a job has finished, and panics then.
type faulty struct{ sched.Policy }

func (f faulty) Decide(p *sched.Plan) {
	for i := range p.Events {
		if p.Events[i].Kind == sched.AttemptDone {
			var none []int
			_ = none[len(p.Events)]
		}
	}
	f.Policy.Decide(p)
}

// A panic while a policy decides is one sentence with the policy, the instant and how to see it again, exit status 1;
// the stack only comes on request.
func TestPolicyPanics(t *testing.T) {
	entry := policy.All["fifo"]
	whole := entry.New
	entry.New = func(a policy.Args) sched.Policy { return faulty{whole(a)} }
	faulted := With(Policy{Name: "panics-later", Entry: entry})
	in := writeFile(t, "in.txt", "a b\n")
	for _, args := range [][]string{
		{"sim", "--trace", generated(t), "--cluster", smallCluster, "--policy", "panics-later", "--record",
			filepath.Join(t.TempDir(), "run.rec")},
		{"run", "wordcount", "--input", in, "--output", "OUT", "--policy", "panics-later", "--progress", "never"},
	} {
		for _, verbose := range []bool{false, true} {
			all := slices.Clone(args)
			if i := slices.Index(all, "OUT"); i >= 0 {
				all[i] = filepath.Join(t.TempDir(), "out")
			}
			if verbose {
				all = append(all, "--verbose", "--overwrite")
			}
			status, _, errs := with(t, "", []Option{faulted}, all...)
			if status != statusFailed ||
				!strings.Contains(errs, "policy panics-later, or what it called, panicked when it decided "+
					"after event ") ||
				!strings.Contains(errs, "index out of range") {
				t.Errorf("sojourn %s: status %d, want 1: %s", strings.Join(all, " "), status, errs)
			}
			if shown := strings.Contains(errs, "faulty.Decide"); shown != verbose {
				t.Errorf("verbose %v: the stack is shown: %v", verbose, shown)
			}
		}
	}
}
