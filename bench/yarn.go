package main

import (
	"context"
	"fmt"
	"path/filepath"

	yarnload "github.com/sojourn-sched/sojourn/internal/yarn/load"
)

// A cell is one column of the table of ResourceManagers.
type cell struct {
	name string
	of   func(*yarnload.Result) float64
	goal float64 // of ours ÷ Hadoop's; 0: none
	more bool    // the goal is to be reached, else not to be exceeded
}

var yarnCells = []cell{
	{"containers/s", func(r *yarnload.Result) float64 { return r.Saturated.Rate }, 3, true},
	{"µs a container", func(r *yarnload.Result) float64 { return r.Saturated.Processor }, 0.1, false},
	{"cores busy", func(r *yarnload.Result) float64 { return r.Saturated.Cores }, 0, false},
	{"generator, µs a container", func(r *yarnload.Result) float64 { return r.Saturated.Generator }, 0, false},
	{"Jain's index", func(r *yarnload.Result) float64 { return r.Saturated.Fairness }, 0, false},
	{"asks/s", func(r *yarnload.Result) float64 { return r.Poisson.Rate }, 0, false},
	{"ask to grant, ms, median", func(r *yarnload.Result) float64 { return r.Poisson.P50 }, 0, false},
	{"p99", func(r *yarnload.Result) float64 { return r.Poisson.P99 }, 0, false},
	{"idle beat, µs", func(r *yarnload.Result) float64 { return r.Idle.Processor }, 0, false},
	{"bare echo, µs", func(r *yarnload.Result) float64 { return r.Idle.Echo }, 0, false},
	{"peak MB", func(r *yarnload.Result) float64 { return r.PeakMB }, 0.25, false},
}

// runYARN puts clusters on 'sojourn rm' and on Hadoop's own ResourceManager, in turns.
func runYARN(ctx context.Context, b *bench) error {
	p := b.peers(ctx)
	for _, nodes := range []int{100, 1000, 5000} {
		for _, each := range []bool{false, true} {
			name := fmt.Sprintf("%d nodes", nodes)
			if each {
				name += ", a beat for each end"
			}
			args := []string{
				"-json",
				"-nodes",
				fmt.Sprint(nodes),
				fmt.Sprintf("-each=%v", each),
				"-measure",
				"8s",
				"-settle",
				"2s",
			}
			ours, err := b.loaded(ctx, name+": sojourn rm", append(args, "-sojourn", b.sojourn))
			if err != nil {
				return err
			}
			if p.noHadoop != "" || b.late(1) {
				b.say("%s, Hadoop: left out: %s", name, p.noHadoop)
				continue
			}
			theirs, err := b.loaded(ctx, name+": Hadoop", append(args, "-jars", filepath.Dir(p.jars)))
			if err != nil {
				return err
			}
			for _, c := range yarnCells {
				us, them := c.of(ours), c.of(theirs)
				if them == 0 {
					continue
				}
				r := row{
					Case:  c.name,
					Who:   name + ": ours ÷ Hadoop's",
					Value: spread{us / them, us / them, us / them, 1},
				}
				if c.goal > 0 {
					r.Goal = &goal{c.goal, !c.more, c.more == (us/them >= c.goal)}
				}
				b.rows = append(b.rows, r)
			}
		}
	}
	return nil
}

// loaded runs the generator of load, in a process of its own, and adds a line of the table.
func (b *bench) loaded(ctx context.Context, who string, args []string) (*yarnload.Result, error) {
	c, err := self("load", args...)
	if err != nil {
		return nil, err
	}
	var r yarnload.Result
	if _, err := measureJSON(ctx, c, &r); err != nil {
		return nil, err
	}
	b.say("%s: %.0f containers/s, %.1f µs each", who, r.Saturated.Rate, r.Saturated.Processor)
	for _, c := range yarnCells {
		v := c.of(&r)
		b.rows = append(b.rows, row{Case: c.name, Who: who, Value: spread{v, v, v, 1}})
	}
	return &r, nil
}
