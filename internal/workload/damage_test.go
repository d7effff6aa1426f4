package workload

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// drain reads whatever there is.
func drain(t testing.TB, data []byte) (jobs int, err error) {
	t.Helper()
	o := Defaults()
	o.Nodes = 7
	f, err := Read("trace", bytes.NewReader(data), o)
	if err != nil {
		return 0, err
	}
	return check(t, f)
}

// check reads a workload: what comes must be valid and in order, and end or fail, but not panic.
func check(t testing.TB, f *File) (jobs int, err error) {
	t.Helper()
	var before int64
	for job, err := range f.Jobs {
		if err != nil {
			return jobs, err
		}
		if jobs++; int64(job.Submit) < before {
			t.Fatalf("job %s at %v comes after one at %d ns", job.Name, job.Submit, before)
		}
		before = int64(job.Submit)
		if job.Submit > MaxTime {
			t.Fatalf("job %s at %v", job.Name, job.Submit)
		}
		truth, ok := job.Payload.(*Truth)
		if !ok {
			continue
		}
		if err := job.Validate(); err != nil || len(truth.Stages) != len(job.Stages) {
			t.Fatalf("job %s: %v, %d truths of %d stages", job.Name, err, len(truth.Stages), len(job.Stages))
		}
		for i := range job.Stages {
			n := job.Stages[i].Tasks
			if truth.Stages[i].Tasks != n {
				t.Fatalf("job %s: %d tasks, the truth has %d", job.Name, n, truth.Stages[i].Tasks)
			}
			for _, k := range []int32{1, (n + 1) / 2, n} {
				if k < 1 || k > n {
					continue
				}
				task := truth.Task(int32(i), k)
				if task.Compute < 0 || task.Compute > MaxTime || task.Fetch < 0 || task.Fetch > MaxTime ||
					task.Input < 0 ||
					task.Shuffle < 0 ||
					task.Output < 0 {
					t.Fatalf("job %s: task %+v", job.Name, task)
				}
			}
		}
	}
	return jobs, nil
}

// TestDamage cuts every trace at chance places and flips its bytes: packed and unpacked.
func TestDamage(t *testing.T) {
	samples := map[string][]byte{"sls": []byte(slsByHand), "yaml": []byte(mix), "rumen": []byte(twoJobs),
		"jhist": handHistory(t)}
	for _, pattern := range []string{"rumen-trace_1m*", "*first50jobs*"} { // small ones
		for _, p := range traces(t, pattern) {
			samples[filepath.Base(p)] = content(t, p)
		}
	}
	for format, texts := range imports(t) {
		for i, text := range texts {
			samples[fmt.Sprint(format, i)] = text
		}
	}
	for name, packed := range samples {
		for seed := range uint64(6) {
			chance := rand.New(rand.NewPCG(seed, 1))
			for _, data := range [][]byte{packed, unpacked(t, packed)} {
				whole, err := drain(t, data)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				cut := data[:chance.IntN(len(data))]
				if n, err := drain(t, cut); n > whole {
					t.Errorf("%s, seed %d: cut at byte %d it holds %d jobs of %d: %v", name, seed, len(cut),
						n, whole, err)
				}
				flipped := bytes.Clone(data)
				for range 1 + chance.IntN(4) {
					flipped[chance.IntN(len(flipped))] ^= 1 << chance.IntN(8)
				}
				drain(t, flipped)
			}
		}
	}
}

// unpacked returns what gzip packed, else data itself.
func unpacked(t testing.TB, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return data
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestPacked(t *testing.T) {
	text := []byte("a\t1\t1\t10\t0\t0\nb\t2\t1\t10\t0\t0\n")
	var g bytes.Buffer
	gz := gzip.NewWriter(&g)
	gz.Write(text)
	gz.Close()
	zs, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"gzip": g.Bytes(), "zstd": zs.EncodeAll(text, nil)} {
		if n, err := drain(t, data); n != 2 || err != nil {
			t.Errorf("%s: %d jobs, %v", name, n, err)
		}
		_, err := drain(t, data[:len(data)-6])
		wantError(t, err, "read trace: ends in the middle: the file is cut off")
	}
}
