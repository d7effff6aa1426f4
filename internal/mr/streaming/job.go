package streaming

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"

	"github.com/sojourn-sched/sojourn/internal/joblog"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
)

// Programs are the command lines of a streaming job: a program and its arguments, quoted where one has blanks.
type Programs struct {
	Mapper   string // empty: lines are pairs
	Combiner string // empty: none
	Reducer  string // empty: pairs are output in the order of their keys; "NONE": the mapper's pairs are, as they come
}

// None as Programs.Reducer: no shuffle and no reduce.
const None = "NONE"

// Job makes a job of programs. Of conf it reads, by Hadoop's names, what is listed in options.go; all of it is in the
// programs' environment. What programs write to standard error goes to logs; nil: the end of it is kept, for errors. An
// error names the program or the option and what would be right.
func Job(programs Programs, conf mr.Conf, logs *joblog.Folder) (*mr.Job, error) {
	o, err := readOptions(conf)
	if err != nil {
		return nil, err
	}
	o.logs = logs
	j := &mr.Job{Name: o.name, Conf: conf, Map: mapLines(o.mapOut), Reduces: max(0, int(o.reduces))}
	if programs.Mapper != "" {
		s, err := o.stage("mapper", programs.Mapper, o.mapOut)
		if err != nil {
			return nil, err
		}
		j.Map = s.mapBatches
	}
	if programs.Combiner != "" {
		s, err := o.stage("combiner", programs.Combiner, o.mapOut)
		if err != nil {
			return nil, err
		}
		j.Combine = s.combine
	}
	switch {
	case programs.Reducer == None || o.reduces == 0:
		j.Reduces, j.Combine = mr.MapOnly, nil
	case programs.Reducer != "":
		s, err := o.stage("reducer", programs.Reducer, o.reduceOut)
		if err != nil {
			return nil, err
		}
		j.Reduce = s.reduce
	}
	return j, nil
}

// fields says where in a line the key ends.
type fields struct {
	separator []byte // at least one byte
	key       int    // the key is so many fields, at least one
}

// pair parts a line; one with too few separators is a key with an empty value.
func (f fields) pair(line []byte) (key, value []byte) {
	if f.key == 1 && len(f.separator) == 1 { // nearly always
		i := bytes.IndexByte(line, f.separator[0])
		if i < 0 {
			return line, nil
		}
		return line[:i], line[i+1:]
	}
	end := 0
	for range f.key {
		i := bytes.Index(line[end:], f.separator)
		if i < 0 {
			return line, nil
		}
		end += i + len(f.separator)
	}
	return line[:end-len(f.separator)], line[end:]
}

// each calls emit for the pair of each line.
func (f fields) each(lines []byte, emit func(key, value []byte)) {
	for len(lines) > 0 {
		i := bytes.IndexByte(lines, '\n')
		emit(f.pair(lines[:i]))
		lines = lines[i+1:]
	}
}

func mapLines(f fields) mr.Func[*mr.Batches] {
	return func(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
		for in.Next() {
			f.each(in.Data(), out.Emit)
		}
		return nil
	}
}

// stage runs one of the job's programs.
type stage struct {
	options *options
	args    []string
	out     fields
}

func (o *options) stage(role, line string, out fields) (*stage, error) {
	args, err := parseCommand(line)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	return &stage{o, args, out}, nil
}

// A pipe is a program at work for an attempt. The attempt's own goroutine feeds it, another emits what it writes; the
// engine's iterators and emitters share what they count, so they take turns.
type pipe struct {
	*Process
	task   *mr.Task
	before mr.Suspendable // the mapper, where this is its combiner
	turn   sync.Mutex
}

// start starts the stage's program for an attempt; file is what its mapper will read. The program is killed when out
// has failed, because a program may write without end.
func (s *stage) start(t *mr.Task, file *input.Range, out *mr.Emitter, emit func(key, value []byte)) (*pipe, error) {
	p := &pipe{task: t}
	process, err := Start(t.Context(), Command{
		Args: s.args,
		Env:  s.options.environment(t, file),
		Output: func(lines []byte) error {
			t.Alive()
			p.turn.Lock()
			defer p.turn.Unlock()
			s.out.each(lines, emit)
			return out.Err()
		},
		Reporter: t, Timeout: s.options.timeout, AnyExit: s.options.anyExit,
		log: s.options.logs.Of(t.JobID, t.Stage.String(), t.Index, t.Attempt), guard: &s.options.guard,
	})
	if err != nil {
		return nil, err
	}
	p.Process = process
	if p.before = t.Suspends(process); p.before != nil {
		t.Suspends(both{p.before, process})
	}
	return p, nil
}

// both are a mapper and the combiner that works on a part of its output.
type both [2]mr.Suspendable

func (b both) Suspend() { b[0].Suspend(); b[1].Suspend() }
func (b both) Resume()  { b[0].Resume(); b[1].Resume() }

// next moves an iterator when it is the pipe's turn.
func (p *pipe) next(move func() bool) bool {
	p.turn.Lock()
	defer p.turn.Unlock()
	return move()
}

// finish waits for the program and says what went wrong, in feeding it or at its end.
func (p *pipe) finish(fed error) error {
	if fed != nil && !errors.Is(fed, ErrNoMore) {
		if errors.Is(fed, syscall.EFAULT) { // the bytes to write lie in a file that has shrunk
			fed = fmt.Errorf("feed: %w", input.ErrChanged)
		}
		p.Kill(fed)
	}
	err := p.Wait()
	p.task.Suspends(p.before)
	p.task.Uses(p.CPU())
	return err
}

// mapBatches runs the mapper on a split: once for each file of it, since a mapper may ask which file it reads, or once
// for all of them where the job's input format says that it combines files. A file that two inputs name is two files. A
// split without records has its mapper run too, as in Hadoop.
func (s *stage) mapBatches(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	more := in.Next()
	for ranges := t.Split.Ranges; ; {
		var file *input.Range
		if more && !s.options.combined {
			for ranges[0].File != in.File() {
				ranges = ranges[1:] // it held no records
			}
		}
		if len(ranges) > 0 {
			file = &ranges[0]
		}
		ours := func() bool { return s.options.combined || in.File() == file.File }
		p, err := s.start(t, file, out, out.Emit)
		if err != nil {
			return err
		}
		var fed error
		for buf := []byte(nil); more && ours(); more = p.next(in.Next) {
			if fed != nil {
				continue // the program does not want the rest of this file
			}
			lines := in.Data()
			if s.options.keyed {
				buf = appendKeyed(buf[:0], lines)
				lines = buf
			}
			fed = p.Feed(lines)
		}
		if err := p.finish(fed); err != nil || !more {
			return err
		}
	}
}

// appendKeyed appends lines, with a TAB at the end of those that have none: a key without value.
func appendKeyed(to, lines []byte) []byte {
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n')
		to = append(to, lines[:end]...)
		if bytes.IndexByte(lines[:end], '\t') < 0 {
			to = append(to, '\t')
		}
		to = append(to, '\n')
		lines = lines[end+1:]
	}
	return to
}

// reduce runs the reducer on a part. A part without pairs has no output, as in Hadoop.
func (s *stage) reduce(t *mr.Task, in *mr.Groups, out *mr.Emitter) error {
	return s.groups(t, &pairFeed{in: in, separator: s.options.reduceIn}, out, out.Emit)
}

// combine runs the combiner on the groups of a spill. What it writes comes when it likes, and in the order it likes: it
// is kept, and emitted in the order of keys, which the engine relies on.
func (s *stage) combine(t *mr.Task, in *mr.Groups, out *mr.Emitter) error {
	var text []byte
	type pair struct{ key, value, end int } // where they begin and end in text
	var pairs []pair
	err := s.groups(t, &pairFeed{in: in, separator: s.out.separator}, out, func(key, value []byte) {
		p := pair{key: len(text), value: len(text) + len(key)}
		text = append(append(text, key...), value...)
		p.end = len(text)
		pairs = append(pairs, p)
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return bytes.Compare(text[a.key:a.value], text[b.key:b.value])
	})
	for _, p := range pairs {
		out.Emit(text[p.key:p.value], text[p.value:p.end])
	}
	return nil
}

// groups runs a program on all pairs of in. emit takes what it writes, and passes it on to out.
func (s *stage) groups(t *mr.Task, in *pairFeed, out *mr.Emitter, emit func(key, value []byte)) error {
	more := in.fill()
	if len(in.lines) == 0 {
		return nil
	}
	p, err := s.start(t, nil, out, emit)
	if err != nil {
		return err
	}
	var fed error
	for len(in.lines) > 0 && fed == nil {
		fed = p.Feed(in.lines)
		if in.lines = in.lines[:0]; more && fed == nil {
			more = p.next(in.fill)
		}
	}
	return p.finish(fed)
}

// pairFeed makes lines of pairs.
type pairFeed struct {
	in        *mr.Groups
	separator []byte
	inside    bool // a group
	lines     []byte
}

// feedBytes is how many bytes of lines are made at a time.
const feedBytes = 128 << 10

// fill makes the next lines, and reports whether there may be more.
func (f *pairFeed) fill() bool {
	f.lines = f.lines[:0]
	for len(f.lines) < feedBytes {
		if !f.inside && !f.in.Next() {
			return false
		}
		if f.inside = f.in.NextValue(); f.inside {
			f.lines = append(append(f.lines, f.in.Key()...), f.separator...)
			f.lines = append(append(f.lines, f.in.Value()...), '\n')
		}
	}
	return true
}
