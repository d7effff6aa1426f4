package mr

import (
	"bytes"
	"fmt"
	"io"
	"unsafe"

	"github.com/sojourn-sched/sojourn/mr/internal/fold"
	"github.com/sojourn-sched/sojourn/mr/internal/mem"
	"github.com/sojourn-sched/sojourn/mr/internal/order"
	"github.com/sojourn-sched/sojourn/mr/internal/pair"
	"github.com/sojourn-sched/sojourn/mr/internal/spill"
)

// rec is a pair on its way through a reduce.
type rec struct {
	prefix     uint64 // pair.Prefix of key; 0 throughout where the job compares
	key, value []byte
}

// source yields pairs in order. fill writes at least one pair to recs, lent until the next call, and returns how many;
// 0: there are no more.
type source interface {
	fill(recs []rec) (n int, err error)
}

// fillPairs is how many pairs a reader of a source asks for: enough for their cache misses to overlap.
const fillPairs = 128

// ordering is the order of keys in a job: that of bytes where compare is nil.
type ordering struct{ compare func(a, b []byte) int }

func (o ordering) prefix(key []byte) uint64 {
	if o.compare != nil {
		return 0
	}
	return pair.Prefix(key)
}

// order returns a negative number if x comes before y, a positive one if x comes after y, else 0.
func (o ordering) order(x, y *rec) int {
	if o.compare != nil {
		return o.compare(x.key, y.key)
	}
	switch {
	case x.prefix < y.prefix:
		return -1
	case x.prefix > y.prefix:
		return 1
	case pair.Whole(x.prefix):
		return 0
	}
	return bytes.Compare(x.key, y.key)
}

// index is a source of pairs in memory, sorted.
type index struct {
	pieces  []piece
	account *mem.Account
	entries []order.Entry
	heap    bool // entries are not the account's
	at      int
	touch   byte
}

const entryBytes = int64(unsafe.Sizeof(order.Entry{}))

// indexSlack is what an index may take beyond its entries: memory comes in chunks.
const indexSlack = 4 * mem.Chunk

// newIndex sorts the pairs of the first pieces, as many as memory allows and at least one, and returns the pieces that
// are left. Callers go on with those until none is left: every piece is in exactly one index. newIndex takes the
// longest prefix whose entries fit the account, and halves it while other accounts use up the pool. The entries of a
// single piece lie in Go's heap if they must: 16 bytes for a pair, twice.
func (r *Run) newIndex(pieces []piece, account *mem.Account) (ix *index, left []piece) {
	room := (account.Left() - min(indexSlack, account.Limit()/4)) / (2 * entryBytes)
	n, pairs := 0, 0
	for n < len(pieces) && (n == 0 || int64(pairs+pieces[n].pairs) <= room) {
		pairs += pieces[n].pairs
		n++
	}
	ix = &index{account: account}
	tmp := ix.allocate(pairs)
	for ; tmp == nil && n > 1; tmp = ix.allocate(pairs) {
		for _, p := range pieces[n-n/2 : n] {
			pairs -= p.pairs
		}
		n -= n / 2
	}
	if tmp == nil {
		tmp, ix.entries, ix.heap = make([]order.Entry, pairs), make([]order.Entry, pairs), true
	}
	ix.pieces = pieces[:n]
	o := r.ordering()
	at := 0
	for i, p := range ix.pieces {
		for off := 0; off < len(p.data); at++ {
			k, v, begin := pair.Head(p.data, off)
			ix.entries[at] = order.Entry{Prefix: o.prefix(p.data[begin : begin+k]), Ref: uint64(i)<<32 | uint64(off)}
			off = begin + k + v
		}
	}
	if r.Job.Compare != nil {
		order.SortFunc(ix.entries, ix.key, r.Job.Compare)
	} else {
		order.Sort(ix.entries, tmp, ix.key)
	}
	if !ix.heap {
		mem.FreeSlice(account, tmp)
	}
	return ix, pieces[n:]
}

// allocate makes room for the entries of a number of pairs, and returns as much room again, which sorting needs; nil:
// the account has no room for both.
func (ix *index) allocate(pairs int) (tmp []order.Entry) {
	tmp = mem.Slice[order.Entry](ix.account, pairs)
	ix.entries = mem.Slice[order.Entry](ix.account, pairs)
	if tmp != nil && ix.entries != nil {
		return tmp
	}
	mem.FreeSlice(ix.account, tmp)
	mem.FreeSlice(ix.account, ix.entries)
	ix.entries = nil
	return nil
}

func (ix *index) free() {
	if !ix.heap {
		mem.FreeSlice(ix.account, ix.entries)
	}
	ix.entries = nil
}

func (ix *index) key(ref uint64) []byte {
	b := ix.pieces[ref>>32].data
	k, _, p := pair.Head(b, int(uint32(ref)))
	return b[p : p+k]
}

func (ix *index) fill(recs []rec) (int, error) {
	some := ix.entries[ix.at:min(ix.at+len(recs), len(ix.entries))]
	var touch byte
	for _, e := range some {
		touch |= ix.pieces[e.Ref>>32].data[uint32(e.Ref)]
	}
	ix.touch = touch
	for i, e := range some {
		key, value, _ := pair.Parse(ix.pieces[e.Ref>>32].data, int(uint32(e.Ref)))
		recs[i] = rec{e.Prefix, key, value}
	}
	ix.at += len(some)
	return len(some), nil
}

// fromSpill is a source of pairs of a segment of a file.
type fromSpill struct {
	*spill.Reader
	ordering
	blame *MapOutput // whose file it is; nil: the reduce's own
}

func (f *fromSpill) fill(recs []rec) (int, error) {
	if err := f.Block(); err == io.EOF {
		return 0, nil
	} else if err != nil {
		if f.blame != nil {
			err = f.blame.lostBy(err)
		}
		return 0, err
	}
	n := 0
	for ; n < len(recs) && f.Buffered(); n++ {
		if err := f.Next(); err != nil {
			if f.blame != nil {
				err = f.blame.lostBy(err)
			}
			return 0, err
		}
		recs[n] = rec{f.prefix(f.Key), f.Key, f.Value}
	}
	return n, nil
}

// fromTable is a source of folded pairs. It copies keys, because the table lends one at a time.
type fromTable struct {
	*fold.Cursor
	buf []byte
}

func (f *fromTable) fill(recs []rec) (int, error) {
	f.buf = f.buf[:0]
	f.Ahead(len(recs))
	n := 0
	for ; n < len(recs) && f.Next(); n++ {
		// A buffer that grows leaves earlier keys where they were.
		at := len(f.buf)
		f.buf = append(append(f.buf, f.Key...), f.Value...)
		mid := at + len(f.Key)
		key := f.buf[at:mid]
		recs[n] = rec{pair.Prefix(key), key, f.buf[mid:len(f.buf):len(f.buf)]}
	}
	return n, nil
}

// merger merges sources by a tree of losers (Knuth, The Art of Computer Programming 3, 5.4.1): each inner node keeps
// the source that lost the match there, so that the next winner costs one comparison a level. Of equal keys those of
// earlier sources go first.
type merger struct {
	ordering
	inputs []mergeInput
	tree   []int32 // losers; tree[0] is the winner
	dry    int     // the input to fill again, -1: none
}

type mergeInput struct {
	from source
	recs []rec
	n    int // of recs filled
	at   int // of recs read; n == 0: at its end
}

// mergePairs is how many pairs a merger takes from a source at a time.
const mergePairs = 64

func newMerger(o ordering, sources []source) (*merger, error) {
	m := &merger{
		ordering: o,
		inputs:   make([]mergeInput, len(sources)),
		tree:     make([]int32, max(len(sources), 1)),
		dry:      -1,
	}
	for i, s := range sources {
		in := &m.inputs[i]
		in.from, in.recs = s, make([]rec, mergePairs)
		if err := in.refill(); err != nil {
			return nil, err
		}
	}
	if len(sources) > 0 {
		m.tree[0] = m.build(1)
	}
	return m, nil
}

func (in *mergeInput) refill() (err error) {
	in.at = 0
	in.n, err = in.from.fill(in.recs)
	return err
}

// build plays the matches below a node of the tree, whose leaves are k..2k-1, and gives the winner.
func (m *merger) build(node int) int32 {
	k := len(m.inputs)
	if node >= k {
		return int32(node - k)
	}
	x, y := m.build(2*node), m.build(2*node+1)
	if m.before(y, x) {
		x, y = y, x
	}
	m.tree[node] = y
	return x
}

// before reports whether the head of input x goes before that of y.
func (m *merger) before(x, y int32) bool {
	a, b := &m.inputs[x], &m.inputs[y]
	if a.n == 0 || b.n == 0 {
		return a.n != 0 || b.n == 0 && x < y
	}
	c := m.order(&a.recs[a.at], &b.recs[b.at])
	return c < 0 || c == 0 && x < y
}

// replay plays the matches on the way from the winner's leaf to the root again, with the winner's next pair.
func (m *merger) replay() {
	w := m.tree[0]
	for node := (int(w) + len(m.inputs)) / 2; node > 0; node /= 2 {
		if m.before(m.tree[node], w) {
			m.tree[node], w = w, m.tree[node]
		}
	}
	m.tree[0] = w
}

// fill takes the pairs of the winners, one by one. It returns early when an input has no pair left in memory: the input
// is filled again in the next call, because what it lent is in recs until then.
func (m *merger) fill(recs []rec) (int, error) {
	if len(m.inputs) == 0 {
		return 0, nil
	}
	if m.dry >= 0 {
		if err := m.inputs[m.dry].refill(); err != nil {
			return 0, err
		}
		m.dry = -1
		m.replay()
	}
	n := 0
	for n < len(recs) {
		w := m.tree[0]
		in := &m.inputs[w]
		if in.n == 0 {
			break
		}
		recs[n] = in.recs[in.at]
		n++
		in.at++
		if in.at == in.n {
			m.dry = int(w) // what it lent is in recs: fill it when they have been used
			break
		}
		m.replay()
	}
	return n, nil
}

// folded is a source that folds equal neighbours of another.
type folded struct {
	from source
	fold *Fold
	recs []rec
	n    int
	at   int
	key  []byte
	acc  []byte
	open bool
}

func newFolded(from source, f *Fold) *folded {
	return &folded{from: from, fold: f, recs: make([]rec, fillPairs)}
}

// fill yields one pair at a time: it is used where more is folded than memory holds, and the disk is slower.
func (f *folded) fill(recs []rec) (int, error) {
	f.open = false
	for {
		if f.at == f.n {
			var err error
			f.at = 0
			if f.n, err = f.from.fill(f.recs); err != nil {
				return 0, err
			}
			if f.n == 0 {
				break
			}
		}
		r := &f.recs[f.at]
		if !f.open {
			f.key, f.acc, f.open = append(f.key[:0], r.key...), append(f.acc[:0], r.value...), true
		} else if bytes.Equal(f.key, r.key) {
			f.fold.add(f.acc, r.value)
		} else {
			break
		}
		f.at++
	}
	if !f.open {
		return 0, nil
	}
	recs[0] = rec{pair.Prefix(f.key), f.key, f.acc}
	return 1, nil
}

func (f *Fold) add(acc, value []byte) {
	if f.Into != nil {
		f.Into(acc, value)
		return
	}
	fold.AddInts(acc, value)
}

// counts reports whether values are one integer, added up.
func (f *Fold) counts() bool { return f.Width == 8 && f.Into == nil }

func (f *Fold) check() error {
	if f.Width < 0 || f.Width > maxWidth || f.Into == nil && f.Width%8 != 0 {
		return fmt.Errorf("fold: width of %d bytes, want 0 to %d, of sums a multiple of 8", f.Width, maxWidth)
	}
	return nil
}

const maxWidth = 64 << 10
