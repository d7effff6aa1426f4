package generate

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func written(t *testing.T, w Writer) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := w.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The checksum that Hadoop's teravalidate prints for `teragen 1000000`, sorted or not, as its users have published it
// and as Apache Ignite's tests expect it: the records are Hadoop's.
func TestTeraGenIsHadoops(t *testing.T) {
	var sum uint64
	records := 0
	err := TeraGen{Rows: 1_000_000}.Write(eachRecord(func(rec []byte) {
		sum += uint64(crc32.ChecksumIEEE(rec))
		records++
	}))
	if err != nil || records != 1_000_000 || sum != 0x7a27e2d0d55de {
		t.Fatalf("got %d records with checksum %x, error %v, want 1000000 with 7a27e2d0d55de", records, sum, err)
	}
}

func TestTeraGenStartsAnywhere(t *testing.T) {
	whole := written(t, TeraGen{Rows: 1000})
	if part := written(t, TeraGen{First: 700, Rows: 300}); !bytes.Equal(whole[70_000:], part) {
		t.Error("records 700 to 999 made alone differ from the same made after the first 700")
	}
	if other := written(t, TeraGen{Rows: 1000, Seed: 1}); bytes.Equal(whole[:10], other[:10]) {
		t.Error("seeds 0 and 1 have the same first key")
	}
	// The layout of gensort's documentation: break bytes and the record's number at fixed places.
	last := whole[99_900:]
	if got := hex.EncodeToString(last[10:12]) + string(last[12:44]) + hex.EncodeToString(last[44:48]); got != "0011"+
		fmt.Sprintf("%032X", 999)+"8899aabb" {
		t.Errorf("record 999 has %s after its key", got)
	}
}

// eachRecord is a writer that calls a function for each 100 bytes.
type eachRecord func(rec []byte)

func (f eachRecord) Write(p []byte) (int, error) {
	for rec := range slices.Chunk(p, recordBytes) {
		f(rec)
	}
	return len(p), nil
}

// Output ends with the line that reaches the size asked for, is the same each time, and depends on the seed.
func TestSizeAndSeed(t *testing.T) {
	const size = 300_000
	for name, entry := range All {
		a, again, other := written(t, entry.New(size, 1)), written(t, entry.New(size, 1)),
			written(t, entry.New(size, 2))
		if !bytes.Equal(a, again) {
			t.Errorf("%s: the same seed gave other bytes", name)
		}
		if bytes.Equal(a, other) {
			t.Errorf("%s: seeds 1 and 2 gave the same bytes", name)
		}
		longest := 8192 * len("4294967295_5,") // a movie with most ratings is the longest line of all
		if len(a) < size || len(a) > size+longest {
			t.Errorf("%s: wrote %d bytes, want %d and at most one line more", name, len(a), size)
		}
	}
}

func TestLineForms(t *testing.T) {
	forms := map[string]string{
		"text":         `^[a-z]+( [a-z]+){0,18}$`,
		"ratings":      `^[1-9][0-9]*:[0-9]+_[1-5](,[0-9]+_[1-5])*$`,
		"edges":        `^v[0-9]+,v[0-9]+$`,
		"associations": `^[0-9]+(,[0-9]+){11}$`,
	}
	for name, form := range forms {
		re := regexp.MustCompile(form)
		out := string(written(t, All[name].New(200_000, 7)))
		if !strings.HasSuffix(out, "\n") {
			t.Errorf("%s: output does not end with a newline", name)
		}
		for i, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
			if !re.MatchString(line) {
				t.Fatalf("%s line %d: %.100q does not match %s", name, i+1, line, form)
			}
		}
	}
}

// The k-th of n words should come with chance 1/(k·H(n)), H(n) the n-th harmonic number. Of N draws, a count may be
// off by five standard deviations of a binomial; the seed is fixed, so this either holds or does not.
func TestZipfFrequencies(t *testing.T) {
	const n, draws = 1000, 2_000_000
	z, r := newZipf(n), rand.NewPCG(1, 1)
	counts := make([]int, n)
	for range draws {
		counts[z.draw(r)]++
	}
	harmonic := 0.0
	for k := 1; k <= n; k++ {
		harmonic += 1 / float64(k)
	}
	for _, k := range []int{1, 2, 3, 10, 100, 1000} {
		p := 1 / (float64(k) * harmonic)
		if want, sd := p*draws, math.Sqrt(draws*p*(1-p)); math.Abs(float64(counts[k-1])-want) > 5*sd {
			t.Errorf("rank %d came %d times, want %.0f ± %.0f", k, counts[k-1], want, 5*sd)
		}
	}
}

// BenchmarkZipf draws ranks, beside package rand, whose exponent must be above 1, and gonum. Both of these compute with
// floating-point numbers, so that another machine may draw other ranks.
func BenchmarkZipf(b *testing.B) {
	const n = 100_000
	r := rand.New(rand.NewPCG(1, 1))
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = 1 / float64(i+1)
	}
	own, pcg := newZipf(n), rand.NewPCG(1, 1)
	std, categories := rand.NewZipf(r, 1.0001, 1, n-1), distuv.NewCategorical(weights, r)
	for _, by := range []struct {
		name string
		draw func() int
	}{
		{"own", func() int { return int(own.draw(pcg)) }},
		{"rand", func() int { return int(std.Uint64()) }},
		{"gonum", func() int { return int(categories.Rand()) }},
	} {
		b.Run(by.name, func(b *testing.B) {
			for b.Loop() {
				if k := by.draw(); k < 0 || k >= n {
					b.Fatalf("rank %d of %d", k, n)
				}
			}
		})
	}
}

func TestLexiconHasDistinctWords(t *testing.T) {
	l, err := newLexicon(50_000, 3)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for word := range strings.FieldsSeq(string(l.chars)) {
		seen[word] = true
	}
	if len(seen) != 50_000 {
		t.Errorf("50000 words asked for, %d distinct", len(seen))
	}
}

func TestDocuments(t *testing.T) {
	files := map[string]*bytes.Buffer{}
	err := Documents{Files: 12, Text: Text{Bytes: 120_000, Words: 500}}.Each(func(name string) (io.WriteCloser, error) {
		files[name] = &bytes.Buffer{}
		return closing{files[name]}, nil
	})
	if err != nil || len(files) != 12 {
		t.Fatalf("%d files, error %v, want 12 and none", len(files), err)
	}
	if n := files["doc-00011.txt"].Len(); n < 10_000 || n > 10_500 {
		t.Errorf("the last file has %d bytes, want a twelfth of 120000 and at most a line more", n)
	}
	if bytes.Equal(files["doc-00000.txt"].Bytes(), files["doc-00001.txt"].Bytes()) {
		t.Error("two documents are equal")
	}
}

type closing struct{ *bytes.Buffer }

func (closing) Close() error { return nil }

func TestErrors(t *testing.T) {
	full := errors.New("disk full")
	for _, w := range []Writer{Text{Bytes: 1}, Ratings{Bytes: 1}, Edges{Bytes: 1}, Associations{Bytes: 1},
		TeraGen{Rows: 1}} {
		if err := w.Write(failing{full}); !errors.Is(err, full) {
			t.Errorf("%T: got %v, want the writer's error", w, err)
		}
	}
	for _, w := range []Writer{Text{Words: -1}, Ratings{Users: -1}, Ratings{Tastes: 1001}, Edges{Vertices: -1},
		Associations{Fields: 1}, TeraGen{Rows: -1}} {
		if err := w.Write(io.Discard); err == nil {
			t.Errorf("%+v was accepted", w)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func BenchmarkWrite(b *testing.B) {
	for name, entry := range All {
		b.Run(name, func(b *testing.B) {
			const size = 32 << 20
			b.SetBytes(size)
			for b.Loop() {
				if err := entry.New(size, 1).Write(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
