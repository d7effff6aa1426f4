package record

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// pastOf returns the only job of a record.
func pastOf(t *testing.T, b []byte) *workload.Past {
	t.Helper()
	for j, err := range PastJobs(reader(t, b), nil) {
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	t.Fatal("no job")
	return nil
}

// simulated returns when a simulation of jobs on a cluster ends.
func simulated(t *testing.T, p *PastCluster, jobs ...*sched.JobSpec) sched.Time {
	t.Helper()
	config := sim.Config{Cluster: p.Cluster, Jobs: workload.Of(jobs...), Core: sched.Config{Policy: &inOrder{}}}
	for _, c := range p.Changes {
		config.Script = append(config.Script, sim.Incident{At: c.At, Node: c.Node, Returns: c.Joins, Offers: c.Offers})
	}
	done, err := sim.Run(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	return done.End
}

// A reduce that starts at 0 with its slot, waits for maps until 20 s, and works until 23 s, is work of 3 s. Simulated
// again on the cluster of the record, the job ends when it ended.
func TestPastReducesThatWait(t *testing.T) {
	b := recorded(t, Options{}, func(w *Writer) {
		r := newRig(sched.Config{Can: allPowers}, w)
		r.node(slots(1, 1))
		spec := mapReduce(0, 2, 10*sec, 1, 23*sec)
		spec.Stages[1].After[0].Part = 0
		r.submit(1, spec)
		r.run()
	})
	past := pastOf(t, b)
	if want := [][]sched.Time{{10 * sec, 10 * sec}, {3 * sec}}; !reflect.DeepEqual(past.Times, want) {
		t.Errorf("times %v, want %v", past.Times, want)
	}
	p, err := ClusterOf(reader(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if end := simulated(t, p, past.On(p.Cluster, p.IDs)); end != 23*sec {
		t.Errorf("simulated, it ends at %v, want 23s", end)
	}
}

// An application whose master is launched at 1 s, asks after 5 s for two maps of 10 s, which run one after the other
// beside it, and then for a reduce of 4 s; it holds its container for 3 s more. The first map fails and is asked for
// again. The second seems to fail too: nothing is asked for in its place, because the master had its output and stopped
// its container. Simulated, the maps take 6-16 and 16-26, the reduce 26-30.
func TestPastMaster(t *testing.T) {
	each := sched.Resources{sched.Memory: 1024}
	b := recorded(t, Options{}, func(w *Writer) {
		r := newRig(sched.Config{Can: allPowers}, w)
		r.node(sched.Resources{sched.Memory: 2048})
		ask := func(at sched.Time, stage int32, kind sched.StageKind, n int32) {
			r.at(at, sched.Event{Kind: sched.AsksChanged, Job: 1, Body: &sched.Asks{
				Stage: stage, Pending: n, Spec: &sched.StageSpec{Kind: kind, PerTask: each, Tasks: -1}}})
		}
		r.submit(1, &sched.JobSpec{Submit: sec,
			Stages: []sched.StageSpec{{Kind: sched.Master, PerTask: each, Tasks: 1, MaxAttempts: 1}}, Open: true})
		ask(6*sec, 1, sched.Map, 2)
		fail := func(at sched.Time, serial uint64, row int32) {
			r.at(at, sched.Event{Kind: sched.AttemptDone, Attempt: sched.NewAttemptID(serial, row),
				Outcome: sched.Failed})
		}
		fail(16*sec, 2, 1)
		ask(17*sec, 1, sched.Map, 1)
		fail(26*sec, 3, 2)
		ask(36*sec, 2, sched.Reduce, 1)
		r.takes = func(a *sched.Attempt) sched.Time {
			return []sched.Time{42 * sec, 100 * sec, 100 * sec, 10 * sec, 4 * sec}[a.ID.Serial()-1]
		}
		r.at(43*sec, sched.Event{Kind: sched.JobEnded, Job: 1})
		r.run()
	})
	past := pastOf(t, b)
	if want := [][]sched.Time{{5 * sec}, {10 * sec, 10 * sec}, {4 * sec}}; !past.MasterAsks || past.Closing != 3*sec ||
		past.Sojourn != 42*sec || !reflect.DeepEqual(past.Times, want) {
		t.Errorf("a master asks %v, %v, closing %v, times %v, want %v", past.MasterAsks, past.Sojourn, past.Closing,
			past.Times, want)
	}
	if most := past.Spec.Stages[1].MaxAttempts; most != sched.DefaultMaxAttempts {
		t.Errorf("a map may fail %d times; what its master started again, a simulation must", most)
	}
	p, err := ClusterOf(reader(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if end := simulated(t, p, past.On(p.Cluster, p.IDs)); end != 33*sec {
		t.Errorf("simulated, it ends at %v, want 33s", end)
	}
}

// A simulated master is lost with its node before it asks for anything; the next one takes 5 s from its launch at 2 s
// until it asks. The record of that run, simulated again, is the same run.
func TestPastMasterLostBeforeItAsks(t *testing.T) {
	spec := mapReduce(0, 4, 10*sec, 1, 4*sec)
	spec.Type, spec.Payload = "MAPREDUCE", &workload.Truth{Stages: []workload.StageTruth{
		{Tasks: 4, Base: 10 * sec}, {Tasks: 1, Base: 4 * sec}}}
	for i := range spec.Stages {
		spec.Stages[i].PerTask = sched.Resources{sched.Memory: 1024}
	}
	cluster := &workload.Cluster{Network: workload.DefaultNetwork, Classes: []workload.Class{
		{Name: "c", Count: 2, Racks: 1, Speed: 1, Resources: sched.Resources{sched.Memory: 4096}}}}
	master := workload.Master{Size: sched.Resources{sched.Memory: 1536}, Start: 5 * sec}
	var end sched.Time
	b := recorded(t, Options{}, func(w *Writer) {
		done, err := sim.Run(context.Background(), sim.Config{Cluster: cluster,
			Jobs: master.AddTo(workload.Of(spec), cluster), Core: sched.Config{Policy: &inOrder{}, Recorder: w},
			Script: []sim.Incident{{At: 2 * sec, Node: 1}, {At: 4 * sec, Node: 1, Returns: true}}})
		if err != nil {
			t.Fatal(err)
		}
		end = done.End
	})
	past := pastOf(t, b)
	if want := []sched.Time{5 * sec}; !past.MasterAsks || past.Closing != 0 || !slices.Equal(past.Times[2], want) {
		t.Errorf("a master asks %v, closing %v, the master's times %v, want %v", past.MasterAsks, past.Closing,
			past.Times[2], want)
	}
	p, err := ClusterOf(reader(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if again := simulated(t, p, past.On(p.Cluster, p.IDs)); again != end {
		t.Errorf("simulated again, it ends at %v, want %v", again, end)
	}
}

// A node joins with 2 of 4 slots, offers 4 from 3 s on and 1 from 7 s on; another is lost at 4 s and returns at 6 s
// with 1 of 2. Reports come every 2 s; the loss is no report. Where the header says the interval, it counts.
func TestClusterOfOffers(t *testing.T) {
	config := sched.Config{Can: allPowers, Heartbeats: true}
	run := func(w *Writer) {
		r := newRig(config, w)
		says := func(kind sched.EventKind, id sched.NodeID, at sched.Time, maps int64) {
			r.at(at, sched.Event{Kind: kind, Node: id, Body: &sched.NodeSpec{Capacity: slots(maps, 0)}})
		}
		says(sched.NodeJoined, 1, 0, 2)
		says(sched.NodeJoined, 2, 0, 2)
		says(sched.NodeReported, 1, 3*sec, 4)
		says(sched.NodeReported, 1, 3*sec, 4)
		r.at(4*sec, sched.Event{Kind: sched.NodeLost, Node: 2})
		says(sched.NodeJoined, 2, 6*sec, 1)
		says(sched.NodeReported, 1, 7*sec, 1)
		for _, at := range []sched.Time{1, 3, 7} {
			r.at(at*sec, sched.Event{Kind: sched.NodeReported, Node: 1})
		}
		for _, at := range []sched.Time{3, 7} {
			r.at(at*sec+sec/2, sched.Event{Kind: sched.NodeReported, Node: 2})
		}
		r.run()
	}
	p, err := ClusterOf(reader(t, recordedWith(t, Header{Core: CoreConfigOf(config)}, run)))
	if err != nil {
		t.Fatal(err)
	}
	offers := func(maps int64) *sched.Resources { r := slots(maps, 0); return &r }
	want := []NodeChange{{At: 0, Node: 1, Offers: offers(2)}, {At: 3 * sec, Node: 1, Offers: offers(4)},
		{At: 4 * sec, Node: 2}, {At: 6 * sec, Node: 2, Offers: offers(1)}, {At: 6 * sec, Node: 2, Joins: true},
		{At: 7 * sec, Node: 1, Offers: offers(1)}}
	if !reflect.DeepEqual(p.Changes, want) || p.Heartbeat != 2*sec {
		t.Errorf("changes %+v\nwant %+v; heartbeat %v", p.Changes, want, p.Heartbeat)
	}
	if c := p.Cluster.Classes; len(c) != 2 || c[0].Resources != slots(4, 0) || c[1].Resources != slots(2, 0) {
		t.Errorf("classes %+v", c)
	}
	h := Header{Core: CoreConfigOf(config), Heartbeat: 3 * sec}
	if p, err = ClusterOf(reader(t, recordedWith(t, h, run))); err != nil || p.Heartbeat != 3*sec {
		t.Errorf("heartbeat %v of a record that says 3s: %v", p.Heartbeat, err)
	}
	h.Core.Heartbeats = false
	if p, err = ClusterOf(reader(t, recordedWith(t, h, run))); err != nil || p.Heartbeat != 0 {
		t.Errorf("heartbeat %v of a record without: %v", p.Heartbeat, err)
	}
}

// Three nodes of two kinds: the second joins at 3 s, the third is lost at 4 s and joins again at 6 s.
func TestClusterOf(t *testing.T) {
	queues := []*sched.QueueSpec{{Name: "etl", Weight: 2}}
	b := recordedWith(t, Header{Core: CoreConfigOf(sched.Config{Queues: queues})}, func(w *Writer) {
		r := newRig(sched.Config{Can: allPowers, Queues: queues}, w)
		node := func(id sched.NodeID, at sched.Time, class string, rack sched.RackID, maps int64) {
			r.at(at, sched.Event{Kind: sched.NodeJoined, Node: id,
				Body: &sched.NodeSpec{Name: class, Class: class, Rack: rack, Capacity: slots(maps, 1)}})
		}
		node(1, 0, "big", 1, 4)
		node(2, 3*sec, "small", 1, 2)
		node(3, 3*sec, "big", 2, 4)
		r.at(4*sec, sched.Event{Kind: sched.NodeLost, Node: 3})
		node(3, 6*sec, "big", 2, 4)
		r.run()
	})
	p, err := ClusterOf(reader(t, b))
	if err != nil {
		t.Fatal(err)
	}
	want := &workload.Cluster{Network: workload.DefaultNetwork, Queues: p.Cluster.Queues, Classes: []workload.Class{
		{Name: "big", Count: 2, Racks: 2, Speed: 1, Resources: slots(4, 1)},
		{Name: "small", Count: 1, Racks: 1, Speed: 1, Resources: slots(2, 1)}}}
	if !reflect.DeepEqual(p.Cluster, want) || len(p.Cluster.Queues) != 1 || p.Cluster.Queues[0].Name != "etl" {
		t.Errorf("%+v\nwant %+v", p.Cluster, want)
	}
	changes := []NodeChange{{At: 0, Node: 2}, {At: 0, Node: 3}, {At: 3 * sec, Node: 2, Joins: true},
		{At: 3 * sec, Node: 3, Joins: true}, {At: 4 * sec, Node: 2}, {At: 6 * sec, Node: 2, Joins: true}}
	if !reflect.DeepEqual(p.Changes, changes) {
		t.Errorf("changes %+v\nwant %+v", p.Changes, changes)
	}

	if want := []sched.NodeID{1, 3, 2}; !slices.Equal(p.IDs, want) || p.Heartbeat != 0 {
		t.Errorf("IDs %v, want %v; heartbeat %v", p.IDs, want, p.Heartbeat)
	}

	told := &workload.Cluster{Network: workload.DefaultNetwork,
		Classes: []workload.Class{{Name: "c", Count: 1, Racks: 1, Speed: 2, Resources: slots(1, 0)}}}
	b = recordedWith(t, Header{Cluster: marshalled(t, told)}, func(w *Writer) {
		r := newRig(sched.Config{Can: allPowers}, w)
		r.node(slots(1, 0))
		r.run()
	})
	if p, err = ClusterOf(reader(t, b)); err != nil || !reflect.DeepEqual(p.Cluster, told) || p.Changes != nil {
		t.Errorf("%+v, %v; want %+v", p, err, told)
	}
	b = recorded(t, Options{}, func(*Writer) {})
	if _, err = ClusterOf(reader(t, b)); err == nil || !strings.Contains(err.Error(), "no node joined") {
		t.Errorf("of a record without nodes: %v", err)
	}
}

// Reduces of an earlier job are not ahead of a map, which takes other slots; they are where both take memory. A rank is
// said in words.
func TestExplainRanksByResource(t *testing.T) {
	for _, c := range []struct {
		capacity, maps, reduces sched.Resources
		ahead                   int
	}{
		{slots(1, 0), slots(1, 0), slots(0, 1), 0},
		{sched.Resources{sched.Memory: 1}, sched.Resources{sched.Memory: 1}, sched.Resources{sched.Memory: 1}, 1},
	} {
		job := func(submit sched.Time, kind sched.StageKind, each sched.Resources) *sched.JobSpec {
			return &sched.JobSpec{Submit: submit,
				Stages: []sched.StageSpec{{Kind: kind, Tasks: 1, PerTask: each, Prior: 60 * sec}}}
		}
		got := explainAt(t, sched.Config{Can: allPowers}, Question{3, 10 * sec}, func(r *rig) {
			r.node(c.capacity)
			r.submit(1, job(0, sched.Map, c.maps))
			r.submit(2, job(sec, sched.Reduce, c.reduces))
			r.submit(3, job(2*sec, sched.Map, c.maps))
			r.at(30*sec, sched.Event{Kind: sched.JobEnded, Job: 2, Outcome: sched.Killed})
		})
		if got.Ahead != c.ahead || got.Words != "priority 0, submitted 2s" {
			t.Errorf("%v: %d ahead, want %d: %+v", c.capacity, got.Ahead, c.ahead, got)
		}
		if c.ahead > 0 && got.Before[0].Words != "priority 0, submitted 1s" {
			t.Errorf("before it: %+v", got.Before)
		}
	}
}
