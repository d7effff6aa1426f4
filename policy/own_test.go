package policy_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
)

// A policy that is built from the exported parts alone, that of the example, conforms as those of this package do.
func TestConformOwn(t *testing.T) {
	own := policy.Registry{"fewest": fewestEntry}
	for _, spec := range []string{"fewest", "fewest:delay=3s,rack-delay=2s", "fewest:preempt=suspend",
		"fewest:preempt=kill"} {
		policytest.Conform(t, own, spec, *seeds)
	}
}
