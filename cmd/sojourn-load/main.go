// Command sojourn-load puts the load of a large cluster on a ResourceManager, and measures what that does and costs:
//
//	sojourn-load -sojourn bin/sojourn                         this project's, started here
//	sojourn-load -jars ~/.cache/sojourn/hadoop-3.4.2/jars     Hadoop's own, tuned, started here
//	sojourn-load -tracker HOST:8031 -master HOST:8030 -client HOST:8032 -pid PID      one that runs
//
// NodeManagers and ApplicationMasters are of this process; each has a connection of its own. First applications want
// more than there is, then they ask at random for half of what that made, then there is nothing to do but beat.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sojourn-sched/sojourn/internal/yarn/load"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := load.Main(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sojourn-load:", err)
		os.Exit(1)
	}
}
