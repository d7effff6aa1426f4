package theory

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// swimJobs reads a SWIM trace (tab-separated: job id, submission s, gap s, map input, shuffle and output bytes) as the
// FSP authors' simulator does: ratio 4, total size = load 0.9 × last submission.
func swimJobs(t testing.TB, name string) []FluidJob {
	t.Helper()
	f, err := os.Open("../workload/testdata/traces/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	var arrivals, sizes []float64
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(line)
		var v [6]float64
		for k := 1; k < 6; k++ {
			if v[k], err = strconv.ParseFloat(f[k], 64); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
		}
		arrivals = append(arrivals, v[1])
		sizes = append(sizes, DataSize(v[3], v[4], v[5], 4))
	}
	if _, err := ScaleToLoad(sizes, 0.9, arrivals[len(arrivals)-1]); err != nil {
		t.Fatal(err)
	}
	jobs := make([]FluidJob, len(sizes))
	for i := range jobs {
		jobs[i] = FluidJob{Arrival: arrivals[i], Size: sizes[i], Estimate: sizes[i]}
	}
	return jobs
}

const (
	fb2009 = "swim-FB-2009_samples_24_times_1hr_0.tsv.gz"
	fb2010 = "swim-FB-2010_samples_24_times_1hr_0.tsv.gz"
)

// The FSP authors' own simulator (bigfootproject/schedsim) prints these mean sojourn times.
func TestFluidAgreesWithSchedsim(t *testing.T) {
	for _, c := range []struct {
		trace string
		jobs  int
		mean  map[Discipline]string
	}{
		{fb2009, 5894, map[Discipline]string{FIFO: "11135.5", PS: "75.2", LAS: "49.1", SRPT: "32.5", FSP: "32.8",
			PSBS: "32.8", SPT: "34.5"}},
		{fb2010, 24442, map[Discipline]string{FIFO: "1933.9", PS: "27.7", LAS: "17.4", SRPT: "9.8", FSP: "10.4",
			PSBS: "10.4", SPT: "10.4"}},
	} {
		jobs := swimJobs(t, c.trace)
		if len(jobs) != c.jobs {
			t.Fatalf("%s: %d jobs, want %d", c.trace, len(jobs), c.jobs)
		}
		for _, d := range Disciplines() {
			if c.mean[d] == "" {
				continue
			}
			got := stat.Mean(sojourns(t, d, jobs), nil)
			t.Logf("%s %-4s %.9f", c.trace, d, got)
			if s := fmt.Sprintf("%.1f", got); s != c.mean[d] {
				t.Errorf("%s under %s: mean sojourn %.6f s, want %s", c.trace, d, got, c.mean[d])
			}
		}
	}
}

func sojourns(t testing.TB, d Discipline, jobs []FluidJob) []float64 {
	t.Helper()
	out := finish(t, d, jobs)
	for i := range out {
		out[i] -= jobs[i].Arrival
	}
	return out
}

func finish(t testing.TB, d Discipline, jobs []FluidJob) []float64 {
	t.Helper()
	done, err := Fluid(d, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return done
}
