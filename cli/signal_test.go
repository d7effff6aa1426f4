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

// TestTerminated: a run that a terminal's end, or an operator, terminates removes its temporary directory, and leaves
// no output.
func TestTerminated(t *testing.T) {
	mayBeMain()
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		if signal.Ignored(s) {
			continue // as below nohup: a child inherits that, and goes on
		}
		dir := t.TempDir()
		in := filepath.Join(dir, "in.txt")
		if err := os.WriteFile(in, []byte("a line\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		started := filepath.Join(dir, "started")
		args := []string{"run", "--mapper", "sh -c 'touch " + started + "; sleep 1000'", "--input", in,
			"--output", filepath.Join(dir, "out"), "--progress", "never"}
		child := exec.Command(os.Args[0], "-test.run=^TestTerminated$")
		child.Env = append(os.Environ(), asMain+"="+strings.Join(args, "\n"))
		told, err := os.Create(filepath.Join(dir, "told"))
		if err != nil {
			t.Fatal(err)
		}
		defer told.Close()
		child.Stderr = told
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			_ = child.Wait()
			close(ended)
		}()
		for _, err := os.Stat(started); err != nil; _, err = os.Stat(started) {
			select {
			case <-ended:
				t.Fatalf("the run ended before its mapper began: %v", child.ProcessState)
			case <-time.After(10 * time.Millisecond):
			}
		}
		if err := child.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		<-ended
		if status := child.ProcessState.ExitCode(); status != statusInterrupted {
			t.Errorf("%v: status %d, want %d", s, status, statusInterrupted)
		}
		if text, err := os.ReadFile(told.Name()); err != nil || strings.Contains(string(text), "run again") ||
			!strings.Contains(string(text), "interrupted") {
			t.Errorf("%v: it says %q, %v", s, text, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("%v: left behind: %v", s, left)
		}
	}
}

// TestTerminatedTwice: a second signal ends a run at once, and what its programs have started ends too, although it
// would not end by a signal that it can ignore.
func TestTerminatedTwice(t *testing.T) {
	mayBeMain()
	dir := t.TempDir()
	in, kids := writeFile(t, "in.txt", "a line\n"), filepath.Join(dir, "kids")
	program := writeFile(t, "program.sh", `#!/bin/sh
trap '' TERM
sleep 1000 &
sleep 1000 >/dev/null 2>&1 &
jobs -p > `+kids+`.part
mv `+kids+`.part `+kids+`
sleep 1000
:
`)
	args := []string{"run", "--mapper", "sh " + program, "--input", in, "--output", filepath.Join(dir, "out"),
		"--progress", "never"}
	child := exec.Command(os.Args[0], "-test.run=^TestTerminatedTwice$")
	child.Env = append(os.Environ(), asMain+"="+strings.Join(args, "\n"))
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = child.Wait()
		close(ended)
	}()
	for _, err := os.Stat(kids); err != nil; _, err = os.Stat(kids) {
		select {
		case <-ended:
			t.Fatalf("the run ended before its mapper began: %v", child.ProcessState)
		case <-time.After(10 * time.Millisecond):
		}
	}
	for {
		_ = child.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
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
