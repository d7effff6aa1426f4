package mr

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/mr/input"
)

// The benchmarks read files named by the environment, because good input is large: TEXT and RECORDS (of 100 bytes).
func benchmarkInput(b *testing.B, variable string) (path string, size int64) {
	path = os.Getenv(variable)
	if path == "" {
		b.Skipf("%s names no file", variable)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return path, info.Size()
}

// measure runs f as a benchmark, and reports megabytes for each second of processor time besides: a busy machine
// changes it less.
func measure(b *testing.B, size int64, f func()) {
	before := processorTime()
	n := 0
	for b.Loop() {
		f()
		n++
	}
	used := processorTime() - before
	b.ReportMetric(float64(size)*float64(n)/1e6/used.Seconds(), "MB/cpu-s")
}

func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmark(b *testing.B, variable string, memory int64, j *Job) {
	path, size := benchmarkInput(b, variable)
	b.SetBytes(size)
	dir := b.TempDir()
	n := 0
	measure(b, size, func() {
		n++
		l := local{workers: cores, reduces: cores, memory: memory, output: filepath.Join(dir, fmt.Sprint(n))}
		if _, err := l.run(j, path); err != nil {
			b.Fatal(err)
		}
		os.RemoveAll(l.output)
	})
}

func BenchmarkWordCount(b *testing.B)     { benchmark(b, "TEXT", 4<<30, wordCount()) }
func BenchmarkTeraSort(b *testing.B)      { benchmark(b, "RECORDS", 4<<30, teraSort()) }
func BenchmarkTeraSortSpill(b *testing.B) { benchmark(b, "RECORDS", 64<<20, teraSort()) }

// BenchmarkPairs sorts (word, document) pairs: an inverted index without folding.
func BenchmarkPairs(b *testing.B) {
	benchmark(
		b,
		"TEXT",
		6<<30,
		&Job{Name: "pairs", Map: mapWords([]byte("document-1")), Reduce: func(_ *Task, in *Groups, out *Emitter) error {
			for in.Next() {
				n := 0
				for in.NextValue() {
					n += len(in.Value())
				}
				out.Emit(in.Key(), fmt.Append(nil, n))
			}
			return nil
		}},
	)
}

// BenchmarkEmptyTask is what a map and a reduce cost that have nothing to do, commits included.
func BenchmarkEmptyTask(b *testing.B) {
	memory, err := newMemory(64<<20, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer memory.Close()
	w, err := OpenWorkspace(filepath.Join(b.TempDir(), "out"), false)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	r, err := NewRun(wordCount(), 1, memory, w)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		m, err := r.Map(NewAttempt(b.Context(), i, 0), input.Split{})
		if err != nil {
			b.Fatal(err)
		}
		m.Release()
		a := NewAttempt(b.Context(), i, 0)
		if err := r.Reduce(a, nil); err != nil {
			b.Fatal(err)
		}
		if err := r.CommitTask(a); err != nil {
			b.Fatal(err)
		}
	}
}
