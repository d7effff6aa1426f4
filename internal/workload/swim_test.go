package workload

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

func TestSWIMLineBecomesTasks(t *testing.T) {
	// 300 MiB are two blocks of 128 MiB and one of 44 MiB; 2.5 GiB of shuffle are 3 reduces.
	const mib = 1 << 20
	job := mustRead(t, fmt.Sprintf("job7\t12\t12\t%d\t%d\t%d\n", 300*mib, 2560*mib, 30), Defaults())[0]
	if job.Name != "job7" || job.Submit != 12*time.Second || len(job.Stages) != 2 {
		t.Fatalf("job %+v", job)
	}
	maps, reduces := job.Stages[0], job.Stages[1]
	if maps.Tasks != 3 || reduces.Tasks != 3 || maps.Kind != sched.Map || reduces.Kind != sched.Reduce {
		t.Errorf("%d %v and %d %v, want 3 maps and 3 reduces", maps.Tasks, maps.Kind, reduces.Tasks, reduces.Kind)
	}
	if len(reduces.After) != 1 || reduces.After[0] != (sched.Dep{Stage: 0, Part: 1}) || maps.InputBytes != 300*mib ||
		reduces.InputBytes != 2560*mib {
		t.Errorf("reduces after %v, input %d and %d", reduces.After, maps.InputBytes, reduces.InputBytes)
	}
	for _, c := range []struct {
		stage, task int32
		want        Task
	}{
		// 1 s + 134,217,728 B ÷ 50 MB/s = 3.68435456 s; the maps' outputs are the shuffle in equal parts, 2560 MiB ÷ 3.
		{0, 1, Task{Compute: 3684354560, Input: 128 * mib, Output: 894784854}},
		{0, 2, Task{Compute: 3684354560, Input: 128 * mib, Output: 894784853}},
		// 1 s + 46,137,344 B ÷ 50 MB/s = 1.92274688 s
		{0, 3, Task{Compute: 1922746880, Input: 44 * mib, Output: 894784853}},
		// 1 s + 894,784,854 B ÷ 25 MB/s = 36.79139416 s; 30 bytes are written by three
		{1, 1, Task{Compute: 36791394160, Shuffle: 894784854, Output: 10}},
		{1, 3, Task{Compute: 36791394120, Shuffle: 894784853, Output: 10}},
	} {
		if got := truth(job).Task(c.stage, c.task); got != c.want {
			t.Errorf("stage %d task %d: %+v, want %+v", c.stage, c.task, got, c.want)
		}
	}
	mean, longest := truth(job).Times(0)
	// (3.68435456 + 3.68435456 + 1.92274688) ÷ 3 = 3.097152 s
	if mean != 3097152000 || longest != 3684354560 {
		t.Errorf("maps take %v on average and %v at most", mean, longest)
	}
	// 3 × 3.097152 map-slot seconds; 3 s + 2,684,354,560 B ÷ 25 MB/s = 110.3741824 reduce-slot seconds
	if w := truth(job).Size(job); !near(w[sched.MapSlots], 9.291456) || !near(w[sched.ReduceSlots], 110.3741824) {
		t.Errorf("size %v", w)
	}
	if in, shuffle, out := truth(job).Bytes(); in != 300*mib || shuffle != 2560*mib || out != 30 {
		t.Errorf("bytes %d, %d, %d", in, shuffle, out)
	}
}

// near reports whether two numbers agree to a nanosecond a second.
func near(a, b float64) bool { return a-b < 1e-8*(1+b) && b-a < 1e-8*(1+b) }

func TestSWIMSmallest(t *testing.T) {
	// A job of size zero has one map of 1 s; without shuffle there is no reduce, and the map writes the output.
	jobs := mustRead(t, "a\t0\t0\t0\t0\t0\nb\t0\t0\t1\t0\t9\nc\t0\t0\t0\t1\t0\n", Defaults())
	for i, want := range [][]int32{{1}, {1}, {1, 1}} {
		if len(jobs[i].Stages) != len(want) || jobs[i].Stages[0].Tasks != 1 {
			t.Errorf("job %d: %d stages of %d tasks, want %v", i, len(jobs[i].Stages), jobs[i].Stages[0].Tasks, want)
		}
	}
	if got := truth(jobs[0]).Task(0, 1); got != (Task{Compute: time.Second}) {
		t.Errorf("empty job: %+v", got)
	}
	if got := truth(jobs[1]).Task(0, 1); got.Output != 9 {
		t.Errorf("map of a job without reduces writes %d bytes, want 9", got.Output)
	}
}

func TestSWIMOptions(t *testing.T) {
	const line = "a\t0\t0\t1000\t1000\t0\n"
	o := Defaults()
	o.Block, o.ReduceBytes, o.MaxReduces = 100, 10, 7
	job := mustRead(t, line, o)[0]
	if job.Stages[0].Tasks != 10 || job.Stages[1].Tasks != 7 { // 1000 ÷ 100; 1000 ÷ 10 = 100, at most 7
		t.Errorf("%d maps, %d reduces, want 10 and 7", job.Stages[0].Tasks, job.Stages[1].Tasks)
	}
	o.MaxReduces, o.SizeScale = -1, 2.5
	job = mustRead(t, line, o)[0]
	if len(job.Stages) != 1 || job.Stages[0].Tasks != 25 {
		t.Errorf("%d stages, %d maps, want maps alone, 25", len(job.Stages), job.Stages[0].Tasks)
	}
	o = Defaults()
	o.SlowStart, o.MapTask = HadoopSlowStart, sched.Resources{sched.Memory: 2048, sched.VCores: 2}
	job = mustRead(t, line, o)[0]
	if job.Stages[1].After[0].Part != 0.05 || job.Stages[0].PerTask[sched.Memory] != 2048 {
		t.Errorf("after %v, per task %v", job.Stages[1].After, job.Stages[0].PerTask)
	}
}

func TestSWIMForms(t *testing.T) {
	const plain = "a\t1\t1\t10\t0\t0\nb\t2\t1\t10\t0\t0\n"
	want := mustRead(t, plain, Defaults())
	for name, text := range map[string]string{
		"no last line end": strings.TrimSuffix(plain, "\n"),
		"CRLF":             strings.ReplaceAll(plain, "\n", "\r\n"),
		"byte order mark":  "\uFEFF" + plain,
		"comments":         "# made by hand\n\n" + plain + "\n# end",
		"further columns":  strings.ReplaceAll(plain, "\t0\n", "\t0\t/input/part\n"),
		"decimals":         "a\t1.0\t1\t10.0\t0\t0\nb\t2e0\t1\t1e1\t0\t0\n",
	} {
		got, err := read(t, text, Defaults())
		if err != nil || len(got) != 2 || got[1].Submit != want[1].Submit ||
			truth(got[1]).Task(0, 1) != truth(want[1]).Task(0, 1) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if job := mustRead(t, "a\t1.000000001\t1\t10\t0\t0\n", Defaults())[0]; job.Submit != 1000000001 {
		t.Errorf("submitted at %d ns, want 1000000001: fractions of a second are exact", job.Submit)
	}
}

func TestSWIMErrors(t *testing.T) {
	const good = "a\t1\t1\t10\t0\t0\n"
	late := strings.Repeat(good, lineMax/len(good)+1) // beyond what tells the format
	for text, want := range map[string]string{
		late + "b\xff\t1\t1\t1\t0\t0\n": fmt.Sprintf("trace:%d:1: job: must be UTF-8", lineMax/len(good)+2),
		"":                              "trace: is empty; it should hold a workload",
		"# nothing\n\t\n":               "trace",
		good + "b\t2\t1\t10\t0\n":       "trace:2:11: has 5 fields, must have 6, separated by tabs: job, submit, gap",
		good + "b\t2\t1\tx\t0\t0\n":     `trace:2:7: input bytes: "x" is not a number`,
		good + "b\t2\t1\t1\t-4\t0\n":    "trace:2:9: shuffle bytes: -4 must not be negative",
		good + "b\t2\t1\t1\t0\tNaN\n":   `trace:2:11: output bytes: "NaN" is not a number`,
		good + "b\t2\t1\t1e300\t0\t0\n": "trace:2:7: input bytes: 1e300 must be at most 2^60",
		good + "b\t2\t1\t9999999999999999999999\t0\t0\n": "trace:2:7: input bytes: 9999999999999999999999 must be " +
			"at most 2^60",
		good + "b\t2\t1\t1152921504606846976\t0\t0\n": "trace:2: input: 1152921504606846976 bytes make 8589934592 " +
			"maps, must be at most 16777216",
		good + "b\t-2\t1\t1\t0\t0\n":      "trace:2:3: submit: -2 s must not be negative",
		good + "b\t1e300\t1\t1\t0\t0\n":   "trace:2:3: submit: 1e300 s must be at most ten years",
		good + "b\t\t1\t1\t0\t0\n":        `trace:2:3: submit: "" is not a number`,
		good + "\t2\t1\t1\t0\t0\n":        "trace:2:1: job: must not be empty",
		good + strings.Repeat("x", 70000): "trace:2: is longer than 65536 bytes",
		good[:5] + "\x00\x01\x02":         "trace:1: is not text",
		"\xff\xfe\t1\t2\n":                "trace:1: is not text",
		"b\xff\t1\t1\t1\t0\t0\n":          "trace:1: is not text",
	} {
		_, err := read(t, text, Defaults())
		wantError(t, err, want)
	}
}

func TestFB2010(t *testing.T) {
	for _, c := range []struct {
		file          string
		jobs, maps    int64
		first, last   string
		start, finish sched.Time
	}{
		{"swim-FB-2010_samples_24_times_1hr_0.tsv.gz", 24442, 8084865, "job0", "job24441", 9 * time.Second,
			24*time.Hour + 8*time.Second},
		{"swim-FB-2009_samples_24_times_1hr_0.tsv.gz", 5894, 205713, "job0", "job5893", 49 * time.Second,
			24*time.Hour + 4*time.Second},
		{"swim-FB-2009_samples_24_times_1hr_0_first50jobs.tsv", 50, 168, "job0", "job49", 49 * time.Second,
			47*time.Minute + 6*time.Second},
	} {
		f, err := Open(filepath.Join("testdata", "traces", c.file), Defaults())
		if err != nil {
			t.Fatal(err)
		}
		for pass := range 2 { // a file can be gone through again
			jobs, err := all(f.Jobs)
			if err != nil {
				t.Fatal(err)
			}
			sum, err := Summarize(Of(jobs...))
			first, last := jobs[0], jobs[len(jobs)-1]
			if err != nil || sum.Jobs != c.jobs || sum.Maps != c.maps || first.Name != c.first || last.Name != c.last ||
				first.Submit != c.start ||
				last.Submit != c.finish {
				t.Errorf("%s, pass %d: %d jobs, %d maps, %s at %v to %s at %v, want %+v, error %v", c.file, pass,
					sum.Jobs, sum.Maps, first.Name, first.Submit, last.Name, last.Submit, c, err)
			}
		}
	}
}

func TestSWIMNameLikeJSON(t *testing.T) {
	for _, name := range []string{"[", `{"jobID": 1`, "jobs:", "- a"} {
		if jobs := mustRead(t, name+"\t1\t1\t10\t0\t0\n", Defaults()); jobs[0].Name != name {
			t.Errorf("job %q is called %q", name, jobs[0].Name)
		}
	}
}
