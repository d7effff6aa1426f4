package mr

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWords finds the words that strings.FieldsFunc finds, in any text and with any room for spans.
func TestWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune(" \t\n\v\f\r\x00\x1f!aé\u0120x"))).Draw(t, "text")
		spans := make([]Span, rapid.IntRange(8, 20).Draw(t, "room"))
		var got []string
		for at := 0; at < len(text); {
			n, next := Words(spans, []byte(text), at)
			if next <= at {
				t.Fatalf("no progress at %d", at)
			}
			for _, s := range spans[:n] {
				got = append(got, text[s.Start:s.End])
			}
			at = next
		}
		want := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\f\r", r) })
		if !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// BenchmarkWords finds the words of a mebibyte, beside the functions of package bytes. Fields ends words at other
// characters, too.
func BenchmarkWords(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for len(text) < 1<<20 {
		for range 1 + int(r.ExpFloat64()*5) {
			text = append(text, byte('a'+r.IntN(26)))
		}
		text = append(text, " \n"[r.IntN(16)/15])
	}
	words := 0
	for _, by := range []struct {
		name string
		find func()
	}{
		{"own", func() {
			var spans [1024]Span
			for at := 0; at < len(text); {
				n, next := Words(spans[:], text, at)
				words, at = words+n, next
			}
		}},
		{"FieldsFuncSeq", func() {
			for range bytes.FieldsFuncSeq(text, func(c rune) bool { return c < 0x80 && isBlank(byte(c)) }) {
				words++
			}
		}},
		{"FieldsSeq", func() {
			for range bytes.FieldsSeq(text) {
				words++
			}
		}},
	} {
		b.Run(by.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			words = 0
			for b.Loop() {
				by.find()
			}
			if words != b.N*len(bytes.Fields(text)) {
				b.Errorf("%d words in %d rounds", words, b.N)
			}
		})
	}
}
