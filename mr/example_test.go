package mr_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// countWords is a job over bytes: it counts words without a call or an allocation for each.
func countWords() *mr.Job {
	return &mr.Job{
		Name: "wordcount",
		Fold: mr.Sum(1), // one integer for each key, added up; no Reduce is needed
		Map: func(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
			var words [512]mr.Span
			for in.Next() {
				text := in.Data()
				for at := 0; at < len(text); {
					n, next := mr.Words(words[:], text, at)
					out.EmitEach(text, words[:n], mr.One)
					at = next
				}
			}
			return nil
		},
	}
}

// run runs a job on a text under FIFO, with two cores and 256 MiB, and returns the output.
func run(job *mr.Job, text string) (string, error) {
	dir, err := os.MkdirTemp("", "mr")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in.txt"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		return "", err
	}
	cluster := sched.Resources{sched.VCores: 2, sched.Memory: 256}
	memory, err := mr.NewMemory(256<<20, 2*mr.Slots(cluster)) // as many attempts again may be suspended
	if err != nil {
		return "", err
	}
	defer memory.Close()
	work, err := mr.Open(mr.Order{Job: job, Input: []string{in}, Output: out}, mr.SiteOf(cluster, memory))
	if err != nil {
		return "", err
	}
	fifo, _, err := policy.Parse("fifo")
	if err != nil {
		return "", err
	}
	results, err := mr.Serve(context.Background(), mr.Config{
		Core:  sched.Config{Policy: fifo},
		Nodes: []sched.NodeSpec{{Class: "here", Capacity: cluster}},
	}, []mr.Submission{{Spec: &sched.JobSpec{Name: job.Name}, Work: work}})
	if err != nil {
		return "", err
	}
	if results[0].Outcome != sched.OK {
		return "", results[0].Err
	}
	b, err := os.ReadFile(filepath.Join(out, "part-r-00000"))
	return string(b), err
}

// A word count over bytes, run on the embedded engine.
func ExampleServe() {
	out, err := run(countWords(), "the cat the\nThe dog\n")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(strings.ReplaceAll(out, "\t", " "))
	// Output:
	// The 1
	// cat 1
	// dog 1
	// the 2
}

// The same in Go values.
func ExampleTyped() {
	job := mr.Typed[string, int64]{
		Name: "wordcount",
		Map: func(line string, emit func(string, int64)) {
			for word := range strings.FieldsSeq(line) {
				emit(word, 1)
			}
		},
		Reduce: func(word string, counts iter.Seq[int64], emit func(string, int64)) {
			var sum int64
			for n := range counts {
				sum += n
			}
			emit(word, sum)
		},
		Combine: true, // Reduce may run on parts of a group first
	}.Job()
	out, err := run(job, "the cat the\nThe dog\n")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(strings.ReplaceAll(out, "\t", " "))
	// Output:
	// The 1
	// cat 1
	// dog 1
	// the 2
}
