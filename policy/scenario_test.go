package policy_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
)

// The scenarios are exact instants worked out by hand, on small clusters.
func TestScenarios(t *testing.T) { policytest.RunScenarios(t, policy.All, "testdata") }
