package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
	wantError(
		t,
		err,
		"trace:10002: job late: submitted at 500ms, stands more than 10000 jobs too late: sort the file by submission",
	)
}
