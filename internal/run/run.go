// Package run puts a run together, once for all engines: a policy, an estimator with what it keeps, the figures, a
// record, and the engine. The command line and the reproductions of papers call it.
//
//	run.go                        Setup and Open: all of a run but its engine
//	engine.go                     the engines, and which policies and estimators fit them
//	simulate.go  real.go          runs on the simulator, and on the embedded engine
//	history.go  lasting.go        what an estimator, and a policy, keep from run to run
//	recording.go                  writing the record of a run, and its policy and estimator made anew
//	truth.go  check.go            a recorded run simulated again, and how well that repeats what was measured
//	beside.go  errors.go          calls on all processors; the kinds of errors
package run

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/safefile"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Setup says who decides in a run, what is known beforehand, and what the run leaves behind.
type Setup struct {
	Engine  Engine
	Names   Names
	Choice  Choice
	Made    sched.Estimator // used instead of the one that Choice names; nil: that one
	History string          // file that keeps what the estimator learns; "": nothing is kept
	State   string          // folder that keeps what a policy.Lasting remembers beyond a run; "": nothing is kept
	Loans   *record.Loans   // a statement that follows the run, and is kept in State as well; nil: none

	Workload  string // name, for the record
	Cluster   *workload.Cluster
	Queues    []*sched.QueueSpec
	Heartbeat sched.Time // interval at which nodes report, and accept work only then; zero: they always accept it
	Seed      uint64
	Spread    bool            // launches go round the nodes
	Forecast  *sched.Forecast // what all nodes together are expected to offer over time; nil: not known

	Record    string               // file; "": none
	RecordTo  io.Writer            // instead of the file
	Overwrite bool                 // the file may exist
	Gap       int64                // bytes between snapshots in the record; zero: as record.Options says
	Complain  func(error)          // is told at once when the record cannot be written; nil: Close alone tells
	Unsaved   func(error)          // is told when what was learned cannot be saved meanwhile; nil: Close alone saves
	Note      func(string)         // is told what the policy finds out, and of missing snapshots; nil: nothing is told
	Row       func(*record.JobRow) // is told of each job that has ended; nil: nothing is told
	Watch     []record.Follower    // other followers of the run
}

// A Ranked is a follower that asks the run's policy for its present order. Open calls Rank before the run begins.
type Ranked interface{ Rank(sched.Policy) }

// A Figured is a follower that computes figures of jobs as those of the run are computed. Open calls Figure before the
// run begins.
type Figured interface{ Figure(record.TallyOptions) }

// An Opened run has its policy, estimator, figures and record, and waits for its engine.
type Opened struct {
	Core  sched.Config  // what the engine makes its core from
	Tally *record.Tally // nil of a Manager

	engine    Engine
	choice    Choice          // with the estimator that is used
	estimator sched.Estimator // as it was made, without what keeps it
	learned   *history
	state     state
	writer    *complainer // nil: there is no record
}

// Open makes all that a run needs besides its engine. The caller closes it.
func (s Setup) Open() (o *Opened, err error) {
	o = &Opened{engine: s.Engine}
	defer func() {
		if err != nil {
			err, o = errors.Join(err, o.learned.close(), o.state.release()), nil
		}
	}()
	if s.Choice, _, err = s.Names.settle(s.Engine, s.Choice); err != nil {
		return o, err
	}
	o.choice = s.Choice
	if o.Core.Policy, _, err = s.Names.Policies.Parse(s.Choice.Policy); err != nil {
		return o, err
	}
	if err = s.recall(o); err != nil {
		return o, err
	}
	o.Core.Queues, o.Core.Heartbeats, o.Core.Can = s.Queues, s.Heartbeat > 0, s.Engine.Can
	o.Core.Limit, o.Core.Spread, o.Core.Forecast = s.Engine.Limit, s.Spread, s.Forecast
	if err := s.estimate(o); err != nil {
		return o, err
	}
	if s.Unsaved != nil {
		o.learned.keepSaving(saveEvery, s.Unsaved)
	}
	return o, s.follow(o)
}

// recall gives the policy and the statement of loans what an earlier run left in the folder.
func (s *Setup) recall(o *Opened) (err error) {
	if o.state, err = openState(s.State); err != nil || s.State == "" {
		return err
	}
	if of, ok := o.Core.Policy.(policy.Lasting); ok {
		if err := o.state.recall(filepath.Join(s.State, debtsFile), of, s.Unsaved); err != nil {
			return err
		}
	}
	if s.Loans != nil {
		return o.state.recall(filepath.Join(s.State, loansFile), s.Loans, s.Unsaved)
	}
	return nil
}

// estimate makes the estimator, and opens what it learned in earlier runs.
func (s *Setup) estimate(o *Opened) error {
	if s.Made != nil {
		o.estimator, o.Core.Estimator = s.Made, s.Made
		return nil
	}
	e, card, err := s.parse()
	if err != nil {
		return err
	}
	o.Core.Can = s.Names.with(s.Engine, s.Choice.Estimator).Can
	o.estimator, o.Core.Estimator = e, e
	if card.Keeps != "" {
		l := newLearner(e)
		o.Core.Estimator = l
		o.learned, err = openHistory(s.History, card.Keeps, l)
		if errors.Is(err, errDamaged) && s.Unsaved != nil { // a server starts all the same
			s.Unsaved(fmt.Errorf("--history %w", err))
			if _, err = safefile.SetAside(s.History); err == nil {
				o.learned, err = openHistory(s.History, card.Keeps, l)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("--history %w", err)
	}
	return nil
}

// parse makes the estimator that the choice names.
func (s *Setup) parse() (sched.Estimator, model.Card, error) {
	var truth model.Truth
	if s.Engine.Name == Simulator.Name {
		truth = Truth
	}
	e, card, err := s.Names.Estimators.Parse(s.Choice.Estimator, truth)
	switch {
	case err != nil:
		return nil, card, fmt.Errorf("--estimator %w", err)
	case s.History != "" && card.Keeps == "":
		return nil, card, fmt.Errorf("--history is for --estimator %s", s.Names.Estimators.Which(Keeps))
	}
	return e, card, nil
}

// Check returns an error where the choice names no estimator that the engine can use. It opens nothing.
func (s Setup) Check() (err error) {
	if s.Choice, _, err = s.Names.settle(s.Engine, s.Choice); err == nil {
		_, _, err = s.parse()
	}
	return err
}

// Keeps reports whether an estimator keeps what it learns from run to run.
func Keeps(c model.Card) bool { return c.Keeps != "" }

// follow sets o.Core.Recorder to all that follows the run: the figures (also o.Tally), the record (also o.writer), the
// statement of loans, what the state folder keeps, the notes of the policy, and s.Watch. All else of o.Core must be set
// before, because the record's header has it. An error says why the record cannot be made.
func (s *Setup) follow(o *Opened) error {
	options := record.TallyOptions{Policy: s.Choice.Policy, Row: s.Row, Measured: s.Engine.Name == Embedded.Name}
	if s.Engine.Name == Simulator.Name {
		options.Truth = measure(s.Cluster)
	}
	var all record.Tee
	if s.Engine.Name != Manager.Name { // whose run has no end, and figures keep a few words a job
		o.Tally = record.NewTally(options)
		all = append(all, o.Tally)
	}
	w, err := s.openRecord(o.Core)
	if err != nil {
		return err
	}
	if w != nil {
		o.writer = &complainer{w, s.Complain}
		all = append(all, o.writer)
	}
	if s.Loans != nil {
		all = append(all, s.Loans)
	}
	for _, l := range o.state.kept {
		all = append(all, l)
	}
	if n, ok := o.Core.Policy.(policy.Noter); ok && s.Note != nil {
		all = append(all, &noting{n, s.Note, mostNotes})
	}
	for _, w := range s.Watch {
		if r, ok := w.(Ranked); ok {
			r.Rank(o.Core.Policy)
		}
		if f, ok := w.(Figured); ok {
			f.Figure(options)
		}
	}
	if all = append(all, s.Watch...); len(all) > 0 {
		o.Core.Recorder = all
	}
	return nil
}

// Keep says that the run has come to now. What outlives the run counts up to then, and is saved if the last save is
// saveEvery old. The record is written up to the last Step. An engine calls Keep where saveEvery may pass without a
// Step, and when it ends, in the goroutine that calls Step.
func (o *Opened) Keep(now sched.Time) {
	o.state.keep(now)
	if o.writer != nil {
		o.writer.flush()
	}
}

// Close writes what was learned and ends the record.
func (o *Opened) Close() error {
	var err error
	if o.writer != nil {
		if err = o.writer.Close(); err != nil {
			err = Lost(err)
		}
	}
	return errors.Join(err, o.learned.close(), o.state.close())
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// mostNotes bounds the notes of a run that are passed on.
const mostNotes = 20

// noting passes on what a policy notes in each Step.
type noting struct {
	policy.Noter
	tell func(string)
	left int
}

// Attach implements record.Follower.
func (n *noting) Attach(*sched.View) {}

// Record implements sched.Recorder.
func (n *noting) Record(sched.Time, []sched.Event, []sched.Action) {
	for _, note := range n.Notes() {
		switch n.left--; {
		case n.left >= 0:
			n.tell(note)
		case n.left == -1:
			n.tell(fmt.Sprintf("more than %d notes: the others are left out", mostNotes))
		}
	}
}
