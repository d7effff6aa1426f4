package cli

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asMain names the variable that makes a child of a test the program: its lines are the arguments.
const asMain = "CLI_TEST_MAIN"

// mayBeMain runs the program instead of the test that calls it first, in a child that is to be the program.
func mayBeMain() {
	if args := os.Getenv(asMain); args != "" {
		os.Args = append(os.Args[:1], strings.Split(args, "\n")...)
		Main()
	}
}

// A signalled is a child that is the program.
type signalled struct {
	*exec.Cmd
	told  string        // the file that has its standard error
	ended chan struct{} // closed when it has ended
}

// startRun runs a mapper on a line in a child, and returns when the mapper has made the file started. The test that
// calls it begins with mayBeMain.
func startRun(t *testing.T, mapper, output, started string) *signalled {
	t.Helper()
	args := []string{"run", "--mapper", mapper, "--input", writeFile(t, "in.txt", "a line\n"), "--output", output,
		"--progress", "never"}
	s := &signalled{exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$"), writeFile(t, "told", ""), make(chan struct{})}
	s.Env = append(os.Environ(), asMain+"="+strings.Join(args, "\n"))
	told, err := os.Create(s.told)
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	s.Stderr = told
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.Wait()
		close(s.ended)
	}()
	for _, err := os.Stat(started); err != nil; _, err = os.Stat(started) {
		select {
		case <-s.ended:
			text, _ := os.ReadFile(s.told)
			t.Fatalf("the run ended before its mapper began: %v\n%s", s.ProcessState, text)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return s
}

// TestTerminated: a run that a terminal's end, or an operator, terminates removes its temporary directory, and leaves
// no output.
func TestTerminated(t *testing.T) {
	mayBeMain()
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		if signal.Ignored(sig) {
			continue // as below nohup: a child inherits that, and goes on
		}
		dir, started := t.TempDir(), filepath.Join(t.TempDir(), "started")
		s := startRun(t, "sh -c 'touch "+started+"; sleep 1000'", filepath.Join(dir, "out"), started)
		if err := s.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		<-s.ended
		if status := s.ProcessState.ExitCode(); status != statusInterrupted {
			t.Errorf("%v: status %d, want %d", sig, status, statusInterrupted)
		}
		if text, err := os.ReadFile(s.told); err != nil || strings.Contains(string(text), "run again") ||
			!strings.Contains(string(text), "interrupted") {
			t.Errorf("%v: it says %q, %v", sig, text, err)
		}
		for _, want := range []string{"run' was interrupted: 0 of 1 output is complete", "the same command runs all"} {
			if text, _ := os.ReadFile(s.told); !strings.Contains(string(text), want) {
				t.Errorf("%v: it says %q, want %q", sig, text, want)
			}
		}
		if left := folderOf(t, dir); left != "" {
			t.Errorf("%v: left behind: %s", sig, left)
		}
	}
}

// TestTerminatedTwice: a second signal ends a run at once, and what its programs have started ends too, although it
// would not end by a signal that it can ignore.
func TestTerminatedTwice(t *testing.T) {
	mayBeMain()
	dir := t.TempDir()
	kids := filepath.Join(dir, "kids")
	program := writeFile(t, "program.sh", `#!/bin/sh
trap '' TERM
sleep 1000 &
sleep 1000 >/dev/null 2>&1 &
jobs -p > `+kids+`.part
mv `+kids+`.part `+kids+`
sleep 1000
:
`)
	s := startRun(t, "sh "+program, filepath.Join(dir, "out"), kids)
	for {
		_ = s.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.ended:
		case <-time.After(50 * time.Millisecond): // the program is given two seconds to end after the first signal
			continue
		}
		break
	}
	text, err := os.ReadFile(kids)
	if err != nil || len(strings.Fields(string(text))) != 2 {
		t.Fatalf("the program has started %q, %v", text, err)
	}
	for _, kid := range strings.Fields(string(text)) {
		for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			stat, err := os.ReadFile(filepath.Join("/proc", kid, "stat"))
			if err != nil || strings.Contains(string(stat), ") Z ") {
				break
			}
			if time.Since(start) > time.Minute {
				t.Fatalf("process %s still runs: %s", kid, stat)
			}
		}
	}
}
