package policy_test

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
)

var (
	seeds = flag.Int("seeds", longtest.Few(5, 20), "random clusters and loads that each policy must get through")
	only  = flag.String("specs", "", "policies that TestConform tries instead of its own, separated by spaces")
)

// Every registered policy conforms, and so does it with the parameters that make it do more.
func TestConform(t *testing.T) {
	specs := []string{
		"fifo:delay=3s,rack-delay=2s", "fifo:locality=off",
		"srpt:preempt=suspend,delay=2s", "srpt:preempt=kill", "spt:preempt=suspend", "las:preempt=suspend,quantum=5s",
		"fsp:preempt=suspend", "psbs:preempt=suspend", "psbs:preempt=kill,sample=2", "hfsp:preempt=kill",
		"hfsp:preempt=wait", "fair:preempt=kill,min-timeout=5s,fair-timeout=10s", "fair:users=on,delay=4s",
		"fair:big=kept,masters=0.3", "fspy:big=kept,masters=0.2", "capacity:masters=0.4,user-factor=3,user-min=0.4",
		"capacity:preempt=kill,round=1,slack=0,user-min=0.5,user-factor=3", "capacity:preempt=kill,grace=2s,round=0.5",
		"psbs:big=kept", "drf:delay=3s,masters=0.3", "late{fair:delay=1s}:min-run=10s,cap=0.5",
		"late{hfsp}:min-run=5s", "probe{srpt}",
		"probe{gittins}", "late{fspy}:min-run=10s,cap=0.5", "late{mrorder}:min-run=5s",
		"late{dynamicmr:base=srpt}:min-run=5s", "probe{late{gittins}:min-run=5s}",
		"late{probe{dynamicmr:dhsa=pd}}:min-run=5s", "dynamicmr:base=srpt,delay=2s",
		"dynamicmr:base=srpt,dhsa=pd,sample=2", "gittins:preempt=suspend,aging=1", "gittins:aging=0,sample=2,delay=2s",
		"flex:base=fair,epoch=3s,metric=weighted-tardiness", "flex:work=printed,epoch=500ms,metric=max-stretch",
		"flex:work=printed,metric=sla,stages=joint,elapsed=on",
		"flex:churn=0.1,metric=max-lateness,masters=0.3,least=0", "flex:base=fair,metric=weighted-tardy,effort=1000",
		"flex:reduces=late,certainty=law,metric=weighted-tardy", "flex:reduces=late,base=fair,epoch=2s,work=printed",
		"late{flex:metric=tardiness}:min-run=10s", "longterm:guaranteed=0,users=on,delay=2s",
		"longterm:credit=karma,users=on,round=20s,rounds=3,decay=0.25",
		"longterm:jobs=longterm,round=20s,quantum=5s,credit=karma",
		"hardware:epoch=0s,calibrate=also,spare=on", "hardware:delay=8s,rack-delay=3s",
		"hardware:outlast=none,spare=on",
		"hardware:reclassify=on,spill=speedup,reduces=calibrated,epoch=3s",
		"hardware:provisional=on,speedup=1,no-goal=background,failures=1", "late{hardware:delay=1s}:min-run=10s",
		"longterm:discount=0.5,round=30s,rounds=1,par=on,cap=5s,debt=5s",
		"longterm:preempt=kill,patience=5s,most=0.5,adapt=off,quantum=4s", "late{longterm:credit=karma}:min-run=5s",
		"reverse:cycle=3s,forecast=learned,day=40s,bins=8,caution=1", "reverse:cycle=2s,burst=suspend,window=cycle",
		"reverse:burst=kill,trigger=off,fractions=off,waves=off",
		"ras:cycle=3s,trigger=off,candidates=literal",
		"ras:cycle=2s,soft=1.5,waves=on,masters=0.3", "ras:cycle=3s,resize=on", "reverse:resize=on,burst=suspend",
		"late{ras:cycle=5s}:min-run=5s",
		"adaptive:lengths=estimated,delays=2,beat=2s", "adaptive:need=waves,split=waves,no-goal=background",
		"adaptive:delays=1,fallback=on,late-cap=0.3,probe-slots=2", "late{adaptive}:min-run=5s",
		"adaptive:shortage=fewest,lengths=estimated,delays=1", "late{adaptive:shortage=fewest,split=waves}:min-run=5s",
		"distributions:confidence=0.6,least=0.4",
	}
	for _, name := range policy.All.Names() {
		if policy.All[name].Card.Wraps {
			name += "{fifo}"
		}
		specs = append(specs, name)
	}
	if *only != "" {
		specs = strings.Fields(*only)
	}
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			policytest.Conform(t, policy.All, spec, *seeds)
		})
	}
}

// So does every policy with whatever parameters its card allows, and keeps the claims that they do not void.
func TestConformWithRandomParameters(t *testing.T) {
	for i, name := range policy.All.Names() {
		card := policy.All[name].Card
		if card.Wraps {
			name += "{fifo}"
		}
		r := rand.New(rand.NewPCG(uint64(i), 31))
		for range 3 {
			spec := policytest.RandomSpec(name, card, r)
			t.Run(spec, func(t *testing.T) {
				t.Parallel()
				policytest.Conform(t, policy.All, spec, max(2, *seeds/5))
			})
		}
	}
}
