package token

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto/prototest"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

func TestRoundTrip(t *testing.T) {
	all := []proto.Described{new(Master), new(Node), new(Container), new(Delegation), new(Client), new(Saved)}
	prototest.RoundTrip(t, all, func(m any) {
		if r, ok := m.(*wire.Resource); ok {
			r.Others = "" // tokens are of containers, which have memory and cores
		}
	})
}
