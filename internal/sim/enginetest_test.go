package sim

import (
	"context"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/sched/enginetest"
)

// The simulator keeps its contract with the core, with and without heartbeats.
func TestEngineContract(t *testing.T) {
	for name, heartbeat := range map[string]sched.Time{"at once": 0, "heartbeats": sec} {
		t.Run(name, func(t *testing.T) {
			enginetest.Check(t, enginetest.Kit{Run: func(t *testing.T, core sched.Config) {
				job := mr{maps: 10, mapTime: 10 * sec, reduces: 2, redTime: 10 * sec, part: 1}.job
				config := Config{
					Cluster: slotCluster(2, 1, slots(3, 2)), Jobs: source(job(), job()), Core: core, MostEvents: 1e6,
				}
				config.Costs.Reporting = Reporting{Heartbeat: heartbeat, Progress: sec}
				if _, err := Run(context.Background(), config); err != nil {
					t.Error(err)
				}
			}})
		})
	}
}
