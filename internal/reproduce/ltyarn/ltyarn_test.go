package ltyarn

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/papertest"
)

// The two-user table comes out to the unit.
func TestLTYARNTwoUsersExact(t *testing.T) {
	for name, r := range papertest.Rows(t, twoUsersPart()) {
		if r.Median != r.Published.Low {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Published.Low)
		}
	}
}

// With one seed already: LTRF ends the loss of sharing, memoryless fairness does later or never, and a quantum that
// adapts keeps accounts from jumping.
func TestLTYARNWorkloads(t *testing.T) {
	rows := papertest.Rows(t, workloadsPart())
	if ltrf, mlrf := rows["ltrf loss ends"], rows["mlrf loss ends"]; !ltrf.Same() || ltrf.Median > mlrf.Median {
		t.Errorf("the loss ends at %v s with LTRF and at %v s without", ltrf.Median, mlrf.Median)
	}
	for _, name := range []string{"ltrf omega last", "ltrf facebook", "ltrf purdue", "ltrf spark", "ltrf tpch"} {
		if r := rows[name]; !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
	for _, name := range []string{"fixed fall", "adaptive fall"} {
		if r := papertest.Rows(t, quantumPart())[name]; !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
}

// With one seed already: the policy with PAR does what the engine by the letter does, with a good and with a bad
// quantum.
func TestLTYARNByTheLetter(t *testing.T) {
	rows := papertest.Rows(t, letterPart())
	for _, name := range []string{"omegas600", "apart600", "omegas10", "apart10", "harm"} {
		if r := rows[name]; !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
}

// Over a few draws most statements have a value already.
func TestLTYARNDraws(t *testing.T) {
	p := drawsPart()
	var samples []paper.Sample
	for seed := range uint64(12) {
		s, err := p.Trial(t.Context(), paper.Lab{}, seed+1)
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, s)
	}
	rows := (&paper.PartReport{Part: p, Samples: samples, All: p.Over(samples)}).Rows()
	given := 0
	for _, r := range rows {
		given += r.Trials
	}
	if given < len(rows)*2/3 {
		t.Errorf("%d of %d rows have a value", given, len(rows))
	}
}

// With one seed already: memoryless fairness gives the desk 1.5 times less over the weeks, a memory makes it even. All
// weeks of the part take half a minute.
func TestLTYARNOffice(t *testing.T) {
	if !longtest.On() {
		t.Skip("takes half a minute: with SOJOURN_LONG=1 only")
	}
	rows := papertest.Rows(t, officePart())
	for _, name := range []string{"fair times", "ltrf apart", "karma apart"} {
		if r := rows[name]; !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
}

// So it is over five days, but for what the desk cannot claim back before they end.
func TestLTYARNOfficeWeek(t *testing.T) {
	for name, want := range map[string]paper.Range{"fair": paper.AtLeast(1.4), "ltrf": paper.AtMost(1.1)} {
		o, err := newOffice(officePolicies[name], 1, 5, deskAndBatch)
		if err != nil {
			t.Fatal(err)
		}
		used := o.run()
		if times := used["batch"] / used["desk"]; !want.Has(times) {
			t.Errorf("%s: batch had %.2f times what the desk had, want %v", name, times, want)
		}
	}
}

// Asking for too much gains nothing where it is remembered, and costs.
func TestLTYARNGames(t *testing.T) {
	rows := papertest.Rows(t, gamesPart())
	for _, name := range []string{"ltrf inflate", "karma inflate", "mlrf inflate"} {
		if r := rows[name]; r.Median > 0 || name != "mlrf inflate" && r.Median > -5 {
			t.Errorf("%s is %v %%", name, r.Median)
		}
	}
}
