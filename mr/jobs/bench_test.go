package jobs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/mr/generate"
	"github.com/sojourn-sched/sojourn/mr"
)

// benchBytes is the input of a benchmark: enough that starting and ending a job are nothing beside it.
const benchBytes = 128 << 20

// processorTime is what this process (syscall.RUSAGE_SELF) or its children (RUSAGE_CHILDREN) have used of all cores: on
// a busy machine it says more than the clock.
func processorTime(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perProcessor reports the speed by processor time since before.
func perProcessor(b *testing.B, bytes int64, who int, before time.Duration) {
	b.ReportMetric(float64(bytes)*float64(b.N)/1e6/(processorTime(who)-before).Seconds(), "MB/cpu-s")
}

// BenchmarkGrep runs grep beside GNU grep -c, which writes nothing and counts lines only, on 512 MiB in the page cache.
func BenchmarkGrep(b *testing.B) {
	const size = 512 << 20
	path := filepath.Join(b.TempDir(), "text")
	f, err := os.Create(path)
	if err == nil {
		err = generate.Text{Bytes: size}.Write(f)
	}
	if err != nil {
		b.Fatal(err)
	}
	for _, pattern := range []string{
		"needle",              // a string that hardly occurs
		"ation",               // one of common letters
		"the",                 // one that is everywhere
		`[a-z]+nee[dt]le`,     // literals within
		`(tion|ness|ment)\b`,  // any of some literals
		`[a-z]+q[a-z]x\b`,     // none of three bytes
		`^(t|a)\w+ [a-m]+z`,   // none, and many candidates
		`[aeiou]{4}[^aeiou]$`, // none, at the end of the line
	} {
		b.Run("ours "+pattern, func(b *testing.B) {
			s := setup{name: "grep", split: 64 << 20, reduces: 1, memory: 1 << 30, workers: runtime.NumCPU()}
			b.SetBytes(size)
			before := processorTime(syscall.RUSAGE_SELF)
			for b.Loop() {
				s.run(b, Grep, mr.Conf{"pattern": pattern}, []string{path})
			}
			perProcessor(b, size, syscall.RUSAGE_SELF, before)
		})
		b.Run("GNU "+pattern, func(b *testing.B) {
			b.SetBytes(size)
			before := processorTime(syscall.RUSAGE_CHILDREN)
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), "grep", "-c", "-E", pattern, path)
				cmd.Env = append(os.Environ(), "LC_ALL=C")
				// Writing to a pipe: to /dev/null it would stop at the first match.
				if _, err := cmd.Output(); err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: no line matched
					b.Skip(err)
				}
			}
			perProcessor(b, size, syscall.RUSAGE_CHILDREN, before)
		})
	}
}

// BenchmarkJobs runs every job on all cores, from files in the page cache to committed output. B/s are of input.
func BenchmarkJobs(b *testing.B) {
	dir := b.TempDir()
	inputs := map[string][]string{}
	file := func(kind string, w generate.Writer) {
		path := filepath.Join(dir, fmt.Sprint(len(inputs)))
		f, err := os.Create(path)
		if err == nil {
			err = w.Write(f)
		}
		if err != nil {
			b.Fatal(err)
		}
		inputs[kind] = []string{path}
	}
	file(text, generate.Text{Bytes: benchBytes})
	file(movies, generate.Ratings{Bytes: benchBytes})
	file(All["terasort"].Input, generate.TeraGen{Rows: benchBytes / recordBytes})
	file(All["adjacency-list"].Input, generate.Edges{Bytes: benchBytes / 4})
	file(All["self-join"].Input, generate.Associations{Bytes: benchBytes})
	for _, c := range []struct {
		job  string
		conf mr.Conf
	}{
		{"wordcount", nil},
		{"grep", mr.Conf{"pattern": "needle"}},
		{"sort", nil},
		{"terasort", nil},
		{"teravalidate", nil},
		{"inverted-index", nil},
		{"sequence-count", nil},
		{"ranked-inverted-index", nil},
		{"term-vector", nil},
		{"histogram-movies", nil},
		{"histogram-ratings", nil},
		{"classification", nil},
		{"kmeans", mr.Conf{"rounds": "1"}},
		{"adjacency-list", nil},
		{"self-join", nil},
	} {
		b.Run(fmt.Sprint(c.job, " ", c.conf["pattern"]), func(b *testing.B) {
			s := setup{
				name:    c.job,
				split:   32 << 20,
				reduces: runtime.NumCPU(),
				memory:  6 << 30,
				workers: runtime.NumCPU(),
			}
			entry := All[c.job]
			paths := inputs[entry.Input]
			switch {
			case c.job == "teravalidate":
				paths = inputs[records]
			case paths == nil: // what another job wrote, of a part of the text
				small := filepath.Join(b.TempDir(), "small")
				f, err := os.Create(small)
				if err == nil {
					err = generate.Text{Bytes: benchBytes / 4}.Write(f)
				}
				if err != nil {
					b.Fatal(err)
				}
				path := filepath.Join(b.TempDir(), "sequences")
				if err := os.WriteFile(path, joined(s.run(b, SequenceCount, nil, []string{small})), 0o666); err != nil {
					b.Fatal(err)
				}
				paths = []string{path}
			}
			size := int64(0)
			for _, path := range paths {
				info, err := os.Stat(path)
				if err != nil {
					b.Fatal(err)
				}
				size += info.Size()
			}
			b.SetBytes(size)
			before := processorTime(syscall.RUSAGE_SELF)
			for b.Loop() {
				s.run(b, entry.New, c.conf, paths)
			}
			perProcessor(b, size, syscall.RUSAGE_SELF, before)
		})
	}
}
