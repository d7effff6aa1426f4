package yarn

import (
	"context"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/sched/enginetest"
)

// The ResourceManager keeps its contract with the core: two applications of ten containers on two NodeManagers, over
// real sockets. A container runs for some beats of its node, so that the policy can meddle with it.
func TestEngineContract(t *testing.T) {
	enginetest.Check(t, enginetest.Kit{Late: time.Minute, Run: func(t *testing.T, core sched.Config) {
		c := start(t, func(config *Config) {
			config.Core.Policy, config.Core.Recorder = core.Policy, core.Recorder
		})
		c.task = func(ctx context.Context, _ wire.ContainerID) int32 {
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
			return 0
		}
		c.node()
		c.node()
		for _, id := range []wire.ApplicationID{c.submit(nil), c.submit(nil)} {
			c.until("the application has ended", func() bool { return c.report(id).State >= wire.AppFinished })
		}
		c.until("the core knows that they have", func() (ended bool) {
			c.look(func(m *manager) {
				ended = true
				for range m.core.Jobs() {
					ended = false
				}
			})
			return ended
		})
		c.stop()
	}})
}

// Powers names what the ResourceManager carries out.
func TestPowers(t *testing.T) {
	if actions := new(manager).dispatcher(); actions.Powers() != Powers {
		t.Errorf("the dispatcher can do %b, want %b", actions.Powers(), Powers)
	}
}
