package policy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// Siblings kept in order are served as siblings looked at one by one, in trees with many queues and users that come and
// go, where many have equal turns. So it is with one queue, whose first stage is found without a walk down the tree.
func TestSiblingsInOrder(t *testing.T) {
	specs := []string{"fair", "fair:users=on,delay=3s", "fair:preempt=kill,min-timeout=5s,fair-timeout=10s",
		"capacity", "capacity:user-factor=3,preempt=kill,slack=0", "fair:masters=0.1",
		"capacity:masters=0.15,user-factor=4,user-min=0.4", "capacity:masters=0.5,user-factor=0.4,user-min=0.1",
		"capacity:user-factor=2,user-min=0.1,delay=3s", "drf", "dynamicmr:min-run=3s,cap=1",
		"dynamicmr:dhsa=pd,min-run=3s,cap=1,delay=3s", "dynamicmr:sepb=queue,checked=0.3,min-run=3s,cap=1",
		"dynamicmr:dhsa=pd,lend-maps=0.4,checked=0.2,min-run=3s"}
	asOneByOne(t, specs, longtest.Few(12, 48), policy.SiblingsInOrder, func(s *policytest.Setup, seed uint64) {
		if seed%4 == 3 {
			for _, j := range s.Jobs {
				j.Queue = "a"
			}
		}
	})
}

// Users in order have the turns that they have when they are looked at one by one, also where tasks and masters have
// different sizes, and where nodes are kept for big ones.
func TestUsersInOrder(t *testing.T) {
	specs := []string{"capacity", "capacity:masters=0.15,user-factor=4,user-min=0.4",
		"capacity:masters=0.5,user-factor=0.4,user-min=0.1", "capacity:user-factor=2,user-min=0.1,delay=3s",
		"capacity:masters=1,user-factor=10,user-min=0.1"}
	asOneByOne(t, specs, longtest.Few(20, 80), policy.UsersInOrder, func(s *policytest.Setup, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 29))
		for _, j := range s.Jobs {
			for i := range j.Stages {
				j.Stages[i].PerTask[sched.Memory] /= 1 + r.Int64N(4)
			}
		}
	})
}

// asOneByOne requires of policies of queues that they do the same at the same instants when changed by inOrder as when
// they look at siblings and users one by one. The setups of so many seeds have many queues, and are changed by prepare.
func asOneByOne(t *testing.T, specs []string, seeds int, inOrder func(sched.Policy) sched.Policy,
	prepare func(s *policytest.Setup, seed uint64)) {
	t.Helper()
	for _, spec := range specs {
		launched := 0
		for seed := range uint64(seeds) {
			run := func(how func(sched.Policy) sched.Policy) []policytest.Entry {
				s := policytest.RandomSetup(seed, 1)
				manyQueues(&s, seed)
				prepare(&s, seed)
				p, _, err := policy.Parse(spec)
				if err != nil {
					t.Fatal(err)
				}
				res, err := policytest.Run(s, how(p))
				if err != nil {
					t.Fatalf("%s, seed %d: %v", spec, seed, err)
				}
				return res.Log
			}
			got, want := run(inOrder), run(policy.OneByOne)
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("%s, seed %d: action %d is %v, want %v", spec, seed, i+1, got[i], want[i])
				}
			}
			if len(got) != len(want) {
				t.Fatalf("%s, seed %d: %d actions, want %d", spec, seed, len(got), len(want))
			}
			launched += len(got)
		}
		if launched < 50*seeds {
			t.Errorf("%s: %d actions: little was tested", spec, launched)
		}
	}
}

// manyQueues puts the jobs of a setup, three times as many, into many queues and users.
func manyQueues(s *policytest.Setup, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 23))
	for _, again := range []uint64{1, 2} {
		s.Jobs = append(s.Jobs, policytest.RandomSetup(seed+again*1000, 1).Jobs...)
	}
	for _, j := range s.Jobs {
		for i := range j.Stages {
			j.Stages[i].PerTask, j.Stages[i].Places, j.Stages[i].Copies = sched.Resources{sched.Memory: 1024}, nil, 0
			if s.Nodes[0].Capacity[sched.Memory] == 0 { // where there are slots, there are no masters
				j.Stages[i].Kind = min(j.Stages[i].Kind, sched.Reduce)
				j.Stages[i].PerTask = sched.Resources{
					sched.MapSlots:    int64(1 - min(i, 1)),
					sched.ReduceSlots: int64(min(i, 1)),
				}
			}
		}
		if r.IntN(3) == 0 && s.Nodes[0].Capacity[sched.Memory] > 0 {
			j.Stages[0].Kind = sched.Master
		}
		j.User = fmt.Sprint("u", r.IntN(6))
		j.Queue = []string{"a", "b.x", "b.y", fmt.Sprint("q", r.IntN(5)), fmt.Sprint("b.z", r.IntN(3))}[r.IntN(5)]
	}
}
