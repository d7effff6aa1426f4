package web

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// A window says which nodes and which time a picture of lanes covers.
type window struct {
	from, until   sched.Time // until 0: now
	offset, lanes int        // the first node, from 0, and how many lanes at most
	nodes         int        // from the first on; 0: all others
	columns       int        // of a picture in which attempts are too many for bars
}

// mostBars bounds the bars of one answer: a screen shows no more.
const mostBars = 6_000

// lanes describes what ran in a window. Its cost is linear in the attempts that the log has of the nodes in the window.
func (b *Board) lanes(w window) *Lanes {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.until <= w.from {
		w.until = max(b.now, w.from+1)
	}
	total := len(b.nodes)
	l := &Lanes{Now: b.now.Seconds(), From: w.from.Seconds(), Until: w.until.Seconds(), Total: total, Offset: w.offset,
		Lanes: []Lane{}}
	shown := max(0, total-w.offset)
	if w.nodes > 0 {
		shown = min(shown, w.nodes)
	}
	if shown == 0 || w.lanes < 1 {
		return l
	}
	group := (shown + w.lanes - 1) / w.lanes
	for first := w.offset; first < w.offset+shown; first += group {
		count := min(group, w.offset+shown-first)
		name := b.nodes[first].name
		if count > 1 {
			name += " … " + b.nodes[first+count-1].name
		}
		l.Lanes = append(l.Lanes, Lane{name, int32(first + 1), count})
	}
	if group > 1 || !b.bars(l, w) {
		b.busy(l, w)
	}
	return l
}

// bars adds the attempts of each lane, where a lane is one node. It returns false, and adds none, if they are more than
// mostBars.
func (b *Board) bars(l *Lanes, w window) bool {
	l.Bars = []Attempt{}
	for i := range l.Lanes {
		b.log.chain(b.nodes[l.Lanes[i].First-1].tail, true, func(a *attempt) bool {
			if a.start < w.until && (a.end < 0 || a.end > w.from) {
				l.Bars = append(l.Bars, attemptAnswer(a))
			}
			return len(l.Bars) <= mostBars
		})
		if len(l.Bars) > mostBars {
			l.Bars = nil
			return false
		}
	}
	return true
}

// nothing is more than the mean that rounding may leave in a column in which nothing ran.
const nothing = 1e-6

// busy adds to each lane how many attempts ran in each column. It adds each attempt to the differences between
// neighbouring columns, so that a long attempt costs no more than a short one.
func (b *Board) busy(l *Lanes, w window) {
	n := max(1, w.columns)
	column := float64(w.until-w.from) / float64(n)
	l.Column = column / 1e9
	for i := range l.Lanes {
		lane := &l.Lanes[i]
		rise := make([]float64, n+2) // of the number of attempts from a column to the next
		for k := range lane.Count {
			b.log.chain(b.nodes[int(lane.First)-1+k].tail, true, func(a *attempt) bool {
				end := a.end
				if end < 0 {
					end = b.now
				}
				if a.start < w.until && end > w.from {
					spread(rise, float64(max(0, a.start-w.from))/column, float64(min(end, w.until)-w.from)/column)
				}
				return true
			})
		}
		row, height, slope := make([]uint16, n), 0.0, 0.0
		for c := range row {
			slope = rise[c]
			height += slope
			mean := height / float64(lane.Count)
			row[c] = uint16(min(math.Round(100*max(0, mean)), math.MaxUint16))
			if row[c] == 0 && mean > nothing {
				row[c] = 1 // or a short attempt would look like none
			}
			l.Most = max(l.Most, mean)
		}
		l.Busy = append(l.Busy, row)
	}
}

// spread adds to rise an attempt that lasts from one place to another, in columns: it covers parts of the first and of
// the last column, and all columns between.
func spread(rise []float64, from, to float64) {
	first, last := int(from), int(to)
	if first == last {
		part := to - from
		rise[first] += part
		rise[first+1] -= part
		return
	}
	head, tail := float64(first+1)-from, to-float64(last)
	rise[first] += head
	rise[first+1] += 1 - head
	rise[last] += tail - 1
	rise[last+1] -= tail
}
