package mr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// The engine calls the methods of a Work, which may be a program's own, through the functions below only. A panic of
// the method is the error of that call, so that the other jobs of the run go on.

// because adds the cause to err if ctx has ended: the error may come of that. An error without it came before.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !comesOf(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// interrupted reports whether ctx has ended, and err, which because returned, may come of that.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && comesOf(err, context.Cause(ctx))
}

// comesOf reports whether err is or wraps a cause. Of a cause that cannot be compared, such as a slice of errors, each
// error of its type counts.
func comesOf(err, cause error) bool {
	if v := reflect.ValueOf(cause); err != nil && !v.Comparable() {
		return errors.As(err, reflect.New(v.Type()).Interface())
	}
	return errors.Is(err, cause)
}

// stagesOf calls Stages of work.
func stagesOf(ctx context.Context, work Work) (stages []sched.StageSpec, err error) {
	err = guarded(func() (err error) {
		stages, err = work.Stages(ctx)
		return err
	})
	return withAttempts(stages), because(ctx, err)
}

// withAttempts returns stages that all say how often a task may fail: as often as in Hadoop where they do not. Of a
// stage with zero the core starts no task again, whether its attempt failed, was killed or lost its output.
func withAttempts(stages []sched.StageSpec) []sched.StageSpec {
	stages = slices.Clone(stages) // the work keeps its own
	for i := range stages {
		stages[i].MaxAttempts = cmp.Or(stages[i].MaxAttempts, sched.DefaultMaxAttempts)
	}
	return stages
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
	return sample, withAttempts(stages), err
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
