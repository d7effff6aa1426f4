// Package reproduce lists the papers whose evaluations are run again, by name.
//
//	paper      what a paper is: parts, claims and pictures; runs the parts, and writes a page of what came out
//	testbed    what trials of several papers run: jobs under policies on the simulator, real jobs on the engine mr
//	papertest  what tests of several papers share
//
// Each other folder is a paper: its function Paper makes it. Only two of them take something from another one: goals
// takes the applications of ras, and adaptive shows a part that goals makes.
//
// Simulated parts draw all chance from their seeds, so that their figures are the same byte for byte when they are made
// again. Those of real jobs are a machine's.
package reproduce

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/reproduce/adaptive"
	"github.com/sojourn-sched/sojourn/internal/reproduce/dynamicmr"
	"github.com/sojourn-sched/sojourn/internal/reproduce/flex"
	"github.com/sojourn-sched/sojourn/internal/reproduce/fspy"
	"github.com/sojourn-sched/sojourn/internal/reproduce/gittins"
	"github.com/sojourn-sched/sojourn/internal/reproduce/goals"
	"github.com/sojourn-sched/sojourn/internal/reproduce/hardware"
	"github.com/sojourn-sched/sojourn/internal/reproduce/ltyarn"
	"github.com/sojourn-sched/sojourn/internal/reproduce/mix"
	"github.com/sojourn-sched/sojourn/internal/reproduce/mrorder"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/performance"
	"github.com/sojourn-sched/sojourn/internal/reproduce/ras"
	"github.com/sojourn-sched/sojourn/internal/reproduce/reverse"
	"github.com/sojourn-sched/sojourn/internal/reproduce/snapshots"
)

// papers make the papers, by name.
var papers = map[string]func() *paper.Paper{
	"adaptive":          adaptive.Paper,
	"dynamicmr":         dynamicmr.Paper,
	"flex":              flex.Paper,
	"fspy":              fspy.Paper,
	"hardware-aware":    hardware.Paper,
	"ltyarn":            ltyarn.Paper,
	"gittins":           gittins.Paper,
	"goals":             goals.Paper,
	"mix":               mix.Paper,
	"mrorder":           mrorder.Paper,
	"performance-model": performance.Paper,
	"snapshots":         snapshots.Paper,
	"ras":               ras.Paper,
	"reverse-adaptive":  reverse.Paper,
}

// All are the papers, by name.
func All() map[string]*paper.Paper {
	all := make(map[string]*paper.Paper, len(papers))
	for name, paperOf := range papers {
		all[name] = paperOf()
	}
	return all
}

// Names are those of All, in order. Unlike All, it does not read what the papers bring along.
func Names() []string { return slices.Sorted(maps.Keys(papers)) }

// Find returns the paper of a name.
func Find(name string) (*paper.Paper, error) {
	if paperOf, ok := papers[name]; ok {
		return paperOf(), nil
	}
	return nil, fmt.Errorf("no such paper: %q; there are %s", name, strings.Join(Names(), ", "))
}
