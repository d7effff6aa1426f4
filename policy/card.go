package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Card says what a policy is, as data: the command line prints it, checks what it needs against the engine, and tests
// hold the policy to what it claims.
type Card struct {
	Title    string       // one line: what it does
	Source   string       // paper, section; or the system whose behaviour it is
	Spec     string       // the section of docs/spec that defines it
	Needs    sched.Powers // without these the policy makes no sense on an engine
	Params   []Param
	Wraps    bool     // it takes an inner policy: name{inner}
	Slots    bool     // it is about map and reduce slots: on a cluster of containers it does nothing special
	Progress bool     // it looks at how far running tasks are, where the engine tells
	Probes   bool     // it asks for probes of jobs, which are of use only if the estimator learns from them
	Memory   []string // what it remembers, one line each; none: it decides from the view alone
	Claims   []Claim
	Limits   []Limit // what it cannot know, or cannot do, on some engines
}

// A Limit is a sentence that is said at the start of a run: what an engine cannot give to a policy.
type Limit struct {
	Verb  string // of the command line that runs the engine: sim, run or rm
	Text  string
	Param string // it matters only if this parameter has another value than its default; "": always
}

// A Claim is a property that holds in every run of a policy unless a parameter voids it; policytest checks it.
type Claim uint8

// The claims.
const (
	// WorkConserving: after a decision no node has room for a task of a waiting stage. Masters that wait because their
	// queue holds as many as it may are an exception.
	WorkConserving Claim = iota
	// NonPreemptive: what runs is never killed or suspended by the policy.
	NonPreemptive
	// InOrder: no task starts where one of a job that is more urgent, or as urgent and older, could have started.
	InOrder
	// TimeInvariant: being asked more often changes nothing.
	TimeInvariant
)

var claimTexts = [...]string{
	"leaves no room idle that a waiting task fits into",
	"never takes back what it gave",
	"never starts a task where one of a more urgent or older job could start",
	"decides the same however often it is asked",
}

func (c Claim) String() string { return claimTexts[c] }

// A Kind is the kind of values that a parameter takes.
type Kind uint8

// The kinds of parameters.
const (
	Duration Kind = iota // as 90s or 5m
	Number
	Integer
	Choice
)

// A Param is a parameter of a policy.
type Param struct {
	Name     string
	Kind     Kind
	Default  string
	Min, Max float64  // of a Duration in seconds, of a Number or an Integer; both included. Max zero: no maximum
	Choices  []Option // of a Choice
	Meaning  string
	Voids    []Claim // those that need not hold with another value than the default
}

// An Option is one value of a parameter of kind Choice.
type Option struct {
	Name  string
	Needs sched.Powers // what choosing it asks of the engine
}

// Range says which values p takes, as "0s or more" or "off, kill".
func (p Param) Range() string {
	format := func(x float64) string {
		if p.Kind == Duration {
			return seconds(x).String()
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	switch {
	case p.Kind == Choice:
		names := make([]string, len(p.Choices))
		for i, o := range p.Choices {
			names[i] = o.Name
		}
		return strings.Join(names, ", ")
	case p.Max == 0:
		return format(p.Min) + " or more"
	}
	return format(p.Min) + " to " + format(p.Max)
}

// An Entry is a policy that can be made by name.
type Entry struct {
	Card Card
	New  func(Args) sched.Policy
}

// Args are the values of a policy's parameters, checked, with the defaults of those that were not given.
type Args struct {
	Inner  sched.Policy // of a policy that wraps another; nil else
	values map[string]value
}

// A value is a parameter's; which field holds it depends on the kind.
type value struct {
	number float64
	time   sched.Time
	text   string
}

// Time returns a parameter of kind Duration.
func (a Args) Time(name string) sched.Time { return a.get(name).time }

// Number returns a parameter of kind Number.
func (a Args) Number(name string) float64 { return a.get(name).number }

// Int returns a parameter of kind Integer.
func (a Args) Int(name string) int { return int(a.get(name).number) }

// Choice returns a parameter of kind Choice.
func (a Args) Choice(name string) string { return a.get(name).text }

// has reports whether the card has a parameter.
func (a Args) has(name string) bool {
	_, ok := a.values[name]
	return ok
}

func (a Args) get(name string) value {
	v, ok := a.values[name]
	if !ok {
		panic(fmt.Sprintf("policy: parameter %q is not on the card", name))
	}
	return v
}

// seconds converts a number of seconds. It drops parts of a nanosecond, so that a policy's instants are not later than
// computed. Estimators round (model/mean.go).
func seconds(s float64) sched.Time { return sched.Time(s * 1e9) }
