package run

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

// A call that was interrupted because another failed does not hide why; one that the caller ended says so.
func TestBeside(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	broken := errors.New("broken")
	waits := func(ctx context.Context, _ int) error {
		<-ctx.Done()
		return ctx.Err()
	}
	err := Beside(t.Context(), 2, func(ctx context.Context, i int) error {
		if i == 1 {
			return broken
		}
		return waits(ctx, i)
	})
	if !errors.Is(err, broken) {
		t.Errorf("of a call that failed and one that was interrupted: %v, want %v", err, broken)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if err := Beside(ctx, 2, waits); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted by the caller: %v", err)
	}
	if err := Beside(t.Context(), 3, func(context.Context, int) error { return nil }); err != nil {
		t.Error(err)
	}
}
