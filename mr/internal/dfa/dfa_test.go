package dfa

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// expressions exercise each construct, and combinations that automata get wrong first: preference, assertions on both
// sides of a match, case, characters of several bytes, and bytes that are no characters.
var expressions = []string{
	`a`, `abc`, `a|b`, `a|ab`, `ab|a`, `(a|ab)(c|bcd)`, `a*`, `a*?`, `a+?b`, `(a*)*`, `(a|b)*?c`, `a{2,3}`,
	`a{2,3}?`, `x*y|x`, `^a`, `a$`, `^a$`, `^`, `$`, `^$`, `\Aa`, `a\z`, `(?m)^a$`, `(^a|b)c?`, `a(b$|c)`,
	`(^|b)a`, `a(b|$)`, `\ba`, `a\b`, `\bab?\b`, `\Ba`, `a\B`, `\b`, `\B`, `\b\w+\b`, `\w+\B`, `(\b|x)a`, `^\b`, `\b$`,
	`.`, `a.c`, `a.*c`, `a.*?c`, `.*`, `.+b`, `[^a]`, `[^a]+`, `[a-c]+d`, `\s+`, `\d{3}`, `\pL+`, `[^\pL]`, `\PL`,
	`(?i)abc`, `(?i)k+`, `(?i)[a-c]é`, `é`, `é+`, `[é-ü]`, `世.`, `\x{FFFD}`, `[^\x{FFFD}]`, `(?s).`, `(?U)a+b`,
	`(foo|bar|quux)+`, `foo.*bar`, `fo[ox]bar`, `(ab|cd){2}x?`, `[a-z]+@[a-z]+\.(com|org)`, `a.*b|a`,
	`(a|aa)(a|aa)(a|aa)`, `[[:alpha:]]+[0-9]`, `\Qa.b\E`, `(?:a|)b`, `(|a)+`, `(a|)+`, `\x00`, `[\x00-\x1f]`, `a\x80`,
}

var lines = []string{
	"", "a", "b", "ab", "abc", "abcd", "aaa", "aaaa", "ba", "xab ab", "a b", " ab ", "foo bar", "foobar", "quuxfoo",
	"foxbar", "é", "aéb", "AbC", "ABCÉ", "K", "世界", "a\x80b", "\xff\xfe", "\xe4\xb8", "a\xe4\xb8\x96\xe7", "\x00a\x01",
	"x@y.com, z@w.org", "a.b", "aXb", "abab cdcdx", "ab1 cd22 333", "\r", "a\rb", "aaab aab ab b",
	"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbba", "_a1 -a1-",
}

// all finds every match as regexp.FindAllIndex does, empty ones included.
func all(s *Searcher, line []byte) ([][]int, error) {
	var found [][]int
	for at, last := 0, -1; at <= len(line); {
		start, end, err := s.Find(line, at)
		if err != nil {
			return nil, err
		}
		if start < 0 {
			break
		}
		if end > start || start != last { // regexp passes over an empty match right after another match
			found = append(found, []int{start, end})
			last = end
		}
		at = end
		if start == end {
			at = end + max(1, width(line[end:]))
		}
	}
	return found, nil
}

func width(b []byte) int {
	for i := range string(b) {
		if i > 0 {
			return i
		}
	}
	return len(b)
}

func compare(t *testing.T, expr string, line []byte) {
	t.Helper()
	std, err := regexp.Compile(expr)
	if err != nil {
		t.Skip(err)
	}
	re, err := Compile(expr)
	if errors.Is(err, ErrTooLarge) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("%q: %v, but regexp compiles it", expr, err)
	}
	s := re.NewSearcher()
	got, err := all(s, line)
	if errors.Is(err, ErrThrash) {
		return
	}
	want := std.FindAllIndex(line, -1)
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i][0] == want[i][0] && got[i][1] == want[i][1]
	}
	if !same {
		t.Errorf("%q on %q: found %v, regexp found %v", expr, line, got, want)
	}
	if match, err := s.Match(line); err == nil && match != std.Match(line) {
		t.Errorf("%q on %q: Match is %v", expr, line, match)
	}
	literals, whole, err := Literals(expr)
	if err != nil {
		t.Errorf("%q: %v", expr, err)
	}
	if literals == nil {
		return
	}
	for _, m := range want {
		found, equal := false, false
		for _, lit := range literals {
			found = found || bytes.Contains(line[m[0]:m[1]], lit)
			equal = equal || bytes.Equal(line[m[0]:m[1]], lit)
		}
		if !found || whole && !equal {
			t.Errorf("%q matches %q, but its literals are %q (whole: %v)", expr, line[m[0]:m[1]], literals, whole)
		}
	}
}

func TestAgainstRegexp(t *testing.T) {
	for _, expr := range expressions {
		if expr == `\x{FFFD}` {
			continue // regexp itself searches for the three bytes of U+FFFD and misses bytes that are no characters
		}
		for _, line := range lines {
			compare(t, expr, []byte(line))
		}
	}
}

func FuzzAgainstRegexp(f *testing.F) {
	for i, expr := range expressions {
		f.Add(expr, []byte(lines[i%len(lines)]))
	}
	f.Fuzz(func(t *testing.T, expr string, line []byte) {
		if len(expr) > 60 || len(line) > 300 || bytes.ContainsAny(line, "\n") || strings.Contains(expr, "FFFD") ||
			strings.Contains(expr, "\uFFFD") {
			t.Skip()
		}
		compare(t, expr, line)
	})
}

func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		expr  string
		want  string
		whole bool
	}{
		{`needle`, "needle", true},
		{`(needle)`, "needle", true},
		{`foo|bar`, "foo bar", true},
		{`foo|foobar`, "foo foobar", false}, // which is found depends on preference
		{`a+needle.*x`, "needle", false},
		{`(foo|ba[rz])[0-9]+`, "foo bar baz", false},
		{`fo[ox]bar`, "foobar foxbar", true},
		{`[0-9]+ (dogs|cats)?$`, " ", false},
		{`x{2,3}`, "x", false},
		{`(?i)needle`, "", false},
		{`a*`, "", false},
		{`foo|.*`, "", false},
		{`^needle`, "needle", false},
		{`[a-z]+ing\b`, "ing", false},
	} {
		literals, whole, err := Literals(c.expr)
		if got := string(bytes.Join(literals, []byte(" "))); err != nil || got != c.want ||
			whole != c.whole && got != "" {
			t.Errorf("%s: literals %q, whole %v, error %v; want %q, %v", c.expr, got, whole, err, c.want, c.whole)
		}
	}
}

func TestFinder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		// Two letters make candidates frequent, and lengths around 8 and 32 meet the edges of words and of the unrolled
		// loop.
		text := make([]byte, r.IntN(100))
		for i := range text {
			text[i] = "ab"[r.IntN(2)]
		}
		lit := text[:min(len(text), 1+r.IntN(10))]
		if len(lit) == 0 || r.IntN(2) == 0 {
			lit = []byte("abba")
		}
		at := r.IntN(len(text) + 1)
		want := bytes.Index(text[at:], lit)
		if want >= 0 {
			want += at
		}
		if got, _ := NewFinder([][]byte{lit}).Find(text, at); got != want {
			t.Fatalf("%q in %q from %d: found at %d, want %d", lit, text, at, got, want)
		}
	}
	f := NewFinder([][]byte{[]byte("bar"), []byte("fo"), []byte("foo")})
	text := []byte("foo bar fo bar")
	for _, want := range [][3]int{{0, 0, 3}, {3, 4, 7}, {7, 8, 10}, {10, 11, 14}, {14, -1, 0}} {
		if start, end := f.Find(text, want[0]); start != want[1] || end != want[2] {
			t.Errorf("from %d: found %d to %d, want %d to %d", want[0], start, end, want[1], want[2])
		}
	}
}

// Memory stays bounded and results right when states are forgotten again and again: (a|b)*a(a|b){k} has 2^k states.
func TestForgettingStates(t *testing.T) {
	re, err := Compile(`(a|b)*a(a|b){14}c`)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	line := make([]byte, 300_000)
	for i := range line {
		line[i] = "ab"[r.IntN(2)]
	}
	_, err = re.NewSearcher().Match(line)
	if !errors.Is(err, ErrThrash) {
		t.Fatalf("2^14 states on random input: error %v, want ErrThrash", err)
	}
	copy(line[len(line)-20:], "aaaaaaaaaaaaaaaaaaac")
	s := re.NewSearcher()
	s.forward.patience, s.forward.limit = 1<<30, 5000
	if match, err := s.Match(line); !match || err != nil {
		t.Errorf("match %v, error %v, want a match at the end", match, err)
	}
	if n := len(s.forward.trans); n > 5000 {
		t.Errorf("%d transitions kept, want at most 5000", n)
	}
}

func BenchmarkFind(b *testing.B) {
	text := []byte(strings.Repeat("the quick brown fox jumps over the lazy dog and runs away from here\n", 16<<10))
	b.Run("literal", func(b *testing.B) {
		f := NewFinder([][]byte{[]byte("needle")})
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			f.Reset()
			f.Find(text, 0)
		}
	})
	b.Run("bytes.Index", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			bytes.Index(text, []byte("needle"))
		}
	})
	b.Run("automaton", func(b *testing.B) {
		re, err := Compile(`[a-z]+[0-9]`)
		if err != nil {
			b.Fatal(err)
		}
		s := re.NewSearcher()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			for line := range bytes.SplitSeq(text, []byte("\n")) {
				if match, _ := s.Match(line); match {
					b.Fatal("matched")
				}
			}
		}
	})
}
