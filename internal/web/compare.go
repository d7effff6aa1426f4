package web

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// points is how many points of a distribution are sent.
const points = 400

// A pairing compares the jobs of several runs.
type pairing struct {
	rows []Difference // of the jobs that succeeded in the first run and in another
	runs []Compared
}

// pair compares runs by the jobs that have the same number and name. Jobs of runs of the same workload have. of are the
// copies of the runs.
func pair(runs []Run, of []*boardCopy) pairing {
	p := pairing{runs: make([]Compared, len(of))}
	at := map[sched.JobID]int{}
	for k, s := range of {
		sojourns, waits := s.sojourns()
		c := &p.runs[k]
		c.Run, c.Sojourn, c.Wait = runs[k], spreadOf(sojourns), spreadOf(waits)
		c.Times, c.Parts = quantiles(sojourns)
		var slowdowns []float64
		for i := range s.jobs {
			r := &s.jobs[i]
			if r.end < 0 || r.outcome != sched.OK {
				continue
			}
			if r.slowdown > 0 {
				slowdowns = append(slowdowns, r.slowdown)
			}
			row, ok := at[r.id]
			if !ok {
				if k > 0 {
					continue
				}
				row = len(p.rows)
				at[r.id] = row
				d := Difference{ID: int32(r.id), Name: r.name, Queue: r.queue, Submit: r.submit.Seconds(),
					Sojourns: make([]float64, len(of))}
				for i := range d.Sojourns {
					d.Sojourns[i] = -1
				}
				p.rows = append(p.rows, d)
			}
			if p.rows[row].Name != r.name {
				continue
			}
			p.rows[row].Sojourns[k] = r.sojourn(s.now).Seconds()
			c.Common++
		}
		slices.Sort(slowdowns)
		c.Slow = spreadOf(slowdowns)
	}
	for k := range p.runs {
		p.change(k)
	}
	if len(of) > 1 {
		p.rows = slices.DeleteFunc(p.rows, func(d Difference) bool { return slices.Max(d.Sojourns[1:]) < 0 })
	}
	return p
}

// pair returns the comparison of runs. It keeps comparisons by key, and makes one again when a run has another version.
func (s *Site) pair(key string, runs []Run, of []*boardCopy) pairing {
	versions := make([]int64, len(of))
	for i := range of {
		versions[i] = of[i].version
	}
	s.mu.Lock()
	last, ok := s.pairs[key]
	s.mu.Unlock()
	if ok && slices.Equal(last.versions, versions) {
		return last.pairing
	}
	p := pair(runs, of)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pairs) >= mostPairs {
		clear(s.pairs)
	}
	s.pairs[key] = pairCopy{versions, p}
	return p
}

// mostPairs bounds the comparisons that a site keeps.
const mostPairs = 8

// alike is the ratio of sojourn times up to which a job counts as neither faster nor slower.
const alike = 1.001

// change sets how many jobs are faster and slower in run k than in the first, and by how much.
func (p *pairing) change(k int) {
	var logs []float64
	for i := range p.rows {
		a, b := p.rows[i].Sojourns[0], p.rows[i].Sojourns[k]
		if a <= 0 || b <= 0 {
			continue
		}
		switch {
		case b > a*alike:
			p.runs[k].Slower++
		case a > b*alike:
			p.runs[k].Faster++
		}
		logs = append(logs, math.Log2(b/a))
	}
	slices.Sort(logs)
	p.runs[k].Changes, _ = quantiles(logs)
}

// quantiles returns up to points of the values, evenly by rank, and for each of them the part of all values that are
// not larger. sorted is in rising order.
func quantiles(sorted []float64) (values, parts []float64) {
	values, parts = []float64{}, []float64{}
	n := len(sorted)
	k := min(n, points)
	for i := 1; i <= k; i++ {
		rank := (i*n + k - 1) / k
		values, parts = append(values, sorted[rank-1]), append(parts, float64(rank)/float64(n))
	}
	return values, parts
}

// differenceColumns are what the jobs of a comparison can be sorted by.
var differenceColumns = map[string]func(a, b *Difference) int{
	"job":    func(a, b *Difference) int { return cmp.Compare(a.ID, b.ID) },
	"change": func(a, b *Difference) int { return cmp.Compare(a.most(), b.most()) },
	"loss":   func(a, b *Difference) int { return cmp.Compare(a.loss(), b.loss()) },
}

// differencesBy returns the order of a page of a comparison; runs is the number of runs. The column change.K is the
// difference of run K from the first, where K counts the runs after the first from 1. Jobs without that difference come
// last.
func differencesBy(p page, runs int) (func(a, b *Difference) int, error) {
	if by := differenceColumns[p.column]; by != nil {
		return by, nil
	}
	text, ok := strings.CutPrefix(p.column, "change.")
	k, err := strconv.Atoi(text)
	if !ok || err != nil || k < 1 || k >= runs {
		return nil, wrong("sort=%s: must be one of change, change.1 to change.%d, job, loss", p.column, runs-1)
	}
	last := math.Inf(1)
	if p.down {
		last = math.Inf(-1)
	}
	change := func(d *Difference) float64 {
		if d.Sojourns[k] < 0 {
			return last
		}
		return d.Sojourns[k] - d.Sojourns[0]
	}
	return func(a, b *Difference) int { return cmp.Compare(change(a), change(b)) }, nil
}

// most returns the largest difference of any run from the first, in seconds.
func (d *Difference) most() (most float64) {
	for _, s := range d.Sojourns[1:] {
		if s >= 0 {
			most = max(most, math.Abs(s-d.Sojourns[0]))
		}
	}
	return most
}

// loss returns the largest time by which any run takes longer than the first, in seconds.
func (d *Difference) loss() float64 {
	most := math.Inf(-1)
	for _, s := range d.Sojourns[1:] {
		if s >= 0 {
			most = max(most, s-d.Sojourns[0])
		}
	}
	return most
}
