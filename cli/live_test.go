package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/web"
)

// TestWebShowsRunsUntilInterrupted asks the page of a simulation, which stays after the results, for its runs and for
// the reason of a wait.
func TestWebShowsRunsUntilInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lines, out := io.Pipe()
	status := make(chan int)
	go func() {
		args := []string{"sim", "--trace", "../examples/bursty.tsv", "--jobs", "50", "--policy", "fifo",
			"--policy", "fair", "--web", "localhost:0"}
		s := Run(ctx, Streams{strings.NewReader(""), io.Discard, out}, args)
		out.Close()
		status <- s
	}()
	at := ""
	for said := bufio.NewScanner(lines); at == "" && said.Scan(); {
		if head, _, ok := strings.Cut(said.Text(), " goes on"); ok {
			at = strings.TrimPrefix(head, "sojourn: ")
		}
	}
	go io.Copy(io.Discard, lines)
	var runs web.Runs
	ask(t, at+"/api/v1/runs", &runs)
	if len(runs.Runs) != 2 || runs.Runs[1].Policy != "fair" || runs.Runs[1].Jobs != 50 || runs.Runs[1].Live {
		t.Errorf("the page shows %+v, must show fifo and fair with 50 jobs each, both over", runs.Runs)
	}
	var why web.Why
	ask(t, at+"/api/v1/runs/0/jobs/1/why?at=1e6", &why)
	if why.State != "ended" {
		t.Errorf("job 1 is %q, must have ended: the page has a record although none was asked for", why.State)
	}
	stop()
	if s := <-status; s != statusOK {
		t.Errorf("status %d, must be 0: the work was done when the page was ended", s)
	}
}

func ask(t *testing.T, url string, into any) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", url, err)
	}
}
