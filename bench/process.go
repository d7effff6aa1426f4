package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	yarnload "github.com/sojourn-sched/sojourn/internal/yarn/load"
)

// A command is a process to measure.
type command struct {
	path   string
	args   []string
	env    []string // besides ours
	stdout string   // file; empty: what it prints is returned
}

// A sample is what one run cost.
type sample struct {
	wall      float64 // seconds
	processor float64 // seconds of all cores, children included
	memory    float64 // MB at the peak, mapped files included; zero: less than this program held, which hides it
	value     float64 // what is compared; zero: the contest's amount ÷ wall
}

// measure runs a command to its end.
func measure(ctx context.Context, c command) (s sample, printed []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that a pipeline ends as a whole
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if c.stdout != "" {
		f, err := os.Create(c.stdout)
		if err != nil {
			return s, nil, err
		}
		defer f.Close()
		cmd.Stdout = f
	}
	own, err := lowestPeak()
	if err != nil {
		return s, nil, err
	}
	start := time.Now()
	err = cmd.Run()
	s.wall = time.Since(start).Seconds()
	if err != nil {
		text := complaint.Bytes()
		return s, nil, fmt.Errorf("%s %v: %w\n%s", c.path, c.args, err, text[max(0, len(text)-2000):])
	}
	r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return s, nil, errors.New("this system does not tell what a process used")
	}
	s.processor = float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	if r.Maxrss > own {
		s.memory = float64(r.Maxrss) / 1e3
	}
	return s, out.Bytes(), nil
}

// lowestPeak gives back what this program does not use, and returns the most KiB that it holds from then on. A new
// process begins with that as its own peak, since until it executes its program it has the memory of this one.
func lowestPeak() (int64, error) {
	debug.FreeOSMemory()
	// 5 sets the peak to what is held now. Where that is not permitted, the peak stays, and hides more.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	var own syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	return own.Maxrss, err
}

// shell is a command line of the shell, in the C locale, with parameters $1, $2, …
func shell(line string, args ...string) command {
	return command{path: "/bin/sh", args: append([]string{"-c", line, "sh"}, args...), env: []string{"LC_ALL=C"}}
}

// measureJSON runs a command that prints a JSON document.
func measureJSON(ctx context.Context, c command, to any) (sample, error) {
	s, text, err := measure(ctx, c)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return s, fmt.Errorf("read what %s %v printed: %w", c.path, c.args, err)
	}
	return s, nil
}

// child is what this program does when it is a process to measure: the figures of a loop are of a whole process, as
// ours are.
func child(ctx context.Context, role string, args []string) error {
	if role == "load" {
		return yarnload.Main(ctx, args, os.Stdout, "child", role)
	}
	roles := map[string]struct {
		args int
		run  func([]string) error
	}{
		"wordcount": {2, func(a []string) error { return loopWordCount(a[0], a[1], cores()) }},
		"wide":      {2, sized(writeWide)},
		"lines":     {2, sized(writeLines)},
		"allocs":    {2, func(a []string) error { return printAllocations(a[0], a[1]) }},
		"bare":      {2, func(a []string) error { return bareDay(a[0], a[1]) }},
		"stamp":     {1, func(a []string) error { return stampFirst(a[0]) }},
	}
	r, ok := roles[role]
	if !ok || len(args) != r.args {
		return fmt.Errorf("child %s %v: no such role", role, args)
	}
	return r.run(args)
}

// sized makes a role of a function that writes a file of some size.
func sized(write func(path string, size int64) error) func([]string) error {
	return func(args []string) error {
		size, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return err
		}
		return write(args[0], size)
	}
}

// self is a command that runs this program in a role.
func self(role string, args ...string) (command, error) {
	path, err := os.Executable()
	return command{path: path, args: append([]string{"child", role}, args...)}, err
}
