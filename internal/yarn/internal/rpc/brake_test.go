package rpc

import (
	"fmt"
	"testing"
	"time"
)

// A line of a kind a second, however many of other kinds there are; and kinds without end are no memory without end.
func TestBrake(t *testing.T) {
	var b Brake
	now := time.Unix(1_700_000_000, 0)
	pass := func(kind string, silent int, ok bool) {
		t.Helper()
		if n, may := b.Pass(kind, now); n != silent || may != ok {
			t.Errorf("%s passes: %v after %d others, want %v after %d", kind, may, n, ok, silent)
		}
	}
	pass("a", 0, true)
	pass("a", 0, false)
	pass("a", 0, false)
	pass("b", 0, true)
	now = now.Add(time.Second)
	pass("a", 2, true)
	pass("b", 0, true)
	for i := range 10 * mostKinds {
		b.Pass(fmt.Sprint("kind ", i), now)
	}
	if len(b.kinds) > mostKinds+1 {
		t.Errorf("%d kinds are kept", len(b.kinds))
	}
	pass("yet another", 0, false) // one with all beyond the bound
}
