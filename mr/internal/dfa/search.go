package dfa

import (
	"encoding/binary"
	"errors"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// Searcher searches lines for a Regexp. It keeps the states it has met, within bounds; for one goroutine.
type Searcher struct {
	forward, reverse *automaton
}

// ErrThrash says that nearly every character led to a new state: package regexp is faster. The search can be repeated.
var ErrThrash = errors.New("automaton has too many states")

// NewSearcher returns a Searcher without any states.
func (re *Regexp) NewSearcher() *Searcher {
	return &Searcher{forward: newAutomaton(re.forward, true), reverse: newAutomaton(re.reverse, false)}
}

// Match reports whether line, without its newline, contains a match.
func (s *Searcher) Match(line []byte) (bool, error) {
	end, err := s.forward.run(line, 0, true)
	return end >= 0, err
}

// Find returns the leftmost match that begins at or after at, 0 ≤ at ≤ len(line), as regexp's Find would with the line
// before at for context; start is -1 where there is none.
func (s *Searcher) Find(line []byte, at int) (start, end int, err error) {
	end, err = s.forward.run(line, at, false)
	if end < 0 || err != nil {
		return -1, -1, err
	}
	start, err = s.reverse.runBack(line, at, end)
	return start, end, err
}

// automaton is a program as a deterministic automaton. A state is what a backtracking matcher could still be doing, in
// order of preference, before the assertions (^, \b) at its position are decided: those need the next character, so a
// match is noticed one character late, by a mark on the transition.
type automaton struct {
	prog     *program
	leftmost bool // the preferred match; else the longest. Only the leftmost may begin anywhere

	stride   int              // classes and the end of the line
	trans    []int32          // by state · stride + class: see below
	states   []state          // by number; 0 is not used
	known    map[string]int32 // state's key → its number
	begins   [contexts]int32  // initial states, by what is before them
	limit    int              // of len(trans)
	patience int              // states that a search may make free of charge: see charge
	budget   int              // states that may still be made, from -patience to patience
	reach    []uint32         // pcs reached in this step, in order of preference
	stack    []uint32
	mark     []uint32 // by pc: == round if reached in this step
	round    uint32
	next     []uint32 // pcs of the state that is made
	key      []byte
}

// A transition is the number of the next state times stride; negative (bitwise complement) where this needs a look: a
// match ends before the character that was read, or the next state is dead. Zero is not known yet.
const (
	dead      = 1 // number of the state that nothing leads out of
	matchMark = 1 << 30
)

// state is the pcs to go on from, in order of preference, and what the last character was.
type state struct {
	pcs     []uint32
	before  context
	seeking bool // a match may also begin here, less preferred than all that is going on
}

// context is what assertions want to know of the character before a position. Where a program has none that ask, it is
// middle.
type context uint8

const (
	middle context = iota // any other character
	word
	begin
	contexts
)

// maxTransitions bounds an automaton's memory: 4 bytes each, 8 MiB. Ten thousand states take a few milliseconds to
// make.
const (
	maxTransitions = 2 << 20
	patience       = 10_000
)

func newAutomaton(p *program, leftmost bool) *automaton {
	a := &automaton{prog: p, leftmost: leftmost, stride: p.classes + 1, mark: make([]uint32, len(p.Inst))}
	a.limit, a.patience = max(maxTransitions, 16*a.stride), patience
	a.clear()
	return a
}

func (a *automaton) clear() {
	a.trans = append(a.trans[:0], make([]int32, 2*a.stride)...)
	a.states = append(a.states[:0], state{}, state{})
	a.known = map[string]int32{}
	a.begins = [contexts]int32{}
}

// beginning is the state, times stride, before anything is read.
func (a *automaton) beginning(before context) int32 {
	if a.begins[before] == 0 {
		var pcs []uint32
		if !a.leftmost {
			pcs = []uint32{uint32(a.prog.Start)}
		}
		a.begins[before] = a.number(pcs, before, a.leftmost)
	}
	return a.begins[before] * int32(a.stride)
}

// context is that of a position after a character of the given class.
func (a *automaton) context(class uint16) context {
	if a.prog.words && a.prog.isWord[class] {
		return word
	}
	return middle
}

func (a *automaton) lineBegin() context {
	if a.prog.anchors {
		return begin
	}
	return middle
}

// number finds or makes the state.
func (a *automaton) number(pcs []uint32, before context, seeking bool) int32 {
	if len(pcs) == 0 && !seeking {
		return dead
	}
	a.key = append(a.key[:0], byte(before), bit(seeking))
	for _, pc := range pcs {
		a.key = binary.LittleEndian.AppendUint32(a.key, pc)
	}
	n, ok := a.known[string(a.key)]
	if !ok {
		n = int32(len(a.states))
		a.known[string(a.key)] = n
		a.states = append(a.states, state{slices.Clone(pcs), before, seeking})
		a.trans = append(a.trans, make([]int32, a.stride)...)
	}
	return n
}

// charge accounts for one more state made at the expense of a search that has read n characters since its last charge.
// It allows as many states as there is patience, and one more for each ten characters read.
func (a *automaton) charge(n int) error {
	a.budget = min(a.budget+n/10, a.patience) - 1
	if a.budget < -a.patience {
		a.budget = 0
		return ErrThrash
	}
	return nil
}

// step makes the transition from state (times stride) by a class, or by the end of the line. Where memory is full all
// states are forgotten first, and the transition leads to a new one, whose number is valid from then on.
func (a *automaton) step(from int32, class uint16) int32 {
	st := a.states[int(from)/a.stride]
	matched := a.close(st, class)
	a.next = a.next[:0]
	a.round++
	for _, pc := range a.reach {
		if in := &a.prog.Inst[pc]; in.Op != syntax.InstMatch && int(class) < a.prog.classes &&
			a.prog.matches[pc][class] &&
			a.mark[in.Out] != a.round {
			a.mark[in.Out] = a.round
			a.next = append(a.next, in.Out)
		}
	}
	if len(a.trans)+a.stride > a.limit {
		a.clear()
		from = -1
	}
	t := a.number(a.next, a.context(class), st.seeking && !matched && !a.prog.fixed) * int32(a.stride)
	if matched {
		t |= matchMark
	}
	if matched || t == dead*int32(a.stride) {
		t = ^t
	}
	if from >= 0 {
		a.trans[int(from)+int(class)] = t
	}
	return t
}

// close fills reach with the pcs that read a character, or match, before a character of the class: what the state's pcs
// lead to without reading, in order of preference. In a leftmost automaton it ends at a match: what is less preferred
// is lost.
func (a *automaton) close(st state, class uint16) (matched bool) {
	holds := syntax.EmptyOp(0)
	if st.before == begin {
		holds |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	}
	if int(class) == a.prog.classes {
		holds |= syntax.EmptyEndText | syntax.EmptyEndLine
	}
	if (st.before == word) != a.prog.isWord[class] {
		holds |= syntax.EmptyWordBoundary
	} else {
		holds |= syntax.EmptyNoWordBoundary
	}
	a.reach = a.reach[:0]
	a.round++
	a.stack = a.stack[:0]
	if st.seeking {
		a.stack = append(a.stack, uint32(a.prog.Start))
	}
	for _, pc := range slices.Backward(st.pcs) {
		a.stack = append(a.stack, pc)
	}
	for len(a.stack) > 0 {
		pc := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if a.mark[pc] == a.round {
			continue
		}
		a.mark[pc] = a.round
		switch in := &a.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			a.stack = append(a.stack, in.Arg, in.Out)
		case syntax.InstCapture, syntax.InstNop:
			a.stack = append(a.stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				a.stack = append(a.stack, in.Out)
			}
		case syntax.InstMatch:
			matched = true
			if a.leftmost {
				return true
			}
		case syntax.InstFail:
		default:
			a.reach = append(a.reach, pc)
		}
	}
	return matched
}

// run returns where the preferred match that begins at or after at ends, -1 if there is none; with any, where some
// match ends.
func (a *automaton) run(line []byte, at int, any bool) (int, error) {
	s := a.beginning(a.contextBefore(line, at))
	last, charged := -1, at
	stride := int32(a.stride)
	for i := at; ; {
		class, width := uint16(a.prog.classes), 0
		if i < len(line) {
			if c := line[i]; c < utf8.RuneSelf {
				class, width = a.prog.ascii[c], 1
			} else {
				r, w := utf8.DecodeRune(line[i:])
				class, width = a.prog.classOf(r), w
			}
		}
		t := a.trans[int(s)+int(class)]
		if t <= 0 {
			if t == 0 {
				if err := a.charge(i - charged); err != nil {
					return -1, err
				}
				charged = i
				t = a.step(s, class)
			}
			if t < 0 {
				t = ^t
				if t&matchMark != 0 {
					t &^= matchMark
					last = i
					if any {
						return last, nil
					}
				}
				if t == dead*stride {
					return last, nil
				}
			}
		}
		if width == 0 {
			return last, nil
		}
		s = t
		i += width
		// The common case: ASCII, known, and nothing to look at.
		trans, ascii := a.trans, &a.prog.ascii
		for i < len(line) {
			c := line[i]
			if c >= utf8.RuneSelf {
				break
			}
			t := trans[int(s)+int(ascii[c])]
			if t <= 0 {
				break
			}
			s = t
			i++
		}
	}
}

// runBack returns the least start such that line[start:end] matches, start ≥ at; there is one.
func (a *automaton) runBack(line []byte, at, end int) (int, error) {
	before := a.lineBegin()
	if end < len(line) {
		r, _ := utf8.DecodeRune(line[end:])
		before = a.context(a.prog.classOf(r))
	}
	s := a.beginning(before)
	last, charged := -1, end
	stride := int32(a.stride)
	for i := end; ; {
		class, width := uint16(a.prog.classes), 0
		if i > 0 {
			r, w := utf8.DecodeLastRune(line[:i])
			class, width = a.prog.classOf(r), w
		}
		t := a.trans[int(s)+int(class)]
		if t == 0 {
			if err := a.charge(charged - i); err != nil {
				return -1, err
			}
			charged = i
			t = a.step(s, class)
		}
		if t < 0 {
			t = ^t
			if t&matchMark != 0 {
				t &^= matchMark
				last = i
			}
			if t == dead*stride {
				return last, nil
			}
		}
		if i <= at {
			return last, nil
		}
		s = t
		i -= width
	}
}

func (a *automaton) contextBefore(line []byte, at int) context {
	if at == 0 {
		return a.lineBegin()
	}
	r, _ := utf8.DecodeLastRune(line[:at])
	return a.context(a.prog.classOf(r))
}
