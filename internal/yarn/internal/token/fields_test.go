package token

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto/prototest"
)

func TestRoundTrip(t *testing.T) {
	prototest.RoundTrip(t, []proto.Described{new(Master), new(Node), new(Container), new(Delegation)}, func(any) {})
}
