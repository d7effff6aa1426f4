package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// policyFlags say who decides, and what is known of task times and sizes.
type policyFlags struct {
	policies  []string
	estimator string
	history   string
}

func (p *policyFlags) register(c *cobra.Command, estimator string) {
	f := c.Flags()
	f.StringArrayVar(
		&p.policies,
		"policy",
		[]string{"fifo"},
		"policy with its parameters, such as fair:delay=5s; several to compare by repeating the flag, or as a comma list without parameters",
	)
	usage := "where task times and job sizes come from: " + strings.Join(estimatorValues(), ", ")
	if estimator == "" {
		usage += " (default fspy for policies that have jobs probed, else mean)"
	}
	f.StringVar(&p.estimator, "estimator", estimator, usage)
	f.StringVar(
		&p.history,
		"history",
		"",
		"file that keeps what was learned from run to run (for --estimator "+estimatorsThat(keepsHistory)+")",
	)
	_ = c.RegisterFlagCompletionFunc("policy", fixedCompletion(sortedKeys(builtInPolicies())))
	_ = c.RegisterFlagCompletionFunc("estimator", fixedCompletion(estimatorValues()))
}

// parse checks the policies against what an engine can do.
func (p *policyFlags) parse(all policyEntries, on engineKind) ([]string, error) {
	specs, err := all.ParseList(p.policies)
	if err != nil {
		return nil, usageError{fmt.Errorf("--policy: %w", err)}
	}
	for _, s := range specs {
		_, card, err := all.Parse(s)
		if err != nil {
			return nil, err
		}
		if err := on.with(p.of(on, card).estimator).check(s, card.Needs); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// core makes policy and estimator for one run, and what is to be closed after it. The truth is nil where nobody knows
// it.
func (p *policyFlags) core(
	all policyEntries,
	spec string,
	truth *model.Truth,
) (c sched.Config, learned *historyFile, err error) {
	if c.Policy, _, err = all.Parse(spec); err == nil {
		c.Estimator, learned, err = p.newEstimator(truth)
	}
	return c, learned, err
}

// of returns the flags as they are meant for a policy on an engine: for one that runs jobs on this machine, where no
// estimator is named, fspy for one that has jobs probed, since the others learn nothing from probes, else mean.
func (p policyFlags) of(on engineKind, card policy.Card) policyFlags {
	switch {
	case on.verb != embedded.verb:
		return p
	case p.estimator != "":
	case card.Probes:
		p.estimator = "fspy"
	default:
		p.estimator = "mean"
	}
	p.estimator = withoutContainers(p.estimator)
	return p
}
