package reproduce

import "testing"

// rowsOf runs one seed of a part, and returns its rows by figure.
func rowsOf(t *testing.T, p Part) map[string]Row {
	t.Helper()
	s, err := p.Trial(t.Context(), Lab{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]Row{}
	for _, r := range (&PartReport{Part: p, Samples: []Sample{s}}).Rows() {
		if r.Trials == 0 {
			t.Errorf("%s gives no %q", p.Title, r.Figure)
		}
		rows[r.Figure] = r
	}
	return rows
}

// The two-user table comes out to the unit.
func TestLTYARNTwoUsersExact(t *testing.T) {
	for name, r := range rowsOf(t, ltyarnTwoUsers()) {
		if r.Median != r.Published.Low {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Published.Low)
		}
	}
}

// With one seed already: LTRF ends the loss of sharing, memoryless fairness does later or never, and a quantum that
// adapts keeps accounts from jumping.
func TestLTYARNWorkloads(t *testing.T) {
	rows := rowsOf(t, ltyarnWorkloads())
	if ltrf, mlrf := rows["ltrf loss ends"], rows["mlrf loss ends"]; !ltrf.Same() || ltrf.Median > mlrf.Median {
		t.Errorf("the loss ends at %v s with LTRF and at %v s without", ltrf.Median, mlrf.Median)
	}
	for _, name := range []string{"ltrf omega last", "ltrf facebook", "ltrf purdue", "ltrf spark", "ltrf tpch"} {
		if r := rows[name]; !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
	for _, name := range []string{"fixed fall", "adaptive fall"} {
		if r := rowsOf(t, ltyarnQuantum())[name]; !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
}

// With one seed already: the policy with PAR does what the engine by the letter does, with a good and with a bad
// quantum.
func TestLTYARNByTheLetter(t *testing.T) {
	rows := rowsOf(t, ltyarnLetter())
	for _, name := range []string{"omegas600", "apart600", "omegas10", "apart10", "harm"} {
		if r := rows[name]; !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
}

// Over a few draws most statements have a value already.
func TestLTYARNDraws(t *testing.T) {
	p := ltyarnDraws()
	var samples []Sample
	for seed := range uint64(12) {
		s, err := p.Trial(t.Context(), Lab{}, seed+1)
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, s)
	}
	rows := (&PartReport{Part: p, Samples: samples, All: p.Over(samples)}).Rows()
	given := 0
	for _, r := range rows {
		given += r.Trials
	}
	if given < len(rows)*2/3 {
		t.Errorf("%d of %d rows have a value", given, len(rows))
	}
}

// With one seed already: memoryless fairness gives the desk 1.5 times less over the weeks, a memory makes it even.
func TestLTYARNOffice(t *testing.T) {
	rows := rowsOf(t, ltyarnOffice())
	for _, name := range []string{"fair times", "ltrf apart", "karma apart"} {
		if r := rows[name]; !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
}

// Asking for too much gains nothing where it is remembered, and costs.
func TestLTYARNGames(t *testing.T) {
	rows := rowsOf(t, ltyarnGames())
	for _, name := range []string{"ltrf inflate", "karma inflate", "mlrf inflate"} {
		if r := rows[name]; r.Median > 0 || name != "mlrf inflate" && r.Median > -5 {
			t.Errorf("%s is %v %%", name, r.Median)
		}
	}
}
