package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/mr/jobs"
	"github.com/sojourn-sched/sojourn/policy"
)

// An Option changes what the program knows.
type Option func(*app)

// An Addition is a Job, a Policy or an Estimator that the program knows besides its own.
type Addition interface{ addTo(*app) }

// With adds jobs, policies and estimators. A name that is taken already is a mistake in the program, and panics.
func With(additions ...Addition) Option {
	return func(a *app) {
		for _, x := range additions {
			x.addTo(a)
		}
	}
}

// A Job is a MapReduce job that `sojourn run NAME` runs.
type Job struct {
	Name  string
	Entry jobs.Entry
}

func (j Job) addTo(a *app) { add(a.jobs, "job", j.Name, j.Entry) }

// A Policy is one that --policy NAME chooses.
type Policy struct {
	Name  string
	Entry policy.Entry
}

func (p Policy) addTo(a *app) { add(a.names.Policies, "policy", p.Name, p.Entry) }

// An Estimator is one that --estimator NAME chooses.
type Estimator struct {
	Name  string
	Entry model.Entry
}

func (e Estimator) addTo(a *app) { add(a.names.Estimators, "estimator", e.Name, e.Entry) }

func add[T any](to map[string]T, what, name string, entry T) {
	if _, taken := to[name]; taken || name == "" {
		panic(fmt.Sprintf("cli: %s %q is empty or there already", what, name))
	}
	to[name] = entry
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
