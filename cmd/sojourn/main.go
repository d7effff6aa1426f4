// Command sojourn schedules MapReduce-style batch work: simulated, on this machine, or on a cluster.
package main

import "github.com/sojourn-sched/sojourn/cli"

func main() { cli.Main() }
