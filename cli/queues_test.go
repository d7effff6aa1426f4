package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A misspelt queue is refused where queues are configured, with what may have been meant; where none are, jobs make the
// queues that they name.
func TestUnknownQueues(t *testing.T) {
	const jobs = "jobs:\n  - {name: one, maps: {count: 2, time: 1s}, queue: %s}\n  - {name: two, maps: {count: " +
		"2, time: 1s}}\n"
	file := func(queues, name string) string {
		path := filepath.Join(t.TempDir(), "mix.yaml")
		if err := os.WriteFile(path, []byte(queues+strings.ReplaceAll(jobs, "%s", name)), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const configured = "queues: [{name: prod, queues: [{name: etl}, {name: web}]}, {name: adhoc}]\n"
	for _, c := range []struct {
		queues, name string
		status       int
		says         string
	}{
		{configured, "prod.etl", statusOK, ""},
		{configured, "root.adhoc", statusOK, ""},
		{configured, "default", statusOK, ""},
		{configured, "prod.elt", statusUsage, `job "one" is for queue "prod.elt", which is not configured (did you ` +
			`mean prod.etl?): the queues are prod, prod.etl, prod.web, adhoc`},
		{"", "prod.elt", statusOK, ""},
	} {
		status, _, errs := sojourn(t, "sim", "--trace", file(c.queues, c.name), "--policy", "fair", "--cluster",
			"nodes=2,map-slots=1,reduce-slots=1")
		if status != c.status || c.says != "" && !strings.Contains(errs, c.says) {
			t.Errorf("queue %s of %q: exit status %d, %s", c.name, c.queues, status, errs)
		}
	}
}
