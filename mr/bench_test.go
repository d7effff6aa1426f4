package mr

import (
	"os"
	"path/filepath"
	"testing"
)

// The benchmarks read files named by the environment, because good input is large: TEXT and RECORDS.

func benchmark(b *testing.B, file string, j *Job) {
	path := os.Getenv(file)
	if path == "" {
		b.Skipf("%s names no file", file)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	dir := b.TempDir()
	out := filepath.Join(dir, "out")
	for b.Loop() {
		if _, err := (local{workers: cores, reduces: cores, memory: 4 << 30, output: out}).run(j, path); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		os.RemoveAll(out)
		b.StartTimer()
	}
}

func BenchmarkWordCount(b *testing.B) { benchmark(b, "TEXT", wordCount()) }
func BenchmarkTeraSort(b *testing.B)  { benchmark(b, "RECORDS", teraSort()) }
