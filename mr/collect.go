package mr

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sojourn-sched/sojourn/mr/internal/fold"
	"github.com/sojourn-sched/sojourn/mr/internal/mem"
	"github.com/sojourn-sched/sojourn/mr/internal/pair"
	"github.com/sojourn-sched/sojourn/mr/internal/spill"
)

// collector keeps the pairs that a map emits: in a hash table if the job folds, else in a log for each bin of each
// part, in the order of emission. Pairs are sorted as late as possible: a reduce sorts all pairs of a bin at once. When
// memory is used up, all pairs in memory are sorted and written to the attempt's file (a spill).
type collector struct {
	pairLogs
	run      *Run
	task     *Task
	table    *fold.Table // nil: pairs are in logs
	bins     *bins       // the bins of each part; nil: one bin
	unbinned bool        // bins may still be defined
	largest  int64       // pairs in the largest log, when it last asked for memory
	file     *spill.Writer
	path     string
	spills   [][]segment // by part
}

func newCollector(r *Run, t *Task, account *mem.Account) *collector {
	c := &collector{run: r, task: t, spills: make([][]segment, r.Parts), bins: r.bins.Load()}
	c.unbinned = c.bins == nil && r.binnable()
	c.pairLogs = c.newLogs(account)
	if f := r.Job.Fold; f != nil {
		c.table = fold.New(account, f.Width, f.Into)
		c.table.Reserve(int(r.hint.Load()))
	}
	return c
}

// newLogs makes an empty log for each bin of each part.
func (c *collector) newLogs(account *mem.Account) pairLogs {
	most := mem.Chunk
	if c.bins.each() > 1 {
		most = binPiece
	}
	return newPairLogs(account, c.run.Parts*c.bins.each(), most)
}

// place returns the index of the log for a key; negative: as Run.partOf.
func (c *collector) place(key []byte) int {
	hash := uint64(0)
	if c.run.Job.Partition == nil && c.run.Parts > 1 {
		hash = pair.Hash(key)
	}
	return c.run.place(c.bins, key, hash)
}

// add adds a pair to the table, or to the log of its key. If memory is short, it spills first.
func (c *collector) add(key, value []byte) error {
	if c.table != nil {
		if len(value) != c.run.Job.Fold.Width {
			return fmt.Errorf("emit: value of %d bytes, the job's Fold has a Width of %d", len(value),
				c.run.Job.Fold.Width)
		}
		for !c.table.Add(key, value) {
			if err := c.spill(); err != nil {
				return err
			}
		}
		return nil
	}
	at := c.place(key)
	if at < 0 {
		return c.badPart(key)
	}
	l := &c.logs[at]
	if need := len(key) + len(value) + pair.MaxHead; need > cap(l.open)-len(l.open) {
		if c.unbinned && len(c.chunks) > 1 { // enough for a sample
			c.bin()
			return c.add(key, value)
		}
		if err := c.more(l, need); err != nil {
			return err
		}
	}
	l.put(key, value)
	return nil
}

// badPart returns the error for a key that the job's Partition puts into no part.
func (c *collector) badPart(key []byte) error {
	return fmt.Errorf("partition: part %d of a key, want 0 to %d", c.run.Job.Partition(key, c.run.Parts), c.run.Parts-1)
}

// bin moves the pairs from a log for each part to a log for each bin, if there is memory for both.
func (c *collector) bin() {
	c.unbinned = false
	old := c.pairLogs
	if c.bins = c.run.bins.Load(); c.bins == nil {
		c.bins = c.run.publish(c.run.input, old.each)
	}
	if c.bins.each() == 1 {
		return
	}
	c.pairLogs = c.newLogs(c.account)
	moved := true
	old.each(func(key, value []byte) {
		moved = moved && c.copy(key, value)
	})
	if !moved {
		c.drop()
		c.pairLogs, c.bins = old, nil
		return
	}
	old.drop()
}

// copy adds a pair to its log, and reports whether there was memory for it.
func (c *collector) copy(key, value []byte) bool {
	l := &c.logs[c.place(key)]
	if !c.room(l, len(key)+len(value)+pair.MaxHead) {
		return false
	}
	l.put(key, value)
	return true
}

// addEach adds a pair for each of keys, which are spans of text, all with the same value. It does what as many calls of
// add do, and takes less time if the job folds. After an error, some of the pairs may have been added.
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

// moreSlack is how much memory must be left besides an index, since logs grow by a piece before they ask again.
const moreSlack = indexSlack + 2*mem.Chunk

// more opens a new piece of log l with room for need bytes. If memory is short, it spills first.
func (c *collector) more(l *pairLog, need int) error {
	for again := false; ; again = true {
		// An index of the largest log must fit as well, to sort it. If it does not fit, a spill sorts piece by piece.
		c.largest = max(c.largest, l.pairs)
		if again || c.account.Left() > c.largest*2*entryBytes+min(moreSlack, c.account.Limit()/4) {
			if c.room(l, need) {
				return nil
			}
		}
		if !again {
			if err := c.spill(); err != nil {
				return err
			}
		} else if !c.task.attempt.takeBack() {
			return pairTooLong(c.account)
		}
	}
}

// fit spills what is in memory, if that is too much for what the attempt is to hold since it was resized. It is called
// before the account's limit changes, so that there is room to sort.
func (c *collector) fit() error {
	limit := c.task.attempt.ration.limit()
	if c.account.Used()+c.largest*2*entryBytes <= limit {
		return nil
	}
	if c.table == nil || c.table.Len() > 0 {
		if err := c.spill(); err != nil {
			return err
		}
	}
	if c.table != nil && c.account.Used() > limit {
		c.table.Reset(false)
	}
	return nil
}

// errPairTooLong is the error for a pair that does not fit the memory of any attempt.
var errPairTooLong = errors.New("a pair does not fit the memory of an attempt")

func pairTooLong(account *mem.Account) error {
	return fmt.Errorf("%w, %d MiB; more memory helps", errPairTooLong, account.Limit()>>20)
}

// spill sorts all pairs in memory, writes them to the file, and frees their memory.
func (c *collector) spill() error {
	a := c.task.attempt
	defer a.enter(a.enter(Spill))
	if c.file == nil {
		path := c.run.scratch("spill", MapStage, a)
		w, err := spill.Create(path)
		if err != nil {
			return err
		}
		c.file, c.path = w, path
	}
	if c.table != nil {
		return c.spillTable()
	}
	for p := range c.run.Parts {
		if err := c.spillLogs(p); err != nil {
			return err
		}
	}
	c.drop()
	c.largest = 0
	return nil
}

// spillTable writes the pairs of the table to the file, a sorted segment for each part, and empties the table.
func (c *collector) spillTable() error {
	a := c.task.attempt
	if c.table.Len() == 0 { // besides the slots there is no room for a single pair
		if c.table.Shrink() || c.task.attempt.takeBack() {
			return nil
		}
		return pairTooLong(c.account)
	}
	a.enter(Sort)
	var bad error
	sorted := c.table.Sort(c.run.Parts, func(key []byte, hash uint64) int {
		p := c.run.partOf(key, hash)
		if p < 0 && bad == nil {
			bad = c.badPart(key)
		}
		return max(p, 0)
	})
	if bad != nil {
		return bad
	}
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

// endSegment ends the segment of a part that was written to the file, and counts it; a segment without pairs is
// dropped.
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

// spillLogs writes the bins of a part one after the other. The bins are in the order of their keys, so the result is
// sorted.
func (c *collector) spillLogs(part int) error {
	a := c.task.attempt
	per := c.bins.each()
	for i := part * per; i < (part+1)*per; i++ {
		for left := c.logs[i].all(); len(left) > 0; {
			a.enter(Sort)
			var ix *index
			ix, left = c.run.newIndex(left, c.account)
			a.enter(Spill)
			err := c.writeSorted(ix)
			ix.free()
			if err == nil && len(left) > 0 { // the pairs that are left may come before those written
				err = c.endSegment(part)
			}
			if err != nil {
				return err
			}
		}
	}
	return c.endSegment(part)
}

// writeSorted writes the pairs of an index to the file, in order. If the job has a combiner, it writes what that makes
// of them.
func (c *collector) writeSorted(ix *index) error {
	if c.run.Job.Combine != nil {
		return c.combine(ix, &Emitter{file: c.file})
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

// combine runs the combiner on the pairs of in, and counts its records.
func (c *collector) combine(in source, out *Emitter) error {
	g := newGroups(c.task, in, out)
	err := c.run.Job.Combine(c.task, g, out)
	a := c.task.attempt
	a.count(CombineInputRecords, g.pairs)
	a.count(CombineOutputRecords, out.pairs)
	return firstError(err, g.failed, out.failed, context.Cause(a.ctx))
}

// finish returns the collected pairs as the output of the map. Their memory does not count as the attempt's any more.
func (c *collector) finish() (*MapOutput, error) {
	if err := c.rest(); err != nil {
		return nil, err
	}
	if c.unbinned && c.run.bins.Load() != nil { // other maps have bins, and reduces need the bins of all maps
		c.bin()
	}
	a := c.task.attempt
	out := &MapOutput{Task: a.Task, Attempt: a.Number, memory: c.run.Memory, refs: 1}
	out.parts = c.spills
	if !c.shelve(out) {
		if !c.account.Move(c.chunks, c.run.Memory.results) {
			if err := c.spill(); err != nil {
				return nil, err
			}
		}
		c.segments(out)
		out.chunks, c.chunks = c.chunks, nil
	}
	out.path = c.path
	for _, segments := range out.parts {
		for i := range segments {
			out.bytes += segments[i].bytes
		}
	}
	if c.file != nil {
		err := c.file.Close()
		c.file = nil
		if err != nil {
			out.Release()
			return nil, err
		}
	}
	return out, nil
}

// segments adds the pairs in the logs to out, a segment for each part.
func (c *collector) segments(out *MapOutput) {
	per := c.bins.each()
	for p := range out.parts {
		if s := c.segment(p*per, (p+1)*per); s.pairs > 0 {
			out.parts[p] = append(out.parts[p], s)
		}
	}
}

// shelve copies the logs to a chunk that small outputs share. It returns false if the logs are too large or the chunk
// has no room.
func (c *collector) shelve(out *MapOutput) bool {
	if len(c.chunks) != 1 || len(c.chunks[0])-len(c.spare) > smallOutput {
		return false
	}
	n := 0
	for i := range c.logs {
		for _, p := range c.logs[i].all() {
			n += len(p.data)
		}
	}
	shared, room := c.run.Memory.small.put(n)
	if shared == nil {
		return false
	}
	out.shared = shared
	c.segments(out)
	for _, segments := range out.parts {
		for i := range segments {
			for j := range segments[i].pieces {
				p := &segments[i].pieces[j]
				n := copy(room, p.data)
				p.data, room = room[:n:n], room[n:]
			}
		}
	}
	c.drop()
	return true
}

// rest prepares the pairs that are still in memory when the map has ended, so that finish can hand them to reduces.
// Reduces read logs and files. So the pairs of a table move to the logs. Logs of a job with a combiner are combined: in
// memory if the attempt has not spilled yet, else on their way to its file, by another spill. Logs of a job without a
// combiner stay as they are. If memory is short, the pairs are spilled instead.
func (c *collector) rest() error {
	a := c.task.attempt
	if c.table != nil {
		defer a.enter(a.enter(Sort))
		return c.restOfTable()
	}
	if c.run.Job.Combine == nil {
		return nil
	}
	if c.file != nil {
		return c.spill()
	}
	return c.combineInMemory()
}

// restOfTable moves the pairs of the table to the logs. If no map has defined bins yet and this one has enough keys, it
// defines them first. If memory is too short for the logs, it spills the table instead.
func (c *collector) restOfTable() error {
	table := c.table
	defer table.Reset(false)
	c.run.hint.Store(int64(table.Len()))
	if c.unbinned && table.Len() >= leastBinned {
		// Other maps emit about as many bytes. But if keys repeat often in this map, they repeat in other maps too, so
		// that these add little.
		all := table.Bytes() * int64(c.run.maps)
		if table.Repeats() {
			all = 2 * table.Bytes()
		}
		c.bins = c.run.publish(all, func(f func(key, value []byte)) {
			for at := table.Pairs(); at.Next(); {
				f(at.Key, at.Value)
			}
		})
		c.pairLogs, c.unbinned = c.newLogs(c.account), false
	}
	c.table = nil // from here on, add goes to the logs
	for at := table.Pairs(); at.Next(); {
		place := c.run.place(c.bins, at.Key, at.Hash)
		if place < 0 {
			return c.badPart(at.Key)
		}
		l := &c.logs[place]
		if !c.room(l, len(at.Key)+len(at.Value)+pair.MaxHead) {
			c.drop()
			c.table = table
			return c.spill()
		}
		l.put(at.Key, at.Value)
	}
	return nil
}

var errFull = errors.New("memory of the attempt is full")

// combineInMemory replaces each log by what the combiner makes of it.
func (c *collector) combineInMemory() error {
	a := c.task.attempt
	old := c.pairLogs
	c.pairLogs = c.newLogs(c.account)
	for p := range old.logs {
		if old.logs[p].pairs == 0 {
			continue
		}
		before := a.enter(Sort)
		ix, left := c.run.newIndex(old.logs[p].all(), c.account)
		a.enter(before)
		full := len(left) > 0
		if !full {
			err := c.combine(ix, &Emitter{collect: c, log: &c.logs[p]})
			if full = errors.Is(err, errFull); err != nil && !full {
				return err
			}
		}
		ix.free()
		if full {
			c.drop()
			c.pairLogs = old
			return c.spill()
		}
	}
	old.drop()
	return nil
}

// discard removes the file of a failed attempt. The caller frees the account's memory.
func (c *collector) discard() {
	if c.file != nil {
		c.file.Close()
	}
	os.Remove(c.path)
}
