package sched

import (
	"reflect"
	"strings"
	"testing"
)

// SpecChanged replaces everything that JobSpec says may change, and nothing else.
func TestSpecChangedCarriesAllTerms(t *testing.T) {
	c := New(Config{Policy: &inOrder{}})
	c.Step(0, []Event{
		{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slots(1, 0)}},
		{Kind: JobSubmitted, Job: 1, Body: mapReduce(0, 1, sec, 0, 0)},
	})
	said := &JobSpec{
		Name: "another", Queue: "etl", Weight: 2, Priority: 3, Deadline: 60 * sec,
		Min: slots(1, 0), Max: slots(2, 0),
		Goal: &Goal{Metric: MetricTardiness, Weight: 4}, Profile: &Profile{Accelerators: []string{"gpu"}},
		Delays: 2,
	}
	c.Step(sec, []Event{{Kind: SpecChanged, Job: 1, Body: said}})
	want := *mapReduce(0, 1, sec, 0, 0)
	want.Queue, want.Weight, want.Priority, want.Deadline = "etl", 2, 3, 60*sec
	want.Min, want.Max, want.Goal, want.Profile = said.Min, said.Max, said.Goal, said.Profile
	want.Delays = said.Delays
	if got := c.Job(1).Spec; !reflect.DeepEqual(*got, want) {
		t.Errorf("the spec is %+v, want %+v", *got, want)
	}
}

// Terms that a job cannot be submitted with are a breach when a job is to get them, too.
func TestSpecChangedIsChecked(t *testing.T) {
	for want, said := range map[string]*JobSpec{
		"":                              {Queue: "etl", Deadline: sec, Goal: &Goal{Metric: MetricTardy}},
		"weight -1: must be from 0":     {Weight: -1},
		"delays -2: must be from -1":    {Delays: -2},
		"deadline -1s: must be after":   {Deadline: -sec},
		"min 2 of map-slots: must be":   {Min: slots(2, 0), Max: slots(1, 0)},
		"goal: metric 7: must be below": {Goal: &Goal{Metric: NumMetrics}},
		"goal: metric tardy: needs a":   {Goal: &Goal{Metric: MetricTardy}},
		"profile: memory in phase map":  {Profile: &Profile{Phases: [NumPhases]Resources{PhaseMap: {Memory: -1}}}},
	} {
		c := New(Config{Policy: &inOrder{}})
		c.Step(0, []Event{{Kind: JobSubmitted, Job: 1, Body: mapReduce(0, 1, sec, 0, 0)}})
		got := breachOf(func() { c.Step(sec, []Event{{Kind: SpecChanged, Job: 1, Body: said}}) })
		if want == "" && got != "" || want != "" && !strings.HasPrefix(got, "change the spec of job 1: "+want) {
			t.Errorf("%+v: breach %q, want %q", *said, got, want)
		}
	}
}

func TestValidateTerms(t *testing.T) {
	for want, s := range map[string]JobSpec{
		"": {Deadline: sec, Min: slots(1, 0), Max: slots(1, 0),
			Goal: &Goal{Metric: MetricSteps, Steps: []CostStep{{0, 0}, {sec, 1}, {2 * sec, 1}}}},
		"deadline -1s: must be after":                {Deadline: -sec},
		"delays -2: must be from -1":                 {Delays: -2},
		"delays 1000001: must be from -1":            {Delays: 1_000_001},
		"min 2 of map-slots: must be at most max, 1": {Min: slots(2, 0), Max: slots(1, 0)},
		"min -1 and max 0 of reduce-slots":           {Min: slots(0, -1)},
		"goal: metric 7: must be below 7":            {Goal: &Goal{Metric: NumMetrics}},
		"goal: weight -1: must be from 0":            {Goal: &Goal{Weight: -1}},
		"goal: metric lateness: needs a deadline":    {Goal: &Goal{Metric: MetricLateness}},
		"goal: steps: 1, must be at least one with":  {Goal: &Goal{Steps: []CostStep{{sec, 1}}}},
		"goal: steps: 0, must be at least one with":  {Goal: &Goal{Metric: MetricSteps}},
		"goal: step 1, cost 0.5 after 2s: must be": {Goal: &Goal{Metric: MetricSteps,
			Steps: []CostStep{{sec, 1}, {2 * sec, 0.5}}}},
		"goal: step 1, cost 2 after 1s: must be later": {Goal: &Goal{Metric: MetricSteps,
			Steps: []CostStep{{sec, 1}, {sec, 2}}}},
		"profile: disk-io in phase map: -1, must be": {
			Profile: &Profile{Phases: [NumPhases]Resources{PhaseMap: {DiskIO: -1}}}},
		`profile: accelerator "": must be a name`: {Profile: &Profile{Accelerators: []string{""}}},
	} {
		err := s.ValidateTerms()
		if want == "" != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for m := NoMetric + 1; m < NumMetrics; m++ {
		if again, ok := MetricNamed(m.String()); !ok || again != m {
			t.Errorf("metric %v: MetricNamed returns %v, %v", m, again, ok)
		}
	}
}

// Terms are read from words; a word that means nothing changes nothing.
func TestSetTerm(t *testing.T) {
	var s JobSpec
	for _, term := range [][2]string{{"weight", "3"}, {"goal", "1m:1/2m:4"}, {"deadline", "90s"}, {"delays", "0"},
		{"accelerators", "gpu/cell"}, {"map", "vcores:2/disk-io:300000"}, {"shuffle", "network-io:1500"}} {
		if known, err := s.SetTerm(term[0], term[1]); !known || err != nil {
			t.Errorf("%s: %v, %v", term, known, err)
		}
	}
	want := JobSpec{
		Deadline: 90 * sec,
		Goal:     &Goal{Metric: MetricSteps, Weight: 3, Steps: []CostStep{{60 * sec, 1}, {120 * sec, 4}}},
		Delays:   -1,
		Profile: &Profile{
			Phases: [NumPhases]Resources{
				PhaseMap: {VCores: 2, DiskIO: 300_000}, PhaseShuffle: {NetworkIO: 1500},
			},
			Accelerators: []string{"gpu", "cell"},
		},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, want %+v", s, want)
	}
	for _, term := range [][2]string{{"weight", "much"}, {"goal", "late"}, {"goal", "steps"}, {"goal", "1m:1/"},
		{"delays", "-1"}, {"delays", "few"}, {"accelerators", ""}, {"accelerators", "gpu/gpu"}, {"map", ""},
		{"reduce", "cores:2"}, {"reduce", "vcores:-2"}, {"reduce", "vcores:two"},
		{"deadline", "soon"}, {"deadline", "0s"}, {"deadline", "-1s"}} {
		if known, err := s.SetTerm(term[0], term[1]); !known || err == nil {
			t.Errorf("%s: %v, %v, want an error", term, known, err)
		}
	}
	if known, err := s.SetTerm("size", "2h"); known || err != nil {
		t.Errorf("size: %v, %v, want neither a term nor an error", known, err)
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, want that nothing has changed: %+v", s, want)
	}
	if _, err := s.SetTerm("goal", "tardiness"); err != nil || s.Goal.Steps != nil || s.Goal.Weight != 3 ||
		s.Goal.Metric != MetricTardiness {
		t.Errorf("%+v, %v, want tardiness in the place of steps, with the weight as it was", s.Goal, err)
	}
}
