package theory

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A plain race: all racers sorted by what they have left after a time, pairs by the instant at which they meet.
func plainOrder(racers []Racer, after float64) (ids []int64) {
	order := slices.Clone(racers)
	slices.SortFunc(order, func(a, b Racer) int {
		if b.before(&a) {
			return -plainCompare(b, a, after)
		}
		return plainCompare(a, b, after)
	})
	for _, r := range order {
		ids = append(ids, r.ID)
	}
	return ids
}

// plainCompare is the order of two racers; the first starts in front.
func plainCompare(a, b Racer, after float64) int {
	if a.Left == b.Left || b.Rate <= a.Rate {
		return -1
	}
	switch meet := (b.Left - a.Left) / (b.Rate - a.Rate); {
	case after > meet, after == meet && b.ID < a.ID:
		return 1
	}
	return -1
}

// Heat after heat, with racers who come, go and get other amounts and rates, the order is that of sorting all of them
// at that instant, however often one has looked; who was not said to have moved has the rank that it had, and ranks
// rise. Amounts and rates are small whole numbers, so that many racers are equal and many meet at one instant.
func TestRaceIsSortingAllTheTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var often, seldom Race
		ranks := map[int64]float64{}
		moved := func(id int64, rank float64) { ranks[id] = rank }
		ignored := func(int64, float64) {}
		check := func(racers []Racer, after float64) {
			want := plainOrder(racers, after)
			last := math.Inf(-1)
			for i, s := range often.spots {
				id := often.racers[s.who].ID
				if id != want[i] {
					t.Fatalf("after %v of %v: racer %d is at place %d, want %d", after, racers, id, i, want[i])
				}
				if ranks[id] != s.rank || !(s.rank > last) {
					t.Fatalf("racer %d was told rank %v, has %v, after %v", id, ranks[id], s.rank, last)
				}
				last = s.rank
			}
		}
		number := func(most int, what string) float64 { return float64(rapid.IntRange(0, most).Draw(t, what)) }
		ids := map[int64]Racer{}
		for heat := range rapid.IntRange(1, 6).Draw(t, "heats") {
			for range rapid.IntRange(0, 12).Draw(t, "changes") {
				id := int64(rapid.IntRange(1, 25).Draw(t, "id"))
				if _, there := ids[id]; there && rapid.Bool().Draw(t, "leaves") {
					delete(ids, id)
					continue
				}
				ids[id] = Racer{id, number(20, "left"), number(3, "rate")}
			}
			var racers []Racer
			for id := range int64(26) {
				if r, there := ids[id]; there {
					racers = append(racers, r)
				}
			}
			often.Start(slices.Clone(racers), moved)
			seldom.Start(slices.Clone(racers), ignored)
			check(racers, 0)
			after := 0.0
			for range rapid.IntRange(0, 4).Draw(t, "looks") {
				after += number(8, "more") / 2
				often.Advance(after, moved)
				check(racers, after)
			}
			seldom.Advance(after, ignored)
			if len(often.spots) != len(seldom.spots) || len(often.spots) != len(racers) {
				t.Fatalf("heat %d: %d and %d of %d racers", heat, len(often.spots), len(seldom.spots), len(racers))
			}
			for i := range often.spots {
				if a, b := often.spots[i].who, seldom.spots[i].who; a != b {
					t.Fatalf("heat %d: place %d is of %d, and of %d without a look before %v", heat,
						i, a, b, after)
				}
			}
		}
	})
}

// A change moves few: of 1,000 racers, one who comes, one who goes, and one who is put from the front to the back have
// three others told at most, each time.
func TestRaceMovesFew(t *testing.T) {
	var racers []Racer
	for i := range int64(1000) {
		racers = append(racers, Racer{ID: i, Left: float64(i * 7919 % 1000)})
	}
	var r Race
	r.Start(slices.Clone(racers), func(int64, float64) {})
	for i := range 300 {
		racers = append(slices.Delete(racers, i, i+1), Racer{ID: int64(1000 + i), Left: float64(i*31%1000) + 0.5})
		front := 0
		for k := range racers {
			if racers[k].Left < racers[front].Left {
				front = k
			}
		}
		racers[front].Left += 2000
		told := 0
		r.Start(slices.Clone(racers), func(int64, float64) { told++ })
		if told > 4 {
			t.Fatalf("change %d: %d were told that they moved", i, told)
		}
	}
}

// Who always comes right before the last leaves no room there in the end: all are ranked anew then, and still rise.
func TestRaceRanksAnew(t *testing.T) {
	racers := []Racer{{ID: 0, Left: 0}, {ID: 1, Left: 1}}
	var r Race
	anew := 0
	for id := int64(2); id < 200; id++ {
		told := 0
		r.Start(slices.Clone(racers), func(int64, float64) { told++ })
		if told > 5 {
			anew++
		}
		for i := 1; i < len(r.spots); i++ {
			if !(r.spots[i-1].rank < r.spots[i].rank) {
				t.Fatalf("ranks %v and %v of %d", r.spots[i-1].rank, r.spots[i].rank, len(racers))
			}
		}
		racers = append(racers, Racer{ID: id, Left: 1 - 1/float64(id)})
	}
	if anew == 0 || anew > 20 {
		t.Errorf("ranked anew %d times of 198, want once in about 40 times", anew)
	}
}

// FSPY F9: a job with 1040 left that is served at 96 comes before one of 60 at 2 after 980/94.
func ExampleRace() {
	var r Race
	moved := func(id int64, rank float64) { fmt.Println("job", id, "has rank", rank) }
	r.Start([]Racer{{1, 1040, 96}, {3, 60, 2}}, moved)
	fmt.Printf("until %.4f\n", r.Next())
	r.Advance(r.Next(), moved)
	// Output:
	// job 3 has rank 0
	// job 1 has rank 1
	// until 10.4255
	// job 1 has rank 0
	// job 3 has rank 1
}
