package policy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Registry holds policies by the name that the command line uses.
type Registry map[string]Entry

// Names returns the names of all policies, sorted.
func (r Registry) Names() []string { return slices.Sorted(maps.Keys(r)) }

// Parse makes the policy that spec names:
//
//	spec = name [ "{" spec "}" ] [ ":" key "=" value { "," key "=" value } ]
//
// The card returned is that of the outermost policy, with what all of them together need of the engine, and the limits
// of all that matter with the chosen parameters. An error says what is wrong with spec and what would be right.
func (r Registry) Parse(spec string) (sched.Policy, Card, error) {
	p, err := split(spec)
	if err != nil {
		return nil, Card{}, fmt.Errorf("policy %q: %w", spec, err)
	}
	e, ok := r[p.name]
	if !ok {
		return nil, Card{}, r.unknown(p.name)
	}
	card := e.Card
	args := Args{values: map[string]value{}}
	var limits []Limit // of the inner policy
	switch {
	case p.wraps && !card.Wraps:
		return nil, Card{}, fmt.Errorf("policy %s takes no inner policy in braces", p.name)
	case card.Wraps && !p.wraps:
		return nil, Card{}, fmt.Errorf("policy %s goes around another one: write %s{fifo}", p.name, p.name)
	case p.wraps:
		inner, innerCard, err := r.Parse(p.inner)
		if err != nil {
			return nil, Card{}, fmt.Errorf("inside %s: %w", p.name, err)
		}
		args.Inner, limits = inner, innerCard.Limits
		card.Needs |= innerCard.Needs
		card.Slots = card.Slots || innerCard.Slots
		card.Progress = card.Progress || innerCard.Progress
		card.Probes = card.Probes || innerCard.Probes
	}
	if err := args.fill(p, &card); err != nil {
		return nil, Card{}, fmt.Errorf("policy %s: %w", p.name, err)
	}
	card.Limits = append(args.limits(&card), limits...)
	return e.New(args), card, nil
}

// limits returns the limits on the card that matter with the chosen parameters.
func (a *Args) limits(card *Card) (list []Limit) {
	for _, l := range card.Limits {
		byDefault := func(p Param) bool { return p.Name == l.Param && a.values[p.Name].text == p.Default }
		if !slices.ContainsFunc(card.Params, byDefault) {
			list = append(list, l)
		}
	}
	return list
}

// ParseList returns the specs in flags, each checked. A flag may list several, separated by commas, where none of them
// has parameters or an inner policy.
func (r Registry) ParseList(flags []string) ([]string, error) {
	var specs []string
	for _, f := range flags {
		if strings.ContainsAny(f, ":{") {
			specs = append(specs, strings.TrimSpace(f))
			continue
		}
		for s := range strings.SplitSeq(f, ",") {
			specs = append(specs, strings.TrimSpace(s))
		}
	}
	for _, s := range specs {
		if _, _, err := r.Parse(s); err != nil {
			if strings.Contains(s, ",") {
				return nil, fmt.Errorf("%w (policies with parameters are not listed with commas: give the flag "+
					"once for each)", err)
			}
			return nil, err
		}
	}
	return specs, nil
}

// queuePolicies are the orders of jobs that a queue may ask for, for policies that let queues differ. Their parameters
// are those of [PlacingParams].
var queuePolicies = map[string]Card{
	"drf":  {Params: PlacingParams()},
	"fair": {Params: PlacingParams()},
	"fifo": {Params: PlacingParams()},
}

// parseQueue reads the policy of a queue, as in sched.QueueSpec. It returns the name, "" if the queue says none, and
// the parameters that are given.
func parseQueue(spec string) (name string, given Args, err error) {
	if spec == "" {
		return "", Args{}, nil
	}
	p, err := split(spec)
	if err != nil {
		return "", Args{}, fmt.Errorf("policy %q: %w", spec, err)
	}
	names := slices.Sorted(maps.Keys(queuePolicies))
	card, ok := queuePolicies[p.name]
	switch {
	case !ok:
		return "", Args{}, fmt.Errorf("there is no policy %q for the jobs of a queue; there are %s%s",
			p.name, strings.Join(names, ", "), spelling.Suggest(p.name, names))
	case p.wraps:
		return "", Args{}, fmt.Errorf("policy %s takes no inner policy in braces", p.name)
	}
	given.values = map[string]value{}
	if err := given.read(p, &card); err != nil {
		return "", Args{}, fmt.Errorf("policy %s: %w", p.name, err)
	}
	return p.name, given, nil
}

// CheckQueues checks the policies that queues ask for: one of fifo, fair and drf, with parameters as on the command
// line ("fair:delay=5s"). An error names the queue by its path, says what is wrong and what would be right.
func CheckQueues(queues []*sched.QueueSpec) error { return checkQueues("", queues) }

func checkQueues(above string, queues []*sched.QueueSpec) error {
	for _, q := range queues {
		if _, _, err := parseQueue(q.Policy); err != nil {
			return fmt.Errorf("queue %s%s: %w", above, q.Name, err)
		}
		if err := checkQueues(above+q.Name+".", q.Queues); err != nil {
			return err
		}
	}
	return nil
}

// parts are the pieces of a spec.
type parts struct {
	name   string
	inner  string
	wraps  bool
	params []string // key=value
}

// split takes a spec apart, without knowing any policy.
func split(spec string) (parts, error) {
	spec = strings.TrimSpace(spec)
	end := strings.IndexAny(spec, "{:")
	if end < 0 {
		end = len(spec)
	}
	p := parts{name: strings.TrimSpace(spec[:end])}
	rest := spec[end:]
	if strings.HasPrefix(rest, "{") {
		depth := 0
		at := strings.IndexFunc(rest, func(c rune) bool {
			switch c {
			case '{':
				depth++
			case '}':
				depth--
			}
			return depth == 0
		})
		if at < 0 {
			return parts{}, fmt.Errorf("a brace { is not closed")
		}
		p.inner, p.wraps, rest = rest[1:at], true, strings.TrimSpace(rest[at+1:])
	}
	switch {
	case p.name == "":
		return parts{}, fmt.Errorf("no name: write name, name:key=value or name{inner}")
	case strings.HasPrefix(rest, ":"):
		p.params = strings.Split(rest[1:], ",")
	case rest != "":
		return parts{}, fmt.Errorf("%q after the closing brace: only :key=value may follow", rest)
	}
	return p, nil
}

// fill sets the values of all parameters on the card, and adds to the card what the chosen ones need.
func (a *Args) fill(p parts, card *Card) error {
	if err := a.read(p, card); err != nil {
		return err
	}
	for i, q := range card.Params {
		if _, given := a.values[q.Name]; given {
			continue
		}
		if err := a.set(card, i, q.Default); err != nil {
			panic(fmt.Sprintf("policy: a default on the card of %s is wrong: %v", p.name, err))
		}
	}
	return nil
}

// read sets the values of the parameters that are given.
func (a *Args) read(p parts, card *Card) error {
	for _, given := range p.params {
		key, text, ok := strings.Cut(strings.TrimSpace(given), "=")
		if !ok {
			return fmt.Errorf("%q: a parameter is written key=value", given)
		}
		i := slices.IndexFunc(card.Params, func(q Param) bool { return q.Name == key })
		if i < 0 {
			return unknownParam(key, card.Params)
		}
		if _, twice := a.values[key]; twice {
			return fmt.Errorf("%s is given twice", key)
		}
		if err := a.set(card, i, text); err != nil {
			return err
		}
	}
	return nil
}

// set reads the value of the i-th parameter of card.
func (a *Args) set(card *Card, i int, text string) error {
	q := card.Params[i]
	v := value{text: text}
	ok := false
	switch q.Kind {
	case Duration:
		d, err := time.ParseDuration(text)
		v.time, v.number, ok = d, d.Seconds(), err == nil
	case Number:
		f, err := strconv.ParseFloat(text, 64)
		v.number, ok = f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	case Integer:
		n, err := strconv.ParseInt(text, 10, 32)
		v.number, ok = float64(n), err == nil
	case Choice:
		for _, o := range q.Choices {
			if o.Name == text {
				ok = true
				card.Needs |= o.Needs
			}
		}
	}
	if q.Kind != Choice {
		ok = ok && v.number >= q.Min && (q.Max == 0 || v.number <= q.Max)
	}
	if !ok {
		return fmt.Errorf("%s=%s: must be %s (default %s)", q.Name, text, q.wanted(), q.Default)
	}
	a.values[q.Name] = v
	return nil
}

// wanted says what a value of q looks like.
func (p Param) wanted() string {
	switch p.Kind {
	case Duration:
		return "a time like 90s, " + p.Range()
	case Number:
		return "a number, " + p.Range()
	case Integer:
		return "a whole number, " + p.Range()
	}
	return "one of " + p.Range()
}

func unknownParam(key string, params []Param) error {
	if len(params) == 0 {
		return fmt.Errorf("there is no parameter %q; it takes none", key)
	}
	names := make([]string, len(params))
	for i, q := range params {
		names[i] = q.Name
	}
	return fmt.Errorf("there is no parameter %q; it takes %s%s", key, strings.Join(names, ", "),
		spelling.Suggest(key, names))
}

func (r Registry) unknown(name string) error {
	return fmt.Errorf("there is no policy %q; there are %s%s", name, strings.Join(r.Names(), ", "),
		spelling.Suggest(name, r.Names()))
}
