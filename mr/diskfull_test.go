package mr

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDiskFull: where the disk takes no more of an output part, or of a run that is spilled, the job fails with an
// error that names job, task and file, and nothing is left. The disk is one that takes a MiB of each file: the limit
// holds for a process, which is this one started again.
func TestDiskFull(t *testing.T) {
	const variable = "DISK_FULL_INPUT"
	if path := os.Getenv(variable); path != "" {
		fillDisk(t, path)
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "records")
	if err := writeRecords(path, 200_000); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("/proc/self/exe", "-test.run=^TestDiskFull$", "-test.v")
	child.Env = append(os.Environ(), variable+"="+path)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func fillDisk(t *testing.T, path string) {
	signal.Ignore(syscall.SIGXFSZ) // or writing would end the process
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		t.Skip(err)
	}
	dir := filepath.Dir(path)
	mapOnly := teraSort()
	mapOnly.Reduces, mapOnly.TotalOrder = MapOnly, false
	for name, c := range map[string]struct {
		job    *Job
		memory int64
		file   string // what does not fit
	}{
		"part of a reduce": {teraSort(), 64 << 20, "reduce-00000-0.part"},
		"part of a map":    {mapOnly, 64 << 20, "map-00000-0.part"},
		"merge":            {teraSort(), 1 << 20, "0-reduce-00000-0.merge"},
	} {
		c.job.Name = "full"
		l := local{workers: 1, reduces: 1, memory: c.memory, output: filepath.Join(dir, name)}
		_, err := l.run(c.job, path)
		if !errors.Is(err, syscall.EFBIG) {
			t.Errorf("%s: error %v, want that a file is too large", name, err)
			continue
		}
		for _, part := range []string{"job full", "task 0", "attempt 0", c.file} {
			if !strings.Contains(fmt.Sprint(err), part) {
				t.Errorf("%s: error %q, want %q in it", name, err, part)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
			t.Errorf("%s: left behind: %v", name, left)
		}
		if hidden, _ := filepath.Glob(filepath.Join(dir, ".*")); len(hidden) != 0 {
			t.Errorf("%s: left behind: %v", name, hidden)
		}
	}
}
