package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/internal/web"
)

// TestServeFollows serves a record that is half written: the run is live. What is added is shown, and at its end the
// run is over.
func TestServeFollows(t *testing.T) {
	dir := t.TempDir()
	whole, growing := filepath.Join(dir, "whole.rec"), filepath.Join(dir, "growing.rec")
	must(t, "sim", "--trace", "../examples/bursty.tsv", "--cluster", "nodes=20,map-slots=3,reduce-slots=1", "--policy",
		"fair", "--record", whole)
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(growing)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	half := len(text) / 2
	if _, err := f.Write(text[:half]); err != nil {
		t.Fatal(err)
	}
	var says strings.Builder
	site, err := siteUntil(t.Context(), newApp(Streams{Err: &says}, nil), []string{growing})
	if err != nil {
		t.Fatal(err)
	}
	var runs web.Runs
	askPage(t, site, "/api/v1/runs", 200, &runs)
	if r := runs.Runs[0]; !r.Live || r.Jobs == 0 || r.Unfinished == 0 {
		t.Errorf("half of a record is %+v, must be live with unfinished jobs", r)
	}
	if _, err := f.Write(text[half:]); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); runs.Runs[0].Live; time.Sleep(20 * time.Millisecond) {
		if askPage(t, site, "/api/v1/runs", 200, &runs); time.Now().After(deadline) {
			t.Fatal("the run is not over long after its record")
		}
	}
	if r := runs.Runs[0]; r.Jobs != 300 || r.Unfinished != 0 || r.Note != "" {
		t.Errorf("the whole record is %+v, must be 300 jobs, none unfinished", r)
	}
	if !strings.Contains(says.String(), "growing.rec has no end yet") {
		t.Errorf("it says %q", says.String())
	}
	if err := f.Truncate(int64(half)); err != nil {
		t.Fatal(err)
	}
	site, err = siteOf(newApp(Streams{Err: &says}, nil), []string{growing})
	if err != nil {
		t.Fatal(err)
	}
	askPage(t, site, "/api/v1/runs", 200, &runs)
	if r := runs.Runs[0]; r.Live || r.Note != "the record ends early" {
		t.Errorf("a report of half a record is %+v, must say that the record ends early", r)
	}
}

// TestServeAt serves a record at an instant: the page is told where to open. A record that ends before it is named.
func TestServeAt(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "sim", "--trace", generated(t), "--cluster", smallCluster, "--policy", "fifo", "--record", "x.rec")
	var says strings.Builder
	site, err := siteUntil(t.Context(), newApp(Streams{Err: &says}, nil), []string{"x.rec"})
	if err != nil {
		t.Fatal(err)
	}
	var runs web.Runs
	if askPage(t, site, "/api/v1/runs", 200, &runs); runs.At != nil {
		t.Errorf("without --at the page opens at %g s", *runs.At)
	}
	for at, short := range map[time.Duration]string{
		1500 * time.Millisecond: "",
		0:                       "",
		90 * time.Hour:          "x.rec ends at ",
	} {
		says.Reset()
		openAt(newApp(Streams{Err: &says}, nil), site, at)
		askPage(t, site, "/api/v1/runs", 200, &runs)
		if runs.At == nil || *runs.At != at.Seconds() {
			t.Errorf("at %v the page opens at %v", at, runs.At)
		}
		if (says.Len() > 0) != (short != "") || !strings.Contains(says.String(), short) {
			t.Errorf("at %v of a record of %g s it says %q", at, runs.Runs[0].Now, says.String())
		}
	}
	for _, at := range []string{"noon", "-5m"} {
		status, _, errs := sojourn(t, "record", "serve", "x.rec", "--at", at)
		if status != statusUsage || !strings.Contains(errs, "--at: ") || !strings.Contains(errs, at) {
			t.Errorf("--at %s: exit status %d, %q; want 2 and a line that names both", at, status, errs)
		}
	}
}

// TestReportsReplaceFilesOnly writes a report to a pipe, which stays a pipe, and is refused to replace the record that
// it shows, or another file without a word.
func TestReportsReplaceFilesOnly(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "sim", "--trace", generated(t), "--cluster", smallCluster, "--policy", "fifo", "--record", "x.rec")
	if err := unix.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan []byte)
	go func() {
		text, _ := os.ReadFile("pipe")
		read <- text
	}()
	must(t, "record", "report", "x.rec", "--output", "pipe")
	if text := <-read; !bytes.Contains(text, []byte("</html>")) {
		t.Errorf("the pipe got %d bytes, which are no page", len(text))
	}
	if info, err := os.Lstat("pipe"); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is now %v, %v", info, err)
	}
	must(t, "record", "report", "x.rec", "--output", "x.html")
	for args, want := range map[string]string{
		"--output ./x.rec --overwrite": "record x.rec and --output ./x.rec are one file",
		"--output x.html":              "--output x.html exists",
		"--output .":                   "--output . is a folder",
		"--output nowhere/x.html":      "--output nowhere/x.html: stat nowhere",
		"":                             "--output is needed",
	} {
		words := append([]string{"record", "report", "x.rec"}, strings.Fields(args)...)
		if status, _, errs := sojourn(t, words...); status != statusUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit status %d, %q; want 2 and %q", args, status, errs, want)
		}
	}
	must(t, "record", "summary", "x.rec")
}
