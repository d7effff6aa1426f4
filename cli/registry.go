package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn/mr/jobs"
	"github.com/sojourn-sched/sojourn/policy"
)

type (
	jobEntries    = map[string]jobs.Entry
	policyEntries = policy.Registry
)

// An Option changes what the program knows.
type Option func(*app)

// An Addition is a Job or a Policy that the program is to know besides its own.
type Addition interface{ addTo(*app) }

// With adds jobs and policies. A name that is taken already is a mistake in the program, and panics.
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

func (p Policy) addTo(a *app) { add(a.policies, "policy", p.Name, p.Entry) }

func add[T any](to map[string]T, what, name string, entry T) {
	if _, taken := to[name]; taken || name == "" {
		panic(fmt.Sprintf("cli: %s %q is empty or there already", what, name))
	}
	to[name] = entry
}

func builtInJobs() jobEntries { return maps.Clone(jobs.All) }

func builtInPolicies() policyEntries { return maps.Clone(policy.All) }

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
