// Package availability says how much of each node is left for jobs, where a service runs beside them: by a timetable in
// a file, or as measured on this machine.
package availability

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Timetable is the part of each node that is left for jobs, as a step function of time that may repeat.
type Timetable struct {
	name   string // of its file
	steps  []step
	period sched.Time // zero: the last step lasts for ever
}

// A step is the part of a node that is left from an instant on.
type step struct {
	from sched.Time // since the run began
	part float64    // in [0, 1]
}

// leastStep is the shortest time for which a part may hold.
const leastStep = time.Millisecond

// mostSteps bounds the steps of a timetable: a year in minutes.
const mostSteps = 600_000

// Read reads a timetable from a file. docs/spec/files.md has the format.
func Read(name string) (*Timetable, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("timetable: %w", err)
	}
	defer f.Close()
	return parse(name, f)
}

// parse reads lines of an instant and a part, as "6h 40%", and one of the period, as "period 24h".
func parse(name string, r io.Reader) (*Timetable, error) {
	t := &Timetable{name: name}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "\ufeff"), "#") // a mark that some editors leave
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if err := t.add(words); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(t.steps) == 0 {
		return nil, fmt.Errorf("%s: there is no step: a line such as \"0s 100%%\" is needed", name)
	}
	if _, err := t.Of(sched.Resources{sched.VCores: 1}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := t.spaced(); err != nil {
		return nil, err
	}
	return t, nil
}

// spaced returns an error if two steps are so near each other that a run would do nothing but follow them.
func (t *Timetable) spaced() error {
	for i, s := range t.steps {
		end := t.period
		if i+1 < len(t.steps) {
			end = t.steps[i+1].from
		}
		if end > 0 && end-s.from < leastStep {
			return fmt.Errorf("%s: the part from %v on holds for %v: must hold for %v or more", t.name, s.from,
				end-s.from, leastStep)
		}
	}
	return nil
}

// add takes in the words of one line.
func (t *Timetable) add(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("%q: must be an instant and a part, such as \"6h 40%%\", or \"period 24h\"",
			strings.Join(words, " "))
	}
	if words[0] == "period" {
		d, err := duration(words[1])
		t.period = d
		return err
	}
	at, err := duration(words[0])
	if err != nil {
		return err
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(words[1], "%"), 64)
	if err != nil || !strings.HasSuffix(words[1], "%") || !(percent >= 0 && percent <= 100) {
		return fmt.Errorf("part %q: must be from 0%% to 100%%", words[1])
	}
	if len(t.steps) == mostSteps {
		return fmt.Errorf("more than %d steps", mostSteps)
	}
	t.steps = append(t.steps, step{at, percent / 100})
	return nil
}

// duration reads a time of a timetable.
func duration(text string) (sched.Time, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > workload.MaxTime {
		return 0, fmt.Errorf("time %q: must be from 0s to ten years, such as 90s or 6h30m", text)
	}
	return d, nil
}

// Of returns what a node with a capacity offers when. Amounts are rounded down.
func (t *Timetable) Of(capacity sched.Resources) (*sched.Forecast, error) {
	var steps []sched.Supply
	for _, s := range t.steps {
		steps = append(steps, sched.Supply{From: s.from, Capacity: partOf(capacity, s.part)})
	}
	return sched.NewForecast(t.period, steps...)
}

// InParts returns the timetable from an instant on, as parts of vcores and memory in ppm: what a policy is told where
// nodes come and go. O(steps).
func (t *Timetable) InParts(from sched.Time) (*sched.Forecast, error) {
	var steps []sched.Supply
	for at := from; at != sched.Never && (t.period == 0 || at < from+t.period); {
		part, until := t.Part(at)
		n := int64(part * 1e6)
		steps = append(steps, sched.Supply{
			From: at - from, Capacity: sched.Resources{sched.Memory: n, sched.VCores: n},
		})
		at = until
	}
	f, err := sched.NewForecast(t.period, steps...)
	if err != nil {
		return nil, err
	}
	return f.InParts(), nil
}

// Part returns the part of a node that is left at an instant, and the first instant after it from which another step
// holds; Never: there is none. O(log n) for n steps.
func (t *Timetable) Part(at sched.Time) (part float64, until sched.Time) {
	start := sched.Time(0) // of the period
	if t.period > 0 {
		start = at / t.period * t.period
	}
	until = sched.Never
	if t.period > 0 {
		until = start + t.period
	}
	i := sort.Search(len(t.steps), func(i int) bool { return start+t.steps[i].from > at })
	if i < len(t.steps) {
		until = start + t.steps[i].from
	}
	if i == 0 {
		return 1, until
	}
	return t.steps[i-1].part, until
}

// partOf returns a part of an amount, rounded down.
func partOf(r sched.Resources, part float64) sched.Resources {
	for k := range r {
		r[k] = int64(float64(r[k])*part + 1e-9)
	}
	return r
}

// Classes returns what a node of each class of a cluster offers when, by the name of the class.
func (t *Timetable) Classes(c *workload.Cluster) (map[string]*sched.Forecast, error) {
	tables := map[string]*sched.Forecast{}
	for i := range c.Classes {
		f, err := t.Of(c.Classes[i].Resources)
		if err != nil {
			return nil, err
		}
		tables[c.Classes[i].Name] = f
	}
	return tables, nil
}

// Starved returns an error if, from some instant on, nodes of these capacities never again offer a whole unit of a kind
// of resource that they have: tasks that hold one could never start.
func (t *Timetable) Starved(nodes []sched.NodeSpec) error {
	lasting := t.steps[len(t.steps)-1:]
	if t.period > 0 {
		lasting = t.steps
	}
	best := step{part: -1}
	for _, s := range lasting {
		if s.part > best.part {
			best = s
		}
	}
	var has, offers sched.Resources
	for i := range nodes {
		has, offers = has.Add(nodes[i].Capacity), offers.Add(partOf(nodes[i].Capacity, best.part))
	}
	for k := range has {
		if has[k] > 0 && offers[k] == 0 {
			return fmt.Errorf("%s: from %v on no node ever offers more than %g%% of its %v, which is no whole one: "+
				"jobs that are not over then would wait for ever; a line such as \"period 24h\" repeats the steps",
				t.name, best.from, best.part*100, sched.ResourceKind(k))
		}
	}
	return nil
}

// A Tell says that a node offers an amount from now on, and which part of its capacity that is before amounts are
// rounded to whole units.
type Tell func(node sched.NodeID, offers sched.Resources, part float64)

// Follow tells what nodes offer by the timetable, from its start until ctx is done.
func (t *Timetable) Follow(ctx context.Context, nodes []sched.NodeSpec, tell Tell) {
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := time.Since(start)
		part, until := t.Part(now)
		for i := range nodes {
			tell(sched.NodeID(i+1), partOf(nodes[i].Capacity, part), part)
		}
		if until == sched.Never {
			return
		}
		timer.Reset(until - now)
	}
}
