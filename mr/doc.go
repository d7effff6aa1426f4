// Package mr is the embedded MapReduce engine: real jobs on real files, on one machine.
//
// A [Job] says what to compute; the engine cuts its input into splits, runs a map attempt for each split and a reduce
// attempt for each part of the output, moves what the maps emit to the reduces, and commits what the reduces write.
//
// Map and reduce functions pull their input: they are called once for an attempt, keep their state in local variables,
// and loop over batches or groups until there is no more. The engine stops them between two batches (suspend, kill), so
// a function that pulls is suspended and ended without knowing. All byte slices they are handed are lent until the next
// call of the iterator they came from, and all byte slices they hand to an [Emitter] are copied before it returns.
//
//	func WordCount(conf mr.Conf) (*mr.Job, error) {
//		return &mr.Job{
//			Name: "wordcount",
//			Fold: mr.Sum(1), // one integer for each key, added up wherever two of them meet; no Reduce needed
//			Map: func(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
//				var words [512]mr.Span
//				for in.Next() {
//					text := in.Data()
//					for at := 0; at < len(text); {
//						n, next := mr.Words(words[:], text, at)
//						out.EmitEach(text, words[:n], mr.One)
//						at = next
//					}
//				}
//				return nil
//			},
//		}, nil
//	}
//
// The same for comfort rather than speed, in Go values (see [Typed]):
//
//	job := mr.Typed[string, int64]{
//		Name: "wordcount",
//		Map: func(line string, emit func(string, int64)) {
//			for word := range strings.FieldsSeq(line) {
//				emit(word, 1)
//			}
//		},
//		Reduce: func(word string, counts iter.Seq[int64], emit func(string, int64)) {
//			var sum int64
//			for n := range counts {
//				sum += n
//			}
//			emit(word, sum)
//		},
//		Combine: true, // Reduce may run on parts of a group first
//	}.Job()
//
// Pairs reach a reduce in the order of their keys, and equal keys in the order of (map task, emission), however the
// attempts were scheduled, killed, lost or spilled: a job whose functions are deterministic has one output.
//
// What functions see counts tasks from 0; numbers of the core count from 1. [Phase] and [Stage] are what a function
// can be in; the core has its own of the same names.
//
// The files, by what they are for:
//
//	what a user writes    job.go; typed.go, words.go, bytes.go, conf.go help to write it
//	what functions see    task.go (Task and Attempt; cpu_*.go count its time), batches.go, groups.go, emitter.go,
//	                      counters.go
//	when attempts run     engine.go and joblife.go under the core; calls.go (of a job's own code), mailbox.go,
//	                      probe.go, throttle.go, chaos.go
//	what a job does       work.go: its rounds, their stages and attempts; run.go runs one attempt of a round
//	pairs of a map        collect.go, pairlogs.go, mapoutput.go, smalloutput.go
//	pairs of a reduce     reduce.go, source.go, binned.go
//	ranges of keys        cuts.go (parts of the output), bins.go (within a part)
//	output, memory        part.go, workspace.go; memory.go
//
// Package mr/jobs has the built-in jobs, mr/input finds and cuts input, mr/store reads a key-value store. Below
// internal are a regular expression's automaton (dfa), a hash table that folds (fold), memory outside Go's heap (mem),
// a sort by keys (order), pairs in memory (pair), and files of sorted pairs (spill).
package mr
