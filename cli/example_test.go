package cli_test

import (
	"context"
	"os"

	"github.com/sojourn-sched/sojourn/cli"
)

// The command line is a function. With adds jobs, policies and estimators of a program of your own to it.
func ExampleRun() {
	status := cli.Run(context.Background(), cli.Streams{Out: os.Stdout, Err: os.Stderr}, []string{
		"fluid", "--trace", "../examples/bursty.tsv", "--policy", "fifo", "--policy", "srpt",
	})
	if status != 0 {
		panic(status)
	}
	// Output:
	// ../examples/bursty.tsv: 300 jobs on one divisible server, load 0.9, disk-network ratio 4, sigma 0, seed 1
	//
	// POLICY  MEAN SOJOURN     P50     P95     P99     MAX  MEAN SLOWDOWN  CHANGE
	// fifo           216.0   156.5   633.1   658.8  *662.4           2838       -
	// srpt           *24.5  *0.525  *136.2  *572.4   790.3         *1.733   -89 %
	//
	// * best of its column; change of mean sojourn against fifo
}
