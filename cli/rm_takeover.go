package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/yarn"
)

// stateFile is the name of the state of a ResourceManager in its folder.
const stateFile = "rm.db"

func takeOverCommand(a *app) *cobra.Command {
	c := moveCommand(a, yarn.TakeOver)
	c.Use = "take-over [STORE] --conf DIR --state DIR"
	c.Short = "Start from the state of Hadoop's ResourceManager, so that what runs goes on"
	c.Long = `Make the state for 'sojourn rm --state DIR' of what Hadoop's ResourceManager has stored: applications that
run, their ApplicationMasters and containers go on, and delegation tokens stay good. The store is the one that
yarn-site.xml names: ZooKeeper, or the folder yarn.resourcemanager.fs.state-store.uri. STORE is a copy of that folder.
The store is not changed. Hadoop's ResourceManager must have ended, and must not start from this store again:

    yarn --daemon stop resourcemanager
    hdfs dfs -get hdfs:///rmstore copy     # where the store is in HDFS; then: take-over copy --conf ...
    sojourn rm take-over --conf "$HADOOP_CONF_DIR" --state DIR
    sojourn rm --conf "$HADOOP_CONF_DIR" --state DIR

With yarn.resourcemanager.ha.enabled the state is made in ZooKeeper, and --state is not needed; no ResourceManager of
the cluster may run.`
	return c
}

func handOverCommand(a *app) *cobra.Command {
	c := moveCommand(a, yarn.HandOver)
	c.Use = "hand-over [STORE] --conf DIR --state DIR"
	c.Short = "Make a state for Hadoop's ResourceManager, so that what runs goes on"
	c.Long = `Make the store from which Hadoop's ResourceManager starts of the state that 'sojourn rm --state DIR' has
left, which must have ended. The store is the one that yarn-site.xml names: ZooKeeper, or the folder
yarn.resourcemanager.fs.state-store.uri. STORE is another folder, to be copied there. A store that is in the folder
stays beside the new one; in ZooKeeper it is replaced. DIR/rm.db is moved aside, so that 'sojourn rm' does not start
from it again:

    kill SOJOURN
    sojourn rm hand-over --conf "$HADOOP_CONF_DIR" --state DIR
    yarn --daemon start resourcemanager

yarn.resourcemanager.recovery.enabled must be true. With yarn.resourcemanager.ha.enabled the state is in ZooKeeper, and
--state is not needed; no ResourceManager of the cluster may run.`
	return c
}

// moveCommand returns a command that moves the state of a ResourceManager between Hadoop's store and ours.
func moveCommand(a *app, move func(context.Context, yarn.HadoopStore, yarn.Config, string) (yarn.Moved, error),
) *cobra.Command {
	var conf, state string
	c := &cobra.Command{
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if conf == "" {
				return usagef("--conf is needed: a folder with yarn-site.xml")
			}
			config, _, err := yarn.Site(conf)
			if err != nil {
				return err
			}
			var o output
			config.Log = o.logger(a.Err)
			var hadoop yarn.HadoopStore
			if len(args) == 1 {
				hadoop.Folder, err = yarn.LocalFolder(args[0])
			} else {
				hadoop, err = yarn.SiteStore(conf)
			}
			if err != nil {
				return err
			}
			file := ""
			if config.Kept.HA == nil {
				if state == "" {
					return usagef("--state is needed: the folder of the state, as of sojourn rm")
				}
				if err := os.MkdirAll(state, 0o700); err != nil {
					return failuref("--state: %w", err)
				}
				file = filepath.Join(state, stateFile)
			} else if state != "" {
				return usagef("--state: the state is kept in ZooKeeper, as yarn.resourcemanager.ha.enabled has it")
			}
			moved, err := move(cmd.Context(), hadoop, config, file)
			if err != nil {
				return err
			}
			for _, left := range moved.Left {
				a.remark("left behind: %s", left)
			}
			if moved.Before != "" {
				a.remark("the store that was there is now %s", moved.Before)
			}
			if moved.Aside != "" {
				a.remark("the state of sojourn rm is now %s", moved.Aside)
			}
			fmt.Fprintf(a.Out, "%s (%d not over) and %s are in %s\n", spelling.Count(moved.Apps, "application"),
				moved.Running, spelling.Count(moved.Tokens, "delegation token"), moved.To)
			return nil
		},
	}
	fl := c.Flags()
	fl.StringVar(&conf, "conf", "", "folder with core-site.xml, yarn-site.xml and the scheduler's file")
	fl.StringVar(&state, "state", "", "folder of the state, as of sojourn rm")
	return c
}
