package workload

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

func TestOrder(t *testing.T) {
	// Submissions 3, 1, 2, 2: in order 1, 2, 2, 3, and the two at 2 as they stand.
	jobs := mustRead(t, "c\t3\t0\t0\t0\t0\na\t1\t0\t0\t0\t0\nb\t2\t0\t0\t0\t0\nd\t2\t0\t0\t0\t0\n", Defaults())
	got := ""
	for _, j := range jobs {
		got += j.Name
	}
	if got != "abdc" {
		t.Errorf("jobs come as %s, want abdc", got)
	}
}

func TestOrderWindow(t *testing.T) {
	// n jobs at 1, 2, ... s and then one at 0.5 s: it may stand up to 10,000 jobs too late.
	text := func(n int) string {
		var b strings.Builder
		for k := range n {
			fmt.Fprintf(&b, "j%d\t%d\t1\t0\t0\t0\n", k, k+1)
		}
		return b.String() + "late\t0.5\t0\t0\t0\t0\n"
	}
	jobs := mustRead(t, text(window), Defaults())
	if len(jobs) != window+1 || jobs[0].Name != "late" || jobs[1].Submit != time.Second {
		t.Errorf("%d jobs, the first %s at %v", len(jobs), jobs[0].Name, jobs[0].Submit)
	}
	_, err := read(t, text(window+1), Defaults())
	wantError(t, err,
		"trace:10002: job late: submitted at 500ms, stands more than 10000 jobs too late: sort the file by submission")
}

// TestOrderListed holds that jobs wait for earlier ones only while they list at most MaxList tasks together: ten jobs
// of a quarter of that each are never all in memory.
func TestOrderListed(t *testing.T) {
	read, most, yielded := 0, 0, 0
	list := make([]Task, MaxList/4)
	jobs := inOrder("trace", func(e emit) error {
		for k := range 10 {
			read++
			spec := &sched.JobSpec{Submit: time.Duration(k), Payload: &Truth{Stages: []StageTruth{listed(list)}}}
			if !e(spec, k+1) {
				break
			}
		}
		return nil
	})
	for _, err := range jobs {
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, read-yielded)
		yielded++
	}
	if yielded != 10 || most > 5 {
		t.Errorf("%d jobs, and up to %d of them in memory at once; want 10 and 5", yielded, most)
	}
}

func TestWriteYAMLIsReadAgain(t *testing.T) {
	job := func(tasks int) Source {
		o := Defaults()
		list := make([]Task, tasks)
		return Of(o.join(sched.JobSpec{Name: "a"}, 1, listed(list), StageTruth{}))
	}
	var b bytes.Buffer
	if _, err := Write(&b, YAML, job(500_000)); err != nil {
		t.Error(err)
	}
	if jobs, err := read(t, b.String(), Defaults()); err != nil || len(jobs) != 1 ||
		jobs[0].Stages[0].Tasks != 500_000 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
	_, err := Write(io.Discard, YAML, job(600_000))
	wantError(t, err, "job a: lists too many tasks for yaml (600009 values, 524288 at most): convert to sls")
}
