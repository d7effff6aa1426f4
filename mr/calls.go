package mr

import (
	"context"

	"github.com/sojourn-sched/sojourn/sched"
)

// The engine calls the methods of a Work, which may be a program's own, through the functions below only. A panic of
// the method is the error of that call, so that the other jobs of the run go on.

// stagesOf calls Stages of work.
func stagesOf(ctx context.Context, work Work) (stages []sched.StageSpec, err error) {
	err = guarded(func() (err error) {
		stages, err = work.Stages(ctx)
		return err
	})
	return stages, err
}

// runOf runs attempt l.
func runOf(work Work, l *Launch) error { return guarded(func() error { return work.Run(l) }) }

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
