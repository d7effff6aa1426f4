package workload

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the generated files of examples/ anew")

// TestExamples makes the generated files of examples/ again: they must be what is there.
func TestExamples(t *testing.T) {
	c, err := OpenCluster(filepath.Join("..", "..", "examples", "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	o := Defaults()
	day := Generator{
		Jobs:     300,
		Arrivals: Arrivals{Burst: 3, On: time.Minute},
		Input:    Lognormal{Median: 1 << 30, Sigma: 2},
		Shuffle:  Uniform{0, 0.8},
		Output:   Exponential{0.2},
	}
	day, err = day.ForLoad(0.7, c, c.Options())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct {
		file   string
		format Format
		jobs   Source
	}{
		{"bursty.tsv", SWIM, day.Source(o)},
		{"facebook50.yaml", YAML, FacebookMix(50, Arrivals{Gap: 30 * time.Second}, o)},
	} {
		path := filepath.Join("..", "..", "examples", e.file)
		var b bytes.Buffer
		if _, err := Write(&b, e.format, e.jobs); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if runtime.GOARCH != "amd64" {
			t.Logf("%s was made on amd64: logarithms elsewhere may differ in the last digit, so it is "+
				"not compared", path)
			continue
		}
		if !bytes.Equal(content(t, path), b.Bytes()) {
			t.Errorf("%s is not what the generator makes: go test ./internal/workload -run TestExamples -update", path)
		}
	}
	// All of examples/ can be read.
	for file, jobs := range map[string]int64{"bursty.tsv": 300, "facebook50.yaml": 50, "queues.yaml": 8} {
		f, err := Open(filepath.Join("..", "..", "examples", file), c.Options())
		if err != nil {
			t.Fatal(err)
		}
		if sum, err := Summarize(f.Jobs); err != nil || sum.Jobs != jobs {
			t.Errorf("%s: %d jobs, want %d: %v", file, sum.Jobs, jobs, err)
		}
	}
}

// TestReadme reads the YAML that the README shows.
func TestReadme(t *testing.T) {
	_, text, ok := strings.Cut(string(content(t, "README.md")), "```yaml\n")
	text, _, closed := strings.Cut(text, "```")
	if !ok || !closed {
		t.Fatal("README.md shows no YAML")
	}
	if jobs := mustRead(t, text, Defaults()); len(jobs) != 6 {
		t.Errorf("%d jobs, want 6", len(jobs))
	}
}
