package cli

import (
	"fmt"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/yarn"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

var powerWords = []struct {
	power sched.Powers
	word  string
}{
	{
		sched.CanKill,
		"kill",
	}, {sched.CanSuspend, "suspend"}, {sched.CanResize, "resize"}, {sched.CanNameTasks, "name tasks"}, {sched.CanProbe, "probe"},
}

func powerNames(p sched.Powers) (names []string) {
	for _, w := range powerWords {
		if p&w.power != 0 {
			names = append(names, w.word)
		}
	}
	return names
}

// An engineKind is one of the ways to have policies decide: the verb, what it is called in a sentence, what it can do.
type engineKind struct {
	verb, name string
	can        sched.Powers
	deaf       bool // its estimator learns nothing from probes, so that it runs none
}

// The engines.
var (
	simulator = engineKind{"sim", "sojourn sim", sim.Powers, false}
	embedded  = engineKind{"run", "sojourn run", mr.Powers, false}
	manager   = engineKind{"rm", "a ResourceManager", yarn.Powers, false}
)

// with returns the engine as it is with an estimator: without probes, where that learns nothing from them.
func (e engineKind) with(estimator string) engineKind {
	if k, _, err := estimatorOf(estimator); err == nil && !k.knows && !k.probes && e.can&sched.CanProbe != 0 {
		e.name += " --estimator " + estimator
		e.can &^= sched.CanProbe
		e.deaf = true
	}
	return e
}

// check refuses a policy that the engine cannot serve, in one sentence that says where it can be had.
func (e engineKind) check(spec string, needs sched.Powers) error {
	lacks := powerNames(needs &^ e.can)
	switch {
	case len(lacks) == 0:
		return nil
	case e.deaf && needs&^e.can == sched.CanProbe:
		return fmt.Errorf(
			"policy %s is for having jobs probed, from which %s cannot learn: use --estimator fspy",
			spec,
			e.name,
		)
	}
	var others []string
	for _, o := range [...]engineKind{simulator, embedded, manager} {
		if needs&^o.can == 0 {
			others = append(others, "'sojourn "+o.verb+"'")
		}
	}
	where := "no engine can"
	if len(others) > 0 {
		where = strings.Join(others, " and ") + " can"
	}
	return fmt.Errorf(
		"policy %s needs an engine that can %s, which %s cannot: %s; 'sojourn policies' lists others",
		spec,
		strings.Join(lacks, " and "),
		e.name,
		where,
	)
}

// sayWithoutSlots says which policies have no slots to hand out on a cluster of containers.
func (a *app) sayWithoutSlots(policies []string, capacity sched.Resources) {
	if capacity[sched.MapSlots]+capacity[sched.ReduceSlots] > 0 {
		return
	}
	for _, spec := range policies {
		if _, card, err := a.policies.Parse(spec); err == nil && card.Slots {
			fmt.Fprintf(
				a.Err,
				"sojourn: policy %s lends slots, and this cluster has none: describe it with map-slots and reduce-slots (--cluster)\n",
				spec,
			)
		}
	}
}

// sayProbes says where policies, engine and estimator do not agree about probes, one sentence each.
func (a *app) sayProbes(policies []string, on engineKind, flags policyFlags) {
	for _, spec := range policies {
		_, card, err := a.policies.Parse(spec)
		if err != nil {
			continue
		}
		estimator := flags.of(on, card).estimator
		if s := aboutProbes(spec, card, on.with(estimator), estimator); s != "" {
			fmt.Fprintln(a.Err, "sojourn: "+s)
		}
	}
}

// aboutProbes says what does not go together of a policy that has jobs probed or not, an engine that can or not, and an
// estimator that learns from probes or not; "" where all do.
func aboutProbes(spec string, card policy.Card, on engineKind, estimator string) string {
	kind, _, _ := estimatorOf(estimator)
	learns, probing := kind.probes, on.can&sched.CanProbe != 0
	switch {
	case learns && !probing:
		return fmt.Sprintf(
			"%s runs no probes, from which --estimator fspy learns sizes for policy %s: use --estimator history",
			on.name,
			spec,
		)
	case learns && !card.Probes:
		return fmt.Sprintf(
			"policy %s has no job probed, and --estimator fspy learns sizes from probes: use --policy 'probe{%s}'",
			spec,
			spec,
		)
	case on.deaf && card.Probes:
		return fmt.Sprintf(
			"%s runs no probes, as nothing is learned from them: policy %s is at its best with --estimator fspy",
			on.name,
			spec,
		)
	case card.Probes && !probing:
		return fmt.Sprintf(
			"%s runs no probes: policy %s goes by the sizes that --estimator %s knows without",
			on.name,
			spec,
			estimator,
		)
	case card.Needs&sched.CanProbe != 0 && !learns:
		return fmt.Sprintf(
			"policy %s has jobs probed, from which --estimator %s learns nothing: use --estimator fspy",
			spec,
			estimator,
		)
	}
	return ""
}
