package workload

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

const histories = "../../examples/history"

// handHistory is a job of one map, which succeeded in its second attempt of 4 s, and a reduce.
func handHistory(t testing.TB) []byte { return content(t, "../jobhistory/testdata/by-hand.jhist") }

// On a cluster with containers a job of a history has its ApplicationMaster. The history by hand: submitted at 0 s, the
// master's process started at 1 s and had its tasks at 3 s; the map was asked for at 3 s and its first attempt began at
// 4 s, so that a container takes 1 s to start; the attempt that succeeded ran from 6 s to 10 s; the reduce had its
// input at 12 s and ended at 15 s.
func TestJobHistoryByHand(t *testing.T) {
	o := Defaults()
	o.MapTask, o.ReduceTask = container, container
	f, err := Read("h.jhist", bytes.NewReader(handHistory(t)), o)
	if err != nil {
		t.Fatal(err)
	}
	for j, err := range f.Jobs {
		if err != nil {
			t.Fatal(err)
		}
		truth := j.Payload.(*Truth)
		if f.Format != JobHistory || j.Name != "by hand" || j.Queue != "etl" || j.User != "ann" || j.Submit != 0 ||
			len(j.Stages) != 3 || j.Stages[2].Kind != sched.Master || !j.Stages[0].Asked || !truth.Uber {
			t.Fatalf("job %+v", j)
		}
		const s = time.Second
		want := []Task{{Compute: 4 * s, Input: 1000}, {Compute: 3 * s, Fetch: 2 * s, Shuffle: 300}, {Compute: 3 * s}}
		for i, w := range want {
			if got := truth.Task(int32(i), 1); got != w {
				t.Errorf("task of stage %d: %+v, want %+v", i, got, w)
			}
		}
	}
	if r := f.Report; r.Measured != 16 || r.Timed != 1 || r.Hosts != 2 || len(r.Missing) != len(historyLacks)+1 {
		t.Errorf("report %+v", r)
	}
}

// The folder of an example is four jobs in order of submission, with containers of the size that they had.
func TestJobHistoryFolder(t *testing.T) {
	c, err := ParseCluster("nodes=2,memory=3GiB,vcores=4")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(histories, c.Options())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // passes
		var tasks []int32
		before := sched.Time(-1)
		for j, err := range f.Jobs {
			if err != nil {
				t.Fatal(err)
			}
			if j.Submit <= before && before >= 0 || j.Queue != "default" || j.Stages[0].PerTask[sched.Memory] != 512 ||
				j.Stages[len(j.Stages)-1].Kind != sched.Master {
				t.Errorf("job %+v", j)
			}
			before = j.Submit
			for _, st := range j.Stages {
				tasks = append(tasks, st.Tasks)
			}
		}
		if want := []int32{12, 2, 1, 2, 1, 1, 4, 2, 1, 6, 1}; !slices.Equal(tasks, want) {
			t.Errorf("tasks %v, want %v", tasks, want)
		}
		if r := f.Report; r.Timed != 4 || r.Measured < 59 || r.Measured > 60 || len(r.Missing) != len(historyLacks) {
			t.Errorf("report %+v", r)
		}
	}
}

// Histories of jobs that had not ended are left out of a folder; one alone is an error, as is a folder without any.
func TestJobHistoryUnfinished(t *testing.T) {
	text := handHistory(t)
	lines := bytes.SplitAfter(text, []byte("\n"))
	open := bytes.Join(lines[:len(lines)-2], nil) // without the event of the job's end
	dir := t.TempDir()
	_, err := Open(dir, Defaults())
	wantError(t, err, "open workload: folder "+dir+" holds no job history (*.jhist) and no event log of "+
		"Spark (application_*, app-*, local-*)")
	for name, text := range map[string][]byte{
		"a/job_1_0001.jhist": text, "a/job_1_0002.jhist": open, "b/job_1_0003.jhist": text[:len(text)-30],
		"b/other": nil,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(dir, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := check(t, f); n != 1 || err != nil {
		t.Errorf("%d jobs, %v", n, err)
	}
	if r := f.Report; len(r.LeftOut) != 1 || r.LeftOut[0].Jobs != 2 {
		t.Errorf("report %+v", r)
	}
	f, err = Read("h.jhist", bytes.NewReader(open), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = check(t, f); err == nil || !strings.Contains(err.Error(), "ends before job job_1_0001 did") {
		t.Errorf("error %v", err)
	}
}

func FuzzJobHistory(f *testing.F) {
	fuzz(f, JobHistory, "", string(handHistory(f)))
}
