package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recovers says in yarn-site.xml that Hadoop's ResourceManager keeps its state.
const recovers = "<property><name>yarn.resourcemanager.recovery.enabled</name><value>true</value></property>"

// lives starts a ResourceManager and ends it once it is ready.
func lives(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	errs := &untilReady{end: cancel}
	args = append([]string{"rm", "--policy", "fifo", "--quiet"}, args...)
	if status := Run(ctx, Streams{strings.NewReader(""), io.Discard, errs}, args); status != statusOK {
		t.Fatalf("%q: status %d: %s", args, status, errs)
	}
}

// The state of a ResourceManager goes to Hadoop's store and comes back, each time to a place that had none.
func TestTakeOverAndBack(t *testing.T) {
	dir := t.TempDir()
	writeSite(t, dir)
	state, store := filepath.Join(dir, "state"), filepath.Join(dir, "store")
	lives(t, "--conf", dir, "--state", state)
	const count = "0 applications (0 not over) and 0 delegation tokens are in "
	if got := must(t, "rm", "hand-over", store, "--conf", dir, "--state", state); got != count+store+"\n" {
		t.Errorf("hand-over says %q", got)
	}
	if _, err := os.Stat(filepath.Join(store, "FSRMStateRoot", "EpochNode")); err != nil {
		t.Error(err)
	}
	for range 2 { // by a path, and by what yarn-site.xml says
		site, err := os.ReadFile(filepath.Join(dir, "yarn-site.xml"))
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"rm", "take-over", "--conf", dir, "--state", state}
		if !strings.Contains(string(site), "state-store") {
			args = append(args, "file://"+store)
		}
		if got := must(t, args...); got != count+filepath.Join(state, "rm.db")+"\n" {
			t.Errorf("%q says %q", args, got)
		}
		status, _, errs := sojourn(t, args...)
		if status != statusUsage || !strings.Contains(errs, "rm.db: holds the state of a ResourceManager") {
			t.Errorf("a second time: status %d, %q", status, errs)
		}
		lives(t, "--conf", dir, "--state", state)
		if err := os.Remove(filepath.Join(state, "rm.db")); err != nil {
			t.Fatal(err)
		}
		more := recovers + "<property><name>yarn.resourcemanager.fs.state-store.uri</name><value>" + store +
			"</value></property></configuration>"
		text := strings.Replace(string(site), "</configuration>", more, 1)
		if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Where Hadoop's ResourceManager has left a state and this one has none, the start says what to do.
func TestHadoopsStateIsSeen(t *testing.T) {
	dir := t.TempDir()
	writeSite(t, dir)
	site := filepath.Join(dir, "yarn-site.xml")
	text, err := os.ReadFile(site)
	if err != nil {
		t.Fatal(err)
	}
	more := recovers + "<property><name>yarn.resourcemanager.fs.state-store.uri</name><value>file://" + dir +
		"/store</value></property></configuration>"
	changed := strings.Replace(string(text), "</configuration>", more, 1)
	if err := os.WriteFile(site, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(dir, "store", "FSRMStateRoot", "RMAppRoot", "application_1_0001")
	if err := os.MkdirAll(app, 0o700); err != nil {
		t.Fatal(err)
	}
	said := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		errs := &untilReady{end: cancel}
		Run(ctx, Streams{strings.NewReader(""), io.Discard, errs}, []string{"rm", "--policy", "fifo", "--conf", dir,
			"--state", filepath.Join(dir, "state")})
		return errs.String()
	}
	if got := said(); !strings.Contains(got, "has left a state in "+dir+"/store: what runs ends, unless") {
		t.Errorf("the first start says %q", got)
	}
	if got := said(); strings.Contains(got, "has left a state") {
		t.Errorf("the second start, which has a state, says %q", got)
	}
}

// Each mistake is named, with what to do instead; nothing is made.
func TestTakeOverMistakes(t *testing.T) {
	dir := t.TempDir()
	writeSite(t, dir)
	state, keeps := filepath.Join(dir, "state"), t.TempDir()
	site, err := os.ReadFile(filepath.Join(dir, "yarn-site.xml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(site), "</configuration>", recovers+"</configuration>", 1)
	if err := os.WriteFile(filepath.Join(keeps, "yarn-site.xml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"take-over"}, "--conf is needed"},
		{[]string{"take-over", "x", "y", "--conf", dir}, "at most"},
		{[]string{"take-over", dir, "--conf", dir}, "--state is needed"},
		{[]string{"take-over", dir, "--conf", dir, "--state", state}, "has no RMVersionNode"},
		{[]string{"take-over", "--conf", dir, "--state", state}, "yarn.resourcemanager.recovery.enabled is not true"},
		{[]string{"take-over", "--conf", keeps, "--state", state}, "fs.state-store.uri is not set"},
		{[]string{"take-over", "hdfs://h:1/rmstore", "--conf", dir, "--state", state}, "hdfs dfs -get"},
		{[]string{"hand-over", dir}, "--conf is needed"},
		{[]string{"hand-over", dir, "--conf", dir}, "--state is needed"},
		{[]string{"hand-over", dir, "--conf", dir, "--state", state}, "rm.db: holds no state of a ResourceManager"},
	} {
		status, out, errs := sojourn(t, append([]string{"rm"}, c.args...)...)
		if status != statusUsage || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%q: status %d, %q, want %q", c.args, status, errs, c.want)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(state, "*")); len(files) > 0 {
		t.Errorf("mistakes made %q", files)
	}
}
