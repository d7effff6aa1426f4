package policytest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// Conform runs the policy that spec names under seeds of random load and trouble (RandomSetup) and requires of each
// run:
//
//   - it ends, every job of it, and no action is refused as invalid;
//   - the view is not written to: a second core that is given the same events and asked for the same actions is equal,
//     row by row;
//   - revived: a second core and policy that begin in its midst, from the state of the core and the memory of the
//     policy as JSON, choose the same actions;
//   - again, with jobs and users renamed: the same actions at the same instants;
//   - disturbed: memory sent through JSON into a new policy, index caches dropped, events of an instant shuffled, all
//     at random; the same actions at the same instants;
//   - with all times doubled, and the policy's own times as well: the same actions at doubled instants (where sizes are
//     not learned: means are rounded);
//   - what the card claims, where no parameter is given that could void it.
//
// On failure it says the seed, and which disturbance by itself makes the difference. It stops at the first seed that
// fails. With SOJOURN_SEEDS=100..300 in the environment it runs these seeds instead, and reports all that fail.
func Conform(t *testing.T, r policy.Registry, spec string, seeds int) {
	t.Helper()
	_, card, err := r.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	c := conformance{registry: r, spec: spec, card: card}
	c.claims = slices.DeleteFunc(slices.Clone(card.Claims), func(claim policy.Claim) bool {
		return voids(card, spec, claim)
	})
	report, from, to := t.Fatalf, uint64(0), uint64(seeds)
	if text := os.Getenv("SOJOURN_SEEDS"); text != "" {
		report = t.Errorf
		if from, to, err = seedRange(text); err != nil {
			t.Fatalf("SOJOURN_SEEDS: %v", err)
		}
	}
	for seed := from; seed < to; seed++ {
		if err := c.run(seed); err != nil {
			report("%s, seed %d: %v", spec, seed, err)
		}
	}
}

// seedRange returns the first seed of a range, and the one after its last.
func seedRange(text string) (from, to uint64, err error) {
	first, last, ok := strings.Cut(text, "..")
	from, err1 := strconv.ParseUint(first, 10, 32)
	to, err2 := strconv.ParseUint(last, 10, 32)
	if !ok || err1 != nil || err2 != nil || to < from {
		return 0, 0, fmt.Errorf("%q: must be the first and the last seed, as 100..300", text)
	}
	return from, to + 1, nil
}

// voids reports whether a parameter of a spec voids a claim.
func voids(card policy.Card, spec string, claim policy.Claim) bool {
	_, own, _ := strings.Cut(spec[strings.LastIndex(spec, "}")+1:], ":")
	for pair := range strings.SplitSeq(own, ",") {
		name, value, _ := strings.Cut(pair, "=")
		for _, q := range card.Params {
			if q.Name == name && q.Default != value && slices.Contains(q.Voids, claim) {
				return true
			}
		}
	}
	return strings.Contains(spec, "{") && strings.Contains(spec, ":") &&
		claim != policy.TimeInvariant // what is inside may void it
}

// RandomSpec returns the spec of a policy with parameters drawn from what its card says they may be.
func RandomSpec(name string, card policy.Card, r *rand.Rand) string {
	var pairs []string
	for _, q := range card.Params {
		if r.IntN(2) == 0 {
			continue
		}
		var value string
		switch most := q.Max; q.Kind {
		case policy.Choice:
			value = q.Choices[r.IntN(len(q.Choices))].Name
		case policy.Duration:
			if most == 0 {
				most = q.Min + 60
			}
			value = max(time.Duration(q.Min*1e9),
				time.Duration((q.Min+r.Float64()*(most-q.Min))*1e9).Truncate(100*time.Millisecond)).String()
		default:
			if most == 0 {
				most = q.Min + 8
			}
			value = strconv.FormatFloat([]float64{q.Min, most, (q.Min + most) / 2}[r.IntN(3)], 'g', -1, 64)
			if q.Kind == policy.Integer {
				value = strconv.Itoa(int(q.Min) + r.IntN(int(most-q.Min)+1))
			}
		}
		pairs = append(pairs, q.Name+"="+value)
	}
	if len(pairs) == 0 {
		return name
	}
	return name + ":" + strings.Join(pairs, ",")
}

// A conformance is what Conform checks: the policy of a spec.
type conformance struct {
	registry policy.Registry
	spec     string
	card     policy.Card
	claims   []policy.Claim // those of the card that no parameter voids
}

// fresh makes the policy; doubled: with all its times doubled.
func (c *conformance) fresh(doubled bool) sched.Policy {
	spec := c.spec
	if doubled {
		spec = doubledSpec(c.registry, spec)
	}
	p, _, err := c.registry.Parse(spec)
	if err != nil {
		panic(err)
	}
	return p
}

// setup returns the random setup of a seed, in which nodes come to offer less for a while as well, containers change
// their sizes, and the policy is told what nodes will offer, right or wrong.
func (c *conformance) setup(seed uint64, scale sched.Time) Setup {
	s := RandomSetup(seed, scale)
	s.Can |= c.card.Needs
	s.drawDips(seed, scale)
	s.drawSizes(seed, scale)
	if c.card.Needs&sched.CanResize != 0 {
		s.drawUses(seed)
	}
	s.drawForecast(seed, scale)
	return s
}

// run makes all checks of Conform under one seed.
func (c *conformance) run(seed uint64) error {
	setup := c.setup(seed, 1)
	base, err := c.observed(setup, seed)
	if err != nil {
		return err
	}
	renamed := c.setup(seed, 1)
	for _, j := range renamed.Jobs {
		j.Name, j.User = "other-"+j.Name, "u"+j.User
	}
	again, err := Run(renamed, c.fresh(false))
	if err != nil {
		return fmt.Errorf("renamed: %w", err)
	}
	if d := differ(base.Log, again.Log, 1); d != "" && setup.Estimator == nil {
		return fmt.Errorf("a second run, with jobs renamed, differs: %s", d)
	}
	if err := c.disturbed(setup, seed, base); err != nil {
		return err
	}
	twice := c.setup(seed, 2)
	double, err := Run(twice, c.fresh(true))
	if err != nil {
		return fmt.Errorf("doubled: %w", err)
	}
	if d := differ(base.Log, double.Log, 2); d != "" && setup.Estimator == nil {
		return fmt.Errorf("with all times doubled: %s", d)
	}
	return nil
}

// observed runs a setup undisturbed and watches it.
func (c *conformance) observed(s Setup, seed uint64) (Result, error) {
	w := &watch{inner: c.fresh(false), claims: c.claims, failed: map[failure]int{}}
	m := newMirror(s)
	again := &revived{conformance: c, setup: s, policy: w.inner, chance: rand.New(rand.NewPCG(seed, 99))}
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	res, err := run(s, w, knobs{swap: func(e sched.Estimator) { again.estimator = e }, after: func(e *engine) {
		note(w.err)
		note(m.follow(e, w.chosen))
		note(again.follow(e))
	}})
	switch {
	case err != nil:
		return res, err
	case first != nil:
		return res, first
	case res.Core.Refused() > 0:
		return res, fmt.Errorf("%d actions were refused; the first: %v", res.Core.Refused(), res.Core.FirstRefusal())
	case len(res.Ends) < len(s.Jobs):
		return res, fmt.Errorf("%d of %d jobs ended", len(res.Ends), len(s.Jobs))
	}
	return res, nil
}

// disturbed runs a setup with everything at once that may not matter, and if it does, with one thing after the other.
func (c *conformance) disturbed(s Setup, seed uint64, base Result) error {
	names := []string{"memory through JSON", "caches dropped", "events shuffled", "asked at odd instants"}
	with := func(which ...int) string {
		t := &twin{conformance: c, current: c.fresh(false)}
		var k knobs
		for _, i := range which {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			switch i {
			case 0:
				t.r = r
				k.swap = func(e sched.Estimator) {
					if r.IntN(oneSwapIn) == 0 {
						t.note(throughJSON(e, e))
					}
				}
			case 1:
				k.forget = r
			case 2:
				k.shuffle = r
			case 3:
				if slices.Contains(c.claims, policy.TimeInvariant) {
					k.extra = r
				}
			}
		}
		res, err := run(s, t, k)
		switch {
		case err != nil:
			return err.Error()
		case t.err != nil:
			return t.err.Error()
		}
		return differ(base.Log, res.Log, 1)
	}
	all := with(0, 1, 2, 3)
	if all == "" {
		return nil
	}
	for i, name := range names {
		if one := with(i); one != "" {
			return fmt.Errorf("%s: %s", name, one)
		}
	}
	return fmt.Errorf("%s, all together: %s", strings.Join(names, ", "), all)
}

// differ says where a log differs from the one expected, whose times are to be multiplied; "": nowhere. Instants that a
// policy computes are rounded, which multiplying shows: a microsecond, multiplied too, is not a difference.
func differ(want, got []Entry, times sched.Time) string {
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) {
			return fmt.Sprintf("%d actions instead of %d", len(got), len(want))
		}
		w, g := want[i], got[i]
		w.At *= times
		if w.Kind == sched.Kill {
			w.Action.At *= times
		}
		off := max(w.At-g.At, g.At-w.At)
		if w.At = g.At; w != g || off > times*time.Microsecond {
			return fmt.Sprintf("action %d is %v %+v of %v instead of %v %+v of %v", i+1, got[i].At, got[i].Action,
				got[i].Holds, want[i].At*times, want[i].Action, want[i].Holds)
		}
	}
	return ""
}

// doubledSpec returns spec with every parameter that is a time doubled.
func doubledSpec(r policy.Registry, spec string) string {
	head, given, _ := strings.Cut(spec, ":")
	if i := strings.LastIndex(spec, "}"); i >= 0 {
		head, given, _ = strings.Cut(spec[i+1:], ":")
		name, inner, _ := strings.Cut(spec[:i], "{")
		head = name + "{" + doubledSpec(r, inner) + "}" + head
	}
	name, _, _ := strings.Cut(head, "{")
	values := map[string]string{}
	for pair := range strings.SplitSeq(given, ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			values[k] = v
		}
	}
	var pairs []string
	for _, p := range r[name].Card.Params {
		text, ok := values[p.Name]
		if !ok {
			text = p.Default
		}
		if p.Kind == policy.Duration {
			d, err := time.ParseDuration(text)
			if err != nil {
				panic(err)
			}
			text = (2 * d).String()
		}
		pairs = append(pairs, p.Name+"="+text)
	}
	if len(pairs) == 0 {
		return head
	}
	return head + ":" + strings.Join(pairs, ",")
}

// throughJSON writes from as JSON and reads that into to.
func throughJSON(from, to any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("write memory: %w", err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("read memory: %w", err)
	}
	return nil
}

// oneSwapIn is in how many Steps, on average, memory goes through JSON once. A run has hundreds of Steps.
const oneSwapIn = 48

// A twin now and then replaces a policy by a new one that has its memory.
type twin struct {
	*conformance
	current sched.Policy
	r       *rand.Rand // nil: never
	err     error
}

func (t *twin) note(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Decide asks the current policy to decide. Now and then it first replaces that policy by one with the same memory.
func (t *twin) Decide(p *sched.Plan) {
	if t.r != nil && t.r.IntN(oneSwapIn) == 0 {
		next := t.fresh(false)
		t.note(throughJSON(t.current, next))
		t.current = next
	}
	t.current.Decide(p)
}
