package mr

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/mr/internal/mem"
	"github.com/sojourn-sched/sojourn/mr/internal/pair"
)

// check checks a property on rapid's number of random cases; with SOJOURN_PROPERTY_FOR=1h, on new ones for an hour.
func check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	long, _ := time.ParseDuration(os.Getenv("SOJOURN_PROPERTY_FOR"))
	for end := time.Now().Add(long); ; {
		rapid.Check(t, property)
		if t.Failed() || !time.Now().Before(end) {
			return
		}
	}
}

// hog is an account of others: it takes what the pool has, and gives some of it back, at random, so that the pool is
// short of memory and in fragments.
type hog struct {
	account *mem.Account
	held    [][]byte
	random  *rand.Rand
	share   float64 // of the pool that it takes at most
}

func newHog(m *Memory, seed uint64, share float64) *hog {
	return &hog{account: m.pool.Account(m.pool.Size()), random: rand.New(rand.NewPCG(seed, 1)), share: share}
}

func (h *hog) move(m *Memory) {
	for range h.random.IntN(4 * int(m.pool.Size()/mem.Chunk)) {
		if n := len(h.held); n > 0 && h.random.IntN(3) == 0 {
			at := h.random.IntN(n)
			h.account.Free(h.held[at])
			h.held[at] = h.held[n-1]
			h.held = h.held[:n-1]
		} else if float64(h.account.Used()) < h.share*float64(m.pool.Size()) {
			if b := h.account.Alloc(mem.Chunk); b != nil {
				h.held = append(h.held, b)
			}
		}
	}
}

// TestIndexKeepsAllPairs: indexes over the pieces of a log, one after the other, have all its pairs, each in order,
// however little memory the account and the pool have.
func TestIndexKeepsAllPairs(t *testing.T) {
	check(t, func(t *rapid.T) {
		memory, err := newMemory(rapid.Int64Range(8, 64).Draw(t, "chunks of the pool")*mem.Chunk, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer memory.Close()
		h := newHog(memory, rapid.Uint64().Draw(t, "seed"), rapid.Float64Range(0, 1).Draw(t, "share of others"))
		account := memory.pool.Account(rapid.Int64Range(1, 32).Draw(t, "chunks of the account") * mem.Chunk)
		pieces := make([]piece, rapid.IntRange(1, 40).Draw(t, "pieces"))
		var want []string
		for i := range pieces {
			p := &pieces[i]
			for p.pairs = range h.random.IntN(1500) {
				key, value := fmt.Append(nil, h.random.IntN(500)), fmt.Appendf(nil, "%d.%d", i, p.pairs)
				want = append(want, string(key)+"="+string(value))
				p.data = pair.Append(p.data, key, value)
			}
			if len(p.data) > 0 {
				p.pairs++
			}
		}
		r := &Run{Job: &Job{}}
		var got []string
		for left := pieces; len(left) > 0; {
			h.move(memory)
			var ix *index
			before := len(left)
			if ix, left = r.newIndex(left, account); len(left) >= before {
				t.Fatalf("an index of no piece: %d are left of %d", len(left), before)
			}
			recs := make([]rec, 100)
			last := rec{}
			for n, _ := ix.fill(recs); n > 0; n, _ = ix.fill(recs) {
				for _, r := range recs[:n] {
					if bytes.Compare(last.key, r.key) > 0 {
						t.Fatalf("%s comes after %s", r.key, last.key)
					}
					last = r
					got = append(got, string(r.key)+"="+string(r.value))
				}
			}
			ix.free()
			if n := account.Used(); n != 0 {
				t.Fatalf("%d bytes are held after an index was freed", n)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%d pairs came out, %d went in", len(got), len(want))
		}
	})
}

// flow is a job on pairs made at random, and what happens to its attempts.
type flow struct {
	t       *rapid.T
	kind    string
	maps    int
	parts   int
	pairs   [][]testPair // by map, in the order of emission
	memory  *Memory
	hog     *hog
	harm    int // of 10 attempts so many are killed, or panic
	pending int // pairs until the attempt at work is harmed; negative: it is not
	panics  bool
	cancel  context.CancelFunc
	resizes bool // attempts come to hold more and less
	now     *Attempt
	run     *Run
	groups  []testGroup // of the reduce attempt at work
}

type testPair struct{ key, value []byte }

type testGroup struct {
	key    string
	values []string
}

var errHarm = errors.New("harm that the test does")

// tick counts a pair of the attempt at work: every so often others take or free memory, and the attempt may end here.
func (f *flow) tick() {
	if f.hog.random.IntN(2000) == 0 {
		f.hog.move(f.memory)
	}
	if f.resizes && f.now != nil && f.hog.random.IntN(500) == 0 { // nil: the sample is read
		f.now.ration.hold(f.hog.random.Int64N(3 * asksMiB / 2))
	}
	if f.pending--; f.pending == 0 {
		if f.panics {
			panic(errHarm)
		}
		f.cancel()
	}
}

// attempt begins an attempt that is perhaps to be harmed.
func (f *flow) attempt(task, number, pairs int) *Attempt {
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel, f.pending = cancel, -1
	if number < 3 && f.hog.random.IntN(10) < f.harm {
		f.pending, f.panics = 1+f.hog.random.IntN(max(1, pairs)), f.hog.random.IntN(2) == 0
	}
	f.hog.move(f.memory)
	f.now = rationed(NewAttempt(ctx, task, number), func(a *Attempt, _ bool) {
		if left := a.account.Left(); left < 0 {
			f.t.Fatalf("the account keeps to its new limit, and has %d bytes too many", -left)
		}
	})
	return f.now
}

// flowKinds are the ways of pairs through the engine.
var flowKinds = []string{
	"sort", "bins", "total order", "sum", "sums", "maximum", "set", "combine", "compare", "partition",
}

// job makes the job of the flow's kind.
func (f *flow) job() *Job {
	j := &Job{Name: f.kind}
	j.Map = func(t *Task, in *Batches, out *Emitter) error {
		for in.Next() { // no input: what is emitted is known
		}
		for i, p := range f.pairs[t.Index] {
			if i%100 == 0 && t.attempt.pass() != nil {
				return nil
			}
			f.tick()
			out.Emit(p.key, p.value)
		}
		return nil
	}
	j.Reduce = func(_ *Task, in *Groups, _ *Emitter) error {
		f.groups = nil
		for in.Next() {
			g := testGroup{key: string(in.Key())}
			for v := range in.Values() {
				f.tick()
				g.values = append(g.values, string(v))
			}
			f.groups = append(f.groups, g)
		}
		return nil
	}
	switch f.kind {
	case "total order":
		j.TotalOrder = true
	case "sum":
		j.Fold = Sum(1)
	case "sums":
		j.Fold = Sum(3)
	case "maximum":
		j.Fold = &Fold{Width: 8, Into: func(acc, value []byte) {
			f.tick()
			if bytes.Compare(value, acc) > 0 {
				copy(acc, value)
			}
		}}
	case "set":
		j.Fold = Distinct()
	case "combine":
		j.Combine = func(_ *Task, in *Groups, out *Emitter) error {
			for in.Next() {
				sum := int64(0)
				for v := range in.Values() {
					f.tick()
					sum += Int64(v, 0)
				}
				out.Emit(in.Key(), AppendSum(nil, sum))
			}
			return nil
		}
	case "compare":
		j.Compare = func(a, b []byte) int { return bytes.Compare(b, a) }
	case "partition":
		j.Partition = func(key []byte, parts int) int { return len(key) % parts }
	}
	return j
}

// width is how many bytes the values have; negative: any.
func (f *flow) width() int {
	switch f.kind {
	case "sum", "maximum", "combine":
		return 8
	case "sums":
		return 24
	case "set":
		return 0
	}
	return -1
}

// mostLong bounds the bytes of the long keys and values of one case: the test holds each a few times.
const mostLong = 32 << 20

// fill draws the pairs.
func (f *flow) fill(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	distinct := 1 + r.IntN(1<<r.IntN(14))
	most := 1 << r.IntN(14)
	long := r.IntN(4) == 0
	largest := int(f.memory.attemptBytes()) / 8
	left := mostLong
	lengthen := func() int { // length of the next long key or value
		n := 1 + r.IntN(largest)
		if left -= n; left < 0 {
			return 1
		}
		return n
	}
	f.pairs = make([][]testPair, f.maps)
	for m := range f.pairs {
		for range r.IntN(most) {
			k := r.IntN(distinct)
			key := fmt.Appendf(nil, "%0*d", 1+k%30, k)
			if k == 0 && long {
				key = bytes.Repeat([]byte{'x'}, lengthen())
			}
			w := f.width()
			var value []byte
			if w < 0 {
				if value = fmt.Appendf(nil, "%d.%d", m, len(f.pairs[m])); long && r.IntN(100) == 0 {
					value = append(value, make([]byte, lengthen())...)
				}
			} else if value = make([]byte, w); w > 0 {
				binary.LittleEndian.PutUint64(value, uint64(r.IntN(1000)))
			}
			f.pairs[m] = append(f.pairs[m], testPair{key, value})
		}
	}
}

// want computes the groups of all parts without the engine, by key.
func (f *flow) want(job *Job) map[string][]string {
	all := map[string][]string{}
	for _, pairs := range f.pairs {
		for _, p := range pairs {
			key := string(p.key)
			switch v := all[key]; {
			case v == nil || f.width() < 0:
				all[key] = append(v, string(p.value))
			case f.kind == "combine":
				v[0] = string(AppendSum(nil, Int64([]byte(v[0]), 0)+Int64(p.value, 0)))
			default:
				acc := []byte(v[0])
				pending := f.pending
				f.pending = -1
				job.Fold.add(acc, p.value)
				f.pending = pending
				v[0] = string(acc)
			}
		}
	}
	return all
}

// bytesHeld is what attempts hold: nothing, between two of them.
func (f *flow) bytesHeld() int64 {
	return f.memory.InUse() - f.hog.account.Used() - f.memory.results.Used()
}

// retry runs attempts at a task until one ends well, and checks after each that it holds no memory.
func (f *flow) retry(task, pairs, first int, run func(a *Attempt) error) {
	for number := first; ; number++ {
		a := f.attempt(task, number, pairs)
		before := f.memory.results.Used()
		err := run(a)
		f.cancel()
		if n := f.bytesHeld(); n != 0 {
			f.t.Fatalf("%d bytes are held after an attempt that ended with %v", n, err)
		}
		if err == nil {
			return
		}
		if f.memory.results.Used() != before {
			f.t.Fatalf("results had %d bytes before an attempt that failed, %d after", before, f.memory.results.Used())
		}
		if panicked := new(PanicError); !errors.Is(err, context.Canceled) && !errors.As(err, &panicked) ||
			errors.As(err, &panicked) && panicked.Value != errHarm {
			f.t.Fatal(err)
		}
	}
}

// TestAllPairsArrive: whatever maps emit arrives at the reduces, once, in order, in memory, on disk and folded, while
// memory is short, others use it up, attempts are resized, killed or panic anywhere, and outputs of maps are lost.
func TestAllPairsArrive(t *testing.T) {
	dir := t.TempDir()
	runs := 0
	check(t, func(t *rapid.T) {
		runs++
		w, err := OpenWorkspace(filepath.Join(dir, fmt.Sprint("out", runs)), false)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		slots := rapid.IntRange(1, 3).Draw(t, "slots")
		room := rapid.SampledFrom([]int64{5, 8, 16, 40, 150}).Draw(t, "chunks of an attempt")
		f := &flow{t: t, kind: rapid.SampledFrom(flowKinds).Draw(t, "kind"), maps: rapid.IntRange(1, 8).Draw(t, "maps"),
			parts: rapid.IntRange(1, 4).Draw(t, "parts"), harm: rapid.SampledFrom([]int{0, 3}).Draw(t, "harm"),
			resizes: rapid.Bool().Draw(t, "resizes")}
		if f.memory, err = newMemory(2*int64(slots)*room*mem.Chunk, slots); err != nil {
			t.Fatal(err)
		}
		defer f.memory.Close()
		seed := rapid.Uint64().Draw(t, "seed")
		f.hog = newHog(f.memory, seed, rapid.SampledFrom([]float64{0, 0.5, 0.9, 1}).Draw(t, "share of others"))
		f.fill(seed)
		f.flow(w)
	})
}

// flow runs the job and compares what arrives.
func (f *flow) flow(w *Workspace) {
	job := f.job()
	r, err := NewRun(job, f.parts, f.memory, w)
	if err != nil {
		f.t.Fatal(err)
	}
	if f.run = r; f.kind == "total order" {
		if err := r.Cut(context.Background(), make([]input.Split, f.maps)); err != nil {
			f.t.Fatal(err)
		}
	}
	r.maps, r.input = f.maps, 0
	for _, pairs := range f.pairs {
		for _, p := range pairs {
			r.input += int64(len(p.key) + len(p.value) + 2)
		}
	}
	if f.kind == "bins" {
		r.input *= 50 // many bins of few pairs
	}
	outputs := make([]*MapOutput, f.maps)
	runMap := func(m, first int) {
		f.retry(m, len(f.pairs[m]), first, func(a *Attempt) (err error) {
			outputs[m], err = r.Map(a, input.Split{})
			return err
		})
	}
	for m := range outputs {
		runMap(m, 0)
		if f.harm > 0 && f.hog.random.IntN(4) == 0 {
			outputs[m].Release()
			runMap(m, 100)
		}
	}
	want := f.want(job)
	order := bytes.Compare
	if job.Compare != nil {
		order = job.Compare
	}
	var last []byte
	for part := range f.parts {
		total := 0
		for _, pairs := range f.pairs {
			total += len(pairs)
		}
		f.retry(part, total/f.parts, 0, func(a *Attempt) error {
			if err := r.Reduce(a, outputs); err != nil {
				return err
			}
			return r.CommitTask(a)
		})
		if f.kind != "total order" {
			last = nil
		}
		for i, g := range f.groups {
			key := []byte(g.key)
			if (i > 0 || last != nil) && order(last, key) >= 0 {
				f.t.Fatalf("part %d: group %.80q comes after %.80q", part, key, last)
			}
			last = key
			if f.kind == "combine" { // the combiner may have run on parts of the group
				sum := int64(0)
				for _, v := range g.values {
					sum += Int64([]byte(v), 0)
				}
				g.values = []string{string(AppendSum(nil, sum))}
			}
			if !slices.Equal(g.values, want[g.key]) {
				f.t.Fatalf("part %d, group %.80q: %d values, want %d, or in another order", part, key, len(g.values),
					len(want[g.key]))
			}
			delete(want, g.key)
		}
	}
	if len(want) > 0 {
		keys := make([]string, 0, len(want))
		for k := range want {
			keys = append(keys, k)
		}
		f.t.Fatalf("%d groups are lost, %.80q among them", len(want), slices.MinFunc(keys, cmp.Compare))
	}
	for _, o := range outputs {
		o.Release()
	}
	if n := f.memory.InUse() - f.hog.account.Used(); n != 0 {
		f.t.Fatalf("%d bytes are held at the end", n)
	}
}
