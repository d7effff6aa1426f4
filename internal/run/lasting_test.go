package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/sched"
)

// A manager that is started again gives its share back to the queue that lent it in the run before.
func TestDebtsOutlastRuns(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "policy.json")
	setup := Setup{
		Engine: Manager, Names: BuiltIn, State: folder,
		Choice: Choice{Policy: "longterm:guaranteed=0", Estimator: "history"},
		Queues: []*sched.QueueSpec{{Name: "lender"}, {Name: "borrower"}},
	}
	node := sched.Event{
		Kind: sched.NodeJoined,
		Node: 1,
		Body: &sched.NodeSpec{Name: "n", Class: "c", Capacity: sched.Resources{sched.Memory: 4096}},
	}
	job := func(id sched.JobID, queue string) sched.Event {
		return sched.Event{
			Kind: sched.JobSubmitted,
			Job:  id,
			Body: &sched.JobSpec{Queue: queue, Stages: []sched.StageSpec{
				{PerTask: sched.Resources{sched.Memory: 1024}, Tasks: 100, MaxAttempts: 4},
			}},
		}
	}
	open := func() *Opened {
		o, err := setup.Open()
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	first := open()
	core := sched.New(first.Core)
	core.Step(time.Second, []sched.Event{node, job(1, "borrower")})
	if _, err := setup.Open(); err == nil || !strings.Contains(err.Error(), "another run uses it") {
		t.Errorf("a second run on the folder: %v", err)
	}
	first.Keep(time.Hour) // nothing has happened meanwhile
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	setup.Record = filepath.Join(t.TempDir(), "run.rec")
	again := open()
	core = sched.New(again.Core)
	served := map[string]int{}
	for _, a := range core.Step(2*time.Second, []sched.Event{node, job(1, "borrower"), job(2, "lender")}) {
		if a.Kind == sched.Launch {
			served[core.Attempt(a.Attempt).Stage.Job.Spec.Queue]++
		}
	}
	if served["lender"] != 4 {
		t.Errorf("after the restart the lender has %d of 4 containers: %v", served["lender"], served)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}

	// The record of the second run has what the policy remembered, so that it is decided again as it was.
	r, err := record.Open(setup.Record, Payload)
	if err != nil {
		t.Fatal(err)
	}
	done, err := record.Replay(r, 0, BuiltIn.Deciders)
	if err := errors.Join(err, r.Close()); err != nil || done.Differs != nil || done.Actions < 4 {
		t.Errorf("replayed: %+v, %v", done, err)
	}
	setup.Record = ""

	if err := os.WriteFile(path, []byte(`{"At":"x"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := setup.Open(); err == nil || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "move it away") {
		t.Errorf("a damaged file: %v", err)
	}
}

// While a run goes on its debts are saved every few seconds, and a save that fails is told.
func TestDebtsAreSavedMeanwhile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(folder, "policy.json")
	var told error
	setup := Setup{
		Engine: Manager, Names: BuiltIn, Choice: Choice{Policy: "longterm", Estimator: "history"}, State: folder,
		Unsaved: func(err error) { told = err },
	}
	o, err := setup.Open()
	if err != nil {
		t.Fatal(err)
	}
	core := sched.New(o.Core)
	core.Step(time.Second, nil)
	if _, err := os.Stat(path); err == nil {
		t.Error("saved after a second")
	}
	core.Step(2*time.Minute, nil)
	if _, err := os.Stat(path); err != nil || told != nil {
		t.Errorf("after two minutes: %v, told %v", err, told)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	core.Step(4*time.Minute, nil)
	if told == nil {
		t.Error("a save failed and was not told")
	}
}

// A server starts although the debts that it finds cannot be read, as after a loss of power: they are set aside, which
// is told, and the next start finds what this run has saved.
func TestServerStartsWithDamagedDebts(t *testing.T) {
	for _, text := range []string{"", `{"At":"x"`} {
		folder := t.TempDir()
		path := filepath.Join(folder, "policy.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var told error
		setup := Setup{
			Engine: Manager, Names: BuiltIn, Choice: Choice{Policy: "longterm", Estimator: "history"}, State: folder,
			Unsaved: func(err error) { told = err },
		}
		for start := range 2 {
			told = nil
			o, err := setup.Open()
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			if (told != nil) != (start == 0) || told != nil && !strings.Contains(told.Error(), path) {
				t.Errorf("%q, start %d: told %v", text, start+1, told)
			}
		}
		if was, err := os.ReadFile(path + ".damaged-1"); err != nil || string(was) != text {
			t.Errorf("%q was set aside as %q, %v", text, was, err)
		}
	}
}
