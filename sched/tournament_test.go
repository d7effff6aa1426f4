package sched

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A line is a key that changes at a constant rate.
type line struct {
	Value float64 // at the instant From
	Slope float64 // added each second
	From  Time
}

// At returns the key at an instant.
func (l line) At(at Time) float64 { return l.Value + l.Slope*(at-l.From).Seconds() }

// Compare returns a negative number if l is less than o at an instant, a positive one if l is greater, and else 0. The
// second result is an instant after that, up to which (excluded) the first stays the same. It is early by what rounding
// may amount to: where two lines are that close, it is the next nanosecond.
func (l line) Compare(o line, at Time) (sign int, until Time) {
	a, b := l.At(at), o.At(at)
	gap, opens := a-b, l.Slope-o.Slope // opens: by how much gap grows each second
	switch {
	case gap < 0:
		sign, gap, opens = -1, -gap, -opens
	case gap > 0:
		sign = 1
	}
	if l == o || l.Slope == 0 && o.Slope == 0 {
		return sign, Never
	}
	const rounding = 0x1p-50 // of a sum of a few terms, as a part of them
	size := func(l line) float64 { return math.Abs(l.Value) + math.Abs(l.Slope*(at-l.From).Seconds()) }
	gap -= rounding * (size(l) + size(o))
	opens -= rounding * (math.Abs(l.Slope) + math.Abs(o.Slope))
	switch {
	case gap <= 0:
		return sign, at + 1
	case opens >= 0:
		return sign, Never
	}
	if wait := gap / -opens * 1e9; wait < float64(Never-at)/2 {
		return sign, at + max(1, Time(wait))
	}
	return sign, Never
}

// lines are the keys of a Tournament's members; of equals the smaller number is first.
type lines struct {
	Tournament
	keys     []line
	compared int
}

func newLines(n int) *lines {
	l := &lines{keys: make([]line, n)}
	l.Order = func(a, b int32, at Time) (bool, Time) {
		l.compared++
		sign, until := l.keys[a].Compare(l.keys[b], at)
		return sign < 0 || sign == 0 && a < b, until
	}
	return l
}

// At each instant First is the member that a look at all of them finds, whatever changed before.
func TestTournamentFirst(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := newLines(1 + r.IntN(40))
		there := make([]bool, len(l.keys))
		slopes := []float64{0, 1, 2, 0.1, 1. / 3, -1, r.Float64()}
		now := Time(0)
		for range 400 {
			i := int32(r.IntN(len(l.keys)))
			switch r.IntN(4) {
			case 0:
				l.Remove(i)
				there[i] = false
			default:
				l.keys[i] = line{float64(r.IntN(8)) * 0.1, slopes[r.IntN(len(slopes))], now}
				l.Set(i)
				there[i] = true
			}
			if r.IntN(3) == 0 {
				now += []Time{0, 1, 1000, sec / 10, sec, 3600 * sec}[r.IntN(6)]
			}
			want, any, n := int32(-1), false, 0
			for k := range there {
				if !there[k] {
					continue
				}
				n++
				if a := l.keys[k].At(now); !any || a < l.keys[want].At(now) {
					want, any = int32(k), true
				}
			}
			if got, ok := l.First(now); ok != any || ok && got != want || l.Len() != n {
				t.Fatalf("seed %d at %v: first of %d is %d, %v, want %d, %v of %d", seed, now, l.Len(), got,
					ok, want, any, n)
			}
		}
	}
}

// Lines with roundings of all sizes meet, cross and part: Compare says the same up to the instant that it names.
func TestLineCompareHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		draw := func() line {
			return line{float64(r.IntN(9)) * 0.1, []float64{0, 0.1, 0.3, 1, -1, 1e-9, 1e9}[r.IntN(7)],
				Time(r.IntN(3)) * sec / 3}
		}
		a, b, at := draw(), draw(), sec+Time(r.IntN(3))*sec/7
		sign, until := a.Compare(b, at)
		if until <= at {
			t.Fatalf("%+v, %+v at %v: holds until %v", a, b, at, until)
		}
		for _, later := range []Time{at, min(at+1, until-1), at + (until-at)/2, until - 1} {
			if later > math.MaxInt64/4 {
				continue
			}
			if again, _ := a.Compare(b, later); again != sign {
				t.Fatalf("%+v, %+v: %d at %v, holds until %v, but %d at %v", a, b, sign, at, until, again, later)
			}
		}
	}
}

// Time that passes costs the matches that turn: a thousand members at steady rates cost at most two comparisons a
// second on average, not a thousand.
func TestTournamentCost(t *testing.T) {
	l := newLines(1000)
	for i := range l.keys {
		l.keys[i] = line{float64(i * i), 1 / float64(1+i), 0}
		l.Set(int32(i))
	}
	l.First(0)
	l.compared = 0
	for now := range Time(10000) {
		l.First(now * sec)
	}
	if l.compared > 20000 {
		t.Errorf("%d comparisons in 10,000 looks at 1,000 members", l.compared)
	}
}

// BenchmarkTournament is the cost of a member whose rate changes, as with a launch in a queue, and of the next first:
// by a Tournament, and by a look at the keys of all members.
func BenchmarkTournament(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint("all/members=", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			keys := make([]line, n)
			for i := range keys {
				keys[i] = line{0, r.Float64(), 0}
			}
			now := Time(0)
			for b.Loop() {
				now += sec / 1000
				first := 0
				for i := range keys {
					if keys[i].At(now) < keys[first].At(now) {
						first = i
					}
				}
				keys[first] = line{keys[first].At(now), r.Float64(), now}
				j := r.IntN(n)
				keys[j] = line{keys[j].At(now), r.Float64(), now}
			}
		})
		b.Run(fmt.Sprint("members=", n), func(b *testing.B) {
			l := newLines(n)
			r := rand.New(rand.NewPCG(1, 2))
			for i := range l.keys {
				l.keys[i] = line{0, r.Float64(), 0}
				l.Set(int32(i))
			}
			now := Time(0)
			b.ReportAllocs()
			for b.Loop() {
				now += sec / 1000
				i, _ := l.First(now)
				k := &l.keys[i]
				*k = line{k.At(now), r.Float64(), now}
				l.Set(i)
				j := int32(r.IntN(n))
				k = &l.keys[j]
				*k = line{k.At(now), r.Float64(), now}
				l.Set(j)
			}
			b.ReportMetric(float64(l.compared)/float64(b.N), "compared/op")
		})
	}
}
