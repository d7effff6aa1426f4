package mr

import (
	"context"
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn/sched"
)

// The engine calls the methods of a Work, which may be a program's own, through the functions below only. A panic of
// the method is the error of that call, so that the other jobs of the run go on.

// because adds the cause to err if ctx has ended: the error may come of that. An error without it came before.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// interrupted reports whether ctx has ended, and err, which because returned, may come of that.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
}

// stagesOf calls Stages of work.
func stagesOf(ctx context.Context, work Work) (stages []sched.StageSpec, err error) {
	err = guarded(func() (err error) {
		stages, err = work.Stages(ctx)
		return err
	})
	return stages, because(ctx, err)
}

// runOf runs attempt l.
func runOf(work Work, l *Launch) error {
	return because(l.Attempt.ctx, guarded(func() error { return work.Run(l) }))
}

// closeOf calls Close of work.
func closeOf(work Work, ok bool) error { return guarded(func() error { return work.Close(ok) }) }

// probeOf calls Probe of work.
func probeOf(work probed, draw func(n int) int) (sample Work, stages []sched.StageSpec, err error) {
	err = guarded(func() (err error) {
		sample, stages, err = work.Probe(draw)
		return err
	})
	return sample, stages, err
}

// outputLoser is Work whose map outputs the chaos option can lose.
type outputLoser interface{ LoseOutput(stage, task int) }

// loseOutput loses the output of attempt l, if work can lose outputs.
func loseOutput(work Work, l *Launch) error {
	return guarded(func() error {
		if loser, ok := work.(outputLoser); ok {
			loser.LoseOutput(l.Stage, l.Task)
		}
		return nil
	})
}
