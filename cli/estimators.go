package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// An estimatorKind is what a name of --estimator stands for.
type estimatorKind struct {
	name    string
	example string // of parameters; "": it takes none
	local   string // a parameter that stands where tasks need no container and may take a millisecond, unless the user gives it; "": none
	knows   bool   // it is told the true sizes, which of real work nobody knows
	probes  bool   // it learns sizes from probes
	keeps   []byte // the bucket of a history in which a keeper's knowledge is kept; nil: it is none
	make    func(params string, truth *model.Truth) (sched.Estimator, error)
}

// estimators are all kinds, in the order in which they are offered.
var estimators = []estimatorKind{
	{
		name:  "oracle",
		knows: true,
		make:  func(_ string, truth *model.Truth) (sched.Estimator, error) { return &model.Oracle{Truth: *truth}, nil },
	},
	{
		name:    "noisy",
		example: "sigma=1",
		knows:   true,
		make: func(params string, truth *model.Truth) (sched.Estimator, error) {
			sigma, seed, err := noise(params)
			return &model.Noisy{Truth: *truth, Sigma: sigma, Seed: seed}, err
		},
	},
	{name: "mean", make: func(string, *model.Truth) (sched.Estimator, error) { return &model.Mean{}, nil }},
	{
		name:  "history",
		keeps: historyBucket,
		make:  func(string, *model.Truth) (sched.Estimator, error) { return newTaskTimes(), nil },
	},
	{
		name:    "fspy",
		example: "fit=relative",
		local:   "least=1ms",
		probes:  true,
		keeps:   modelsBucket,
		make: func(params string, _ *model.Truth) (sched.Estimator, error) {
			fit, err := fitting(params)
			return &sizeModels{FSPY: model.NewFSPY(fit)}, err
		},
	},
}

// estimatorOf returns the kind that a value of --estimator names, and the parameters there.
func estimatorOf(value string) (kind estimatorKind, params string, err error) {
	name, params, _ := strings.Cut(value, ":")
	for _, k := range estimators {
		if k.name == name {
			return k, params, nil
		}
	}
	return kind, "", usagef(
		"--estimator %q: must be %s",
		value,
		estimatorsThat(func(estimatorKind) bool { return true }),
	)
}

// estimatorsThat names the kinds of which something is so: a, b or c.
func estimatorsThat(is func(estimatorKind) bool) string {
	var names []string
	for _, k := range estimators {
		if is(k) {
			names = append(names, k.name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func keepsHistory(k estimatorKind) bool { return k.keeps != nil }

// estimatorValues are what is offered as values of --estimator.
func estimatorValues() (values []string) {
	for _, k := range estimators {
		values = append(values, k.name)
		if k.example != "" {
			values = append(values, k.name+":"+k.example)
		}
	}
	return values
}

// newEstimator makes the one for a run, and opens what it has learned before, which is to be closed after the run. The
// truth is nil where nobody knows it.
func (p *policyFlags) newEstimator(truth *model.Truth) (sched.Estimator, *historyFile, error) {
	k, params, err := estimatorOf(p.estimator)
	switch {
	case err != nil:
		return nil, nil, err
	case p.history != "" && k.keeps == nil:
		return nil, nil, usagef("--history is for --estimator %s", estimatorsThat(keepsHistory))
	case params != "" && k.example == "":
		return nil, nil, usagef(
			"--estimator %s: parameters are for %s",
			p.estimator,
			estimatorsThat(func(k estimatorKind) bool { return k.example != "" }),
		)
	case k.knows && truth == nil:
		return nil, nil, usagef(
			"--estimator %s: nobody knows the true sizes of real work before it is done; use %s",
			p.estimator,
			estimatorsThat(func(k estimatorKind) bool { return !k.knows }),
		)
	}
	e, err := k.make(params, truth)
	if err != nil || k.keeps == nil {
		return e, nil, err
	}
	file, err := openHistory(p.history, k.keeps, e.(keeper))
	return e, file, err
}

// withoutContainers returns a value of --estimator as it is meant where tasks need no container.
func withoutContainers(value string) string {
	k, params, err := estimatorOf(value)
	parameter, _, _ := strings.Cut(k.local, "=")
	switch {
	case err != nil || k.local == "" || strings.Contains(params, parameter+"="):
		return value
	case params != "":
		return value + "," + k.local
	}
	return k.name + ":" + k.local
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
				return c, usagef(
					"--estimator fspy:window=%s: must be a whole number of jobs from 1 to %d",
					value,
					mostWindow,
				)
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
