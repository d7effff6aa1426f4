package run

import (
	"fmt"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/yarn"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// An Engine is one of the ways to run jobs under a policy.
type Engine struct {
	Verb  string // of the command line
	Name  string // in records
	Can   sched.Powers
	Limit int    // launches a Step; 0: no limit
	about string // its name in sentences
	again string // how a decision that panicked can be seen again
	local bool   // tasks run on this machine, without containers
	deaf  bool   // the estimator learns nothing from probes, so that the engine runs none
}

// The engines.
var (
	Simulator = Engine{
		Verb: "sim", Name: "sim", Can: sim.Powers,
		about: "sojourn sim", again: "the same command does it again",
	}
	Embedded = Engine{
		Verb: "run", Name: "mr", Can: mr.Powers, local: true,
		about: "sojourn run", again: "--record leaves what led to it, as far as it had been decided",
	}
	Manager = Engine{Verb: "rm", Name: "yarn", Can: yarn.Powers, Limit: yarn.GrantsPerStep, about: "a ResourceManager"}
)

// PowerNames returns the names of p's powers, as they stand in sentences.
func PowerNames(p sched.Powers) (names []string) {
	for _, name := range p.Names() {
		names = append(names, strings.ReplaceAll(name, "-", " "))
	}
	return names
}

// A Choice names a policy and an estimator, as --policy and --estimator do.
type Choice struct {
	Policy    string
	Estimator string // "", on the embedded engine only: its default for the policy
}

// Names are the policies and the estimators that a program knows by name.
type Names struct {
	Policies   policy.Registry
	Estimators model.Registry
}

// BuiltIn are the names of this module.
var BuiltIn = Names{policy.All, model.All}

// settle returns c with the estimator that the engine uses for it, and the policy's card. On the embedded engine the
// default is fspy for a policy that asks for probes, because the others learn nothing from them, else mean.
func (n Names) settle(on Engine, c Choice) (Choice, policy.Card, error) {
	_, card, err := n.Policies.Parse(c.Policy)
	if err != nil || !on.local {
		return c, card, err
	}
	if c.Estimator == "" {
		c.Estimator = "mean"
		if card.Probes {
			c.Estimator = "fspy"
		}
	}
	c.Estimator = n.Estimators.WithoutContainers(c.Estimator)
	return c, card, nil
}

// with returns the engine as it works with an estimator: without probes, where the estimator learns nothing from them.
func (n Names) with(on Engine, estimator string) Engine {
	e, err := n.Estimators.Find(estimator)
	if err == nil && !e.Truth && !e.Probes && on.Can&sched.CanProbe != 0 {
		on.about += " --estimator " + estimator
		on.Can &^= sched.CanProbe
		on.deaf = true
	}
	return on
}

// Check returns an error of one sentence where the engine lacks something that the policy needs. The error says which
// engines have it.
func (n Names) Check(on Engine, c Choice) error {
	c, card, err := n.settle(on, c)
	if err != nil {
		return err
	}
	on = n.with(on, c.Estimator)
	missing := card.Needs &^ on.Can
	switch {
	case missing == 0:
		return nil
	case on.deaf && missing == sched.CanProbe:
		return fmt.Errorf("policy %s needs probes, and %s does not learn from them: use --estimator fspy",
			c.Policy, on.about)
	}
	var others []string
	for _, o := range [...]Engine{Simulator, Embedded, Manager} {
		if card.Needs&^o.Can == 0 {
			others = append(others, "'sojourn "+o.Verb+"'")
		}
	}
	where := "no engine can"
	if len(others) > 0 {
		where = strings.Join(others, " and ") + " can"
	}
	return fmt.Errorf("policy %s needs an engine that can %s, which %s cannot: %s; 'sojourn policies' lists others",
		c.Policy, strings.Join(PowerNames(missing), " and "), on.about, where)
}

// Remarks returns sentences about what does not fit together in a choice without being an error: the policy, the
// engine, the estimator, and a cluster of some capacity. A nil capacity says nothing about the cluster.
func (n Names) Remarks(on Engine, c Choice, capacity *sched.Resources) (list []string) {
	c, card, err := n.settle(on, c)
	if err != nil {
		return nil
	}
	if card.Slots && capacity != nil && capacity[sched.MapSlots]+capacity[sched.ReduceSlots] == 0 {
		list = append(list, fmt.Sprintf("policy %s lends slots, and this cluster has none: describe it with map-slots "+
			"and reduce-slots (--cluster)", c.Policy))
	}
	for _, l := range card.Limits {
		if l.Verb == on.Verb {
			list = append(list, l.Text)
		}
	}
	if s := n.aboutProbes(n.with(on, c.Estimator), c, card); s != "" {
		list = append(list, s)
	}
	return list
}

// aboutProbes says what does not fit together of a policy that asks for probes or not, an engine that runs them or not,
// and an estimator that learns from them or not; "" where all fit.
func (n Names) aboutProbes(on Engine, c Choice, card policy.Card) string {
	e, _ := n.Estimators.Find(c.Estimator)
	probing := on.Can&sched.CanProbe != 0
	switch {
	case e.Probes && !probing:
		return fmt.Sprintf("%s runs no probes, from which --estimator %s learns sizes for policy %s: use "+
			"--estimator history",
			on.about, c.Estimator, c.Policy)
	case e.Probes && !card.Probes:
		return fmt.Sprintf("policy %s asks for no probes, and --estimator %s learns sizes from probes: use "+
			"--policy 'probe{%s}'",
			c.Policy, c.Estimator, c.Policy)
	case on.deaf && card.Probes:
		return fmt.Sprintf("%s runs no probes, because nothing is learned from them: use --estimator fspy "+
			"for policy %s",
			on.about, c.Policy)
	case card.Probes && !probing:
		return fmt.Sprintf("%s runs no probes: policy %s uses the sizes that --estimator %s knows without them",
			on.about, c.Policy, c.Estimator)
	case card.Needs&sched.CanProbe != 0 && !e.Probes:
		return fmt.Sprintf("policy %s asks for probes, from which --estimator %s learns nothing: use --estimator fspy",
			c.Policy, c.Estimator)
	}
	return ""
}
