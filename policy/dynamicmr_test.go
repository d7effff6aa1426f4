package policy_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
)

func TestDynamicMRConforms(t *testing.T) {
	for _, spec := range []string{
		"dynamicmr:sepb=off,prescheduling=off", "dynamicmr:dhsa=off,prescheduling=off,min-run=5s,cap=0.5", "dynamicmr:dhsa=off,sepb=off,delay=4s",
		"dynamicmr:base=fifo,min-run=5s,checked=0.5,delay=2s,rack-delay=1s", "dynamicmr:dhsa=pd,min-run=5s,checked=0,cap=0.3", "dynamicmr:dhsa=pd,base=fifo,lend-maps=0.5,lend-reduces=0.5,delay=3s",
		"dynamicmr:dhsa=pd,sepb=queue,min-run=4s,checked=0.6,most-borrowed=1", "dynamicmr:sepb=queue,checked=1,lend-reduces=0.4,min-run=3s,cap=1,overdue=wait",
		"dynamicmr:checked=0.3,min-run=3s,cap=1,slow-node=0,slow-task=0.5", "late{dynamicmr:sepb=off}:min-run=5s", "late{dynamicmr:dhsa=pd,min-run=8s}:min-run=5s,cap=0.5", "probe{dynamicmr}",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			policytest.Conform(t, policy.All, spec, *seeds)
		})
	}
}
