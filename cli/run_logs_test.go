package cli

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/web"
)

// TestRunLogs runs a mapper that fails at its first attempt. The job goes well, the attempt is named with its last
// lines, and every attempt's log can be shown: by output, by record, and by the interface of the page.
func TestRunLogs(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, "in.txt", "a\nb\n")
	mapper := writeFile(t, "m.sh", `echo "begins" >&2
if test "$mapreduce_task_attempt_id" = "${mapreduce_task_attempt_id%_0}"; then cat; echo "well" >&2; exit; fi
echo "it hurts" >&2
exit 3
`)
	out, rec := filepath.Join(dir, "out"), filepath.Join(dir, "run.rec")
	status, _, errs := sojourn(t, "run", "--mapper", "sh "+mapper, "--reducer", "cat", "--reduces", "1", "--input", in,
		"--output", out, "-v")
	for _, part := range []string{"run again", "map task 0, attempt 0", "exit status 3", "it hurts", "run logs " + out,
		`msg="attempt ended"`, "outcome=failed", `msg="job ended"`} {
		if status != statusOK || !strings.Contains(errs, part) {
			t.Errorf("exit status %d; standard error lacks %q: %s", status, part, errs)
		}
	}
	list := must(t, "run", "logs", out)
	for _, part := range []string{"map-00000-0", "it hurts", "map-00000-1", "well"} {
		if !strings.Contains(list, part) {
			t.Errorf("the list lacks %q: %s", part, list)
		}
	}
	if text := must(t, "run", "logs", out, "map-00000-0"); text != "begins\nit hurts\n" {
		t.Errorf("the log is %q", text)
	}
	for words, says := range map[string]string{"2": "no log of that", "map-00000-0 1": "then an attempt",
		"map-00000-9": "no log of that", "x": "must be the number"} {
		args := append([]string{"run", "logs", out}, strings.Fields(words)...)
		if status, _, errs := sojourn(t, args...); status != statusUsage || !strings.Contains(errs, says) {
			t.Errorf("run logs OUT %s: exit status %d, %s; must be 2 and %q", words, status, errs, says)
		}
	}
	if status, _, errs := sojourn(t, "run", "logs", dir); status != statusUsage || !strings.Contains(errs, out) {
		t.Errorf("a folder with logs below: exit status %d, %s", status, errs)
	}

	_, _, errs = sojourn(t, "run", "--mapper", "sh "+mapper, "--reducer", "cat", "--reduces", "1", "--input", in,
		"--output", out, "--overwrite", "--record", rec, "-q")
	if errs != "" {
		t.Errorf("quiet says %s", errs)
	}
	if text := must(t, "run", "logs", rec, "1", "map-00000-1"); text != "begins\nwell\n" {
		t.Errorf("the log beside the record is %q", text)
	}
	site, err := siteOf(newApp(Streams{}, nil), []string{rec})
	if err != nil {
		t.Fatal(err)
	}
	var logs web.JobLogs
	var log web.Log
	askPage(t, site, "/api/v1/runs/0/jobs/1/logs", 200, &logs)
	askPage(t, site, "/api/v1/runs/0/jobs/1/logs/map-00000-0", 200, &log)
	if len(logs.Logs) != 2 || logs.Logs[0].Attempt != "map-00000-0" || log.Text != "begins\nit hurts\n" {
		t.Errorf("the page gets %+v and %+v", logs, log)
	}
	askPage(t, site, "/api/v1/runs/0/jobs/1/logs/..%2f..%2fin.txt", 404, &log)
}

// TestRunLogsOfRepeats runs a job twice: the logs of both repeats are there, and the user says which.
func TestRunLogsOfRepeats(t *testing.T) {
	dir := t.TempDir()
	turns := filepath.Join(dir, "turns")
	mapper := writeFile(t, "m.sh", "echo x >> "+turns+"; cat; echo \"turn $(wc -l < "+turns+")\" >&2\n")
	out := filepath.Join(dir, "out")
	_, _, errs := sojourn(t, "run", "--mapper", "sh "+mapper, "--reducer", "cat", "--reduces", "1", "--input",
		writeFile(t, "in.txt", "a\n"), "--output", out, "--repeats", "2")
	if says := "run logs " + out + ".logs/repeat-2"; !strings.Contains(errs, says) {
		t.Errorf("standard error lacks %q: %s", says, errs)
	}
	for repeat, text := range map[string]string{"1": "turn 1\n", "2": "turn 2\n"} {
		if got := must(t, "run", "logs", out, "--repeat", repeat, "map-00000-0"); got != text {
			t.Errorf("repeat %s: the log is %q, must be %q", repeat, got, text)
		}
	}
	for words, says := range map[string]string{"": "the logs of repeats 1, 2", "--repeat 3": "the logs of repeats 1, 2",
		"--repeat -1": "numbered from 1"} {
		args := append([]string{"run", "logs", out}, strings.Fields(words)...)
		if status, _, errs := sojourn(t, args...); status != statusUsage || !strings.Contains(errs, says) {
			t.Errorf("run logs OUT %s: exit status %d, %s; must be 2 and %q", words, status, errs, says)
		}
	}
	if status, _, errs := sojourn(t, "run", "logs", dir, "--repeat", "1"); status != statusUsage ||
		!strings.Contains(errs, "no logs of repeat 1") {
		t.Errorf("a folder without repeats: exit status %d, %s", status, errs)
	}
}

// askPage asks a site, and fails the test where the answer has another status.
func askPage(t *testing.T, site *web.Site, path string, status int, to any) {
	t.Helper()
	w := httptest.NewRecorder()
	site.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	if err := json.Unmarshal(w.Body.Bytes(), to); err != nil || w.Code != status {
		t.Errorf("%s: %v", fmt.Sprint(path, ": ", w.Code, " ", w.Body), err)
	}
}
