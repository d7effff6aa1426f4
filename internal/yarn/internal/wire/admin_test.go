package wire

import (
	"math"
	"testing"
)

// Every timeout that a message says is said, the least int32 too; a message without one leaves it unsaid.
func TestRefreshNodesTimeout(t *testing.T) {
	for _, n := range []int64{math.MinInt32, -1, 0, math.MaxInt32} {
		var got RefreshNodes
		if err := got.Decode((&RefreshNodes{How: DecommissionGraceful, Timeout: n}).Append(nil)); err != nil ||
			got.Timeout != n || got.Timeout == TimeoutUnsaid {
			t.Errorf("%d is read as %+v, %v", n, got, err)
		}
	}
	var got RefreshNodes
	if err := got.Decode(nil); err != nil || got.Timeout != TimeoutUnsaid {
		t.Errorf("none is read as %+v, %v", got, err)
	}
}
