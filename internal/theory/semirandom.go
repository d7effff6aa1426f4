package theory

import "math"

// A SamplePlan says how much of a job a probe with one map and one reduce reads (FSPY, Algorithm 1).
type SamplePlan struct {
	Part        float64 // of the whole input, in (0, 1]
	Splits      int     // how many of the input's splits it reads from
	PartOfSplit float64 // of each of those, in (0, 1]
}

// PlanSample returns the plan for a job with maps >= 1 and reduces >= 0 that reads from at most most >= 1 splits:
//
//	Part = 1 ÷ max(maps, reduces),  Splits = min(maps, most),  PartOfSplit = Part ÷ (Splits ÷ maps)
//
// so that neither the one map nor the one reduce of the probe has more to do than a task of the job.
func PlanSample(maps, reduces, most int) SamplePlan {
	n := min(maps, most)
	part := 1 / float64(max(maps, reduces))
	return SamplePlan{Part: part, Splits: n, PartOfSplit: part * float64(maps) / float64(n)}
}

// A SplitSample is the first Bytes of a split, to be extended to the end of a record.
type SplitSample struct {
	Split int
	Bytes int64
}

// SemiRandom chooses the splits that a probe reads, each with the same chance, and what it reads of each. draw(n)
// returns a random number from 0 to n−1. The loops are those of Algorithm 1 put right: a partial shuffle (Fisher and
// Yates), of as many places as splits are wanted.
func SemiRandom(lengths []int64, plan SamplePlan, draw func(n int) int) []SplitSample {
	order := make([]int, len(lengths))
	for i := range order {
		order[i] = i
	}
	sample := make([]SplitSample, min(plan.Splits, len(lengths)))
	for i := range sample {
		j := i + draw(len(order)-i)
		order[i], order[j] = order[j], order[i]
		sample[i] = SplitSample{order[i], int64(math.Floor(float64(lengths[order[i]]) * plan.PartOfSplit))}
	}
	return sample
}
