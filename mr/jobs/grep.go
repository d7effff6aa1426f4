package jobs

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/internal/dfa"
)

// Grep counts what a regular expression matches: docs/spec/jobs.md, 2.2. The first round counts texts, the second puts
// them in order of their counts.
func Grep(conf mr.Conf) (*mr.Job, error) {
	p, err := newPattern(conf)
	if err != nil {
		return nil, err
	}
	return &mr.Job{
		Name: "grep: search",
		Conf: conf,
		Fold: mr.Sum(1),
		Map:  p.count,
		Next: func(r *mr.Round) (*mr.Job, error) {
			return &mr.Job{
				Name:    "grep: sort",
				Conf:    conf,
				Input:   r.Parts,
				Reduces: 1,
				Map:     mostFrequent,
				Reduce:  writeCounts,
			}, nil
		},
	}, nil
}

func mostFrequent(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	var keys pending
	for in.Next() {
		for text := in.Data(); len(text) > 0; {
			n := lineLength(text)
			line := text[:n]
			text = text[min(n+1, len(text)):]
			tab := bytes.LastIndexByte(line, '\t')
			count, ok := parseCount(line[tab+1:])
			if tab < 0 || !ok {
				return fmt.Errorf("sort matches: %s: %.80q is not text TAB count", in.Path(), line)
			}
			keys.text = append(mr.AppendInt64(keys.text, -count), line[:tab]...)
			keys.end(out, nil)
		}
	}
	keys.flush(out, nil)
	return nil
}

func writeCounts(_ *mr.Task, in *mr.Groups, out *mr.Emitter) error {
	for in.Next() {
		key := in.Key()
		out.Emit(fmt.Append(nil, -mr.OrderedInt64(key)), key[8:])
	}
	return nil
}

// pattern is what to search for; read-only.
type pattern struct {
	std      *regexp.Regexp
	auto     *dfa.Regexp // nil: the expression is too large
	group    int
	literals [][]byte // every match contains one of them, and none has a newline; nil: unknown
	whole    bool     // every match is one of the literals: nothing else needs to be looked at
	never    bool     // no line matches
}

func newPattern(conf mr.Conf) (*pattern, error) {
	expr := conf.String("pattern", "")
	if expr == "" {
		return nil, fmt.Errorf("configuration pattern: missing; give the regular expression to count, as in -D " +
			"pattern='[a-z]+ing'")
	}
	p := &pattern{}
	var err error
	if p.std, err = regexp.Compile(expr); err != nil {
		return nil, fmt.Errorf("configuration pattern=%q: %w", expr, err)
	}
	group, err := conf.Int("group", 0, 0, int64(p.std.NumSubexp()))
	if err != nil {
		return nil, err
	}
	p.group = int(group)
	p.auto, _ = dfa.Compile(expr) // what regexp compiles fails here only for its size
	if p.literals, p.whole, err = dfa.Literals(expr); err != nil {
		return nil, fmt.Errorf("configuration pattern=%q: %w", expr, err)
	}
	p.whole = p.whole && p.group == 0
	// A match with a newline in it cannot be: lines have none. Without any literal left, nothing matches.
	newline := func(lit []byte) bool { return bytes.IndexByte(lit, '\n') >= 0 }
	p.never = p.literals != nil && !slices.ContainsFunc(p.literals, func(lit []byte) bool { return !newline(lit) })
	p.literals = slices.DeleteFunc(p.literals, newline)
	return p, nil
}

// count is the map function: it counts each text that matches.
func (p *pattern) count(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	m := p.matcher()
	for in.Next() {
		m.search(in.Data(), out)
	}
	return nil
}

// matcher searches for a pattern; for one goroutine.
type matcher struct {
	*pattern
	finder *dfa.Finder   // nil: no literals
	auto   *dfa.Searcher // nil: package regexp is used
	found  []mr.Span
}

func (p *pattern) matcher() *matcher {
	m := &matcher{pattern: p}
	if len(p.literals) > 0 {
		m.finder = dfa.NewFinder(p.literals)
	}
	if p.auto != nil {
		m.auto = p.auto.NewSearcher()
	}
	return m
}

// search emits every match in text, which is whole lines.
func (m *matcher) search(text []byte, out *mr.Emitter) {
	if m.finder != nil {
		m.finder.Reset()
	}
	switch {
	case m.never:
	case m.whole && len(m.literals) == 1:
		n := int64(0)
		for start, end := m.finder.Find(text, 0); start >= 0; start, end = m.finder.Find(text, end) {
			n++
		}
		if n > 0 {
			out.Emit(m.literals[0], mr.AppendSum(nil, n))
		}
	case m.whole:
		for start, end := m.finder.Find(text, 0); start >= 0; start, end = m.finder.Find(text, end) {
			m.add(start, end)
			m.flush(text, out, wordBatch)
		}
	case m.finder != nil:
		// Only lines that have a literal can match.
		for at := 0; ; {
			hit, _ := m.finder.Find(text, at)
			if hit < 0 {
				break
			}
			start := at + bytes.LastIndexByte(text[at:hit], '\n') + 1
			at = min(hit+lineLength(text[hit:]), len(text))
			m.line(text, start, at)
			m.flush(text, out, wordBatch)
		}
	default:
		for at := 0; at < len(text); at++ {
			end := at + lineLength(text[at:])
			m.line(text, at, end)
			m.flush(text, out, wordBatch)
			at = end
		}
	}
	m.flush(text, out, 1)
}

func (m *matcher) add(start, end int) {
	m.found = append(m.found, mr.Span{Start: uint32(start), End: uint32(end)})
}

// flush emits what was found if that is much.
func (m *matcher) flush(text []byte, out *mr.Emitter, much int) {
	if len(m.found) >= much {
		out.EmitEach(text, m.found, mr.One)
		m.found = m.found[:0]
	}
}

// line finds the matches of the line text[start:end].
func (m *matcher) line(text []byte, start, end int) {
	if m.auto != nil && m.automatic(text[start:end], start) {
		return
	}
	for _, match := range m.std.FindAllSubmatchIndex(text[start:end], -1) {
		if from, to := match[2*m.group], match[2*m.group+1]; to > from {
			m.add(start+from, start+to)
		}
	}
}

// automatic finds the matches of a line that begins at offset with the automaton. False: it did nothing, and package
// regexp has to; from now on, if the automaton is too slow for this pattern and input.
func (m *matcher) automatic(line []byte, offset int) bool {
	before := len(m.found)
	if m.group > 0 {
		match, err := m.auto.Match(line)
		if err != nil {
			m.auto = nil
		}
		return err == nil && !match
	}
	for at := 0; at <= len(line); {
		start, end, err := m.auto.Find(line, at)
		switch {
		case err != nil:
			m.auto, m.found = nil, m.found[:before]
			return false
		case start < 0:
			return true
		case end > start:
			m.add(offset+start, offset+end)
			at = end
		default: // an empty match is not counted; go on behind the next character
			_, width := utf8.DecodeRune(line[end:])
			at = end + max(1, width)
		}
	}
	return true
}
