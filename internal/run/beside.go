package run

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// Beside calls do for 0 to n−1, as many calls at once as there are processors. It starts no more calls after one has
// failed or ctx has ended, and interrupts those that run. If calls fail, it returns the error of the one with the
// lowest number, but not of one that was only interrupted because another had failed. Results that the caller keeps by
// number do not depend on the order of the calls.
func Beside(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	calls, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make([]error, n)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				if errs[i] = do(calls, i); errs[i] != nil {
					cancel(errs[i])
				}
			}
		})
	}
begin:
	for i := range n {
		select {
		case next <- i:
		case <-calls.Done():
			break begin
		}
	}
	close(next)
	workers.Wait()
	for _, err := range errs {
		if err != nil && (ctx.Err() != nil || !errors.Is(err, context.Canceled)) {
			return err
		}
	}
	return context.Cause(calls)
}
