package workload

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

const slsByHand = `{"num.nodes": 3, "num.racks": 3}
{
  "am.type": "mapreduce", "job.start.ms": 1500, "job.end.ms": 9, "job.queue.name": "sls_queue_1", "job.id": "job_1",
      "job.user": "default",
  "job.tasks": [
    {"container.host": "/default-rack/node1", "container.start.ms": 6664, "container.end.ms": 23707,
      "container.priority": 20, "container.type": "map"},
    {"count": "2", "duration.ms": 5000, "container.memory-mb": 2048, "container.vcores": 3},
    {"container.duration.ms": 250, "container.priority": 10, "container.type": "reduce"}
  ]
}
{"am.type": "stream", "job.count": 2, "job.tasks": [{"duration.ms": 1}]}
`

func TestSLSByHand(t *testing.T) {
	o := Defaults()
	o.MapTask, o.ReduceTask = sched.Resources{
		sched.Memory: 1024,
		sched.VCores: 1,
	}, sched.Resources{
		sched.Memory: 1024,
		sched.VCores: 1,
	}
	o.Nodes = 5
	jobs := mustRead(t, slsByHand, o)
	if len(jobs) != 3 {
		t.Fatalf("%d jobs, want one and one twice", len(jobs))
	}
	job := jobs[2]
	if job.Name != "job_1" || job.User != "default" || job.Queue != "sls_queue_1" || job.Type != "MAPREDUCE" ||
		job.Submit != 1500*time.Millisecond {
		t.Errorf("job: %+v", job)
	}
	for k, want := range []sched.Time{17043 * time.Millisecond, 5 * time.Second, 5 * time.Second} { // 23707 − 6664
		if got := truth(job).Task(0, int32(k)+1); got != (Task{Compute: want}) {
			t.Errorf("map %d: %+v, want %v", k+1, got, want)
		}
	}
	if got := truth(job).Task(1, 1); got.Compute != 250*time.Millisecond {
		t.Errorf("reduce: %+v", got)
	}
	if m := job.Stages[0]; m.PerTask != (sched.Resources{sched.Memory: 2048, sched.VCores: 3}) || m.Copies != 1 ||
		m.Places[0] != o.nodeOf("node1") ||
		m.Places[1] != 0 {
		t.Errorf("maps: %+v", m)
	}
	if r := job.Stages[1]; r.PerTask != o.ReduceTask || r.Places != nil {
		t.Errorf("reduces: %+v", r)
	}
	// The stream has no id: SLS numbers such jobs from zero. Its tasks are no maps.
	for i, name := range []string{"job_1", "job_2"} {
		if j := jobs[i]; j.Name != name || j.Type != "STREAM" || j.Stages[0].Kind != sched.Other || j.Submit != 0 {
			t.Errorf("job %d: %+v", i, j)
		}
	}
	// Slots know nothing of memory.
	if m := mustRead(t, slsByHand, Defaults())[2].Stages[0]; m.PerTask != (sched.Resources{sched.MapSlots: 1}) ||
		m.Places != nil {
		t.Errorf("maps in slots: %+v", m)
	}
	if jobs := mustRead(t, `[{"am.type": "mapreduce", "job.tasks": [{"duration.ms": 1}]}]`, o); len(jobs) != 1 {
		t.Errorf("%d jobs of an array of one", len(jobs))
	}
}

func TestSLSErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"am.type": "mapreduce"}`: "job.tasks: must have at " +
			"least one task",
		`{"am.type": "mapreduce", "job.tasks": []}`: "job.tasks: must have at " +
			"least one task",
		`{"job.tasks": [{"container.start.ms": 5}]}`: "trace:1:41: job.tasks: needs " +
			"container.duration.ms, or container.start.ms and container.end.ms",
		`{"job.tasks": [{"container.start.ms": 5, "container.end.ms": 4}]}`: "job.tasks: container.end.ms 4 " +
			"is before container.start.ms 5",
		`{"job.tasks": [{"duration.ms": "soon"}]}`: `job.tasks.duration.ms: is ` +
			`"soon", must be a whole number`,
		`{"job.tasks": [{"duration.ms": 1.5}]}`: "job.tasks.duration.ms: is 1.5, " +
			"must be a whole number",
		`{"job.tasks": [{"duration.ms": 1e300}]}`: "job.tasks.duration.ms: is " +
			"1e300, must be a whole number",
		`{"job.tasks": [{"duration.ms": 9223372036854775807}]}`: "duration of " +
			"9223372036854775807 ms must be at most ten years",
		`{"job.tasks": [{"duration.ms": 1, "count": 1000000000}]}`: "count: more than 1048576 tasks",
		`{"job.start.ms": -1, "job.tasks": [{"duration.ms": 1}]}`: "job.start.ms: -1, must " +
			"be from 0 to",
		`{"job.tasks": [{"duration.ms": 1, "container.memory-mb": -1}]}`: "container.memory-mb -1 and " +
			"container.vcores 0 must be from 0",
		"{\"job.tasks\": [\n{\"duration.ms\": 1},\n{\"duration.ms\": 1},\n{]}": "trace:4:2: job.tasks: invalid " +
			"character ']'",
		"{\"job.tasks\": [{\"duration.ms\": 1}]}\n[1]": "trace:2:",
		`[{"job.tasks": [{"duration.ms": 1}]}] {"job.tasks": [{"duration.ms": 1}]}`: "something stands behind the " +
			"array of jobs",
		`[]"am.type"`:      "something stands behind the array of jobs",
		`{"num.nodes": 7}`: "",
	} {
		_, err := read(t, text, Defaults())
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		wantError(t, err, want)
	}
}
