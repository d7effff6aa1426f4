package workload

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/sched"
)

// drawn makes jobs with what a format can hold, in order of submission.
func drawn(t *rapid.T, f Format) []*sched.JobSpec {
	o := Defaults()
	n := rapid.IntRange(1, 6).Draw(t, "jobs")
	var jobs []*sched.JobSpec
	at := sched.Time(0)
	for k := range int64(n) {
		unit := time.Millisecond
		if f == YAML {
			unit = time.Nanosecond
		}
		at += sched.Time(rapid.Int64Range(0, 1e10).Draw(t, "gap")) * unit
		name := rapid.StringMatching(`[^\x00-\x1f #\x7f-\x9f\x{2028}\x{2029}\x{feff}\x{fffe}\x{ffff}]`+
			`[^\x00-\x1f\x7f-\x9f\x{2028}\x{2029}\x{feff}\x{fffe}\x{ffff}]{0,9}`).
			Draw(t, "name")
		spec := sched.JobSpec{Name: name, Submit: at}
		if f != SWIM {
			spec.User = rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "user")
			spec.Queue = rapid.StringMatching(`([a-z]{1,3}\.)?[a-z]{0,3}`).Draw(t, "queue")
		}
		switch {
		case f == SWIM || f == YAML && rapid.Bool().Draw(t, "by bytes"):
			size := rapid.Int64Range(0, 1e13)
			job, err := o.fromBytes(spec, k+1, traffic{size.Draw(t, "input"), size.Draw(t, "shuffle"),
				size.Draw(t, "output")})
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, job)
			continue
		case f == YAML:
			spec.Weight = rapid.Float64Range(0, 9).Draw(t, "weight")
			spec.Priority = rapid.Int32().Draw(t, "priority")
			spec.Deadline = sched.Time(rapid.Int64Range(0, 1e13).Draw(t, "deadline"))
			spec.Type = rapid.SampledFrom([]string{"", "SPARK"}).Draw(t, "type")
			drawTerms(t, &spec)
			if rapid.Bool().Draw(t, "program") {
				jobs = append(jobs, drawnProgram(t, spec))
				continue
			}
		}
		jobs = append(jobs, o.join(spec, k+1, drawnStage(t, f, 1), drawnStage(t, f, 0)))
	}
	return jobs
}

// drawTerms draws the allocation, the goal and the profile of a job, or leaves them out.
func drawTerms(t *rapid.T, spec *sched.JobSpec) {
	amount := rapid.Int64Range(0, 1000)
	for _, k := range []sched.ResourceKind{sched.Memory, sched.VCores, sched.MapSlots} {
		spec.Min[k] = amount.Draw(t, "min")
		if spec.Max[k] = amount.Draw(t, "max"); spec.Max[k] != 0 {
			spec.Max[k] += spec.Min[k]
		}
	}
	spec.Delays = rapid.Int32Range(-1, 3).Draw(t, "delays")
	if rapid.Bool().Draw(t, "goal") {
		g := &sched.Goal{Metric: sched.MetricSteps, Weight: rapid.Float64Range(0, 9).Draw(t, "cost weight")}
		for i := range rapid.IntRange(1, 3).Draw(t, "steps") {
			g.Steps = append(g.Steps, sched.CostStep{After: sched.Time(i) * time.Minute, Cost: float64(i) + 0.5})
		}
		if rapid.Bool().Draw(t, "simple") {
			g.Metric, g.Steps = rapid.SampledFrom([]sched.Metric{sched.MetricStretch, sched.MetricResponse}).Draw(t,
				"metric"), nil
		}
		spec.Goal = g
	}
	if rapid.Bool().Draw(t, "profile") {
		p := &sched.Profile{Accelerators: rapid.SampledFrom([][]string{nil, {"gpu"}, {"gpu", "vector unit"}}).Draw(t,
			"accelerators")}
		p.Phases[sched.PhaseMap][sched.VCores] = amount.Draw(t, "map")
		p.Phases[sched.PhaseShuffle][sched.NetworkIO] = amount.Draw(t, "shuffle")
		spec.Profile = p
	}
}

func drawnProgram(t *rapid.T, spec sched.JobSpec) *sched.JobSpec {
	text := rapid.StringMatching(`[ -~]{1,9}`)
	p := &Program{
		Job:     text.Draw(t, "job"),
		Input:   rapid.SliceOfN(text, 1, 3).Draw(t, "input"),
		Output:  text.Draw(t, "output"),
		Reduces: rapid.Int32Range(-1, 5).Draw(t, "reduces"),
	}
	if rapid.Bool().Draw(t, "mapper") {
		p.Job, p.Mapper, p.Reducer, p.Combiner = "", text.Draw(t, "mapper"), text.Draw(t, "reducer"),
			text.Draw(t, "combiner")
	}
	if rapid.Bool().Draw(t, "conf") {
		p.Conf = rapid.MapOf(text, text).Draw(t, "conf")
	}
	if spec.Type == "" {
		spec.Type = mapReduce
	}
	spec.Payload = p
	return &spec
}

func drawnStage(t *rapid.T, f Format, least int) StageTruth {
	n := rapid.IntRange(least, 4).Draw(t, "tasks")
	if f == YAML && rapid.Bool().Draw(t, "alike") {
		st := StageTruth{
			Tasks: int32(n),
			Base:  sched.Time(rapid.Int64Range(0, 1e13).Draw(t, "time")),
			Sigma: rapid.Float64Range(0, 5).Draw(t, "sigma"),
			Input: rapid.Int64Range(0, 1e15).
				Draw(t, "input"),
			Shuffle: rapid.Int64Range(0, 1e15).Draw(t, "shuffle"),
			Output:  rapid.Int64Range(0, 1e15).Draw(t, "output"),
		}
		st.Start = sched.Time(rapid.Int64Range(0, int64(st.Base)).Draw(t, "startup"))
		return st
	}
	list := make([]Task, n)
	for i := range list {
		if f == SLS {
			list[i].Compute = sched.Time(rapid.Int64Range(1, 1e6).Draw(t, "ms")) * time.Millisecond
			continue
		}
		ns := rapid.Int64Range(0, 1e13)
		list[i] = Task{
			sched.Time(ns.Draw(t, "time")),
			sched.Time(ns.Draw(t, "fetch")),
			ns.Draw(t, "input"),
			ns.Draw(t, "shuffle"),
			ns.Draw(t, "output"),
		}
	}
	return listed(list)
}

// TestRoundTrip writes jobs and reads them: they must be the same.
func TestRoundTrip(t *testing.T) {
	for _, f := range []Format{SWIM, SLS, YAML} {
		t.Run(string(f), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				jobs := drawn(t, f)
				var b bytes.Buffer
				if n, err := Write(&b, f, Of(jobs...)); err != nil || n != int64(len(jobs)) {
					t.Fatalf("%d of %d jobs written: %v", n, len(jobs), err)
				}
				file, err := Read("trace", &b, Defaults())
				if err != nil {
					t.Fatalf("%v\n%s", err, b.String())
				}
				text := b.String()
				got, err := all(file.Jobs)
				if err != nil || file.Format != f || len(got) != len(jobs) {
					t.Fatalf("%d of %d jobs read as %s: %v\n%s", len(got), len(jobs), file.Format, err, text)
				}
				for i := range got {
					if !reflect.DeepEqual(got[i], jobs[i]) {
						t.Fatalf("job %d\n read  %+v %+v\n wrote %+v %+v", i, got[i], got[i].Payload, jobs[i],
							jobs[i].Payload)
					}
				}
			})
		})
	}
}

func TestWriteSWIM(t *testing.T) {
	const text = "a\t9\t9\t1762\t0\t14347\nb\t18.25\t9.25\t970\t609\t697\n"
	var b strings.Builder
	if _, err := Write(&b, SWIM, Of(mustRead(t, text, Defaults())...)); err != nil || b.String() != text {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), text)
	}
}

func TestWriteSLSJoinsEqualTasks(t *testing.T) {
	// Three blocks and a bit: three maps of 3.684 s, one of 1 s + 1 byte.
	var b strings.Builder
	if _, err := Write(&b, SLS,
		Of(mustRead(t, fmt.Sprintf("a\t1\t1\t%d\t0\t0\n", 3<<27+1), Defaults())...)); err != nil {
		t.Fatal(err)
	}
	want := `{"am.type":"mapreduce","job.start.ms":1000,"job.id":"a",` +
		`"job.tasks":[{"count":3,"duration.ms":3684,"container.priority":20,"container.type":"map"},` +
		`{"count":1,"duration.ms":1000,"container.priority":20,"container.type":"map"}]}` + "\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

func TestWriteRefuses(t *testing.T) {
	run := &sched.JobSpec{Name: "run", Payload: &Program{Job: "grep"}}
	o := Defaults()
	timed := o.join(sched.JobSpec{Name: "timed"}, 1, StageTruth{Tasks: 2, Base: time.Second}, StageTruth{})
	tab := o.join(sched.JobSpec{Name: "a\tb"}, 1, StageTruth{Tasks: 1, Input: 1}, StageTruth{})
	long := o.join(sched.JobSpec{Name: "long"}, 1, StageTruth{Tasks: MaxList + 1}, StageTruth{})
	for _, c := range []struct {
		f    Format
		job  *sched.JobSpec
		want string
	}{
		{SWIM, run, "job run: runs a program"},
		{SLS, run, "job run: runs a program"},
		{SWIM, timed, "job timed: has task times but no bytes, and SWIM has only bytes: convert to yaml or sls"},
		{SWIM, tab, `name "a\tb": must not be empty, begin with space or #, or contain tabs`},
		{SLS, long, "has 1048577 tasks: sls lists each, and is limited to 1048576"},
		{Rumen, timed, `format "rumen": must be swim, sls or yaml`},
	} {
		_, err := Write(&bytes.Buffer{}, c.f, Of(c.job))
		wantError(t, err, c.want)
	}
}

// TestRumenToYAML keeps what a history knows of every task.
func TestRumenToYAML(t *testing.T) {
	jobs := mustRead(t, twoJobs, Defaults())
	var b strings.Builder
	if _, err := Write(&b, YAML, Of(jobs...)); err != nil {
		t.Fatal(err)
	}
	got := mustRead(t, b.String(), Defaults())
	for i := range jobs {
		if got[i].Name != jobs[i].Name || !reflect.DeepEqual(truth(got[i]).Stages, truth(jobs[i]).Stages) {
			t.Errorf("job %d: %+v, want %+v", i, truth(got[i]), truth(jobs[i]))
		}
	}
}
