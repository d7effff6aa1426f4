package run

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// snapshotRun records a simulation with many snapshots.
func snapshotRun(t *testing.T, c Choice, beat sched.Time) []byte {
	t.Helper()
	cluster, err := workload.ParseCluster("nodes=6,map-slots=3,reduce-slots=1")
	if err != nil {
		t.Fatal(err)
	}
	options := workload.Defaults()
	options.Nodes = 6
	file, err := workload.Open("../../examples/bursty.tsv", options)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	costs := sim.Costs{
		Reporting: sim.Reporting{Heartbeat: beat},
		Faults:    sim.Faults{MTBF: time.Hour, MTTR: 2 * time.Minute},
	}
	_, err = Simulate(t.Context(), Setup{Names: BuiltIn, Choice: c, RecordTo: &b, Gap: 3000}, sim.Config{
		Cluster: cluster, Jobs: workload.Take(file.Jobs, 30), Seed: 3, Costs: BuiltIn.Reporting(costs, c.Policy),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every policy decides as recorded from each snapshot on, and says the same of a job as one that has lived through the
// whole record; equal runs leave equal bytes. Each policy begins at one of two snapshots; with SOJOURN_LONG=1 at both,
// and at the last.
func TestSnapshots(t *testing.T) {
	choices := []Choice{{"fair", "mean"}, {"probe{srpt}", "fspy"}, {"srpt", "history"}, {"fspy", "fspy"},
		{"late{hfsp}:min-run=5s", "mean"}}
	for _, name := range BuiltIn.Policies.Names() {
		if BuiltIn.Policies[name].Card.Wraps {
			name += "{fifo}"
		}
		choices = append(choices, Choice{name, "oracle"})
	}
	for k, c := range choices {
		for _, beat := range []sched.Time{0, time.Second} {
			t.Run(c.Policy+" "+c.Estimator+" "+beat.String(), func(t *testing.T) {
				t.Parallel()
				if err := BuiltIn.Check(Simulator, c); err != nil {
					t.Skip(err)
				}
				b := snapshotRun(t, c, beat)
				marks := open(t, bytes.NewReader(b)).Marks()
				if len(marks) < 3 {
					t.Fatalf("%d snapshots in %d bytes, want several", len(marks), len(b))
				}
				for i := range 3 { // each replays what is left
					if i != k%2 && !longtest.On() {
						continue
					}
					m := marks[(i+1)*(len(marks)-1)/3]
					done, err := record.Replay(open(t, bytes.NewReader(b)), m.Now, BuiltIn.Deciders)
					if err != nil || done.Differs != nil {
						t.Fatalf("from %v: %v, %v", m.Now, err, done.Differs)
					}
					job := max(1, m.Newest-sched.JobID(3*i))
					sameExplained(t, b, record.Question{Job: job, At: m.Now + time.Second})
				}
				if c.Policy == "fair" && !bytes.Equal(b, snapshotRun(t, c, beat)) {
					t.Error("two equal runs leave different bytes")
				}
			})
		}
	}
}

// sameExplained asks a record with its snapshots and without.
func sameExplained(t *testing.T, b []byte, q record.Question) {
	t.Helper()
	var said [2]string
	for i, in := range []io.Reader{bytes.NewReader(b), struct{ io.Reader }{bytes.NewReader(b)}} {
		e, err := record.Explain(open(t, in), q, BuiltIn.Deciders)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		said[i] = string(text)
	}
	if said[0] != said[1] {
		t.Fatalf("job %d at %v:\n%s\nwithout snapshots:\n%s", q.Job, q.At, said[0], said[1])
	}
}

func open(t *testing.T, in io.Reader) *record.Reader {
	t.Helper()
	r, err := record.NewReader(in, "run", Payload)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
