package mr

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/longtest"
)

// The limit that TestMemoryLimit sets.
const tightLimit = 44 << 20

// tightInput is how many bytes TestMemoryLimit sorts: three times what the limit leaves for pairs, or ten times.
func tightInput() int { return longtest.Few(40<<20, 120<<20) }

// TestMemoryLimit sorts more than memory holds in a process of its own, which may have 64 open files, and looks at what
// the kernel counts as its anonymous memory.
func TestMemoryLimit(t *testing.T) {
	if path := os.Getenv("MEMORY_LIMIT_INPUT"); path != "" {
		if err := sortTightly(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	if raceDetector {
		t.Skip("the race detector needs more memory than the limit")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "records")
	if err := writeRecords(path, tightInput()/100); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("/proc/self/exe", "-test.run=^TestMemoryLimit$", "-test.v")
	child.Env = append(os.Environ(), "MEMORY_LIMIT_INPUT="+path)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
	last, n := "", 0
	for _, part := range readParts(t, filepath.Join(dir, "out")) {
		for ; part != ""; part = part[100:] {
			if part[:10] < last {
				t.Fatal("out of order")
			}
			last = part[:10]
			n++
		}
	}
	if n != tightInput()/100 {
		t.Errorf("%d records, want %d", n, tightInput()/100)
	}
}

func writeRecords(path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		fmt.Fprintf(w, "%010d%090d", r.IntN(1e10), r.Uint64()) // the bytes of a value compress little
	}
	return w.Flush()
}

// sortTightly sorts a file beside itself, and gives an error if at some time more memory was in use than allowed.
func sortTightly(path string) error {
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
		return err
	}
	memory, err := NewMemory(tightLimit, 2)
	if err != nil {
		return err
	}
	size := memory.pool.Size()
	memory.Close()
	most := int64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			most = max(most, anonymous())
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	l := local{workers: 2, reduces: 3, memory: size, output: filepath.Join(filepath.Dir(path), "out")}
	counters, err := l.run(teraSort(), path)
	close(stop)
	<-stopped
	if err != nil {
		return err
	}
	fmt.Printf("pool %d MiB, most in use %d MiB of %d, %d records spilled\n", size>>20, most>>20, tightLimit>>20,
		counters.Of[SpilledRecords])
	if most > tightLimit {
		return fmt.Errorf("%d MiB of anonymous memory, limit %d", most>>20, tightLimit>>20)
	}
	if counters.Of[SpilledRecords] < int64(tightInput()/100/2) {
		return fmt.Errorf("only %d records spilled", counters.Of[SpilledRecords])
	}
	return nil
}

// anonymous is RssAnon of this process in bytes.
func anonymous() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseInt(kib, 10, 64)
	return n << 10
}
