package jobs

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The jobs once more, as docs/spec/jobs.md states them, for a reader who checks that they are right: strings, maps and
// sorting, the whole input in memory, one line of output an element. Order is that of one reduce.

// corpus is files by name.
type corpus map[string]string

func (c corpus) names() []string { return slices.Sorted(maps.Keys(c)) }

// size is how many bytes all files have.
func (c corpus) size() (n int) {
	for _, s := range c {
		n += len(s)
	}
	return n
}

// lines are those of all files, by name.
func (c corpus) lines() (all []string) {
	for _, name := range c.names() {
		all = append(all, linesOf(c.text(name))...)
	}
	return all
}

// text is a file without its byte order mark.
func (c corpus) text(name string) string { return strings.TrimPrefix(c[name], "\xef\xbb\xbf") }

func linesOf(s string) []string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n")
	return lines[:len(lines)-b2i(lines[len(lines)-1] == "")]
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\n\f\r", r) })
}

// counted is key TAB count for each key, by key.
func counted(counts map[string]int) (out []string) {
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s\t%d", k, counts[k]))
	}
	return out
}

func refWordCount(in corpus) []string {
	counts := map[string]int{}
	for _, w := range wordsOf(strings.Join(in.lines(), "\n")) {
		counts[w]++
	}
	return counted(counts)
}

func refGrep(expr string, group int) func(corpus) []string {
	return func(in corpus) (out []string) {
		counts := map[string]int{}
		for _, line := range in.lines() {
			for _, m := range regexp.MustCompile(expr).FindAllStringSubmatch(line, -1) {
				if m[group] != "" {
					counts[m[group]]++
				}
			}
		}
		texts := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
			return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
		})
		for _, s := range texts {
			out = append(out, fmt.Sprintf("%d\t%s", counts[s], s))
		}
		return out
	}
}

func refSort(in corpus) []string { return slices.Sorted(slices.Values(in.lines())) }

func refInvertedIndex(in corpus) []string {
	pairs := map[string]bool{}
	for _, doc := range in.names() {
		for _, w := range wordsOf(in.text(doc)) {
			pairs[w+"\t"+doc] = true
		}
	}
	return slices.Sorted(maps.Keys(pairs))
}

func refSequenceCount(in corpus) []string {
	counts := map[string]int{}
	for _, doc := range in.names() {
		for _, line := range linesOf(in.text(doc)) {
			for w := wordsOf(line); len(w) >= 3; w = w[1:] {
				counts[w[0]+"|"+w[1]+"|"+w[2]+"|"+doc]++
			}
		}
	}
	// By what stands before the last TAB: keys have none.
	return counted(counts)
}

func refRankedInvertedIndex(in corpus) (out []string) {
	type entry struct {
		text, doc string
		count     int64
	}
	var all []entry
	for _, line := range in.lines() {
		tab := strings.LastIndex(line, "\t")
		if tab < 0 {
			continue
		}
		bar := strings.LastIndex(line[:tab], "|")
		n, err := strconv.ParseInt(line[tab+1:], 10, 64)
		if bar < 0 || err != nil || strings.ContainsAny(line[tab+1:], "+-") {
			continue
		}
		all = append(all, entry{line[:bar], line[bar+1 : tab], n})
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.text, b.text), cmp.Compare(b.count, a.count), strings.Compare(a.doc, b.doc))
	})
	for _, e := range all {
		out = append(out, fmt.Sprintf("%s\t%d|%s", e.text, e.count, e.doc))
	}
	return out
}

func refTermVector(cutoff int) func(corpus) []string {
	return func(in corpus) (out []string) {
		for _, doc := range in.names() {
			counts := map[string]int{}
			for _, w := range wordsOf(in.text(doc)) {
				counts[w]++
			}
			words := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
				return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
			})
			for _, w := range words {
				if counts[w] >= cutoff {
					out = append(out, fmt.Sprintf("%s\t%s:%d", doc, w, counts[w]))
				}
			}
		}
		return out
	}
}

func refAdjacencyList(in corpus) (out []string) {
	from, to := map[string]map[string]bool{}, map[string]map[string]bool{}
	vertices := map[string]bool{}
	add := func(m map[string]map[string]bool, a, b string) {
		if vertices[a] = true; m[a] == nil {
			m[a] = map[string]bool{}
		}
		m[a][b] = true
	}
	for _, line := range in.lines() {
		if v := strings.Split(line, ","); len(v) == 2 && v[0] != "" && v[1] != "" {
			add(to, v[0], v[1])
			add(from, v[1], v[0])
		}
	}
	list := func(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), ",") }
	for _, v := range slices.Sorted(maps.Keys(vertices)) {
		out = append(out, fmt.Sprintf("%s\tfrom{%s}:to{%s}", v, list(from[v]), list(to[v])))
	}
	return out
}

func refSelfJoin(in corpus) (out []string) {
	items := map[string]map[string]bool{}
	for _, line := range in.lines() {
		if comma := strings.LastIndex(line, ","); comma >= 0 {
			if items[line[:comma]] == nil {
				items[line[:comma]] = map[string]bool{}
			}
			items[line[:comma]][line[comma+1:]] = true
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(items)) {
		sorted := slices.Sorted(maps.Keys(items[prefix]))
		for i, x := range sorted {
			for _, y := range sorted[i+1:] {
				out = append(out, prefix+"\t"+x+","+y)
			}
		}
	}
	return out
}

// refMovie is a movie's number and ratings in the order of the line.
type refMovie struct {
	id    uint64
	line  string
	users []uint64
	stars []int64
}

var (
	movieForm  = regexp.MustCompile(`^[0-9]{1,20}:[0-9]{1,10}_[1-5](,[0-9]{1,10}_[1-5])*$`)
	ratingForm = regexp.MustCompile(`([0-9]+)_([1-5])`)
)

func parseRefMovie(line string) (m refMovie, ok bool) {
	if !movieForm.MatchString(line) {
		return m, false
	}
	id, ratings, _ := strings.Cut(line, ":")
	m.line = line
	var err error
	if m.id, err = strconv.ParseUint(id, 10, 64); err != nil {
		return m, false
	}
	for _, r := range ratingForm.FindAllStringSubmatch(ratings, -1) {
		user, err := strconv.ParseUint(r[1], 10, 32)
		if err != nil {
			return m, false
		}
		m.users = append(m.users, user)
		m.stars = append(m.stars, int64(r[2][0]-'0'))
	}
	return m, true
}

func refMovies(in corpus) (all []refMovie) {
	for _, line := range in.lines() {
		if m, ok := parseRefMovie(line); ok {
			all = append(all, m)
		}
	}
	return all
}

func refHistogramRatings(in corpus) []string {
	counts := map[string]int{}
	for _, m := range refMovies(in) {
		for _, s := range m.stars {
			counts[fmt.Sprint(s)]++
		}
	}
	return counted(counts)
}

func refHistogramMovies(in corpus) []string {
	counts := map[string]int{}
	for _, m := range refMovies(in) {
		sum := int64(0)
		for _, s := range m.stars {
			sum += s
		}
		for bin := int64(3); ; bin++ { // in halves: mean < bin/2
			if 2*sum < bin*int64(len(m.stars)) {
				counts[fmt.Sprintf("%.1f", float64(bin)/2)]++
				break
			}
		}
	}
	return counted(counts)
}

// refNearest is the centroid and the similarity in millionths, with numbers of any size.
func refNearest(m refMovie, centroids []refMovie) (best int, similarity int64) {
	for i, c := range centroids {
		of := map[uint64]int64{}
		for k, user := range c.users {
			if of[user] == 0 {
				of[user] = c.stars[k]
			}
		}
		var rc, rr, cc int64
		for k, user := range m.users {
			if s := of[user]; s > 0 {
				rc += m.stars[k] * s
				rr += m.stars[k] * m.stars[k]
				cc += s * s
			}
		}
		if rc == 0 {
			continue
		}
		// ⌊√(10^12 · rc² ÷ (rr · cc))⌋: the root of a rounded number, rounded, is that of the number, rounded.
		q := new(big.Int).Mul(big.NewInt(1_000_000_000_000), new(big.Int).Mul(big.NewInt(rc), big.NewInt(rc)))
		q.Div(q, new(big.Int).Mul(big.NewInt(rr), big.NewInt(cc)))
		if s := q.Sqrt(q).Int64(); s > similarity {
			best, similarity = i, s
		}
	}
	return best, similarity
}

func refClassification(clusters int) func(corpus) []string {
	return func(in corpus) (out []string) {
		all := refMovies(in)
		type class struct {
			cluster int
			id      uint64
		}
		var classes []class
		for _, m := range all {
			cluster, _ := refNearest(m, all[:min(clusters, len(all))])
			classes = append(classes, class{cluster, m.id})
		}
		slices.SortFunc(classes, func(a, b class) int {
			return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.id, b.id))
		})
		for _, c := range classes {
			out = append(out, fmt.Sprintf("%d\t%d", c.cluster, c.id))
		}
		return out
	}
}

func refKMeans(clusters, rounds int) func(corpus) []string {
	return func(in corpus) (out []string) {
		all := refMovies(in)
		centroids := slices.Clone(all[:min(clusters, len(all))])
		for left := rounds; len(all) > 0; left-- {
			type member struct {
				refMovie
				similarity int64
			}
			members := make([][]member, len(centroids))
			sums := make([]int64, len(centroids))
			for _, m := range all {
				i, s := refNearest(m, centroids)
				members[i] = append(members[i], member{m, s})
				sums[i] += s
			}
			changed := false
			out = nil
			for i, of := range members {
				if len(of) > 0 {
					mean := sums[i] / int64(len(of))
					far := func(m member) int64 { return max(m.similarity-mean, mean-m.similarity) }
					next := slices.MinFunc(of, func(a, b member) int {
						return cmp.Or(cmp.Compare(far(a), far(b)), cmp.Compare(a.id, b.id),
							strings.Compare(a.line, b.line))
					})
					changed = changed || next.line != centroids[i].line
					centroids[i] = next.refMovie
				}
				out = append(out, fmt.Sprintf("%d\t%d\t%s", i, len(of), centroids[i].line))
			}
			if !changed || left == 1 {
				break
			}
		}
		return out
	}
}

// Records: files are cut into pieces of 100 bytes.

func recordsOf(s string) (all []string) {
	for ; len(s) > 0; s = s[100:] {
		all = append(all, s[:100])
	}
	return all
}

func refTeraSort(in corpus) (all []string) {
	for _, name := range in.names() {
		all = append(all, recordsOf(in[name])...)
	}
	slices.Sort(all)
	return all
}

func refTeraValidate(in corpus) (out []string) {
	sum := uint64(0)
	last := ""
	for _, name := range in.names() {
		for i, rec := range recordsOf(in[name]) {
			sum += uint64(crc32.ChecksumIEEE([]byte(rec)))
			if rec[:10] < last {
				out = append(out, fmt.Sprintf("error\tmisorder in %s at record %d: %x after %x", name, i,
					rec[:10], last))
			}
			last = rec[:10]
		}
	}
	return append(out, fmt.Sprintf("checksum\t%x", sum))
}
