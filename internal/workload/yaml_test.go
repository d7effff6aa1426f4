package workload

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// mix is the example of the command line's documentation, with something of everything added.
const mix = `# a mix
queues: [{name: etl, weight: 2}, {name: adhoc}]
jobs:
  - {name: words, job: wordcount, input: [corpus/], output: out/words, submit: 0s, user: ana, queue: etl, deadline: 60s}
  - {name: mine, mapper: ./m.py, reducer: ./r.py, input: [logs/*.gz], output: out/mine, submit: 5s, reduces: 4}
  - {name: made, maps: {count: 200, time: 20s, sigma: 0.5}, reduces: {count: 10, time: 60s}, submit: 9s}   # sim only
  # in block style
  - name: listed
    submit: 10s
    weight: 2.5
    priority: -3
    deadline: 5m
    min: {vcores: 2}
    max: {vcores: 8, memory: 16GiB}
    goal: {metric: steps, weight: 3, steps: [{after: 5m, cost: 1}, {after: 10m, cost: 4}]}
    profile: {map: {vcores: 2, disk-io: 300}, shuffle: {network-io: 200}, accelerators: [gpu, vectors]}
    maps:
      times: [1s, {time: 2s, fetch: 1ms, input: 1KiB, shuffle: 2, output: 3}]
      resources: {memory: 2GiB, vcores: 2}

  - name: conf
    submit: 11s
    job: grep
    conf:
      mapreduce.job.reduces: 3
      text: "a: b"
    input: one
    output: |
      two
`

func TestYAMLByHand(t *testing.T) {
	f, err := Read("mix.yaml", strings.NewReader(mix), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Queues) != 2 || f.Format != YAML || f.Queues[0].Name != "etl" || f.Queues[0].Weight != 2 ||
		f.Queues[1].Name != "adhoc" {
		t.Errorf("queues %+v, format %v", f.Queues, f.Format)
	}
	jobs, err := all(f.Jobs)
	if err != nil || len(jobs) != 5 {
		t.Fatal(jobs, err)
	}
	words, mine, made, list, conf := jobs[0], jobs[1], jobs[2], jobs[3], jobs[4]
	if words.User != "ana" || words.Queue != "etl" || words.Deadline != time.Minute || words.Stages != nil {
		t.Errorf("words: %+v", words)
	}
	if p := words.Payload.(*Program); !reflect.DeepEqual(*p, Program{Job: "wordcount", Input: []string{"corpus/"},
		Output: "out/words", Reduces: -1}) {
		t.Errorf("words: %+v", p)
	}
	if p := mine.Payload.(*Program); !reflect.DeepEqual(*p, Program{Mapper: "./m.py", Reducer: "./r.py",
		Input: []string{"logs/*.gz"}, Output: "out/mine", Reduces: 4}) {
		t.Errorf("mine: %+v", p)
	}
	if made.Submit != 9*time.Second || made.Stages[0].Tasks != 200 || made.Stages[1].Tasks != 10 ||
		truth(made).Stages[0].Sigma != 0.5 {
		t.Errorf("made: %+v", made)
	}
	if got := truth(made).Task(1, 10); got != (Task{Compute: time.Minute}) {
		t.Errorf("made's reduces: %+v", got)
	}
	if list.Weight != 2.5 || list.Priority != -3 ||
		list.Stages[0].PerTask != (sched.Resources{sched.Memory: 2048, sched.VCores: 2}) {
		t.Errorf("listed: %+v", list)
	}
	if got := truth(list).Task(0, 2); got != (Task{Compute: 2 * time.Second, Fetch: time.Millisecond, Input: 1024,
		Shuffle: 2, Output: 3}) {
		t.Errorf("listed: %+v", got)
	}
	wantGoal := &sched.Goal{Metric: sched.MetricSteps, Weight: 3,
		Steps: []sched.CostStep{{After: 5 * time.Minute, Cost: 1}, {After: 10 * time.Minute, Cost: 4}}}
	if list.Deadline != 5*time.Minute || list.Min != (sched.Resources{sched.VCores: 2}) ||
		list.Max != (sched.Resources{sched.VCores: 8, sched.Memory: 16384}) || !reflect.DeepEqual(list.Goal, wantGoal) {
		t.Errorf("listed: deadline %v, min %v, max %v, goal %+v", list.Deadline, list.Min, list.Max, list.Goal)
	}
	wantProfile := &sched.Profile{Accelerators: []string{"gpu", "vectors"}}
	wantProfile.Phases[sched.PhaseMap] = sched.Resources{sched.VCores: 2, sched.DiskIO: 300}
	wantProfile.Phases[sched.PhaseShuffle][sched.NetworkIO] = 200
	if !reflect.DeepEqual(list.Profile, wantProfile) {
		t.Errorf("listed: profile %+v, want %+v", list.Profile, wantProfile)
	}
	p := conf.Payload.(*Program)
	if p.Output != "two\n" || !slices.Equal(p.Input, []string{"one"}) || p.Conf["mapreduce.job.reduces"] != "3" ||
		p.Conf["text"] != "a: b" {
		t.Errorf("conf: %+v", p)
	}
}

func TestYAMLForms(t *testing.T) {
	const want = "a 0s, b 1s"
	for name, text := range map[string]string{
		"block": "jobs:\n  - {name: a, maps: {count: 1, time: 1s}}\n  - {name: b, submit: 1s, maps: {count: " +
			"1, time: 1s}}\n",
		"not indented": "jobs:\n- name: a\n  maps: {count: 1, time: 1s}\n- name: b\n  submit: 1s\n  maps:\n    " +
			"count: 1\n    time: 1s\n",
		"CRLF": "jobs:\r\n- name: a\r\n  maps: {count: 1, time: 1s}\r\n- {name: b, submit: 1s, maps: {count: " +
			"1, time: 1s}}\r\n",
		"flow": "jobs: [{name: a, maps: {count: 1, time: 1s}}, {name: b, submit: 1s, maps: {count: 1, " +
			"time: 1s}}]\n",
		"all flow": "{queues: [], jobs: [{name: a, maps: {count: 1, time: 1s}}, {name: b, submit: 1s, maps: " +
			"{count: 1, time: 1s}}]}",
		"over lines": "jobs:\n  - {name: a,\n     # why not\n     maps: {count: 1, time: 1s}}\n\n  - {name: b, " +
			"submit: 1s, maps: {count: 1,\n     time: 1s}}",
		"anchors": "jobs:\n  - name: a\n    maps: &one {count: 1, time: 1s}\n  - {name: b, submit: 1s, " +
			"maps: *one}\n",
		"document": "---\n# two\njobs: # here\n  - {name: \"a\", maps: {count: 1, time: 1s}}\n  - {name: 'b', " +
			"submit: 1s, maps: {count: 1, time: 1s}}\n...\n",
		"dash alone": "jobs:\n  -\n    name: a\n    maps: {count: 1, time: 1s}\n  -\n    name: b\n    submit: " +
			"1s\n    maps: {count: 1, time: 1s}\n",
	} {
		jobs, err := read(t, text, Defaults())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, j := range jobs {
			got = append(got, j.Name+" "+j.Submit.String())
		}
		if g := strings.Join(got, ", "); g != want {
			t.Errorf("%s: %s, want %s", name, g, want)
		}
	}
}

func TestYAMLErrors(t *testing.T) {
	job := func(fields string) string {
		return "jobs:\n  - {name: ok, maps: {count: 1, time: 1s}}\n  - {name: bad, " + fields + "}\n"
	}
	for text, want := range map[string]string{
		job("maps: {count: -1, time: 1s}"): `trace:3:31: jobs.maps.count: "-1" must be a whole ` +
			`number from 0 to 16777216`,
		job("maps: {count: 1e300, time: 1s}"): `trace:3:31: jobs.maps.count: "1e300" must be a ` +
			`whole number`,
		job("maps: {count: 1, time: -1s}"): `jobs.maps.time: "-1s" must not be negative`,
		job("maps: {count: 1, time: 20}"): `jobs.maps.time: "20" is not a time; write ` +
			`90s, 5m or 1h30m`,
		job("maps: {count: 1, time: 100000h}"):         `jobs.maps.time: "100000h" must be at most ten years`,
		job("maps: {count: 1, time: 1s, sigma: .nan}"): `jobs.maps.sigma: ".nan" must be a number from 0 to 5`,
		job("maps: {count: 1, tim: 1s}"): "trace:3:34: jobs.maps.tim: is not known here; known " +
			"are count, time, sigma",
		job("maps: {count: 1}"):                 "jobs.maps: must have count and time, or times",
		job("maps: {times: [1s], count: 1}"):    "jobs.maps: times says everything of each task",
		job("maps: {times: [2s], startup: 1s}"): "jobs.maps: times says everything of each task",
		job("maps: {count: 1, time: 2s, startup: 3s}"): "jobs.maps: startup 3s: must be at most the time, 2s, which " +
			"contains it",
		job("maps: {count: 1, time: 1s, block: 1, input: 2}"): "jobs.maps: input: 2 bytes are more than 1 task of " +
			"a block of 1",
		job("maps: {count: 1, time: 1s, rate: 1, input: 1GB}"): "jobs.maps: a task of 1000000000 bytes at 1 bytes/s " +
			"takes more than ten years",
		job("maps: 7"): "jobs.maps: must be a mapping of count, time",
		job("maps: {count: 1, time: 1s}, maps: {count: 1, time: 1s}"): "trace:3",
		job("maps: {count: 1, time: 1s}, mapper: x"): "jobs: has maps or reduces with times, and " +
			"something to run",
		job("reduces: {count: 1, time: 1s}"): "jobs: has " +
			"reduces but no maps",
		job("maps: {count: 1, time: 1s}, reduces: 4"): "jobs: reduces: must be {count, time} beside maps",
		job("submit: 5s"):           "trace:3", // nothing to do
		job("job: grep, mapper: x"): "has both job and mapper",
		job("job: grep, input: x"):  "needs input and output",
		job("job: [grep]"): "jobs.job: must be a " +
			"single value",
		job("job: grep, deadline: 0s"): "jobs.deadline: must be " +
			"after the submission",
		job("job: grep, weight: 0"): `jobs.weight: "0" must be a ` +
			`positive number`,
		job("job: grep, priority: 3000000000"): `jobs.priority: ` +
			`"3000000000" must be a whole number, at most 2^31-1`,
		job("maps: {count: 1, time: 1s}, goal: {metric: late}"): `jobs.goal.metric: "late" ` +
			`must be one of response, stretch, tardy`,
		job("maps: {count: 1, time: 1s}, goal: {metric: tardy}"): "jobs: goal: metric tardy: " +
			"needs a deadline of the job",
		job("maps: {count: 1, time: 1s}, goal: {metric: steps}"): "jobs: goal: steps: 0, must " +
			"be at least one",
		job("maps: {count: 1, time: 1s}, goal: {metric: steps, steps: [{before: 1s}]}"): "jobs.goal.steps.before: is " +
			"not known here; known are after, cost",
		job("maps: {count: 1, time: 1s}, min: {vcores: 3}, max: {vcores: 2}"): "jobs: min 3 of vcores: must be " +
			"at most max, 2",
		job("maps: {count: 1, time: 1s}, profile: {fetch: {vcores: 1}}"): "jobs.profile.fetch: is not known " +
			"here; known are accelerators, read, map",
		job("maps: {count: 1, time: 1s}, profile: {accelerators: [gpu, gpu]}"): `jobs: profile: accelerator "gpu": ` +
			`must be a name, and given once`,
		job("maps: *absent"):                "jobs.maps: nothing before it is anchored as &absent",
		job("maps: {count: 1, time: 1s"):    "trace:3: is not YAML: did not find expected ',' or '}'",
		job("maps: {count: 1, time: \"1s}"): "trace:3: is not YAML: found unexpected end of stream",
		"{queues: [}":                       "trace:1: is not YAML: did not find expected node content",
		"jobs:\n  - {name: a, maps: {count: 1, time: 1s}}\nqueues: []\n": "trace:3:3: must be an item of the " +
			"list of jobs",
		"jobs:\n  - {name: a, maps: {count: 1, time: 1s}}\njobs:\n": "trace:3",
		"queues: [{name: a.b}]\njobs:\n": `trace:1:10: queues: name "a.b": must be there, ` +
			`without dots`,
		"queues: [{name: a}, {name: a}]\njobs:\n":        `queues: name "a": is given twice`,
		"queues: [{name: a, min: 120%}]\njobs:\n":        `queues.min: "120%" must be a part such as 20%`,
		"queues: [{name: a, max: {memory: 1}}]\njobs:\n": `queues.max.memory: "1" must be a whole number of MiB`,
		"queues: &q [{name: a, queues: *q}]\njobs:\n":    "queues.queues: are nested more than 32 deep",
		"tasks: 7\n":         "trace:1:1: tasks: is not known here; known are queues, jobs",
		"queues: []\n":       "trace: has no jobs: it should hold jobs:",
		"jobs: 7\n":          "trace:1:7: jobs: must be a list",
		"just words\n":       "trace:1:1: must be a mapping of queues, jobs",
		"jobs:\n  name: a\n": "trace:2:3: must be an item of the list of jobs",
	} {
		_, err := read(t, text, Defaults())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n error %v\n want ... %s", text, err, want)
		}
	}
}

func TestYAMLSigmaIsByChanceOfTheTask(t *testing.T) {
	const text = "jobs: [{name: a, maps: {count: 4000, time: 20s, sigma: 0.5}}, {name: b, maps: {count: 1, time: " +
		"20s, sigma: 0.5}}]"
	jobs := mustRead(t, text, Defaults())
	again := mustRead(t, text, Defaults())
	if jobs[0].Stages[0].Tasks != 4000 || truth(jobs[0]).Task(0, 77) != truth(again[0]).Task(0, 77) {
		t.Error("two readings differ")
	}
	if truth(jobs[0]).Task(0, 1) == truth(jobs[0]).Task(0, 2) ||
		truth(jobs[0]).Task(0, 1) == truth(jobs[1]).Task(0, 1) {
		t.Error("tasks and jobs share their chance")
	}
	// The mean of 4000 tasks has a standard error of 20 s·sqrt(exp(0.25) − 1) ÷ sqrt(4000) = 0.169 s; four of them.
	if mean, _ := truth(jobs[0]).Times(0); mean < 20*time.Second-4*169*time.Millisecond ||
		mean > 20*time.Second+4*169*time.Millisecond {
		t.Errorf("tasks take %v on average, want about 20s", mean)
	}
	o := Defaults()
	o.Seed = 2
	if truth(mustRead(t, text, o)[0]).Task(0, 1) == truth(jobs[0]).Task(0, 1) {
		t.Error("another seed, and the same times")
	}
}
