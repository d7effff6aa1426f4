package dfa

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Regexp is a compiled expression. It is read-only: any number of Searchers, one a goroutine, share it.
type Regexp struct{ forward, reverse *program }

// ErrTooLarge says that an expression has too many characters of its own to be turned into classes; package regexp can
// still run it.
var ErrTooLarge = errors.New("expression is too large for an automaton")

// Compile compiles an expression in the syntax of package regexp. The error is ErrTooLarge, or says what is wrong with
// it.
func Compile(expr string) (*Regexp, error) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("compile regular expression: %w", err)
	}
	forward, err := newProgram(re)
	if err != nil {
		return nil, err
	}
	backward, err := newProgram(reversed(re))
	if err != nil {
		return nil, err
	}
	return &Regexp{forward, backward}, nil
}

// program is a compiled expression with its alphabet cut into classes: characters that no instruction tells apart.
type program struct {
	*syntax.Prog
	anchors bool        // has ^, $, \A or \z: the beginning of a line differs from its middle
	fixed   bool        // every match begins where the line begins
	words   bool        // has \b or \B: word characters differ from others
	classes int         // of characters; the class after the last stands for the end of the line
	ascii   [128]uint16 // class of each ASCII character
	starts  []rune      // ascending; starts[i] begins an interval of characters of one class, up to starts[i+1]
	class   []uint16    // of each interval
	matches [][]bool    // by instruction, nil where it reads no character: by class
	isWord  []bool      // by class; the end of the line is none
}

// maxWork bounds instructions × intervals, which is what newProgram takes time for: some 50 ms.
const maxWork = 20_000_000

func newProgram(re *syntax.Regexp) (*program, error) {
	compiled, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, fmt.Errorf("compile regular expression: %w", err)
	}
	p := &program{Prog: compiled, starts: []rune{0, utf8.RuneSelf}}
	p.fixed = compiled.StartCond()&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0
	readers := 0
	for i := range p.Inst {
		in := &p.Inst[i]
		switch in.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			readers++
			p.cut(in)
		case syntax.InstEmptyWidth:
			const word = syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
			if syntax.EmptyOp(in.Arg)&word != 0 {
				p.words = true
				p.starts = append(p.starts, '0', '9'+1, 'A', 'Z'+1, '_', '_'+1, 'a', 'z'+1)
			}
			if syntax.EmptyOp(in.Arg)&^word != 0 {
				p.anchors = true
			}
		}
	}
	slices.Sort(p.starts)
	p.starts = slices.Compact(p.starts)
	if readers*len(p.starts) > maxWork {
		return nil, ErrTooLarge
	}
	return p, p.classify()
}

// cut makes intervals begin where the characters that an instruction reads begin and end.
func (p *program) cut(in *syntax.Inst) {
	switch in.Op {
	case syntax.InstRuneAnyNotNL:
		p.starts = append(p.starts, '\n', '\n'+1)
	case syntax.InstRune, syntax.InstRune1:
		if len(in.Rune) == 1 {
			for r := in.Rune[0]; ; { // the character, and with (?i) those that differ from it by case
				p.starts = append(p.starts, r, r+1)
				if r = unicode.SimpleFold(r); syntax.Flags(in.Arg)&syntax.FoldCase == 0 || r == in.Rune[0] {
					return
				}
			}
		}
		for i := 0; i < len(in.Rune); i += 2 {
			p.starts = append(p.starts, in.Rune[i], in.Rune[i+1]+1)
		}
	}
}

// classify gives intervals that every instruction treats alike the same class.
func (p *program) classify() error {
	p.class = make([]uint16, len(p.starts))
	p.matches = make([][]bool, len(p.Inst))
	known := map[string]uint16{}
	var alike []byte
	for i, r := range p.starts {
		alike = append(alike[:0], bit(p.words && syntax.IsWordChar(r)))
		for k := range p.Inst {
			if readsRune(&p.Inst[k]) {
				alike = append(alike, bit(p.Inst[k].MatchRune(r)))
			}
		}
		class, ok := known[string(alike)]
		if !ok {
			class = uint16(len(known))
			if len(known) == 1<<15 {
				return ErrTooLarge
			}
			known[string(alike)] = class
			p.isWord = append(p.isWord, alike[0] == 1)
			for k := range p.Inst {
				if readsRune(&p.Inst[k]) {
					p.matches[k] = append(p.matches[k], p.Inst[k].MatchRune(r))
				}
			}
		}
		p.class[i] = class
	}
	p.classes = len(known)
	p.isWord = append(p.isWord, false)
	for c := range p.ascii {
		p.ascii[c] = p.classOf(rune(c))
	}
	return nil
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func readsRune(in *syntax.Inst) bool {
	return in.Op == syntax.InstRune || in.Op == syntax.InstRune1 || in.Op == syntax.InstRuneAny ||
		in.Op == syntax.InstRuneAnyNotNL
}

func (p *program) classOf(r rune) uint16 {
	i, found := slices.BinarySearch(p.starts, r)
	if !found {
		i--
	}
	return p.class[i]
}

// reversed is an expression for the same strings read backwards.
func reversed(re *syntax.Regexp) *syntax.Regexp {
	r := *re
	switch re.Op {
	case syntax.OpBeginText:
		r.Op = syntax.OpEndText
	case syntax.OpEndText:
		r.Op = syntax.OpBeginText
	case syntax.OpBeginLine:
		r.Op = syntax.OpEndLine
	case syntax.OpEndLine:
		r.Op = syntax.OpBeginLine
	case syntax.OpLiteral:
		r.Rune = slices.Clone(re.Rune)
		slices.Reverse(r.Rune)
	}
	r.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		r.Sub[i] = reversed(sub)
	}
	if re.Op == syntax.OpConcat {
		slices.Reverse(r.Sub)
	}
	return &r
}
