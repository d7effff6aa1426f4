package cli

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/policy"
)

// A pastRun is the recorded run that a simulation repeats under the record's own policy, to say how far it can be
// trusted.
type pastRun struct {
	policy, estimator string
	measured          []run.Measured
	rows              []record.JobRow
}

// ofTraces are the flags of sim that say which jobs of a trace there are, and how they become tasks. The jobs of a
// record are what they were.
var ofTraces = []string{"jobs", "from", "until", "time-scale", "size-scale", "slow-start", "block", "bytes-per-reduce",
	"startup", "map-rate", "reduce-rate"}

// readPast reads what was measured in the run of --from-record, and sets f.past, so that the record's own policy is
// simulated too. Where the simulation is of something else, or the policy is not known here, there is nothing to
// compare, which a remark says.
func (f *simFlags) readPast(a *app) error {
	if f.fromRecord == "" || f.source.trace != "" {
		return nil
	}
	for _, flag := range ofTraces {
		if f.costs.said(flag) {
			return usagef("--%s is for a --trace: all jobs of a record are simulated as they were submitted and as "+
				"long as they took", flag)
		}
	}
	if f.costs.said("cluster") {
		a.remark("--cluster: what was measured on the record's cluster is not compared")
		return nil
	}
	r, err := record.Open(f.fromRecord, run.Payload)
	if err != nil {
		return err
	}
	p := &pastRun{policy: r.Header.Policy, estimator: r.Header.Estimator}
	if err := r.Close(); err != nil {
		return err
	}
	if p.policy, err = canonical(a.names.Policies, p.policy); err == nil {
		err = a.names.Check(run.Simulator, run.Choice{Policy: p.policy, Estimator: f.policies.estimator})
	}
	if err != nil {
		a.remark("what was measured is not compared: the record's policy cannot be simulated: %v", err)
		return nil
	}
	if f.costs.said("estimator") {
		p.estimator = f.policies.estimator
	} else if err := (run.Setup{Engine: run.Simulator, Names: a.names,
		Choice: run.Choice{Policy: p.policy, Estimator: p.estimator}}).Check(); err != nil {
		p.estimator = f.policies.estimator
	}
	if p.measured, err = run.MeasuredJobs(f.fromRecord, func(err error) error { return mend(a, err) }); err != nil {
		return err
	}
	if !f.costs.said("policy") {
		f.policies.policies = []string{p.policy}
	}
	f.past = p
	return nil
}

// canonical returns a policy's text as ParseList returns it.
func canonical(names policy.Registry, text string) (string, error) {
	list, err := names.ParseList([]string{text})
	if err != nil || len(list) != 1 {
		return text, err
	}
	return list[0], nil
}

// first returns policies with the record's own before the others.
func (p *pastRun) first(policies []string) []string {
	rest := slices.DeleteFunc(slices.Clone(policies), func(s string) bool { return s == p.policy })
	return append([]string{p.policy}, rest...)
}

// choice returns the choice for one of the policies: the record's own has the estimator that it had, unless the user
// named another.
func (f *simFlags) choice(policy string) run.Choice {
	c := f.policies.choice(policy)
	if f.past != nil && policy == f.past.policy {
		c.Estimator = f.past.estimator
	}
	return c
}

// take keeps a job of the simulation under the record's own policy.
func (p *pastRun) take(policy string, row *record.JobRow) {
	if p != nil && policy == p.policy {
		p.rows = append(p.rows, *row)
	}
}

// check compares what was measured with what was simulated; nil without a record.
func (p *pastRun) check() *run.Check {
	if p == nil {
		return nil
	}
	c := run.Compare(p.measured, p.rows)
	c.Policy, c.Estimator = p.policy, p.estimator
	return c
}

// checkedJobs is how many jobs with the largest errors are printed.
const checkedJobs = 5

// printCheck prints what was measured beside what was simulated; a nil check is nothing.
func printCheck(w io.Writer, c *run.Check) {
	if c == nil || c.Jobs == 0 {
		return
	}
	fmt.Fprintf(w, "\nmeasured under %s, as recorded, against simulated, over %s:\n\n", c.Policy,
		spelling.Count(c.Jobs, "job"))
	t := newTable("SOJOURN", "MEASURED", "SIMULATED", "ERROR")
	percent := func(x float64) string { return fmt.Sprintf("%+.1f %%", 100*x) }
	t.row("mean", figure(c.Measured), figure(c.Simulated), percent(c.Error))
	listed, note := c.Each[:min(len(c.Each), checkedJobs)], " the jobs that are off most;"
	if math.Abs(listed[0].Error) < 0.0005 { // 0.0 % as printed
		listed, note = nil, ""
	}
	for _, j := range listed {
		name := fmt.Sprintf("job %d", j.ID)
		if j.Name != "" {
			name += ", " + j.Name
		}
		t.row(name, figure(j.Measured), figure(j.Simulated), percent(j.Error))
	}
	t.print(w)
	fmt.Fprintf(w, "\n  times in seconds;%s a job is off by %.1f %% on average\n", note, 100*c.JobError)
	if c.Others > 0 {
		fmt.Fprintf(w, "  left out: %s that did not succeed in both\n", spelling.Count(c.Others, "job"))
	}
}

// warn says when what was simulated is too far from what was measured.
func (f *simFlags) warn(a *app, c *run.Check) {
	switch {
	case c == nil || c.Trusted(f.trust):
	case c.Jobs == 0:
		fmt.Fprintln(a.Err, "sojourn: warning: no job succeeded both in the record and in the simulation: "+
			"nothing says whether the simulation is right")
	default:
		text := fmt.Sprintf("the simulation misses what was measured by %.1f %% in the mean and %.1f %% a job",
			100*c.Error, 100*c.JobError)
		if c.Differ > 0 {
			text += fmt.Sprintf(", and %s succeeded either there or here alone", spelling.Count(c.Differ, "job"))
		}
		fmt.Fprintf(a.Err, "sojourn: warning: %s, beyond --trust %g: do not trust a comparison of policies by it\n",
			text, f.trust)
	}
}
