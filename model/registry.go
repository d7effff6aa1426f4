package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// All holds the estimators of this package by the names that the command line uses.
var All = Registry{
	"fspy":    {fspyCard, newFSPY},
	"history": {historyCard, newHistory},
	"mean":    {meanCard, newMean},
	"model":   {blendCard, newBlend},
	"noisy":   {noisyCard, newNoisy},
	"oracle":  {oracleCard, newOracle},
}

// A Registry holds estimators by name.
type Registry map[string]Entry

// An Entry is an estimator that can be made by name.
type Entry struct {
	Card Card
	New  func(Args) sched.Estimator
}

// A Card says what an estimator is, as data: the command line prints it and checks what the estimator needs.
type Card struct {
	About  string // one line: what the estimates are
	Params []Param
	Truth  bool   // New needs Args.Truth: true sizes, which are known in a simulation only
	Probes bool   // it learns sizes from probes; an estimator with neither Truth nor Probes learns nothing from them
	Local  string // key=value of a parameter where tasks run without containers, unless the user gives it; "": none
	Keeps  string // names what the estimator keeps from run to run, with a format; "": it is no Keeper
}

// A Param is a parameter of an estimator.
type Param struct {
	Name    string
	Default string
	Example string // a value to offer to users; "": none is offered
	Takes   Values
	About   string
}

// Args are what an estimator is made from: the values of its parameters, checked, with defaults where none was given.
type Args struct {
	Truth  Truth // not nil where Card.Truth is set
	values map[string]any
}

// Number returns the value of a parameter that takes Numbers.
func (a Args) Number(name string) float64 { return a.get(name).(float64) }

// Whole returns the value of a parameter that takes Wholes.
func (a Args) Whole(name string) uint64 { return a.get(name).(uint64) }

// Time returns the value of a parameter that takes Times.
func (a Args) Time(name string) sched.Time { return a.get(name).(sched.Time) }

// Choice returns the value of a parameter that takes Choices.
func (a Args) Choice(name string) string { return a.get(name).(string) }

func (a Args) get(name string) any {
	v, ok := a.values[name]
	if !ok {
		panic(fmt.Sprintf("model: parameter %q is not on the card", name))
	}
	return v
}

// Values are those that a parameter takes.
type Values struct {
	Range string // in words, after "must be"
	read  func(text string) (value any, ok bool)
}

// Numbers returns the numbers from least to most.
func Numbers(least, most float64) Values {
	return Values{fmt.Sprintf("a number from %v to %v", least, most), func(text string) (any, bool) {
		x, err := strconv.ParseFloat(text, 64)
		return x, err == nil && x >= least && x <= most
	}}
}

// Wholes returns the whole numbers from least to most; a most of zero is no limit.
func Wholes(least, most uint64) Values {
	words := fmt.Sprintf("a whole number from %d to %d", least, most)
	if most == 0 {
		words = fmt.Sprintf("a whole number, %d or more", least)
	}
	return Values{words, func(text string) (any, bool) {
		n, err := strconv.ParseUint(text, 10, 64)
		return n, err == nil && n >= least && (most == 0 || n <= most)
	}}
}

// Times returns the times from zero on.
func Times() Values {
	return Values{"a time, such as 1s or 1ms", func(text string) (any, bool) {
		t, err := time.ParseDuration(text)
		return t, err == nil && t >= 0
	}}
}

// Choices returns the words listed.
func Choices(words ...string) Values {
	return Values{oneOf(words), func(text string) (any, bool) { return text, slices.Contains(words, text) }}
}

// Names returns the names of all estimators, sorted.
func (r Registry) Names() []string { return slices.Sorted(maps.Keys(r)) }

// Which returns in a phrase, as "a, b or c", the names of the estimators that satisfy is.
func (r Registry) Which(is func(Card) bool) string {
	return oneOf(slices.DeleteFunc(r.Names(), func(name string) bool { return !is(r[name].Card) }))
}

// Examples returns values to offer to users: each name, and each name with the parameters that have an example.
func (r Registry) Examples() (values []string) {
	for _, name := range r.Names() {
		values = append(values, name)
		for _, p := range r[name].Card.Params {
			if p.Example != "" {
				values = append(values, name+":"+p.Name+"="+p.Example)
			}
		}
	}
	return values
}

// Find returns the card of the estimator that spec names; see Parse. It does not check parameters.
func (r Registry) Find(spec string) (Card, error) {
	name, _, _ := strings.Cut(spec, ":")
	e, ok := r[name]
	if !ok {
		return Card{}, fmt.Errorf("%q: must be %s%s", spec, oneOf(r.Names()), spelling.Suggest(name, r.Names()))
	}
	return e.Card, nil
}

// Parse makes the estimator that spec names:
//
//	spec = name [ ":" key "=" value { "," key "=" value } ]
//
// The truth is nil where true sizes are not known. An error says what is wrong with spec and what would be right.
func (r Registry) Parse(spec string, truth Truth) (sched.Estimator, Card, error) {
	card, err := r.Find(spec)
	if err != nil {
		return nil, card, err
	}
	name, params, _ := strings.Cut(spec, ":")
	switch {
	case params != "" && len(card.Params) == 0:
		takes := r.Which(func(c Card) bool { return len(c.Params) > 0 })
		return nil, card, fmt.Errorf("%s: parameters are for %s", spec, takes)
	case card.Truth && truth == nil:
		others := r.Which(func(c Card) bool { return !c.Truth })
		return nil, card, fmt.Errorf("%s: true sizes of real work are not known before it is "+
			"done; use %s", spec, others)
	}
	args := Args{Truth: truth, values: map[string]any{}}
	for _, p := range card.Params {
		v, ok := p.Takes.read(p.Default)
		if !ok {
			panic(fmt.Sprintf("model: the default of %s:%s is wrong: %s", name, p.Name, p.Default))
		}
		args.values[p.Name] = v
	}
	if params != "" {
		for part := range strings.SplitSeq(params, ",") {
			if err := args.set(name, part, card.Params); err != nil {
				return nil, card, err
			}
		}
	}
	return r[name].New(args), card, nil
}

// set reads a key=value of an estimator.
func (a *Args) set(name, part string, params []Param) error {
	key, text, _ := strings.Cut(part, "=")
	i := slices.IndexFunc(params, func(p Param) bool { return p.Name == key })
	if i < 0 {
		names := make([]string, len(params))
		for k, p := range params {
			names[k] = p.Name
		}
		return fmt.Errorf("%s: parameter %q: there are %s", name, key, listed(names, "and"))
	}
	v, ok := params[i].Takes.read(text)
	if !ok {
		return fmt.Errorf("%s:%s=%s: must be %s", name, key, text, params[i].Takes.Range)
	}
	a.values[key] = v
	return nil
}

// WithoutContainers returns spec as it is meant where tasks run without containers: with Card.Local, unless spec gives
// that parameter.
func (r Registry) WithoutContainers(spec string) string {
	name, params, _ := strings.Cut(spec, ":")
	local := r[name].Card.Local
	key, _, _ := strings.Cut(local, "=")
	switch {
	case local == "" || strings.Contains(","+params, ","+key+"="):
		return spec
	case params != "":
		return spec + "," + local
	}
	return name + ":" + local
}

func oneOf(words []string) string { return listed(words, "or") }

// listed joins words in a phrase: a, b or c.
func listed(words []string, last string) string {
	if len(words) == 0 {
		return "none"
	}
	n := len(words) - 1
	if n == 0 {
		return words[0]
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// A Keeper is an estimator whose knowledge outlives a run. It is kept as entries by key, so that what a run learned can
// be saved while the run goes on, without all that was known before.
type Keeper interface {
	// Changes returns the key of the entry that Observe changes for an attempt.
	Changes(*sched.Attempt) string
	// Entry returns what is known under a key, to be written as JSON. What Entry returns does not change afterwards.
	Entry(key string) any
	// Load adds an entry as JSON that an earlier run wrote. An error says why it cannot be one.
	Load(key string, value []byte) error
}
