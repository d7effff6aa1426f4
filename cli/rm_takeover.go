package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/yarn"
)

// stateFile is the name of the state of a ResourceManager in its folder.
const stateFile = "rm.db"

func takeOverCommand(a *app) *cobra.Command {
	var conf, state string
	c := &cobra.Command{
		Use:   "take-over STORE --conf DIR --state DIR",
		Short: "Start from the state of Hadoop's ResourceManager, so that what runs goes on",
		Long: `Make the state for 'sojourn rm --state DIR' of what Hadoop's ResourceManager has stored: applications that run,
their ApplicationMasters and containers go on, and delegation tokens stay good. STORE is the folder that
yarn.resourcemanager.fs.state-store.uri names, or a copy of it; it is not changed. Hadoop's ResourceManager must have
ended, and must not start again from this store:

    yarn --daemon stop resourcemanager
    hdfs dfs -get hdfs:///rmstore copy     # where the store is in HDFS
    sojourn rm take-over copy --conf "$HADOOP_CONF_DIR" --state DIR
    sojourn rm --conf "$HADOOP_CONF_DIR" --state DIR`,
		Args: exactly(1, "the folder of Hadoop's store"),
		RunE: func(_ *cobra.Command, args []string) error {
			if conf == "" || state == "" {
				return usagef("--conf and --state are needed: folders with yarn-site.xml, and for the state")
			}
			store, err := storeFolder(args[0])
			if err != nil {
				return err
			}
			config, _, err := yarn.Site(conf)
			if err != nil {
				return err
			}
			if config.Kept.HA != nil {
				return usagef("--conf %s: yarn.resourcemanager.ha.enabled keeps the state in ZooKeeper; this makes the "+
					"state of a ResourceManager that is the only one", conf)
			}
			if err := os.MkdirAll(state, 0o700); err != nil {
				return failuref("--state: %w", err)
			}
			moved, err := yarn.TakeOver(store, filepath.Join(state, stateFile), config.Queues)
			if err != nil {
				return err
			}
			a.tellMoved(moved, "taken over into "+filepath.Join(state, stateFile))
			return nil
		},
	}
	fl := c.Flags()
	fl.StringVar(&conf, "conf", "", "folder with core-site.xml, yarn-site.xml and the scheduler's file")
	fl.StringVar(&state, "state", "", "folder for the state, as of sojourn rm; it must not have one yet")
	return c
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
			store, err := storeFolder(args[0])
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

// storeFolder returns the folder that an argument names, which may be the URI of a local one.
func storeFolder(named string) (string, error) {
	if scheme, path, is := strings.Cut(named, ":"); is && !strings.Contains(scheme, "/") {
		if scheme != "file" {
			return "", usagef("%s: must be a folder of this machine: copy it with hdfs dfs -get or -put", named)
		}
		return filepath.Clean(path), nil
	}
	return named, nil
}

// tellMoved prints what was moved from one store to another.
func (a *app) tellMoved(moved yarn.Moved, where string) {
	for _, left := range moved.Left {
		a.remark("left behind: %s", left)
	}
	fmt.Fprintf(a.Out, "%s (%d not over) and %s %s\n", spelling.Count(moved.Apps, "application"), moved.Running,
		spelling.Count(moved.Tokens, "delegation token"), where)
}
