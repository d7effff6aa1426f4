// Command own is the sojourn command with a job, a policy and an estimator of its own. It is a module of its own, as a
// program outside the tree would be: copy the folder, and replace the replace line of go.mod by a version.
//
//	go run . policies smallest
//	go run . sim --trace ../bursty.tsv --policy fifo --policy smallest:delay=5s --estimator careful
//	go run . run initials --input ../words.txt --output /tmp/initials
package main

import (
	"github.com/sojourn-sched/sojourn/cli"
	"github.com/sojourn-sched/sojourn/mr/jobs"
)

func main() { cli.Main(additions()) }

// additions are what the command knows besides the built-in jobs, policies and estimators.
func additions() cli.Option {
	return cli.With(
		cli.Job{Name: "initials", Entry: jobs.Entry{
			About: "how many words begin with each letter",
			Input: "text",
			New:   newInitials,
		}},
		cli.Policy{Name: "smallest", Entry: smallestEntry},
		cli.Estimator{Name: "careful", Entry: carefulEntry},
	)
}
