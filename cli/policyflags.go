package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/model"
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
	f.StringArrayVar(&p.policies, "policy", []string{"fifo"}, "policy with its parameters, such as fair:delay=5s; several to compare by repeating the flag, or as a comma list without parameters")
	f.StringVar(&p.estimator, "estimator", estimator, "where task times and job sizes come from: oracle, noisy:sigma=1, mean, history")
	f.StringVar(&p.history, "history", "", "file that keeps what was learned of task times (for --estimator history)")
	_ = c.RegisterFlagCompletionFunc("policy", fixedCompletion(sortedKeys(builtInPolicies())))
	_ = c.RegisterFlagCompletionFunc("estimator", fixedCompletion([]string{"oracle", "noisy:sigma=1", "mean", "history"}))
}

// parse checks the policies against what an engine can do.
func (p *policyFlags) parse(all policyEntries, has sched.Powers, engine string) ([]string, error) {
	specs, err := all.ParseList(p.policies)
	if err != nil {
		return nil, usageError{fmt.Errorf("--policy: %w", err)}
	}
	for _, s := range specs {
		_, card, err := all.Parse(s)
		if err != nil {
			return nil, err
		}
		if err := checkPowers(s, card.Needs, has, engine); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// truths are what the oracle is told; nil where nobody knows.
type truths = *model.Truth

// core makes policy and estimator for one run, and what is to be closed after it.
func (p *policyFlags) core(all policyEntries, spec string, truth truths) (sched.Config, *historyFile, error) {
	var c sched.Config
	var err error
	if c.Policy, _, err = all.Parse(spec); err != nil {
		return c, nil, err
	}
	name, params, _ := strings.Cut(p.estimator, ":")
	switch {
	case p.history != "" && name != "history":
		return c, nil, usagef("--history is for --estimator history")
	case params != "" && name != "noisy":
		return c, nil, usagef("--estimator %s: only noisy takes parameters", p.estimator)
	case (name == "oracle" || name == "noisy") && truth == nil:
		return c, nil, usagef("--estimator %s: nobody knows the true sizes of real work before it is done; use mean or history", p.estimator)
	}
	switch name {
	case "oracle":
		c.Estimator = &model.Oracle{Truth: *truth}
	case "noisy":
		sigma, seed, err := noise(params)
		if err != nil {
			return c, nil, err
		}
		c.Estimator = &model.Noisy{Truth: *truth, Sigma: sigma, Seed: seed}
	case "mean":
		c.Estimator = &model.Mean{}
	case "history":
		h, err := openHistory(p.history)
		if err != nil {
			return c, nil, err
		}
		c.Estimator = h.estimator
		return c, h, nil
	default:
		return c, nil, usagef("--estimator %q: must be oracle, noisy:sigma=1, mean or history", p.estimator)
	}
	return c, nil, nil
}

// noise reads sigma=1,seed=7.
func noise(params string) (sigma float64, seed uint64, err error) {
	sigma, seed = 1, 1
	if params == "" {
		return sigma, seed, nil
	}
	for part := range strings.SplitSeq(params, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "sigma":
			if sigma, err = strconv.ParseFloat(value, 64); err != nil || !(sigma >= 0 && sigma <= 100) {
				return 0, 0, usagef("--estimator noisy:sigma=%s: must be a number from 0 to 100", value)
			}
		case "seed":
			if seed, err = strconv.ParseUint(value, 10, 64); err != nil {
				return 0, 0, usagef("--estimator noisy:seed=%s: must be a whole number, 0 or more", value)
			}
		default:
			return 0, 0, usagef("--estimator noisy: parameter %q: there are sigma and seed", key)
		}
	}
	return sigma, seed, nil
}

// needsProgress reports whether a policy looks at the progress of attempts.
func needsProgress(spec string) bool {
	return strings.Contains(spec, "late") || strings.Contains(spec, "dynamicmr")
}
