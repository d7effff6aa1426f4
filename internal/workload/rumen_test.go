package workload

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// twoJobs is a trace by hand: the second job stands first. Of job_2, map 0 succeeded at the second attempt in 40 s, map
// 1 has no attempt that succeeded, and map 2 took 20 s. Its maps end at 50 s; reduce 0 starts at 30 s, has its input at
// 57 s, and ends at 60 s; reduce 1 starts at 52 s and does not say when it had its input.
const twoJobs = `{"jobID": "job_2", "jobName": null, "user": "ana", "queue": "etl", "priority": "HIGH",
      "submitTime": 5000, "jobMapMB": 1536, "unknown": [{"deep": [1.5e3, null, "\u00e4"]}],
  "mapTasks": [
    {"taskID": "m0", "inputBytes": 100, "outputBytes": 7, "preferredLocations": [{"layers": ["r1", "h1"]},
      {"layers": ["r1", "h2"]}],
     "attempts": [{"result": "FAILED", "startTime": 6000, "finishTime": 9000}, {"result": "SUCCESS",
      "startTime": 10000, "finishTime": 50000}]},
    {"taskID": "m1", "inputBytes": -1, "preferredLocations": [], "attempts": [{"result": "KILLED",
      "startTime": 6000, "finishTime": 9000}]},
    {"taskID": "m2", "inputBytes": 50, "preferredLocations": [{"layers": ["r1", "h2"]}],
      "attempts": [{"result": "SUCCESS", "startTime": 20000, "finishTime": 40000}]}],
  "reduceTasks": [
    {"taskID": "r0", "inputBytes": 9, "outputBytes": 3, "attempts": [{"result": "SUCCESS", "startTime": 30000,
      "shuffleFinished": 57000, "sortFinished": 58000, "finishTime": 60000, "reduceShuffleBytes": 11,
      "hdfsBytesWritten": 4}]},
    {"taskID": "r1", "inputBytes": 9, "outputBytes": 3, "attempts": [{"result": "SUCCESS", "startTime": 52000,
      "shuffleFinished": -1, "finishTime": 60000}]}],
  "otherTasks": [{"taskID": "setup", "attempts": []}]}
{"jobID": "job_1", "jobName": "failed early", "submitTime": 2000, "mapTasks": [], "reduceTasks": null}
`

func TestRumenByHand(t *testing.T) {
	o := Defaults()
	o.Nodes = 4
	jobs := mustRead(t, twoJobs, o)
	if len(jobs) != 2 {
		t.Fatalf("%d jobs, want 2", len(jobs))
	}
	early, job := jobs[0], jobs[1]
	if early.Name != "failed early" || early.Submit != 0 || len(early.Stages) != 1 || early.Stages[0].Tasks != 0 {
		t.Errorf("job without tasks: %+v", early)
	}
	if job.Name != "job_2" || job.User != "ana" || job.Queue != "etl" || job.Priority != 1 ||
		job.Submit != 3*time.Second {
		t.Errorf("job: %+v", job)
	}
	for _, c := range []struct {
		stage, task int32
		want        Task
	}{
		{0, 1, Task{Compute: 40 * time.Second, Input: 100, Output: 7}},
		{0, 2, Task{Compute: 30 * time.Second}}, // none succeeded: the mean of 40 s and 20 s
		{0, 3, Task{Compute: 20 * time.Second, Input: 50}},
		{1, 1, Task{Compute: 3 * time.Second, Fetch: 7 * time.Second, Shuffle: 11, Output: 4}}, // 57 to 60; 50 to 57
		{1, 2, Task{Compute: 8 * time.Second, Shuffle: 9, Output: 3}},                          // 52 to 60
	} {
		if got := truth(job).Task(c.stage, c.task); got != c.want {
			t.Errorf("stage %d task %d: %+v, want %+v", c.stage, c.task, got, c.want)
		}
	}
	if mean, longest := truth(job).Times(1); mean != 9*time.Second || longest != 10*time.Second {
		t.Errorf("reduces take %v on average and %v at most, want 9s and 10s", mean, longest)
	}
	maps := job.Stages[0]
	h1, h2 := o.nodeOf("h1"), o.nodeOf("h2")
	if want := []sched.NodeID{h1, h2, 0, 0, h2, 0}; maps.Copies != 2 || !slices.Equal(maps.Places, want) {
		t.Errorf("places %v, %d copies, want %v", maps.Places, maps.Copies, want)
	}
	if maps.PerTask != (sched.Resources{sched.MapSlots: 1}) {
		t.Errorf("a map holds %v, want one slot", maps.PerTask)
	}

	o.MapTask, o.Nodes, o.SizeScale = sched.Resources{sched.Memory: 1024, sched.VCores: 1}, 0, 2
	job = mustRead(t, twoJobs, o)[1]
	if maps := job.Stages[0]; maps.PerTask != (sched.Resources{sched.Memory: 1536, sched.VCores: 1}) ||
		maps.Places != nil {
		t.Errorf("a map holds %v, places %v, want the trace's 1536 MiB and none", maps.PerTask, maps.Places)
	}
	if got := truth(job).Task(1, 1); got != (Task{Compute: 6 * time.Second, Fetch: 14 * time.Second,
		Shuffle: 22, Output: 8}) {
		t.Errorf("size scale 2: %+v", got)
	}
}

func TestRumenErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"submitTime": 5000`, `"submitTime": -5`, `trace:2:23: submitTime: -5, must be milliseconds since 1970`},
		{`"submitTime": 5000`, `"submitTime": 1e300`, "submitTime: is number 1e300, must be a whole number"},
		{`"submitTime": 5000`, `"submitTime": NaN`, "trace:2:21: submitTime: invalid character 'N'"},
		{`"user": "ana"`, `"user": 5`, "user: is number, must be a string"},
		{`"inputBytes": 50`, `"inputBytes": "much"`, "trace:10:41: mapTasks.inputBytes: is string, must be a " +
			"whole number"},
		{`"startTime": 20000`, `"startTime": 40001`, "mapTasks: task m2: attempt: finishTime 40000 is before " +
			"startTime 40001"},
		{`"finishTime": 40000`, `"finishTime": 999999999999999999`, "task m2: attempt: from startTime 20000 to " +
			"finishTime 999999999999999999 is more than ten years"},
		{`"inputBytes": 100`, `"inputBytes": 9223372036854775807`, "mapTasks: task m0: 9.223372036854776e+18 bytes: " +
			"must be at most 2^60"},
		{`"mapTasks": [`, `"mapTasks": 7, "x": [`, "mapTasks: must be an array"},
		{`"failed early"`, `"failed early`, "trace:19:47: job: invalid character 's' after object key:value pair"},
		{`"reduceTasks": null}`, `"reduceTasks": null`, "job: ends in the middle: the file is cut off"},
		{`"reduceTasks": null}`, `"reduceTasks": null}]`, "trace:19:103: job: invalid character ']'"},
		{`"reduceTasks": null}`, `"reduceTasks": null} 17`, "job: must be an object"},
	} {
		if !strings.Contains(twoJobs, c.old) {
			t.Fatalf("%s is not in the trace", c.old)
		}
		_, err := read(t, strings.Replace(twoJobs, c.old, c.new, 1), Defaults())
		wantError(t, err, c.want)
	}
}

func TestRumenTraces(t *testing.T) {
	want := map[string]struct {
		jobs, maps, reduces int64
		last                sched.Time
		user                string
	}{
		"rumen-2jobs2min.json.gz": {
			2,
			192,
			0,
			105204 * time.Millisecond,
			"jenkins",
		}, // 1371222159703 − 1371222054499
		"rumen-folder-input-trace.json.gz": {59, 787, 321, 389154 * time.Millisecond, "geek1"},
		"rumen-trace_12m.json.gz":          {46, 170, 277, 321698 * time.Millisecond, "gridmixuser"},
		"rumen-trace_1m.json.gz":           {5, 42, 5, 1241 * time.Millisecond, "gidmixuser"},
	}
	for _, path := range traces(t, "rumen-*") {
		o := Defaults()
		o.Nodes = 20
		f, err := Open(path, o)
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := all(f.Jobs)
		if err != nil || f.Format != Rumen {
			t.Fatalf("%s: %v, %v", path, f.Format, err)
		}
		w := want[filepath.Base(path)]
		sum, _ := Summarize(Of(jobs...))
		if sum.Jobs != w.jobs || sum.Maps != w.maps || sum.Reduces != w.reduces || sum.First != 0 ||
			sum.Last != w.last ||
			jobs[0].User != w.user {
			t.Errorf("%s: %+v of %s, want %+v", path, sum, jobs[0].User, w)
		}
		for _, job := range jobs {
			for i := range job.Stages {
				if mean, longest := truth(job).Times(int32(i)); job.Stages[i].Tasks > 0 &&
					(mean <= 0 || longest < mean || longest > 10*time.Minute) {
					t.Errorf("%s: job %s, stage %d: tasks take %v on average, %v at most", path, job.Name, i,
						mean, longest)
				}
			}
		}
	}
	// The first map of the first job of 2jobs2min ran from 1371222061163 to 1371222078206: 17.043 s.
	f, err := Open(traces(t, "rumen-2jobs2min.json.gz")[0], Defaults())
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := all(Take(f.Jobs, 1))
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	if got := truth(jobs[0]).Task(0, 1); got.Compute != 17043*time.Millisecond || got.Output != 416666700 {
		t.Errorf("first map: %+v, want 17.043 s and 416,666,700 bytes", got)
	}
}
