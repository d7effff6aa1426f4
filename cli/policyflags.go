package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

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
	f.StringArrayVar(&p.policies, "policy", []string{"fifo"}, "policy with its parameters, such as fair:delay=5s; several to compare by repeating the flag, or as a comma list without parameters")
	usage := "where task times and job sizes come from: " + strings.Join(estimators, ", ")
	if estimator == "" {
		usage += " (default fspy for policies that have jobs probed, else mean)"
	}
	f.StringVar(&p.estimator, "estimator", estimator, usage)
	f.StringVar(&p.history, "history", "", "file that keeps what was learned from run to run (for --estimator history or fspy)")
	_ = c.RegisterFlagCompletionFunc("policy", fixedCompletion(sortedKeys(builtInPolicies())))
	_ = c.RegisterFlagCompletionFunc("estimator", fixedCompletion(estimators))
}

// estimators are the values of --estimator, with an example of parameters where there are any.
var estimators = []string{"oracle", "noisy:sigma=1", "mean", "history", "fspy", "fspy:fit=relative"}

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
	case p.history != "" && name != "history" && name != "fspy":
		return c, nil, usagef("--history is for --estimator history or fspy")
	case params != "" && name != "noisy" && name != "fspy":
		return c, nil, usagef("--estimator %s: only noisy and fspy take parameters", p.estimator)
	case (name == "oracle" || name == "noisy") && truth == nil:
		return c, nil, usagef("--estimator %s: nobody knows the true sizes of real work before it is done; use mean, history or fspy", p.estimator)
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
		times := newTaskTimes()
		c.Estimator = times
		file, err := openHistory(p.history, historyBucket, times)
		return c, file, err
	case "fspy":
		fit, err := fitting(params)
		if err != nil {
			return c, nil, err
		}
		models := &sizeModels{FSPY: model.NewFSPY(fit)}
		c.Estimator = models
		file, err := openHistory(p.history, modelsBucket, models)
		return c, file, err
	default:
		return c, nil, usagef("--estimator %q: must be oracle, noisy:sigma=1, mean, history or fspy", p.estimator)
	}
	return c, nil, nil
}

// fitting reads fit=relative,window=500,least=1s.
func fitting(params string) (c model.FitConfig, err error) {
	c = model.DefaultFit
	if params == "" {
		return c, nil
	}
	for part := range strings.SplitSeq(params, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch {
		case key == "fit" && value == "equal":
			c.Weighting = model.Equal
		case key == "fit" && value == "relative":
			c.Weighting = model.Relative
		case key == "fit":
			return c, usagef("--estimator fspy:fit=%s: must be equal or relative", value)
		case key == "window":
			if c.Window, err = strconv.Atoi(value); err != nil || c.Window < 1 || c.Window > mostWindow {
				return c, usagef("--estimator fspy:window=%s: must be a whole number of jobs from 1 to %d", value, mostWindow)
			}
		case key == "least":
			least, err := time.ParseDuration(value)
			if err != nil || least < 0 {
				return c, usagef("--estimator fspy:least=%s: must be a time, such as 1s or 1ms", value)
			}
			c.Least = least.Seconds()
		default:
			return c, usagef("--estimator fspy: parameter %q: there are fit, window and least", key)
		}
	}
	return c, nil
}

// of returns the flags as they are meant for a policy on an engine: for one that runs jobs on this machine, where no estimator is named, fspy for one that has
// jobs probed, since the others learn nothing from probes, else mean.
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

// withoutContainers has fspy know of an engine whose tasks need no container, and may take a millisecond, unless the user has said what they take at least.
func withoutContainers(estimator string) string {
	name, params, any := strings.Cut(estimator, ":")
	switch {
	case name != "fspy" || strings.Contains(params, "least="):
		return estimator
	case any:
		return estimator + ",least=1ms"
	}
	return "fspy:least=1ms"
}

// mostWindow bounds what a fit looks at: it costs as much time as jobs.
const mostWindow = 100_000

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
