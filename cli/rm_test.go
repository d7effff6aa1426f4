package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/record"
	"github.com/sojourn-sched/sojourn/sched"
)

// An untilReady is standard error that ends the command once it has said that it is ready.
type untilReady struct {
	bytes.Buffer
	end context.CancelFunc
}

func (u *untilReady) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "ready") {
		u.end()
	}
	return u.Buffer.Write(b)
}

// writeSite has a ResourceManager of a folder listen on the loopback, on ports that are free.
func writeSite(t *testing.T, dir string) {
	t.Helper()
	site := "<configuration>"
	for _, name := range []string{"resource-tracker", "scheduler", "", "admin", "webapp"} {
		site += "<property><name>" + strings.ReplaceAll("yarn.resourcemanager."+name+".address", "..", ".") + "</name><value>127.0.0.1:0</value></property>"
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(site+"</configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The command that a ResourceManager was started with starts it again after a crash, which leaves its record: where that may be replaced.
func TestManagerStartsAgain(t *testing.T) {
	dir := t.TempDir()
	writeSite(t, dir)
	kept := filepath.Join(dir, "kept")
	for i, c := range []struct {
		status int
		args   []string
	}{{statusOK, nil}, {statusFailed, nil}, {statusOK, []string{"--overwrite"}}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		errs := &untilReady{end: cancel}
		args := append([]string{"rm", "--conf", dir, "--policy", "fifo", "--quiet", "--record", kept}, c.args...)
		if status := Run(ctx, Streams{strings.NewReader(""), io.Discard, errs}, args); status != c.status {
			t.Errorf("life %d: status %d, want %d: %s", i+1, status, c.status, errs)
		}
		cancel()
	}
}

var errFull = errors.New("no space left")

// A full disk takes the first writes only.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// That a record cannot be written any more is said once, when it happens; and at the end it is why the command fails, interrupted or not.
func TestRecordThatCannotBeWritten(t *testing.T) {
	w, err := record.NewWriter(&full{room: 4096}, record.Header{Engine: "yarn", Policy: "fifo"}, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var said []error
	c := &complaining{w, func(err error) { said = append(said, err) }}
	for i := range 100_000 {
		c.Record(sched.Time(i)*sched.Time(time.Second), []sched.Event{{Kind: sched.NodeLost, Node: sched.NodeID(i + 1)}}, nil)
	}
	if len(said) != 1 || !errors.Is(said[0], errFull) {
		t.Errorf("%d complaints, want one: %v", len(said), said)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := &recording{writer: w}
	if got := statusOf(ctx, r.close()); got != statusFailed {
		t.Errorf("status %d, want %d", got, statusFailed)
	}
	if got := statusOf(ctx, failure{context.Canceled}); got != statusInterrupted {
		t.Errorf("status %d of what was interrupted, want %d", got, statusInterrupted)
	}
}
