package mr

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// TestEmptyOutput: a job without reduces whose input has no files has an empty output, which replaces the old one. So
// has the last round of a job.
func TestEmptyOutput(t *testing.T) {
	for name, next := range map[string]func(*Round) (*Job, error){
		"no further round": nil,
		"Next returns nil": func(*Round) (*Job, error) { return nil, nil },
		"a second round": func(r *Round) (*Job, error) {
			if r.Index > 0 {
				return nil, nil
			}
			return copyLines(), nil
		},
	} {
		for _, old := range []bool{false, true} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			if old {
				if err := os.Mkdir(out, 0o777); err != nil {
					t.Fatal(err)
				}
				write(t, out, "part-m-00000", "old\n")
			}
			job := copyLines()
			job.Next = next
			w, err := Open(Order{Job: job, Input: []string{t.TempDir()}, Output: out, Overwrite: old}, site(t, 1))
			if err != nil {
				t.Fatal(err)
			}
			results, err := Serve(ctx, Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: oneOfEach},
				[]Submission{{Spec: &sched.JobSpec{Open: next != nil}, Work: w}})
			cancel()
			if err != nil || len(results) != 1 || results[0].Outcome != sched.OK {
				t.Errorf("%s, old output %v: results %+v, error %v", name, old, results, err)
			}
			if left := names(t, dir); !slices.Equal(left, []string{"out"}) {
				t.Errorf("%s, old output %v: %v is left, want the output", name, old, left)
			} else if got := names(t, out); !slices.Equal(got, []string{successFile}) {
				t.Errorf("%s, old output %v: the output has %v, want %s", name, old, got, successFile)
			}
		}
	}
}

// TestRoundsWithoutTasks: a job is asked for its next stages as soon as it has none with tasks, so that its output is
// published before it ends. The core learns once that it ends.
func TestRoundsWithoutTasks(t *testing.T) {
	for _, c := range []struct {
		first, second int32 // maps of the first round and of the second; -1: there is no second
		asked         int
	}{{0, -1, 2}, {0, 0, 3}, {0, 1, 3}, {1, 0, 3}, {1, 1, 3}} {
		for _, open := range []bool{false, true} {
			if c.second >= 0 && !open {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				w := &sleeper{stages: mapReduce(c.first, time.Second, 0, 0)[:1]}
				if c.second >= 0 {
					w.later = mapReduce(c.second, time.Second, 0, 0)[:1]
				}
				w.run = func(*Launch) error { return nil }
				var ends int
				recorder := recorded(func(events []sched.Event) {
					for _, v := range events {
						if v.Kind == sched.JobEnded {
							ends++
						}
					}
				})
				config := Config{Core: sched.Config{Policy: &inOrder{}, Recorder: recorder}, Nodes: oneOfEach,
					Settle: synctest.Wait}
				results, err := Serve(ctx, config, []Submission{{Spec: &sched.JobSpec{Open: open}, Work: w}})
				if err != nil || len(results) != 1 || results[0].Outcome != sched.OK || w.asked != c.asked ||
					ends != 1 {
					t.Errorf("%+v, open %v: results %+v, error %v, asked %d times, %d ends; want OK and one end", c,
						open, results, err, w.asked, ends)
				}
			})
		}
	}
}

// recorded is a recorder of events.
type recorded func(events []sched.Event)

func (r recorded) Record(_ sched.Time, events []sched.Event, _ []sched.Action) { r(events) }
