package priority

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// A task has a rank, which others may have too, and a number, which none has.
type task struct{ rank, number int32 }

func (a task) compare(b task) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.number, b.number))
}

func (a task) Before(b task) bool { return a.compare(b) < 0 }

// What a queue yields is what sorting yields, while tasks are added and its first one changes.
func TestQueue(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var q Queue[task]
		var plain []task
		for number := range int32(100) {
			x := task{r.Int32N(20), number}
			plain = append(plain, x)
			switch number {
			case 10: // elements that were appended without a call
				q = append(q, x)
				q.Init()
			default:
				q.Push(x)
			}
			slices.SortFunc(plain, task.compare)
			switch r.IntN(4) {
			case 0:
				if got := q.Pop(); got != plain[0] {
					t.Fatalf("seed %d: the first of the queue is %v, want %v", seed, got, plain[0])
				}
				plain = plain[1:]
			case 1:
				q[0].rank = r.Int32N(30)
				plain[0] = q[0]
				q.FixFirst()
				slices.SortFunc(plain, task.compare)
			}
		}
		for _, want := range plain {
			if got := q.Pop(); got != want {
				t.Fatalf("seed %d: the first of the queue is %v, want %v", seed, got, want)
			}
		}
		if len(q) != 0 {
			t.Fatalf("seed %d: %d elements are left, want none", seed, len(q))
		}
	}
}

// Two heaps that share their places agree with sorted lists: members come, change, leave, and go to the other heap.
func TestIndexed(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		const members = 40
		var heaps [2]Indexed[task]
		places := make([]int32, members)
		in := make([]int, members) // which heap, from 1; 0: none
		keys := make([]task, members)
		for range 400 {
			id := r.Int32N(members)
			switch h := r.IntN(2); {
			case in[id] == 0 || r.IntN(3) > 0:
				if in[id] != 0 {
					h = in[id] - 1
				}
				in[id], keys[id] = h+1, task{r.Int32N(10), id}
				heaps[h].Put(places, Entry[task]{keys[id], id})
			default:
				heaps[in[id]-1].Remove(places, id)
				in[id] = 0
			}
			for h := range heaps {
				var want []task
				for i, k := range keys {
					if in[i] == h+1 {
						want = append(want, k)
					}
				}
				if len(want) != len(heaps[h]) {
					t.Fatalf("seed %d: heap %d has %d members, want %d", seed, h, len(heaps[h]), len(want))
				}
				if len(want) > 0 && heaps[h][0].Key != slices.MinFunc(want, task.compare) {
					t.Fatalf("seed %d: %v is first in heap %d of %v", seed, heaps[h][0].Key, h, want)
				}
				for at, e := range heaps[h] {
					if places[e.ID] != int32(at+1) || e.Key != keys[e.ID] {
						t.Fatalf("seed %d: member %d is at %d with %v, its place says %d", seed, e.ID, at+1, e.Key,
							places[e.ID])
					}
				}
			}
		}
	}
}
