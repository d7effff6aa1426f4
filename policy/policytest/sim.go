package policytest

import (
	"context"
	"fmt"

	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// simulable reports whether package sim can express a run of this scenario.
func (s *scenario) simulable(setup Setup) bool {
	if setup.Can != sim.Powers || setup.Lag > 0 || setup.Estimator != nil {
		return false
	}
	names := map[string]bool{}
	for i, n := range setup.Nodes {
		if n.Rack != 1 || s.broken[i] > 0 {
			return false
		}
		if s.sameClass(setup, i) {
			continue
		}
		if names[n.Class] {
			return false
		}
		names[n.Class] = n.Class != noClass
	}
	for _, t := range setup.Trouble {
		if t.Offers != nil {
			return false
		}
	}
	for _, j := range setup.Jobs {
		for _, truth := range s.truth[j] {
			if truth.again > 0 || truth.failing != "" {
				return false
			}
		}
	}
	return true
}

// sameClass reports whether node i of a setup belongs to the class of the node before it. Nodes for which a scenario
// names no class are classes of their own.
func (s *scenario) sameClass(setup Setup, i int) bool {
	if i == 0 || setup.Nodes[i].Class == noClass {
		return false
	}
	a, b := setup.Nodes[i-1], setup.Nodes[i]
	return a.Class == b.Class && a.Capacity == b.Capacity && s.speed[i-1] == s.speed[i]
}

// agree runs a scenario in package sim and reports where that comes to something else than want. Samples of jobs are
// not compared: what they cost is the engine's own.
func (s *scenario) agree(setup Setup, spec string, want Result) error {
	p, card, err := s.registry.Parse(spec)
	if err != nil {
		return err
	}
	if card.Needs&sched.CanProbe != 0 {
		return nil
	}
	log := &actionLog{}
	config := sim.Config{
		Cluster: &workload.Cluster{Network: workload.Network{Node: 1e9, Rack: 1e9}},
		Core:    sched.Config{Policy: p, Queues: setup.Queues, Recorder: log},
		Costs:   sim.Costs{Reporting: sim.Reporting{Heartbeat: setup.Heartbeat, Progress: setup.Progress}},
	}
	for i, n := range setup.Nodes {
		if s.sameClass(setup, i) {
			config.Cluster.Classes[len(config.Cluster.Classes)-1].Count++
			continue
		}
		name := n.Class
		if name == noClass {
			name = n.Name
		}
		config.Cluster.Classes = append(config.Cluster.Classes,
			workload.Class{Name: name, Count: 1, Racks: 1, Speed: s.speed[i], Resources: n.Capacity})
	}
	for _, t := range setup.Trouble {
		config.Script = append(config.Script, sim.Incident{At: t.At, Node: t.Node, Returns: t.Back})
	}
	config.Jobs = s.source(want.Jobs)
	if _, err := sim.Run(context.Background(), config); err != nil {
		return err
	}
	if d := differ(want.Log, log.entries, 1); d != "" {
		return fmt.Errorf("package sim comes to something else: %s", d)
	}
	return nil
}

// source yields jobs, in order of submission, with their truth.
func (s *scenario) source(jobs []*sched.JobSpec) workload.Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		for _, spec := range jobs {
			j := *spec
			truth := &workload.Truth{}
			for _, st := range s.truth[spec] {
				t := workload.StageTruth{Tasks: int32(len(st.times)), Speeds: st.speeds}
				for _, d := range st.times {
					t.List = append(t.List, workload.Task{Compute: d})
				}
				truth.Stages = append(truth.Stages, t)
			}
			j.Payload = truth
			if !yield(&j, nil) {
				return
			}
		}
	}
}

// An actionLog keeps the actions of a run.
type actionLog struct {
	view    *sched.View
	entries []Entry
}

// Attach shows the log the view of the run.
func (l *actionLog) Attach(v *sched.View) { l.view = v }

// Record keeps the actions of a Step.
func (l *actionLog) Record(_ sched.Time, _ []sched.Event, actions []sched.Action) {
	for _, a := range actions {
		if a.Kind != sched.Wake {
			l.entries = append(l.entries, entryOf(l.view, a))
		}
	}
}
