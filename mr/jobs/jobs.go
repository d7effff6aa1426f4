// Package jobs has the built-in MapReduce jobs, one a file: the Purdue MapReduce Benchmarks (F. Ahmad et al.,
// TR-ECE-12-11, 2012) with terasort's validator. docs/spec/jobs.md says line by line what each job reads and writes.
// The comments here say why a job does it in its way.
//
// Two things recur. Keys of several fields are written so that their order as bytes is the order of the fields
// (keys.go), because comparing bytes is what the engine does fastest. And a map adds up by itself what fits in a few
// words of memory.
package jobs

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/mr"
)

// Entry is a job as a command line lists it.
type Entry struct {
	About string // one line: what it computes
	Input string // what it reads
	// Params are what may be configured, besides the input options of every job. A command line refuses other keys.
	Params []Param
	// New makes the job. A job that is right without reduces is made with [mr.MapOnly]. Every other job needs them: a
	// command line refuses to run it without, see [CheckReduces].
	New mr.Builder
}

// Param is a key of a job's configuration.
type Param struct{ Name, Default, About string }

// What jobs read.
const (
	text    = "text"
	movies  = "movies with ratings, movie:user_rating,user_rating,…"
	records = "records of 100 bytes, as teragen makes them"
)

// All is every built-in job, by name.
var All = map[string]Entry{
	"adjacency-list": {
		"for each vertex, the vertices with an edge to it, and those it has one to",
		"edges, from,to",
		nil,
		AdjacencyList,
	},
	"classification": {
		"for each movie the most similar of given centroids",
		movies,
		[]Param{clustersParam, centroidsParam},
		Classification,
	},
	"crypt": {
		"how often each AES-CMAC tag of a line occurs; with AES instructions on nodes of a class",
		text,
		[]Param{
			{"key", "000102030405060708090a0b0c0d0e0f", "128 bits as 32 hexadecimal digits"},
			{"passes", "1", "how often a tag is tagged again, 1 to 1000000"},
			{"accelerator", "aes", "class of nodes whose AES instructions are used"},
		},
		Crypt,
	},
	"grep": {"how often each text that matches a regular expression occurs, the most frequent first", text, []Param{
		{"pattern", "", "regular expression in Go's syntax, tried on each line; required"},
		{"group", "0", "count what this parenthesis of the pattern matched; 0: the whole match"}}, Grep},
	"histogram-movies": {
		"how many movies have a mean rating in each bin of width 1/2",
		movies,
		nil,
		HistogramMovies,
	},
	"histogram-ratings": {"how often each rating was given", movies, nil, HistogramRatings},
	"inverted-index":    {"for each word the documents it occurs in", text, nil, InvertedIndex},
	"kmeans": {
		"clusters of movies that the same users like",
		movies,
		[]Param{clustersParam, centroidsParam, {"rounds", "5", "most passes, 1 to 1000"}},
		KMeans,
	},
	"ranked-inverted-index": {
		"for each text the documents it occurs in, the most frequent first",
		"output of sequence-count, text|document TAB count",
		nil,
		RankedInvertedIndex,
	},
	"self-join": {
		"pairs of items that follow the same prefix",
		"associations, field,…,field,item",
		nil,
		SelfJoin,
	},
	"sequence-count": {"how often three words follow each other, by document", text, nil, SequenceCount},
	"sort":           {"all lines in order", text, nil, Sort},
	"term-vector": {
		"the frequent words of each document, the most frequent first",
		text,
		[]Param{{"cutoff", "10", "least number of occurrences, from 1"}},
		TermVector,
	},
	"terasort": {"all records in order of their keys", records, nil, TeraSort},
	"teravalidate": {
		"whether records are in order, and their checksum",
		records + ", sorted",
		nil,
		TeraValidate,
	},
	"wordcount": {"how often each word occurs", text, nil, WordCount},
}

var (
	clustersParam = Param{
		"clusters",
		"16",
		"number of centroids taken from the input where none are given, 1 to 65536",
	}
	centroidsParam = Param{
		"centroids",
		"",
		"file of centroids, such as the output of kmeans; none: the first movies of the input",
	}
)

// CheckReduces returns an error if a job is to run without reduces (0) that its entry made with them. What the maps of
// such a job emit is no output: keys are in the form in which they sort, counts are not added up, nothing is in order.
// Another number of reduces is no error.
func CheckReduces(name string, job *mr.Job, reduces int) error {
	if reduces != 0 || job.Reduces == mr.MapOnly {
		return nil
	}
	return fmt.Errorf("reduces 0: job %s writes its output in reduces: give 1 or more by --reduces, by reduces of a "+
		"workload file or by mapreduce.job.reduces, or leave the number out", name)
}

// malformed counts lines that a job passed over.
func malformed(t *mr.Task, n int64) {
	if n > 0 {
		t.Count("Input", "Malformed records", n)
	}
}
