package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/generate"
)

// benchBytes is the input of a benchmark: enough that starting and ending a job are nothing beside it.
const benchBytes = 128 << 20

// processorTime is what the process has used of all cores: on a busy machine it says more than the clock.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
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
		{"grep", mr.Conf{"pattern": "the"}},
		{"grep", mr.Conf{"pattern": `[a-z]+nee[dt]le`}},
		{"grep", mr.Conf{"pattern": `[a-z]+q[a-z]x\b`}},
		{"grep", mr.Conf{"pattern": `^(t|a)\w+ [a-m]+z`}},
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
			s := setup{name: c.job, split: 32 << 20, reduces: runtime.NumCPU(), memory: 6 << 30, workers: runtime.NumCPU()}
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
			before := processorTime()
			for b.Loop() {
				s.run(b, entry.New, c.conf, paths)
			}
			b.ReportMetric(float64(size)*float64(b.N)/1e6/(processorTime()-before).Seconds(), "MB/cpu-s")
		})
	}
}
