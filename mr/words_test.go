package mr

import (
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
