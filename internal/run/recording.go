package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// openRecord opens the run's record; nil: no record is wanted.
func (s *Setup) openRecord(core sched.Config) (*record.Writer, error) {
	if s.Record == "" && s.RecordTo == nil {
		return nil, nil
	}
	h := record.Header{
		Engine:    s.Engine.Name,
		Seed:      s.Seed,
		Policy:    s.Choice.Policy,
		Estimator: s.Choice.Estimator,
		Trace:     s.Workload,
		Heartbeat: s.Heartbeat,
		Core:      record.CoreConfigOf(core),
	}
	var err error
	if h.Cluster, err = json.Marshal(s.Cluster); err != nil {
		return nil, err
	}
	if core.Estimator != nil {
		if h.Learned, err = json.Marshal(core.Estimator); err != nil {
			return nil, err
		}
	}
	if p, ok := core.Policy.(policy.Lasting); ok && s.State != "" {
		if h.Memory, err = json.Marshal(p.Left(0)); err != nil {
			return nil, err
		}
	}
	options := record.Options{
		Payload: Payload, Policy: core.Policy, Estimator: core.Estimator, Note: s.Note, Gap: s.Gap,
	}
	if s.RecordTo != nil {
		return record.NewWriter(s.RecordTo, h, options)
	}
	info, err := os.Stat(s.Record)
	device := err == nil && !info.Mode().IsRegular()
	options.Overwrite = s.Overwrite || device
	w, err := record.Create(s.Record, h, options)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, Failuref("--record: %w: choose another name, remove it, or say --overwrite", err)
	case err != nil:
		return nil, Failure{err}
	}
	return w, nil
}

// A complainer is a writer of records that reports its first failure at once: a server runs on for long after its disk
// is full.
type complainer struct {
	*record.Writer
	complain func(error) // nil: it has complained, or Close alone tells
}

// Record implements sched.Recorder.
func (c *complainer) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	c.Writer.Record(now, events, actions)
	c.check()
}

// flush writes what is not written yet.
func (c *complainer) flush() {
	_ = c.Flush() // kept by the writer
	c.check()
}

// check reports the writer's failure.
func (c *complainer) check() {
	if err := c.Err(); err != nil && c.complain != nil {
		c.complain(err)
		c.complain = nil
	}
}

// Deciders makes the policy and the estimator of a record's header anew, as they were when the recorded run began.
func (n Names) Deciders(h *record.Header) (sched.Policy, sched.Estimator, error) {
	p, _, err := n.Policies.Parse(h.Policy)
	if err != nil {
		return nil, nil, err
	}
	if keeps, ok := p.(policy.Lasting); ok && len(h.Memory) > 0 {
		if err := keeps.Recall(h.Memory); err != nil {
			return nil, nil, fmt.Errorf("what the record's policy remembered: %w", err)
		}
	}
	e, _, err := n.Estimators.Parse(h.Estimator, Truth)
	if err != nil {
		return nil, nil, err
	}
	if len(h.Learned) > 0 { // without the history, whose file may have changed since
		if err := json.Unmarshal(h.Learned, e); err != nil {
			return nil, nil, fmt.Errorf("what the record's estimator had learned: %w", err)
		}
	}
	return p, e, nil
}
