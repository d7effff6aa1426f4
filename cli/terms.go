package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/sched"
)

// termFlags say when a single job is due and what finishing late costs, in the words of sched.JobSpec.SetTerm.
type termFlags struct{ deadline, goal, weight string }

func (f *termFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.deadline, "deadline", "", "when a single job should be over, from its submission on, such as 90s "+
		"(or -D sojourn.deadline=90s)")
	fl.StringVar(&f.goal, "goal", "", "what finishing late costs a single job: response, stretch, tardy, tardiness, "+
		"lateness, or costs by the time that it takes, as 5m:1/10m:4 (or -D sojourn.goal=...)")
	fl.StringVar(&f.weight, "weight", "", "weight of that cost, 1 unless said (or -D sojourn.weight=2)")
	completeFlag(c, "goal", "response", "stretch", "tardy", "tardiness", "lateness")
}

// termsPrefix begins the keys of a configuration that say what these flags say.
const termsPrefix = "sojourn."

// spec returns a job with the terms that the keys of its configuration say and the flags, which go before keys. It
// takes those keys out of conf, because they are not for the job's program.
func (f *termFlags) spec(name string, conf map[string]string) (*sched.JobSpec, error) {
	spec := &sched.JobSpec{Name: name}
	for _, key := range sortedKeys(conf) {
		term, ours := strings.CutPrefix(key, termsPrefix)
		if !ours {
			continue
		}
		known, err := spec.SetTerm(term, conf[key])
		if !known {
			err = errors.New("there is no such key; there are sojourn.deadline, sojourn.goal, sojourn.weight, " +
				"sojourn.delays, sojourn.accelerators, and the phases of a task, as sojourn.map")
		}
		if err != nil {
			return nil, usageError{fmt.Errorf("-D %s=%s: %w", key, conf[key], err)}
		}
		delete(conf, key)
	}
	for _, flag := range [][2]string{{"deadline", f.deadline}, {"goal", f.goal}, {"weight", f.weight}} {
		if term, value := flag[0], flag[1]; value != "" {
			if _, err := spec.SetTerm(term, value); err != nil {
				return nil, usageError{fmt.Errorf("--%s %s: %w", term, value, err)}
			}
		}
	}
	if err := spec.ValidateTerms(); err != nil {
		return nil, usageError{fmt.Errorf("--deadline, --goal and --weight of %s: %w", name, err)}
	}
	return spec, nil
}
