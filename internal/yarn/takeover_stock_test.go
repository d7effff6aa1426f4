package yarn

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// recovery is the package of Hadoop's stores.
const recovery = "org.apache.hadoop.yarn.server.resourcemanager.recovery."

// TestStockTakeOver has a cluster change over to `sojourn rm` in the middle of a job, and back to Hadoop's own
// ResourceManager. The job ends as if nothing had been: with its first ApplicationMaster, and no task that ran is run
// again. A delegation token is good under all of them, and what was over before is told of.
func TestStockTakeOver(t *testing.T) {
	whole(t)
	s := newStock(t)
	hadoopState := filepath.Join(s.dir, "rmstore")
	state := filepath.Join(s.dir, "state")
	s.more = map[string]string{
		"yarn.resourcemanager.recovery.enabled":   "true",
		"yarn.resourcemanager.store.class":        recovery + "FileSystemRMStateStore",
		"yarn.resourcemanager.fs.state-store.uri": "file://" + hadoopState,
	}
	hadoop := s.serveJava()
	s.addNodes(2)
	s.part("a job under three ResourceManagers", func(s *stock) {
		s.sleep(1, 1, 10)
		over := s.newest()
		var token wire.TokenGiven
		if err := s.call("getDelegationToken", &wire.TokenWanted{Renewer: "root"}, &token); err != nil {
			s.t.Fatal(err)
		}
		const maps, reduces = 14, 1
		type ended struct {
			out string
			err error
		}
		done := make(chan ended, 1)
		go func() {
			out, err := s.try(sleepArgs(maps, reduces, 12_000)...)
			done <- ended{out, err}
		}()
		r := s.untilRuns(over.ID, 4)
		goesOn := func(who string) {
			s.t.Helper()
			began := time.Now()
			s.until("the job goes on under "+who, 2*time.Minute, func() bool {
				now := s.newest()
				return now.ID == r.ID && now.State == wire.AppRunning && now.Usage.Containers >= 2
			})
			s.t.Logf("runs again under %s after %v", who, time.Since(began))
			var was wire.ApplicationResponse
			if err := s.call("getApplicationReport", &wire.ApplicationRequest{ID: over.ID}, &was); err != nil ||
				was.Report.State != wire.AppFinished || was.Report.Final != wire.Succeeded {
				s.t.Errorf("%s says of what is over %+v, %v", who, was.Report, err)
			}
			var renewed wire.TokenRenewed
			if err := s.call("renewDelegationToken", &token, &renewed); err != nil {
				s.t.Errorf("%s does not renew a delegation token: %v", who, err)
			}
			time.Sleep(3 * time.Second) // something happens in this life, too
		}
		hadoop.kill()
		if into := os.Getenv("SOJOURN_HADOOP_STATE"); into != "" { // for internal/hadoopstore/testdata
			if err := os.CopyFS(into, os.DirFS(hadoopState)); err != nil {
				s.t.Fatal(err)
			}
		}
		s.moves("take-over", "--conf", s.dir+"/conf", "--state", state)
		sojourn := s.serveVerb("capacity", "--state", state)
		goesOn("Sojourn")
		sojourn.kill()
		s.moves("hand-over", "--conf", s.dir+"/conf", "--state", state)
		s.serveJava()
		goesOn("Hadoop")
		job := <-done
		if job.err != nil {
			s.t.Fatal(job.err)
		}
		s.ranOnce(job.out, maps, reduces)
	})
}

// TestStockTakeOverZooKeeper has one of two of Hadoop's ResourceManagers killed in the middle of a job. `sojourn rm`
// takes over what it has in ZooKeeper, is killed too, and hands it back.
func TestStockTakeOverZooKeeper(t *testing.T) {
	whole(t)
	s := newTurns(t)
	maps.Copy(s.site, map[string]string{
		"yarn.resourcemanager.recovery.enabled":                     "true",
		"yarn.resourcemanager.zk-appid-node.split-index":            "2",
		"yarn.resourcemanager.zk-delegation-token-node.split-index": "1",
		"yarn.resourcemanager.store.class":                          recovery + "ZKRMStateStore",
	})
	s.writeConf("conf", nil)
	_, conf := s.confOf(0)
	start := func() *daemon {
		hadoop := s.start("rm-hadoop", s.java(context.Background(), conf, "512m",
			"org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"))
		s.until("Hadoop's ResourceManager is active", 2*time.Minute, func() bool {
			return strings.Contains(hadoop.said(), "Transitioned to active state")
		})
		return hadoop
	}
	hadoop := start()
	s.at = s.addresses[0]
	s.addNodes(2)
	s.sleep(1, 1, 10)
	over := s.newest().ID
	if err := s.call("getDelegationToken", &wire.TokenWanted{Renewer: "root"}, &wire.TokenGiven{}); err != nil {
		t.Fatal(err)
	}
	const mapTasks = 12
	done := make(chan error, 1)
	var out string
	go func() {
		var err error
		out, err = s.try(sleepArgs(mapTasks, 1, 12_000)...)
		done <- err
	}()
	job := s.untilRuns(over, 3).ID
	hadoop.kill()
	s.moves("take-over", "--conf", conf)
	s.begin(0)
	s.active(0)
	s.goesOn(job)
	s.serving[0].kill()
	s.moves("hand-over", "--conf", conf)
	start()
	s.goesOn(job)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s.ranOnce(out, mapTasks, 1)
}

// moves moves the state from one ResourceManager's store to the other's: two applications, of them one that runs, and a
// delegation token.
func (s *stock) moves(command string, args ...string) {
	s.t.Helper()
	out, err := exec.Command(program(s.t), append([]string{"rm", command}, args...)...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 applications (1 not over) and 1 delegation token are in ") {
		s.t.Fatalf("sojourn rm %s: %v\n%s", command, err, out)
	}
}
