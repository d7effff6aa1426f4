package generate

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
)

// Text writes lines of words: word of rank r is drawn with chance proportional to 1/r (Zipf's law), words that are
// frequent are short (his law of abbreviation), and a line has 1 to 19 words, 10 in the mean: about 70 bytes.
type Text struct {
	Bytes int64 // > 0
	Seed  uint64
	Words int // distinct words, 1 … 10,000,000; 0 is 200,000
}

// Write implements Writer.
func (t Text) Write(w io.Writer) error {
	words, err := newLexicon(or(t.Words, 200_000), t.Seed)
	if err != nil {
		return err
	}
	r := source(t.Seed, 'T')
	return newOutput(w, t.Bytes).fill(func(b []byte) []byte { return words.line(b, r) })
}

// Documents writes a folder's worth of text: files of about equal size with one common lexicon.
type Documents struct {
	Files int // > 0
	Text      // Bytes is of all files together
}

// Each calls create with the name of every file, doc-00000.txt and so on, writes to what that returns, and closes it.
func (d Documents) Each(create func(name string) (io.WriteCloser, error)) error {
	words, err := newLexicon(or(d.Words, 200_000), d.Seed)
	if err != nil {
		return err
	}
	if d.Files <= 0 {
		return fmt.Errorf("generate documents: files is %d, and must be above 0", d.Files)
	}
	for i := range d.Files {
		name := fmt.Sprintf("doc-%05d.txt", i)
		f, err := create(name)
		if err != nil {
			return fmt.Errorf("generate documents: %w", err)
		}
		r := source(d.Seed, 'D'<<32|uint64(i))
		err = newOutput(f, d.Bytes/int64(d.Files)).fill(func(b []byte) []byte { return words.line(b, r) })
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("generate document %s: %w", name, err)
		}
	}
	return nil
}

// lexicon is the words by rank, one behind the other, each followed by a space so that writing one is one copy.
type lexicon struct {
	chars  []byte
	starts []uint32 // one more than words
	ranks  zipf
}

// letters stand as often as English uses them, in 1/128.
const letters = "eeeeeeeeeeeeeeeetttttttttttaaaaaaaaaaoooooooooo" +
	"iiiiiiiiinnnnnnnnnsssssssshhhhhhhhrrrrrrrrdddddlllllcccuuuummmwwwffggyyppbbvkjxqz"

// newLexicon returns n different words by rank. Frequent words are short. A word that is taken is drawn again, and
// after 8 tries with a letter more.
func newLexicon(n int, seed uint64) (*lexicon, error) {
	if n < 1 || n > 10_000_000 {
		return nil, fmt.Errorf("generate text: words is %d, and must lie in 1 … 10,000,000", n)
	}
	l := &lexicon{starts: make([]uint32, 1, n+1), ranks: newZipf(n)}
	r := source(seed, 'L')
	seen := make(map[string]struct{}, n)
	var word []byte
	for i := range n {
		// Length grows with the rank's number of bits: 1 to 3 letters for the first word, 5 to 11 for the 200,000th.
		bits := 0
		for k := i + 1; k > 0; k >>= 1 {
			bits++
		}
		shortest := 1 + bits/4
		length := shortest + int(r.Uint64()%uint64(3+bits/4))
		for tries := 0; ; tries++ {
			word = word[:0]
			x := r.Uint64()
			for j := range length {
				if j == 9 { // 9 letters use up 63 bits
					x = r.Uint64()
				}
				word = append(word, letters[x%uint64(len(letters))])
				x >>= 7
			}
			if _, taken := seen[string(word)]; !taken {
				break
			}
			if tries%8 == 7 { // words of this length are used up, or nearly
				length++
			}
		}
		seen[string(word)] = struct{}{}
		l.chars = append(append(l.chars, word...), ' ')
		l.starts = append(l.starts, uint32(len(l.chars)))
	}
	return l, nil
}

// line appends one line to b.
func (l *lexicon) line(b []byte, r *rand.PCG) []byte {
	for n := 1 + r.Uint64()>>32*19>>32; n > 0; n-- {
		rank := l.ranks.draw(r)
		b = append(b, l.chars[l.starts[rank]:l.starts[rank+1]]...)
	}
	b[len(b)-1] = '\n'
	return b
}

// Edges writes edges from,to between numbered vertices; both ends are drawn by Zipf's law, as links on the web are.
type Edges struct {
	Bytes    int64 // > 0
	Seed     uint64
	Vertices int // 1 … 100,000,000; 0 is 1,000,000
}

// Write implements Writer.
func (e Edges) Write(w io.Writer) error {
	n := or(e.Vertices, 1_000_000)
	if n < 1 || n > 100_000_000 {
		return fmt.Errorf("generate edges: vertices is %d, and must lie in 1 … 100,000,000", n)
	}
	ranks := newZipf(n)
	r := source(e.Seed, 'E')
	return newOutput(w, e.Bytes).fill(func(b []byte) []byte {
		// Half of the sources are drawn evenly: pages without links to them link to others all the same.
		from := uint64(ranks.draw(r))
		if x := r.Uint64(); x&1 == 0 {
			from = x >> 32 * uint64(n) >> 32
		}
		b = append(strconv.AppendUint(append(b, 'v'), from, 10), ',', 'v')
		return append(strconv.AppendUint(b, uint64(ranks.draw(r)), 10), '\n')
	})
}

// Associations writes lines of Fields items, sorted within the line, as Apriori's k-item sets are. Prefixes of
// Fields-1 items recur, four times in the mean and far apart; now and then with the same last item.
type Associations struct {
	Bytes  int64 // > 0
	Seed   uint64
	Fields int // 2 … 100; 0 is 12, as in the published input
}

// Write implements Writer.
func (a Associations) Write(w io.Writer) error {
	fields := or(a.Fields, 12)
	if fields < 2 || fields > 100 {
		return fmt.Errorf("generate associations: fields is %d, and must lie in 2 … 100", fields)
	}
	r := source(a.Seed, 'A')
	lineBytes := int64(fields * 6)
	prefixes := max(1, uint64(a.Bytes/lineBytes/4)) // four lines a prefix
	return newOutput(w, a.Bytes).fill(func(b []byte) []byte {
		// The prefix is a function of its number, so that it can come again without being remembered.
		prefix := rand.NewPCG(a.Seed, r.Uint64()%prefixes)
		item := 10_000 + prefix.Uint64()%100
		for range fields - 1 {
			b = append(strconv.AppendUint(b, item, 10), ',')
			item += 1 + prefix.Uint64()%500
		}
		return append(strconv.AppendUint(b, item+r.Uint64()%500, 10), '\n')
	})
}
