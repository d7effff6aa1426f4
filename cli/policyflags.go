package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/sched"
)

// policyFlags say who decides, and what is known of task times and sizes.
type policyFlags struct {
	policies  []string
	estimator string
	history   string
}

// register registers the flags for a program that knows some names; estimator is the default, "" one by the policy.
func (p *policyFlags) register(c *cobra.Command, names run.Names, estimator string) {
	f := c.Flags()
	f.StringArrayVar(
		&p.policies,
		"policy",
		[]string{"fifo"},
		"policy with its parameters, such as fair:delay=5s; several to compare by repeating the flag, or as a comma "+
			"list without parameters",
	)
	examples := names.Estimators.Examples()
	usage := "where task times and job sizes come from: " + strings.Join(examples, ", ")
	if estimator == "" {
		usage += " (default fspy for policies that ask for probes, else mean)"
	}
	f.StringVar(&p.estimator, "estimator", estimator, usage)
	f.StringVar(&p.history, "history", "", "file that keeps what was learned from run to run (for --estimator "+
		names.Estimators.Which(run.Keeps)+")")
	_ = c.RegisterFlagCompletionFunc("policy", policyCompletion(names.Policies))
	completeFlag(c, "estimator", examples...)
}

// keepIn makes a folder for what outlives a run; what the estimator learns is kept there too, unless --history says
// where. Without a folder nothing is kept.
func (p *policyFlags) keepIn(state string, names run.Names) error {
	if state == "" {
		return nil
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	if e, err := names.Estimators.Find(p.estimator); err == nil && run.Keeps(e) && p.history == "" {
		p.history = filepath.Join(state, "history.db")
	}
	return nil
}

// parse checks the policies against what an engine can do.
func (p *policyFlags) parse(names run.Names, on run.Engine) ([]string, error) {
	specs, err := names.Policies.ParseList(p.policies)
	if err != nil {
		return nil, usageError{fmt.Errorf("--policy: %w", err)}
	}
	for _, s := range specs {
		if err := names.Check(on, p.choice(s)); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// choice returns the choice of one of the policies.
func (p *policyFlags) choice(policy string) run.Choice {
	return run.Choice{Policy: policy, Estimator: p.estimator}
}

// check refuses an estimator that the engine cannot use. Before, it prints remarks on policies, estimator, engine and
// cluster that do not fit together. A nil capacity is not looked at.
func (p *policyFlags) check(a *app, policies []string, on run.Engine, capacity *sched.Resources) error {
	for _, s := range policies {
		for _, remark := range a.names.Remarks(on, p.choice(s), capacity) {
			a.remark("%s", remark)
		}
	}
	for _, s := range policies {
		setup := run.Setup{Engine: on, Names: a.names, Choice: p.choice(s), History: p.history}
		if err := setup.Check(); err != nil {
			return usageError{err}
		}
	}
	return nil
}

// stack prints the stack of a policy's panic, where the user wants to see more.
func (a *app) stack(err error, verbose bool) {
	if p := (run.Panic{}); verbose && errors.As(err, &p) {
		fmt.Fprintf(a.Err, "%s", p.Stack)
	}
}
