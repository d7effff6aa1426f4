// Package papertest has what tests of several papers share.
package papertest

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/sched"
)

// Rows runs one seed of a part, and returns its rows by figure. A claim whose figure the trial lacks fails the test.
func Rows(t *testing.T, p paper.Part) map[string]paper.Row {
	t.Helper()
	s, err := p.Trial(t.Context(), paper.Lab{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]paper.Row{}
	for _, r := range (&paper.PartReport{Part: p, Samples: []paper.Sample{s}}).Rows() {
		if r.Trials == 0 {
			t.Errorf("%s gives no %q", p.Title, r.Figure)
		}
		rows[r.Figure] = r
	}
	return rows
}

// SmallMix returns three jobs that come one after the other on a machine of one core, with input of 2.5 MB each.
func SmallMix(t *testing.T) *testbed.Mix {
	t.Helper()
	m := &testbed.Mix{Cluster: testbed.Machine(1), Folder: t.TempDir(), Seed: 1}
	for i, j := range []struct{ job, input string }{{"wordcount", "text"}, {"terasort", "teragen"},
		{"inverted-index", "documents"}} {
		path, err := testbed.Input{Kind: j.input, Bytes: 2_500_000, Seed: 1}.In(m.Folder)
		if err != nil {
			t.Fatal(err)
		}
		m.Jobs = append(m.Jobs, testbed.MixJob{Name: j.job, Job: j.job, Input: []string{path},
			Submit: sched.Time(i) * time.Millisecond})
	}
	return m
}
