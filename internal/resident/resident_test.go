package resident

import (
	"os"
	"testing"
)

// Memory that is written to raises the peak by as much, and it stays when the memory is given back.
func TestPeak(t *testing.T) {
	before, err := Peak(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const more = 64 << 20
	b := make([]byte, before+more)
	for i := range b {
		b[i] = 1
	}
	after, err := Peak(os.Getpid())
	if err != nil || after < before+more {
		t.Errorf("peak of %d bytes, then of %d after %d more were written: %v", before, after, len(b), err)
	}
	if _, err := Peak(-1); err == nil {
		t.Error("a process without a number has a peak")
	}
}
