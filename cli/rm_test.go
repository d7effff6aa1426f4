package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/web"
	"github.com/sojourn-sched/sojourn/internal/yarn"
)

// patience is how long tests wait for what must happen: so long that it is no question of how busy the machine is.
const patience = 5 * time.Minute

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
		site += "<property><name>" + strings.ReplaceAll("yarn.resourcemanager."+name+".address", "..", ".") +
			"</name><value>127.0.0.1:0</value></property>"
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(site+"</configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The command that a ResourceManager was started with starts it again after a crash, which leaves its record. Each life
// has a record of its own, unless the first may be replaced.
func TestManagerStartsAgain(t *testing.T) {
	dir := t.TempDir()
	writeSite(t, dir)
	kept := filepath.Join(dir, "kept")
	for i, c := range []struct {
		status int
		args   []string
	}{{statusOK, nil}, {statusOK, nil}, {statusOK, []string{"--overwrite"}}} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		errs := &untilReady{end: cancel}
		args := append([]string{"rm", "--conf", dir, "--policy", "fifo", "--quiet", "--record", kept}, c.args...)
		if status := Run(ctx, Streams{strings.NewReader(""), io.Discard, errs}, args); status != c.status {
			t.Errorf("life %d: status %d, want %d: %s", i+1, status, c.status, errs)
		}
		cancel()
	}
	if records, _ := filepath.Glob(kept + "*"); !slices.Equal(records, []string{kept, kept + "-2"}) {
		t.Errorf("three lives left %q; the last replaces the record of the first", records)
	}
}

// Queues of a YAML file are in the place of the folder's, but for who may use them: at the start, and when they are
// read again.
func TestManagerQueuesKeepLists(t *testing.T) {
	dir := t.TempDir()
	writeSite(t, dir)
	list := func(users string) {
		t.Helper()
		text := "<configuration>"
		for name, value := range map[string]string{"root.queues": "old", "root.old.capacity": "100",
			"root.acl_submit_applications":     " ",
			"root.old.acl_submit_applications": users} {
			text += "<property><name>yarn.scheduler.capacity." + name + "</name><value>" + value + "</value></property>"
		}
		if err := os.WriteFile(filepath.Join(dir, "capacity-scheduler.xml"), []byte(text+"</configuration>"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	list("ana")
	config, _, err := yarn.Site(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "queues.yaml")
	if err := os.WriteFile(path, []byte("queues: [{name: old, weight: 2}, {name: new}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, users := range []string{"ana", "bo"} {
		list(users)
		q, err := readQueues(path, config.Reread)
		if err != nil || len(q.Tree) != 2 || q.Tree[1].Name != "new" {
			t.Fatalf("%+v, %v", q, err)
		}
		if root, said := q.Access[""]; !said || root.Submit.Everybody ||
			!slices.Equal(q.Access["old"].Submit.Users, []string{users}) {
			t.Errorf("lists %+v, want no user at the root and %s at old", q.Access, users)
		}
	}
}

// What is lost counts even when the command was interrupted; other failures of an interrupted command do not. A full
// disk is a failure, and no wrong usage.
func TestStatusOfLoss(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := statusOf(ctx, run.Lost(errors.New("full"))); got != statusFailed {
		t.Errorf("status %d of a loss, want %d", got, statusFailed)
	}
	if got := statusOf(t.Context(), fmt.Errorf("write: %w", syscall.ENOSPC)); got != statusFailed {
		t.Errorf("a full disk: status %d", got)
	}
	if got := statusOf(ctx, failuref("%w", context.Canceled)); got != statusInterrupted {
		t.Errorf("status %d of what was interrupted, want %d", got, statusInterrupted)
	}
}

// Without --policy the scheduler of the folder decides which policy it is; --check says so, and what a policy cannot do
// here, and starts nothing; a secured cluster's folder starts nothing without --insecure.
func TestManagerChecks(t *testing.T) {
	const java = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
	for _, c := range []struct {
		property, value, args string
		status                int
		want                  string
	}{
		{"a.b", "c", "", statusOK, "policy capacity"},
		{"yarn.resourcemanager.scheduler.class", java + "fair.FairScheduler", "", statusOK, "policy fair"},
		{"yarn.resourcemanager.scheduler.class", java + "fifo.FifoScheduler", "", statusOK, "policy fifo"},
		{"yarn.resourcemanager.scheduler.class", java + "fair.FairScheduler", "--policy=srpt", statusOK, "policy srpt"},
		{"a.b", "c", "--policy=reverse", statusOK, "policy reverse cannot slow or suspend containers"},
		{"hadoop.security.authentication", "kerberos", "", statusFailed, "hadoop.security.authentication is kerberos"},
		{"hadoop.security.authentication", "kerberos", "--insecure", statusOK, "policy capacity"},
		{"yarn.resourcemanager.nodes.include-path", "hosts.txt", "", statusFailed, "hosts.txt: no such file"},
	} {
		dir := t.TempDir()
		text := "<configuration><property><name>" + c.property + "</name><value>" + c.value +
			"</value></property></configuration>"
		if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		args := append([]string{"rm", "--conf", dir, "--check"}, strings.Fields(c.args)...)
		status := Run(t.Context(), Streams{strings.NewReader(""), &out, &out}, args)
		if status != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s = %s %s: status %d, want %d: %s", c.property, c.value, c.args, status, c.status, &out)
		}
	}
}

// The ResourceManager's page is at / of its REST port, and shows one run that goes on.
func TestManagerServesPage(t *testing.T) {
	dir := t.TempDir()
	writeSite(t, dir)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	lines, out := io.Pipe()
	status := make(chan int)
	go func() {
		args := []string{"rm", "--conf", dir, "--policy", "fair"}
		s := Run(ctx, Streams{strings.NewReader(""), io.Discard, out}, args)
		out.Close()
		status <- s
	}()
	at := ""
	said := bufio.NewScanner(lines)
	for said.Scan() && said.Text() != "ready" {
		if _, address, ok := strings.Cut(said.Text(), "REST on "); ok {
			at = "http://" + address
		}
	}
	go io.Copy(io.Discard, lines)
	var runs web.Runs
	ask(t, at+"/api/v1/runs", &runs)
	if len(runs.Runs) != 1 || !runs.Runs[0].Live || !runs.Runs[0].Acts || runs.Runs[0].Policy != "fair" {
		t.Errorf("the page shows %+v, must show a live run under fair whose jobs can be changed", runs.Runs)
	}
	stop()
	<-status
}
