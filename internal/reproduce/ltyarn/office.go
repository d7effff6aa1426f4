package ltyarn

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// The office: slots, and how long tasks run on average.
const (
	officeNodes = 5
	officeSlots = 10 // of a node
	officeTask  = 2 * time.Minute
	officeDays  = 21
)

// A shift is when a team wants the whole office cluster: what it has not got when the shift ends is withdrawn.
type shift struct {
	team     string
	from, to sched.Time
}

// A habit is how the teams of an office work.
type habit uint8

const (
	deskAndBatch habit = iota // the desk by day, batch by day and night, as shifts says
	alike                     // both as the desk, each in half hours of its own
)

// shifts draws the shifts of so many days; the first day is a Monday, and weekends have none. The desk has a shift in
// each half hour from 8:00 to 18:00 with a chance of four in five. Batch has one from 10:00 to 16:00 and one from 22:30
// to 4:00, or, in an office of two teams alike, half hours like the desk's, drawn for itself. Days are in order, but
// shifts of a day are not (byStart sorts them).
func shifts(seed uint64, days int, as habit) (list []shift) {
	chance := rand.New(rand.NewPCG(seed, 21))
	for day := range days {
		if day%7 >= 5 {
			continue
		}
		midnight := sched.Time(day) * 24 * time.Hour
		for half := range 20 {
			from := midnight + 8*time.Hour + sched.Time(half)*30*time.Minute
			if chance.IntN(5) > 0 {
				list = append(list, shift{"desk", from, from + 30*time.Minute})
			}
			if as == alike && chance.IntN(5) > 0 {
				list = append(list, shift{"batch", from, from + 30*time.Minute})
			}
		}
		if as == alike {
			continue
		}
		list = append(list, shift{"batch", midnight + 10*time.Hour, midnight + 16*time.Hour},
			shift{"batch", midnight + 22*time.Hour + 30*time.Minute, midnight + 28*time.Hour})
	}
	return list
}

// An office is an engine for teams that withdraw what they have not got: the least there is around a core.
type office struct {
	core   *sched.Core
	loans  *record.Loans
	chance *rand.Rand
	due    duties
	events []sched.Event
}

// A duty is an event to come.
type duty struct {
	at    sched.Time
	event sched.Event
}

type duties []duty

func (d duties) Len() int           { return len(d) }
func (d duties) Less(i, j int) bool { return d[i].at < d[j].at }
func (d duties) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *duties) Push(x any)        { *d = append(*d, x.(duty)) }
func (d *duties) Pop() any {
	old := *d
	last := old[len(old)-1]
	*d = old[:len(old)-1]
	return last
}

// newOffice returns an office under a policy, with the shifts to come.
func newOffice(spec string, seed uint64, days int, as habit) (*office, error) {
	p, _, err := policy.All.Parse(spec)
	if err != nil {
		return nil, err
	}
	o := &office{loans: &record.Loans{}, chance: rand.New(rand.NewPCG(seed, 22))}
	o.core = sched.New(sched.Config{
		Policy: p, Recorder: record.Tee{o.loans}, Can: sched.CanKill,
		Queues: []*sched.QueueSpec{{Name: "desk"}, {Name: "batch"}},
	})
	for i := range officeNodes {
		body := &sched.NodeSpec{
			Name:     fmt.Sprint("n", i+1),
			Class:    "c",
			Capacity: sched.Resources{sched.VCores: officeSlots},
		}
		heap.Push(&o.due, duty{0, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1), Body: body}})
	}
	for _, s := range byStart(shifts(seed, days, as)) {
		tasks := int32(officeNodes * officeSlots * (s.to - s.from) / officeTask * 3 / 2) // more than it can get
		spec := &sched.JobSpec{Queue: s.team, Open: true, Stages: []sched.StageSpec{
			{
				PerTask:     sched.Resources{sched.VCores: 1},
				Tasks:       tasks,
				Prior:       officeTask,
				MaxAttempts: sched.DefaultMaxAttempts,
			},
		}}
		heap.Push(&o.due, duty{s.from, sched.Event{Kind: sched.JobSubmitted, Body: spec}})
		spec.Deadline = s.to - s.from // then run ends the job
	}
	return o, nil
}

// byStart sorts shifts by when they start.
func byStart(list []shift) []shift {
	sorted := append([]shift(nil), list...)
	for i := range sorted {
		for k := i; k > 0 && sorted[k].from < sorted[k-1].from; k-- {
			sorted[k], sorted[k-1] = sorted[k-1], sorted[k]
		}
	}
	return sorted
}

// run runs the office to its end, and returns what each team used, in slot·hours.
func (o *office) run() map[string]float64 {
	jobs, now := sched.JobID(0), sched.Time(0)
	hands := sched.Dispatcher{
		Launch: func(a *sched.Action) {
			took := float64(officeTask) * math.Exp(0.3*o.chance.NormFloat64()-0.045)
			heap.Push(&o.due, duty{now + sched.Time(took), sched.Event{Kind: sched.AttemptDone, Attempt: a.Attempt}})
		},
		Kill: func(id sched.AttemptID, _ sched.Time) {
			heap.Push(&o.due, duty{now, sched.Event{Kind: sched.AttemptDone, Outcome: sched.Killed, Attempt: id}})
		},
	}
	for len(o.due) > 0 {
		now = o.due[0].at
		o.events = o.events[:0]
		for len(o.due) > 0 && o.due[0].at == now {
			e := heap.Pop(&o.due).(duty).event
			if e.Kind == sched.JobSubmitted {
				jobs++
				e.Job = jobs
				leaves := sched.Event{Kind: sched.JobEnded, Job: jobs, Outcome: sched.Killed}
				heap.Push(&o.due, duty{now + e.Body.(*sched.JobSpec).Deadline, leaves})
			}
			o.events = append(o.events, e)
		}
		hands.Do(o.core.Step(now, o.events))
	}
	used := map[string]float64{}
	for _, q := range o.loans.Fairness()[0].Queues {
		used[q.Queue] = q.Used.Seconds() / 3600
	}
	return used
}

// officePolicies are what the office is run under, by name, and officeRows the names as they are shown.
var (
	officePolicies = map[string]string{
		"fair": memoryless, "ltrf": remembers, "karma": byCredits, "default": "longterm",
	}
	officeRows = [][2]string{
		{"fair", "memoryless"}, {"ltrf", "LTRF"}, {"karma", "Karma"}, {"default", "longterm as it is"},
	}
)

// officePart returns the part that compares what two teams get that work at different hours, under each of
// officePolicies.
func officePart() paper.Part {
	p := paper.Part{
		Title: "Three weeks of an office", Trials: 5,
		How: fmt.Sprintf("%d slots, tasks of 2 min, two teams that pay the same. On weekdays the *desk* wants "+
			"the whole cluster in four of five half hours from 8:00 to 18:00. "+
			"*Batch* wants it from 10:00 to 16:00, and from 22:30 to 4:00. What a team has not got at the end of "+
			"a half hour, or of a night, it withdraws. "+
			"LTRF is `%s`, Karma `%s`; the defaults of `longterm` guarantee half a share. In the office of two teams "+
			"alike both work as the desk does, each in its own half hours.",
			officeNodes*officeSlots, remembers, byCredits),
		Reading: "By night batch uses what the desk pays for and does not use. Memoryless fairness then gives batch " +
			"half of the hours as well that both want. With a memory the desk is first in these hours, and both have " +
			"what they pay for, to within a few per cent. What is left of the difference is the last night, which " +
			"the desk cannot claim back before the weeks end: over twice the time it is half as much. Where both " +
			"teams work alike they are apart only by the chance of their half hours, and with a memory hardly at " +
			"all: the difference above is due to when they work. With half of a share guaranteed, batch has a " +
			"quarter of these hours: that is the price of never being starved.",
		Trial: func(_ context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for name, spec := range officePolicies {
				for suffix, variant := range map[string]struct {
					days int
					as   habit
				}{
					"":       {officeDays, deskAndBatch},
					" twice": {2 * officeDays, deskAndBatch},
					" alike": {officeDays, alike},
				} {
					o, err := newOffice(spec, seed, variant.days, variant.as)
					if err != nil {
						return nil, err
					}
					used := o.run()
					desk, batch := used["desk"], used["batch"]
					s.Set(name+" desk"+suffix, desk)
					s.Set(name+" batch"+suffix, batch)
					s.Set(name+" times"+suffix, batch/desk)
					s.Set(name+" apart"+suffix, 100*math.Abs(batch-desk)/((batch+desk)/2))
				}
			}
			return s, nil
		},
	}
	for _, r := range officeRows {
		apart, times, twice, alike := paper.Range{}, paper.Range{}, paper.Range{}, paper.AtMost(5)
		switch r[0] {
		case "fair":
			times, twice, alike = paper.AtLeast(1.5), paper.AtLeast(40), paper.AtMost(15)
		case "ltrf", "karma":
			apart, twice = paper.AtMost(5), paper.AtMost(3)
		}
		p.Claims = append(
			p.Claims,
			paper.Claim{Where: r[1], Says: "the desk had", Unit: "slot·h", Figure: r[0] + " desk", Own: true},
			paper.Claim{Where: r[1], Says: "batch had", Unit: "slot·h", Figure: r[0] + " batch", Own: true},
			paper.Claim{
				Where:  r[1],
				Says:   "batch had, of what the desk had",
				Unit:   "×",
				Figure: r[0] + " times",
				Own:    true,
				Agrees: times,
			},
			paper.Claim{Where: r[1], Says: "they are apart by", Unit: "%", Figure: r[0] + " apart", Own: true,
				Agrees: apart},
			paper.Claim{Where: r[1], Says: "the same over six weeks", Unit: "%", Figure: r[0] + " apart twice",
				Own:    true,
				Agrees: twice},
			paper.Claim{Where: r[1], Says: "an office of two teams alike: they are apart by", Unit: "%",
				Figure: r[0] + " apart alike", Own: true, Agrees: alike},
		)
	}
	return p
}
