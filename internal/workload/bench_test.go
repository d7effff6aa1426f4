package workload

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// jobsASecond goes through a source b.N times and reports its rate.
func jobsASecond(b *testing.B, open func() (Source, error)) {
	b.Helper()
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		s, err := open()
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range s {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "jobs/s")
}

func BenchmarkRead(b *testing.B) {
	for _, p := range traces(b, "*.*") {
		data := content(b, p)
		b.Run(filepath.Base(p), func(b *testing.B) {
			b.SetBytes(int64(len(unpacked(b, data))))
			jobsASecond(b, func() (Source, error) {
				f, err := Read(p, bytes.NewReader(data), Defaults())
				if err != nil {
					return nil, err
				}
				return f.Jobs, nil
			})
		})
	}
}

// BenchmarkConverted reads what is written of 10,000 generated jobs.
func BenchmarkConverted(b *testing.B) {
	g := generator()
	g.Jobs = 10_000
	for _, format := range []Format{SWIM, SLS, YAML} {
		var text bytes.Buffer
		if _, err := Write(&text, format, g.Source(Defaults())); err != nil {
			b.Fatal(err)
		}
		b.Run(string(format), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			jobsASecond(b, func() (Source, error) {
				f, err := Read("trace", bytes.NewReader(text.Bytes()), Defaults())
				if err != nil {
					return nil, err
				}
				return f.Jobs, nil
			})
		})
	}
}

func BenchmarkGenerate(b *testing.B) {
	g := generator()
	g.Jobs = 10_000
	b.Run("bytes", func(b *testing.B) { jobsASecond(b, func() (Source, error) { return g.Source(Defaults()), nil }) })
	b.Run("facebook", func(b *testing.B) {
		jobsASecond(b, func() (Source, error) {
			return FacebookMix(10_000, Arrivals{Gap: time.Second}, Defaults()), nil
		})
	})
}

func BenchmarkWrite(b *testing.B) {
	g := generator()
	g.Jobs = 10_000
	jobs, err := all(g.Source(Defaults()))
	if err != nil {
		b.Fatal(err)
	}
	for _, format := range []Format{SWIM, SLS, YAML} {
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Write(io.Discard, format, Of(jobs...)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTime is what the simulator asks for each task: no allocation.
func BenchmarkTime(b *testing.B) {
	o := Defaults()
	plain, err := o.fromBytes(sched.JobSpec{}, 1, traffic{input: 1 << 40, shuffle: 1 << 38})
	if err != nil {
		b.Fatal(err)
	}
	chance := o.join(sched.JobSpec{}, 1, StageTruth{Tasks: 8192, Base: time.Second, Sigma: 0.5}, StageTruth{})
	for _, c := range []struct {
		name string
		t    *Truth
	}{{"bytes", truth(plain)}, {"sigma", truth(chance)}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			sum := time.Duration(0)
			for k := int32(0); b.Loop(); k++ {
				sum += c.t.Time(0, k%8192+1)
			}
			if sum <= 0 {
				b.Error("tasks take no time")
			}
		})
	}
}
