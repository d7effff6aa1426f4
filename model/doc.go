// Package model holds estimators of task times and job sizes. A core has one. What an estimator has learned is in
// exported fields and goes through JSON, so that it is saved with the policy's memory.
//
//	Oracle    the truth, where an engine has it
//	Noisy     the truth, off by a random factor for each job
//	Mean      the running mean of a stage's own finished tasks
//	History   the last tasks of the same stage of jobs with the same user, name and type
//	Blend     past tasks of other jobs, weighed with the stage's own finished tasks (`--estimator model`)
//	FSPY      regressions over jobs that were probed, fed by the probe of a job
//
// A Registry makes them by name, as --estimator does; an estimator that keeps what it learned for the next run is a
// Keeper.
//
// The command "sojourn model" is about another kind of model: one that computes a whole job's time from its profile
// before the job runs. That is package internal/predict, which learns nothing.
//
// Without an estimator a core goes by what the specs say (StageSpec.Prior).
package model
