package fspy

import (
	"context"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/sched"
)

// asAbove is the match without a change.
const asAbove = "as above"

// matches returns the settings in which each segment is run: those of ours(), and the same with one thing changed, or
// two in the last, which is compared with SRPT. Only that one is also run with exact sizes.
func matches() []match {
	of := func(name string, change func(*match)) match {
		m := ourMatch()
		m.name, m.exact = name, nil
		change(&m)
		return m
	}
	bare := func(m *match) { m.master = nil }
	size := func(mib int64) func(*match) {
		return func(m *match) { m.master.Size[sched.Memory] = mib }
	}
	return []match{
		of(asAbove, func(*match) {}),
		of("fair without a limit of masters", func(m *match) { m.fair += ",masters=1" }),
		of("no node kept", func(m *match) { m.fair, m.fspy = "fair", asPrinted+unbounded+oneBlock }),
		of("late jobs share", func(m *match) { m.fspy = "fspy:big=kept" + unbounded + oneBlock }),
		of("a trained predictor", func(m *match) { m.trained = true }),
		of("tasks in containers of their own", func(m *match) { m.master = hadoopMaster(false) }),
		of("tasks alike", func(m *match) { m.sigma = 0 }),
		of("spread σ = 0.1", func(m *match) { m.sigma = 0.1 }),
		of("spread σ = 0.6", func(m *match) { m.sigma = 0.6 }),
		of("masters of 1 GiB", size(1024)),
		of("masters of 2 GiB", size(2048)),
		of("no masters", bare),
		of("no masters, tasks alike", func(m *match) {
			bare(m)
			m.sigma, m.exact = 0, []string{asPrinted, "srpt"}
		}),
	}
}

// matchFigures are the figures of overSegments that the page shows for each match.
var matchFigures = [...]struct{ figure, says, unit string }{
	{"heavy gain", "Fig. 6: mean sojourn time, fair ÷ FSPY, RCP 6 and more", "×"},
	{"largest gain", "the largest of a segment", "×"},
	{"half", "Fig. 7: done under FSPY when half are under fair sharing, RCP 6", "%"},
	{"below 4 fspy", "Fig. 8: slowdown below 4 under FSPY", "%"},
	{"below 4 fair", "the same under fair sharing", "%"},
}

// figure returns the name that a figure of the match has in a sample of all matches.
func (m *match) figure(of string) string { return m.name + ": " + of }

// within returns the samples of the match called name, out of samples of all matches. Its figures have their own names
// again.
func within(samples []paper.Sample, name string) (own []paper.Sample) {
	for _, s := range samples {
		o := paper.Sample{}
		for figure, values := range s {
			if of, ok := strings.CutPrefix(figure, name+": "); ok {
				o[of] = values
			}
		}
		own = append(own, o)
	}
	return own
}

// mastersPart returns the part that runs each segment in all matches, to find out which setting makes the difference.
func mastersPart(g *segments) paper.Part {
	p := paper.Part{
		Title: "What ApplicationMasters change", Trials: segmentsUsed,
		How: `The section above once more, with one thing changed at a time. *Fair without a
limit*: ` + "`masters=1`" + ` instead of the half of the cluster that Hadoop's Fair Scheduler lets masters hold at
most. *No node kept*: a task that finds no room is overtaken by smaller ones, as both policies have it by default here,
and as FSPY is printed. *Late jobs share*: ` + "`late=share`" + `. *A trained predictor* has learned from the
jobs of another segment, half a day away. *Tasks in containers of their own*: no uber jobs. *Tasks alike*: no spread in
task times. *Masters of 1 GiB* are as large as a task, those of 2 GiB are what a minimum of 1 GiB makes of Hadoop's
1.5.`,
		Charts: []paper.Picture{
			{
				File:    "fspy-masters",
				Caption: "Mean sojourn time under fair sharing ÷ that under FSPY, by level of load",
				Draw: func(samples []paper.Sample) chart.Chart {
					c := chart.Chart{
						X: chart.Axis{Label: "level of load (RCP); 6 is load 1"},
						Y: chart.Axis{Label: "mean sojourn time: fair ÷ FSPY", Log: true},
					}
					for _, name := range []string{asAbove, "masters of 1 GiB", "no masters"} {
						l := chart.Line{Name: name, Manner: chart.Apart}
						for _, s := range within(samples, name) {
							l.Points = append(l.Points, chart.Point{X: s.Of("level"), Y: s.Of("gain fspy")})
						}
						c.Lines = append(c.Lines, l)
					}
					return c
				},
			},
		},
		Reading: `What masters hold is not what makes the difference: it is a small part of the memory, and masters that
are as large as a task change next to nothing. It is that they need more than a task leaves when it ends. Under fair
sharing the next small task of some job fits there, always; the master of a small job waits until two neighbours end at
once, or until its turn comes with the node that is kept. Under FSPY few jobs run at a time, a node that is kept is kept
for the smallest, and so small jobs get their masters. Tasks that are alike end together and leave such holes by
themselves, for which the spread of task times matters as much. Of the paper's gain, most is there with masters and
little without.`,
		Trial: func(ctx context.Context, lab paper.Lab, k uint64) (paper.Sample, error) {
			all := paper.Sample{}
			for _, m := range matches() {
				s, err := m.trial(ctx, g, lab, k)
				if err != nil {
					return nil, err
				}
				for figure, values := range s {
					all[m.figure(figure)] = values
				}
				if _, heavy := s["heavy gain"]; heavy && len(m.exact) > 0 {
					all.Set("srpt", s.Of("gain srpt")/s.Of("gain "+asPrinted))
				}
			}
			return all, nil
		},
		Over: func(samples []paper.Sample) paper.Sample {
			all := paper.Sample{}
			for _, m := range matches() {
				for figure, values := range overSegments(within(samples, m.name)) {
					all[m.figure(figure)] = values
				}
			}
			return all
		},
	}
	for _, m := range matches() {
		for _, f := range matchFigures {
			p.Claims = append(p.Claims, paper.Claim{Where: "ours", Says: m.figure(f.says), Unit: f.unit,
				Figure: m.figure(f.figure), Own: true})
		}
	}
	p.Claims = append(
		p.Claims,
		paper.Claim{
			Where: "§ I",
			Says: "close to SRPT: mean sojourn time, FSPY ÷ SRPT, both with exact sizes, no masters, tasks " +
				"alike, RCP 6 and more",
			Published: paper.Exactly(1),
			Unit:      "×",
			Figure:    "srpt",
			Agrees:    paper.Between(0.8, 1.25),
		},
	)
	return p
}
