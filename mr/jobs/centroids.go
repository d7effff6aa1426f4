package jobs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
)

// maxClusters is as many centroids as a vote's 16 bits can number.
const maxClusters = 1 << 16

// centroids are movies that others are compared with, as a table of who rated them: most users that a movie has rated
// none.
type centroids struct {
	lines [][]byte // as they were read, behind their last TABs
	slots []slot   // open addressing by user; a power of two, at most half full
	votes []vote   // of all users, those of one behind each other
	shift uint     // 64 - log2(len(slots))
}

// slot is a user who rated centroids. No votes: free.
type slot struct{ user, first, votes uint32 }

// vote is a user's rating of a centroid.
type vote struct {
	cluster uint16
	stars   uint8
}

// A badCentroid is the error of a line that is no movie, at index line of all lines.
type badCentroid struct {
	line int
	text []byte
}

func (b badCentroid) Error() string {
	return fmt.Sprintf("read centroids: line %d is not movie:user_rating,…: %.80q", b.line+1, b.text)
}

// newCentroids makes centroids of lines in the form of a movie, movie:user_rating,…, each numbered by its line, from 0.
// It passes over what stands before a line's last TAB, and copies the rest. A line of another form is a badCentroid.
func newCentroids(lines [][]byte) (*centroids, error) {
	if len(lines) == 0 || len(lines) > maxClusters {
		return nil, fmt.Errorf("read centroids: %d of them, want 1 to %d", len(lines), maxClusters)
	}
	c := &centroids{}
	byUser := map[uint32][]vote{}
	var users []uint32 // in order of appearance
	for i, line := range lines {
		line = afterTab(line)
		var m movie
		if !m.parse(line) {
			return nil, badCentroid{i, line}
		}
		c.lines = append(c.lines, bytes.Clone(line))
		for k, user := range m.users {
			votes := byUser[user]
			if len(votes) == 0 {
				users = append(users, user)
			}
			if len(votes) == 0 || votes[len(votes)-1].cluster != uint16(i) { // a user's first rating counts
				byUser[user] = append(votes, vote{uint16(i), m.stars[k]})
			}
		}
	}
	log := uint(bits.Len(uint(2 * len(users))))
	c.slots, c.shift = make([]slot, 1<<log), 64-log
	for _, user := range users {
		s := c.slot(user)
		*s = slot{user, uint32(len(c.votes)), uint32(len(byUser[user]))}
		c.votes = append(c.votes, byUser[user]...)
	}
	return c, nil
}

// slot returns the slot of a user, or the free slot where the user would be.
func (c *centroids) slot(user uint32) *slot {
	i := int(uint64(user) * 0x9E3779B97F4A7C15 >> c.shift)
	for c.slots[i].votes > 0 && c.slots[i].user != user {
		i = (i + 1) & (len(c.slots) - 1)
	}
	return &c.slots[i]
}

// affinity adds up, for a movie and a centroid, over the users who rated both.
//
// The fields are Σ rc, Σ r² and Σ c². A line of 2^32 ratings would keep them below 2^37.
type affinity struct{ product, movie, centroid uint64 }

// nearest returns the centroid that is most similar to the movie, the first of equals, and the similarity in
// millionths. sums is scratch, one for each centroid.
func (c *centroids) nearest(m *movie, sums []affinity) (cluster int, similarity uint64) {
	clear(sums)
	for k, user := range m.users {
		s := c.slot(user)
		r := uint64(m.stars[k])
		for _, v := range c.votes[s.first : s.first+s.votes] {
			a := &sums[v.cluster]
			a.product += r * uint64(v.stars)
			a.movie += r * r
			a.centroid += uint64(v.stars) * uint64(v.stars)
		}
	}
	for i := range sums {
		if sums[i].product == 0 {
			continue
		}
		if s := sums[i].cosine(); s > similarity {
			cluster, similarity = i, s
		}
	}
	return cluster, similarity
}

// millionths is how finely similarities are told apart.
const millionths = 1_000_000

// cosine returns ⌊10^6 · product ÷ √(movie · centroid)⌋, exactly: floating point only guesses, integers decide.
func (a *affinity) cosine() uint64 {
	s := uint64(millionths * float64(a.product) / math.Sqrt(float64(a.movie)*float64(a.centroid)))
	for s > 0 && !a.atLeast(s) {
		s--
	}
	for a.atLeast(s + 1) {
		s++
	}
	return s
}

// atLeast reports whether the cosine is s millionths or more: s² · movie · centroid ≤ (10^6 · product)².
func (a *affinity) atLeast(s uint64) bool {
	hi, lo := bits.Mul64(s*a.movie, s*a.centroid)
	wantHi, wantLo := bits.Mul64(millionths*a.product, millionths*a.product)
	return hi < wantHi || hi == wantHi && lo <= wantLo
}

// withCentroids builds a job whose first round finds the centroids, unless the user named a file of them.
func withCentroids(conf mr.Conf, name string, next func(*centroids) (*mr.Job, error)) (*mr.Job, error) {
	if path := conf.String("centroids", ""); path != "" {
		c, err := readCentroids(path)
		if err != nil {
			return nil, err
		}
		return next(c)
	}
	k, err := conf.Int("clusters", 16, 1, maxClusters)
	if err != nil {
		return nil, err
	}
	return &mr.Job{
		Name: name + ": first movies", Conf: conf, Reduces: 1, Output: mr.Keys,
		Map:    func(t *mr.Task, in *mr.Batches, out *mr.Emitter) error { return firstMovies(t, in, out, k) },
		Reduce: func(_ *mr.Task, in *mr.Groups, out *mr.Emitter) error { return keepFirst(in, out, k) },
		Next: func(r *mr.Round) (*mr.Job, error) {
			if r.Counters.Of[mr.ReduceOutputRecords] == 0 {
				return nil, nil // no movies, so nothing to write
			}
			c, err := readCentroids(r.Parts...)
			if err != nil {
				return nil, err
			}
			return next(c)
		},
	}, nil
}

// readCentroids reads centroids from files, and numbers them on from file to file. Their lines may end at CR LF or CR,
// too, as those of a job's input may. An error about a line names its file, and counts the lines of that file.
func readCentroids(paths ...string) (*centroids, error) {
	var lines [][]byte
	ends := make([]int, len(paths)) // by path: the lines of all files up to this one
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read centroids: %w", err)
		}
		lines = slices.AppendSeq(lines, mr.Lines(input.AppendClean(nil, text)))
		ends[i] = len(lines)
	}
	c, err := newCentroids(lines)
	var bad badCentroid
	if errors.As(err, &bad) {
		i, _ := slices.BinarySearch(ends, bad.line+1)
		if i > 0 {
			bad.line -= ends[i-1]
		}
		return nil, fmt.Errorf("%s: %w", paths[i], bad)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(paths, ", "), err)
	}
	return c, nil
}

// firstMovies emits the first k movies of a split by place in the input, and reads no further. Lines of other forms are
// counted if there is no movie at all: else a later round counts them.
func firstMovies(t *mr.Task, in *mr.Batches, out *mr.Emitter, k int64) error {
	var m movie
	bad, found := int64(0), false
	defer func() {
		if !found {
			malformed(t, bad)
		}
	}()
	for in.Next() {
		path, offset := appendField(nil, []byte(in.Path())), in.Offset()
		nth := uint32(0)
		for line := range mr.Lines(in.Data()) {
			if !m.parse(line) {
				bad++
				continue
			}
			if k == 0 {
				return nil
			}
			found = true
			k--
			nth++
			out.Emit(binary.BigEndian.AppendUint32(mr.AppendInt64(path, offset), nth), line)
		}
	}
	return nil
}

func keepFirst(in *mr.Groups, out *mr.Emitter, k int64) error {
	for k > 0 && in.Next() {
		for k > 0 && in.NextValue() {
			out.Emit(in.Value(), nil)
			k--
		}
	}
	return nil
}
