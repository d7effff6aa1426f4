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
	var conf, state string
	c := &cobra.Command{
		Use:   "take-over [STORE] --conf DIR --state DIR",
		Short: "Start from the state of Hadoop's ResourceManager, so that what runs goes on",
		Long: `Make the state for 'sojourn rm --state DIR' of what Hadoop's ResourceManager has stored: applications that run,
their ApplicationMasters and containers go on, and delegation tokens stay good. The store is the one that yarn-site.xml
names: ZooKeeper, or the folder yarn.resourcemanager.fs.state-store.uri. STORE is a copy of that folder. The store is
not changed. Hadoop's ResourceManager must have ended, and must not start from this store again:

    yarn --daemon stop resourcemanager
    hdfs dfs -get hdfs:///rmstore copy     # where the store is in HDFS, and name it: take-over copy ...
    sojourn rm take-over --conf "$HADOOP_CONF_DIR" --state DIR
    sojourn rm --conf "$HADOOP_CONF_DIR" --state DIR

With yarn.resourcemanager.ha.enabled the state is made in ZooKeeper, without --state, when all ResourceManagers have
ended.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return takeOver(cmd.Context(), a, conf, state, args)
		},
	}
	fl := c.Flags()
	fl.StringVar(&conf, "conf", "", "folder with core-site.xml, yarn-site.xml and the scheduler's file")
	fl.StringVar(&state, "state", "", "folder for the state, as of sojourn rm; it must not have one yet")
	return c
}

func takeOver(ctx context.Context, a *app, conf, state string, args []string) error {
	if conf == "" {
		return usagef("--conf is needed: a folder with yarn-site.xml")
	}
	config, _, err := yarn.Site(conf)
	if err != nil {
		return err
	}
	var o output
	config.Log = o.logger(a.Err)
	var from yarn.HadoopStore
	if len(args) == 1 {
		from.Folder, err = yarn.LocalFolder(args[0])
	} else {
		from, err = yarn.SiteStore(conf)
	}
	if err != nil {
		return err
	}
	where, file := "ZooKeeper", ""
	switch {
	case config.Kept.HA != nil && state != "":
		return usagef("--state: the state is kept in ZooKeeper, as yarn.resourcemanager.ha.enabled has it")
	case config.Kept.HA == nil && state == "":
		return usagef("--state is needed: a folder for the state")
	case config.Kept.HA == nil:
		if err := os.MkdirAll(state, 0o700); err != nil {
			return failuref("--state: %w", err)
		}
		file = filepath.Join(state, stateFile)
		where = file
	}
	moved, err := yarn.TakeOver(ctx, from, config, file)
	if err != nil {
		return err
	}
	a.tellMoved(moved, "taken over into "+where)
	return nil
}

func handOverCommand(a *app) *cobra.Command {
	var state string
	c := &cobra.Command{
		Use:   "hand-over STORE --state DIR",
		Short: "Make a state for Hadoop's ResourceManager, so that what runs goes on",
		Long: `Make the store from which Hadoop's ResourceManager starts of the state that 'sojourn rm --state DIR' has left, which
must have ended. STORE is the folder that yarn.resourcemanager.fs.state-store.uri names, or is to be copied there; a
store that is in it stays beside the new one. DIR/rm.db is moved aside: 'sojourn rm' does not start from it again.

    kill SOJOURN
    sojourn rm hand-over new --state DIR
    hdfs dfs -mv /rmstore /rmstore.before; hdfs dfs -put new /rmstore     # where the store is in HDFS
    yarn --daemon start resourcemanager     # with yarn.resourcemanager.recovery.enabled and FileSystemRMStateStore`,
		Args: exactly(1, "a folder for Hadoop's store"),
		RunE: func(_ *cobra.Command, args []string) error {
			if state == "" {
				return usagef("--state is needed: the folder with the state of sojourn rm")
			}
			store, err := yarn.LocalFolder(args[0])
			if err != nil {
				return err
			}
			moved, err := yarn.HandOver(filepath.Join(state, stateFile), store)
			if err != nil {
				return err
			}
			if moved.Before != "" {
				a.remark("the store that was there is now %s", moved.Before)
			}
			a.tellMoved(moved, "handed over into "+store)
			return nil
		},
	}
	c.Flags().StringVar(&state, "state", "", "folder with the state of sojourn rm")
	return c
}

// tellMoved prints what was moved from one store to another.
func (a *app) tellMoved(moved yarn.Moved, where string) {
	for _, left := range moved.Left {
		a.remark("left behind: %s", left)
	}
	fmt.Fprintf(a.Out, "%s (%d not over) and %s %s\n", spelling.Count(moved.Apps, "application"), moved.Running,
		spelling.Count(moved.Tokens, "delegation token"), where)
}
