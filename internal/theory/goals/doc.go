// Package goals computes what a job needs to complete by its goal, from the lengths of its finished tasks. It is pure
// arithmetic, for the policies that steer by goals:
//
//	Lengths                       the mean length of the finished tasks of a stage
//	Split, SplitByWaves           the goal of a stage, as a part of its job's
//	Stage.Work, Stage.Required    the work that is left, and the slots that a stage needs beyond those that it holds
//	Stage.Standing, Rank.Compare  the classes of stages, and their order
//	Curve                         how a rank changes while time passes, and when the order of two turns
//	Factor                        how far a plan can be corrected
//	MinimumSlots, Law, Chance     the fewest slots for a deadline (ARIA), by means or by distributions
//	Check                         whether all goals can be met, which cannot, and what would make it possible
//
// A stage here is a phase of a job in the words of the source: its maps, or its reduces. Times are seconds since one
// origin, lengths are seconds, work is slot-seconds. A slot is what one task holds.
//
// Source: J. Polo, Multi-constraint scheduling of MapReduce workloads, PhD thesis, UPC 2014, chapter 3. Section
// numbers in comments are those of docs/spec/adaptive.md.
package goals
