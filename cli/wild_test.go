package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// wild starts tasks wherever there is room, and resumes attempts that were never suspended.
type wild struct{}

func (wild) Decide(p *sched.Plan) {
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			for n := p.First(st); st.Pending > 0 && n != nil && p.Launch(st, n); n = p.First(st) {
			}
			for a := range p.Attempts(st) {
				p.Resume(a)
			}
		}
	}
}

// What a policy asked for in vain is said with the reason, by the simulator and by the embedded engine.
func TestInvalidActionsAreTold(t *testing.T) {
	add := []Option{With(Policy{"wild", policy.Entry{
		Card: policy.Card{Title: "resumes what runs"},
		New:  func(policy.Args) sched.Policy { return wild{} },
	}})}
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(in, []byte("a b a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for verb, args := range map[string][]string{
		"sim": {"--trace", generated(t), "--cluster", "nodes=10,map-slots=2,reduce-slots=1"},
		"run": {"wordcount", "--input", in, "--output", out},
	} {
		_, _, errs := with(t, "", add, append([]string{verb, "--policy", "wild"}, args...)...)
		for _, want := range []string{"invalid, a defect of the policy; the first: resume", "suspended"} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s says %q, want %q", verb, errs, want)
			}
		}
	}
}
