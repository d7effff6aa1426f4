package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

var mrorderCard = Card{
	Title:  "holds jobs back and releases them in rounds, each round in a good order",
	Source: "Tang, PhD thesis on job scheduling and resource allocation for MapReduce, chapter 3 (MROrder)",
	Spec:   "docs/spec/mrorder.md#3-the-policy",
	Params: PlacingParams(MasterParams(
		Param{Name: "goal", Kind: Choice, Default: "tct", Choices: []Option{{Name: "tct"}, {Name: "makespan"}},
			Meaning: "what a good order makes small: the sum of completion times, or the time of the last completion"},
		Param{
			Name:    "order",
			Kind:    Choice,
			Default: "auto",
			Meaning: "how a round is ordered: auto starts from the rule of the goal (tct or mk-jr) and searches " +
				"for a better order; worst and arrival are for comparison",
			Choices: []Option{
				{Name: "auto"},
				{Name: "mk-jr"},
				{Name: "mk-tct-jr"},
				{Name: "tct"},
				{Name: "worst"},
				{Name: "arrival"},
			},
		},
		Param{
			Name:    "rounds",
			Kind:    Choice,
			Default: "ati",
			Choices: []Option{{Name: "ati"}, {Name: "fti"}, {Name: "pnj"}, {Name: "offline"}},
			Meaning: "when a round takes place: ati, once the jobs of the last one no longer fill the cluster " +
				"(with backlog=reorder at equal intervals, as fti); fti, at equal intervals; pnj, when enough jobs " +
				"wait; offline, whenever jobs come",
		},
		Param{
			Name:    "interval",
			Kind:    Duration,
			Default: "10s",
			Min:     0.001,
			Meaning: "time between two rounds: at least this with ati, exactly this with fti",
		},
		Param{Name: "jobs", Kind: Integer, Default: "10", Min: 1, Meaning: "how many jobs must wait for a round of " +
			"pnj"},
		Param{
			Name:    "timeout",
			Kind:    Duration,
			Default: "60s",
			Min:     0.001,
			Meaning: "how long a job waits at most for other jobs with pnj",
		},
		Param{
			Name:    "limit",
			Kind:    Integer,
			Default: "0",
			Meaning: "how many jobs a round takes at most, the oldest first; 0: all",
		},
		Param{
			Name:    "backlog",
			Kind:    Choice,
			Default: "reorder",
			Choices: []Option{{Name: "off"}, {Name: "on"}, {Name: "reorder"}},
			Meaning: "jobs released before: off, as published, a round ignores them; on, it takes into account the " +
				"work that is left of them; reorder, it orders them anew as well",
		},
		Param{
			Name:    "sim",
			Kind:    Integer,
			Default: "7",
			Max:     9,
			Meaning: "largest round for which auto tries all orders and finds the best one",
		},
		Param{
			Name:    "search",
			Kind:    Integer,
			Default: "200",
			Meaning: "largest round for which auto searches for a better order than the rule's",
		},
		Param{
			Name:    "effort",
			Kind:    Integer,
			Default: "1500",
			Min:     1,
			Meaning: "bound of the search of auto: how many orders of ten jobs it tries in a round; longer orders " +
				"count more, beginnings of orders a tenth",
		},
	)...),
	Memory: []string{
		"the jobs that wait for a round", "by job: its place in the order of release",
		"when the next round is (ati, fti)", PlacingMemory,
		MasterMemory,
	},
	Claims: []Claim{NonPreemptive, TimeInvariant},
}

// mrorder holds jobs back until a round, which orders and releases them. Released jobs are served in the order of their
// rounds, and within a round in the order that it found. The lengths of a job's tasks are the estimator's, at the round
// that orders the job.
//
// A round costs O(n log n) for n jobs, and O(n) for each order that the search tries; effort bounds their number. A
// task event costs O(log n).
type mrorder struct {
	Order
	DelayPlacer
	Waiting []sched.JobID    // jobs that are held back, the oldest first
	Ranks   sched.Per[int64] // by job: its place in the order of release; zero: it is held back
	Last    int64            // the last rank that was given
	Next    sched.Time       // the instant of the next round; zero: not known before the first job

	rounds            string
	interval, timeout sched.Time
	jobs, limit       int
	backlog           string
	engine            orderEngine
}

// probeRank is the rank of probes. They are not held back, because a round may need what the estimator learns from
// them.
const probeRank = -1

func newMROrder(a Args) sched.Policy {
	return newOrdered(a, ruleNamed(a.Choice("order"), a.Choice("goal")))
}

// MROrder returns the entry of policy mrorder, for a registry, with a further value of the parameter order: own, which
// orders jobs by the function own. It is the default of the entry.
func MROrder(own Ordering) Entry {
	card := mrorderCard
	card.Params = slices.Clone(card.Params)
	i := slices.IndexFunc(card.Params, func(p Param) bool { return p.Name == "order" })
	card.Params[i].Default = "own"
	card.Params[i].Choices = append([]Option{{Name: "own"}}, card.Params[i].Choices...)
	return Entry{card, func(a Args) sched.Policy {
		if a.Choice("order") == "own" {
			return newOrdered(a, own)
		}
		return newMROrder(a)
	}}
}

// newOrdered makes mrorder with a rule for the order of a round.
func newOrdered(a Args, rule Ordering) sched.Policy {
	m := &mrorder{
		DelayPlacer: NewDelayPlacer(a),
		rounds:      a.Choice("rounds"), interval: a.Time("interval"), timeout: a.Time("timeout"),
		jobs: a.Int("jobs"), limit: a.Int("limit"), backlog: a.Choice("backlog"),
		engine: newOrderEngine(a, rule),
	}
	m.initParts(a, m.released, parting{parts: 1, part: m.part, key: m.released})
	return m
}

// released returns the key of st: by the place of its job in the order of release.
func (m *mrorder) released(_ *sched.View, st *sched.Stage, _ int32) sched.Key {
	return sched.Key{Value: float64(*m.Ranks.Of(st.Job))}
}

// InWords returns in words the place of a stage's job among the released jobs.
func (m *mrorder) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string {
	return fmt.Sprintf("number %.0f of the order", k.Value)
}

// part excludes the stages of jobs that are held back from the order.
func (m *mrorder) part(st *sched.Stage) int {
	if *m.Ranks.Of(st.Job) == 0 {
		return nowhere
	}
	return 0
}

// Decide holds the rounds that are due, and starts tasks of released jobs where there is room.
func (m *mrorder) Decide(p *sched.Plan) {
	m.follow(p)
	switch m.rounds {
	case "offline":
		for len(m.Waiting) > 0 {
			m.round(p)
		}
	case "pnj":
		m.byNumber(p)
	default:
		m.byTime(p)
	}
	m.Fill(p, &m.DelayPlacer)
}

// follow keeps the list of waiting jobs up to date.
func (m *mrorder) follow(p *sched.Plan) {
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.JobEnded:
			if at := slices.Index(m.Waiting, e.Job); at >= 0 {
				m.Waiting = slices.Delete(m.Waiting, at, at+1)
			}
		case sched.JobSubmitted:
			if len(m.Waiting) == 0 {
				m.passOver(p.Now)
			}
			switch j := p.Job(e.Job); {
			case j.Ended:
			case j.Spec.Probes != 0:
				*m.Ranks.Of(j) = probeRank
				p.TouchJob(j)
			default:
				m.Waiting = append(m.Waiting, j.ID)
			}
		}
	}
}

// passOver moves Next to the first round at or after now. The rounds before had no job to order, so the policy was not
// asked, and each came one interval after the last.
func (m *mrorder) passOver(now sched.Time) {
	if m.Next == 0 {
		m.Next = m.interval
	}
	if late := now - m.Next; late > 0 {
		m.Next += (late + m.interval - 1) / m.interval * m.interval
	}
}

// byTime holds a round when its instant has come (TP-FTI, TP-ATI). With rounds=ati the next round waits until the
// cluster is expected to have done the released jobs. With backlog=reorder it does not wait: the next round can change
// the order of released jobs, so that nothing is gained by holding others back.
func (m *mrorder) byTime(p *sched.Plan) {
	if len(m.Waiting) == 0 {
		return
	}
	if p.Now >= m.Next {
		busy, gap := m.round(p), m.interval
		if m.rounds == "ati" && m.backlog != "reorder" {
			gap = max(gap, busy)
		}
		// Counted from Next, not from now: an engine with a real clock is late, and rounds would come later and later.
		m.Next += gap
		m.passOver(p.Now)
	}
	if len(m.Waiting) > 0 {
		p.Wake(m.Next)
	}
}

// byNumber holds rounds while enough jobs wait, or one has waited too long (PNJ).
func (m *mrorder) byNumber(p *sched.Plan) {
	for len(m.Waiting) > 0 {
		oldest := p.Job(m.Waiting[0]).Submitted
		if len(m.Waiting) < m.jobs && p.Now < oldest+m.timeout {
			p.Wake(oldest + m.timeout)
			return
		}
		m.round(p)
	}
}

// round orders and releases the jobs that wait. It returns how long the cluster is busy with the ordered jobs, by the
// two-machine model (TA of TP-ATI).
func (m *mrorder) round(p *sched.Plan) sched.Time {
	jobs, again := m.left(p)
	before, n := len(jobs), len(m.Waiting)
	jobs = append(jobs, again...)
	if m.limit > 0 {
		n = min(n, m.limit)
	}
	for _, id := range m.Waiting[:n] {
		jobs = append(jobs, p.Job(id))
	}
	m.Waiting = slices.Delete(m.Waiting, 0, n)

	batch := newOrderBatch(p.View, jobs, before)
	order := m.engine.arrange(batch)
	for _, i := range order[before:] {
		m.Last++
		*m.Ranks.Of(jobs[i]) = m.Last
		p.TouchJob(jobs[i])
	}
	return microseconds(theory.FlowMakespan(theory.Flows(batch.jobs, batch.slots), order))
}

// left returns the released jobs that a round takes into account: those that keep their order (keep), and those that
// the round orders again, the oldest first (again). O(n log n).
func (m *mrorder) left(p *sched.Plan) (keep, again []*sched.Job) {
	if m.backlog == "off" {
		return nil, nil
	}
	for j := range p.Jobs() {
		switch rank := *m.Ranks.Of(j); {
		case j.Ended || rank == 0:
		case m.backlog == "reorder" && rank != probeRank:
			again = append(again, j)
		default:
			keep = append(keep, j)
		}
	}
	slices.SortStableFunc(keep, func(a, b *sched.Job) int { return cmp.Compare(*m.Ranks.Of(a), *m.Ranks.Of(b)) })
	return keep, again
}

// microseconds rounds a number of seconds, so that the last digit of an estimate does not decide on which side of an
// event a round is.
func microseconds(s float64) sched.Time { return 1000 * sched.Time(math.Round(s*1e6)) }
