package yarn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// The jobs of TestStockDeadlines: maps that sleep, on a node that runs four of them beside four masters.
const (
	urgentMaps  = 8
	patientMaps = 60 // of each of three jobs
	deadlineMap = 6 * time.Second
)

// TestStockDeadlines runs stock MapReduce with deadlines in tags, on one NodeManager. Three jobs with an hour's time
// take all room; then a job comes that is due after twice the time that it takes alone. Under fair it has a quarter of
// the room and is late. Under flex it has what becomes free, and meets its deadline. A table of what was measured is
// logged, and written to deadlines.md in the folder that SOJOURN_DEADLINES names.
func TestStockDeadlines(t *testing.T) {
	whole(t)
	s := newStock(t)
	s.choosePorts()
	for k, v := range map[string]string{
		"yarn.nodemanager.resource.memory-mb":  "4096",
		"yarn.nodemanager.resource.cpu-vcores": "16", // memory decides
	} {
		s.site[k] = v
	}
	s.writeConf("conf", nil)
	s.writeScheduler("0.5")
	var alone, due time.Duration
	table := "\n| policy | due, s | took, s |\n|---|---:|---:|\n"
	for _, run := range []struct {
		policy        string
		beside, meets bool
	}{
		{"fair", false, true},
		{"fair", true, false},
		{"flex:metric=tardiness,least=0", true, true},
	} {
		rm := s.serveVerb(run.policy, "--estimator", "history")
		if alone == 0 {
			s.addNodes(1)
		}
		s.untilNodes(1)
		name := run.policy
		if !run.beside {
			name += ", alone"
		}
		s.part(name, func(s *stock) {
			took := s.urgent(run.beside, due)
			if due > 0 && (took <= due) != run.meets {
				s.t.Errorf("%s: it took %v, and its deadline was %v", run.policy, took, due)
			}
			table += fmt.Sprintf("| `%s` | %.1f | %.1f |\n", name, due.Seconds(), took.Seconds())
			if alone == 0 {
				alone, due = took, 2*took
			}
		})
		rm.kill()
	}
	t.Logf("load %s\n%s", load(t), table)
	if folder := os.Getenv("SOJOURN_DEADLINES"); folder != "" {
		s.write(filepath.Join(folder, "deadlines.md"), table)
	}
}

// urgent runs the job with a deadline (0: none), beside three others that are killed when it is through, and returns
// its time from submission to end.
func (s *stock) urgent(beside bool, due time.Duration) time.Duration {
	s.t.Helper()
	submit, heard, stop := s.submitter()
	defer stop()
	jobs := 0
	order := func(maps int, tags ...string) {
		tags = append(tags, fmt.Sprintf("sojourn.size=%v", time.Duration(maps)*deadlineMap))
		fmt.Fprintf(submit, "sleep %d %d %s\n", maps, deadlineMap.Milliseconds(), strings.Join(tags, ","))
		if !heard.Scan() {
			s.t.Fatal("the client ended")
		}
		jobs++
	}
	if beside {
		for range 3 {
			order(patientMaps, "sojourn.deadline=1h")
		}
		s.until("three jobs take all room", 3*time.Minute, func() bool {
			used := int32(0)
			for _, r := range s.reports() {
				used += r.Usage.Containers
			}
			return used >= 8 // as many as fit
		})
	}
	var tags []string
	if due > 0 {
		tags = append(tags, fmt.Sprintf("sojourn.deadline=%v", due))
	}
	order(urgentMaps, tags...)
	var own wire.ApplicationReport
	s.until("the job with a deadline has ended", 10*time.Minute, func() bool {
		own = s.newest()
		return int(own.ID.ID) >= jobs && own.State >= wire.AppFinished
	})
	if own.Final != wire.Succeeded {
		s.t.Fatalf("%s: %v: %s", own.Name, own.Final, own.Diagnostics)
	}
	for _, r := range s.reports() {
		if r.State < wire.AppFinished {
			s.until("a job is killed", time.Minute, func() bool {
				var done wire.KillResponse
				return s.call("forceKillApplication", &wire.KillRequest{ID: r.ID}, &done) == nil && done.Done
			})
		}
	}
	return time.Duration(own.Finish-own.Start) * time.Millisecond
}

// reports returns the reports of all applications.
func (s *stock) reports() []wire.ApplicationReport {
	var r wire.ApplicationsResponse
	if s.call("getApplications", &wire.ApplicationsRequest{}, &r) != nil {
		return nil
	}
	return r.Reports
}
