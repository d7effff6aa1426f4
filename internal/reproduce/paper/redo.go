package paper

import (
	"cmp"
	"context"
	"fmt"
)

// Options of Redo.
type Options struct {
	Trials   int                                 // of a part, at most; zero: as many as it has
	Workers  int                                 // trials at once; zero: 2
	Progress func(done, total int, about string) // called one at a time; nil: never
}

// Redo runs the parts of a paper. An error names the part and the seed.
func Redo(ctx context.Context, p *Paper, lab Lab, o Options) (*Report, error) {
	r := &Report{Paper: p, Most: o.Trials}
	var together, alone []trial
	for i, part := range p.Parts {
		n := part.Trials
		if o.Trials > 0 {
			n = min(n, o.Trials)
		}
		r.Parts = append(r.Parts, PartReport{Part: part, Samples: make([]Sample, n)})
		for k := range n {
			if part.Alone {
				alone = append(alone, trial{i, k})
			} else {
				together = append(together, trial{i, k})
			}
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	run := func(t trial) finished {
		s, err := p.Parts[t.part].Trial(ctx, lab, uint64(t.run)+1)
		return finished{t, s, err}
	}
	ended := 0
	note := func(f finished) {
		part := &r.Parts[f.part]
		if missing, ok := f.err.(Missing); ok {
			part.Missing = missing.What
		} else if f.err != nil {
			stop(fmt.Errorf("%s, seed %d: %w", part.Title, f.run+1, f.err))
		}
		part.Samples[f.run] = f.sample
		if ended++; o.Progress != nil {
			o.Progress(ended, len(together)+len(alone), part.Title)
		}
	}
	inTurns(together, cmp.Or(o.Workers, 2), run, note)
	inTurns(alone, 1, run, note)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	for i := range r.Parts {
		if part := &r.Parts[i]; part.Over != nil && part.Missing == "" {
			part.All = part.Over(part.Samples)
		}
	}
	return r, nil
}

// inTurns runs trials, some at a time, and notes what came of each, one after the other.
func inTurns(work []trial, workers int, run func(trial) finished, note func(finished)) {
	todo, done := make(chan trial), make(chan finished)
	for range min(len(work), workers) {
		go func() {
			for t := range todo {
				done <- run(t)
			}
		}()
	}
	go func() {
		for _, t := range work {
			todo <- t
		}
		close(todo)
	}()
	for range work {
		note(<-done)
	}
}

type trial struct{ part, run int }

type finished struct {
	trial
	sample Sample
	err    error
}
