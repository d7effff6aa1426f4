package jobs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"

	"github.com/sojourn-sched/sojourn/mr"
)

// KMeans clusters movies: docs/spec/jobs.md, 3.4. A pass takes two rounds of the job: measure adds up similarities, and
// choose, which knows each cluster's mean, finds the movie nearest to it. Both read the whole input and shuffle a few
// lines; one round that did it all would have to shuffle, or keep, every movie. The parameter rounds counts passes.
func KMeans(conf mr.Conf) (*mr.Job, error) {
	passes, err := conf.Int("rounds", 5, 1, 1000)
	if err != nil {
		return nil, err
	}
	return withCentroids(conf, "kmeans", func(c *centroids) (*mr.Job, error) { return measure(conf, c, passes), nil })
}

// cluster is what measure has found of a centroid's movies.
type cluster struct{ movies, mean uint64 } // mean similarity in millionths, rounded down

// measure returns the round that counts each cluster's movies and adds up their similarities.
func measure(conf mr.Conf, c *centroids, passes int64) *mr.Job {
	return &mr.Job{
		Name: "kmeans: measure", Conf: conf, Fold: mr.Sum(2), Reduces: 1,
		Map: func(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
			scratch := make([]affinity, len(c.lines))
			movies, sums := make([]int64, len(c.lines)), make([]int64, len(c.lines))
			eachMovie(t, in, func(m *movie, _ []byte) {
				i, s := c.nearest(m, scratch)
				movies[i]++
				sums[i] += int64(s)
			})
			for i, n := range movies {
				if n > 0 {
					out.Emit(binary.BigEndian.AppendUint16(nil, uint16(i)), mr.AppendSum(mr.AppendSum(nil, n), sums[i]))
				}
			}
			return nil
		},
		Reduce: func(_ *mr.Task, in *mr.Groups, out *mr.Emitter) error {
			for in.Next() {
				var n, sum int64
				for in.NextValue() {
					n += mr.Int64(in.Value(), 0)
					sum += mr.Int64(in.Value(), 1)
				}
				out.Emit(strconv.AppendUint(nil, uint64(binary.BigEndian.Uint16(in.Key())), 10),
					fmt.Appendf(nil, "%d\t%d", n, sum/n))
			}
			return nil
		},
		Next: func(r *mr.Round) (*mr.Job, error) {
			clusters, err := readClusters(r.Parts, len(c.lines))
			if err != nil {
				return nil, err
			}
			return choose(conf, c, clusters, passes), nil
		},
	}
}

func readClusters(parts []string, n int) ([]cluster, error) {
	clusters := make([]cluster, n)
	for _, path := range parts {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read clusters: %w", err)
		}
		for line := range mr.Lines(text) {
			var i int
			var c cluster
			if _, err := fmt.Sscanf(string(line), "%d\t%d\t%d", &i, &c.movies, &c.mean); err != nil || i < 0 || i >= n {
				return nil, fmt.Errorf("read clusters: %s: %q is not number TAB movies TAB mean", path, line)
			}
			clusters[i] = c
		}
	}
	return clusters, nil
}

// choose returns the round that finds new centroids and ends a pass. passes counts those that are left, this one
// included.
func choose(conf mr.Conf, c *centroids, clusters []cluster, passes int64) *mr.Job {
	return &mr.Job{
		Name: "kmeans: choose", Conf: conf, Reduces: 1, SameGroup: sameCluster,
		Map: func(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
			scratch := make([]affinity, len(c.lines))
			best := make([][]byte, len(c.lines)) // candidates: only the smallest of a cluster is chosen
			var key []byte
			eachMovie(t, in, func(m *movie, line []byte) {
				i, s := c.nearest(m, scratch)
				far := max(s, clusters[i].mean) - min(s, clusters[i].mean)
				key = appendCandidate(key[:0], i, far, m.id)
				if best[i] == nil || bytes.Compare(key, best[i][:len(key)]) < 0 ||
					bytes.Equal(key, best[i][:len(key)]) && bytes.Compare(line, best[i][len(key):]) < 0 {
					best[i] = append(append(best[i][:0], key...), line...)
				}
			})
			for _, candidate := range best {
				if candidate != nil {
					out.Emit(candidate, nil)
				}
			}
			return nil
		},
		Reduce: func(_ *mr.Task, in *mr.Groups, out *mr.Emitter) error {
			next := 0 // cluster to be written
			write := func(line []byte) {
				out.Emit(strconv.AppendInt(nil, int64(next), 10),
					fmt.Appendf(nil, "%d\t%s", clusters[next].movies, line))
				next++
			}
			for in.Next() {
				i, line := cutCandidate(in.Key())
				for next < i {
					write(c.lines[next])
				}
				write(line)
			}
			for next < len(c.lines) {
				write(c.lines[next])
			}
			return nil
		},
		Next: func(r *mr.Round) (*mr.Job, error) {
			found, err := readCentroids(r.Parts...)
			if err != nil || passes == 1 || found.equal(c) {
				return nil, err
			}
			return measure(conf, found, passes-1), nil
		},
	}
}

// appendCandidate appends the beginning of a candidate for centroid: its cluster, then how far its similarity is from
// the mean, then its movie. The caller appends the line of the movie. The first key of a cluster is the one to take.
func appendCandidate(key []byte, cluster int, far, movie uint64) []byte {
	key = binary.BigEndian.AppendUint16(key, uint16(cluster))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(key, far), movie)
}

// cutCandidate returns the cluster and the line of a candidate.
func cutCandidate(key []byte) (cluster int, line []byte) {
	return int(binary.BigEndian.Uint16(key)), key[18:]
}

func sameCluster(a, b []byte) bool { return bytes.Equal(a[:2], b[:2]) }

func (c *centroids) equal(o *centroids) bool {
	for i := range c.lines {
		if !bytes.Equal(c.lines[i], o.lines[i]) {
			return false
		}
	}
	return true
}
