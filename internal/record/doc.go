// Package record keeps the log of a run, reads it again, and answers questions about it.
//
// While a run goes, a [Writer] (what Step got and gave) and a [Tally] (the figures of the result) watch its core.
// Afterwards [Open] reads the file: [Replay] decides again and compares, [Play] makes a core do the recorded actions
// of its own, so that whatever watches a running core can watch a past one without knowing the policy that decided.
// [Summarize], [Events], [Export], [Diff], [Explain] and [PastJobs] are built on these two.
//
// The files, by what they are for:
//
//	the format           header.go, code.go (values), entry.go (events and actions), guess.go (what entries leave
//	                     out), state.go (a core's state), write.go, read.go, snapshot.go
//	watching a core      follow.go
//	a core from a file   replay.go (a policy decides again), play.go (the record decides)
//	figures              tally.go, result.go, costs.go, alone.go, fairness.go, plot.go
//	questions            events.go, export.go, chrome.go, diff.go, explain.go
//	another run of it    past.go (the jobs), cluster.go (the nodes)
//
// # Format
//
// A record is a first line of text, blocks of entries, and, where the run was closed properly, an end mark.
//
//	sojourn-record crc32c {"format":2,...}\n     crc32c of the JSON document, 8 hexadecimal digits
//	┌────────────┬────────────┬───────────────┐
//	│ length u32 │ crc32c u32 │ zstd frame    │  a block; both numbers are of the frame, little endian
//	└────────────┴────────────┴───────────────┘
//	┌────────────┬────────────┐
//	│ 0      u32 │ "end\n"    │                  the end mark
//	└────────────┴────────────┘
//
// A block whose length has its highest bit set is a snapshot: a [Mark] without its offset, then, compressed, the memory
// of the policy and of the estimator, the state of the core, and the memory of the codec. With the second highest bit
// it is the index, the last block before the end mark: the marks of all snapshots, and its own length as the last four
// bytes. A reader that goes through the record passes both by. Format 1 has neither.
//
// A block holds whole Steps: as many as fit in 64 KiB before compression, or began within a second, at least one. A
// Step is an entry that says its instant, then an entry for each event that the engine gave, in the order in which they
// were applied, then one for each action. What the core derives from the events is not written: it follows.
//
// An entry is a tag (kind in the low five bits, flags in the high three) and what its kind needs, integers as varints.
// A block is the number of its tags, the tags, then the rest: tags repeat, and compress to next to nothing when they
// stand together. What can be guessed is left out: both sides keep the same few words of memory (see memory in
// entry.go) and a flag says that the guess was right. Equal runs leave equal bytes.
package record
