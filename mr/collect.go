package mr

import (
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn/mr/internal/fold"
	"github.com/sojourn-sched/sojourn/mr/internal/mem"
	"github.com/sojourn-sched/sojourn/mr/internal/pair"
	"github.com/sojourn-sched/sojourn/mr/internal/run"
)

// collector takes what a map emits: into a hash table where the job folds, else into a log for each part, in the order of emission.
// Nothing is sorted before it must be: in memory, the reduce sorts all of its part at once. When memory is used up, what is there
// goes sorted to the attempt's file.
type collector struct {
	run     *Run
	task    *Task
	account *mem.Account
	table   *fold.Table // nil: logs
	logs    []pairLog
	chunks  [][]byte // that the logs are in
	spare   []byte   // what is left of the last
	// mostPiece, in bytes: where there are so many parts that a chunk for each would fill memory, pieces stay smaller.
	mostPiece int
	file      *run.Writer
	path      string
	spills    [][]segment // by part
}

// pairLog is the pairs of one part, in pieces of whole pairs.
type pairLog struct {
	pieces []piece // full ones
	open   []byte
	opened int   // pairs in open
	pairs  int64 // in all
}

// piece is whole pairs side by side.
type piece struct {
	data  []byte
	pairs int
}

// segment is pairs of one part and one map: in memory, or sorted in a file.
type segment struct {
	pieces []piece // in memory
	path   string  // else
	file   run.Segment
	pairs  int64
	bytes  int64 // as they lie
}

func newCollector(r *Run, t *Task, account *mem.Account) *collector {
	c := &collector{run: r, task: t, account: account, spills: make([][]segment, r.Parts)}
	if f := r.Job.Fold; f != nil {
		c.table = fold.New(account, f.Width, f.Into)
		c.table.Reserve(int(r.hint.Load()))
	}
	c.logs = make([]pairLog, r.Parts)
	c.mostPiece = int(min(mem.Chunk, account.Limit()/int64(4*r.Parts)))
	return c
}

func (c *collector) part(key []byte) int {
	if len(c.logs) == 1 {
		return 0
	}
	if c.run.part == nil {
		return pair.Part(pair.Hash(key), len(c.logs))
	}
	return c.run.part(key, len(c.logs))
}

func (c *collector) partHashed(key []byte, hash uint64) int {
	if c.run.part == nil {
		return pair.Part(hash, len(c.logs))
	}
	return c.run.part(key, len(c.logs))
}

func (c *collector) add(key, value []byte) error {
	if c.table != nil {
		if len(value) != c.run.Job.Fold.Width {
			return fmt.Errorf("emit: value of %d bytes, the job's Fold has a Width of %d", len(value), c.run.Job.Fold.Width)
		}
		for !c.table.Add(key, value) {
			if err := c.spill(); err != nil {
				return err
			}
		}
		return nil
	}
	p := c.part(key)
	if uint(p) >= uint(len(c.logs)) {
		return fmt.Errorf("partition: part %d of a key, want 0 to %d", p, len(c.logs)-1)
	}
	l := &c.logs[p]
	if need := len(key) + len(value) + pair.MaxHead; need > cap(l.open)-len(l.open) {
		if err := c.more(l, need); err != nil {
			return err
		}
	}
	l.put(key, value)
	return nil
}

func (l *pairLog) put(key, value []byte) {
	l.open = pair.Append(l.open, key, value)
	l.opened++
	l.pairs++
}

// room makes room for a pair of need bytes with its head, and reports whether there is.
func (c *collector) room(l *pairLog, need int) bool {
	if need <= cap(l.open)-len(l.open) {
		return true
	}
	if need > len(c.spare) {
		b := c.account.Alloc(need)
		if b == nil {
			return false
		}
		c.chunks, c.spare = append(c.chunks, b), b
	}
	if len(l.open) > 0 {
		l.pieces = append(l.pieces, piece{l.open, l.opened})
	}
	// Pieces grow with their logs: many parts with little in each share chunks.
	n := max(need, min(max(leastPiece, 2*cap(l.open)), c.mostPiece))
	n = min(n, len(c.spare))
	l.open, l.opened, c.spare = c.spare[:0:n], 0, c.spare[n:]
	return true
}

// leastPiece is the size of a log's first piece, in bytes.
const leastPiece = 1 << 10

func (c *collector) addEach(text []byte, keys []Span, value []byte) error {
	if c.table == nil || len(value) != c.run.Job.Fold.Width {
		for _, k := range keys {
			if err := c.add(text[k.Start:k.End], value); err != nil {
				return err
			}
		}
		return nil
	}
	for {
		keys = keys[c.table.AddEach(text, keys, value):]
		if len(keys) == 0 {
			return nil
		}
		if err := c.spill(); err != nil {
			return err
		}
	}
}

// more opens a new piece with room for need bytes, after a spill if it must.
func (c *collector) more(l *pairLog, need int) error {
	for again := false; ; again = true {
		// An index of what the part holds must fit as well, to sort it. Where it does not, a spill sorts by pieces.
		if index := l.pairs * 2 * entryBytes; again || c.account.Left() > index {
			if c.room(l, need) {
				return nil
			}
		}
		if again {
			return fmt.Errorf("a pair of %d MiB does not fit the memory of an attempt, %d MiB", need>>20, c.account.Limit()>>20)
		}
		if err := c.spill(); err != nil {
			return err
		}
	}
}

// spill moves all that is in memory to the file, sorted.
func (c *collector) spill() error {
	a := c.task.attempt
	defer a.enter(a.enter(Spill))
	if c.file == nil {
		path := c.run.scratch("spill", MapStage, a)
		w, err := run.Create(path)
		if err != nil {
			return err
		}
		c.file, c.path = w, path
	}
	if c.table != nil {
		return c.spillTable()
	}
	for p := range c.logs {
		if err := c.spillLog(p); err != nil {
			return err
		}
	}
	c.dropLogs()
	return nil
}

func (c *collector) dropLogs() {
	for _, b := range c.chunks {
		c.account.Free(b)
	}
	c.chunks, c.spare = c.chunks[:0], nil
	clear(c.logs)
}

func (c *collector) spillTable() error {
	a := c.task.attempt
	if c.table.Len() == 0 {
		return fmt.Errorf("a pair does not fit the memory of an attempt, %d MiB", c.account.Limit()>>20)
	}
	a.enter(Sort)
	sorted := c.table.Sort(c.run.Parts, c.partHashed)
	a.enter(Spill)
	for p := range c.run.Parts {
		for at := sorted.Part(p); at.Next(); {
			c.file.Append(at.Key, at.Value)
		}
		if err := c.endSegment(p); err != nil {
			return err
		}
	}
	c.table.Reset(true)
	return nil
}

func (c *collector) endSegment(part int) error {
	s, err := c.file.End()
	if err != nil || s.Pairs == 0 {
		return err
	}
	a := c.task.attempt
	a.count(SpilledRecords, s.Pairs)
	a.count(FileBytesWritten, s.Length)
	c.spills[part] = append(c.spills[part], segment{path: c.path, file: s, pairs: s.Pairs, bytes: s.Length})
	return nil
}

// pieces are all pieces of a log.
func (l *pairLog) all() []piece {
	if len(l.open) == 0 {
		return l.pieces
	}
	return append(l.pieces[:len(l.pieces):len(l.pieces)], piece{l.open, l.opened})
}

func (c *collector) spillLog(part int) error {
	a := c.task.attempt
	for left := c.logs[part].all(); len(left) > 0; {
		a.enter(Sort)
		var ix *index
		ix, left = c.run.newIndex(left, c.account)
		a.enter(Spill)
		err := c.writeSorted(ix)
		ix.free()
		if err == nil {
			err = c.endSegment(part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSorted writes the pairs of an index to the file, combined if the job combines.
func (c *collector) writeSorted(ix *index) error {
	if c.run.Job.Combine != nil {
		return c.combine(ix, &Emitter{run: c.file})
	}
	var recs [fillPairs]rec
	for {
		n, err := ix.fill(recs[:])
		if n == 0 || err != nil {
			return err
		}
		for _, r := range recs[:n] {
			c.file.Append(r.key, r.value)
		}
	}
}

func (c *collector) combine(in source, out *Emitter) error {
	g := newGroups(c.task, in, out)
	err := c.run.Job.Combine(c.task, g, out)
	a := c.task.attempt
	a.count(CombineInputRecords, g.pairs)
	a.count(CombineOutputRecords, out.pairs)
	return firstError(err, g.failed, out.failed)
}

// finish gives what was collected as the output of the map.
func (c *collector) finish() (*MapOutput, error) {
	if err := c.rest(); err != nil {
		return nil, err
	}
	if !c.account.Move(c.chunks, c.run.Memory.results) {
		if err := c.spill(); err != nil {
			return nil, err
		}
	}
	a := c.task.attempt
	out := &MapOutput{Task: a.Task, Attempt: a.Number, path: c.path, chunks: c.chunks, account: c.run.Memory.results, refs: 1}
	out.parts = c.spills
	for p := range c.logs {
		l := &c.logs[p]
		if l.pairs == 0 {
			continue
		}
		s := segment{pieces: l.all(), pairs: l.pairs}
		for _, b := range s.pieces {
			s.bytes += int64(len(b.data))
		}
		out.parts[p] = append(out.parts[p], s)
	}
	for _, segments := range out.parts {
		for _, s := range segments {
			out.bytes += s.bytes
		}
	}
	c.chunks = nil
	if c.file != nil {
		err := c.file.Close()
		c.file = nil
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rest brings what is still in the table, or not yet combined, into logs that can be handed on.
func (c *collector) rest() error {
	a := c.task.attempt
	if c.table != nil {
		defer c.table.Reset(false)
		defer a.enter(a.enter(Sort))
		table := c.table
		c.run.hint.Store(int64(table.Len()))
		c.table = nil // from here on, add goes to the logs
		for at := table.Pairs(); at.Next(); {
			l := &c.logs[c.partHashed(at.Key, at.Hash)]
			if !c.room(l, len(at.Key)+len(at.Value)+pair.MaxHead) {
				c.dropLogs()
				c.table = table
				return c.spill()
			}
			l.put(at.Key, at.Value)
		}
		return nil
	}
	if c.run.Job.Combine == nil {
		return nil
	}
	if c.file != nil {
		return c.spill()
	}
	return c.combineInMemory()
}

var errFull = errors.New("memory of the attempt is full")

// combineInMemory replaces each log by what the combiner makes of it.
func (c *collector) combineInMemory() error {
	a := c.task.attempt
	old, chunks := c.logs, c.chunks
	c.logs, c.chunks, c.spare = make([]pairLog, len(old)), nil, nil
	for p := range old {
		if old[p].pairs == 0 {
			continue
		}
		before := a.enter(Sort)
		ix, left := c.run.newIndex(old[p].all(), c.account)
		a.enter(before)
		full := len(left) > 0
		if !full {
			err := c.combine(ix, &Emitter{collect: c, log: &c.logs[p]})
			if full = errors.Is(err, errFull); err != nil && !full {
				ix.free()
				c.chunks = append(c.chunks, chunks...)
				return err
			}
		}
		ix.free()
		if full {
			c.dropLogs()
			c.logs, c.chunks = old, chunks
			return c.spill()
		}
	}
	for _, b := range chunks {
		c.account.Free(b)
	}
	return nil
}

// discard drops everything: the attempt has failed.
func (c *collector) discard() {
	if c.table != nil {
		c.table.Reset(false)
	}
	c.dropLogs()
	if c.file != nil {
		c.file.Close()
	}
}
