package jobs

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/internal/mr/generate"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// made is what a generator writes.
func made(w generate.Writer) string {
	var b strings.Builder
	if err := w.Write(&b); err != nil {
		panic(err)
	}
	return b.String()
}

func junk(seed uint64, n int, alphabet string) string {
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		if b[i] = byte(r.Uint32()); alphabet != "" {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
	}
	return string(b)
}

// remembered returns a function that calls f once for each argument: several tests look at the same inputs. They must
// not change what it returns.
func remembered[K comparable, V any](f func(K) V) func(K) V {
	var mu sync.Mutex
	known := map[K]V{}
	return func(k K) V {
		mu.Lock()
		defer mu.Unlock()
		v, ok := known[k]
		if !ok {
			v = f(k)
			known[k] = v
		}
		return v
	}
}

// corpora are inputs that every job of lines has to get right, its own or not.
var corpora = sync.OnceValue(func() map[string]corpus {
	text := func(n int64, seed uint64) string { return made(generate.Text{Bytes: n, Seed: seed, Words: 300}) }
	ratings := made(generate.Ratings{Bytes: 400_000, Seed: 1, Users: 2000, Tastes: 5})
	edges := made(generate.Edges{Bytes: 60_000, Seed: 1, Vertices: 500})
	return map[string]corpus{
		"nothing":           {},
		"empty file":        {"empty": ""},
		"one line":          {"one": "the cat the\n"},
		"no final newline":  {"a": "x y x", "b": "the end"},
		"every end of line": {"crlf": "a b\r\nc,d\r\n\r\n1:2_3\r\n", "cr": "a b\rc\r\r", "mixed": "a\r\nb\nc\rd"},
		"byte order mark": {
			"first":  "\xef\xbb\xbfthe cat\n\xef\xbb\xbfthe cat\n",
			"double": "\xef\xbb\xbf\xef\xbb\xbfthe\n", "only": "\xef\xbb\xbf", "part": "\xef\xbb",
		},
		"blanks":           {"blank": "\n\n  \n\t\t\n \f x \v y\f\n\n"},
		"binary":           {"junk": junk(1, 30_000, ""), "zero": "\x00\x00\n\x00\xff,\x00\n\x00,b\x00\n"},
		"few characters":   {"ab": junk(2, 20_000, "ab  ,|\t\n\x00\x01_:12")},
		"few characters 2": {"digits": junk(3, 20_000, "0123456789:_,\n")},
		"text":             {"a.txt": text(200_000, 1), "b.txt": text(30_000, 2), "c.txt": text(100, 3)},
		"one long line":    {"long": strings.ReplaceAll(text(150_000, 4), "\n", " ")},
		"one long word":    {"word": strings.Repeat("x", 100_000) + " " + strings.Repeat("x", 100_000)},
		"ratings": {
			"movies": ratings,
			"more":   "7:1_5,1_4,2_3\n7:1_5,1_4,2_3\n7:1_5\n18446744073709551615:4294967295_1\n",
		},
		"malformed ratings": {
			"bad": "1\n1:\n:1_2\n1:1_6\n1:1_0\n1:1_2,\n1:_2\n1:1_2;2_3\n1:1_22\n" +
				"1:4294967296_1\n18446744073709551616:1_1\n1:1\n1:1_\n-1:1_1\n1:1_1 \n01:007_3\n",
		},
		"sequences": {
			"counts": strings.Join(refSequenceCount(corpus{"x": text(40_000, 5), "y": text(40_000, 6)}), "\n"),
			"bad": "a|b\t\na|b\t-1\na|b\t9223372036854775808\na|b\t9223372036854775807\n" +
				"b\t3\n|\t0\na|b|c\t1|2\t007\n",
		},
		"edges": {"edges": edges, "again": edges, "bad": "a,b,c\n,a\na,\n,\na\n\x00,\x00\x00\nself,self\n"},
		"associations": {
			"sets": made(generate.Associations{Bytes: 60_000, Seed: 1, Fields: 4}),
			"bad":  ",\n,,\nx\n,x\n,y\n",
		},
	}
})

// ownCorpus returns which of corpora has input of the kind that a job reads.
func ownCorpus(job string) string {
	switch kind := All[job].Input; kind {
	case text:
		return "text"
	case movies:
		return "ratings"
	case All["adjacency-list"].Input:
		return "edges"
	case All["self-join"].Input:
		return "associations"
	default:
		return "sequences"
	}
}

// large is input of one kind, several times as much as a map may hold with little memory.
var large = remembered(func(kind string) corpus {
	switch kind {
	case text:
		return corpus{
			"a": made(generate.Text{Bytes: 2_000_000, Seed: 9, Words: 100_000}),
			"b": made(generate.Text{Bytes: 500_000, Seed: 10, Words: 100_000}),
		}
	case movies:
		return corpus{"movies": made(generate.Ratings{Bytes: 1_000_000, Seed: 2, Users: 5000})}
	case All["adjacency-list"].Input:
		return corpus{"edges": made(generate.Edges{Bytes: 1_500_000, Seed: 2, Vertices: 100_000})}
	case All["self-join"].Input:
		return corpus{"sets": made(generate.Associations{Bytes: 3_000_000, Seed: 2})}
	default:
		return corpus{
			"counts": strings.Join(refSequenceCount(corpus{"a": made(generate.Text{Bytes: 1_000_000, Seed: 11,
				Words: 1000})}), "\n"),
		}
	}
})

// cases are the jobs of lines, with the references that must agree.
var cases = []struct {
	name      string
	conf      mr.Conf
	reference func(corpus) []string
}{
	{"wordcount", nil, refWordCount},
	{"crypt", nil, refCrypt},
	{"sort", nil, refSort},
	{"grep", mr.Conf{"pattern": `\S+ \S+`}, refGrep(`\S+ \S+`, 0)},
	{"grep", mr.Conf{"pattern": `the`}, refGrep(`the`, 0)},
	{"grep", mr.Conf{"pattern": `a|x|,b`}, refGrep(`a|x|,b`, 0)},
	{"grep", mr.Conf{"pattern": `[a-z]*ing?\b`}, refGrep(`[a-z]*ing?\b`, 0)},
	{"grep", mr.Conf{"pattern": `^\w+ (\w+)`, "group": "1"}, refGrep(`^\w+ (\w+)`, 1)},
	{"grep", mr.Conf{"pattern": `(?i)[^\w\s]+|t{1,3}`}, refGrep(`(?i)[^\w\s]+|t{1,3}`, 0)},
	{"grep", mr.Conf{"pattern": "a\nb"}, refGrep("a\nb", 0)},
	{"grep", mr.Conf{"pattern": `\n`}, refGrep(`\n`, 0)},
	{"grep", mr.Conf{"pattern": `[\n\t]`}, refGrep(`[\n\t]`, 0)},
	{"grep", mr.Conf{"pattern": `x*\n`}, refGrep(`x*\n`, 0)},
	{"grep", mr.Conf{"pattern": `the\n|a\n?`}, refGrep(`the\n|a\n?`, 0)},
	{"grep", mr.Conf{"pattern": `\S+$`}, refGrep(`\S+$`, 0)},
	{"inverted-index", nil, refInvertedIndex},
	{"sequence-count", nil, refSequenceCount},
	{"ranked-inverted-index", nil, refRankedInvertedIndex},
	{"term-vector", nil, refTermVector(10)},
	{"term-vector", mr.Conf{"cutoff": "1"}, refTermVector(1)},
	{"adjacency-list", nil, refAdjacencyList},
	{"self-join", nil, refSelfJoin},
	{"histogram-movies", nil, refHistogramMovies},
	{"histogram-ratings", nil, refHistogramRatings},
	{"classification", nil, refClassification(16)},
	{"classification", mr.Conf{"clusters": "3"}, refClassification(3)},
	{"kmeans", mr.Conf{"clusters": "5", "rounds": "3"}, refKMeans(5, 3)},
	{"kmeans", nil, refKMeans(16, 5)},
}

// An exercise is a case, by its index in cases, and an input: one of corpora, or the large one of the job's kind.
type exercise struct {
	of    int
	input string // empty: the large one
}

func (e exercise) corpus() corpus {
	if e.input == "" {
		return large(All[cases[e.of].name].Input)
	}
	return corpora()[e.input]
}

// answer returns the lines that the reference of a case makes of an input.
var answer = remembered(func(e exercise) []string { return cases[e.of].reference(e.corpus()) })

var (
	setups = []setup{
		{name: "one split, one reduce", split: 1 << 30, reduces: 1, memory: enough},
		{name: "many splits, one reduce", split: 10_000, reduces: 1, memory: enough},
		{name: "many splits, many reduces", split: 7_001, reduces: 5, memory: enough},
	}
	spilling = []setup{
		{name: "one split, little memory", split: 1 << 30, reduces: 1, memory: least},
		{name: "some splits, little memory", split: 500_000, reduces: 3, memory: least},
	}
)

// TestAgainstReferences runs every job on every input. On a larger input that is not of its kind, and in all but its
// first configuration, a job is run with one setup, in turn; with SOJOURN_LONG=1, with all setups.
func TestAgainstReferences(t *testing.T) {
	all := corpora()
	for k, name := range slices.Sorted(maps.Keys(all)) {
		in := all[name]
		paths := in.write(t)
		for i, c := range cases {
			t.Run(fmt.Sprintf("%s %v/%s", c.name, c.conf, name), func(t *testing.T) {
				want := answer(exercise{i, name})
				some := setups
				own := ownCorpus(c.name) == name && (i == 0 || cases[i-1].name != c.name)
				if in.size() > 50_000 && !own && !longtest.On() {
					n := (i + k) % len(setups)
					some = setups[n : n+1]
				}
				for _, s := range some {
					s.compare(t, c.name, c.conf, paths, want)
				}
			})
		}
	}
}

// TestByteOrderMarkBetweenRounds: what looks like a byte order mark at the beginning of a round's output is data to the
// next round.
func TestByteOrderMarkBetweenRounds(t *testing.T) {
	in := corpus{"marks": "a \ufeff b\n"}
	engine := setup{name: "engine", split: 1 << 20, reduces: 1, memory: enough, chaos: 1e-9}
	engine.compare(t, "grep", mr.Conf{"pattern": `[^\w\s]+`}, in.write(t), []string{"1\t\ufeff"})
}

func TestLittleMemory(t *testing.T) {
	tested := map[string]bool{}
	for i, c := range cases {
		if tested[c.name] {
			continue // the first configuration of a job is the one that emits most
		}
		tested[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			kind := All[c.name].Input
			e := exercise{of: i}
			paths, want := e.corpus().write(t), answer(e)
			for _, s := range spilling {
				counters := s.compare(t, c.name, c.conf, paths, want)
				// Jobs of movies shuffle next to nothing; of the others at least the larger splits do not fit.
				if kind != movies && s.reduces == 1 && counters.Of[mr.SpilledRecords] == 0 {
					t.Errorf("%s: nothing was spilled", s.name)
				}
			}
		})
	}
}

// compare runs a job and holds its output against the lines that are wanted, in their order with one reduce.
func (s setup) compare(t *testing.T, job string, conf mr.Conf, paths, want []string) *mr.Counters {
	t.Helper()
	parts, counters := s.count(t, All[job].New, conf, paths)
	got := joined(parts)
	total := job == "sort" || job == "grep" || job == "kmeans" || s.reduces == 1
	wanted := strings.Join(want, "\n")
	if len(want) > 0 {
		wanted += "\n"
	}
	if !total {
		got, wanted = sorted(got), string(sorted([]byte(wanted)))
	}
	if string(got) == wanted {
		return counters
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(wanted, "\n")
	for i := range max(len(g), len(w)) {
		if a, b := at(g, i), at(w, i); a != b {
			t.Fatalf("%s: %d lines, want %d; line %d is %.200q, want %.200q", s.name, len(g)-1, len(w)-1, i+1, a, b)
		}
	}
	return counters
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

func sorted(text []byte) []byte {
	lines := slices.Collect(bytes.Lines(text))
	slices.SortFunc(lines, bytes.Compare)
	return bytes.Join(lines, nil)
}

func (c corpus) write(t testing.TB) (paths []string) {
	dir := t.TempDir()
	for _, name := range c.names() {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c[name]), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// Keys of one first field are in one part: all lines of a word, a document, a prefix are together.
func TestGroupsStayTogether(t *testing.T) {
	text := corpora()["text"]
	for _, job := range []string{"inverted-index", "term-vector", "wordcount"} {
		parts := setup{
			name:    "many reduces",
			split:   20_000,
			reduces: 7,
			memory:  enough,
		}.run(t, All[job].New, nil, text.write(t))
		if len(parts) != 7 {
			t.Fatalf("%s: %d parts, want 7", job, len(parts))
		}
		where := map[string]int{}
		for i, part := range parts {
			for line := range strings.Lines(string(part)) {
				key, _, _ := strings.Cut(line, "\t")
				if before, seen := where[key]; seen && before != i {
					t.Errorf("%s: %q is in parts %d and %d", job, key, before, i)
				}
				where[key] = i
			}
		}
	}
}

func teraCorpora() map[string]corpus {
	small := made(generate.TeraGen{Rows: 3000})
	alike := junk(5, 100*2000, "ab") // keys of two letters: many are equal, and the rest decides
	return map[string]corpus{
		"nothing":            {},
		"one record":         {"a": small[:100]},
		"teragen":            {"a": small[:100_000], "b": small[100_000:]},
		"equal keys":         {"alike": alike},
		"larger than memory": {"big": made(generate.TeraGen{Rows: 60_000, Seed: 1})},
	}
}

func TestTeraSort(t *testing.T) {
	for name, in := range teraCorpora() {
		want := refTeraSort(in)
		for _, s := range append(setups, spilling...) {
			parts := s.run(t, TeraSort, nil, in.write(t))
			if string(joined(parts)) != strings.Join(want, "") {
				t.Errorf("%s, %s: output differs from the sorted records", name, s.name)
			}
			valid := corpus{}
			for i, part := range parts {
				valid[fmt.Sprintf("part-r-%05d", i)] = string(part)
			}
			s.compare(t, "teravalidate", nil, valid.write(t), refTeraValidate(valid))
		}
	}
}

// With one split a file, every disorder within a file after the first is not told of.
func TestTeraValidateFindsDisorder(t *testing.T) {
	rows := made(generate.TeraGen{Rows: 100})
	recs := recordsOf(rows)
	slices.Sort(recs)
	recs[30], recs[31] = recs[31], recs[30]
	recs[70], recs[90] = recs[90], recs[70]
	in := corpus{"part-r-00000": strings.Join(recs[:50], ""), "part-r-00001": strings.Join(recs[50:], "")}
	all := refTeraValidate(in) // 31, then 71 − 50 and 90 − 50 in the second part
	want := []string{all[0], all[1], all[3]}
	setup{
		name:    "whole files",
		split:   1 << 30,
		reduces: 1,
		memory:  enough,
	}.compare(t, "teravalidate", nil, in.write(t), want)
	in = corpus{"part-r-00000": strings.Join(recs[50:51], ""), "part-r-00001": strings.Join(recs[:1], "")}
	setup{
		name:    "whole files",
		split:   1 << 30,
		reduces: 1,
		memory:  enough,
	}.compare(t, "teravalidate", nil, in.write(t), refTeraValidate(in))
	// A file that is named twice is read twice: its first record follows its last one.
	in = corpus{"part-r-00000": strings.Join(recs[:20], ""), "part-r-00001": strings.Join(recs[:20], "")}
	want = refTeraValidate(in)
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "part-r-00001", "part-r-00000")
	}
	path := in.write(t)[0]
	setup{
		name:    "one file twice",
		split:   1 << 30,
		reduces: 1,
		memory:  enough,
	}.compare(t, "teravalidate", nil, []string{path, path}, want)
}

// Word count and sort against the programs everybody has.
func TestAgainstCoreutils(t *testing.T) {
	for name, in := range corpora() {
		if strings.Contains(in["cr"], "\r") ||
			name == "binary" || // coreutils know one end of line, and awk no zero bytes
			name == "byte order mark" { // nor that it is no part of the text
			continue
		}
		paths := in.write(t)
		const cat = `for f in "$@"; do cat "$f"; if [ -s "$f" ] && [ "$(tail -c1 "$f" | od -An -tu1 | tr -d ' ')" != ` +
			`10 ]; then echo; fi; done`
		for job, script := range map[string]string{
			"wordcount": cat + ` | tr ' \t\f\r' '\n\n\n\n' | grep -av '^$' | sort | uniq -c | sed -E 's/^ *([0-9]+) ` +
				`(.*)$/\2\t\1/' | sort -t "$(printf '\t')" -k1,1`,
			"sort": cat + ` | sort`,
		} {
			if strings.Contains(in["ab"], "\x00") && job == "wordcount" {
				continue
			}
			cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", script, "sh"}, paths...)...)
			cmd.Env = append(os.Environ(), "LC_ALL=C")
			want, err := cmd.Output()
			if err != nil {
				t.Skipf("coreutils: %v", err)
			}
			plain := setup{name: "one split, one reduce", split: 1 << 30, reduces: 1, memory: enough}
			got := joined(plain.run(t, All[job].New, nil, paths))
			if !bytes.Equal(got, want) {
				t.Errorf("%s of %s: %d bytes differ from the %d that coreutils give", job, name, len(got), len(want))
			}
		}
	}
}

// kmeans' output is good as classification's centroids.
func TestCentroidsFromKMeans(t *testing.T) {
	in := corpora()["ratings"]
	paths := in.write(t)
	s := setup{name: "many splits", split: 50_000, reduces: 2, memory: enough}
	centroids := filepath.Join(t.TempDir(), "centroids")
	if err := os.WriteFile(centroids, joined(s.run(t, KMeans, mr.Conf{"clusters": "4", "rounds": "2"}, paths)),
		0o666); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range bytes.Lines(joined(s.run(t, Classification, mr.Conf{"centroids": centroids}, paths))) {
		cluster, _, _ := bytes.Cut(line, []byte("\t"))
		counts[string(cluster)]++
	}
	if movies := len(refMovies(in)); len(counts) > 4 || counts["0"]+counts["1"]+counts["2"]+counts["3"] != movies {
		t.Errorf("movies by cluster are %v, want %d in clusters 0 to 3", counts, movies)
	}
}

// TestOneKindOfLines: all rounds take the same lines for movies. Where only LF ends lines, a line with CR LF has a CR,
// and is no movie; else it is one.
func TestOneKindOfLines(t *testing.T) {
	lf := corpus{"m": "1:10_5,11_3\n2:10_4,12_2\n3:11_1\n"}
	crlf := corpus{"m": strings.ReplaceAll(lf["m"], "\n", "\r\n")}.write(t)
	s := setup{name: "one split", split: 1 << 20, reduces: 1, memory: enough}
	for _, job := range []string{"kmeans", "classification"} {
		want := joined(s.run(t, All[job].New, nil, lf.write(t)))
		if got := joined(s.run(t, All[job].New, nil, crlf)); len(got) == 0 || !bytes.Equal(got, want) {
			t.Errorf("%s: of lines with CR LF %q, want %q", job, got, want)
		}
		parts, counters := s.count(t, All[job].New, mr.Conf{"textinputformat.record.delimiter": `\n`}, crlf)
		bad := counters.User[mr.UserCounter{Group: "Input", Name: "Malformed records"}]
		if len(joined(parts)) > 0 || bad != 3 {
			t.Errorf("%s, only LF ends lines: %q, %d malformed lines; want nothing and 3", job, joined(parts), bad)
		}
	}
}

// TestCentroidsErrors: an error about a line names the file that has it.
func TestCentroidsErrors(t *testing.T) {
	paths := corpus{"a": "1:10_5\r\n2:10_4\r\n", "b": "", "c": "3:11_1\nfour\n"}.write(t)
	if _, err := readCentroids(paths...); err == nil || !strings.Contains(err.Error(), paths[2]+": ") ||
		!strings.Contains(err.Error(), "line 2 ") {
		t.Errorf("error %v, want one that names line 2 of %s", err, paths[2])
	}
	if c, err := readCentroids(paths[:2]...); err != nil || len(c.lines) != 2 {
		t.Errorf("%v, %v; want two centroids", c, err)
	}
	if _, err := readCentroids(paths[1]); err == nil || !strings.Contains(err.Error(), paths[1]+": ") {
		t.Errorf("error %v, want one that names %s", err, paths[1])
	}
}

// The fixed point is exact where floating point would round up: 1 is reached only by vectors that point the same way.
func TestCosineIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50_000 {
		a := affinity{movie: 1 + r.Uint64N(1<<r.UintN(37)), centroid: 1 + r.Uint64N(1<<r.UintN(37))}
		// The product is at most the root, by Cauchy and Schwarz; near it rounding matters most.
		root := new(big.Int).Sqrt(new(big.Int).Mul(new(big.Int).SetUint64(a.movie),
			new(big.Int).SetUint64(a.centroid))).
			Uint64()
		a.product = root - min(root, r.Uint64N(1<<r.UintN(20)))
		q := new(big.Int).Mul(new(big.Int).SetUint64(a.product), big.NewInt(millionths))
		q.Mul(q, q).Div(q, new(big.Int).Mul(new(big.Int).SetUint64(a.movie), new(big.Int).SetUint64(a.centroid)))
		if want := q.Sqrt(q).Uint64(); a.cosine() != want {
			t.Fatalf("%+v: cosine is %d, want %d", a, a.cosine(), want)
		}
	}
}

// Keys compare as their fields do, and fields come back.
func TestFieldOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	field := func() []byte { return []byte(junk(r.Uint64(), r.IntN(4), "\x00\x01\xffa")) }
	for range 20_000 {
		a, b, rest := field(), field(), field()
		ka, kb := append(appendField(nil, a), rest...), append(appendField(nil, b), field()...)
		if order := bytes.Compare(a, b); order != 0 && bytes.Compare(ka, kb) != order ||
			(order == 0) != sameField(ka, kb) {
			t.Fatalf("fields %q and %q: order %d, keys' %d, same %v", a, b, order,
				bytes.Compare(ka, kb), sameField(ka, kb))
		}
		f, tail := cutField(ka)
		if !bytes.Equal(appendPlain(nil, f), a) || !bytes.Equal(tail, rest) {
			t.Fatalf("%q and %q came back as %q and %q", a, rest, appendPlain(nil, f), tail)
		}
	}
}

func TestPartOfIsEven(t *testing.T) {
	// 70,000 keys in 7 parts: 10,000 each, within five standard deviations of a binomial.
	var counts [7]int
	for i := range 70_000 {
		counts[partOf(fmt.Appendf(nil, "word%d", i), 7)]++
	}
	for part, n := range counts {
		if math.Abs(float64(n)-10_000) > 5*math.Sqrt(70_000.0/7*6/7) {
			t.Errorf("part %d has %d keys of 70000, want about 10000", part, n)
		}
	}
}

// TestPartOfStays: a text is in the same part of the output in every version.
func TestPartOfStays(t *testing.T) {
	for text, want := range map[string]int{"": 0, "the": 48, "partition": 82, "a longer text of words": 69} {
		if got := partOf([]byte(text), 100); got != want {
			t.Errorf("%q is in part %d of 100, want %d", text, got, want)
		}
	}
}

func TestConfigurationErrors(t *testing.T) {
	for _, c := range []struct {
		job  string
		conf mr.Conf
		want string
	}{
		{"grep", nil, "pattern"},
		{"grep", mr.Conf{"pattern": "("}, "pattern"},
		{"grep", mr.Conf{"pattern": "a", "group": "1"}, "group"},
		{"term-vector", mr.Conf{"cutoff": "0"}, "cutoff"},
		{"kmeans", mr.Conf{"rounds": "0"}, "rounds"},
		{"kmeans", mr.Conf{"clusters": "65537"}, "clusters"},
		{"classification", mr.Conf{"centroids": "/nowhere"}, "/nowhere"},
	} {
		if _, err := All[c.job].New(c.conf); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %v: error %v, want one that names %s", c.job, c.conf, err, c.want)
		}
	}
}

func FuzzMovie(f *testing.F) {
	for line := range strings.Lines(corpora()["malformed ratings"]["bad"]) {
		f.Add([]byte(strings.TrimSuffix(line, "\n")))
	}
	f.Add([]byte("18446744073709551615:4294967295_1,0_5"))
	f.Fuzz(func(t *testing.T, line []byte) {
		var m movie
		ok := m.parse(line)
		want, wanted := parseRefMovie(string(line))
		if ok != wanted {
			t.Fatalf("%q: accepted %v, want %v", line, ok, wanted)
		}
		if !ok {
			return
		}
		if m.id != want.id || len(m.users) != len(want.users) {
			t.Fatalf("%q: movie %d with %d ratings, want %d with %d", line, m.id, len(m.users),
				want.id, len(want.users))
		}
		for i := range m.users {
			if uint64(m.users[i]) != want.users[i] || int64(m.stars[i]) != want.stars[i] {
				t.Fatalf("%q: rating %d is %d_%d, want %d_%d", line, i, m.users[i], m.stars[i],
					want.users[i], want.stars[i])
			}
		}
	})
}

// A file whose name has an end of line would leave an output line that reads as two.
func TestDocumentNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "two\nlines")
	if err := os.WriteFile(path, []byte("a b c\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	one := sched.Resources{sched.VCores: 1}
	for _, name := range []string{"inverted-index", "sequence-count", "term-vector"} {
		job, err := All[name].New(nil)
		if err != nil {
			t.Fatal(err)
		}
		memory, err := mr.NewMemory(enough, 1)
		if err != nil {
			t.Fatal(err)
		}
		work, err := mr.Open(mr.Order{Job: job, Input: []string{path}, Output: filepath.Join(t.TempDir(), "out")},
			mr.Site{Memory: memory, Map: one, Reduce: one, Cores: 1})
		if err != nil {
			t.Fatal(err)
		}
		fifo, _, err := policy.Parse("fifo")
		if err != nil {
			t.Fatal(err)
		}
		results, err := mr.Serve(t.Context(), mr.Config{Core: sched.Config{Policy: fifo},
			Nodes: []sched.NodeSpec{{Class: "c", Capacity: one}}},
			[]mr.Submission{{Spec: &sched.JobSpec{}, Work: work}})
		if err != nil || results[0].Err == nil ||
			!strings.Contains(results[0].Err.Error(), `two\nlines": its name has an end of line`) {
			t.Errorf("%s: %v, %v; want the name refused", name, results, err)
		}
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	}
}
