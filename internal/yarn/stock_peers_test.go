package yarn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// The main classes of HDFS, of Tez, and of the command that prints logs.
const (
	nameNode  = "org.apache.hadoop.hdfs.server.namenode.NameNode"
	dataNode  = "org.apache.hadoop.hdfs.server.datanode.DataNode"
	fileShell = "org.apache.hadoop.fs.FsShell"
	logsCLI   = "org.apache.hadoop.yarn.client.cli.LogsCLI"
	tezCount  = "org.apache.tez.examples.OrderedWordCount"

	simpleHistory = "org.apache.tez.dag.history.logging.impl.SimpleHistoryLoggingService"
)

// chooseHDFS makes HDFS the file system of all peers. It is called before the configuration is written.
func (s *stock) chooseHDFS() {
	s.t.Helper()
	at := s.ports.take(s.t)
	s.more = map[string]string{
		"fs.defaultFS": "hdfs://" + at, "dfs.replication": "1", "dfs.permissions.enabled": "false",
		"dfs.namenode.name.dir": "file:" + s.dir + "/names", "dfs.datanode.data.dir": "file:" + s.dir + "/blocks",
		"dfs.namenode.http-address": s.ports.take(s.t), "dfs.namenode.secondary.http-address": s.ports.take(s.t),
		"dfs.datanode.address": s.ports.take(s.t), "dfs.datanode.http.address": s.ports.take(s.t),
		"dfs.datanode.ipc.address": s.ports.take(s.t), "dfs.datanode.hostname": "127.0.0.1",
		"dfs.namenode.datanode.registration.ip-hostname-check": "false",
		"dfs.namenode.safemode.extension":                      "0",
		"yarn.app.mapreduce.am.staging-dir":                    "/staging",
		"mapreduce.jobhistory.intermediate-done-dir":           "/done-soon",
		"mapreduce.jobhistory.done-dir":                        "/done",
		"yarn.log-aggregation-enable":                          "true",
		"yarn.nodemanager.remote-app-log-dir":                  "/logs",
	}
}

// startHDFS starts a NameNode and a DataNode, and waits until files can be written.
func (s *stock) startHDFS() {
	s.t.Helper()
	conf := s.dir + "/conf"
	for _, name := range []string{"hdfs", "datanode"} { // folders of pages, which Maven Central has not
		if err := os.MkdirAll(filepath.Join(conf, "webapps", name), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	s.run(nameNode, "-format", "-force", "-nonInteractive")
	s.start("namenode", s.java(context.Background(), conf, "384m", nameNode))
	node := s.start("datanode", s.java(context.Background(), conf, "384m", dataNode))
	s.until("the DataNode is registered", 2*time.Minute, func() bool {
		return strings.Contains(node.said(), "successfully registered with NN")
	})
}

// TestStockHDFS runs MapReduce with its files on HDFS. Logs are collected there when an application ends; `yarn logs`
// prints them, by the help of REST.
func TestStockHDFS(t *testing.T) {
	whole(t)
	s := newStock(t)
	s.chooseHDFS()
	s.choosePorts()
	s.startHDFS()
	s.serveVerb("capacity")
	s.addNodes(1)
	s.part("word count", func(s *stock) {
		in, want := s.words(2)
		s.run(fileShell, "-put", strings.ReplaceAll(in, " ", "%20"), "/in")
		s.run(examples, "wordcount", "-Dmapreduce.job.reduces=1", "/in", "/out")
		var got []string
		for _, line := range strings.Split(s.run(fileShell, "-cat", "/out/part-r-00000"), "\n") {
			if strings.HasPrefix(line, "word") {
				got = append(got, line)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			s.t.Errorf("%d lines came out that are not the %d expected", len(got), len(want))
		}
	})
	s.part("logs of what has ended", func(s *stock) {
		id := s.newest().ID
		s.until("logs are collected", time.Minute, func() bool { return s.collected(id) == "SUCCEEDED" })
		all := s.run(logsCLI, "-applicationId", id.String())
		if n := strings.Count(all, "\nLogType:syslog\n"); n < 4 || !strings.Contains(all, "Done acknowledgment") {
			s.t.Errorf("yarn logs prints %d logs of tasks and their ApplicationMaster:\n%.4000s", n, all)
		}
		master := s.run(logsCLI, "-applicationId", id.String(), "-am", "1", "-log_files", "syslog")
		if !strings.Contains(master, "MRAppMaster") || strings.Count(master, "\nLogType:syslog\n") != 1 {
			s.t.Errorf("yarn logs -am 1 prints:\n%.4000s", master)
		}
	})
	s.part("logs of what runs", func(s *stock) {
		r, wait := s.endless()
		master := s.run(logsCLI, "-applicationId", r.ID.String(), "-am", "ALL", "-log_files", "syslog")
		if !strings.Contains(master, "MRAppMaster") {
			s.t.Errorf("yarn logs -am ALL prints of one that runs:\n%.4000s", master)
		}
		if got := s.collected(r.ID); got != "NOT_START" && got != "RUNNING" {
			s.t.Errorf("its logs are collected: %s", got)
		}
		s.run(applicationCLI, "application", "-kill", r.ID.String())
		wait()
	})
}

// collected is what REST says of the logs of an application.
func (s *stock) collected(id wire.ApplicationID) string {
	s.t.Helper()
	status, _ := at(s.page("/ws/v1/cluster/apps/"+id.String()), "app.logAggregationStatus").(string)
	return status
}

// TestStockTez runs Tez's example of two vertices after one another on each word, in containers that it uses again.
func TestStockTez(t *testing.T) {
	whole(t)
	s := newStock(t)
	tez := os.Getenv("SOJOURN_TEZ")
	if tez == "" {
		t.Skip("SOJOURN_TEZ names no folder of Tez's jars: make test-hadoop sets it where Maven Central has them")
	}
	opens := strings.Join(quick, " ")
	s.serve("capacity", nil)
	s.writeXML(s.dir+"/conf/tez-site.xml", map[string]string{
		"tez.ignore.lib.uris":                              "true",
		"tez.use.cluster.hadoop-libs":                      "true",
		"tez.cluster.additional.classpath.prefix":          s.jars + "/*:" + tez + "/*",
		"tez.staging-dir":                                  "file:" + s.dir + "/tez-staging",
		"tez.am.resource.memory.mb":                        "512",
		"tez.task.resource.memory.mb":                      "512",
		"tez.am.launch.cmd-opts":                           "-Xmx384m " + opens,
		"tez.task.launch.cmd-opts":                         "-Xmx384m " + opens,
		"tez.runtime.io.sort.mb":                           "32",
		"tez.history.logging.service.class":                simpleHistory,
		"tez.am.container.idle.release-timeout-min.millis": "1000",
	})
	s.addNodes(1)
	s.part("ordered word count", func(s *stock) {
		in, want := s.words(3)
		out := s.dir + "/tez-out"
		part := *s
		part.jars = s.jars + "/*:" + tez
		said := part.run(tezCount, in, out)
		var got []string
		parts, _ := filepath.Glob(out + "/part-*")
		for _, path := range parts {
			text, err := os.ReadFile(path)
			if err != nil {
				s.t.Fatal(err)
			}
			got = append(got, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			s.t.Errorf("%d lines came out that are not the %d expected:\n%s", len(got), len(want), said)
		}
		s.until("the session's ApplicationMaster has ended", time.Minute, func() bool {
			return s.newest().State >= wire.AppFinished
		})
		if r := s.newest(); r.Type != "TEZ" || r.State != wire.AppFinished || r.Final != wire.Succeeded {
			s.t.Errorf("report %+v", r)
		}
	})
}

// sqlWorks is a Spark program of two queries with a pause between them, in which executors have nothing to do.
const sqlWorks = `
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
def sums():
    rows = spark.range(0, 20000, 1, 6).selectExpr("id % 7 as k", "id as v").groupBy("k").sum("v").orderBy("k").collect()
    print("sums", [row[1] for row in rows], flush=True)
def executors():
    return spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
sums()
print("most", executors() > 0, flush=True)
until = time.time() + 120
while executors() > 0 and time.time() < until:
    time.sleep(0.5)
print("idle", executors(), flush=True)
sums()
print("again", executors() > 0, flush=True)
`

// TestStockSparkSQL has Spark SQL ask for executors as it has work, give them back when it has none, and ask again;
// what they leave is served by NodeManagers (the external shuffle service).
func TestStockSparkSQL(t *testing.T) {
	whole(t)
	s := newStock(t)
	home := os.Getenv("SOJOURN_SPARK")
	shuffle, _ := filepath.Glob(home + "/yarn/*.jar")
	if home == "" || len(shuffle) == 0 {
		t.Skip("SOJOURN_SPARK names no Spark with yarn/spark-network-yarn: make test-hadoop sets it")
	}
	_, port, _ := strings.Cut(s.ports.take(t), ":")
	service := "yarn.nodemanager.aux-services"
	s.more = map[string]string{
		service:                              "mapreduce_shuffle,spark_shuffle",
		service + ".spark_shuffle.class":     "org.apache.spark.network.yarn.YarnShuffleService",
		service + ".spark_shuffle.classpath": strings.Join(shuffle, ":") + ":" + home + "/jars/*",
		"spark.shuffle.service.port":         port,
	}
	s.serve("capacity", nil)
	s.addNodes(1)
	s.part("executors come and go", func(s *stock) {
		s.write(s.dir+"/works.py", sqlWorks)
		out, err := s.sparkSubmit("client", []string{
			"spark.shuffle.service.enabled=true", "spark.shuffle.service.port=" + port,
			"spark.dynamicAllocation.enabled=true", "spark.dynamicAllocation.minExecutors=0",
			"spark.dynamicAllocation.initialExecutors=0", "spark.dynamicAllocation.maxExecutors=3",
			"spark.dynamicAllocation.executorIdleTimeout=3s", "spark.sql.shuffle.partitions=3",
		}, s.dir+"/works.py")
		if err != nil {
			s.t.Fatal(err)
		}
		sums := make([]int, 7)
		for i := range 20_000 {
			sums[i%7] += i
		}
		want := fmt.Sprintf("sums [%s]\n", strings.ReplaceAll(strings.Trim(fmt.Sprint(sums), "[]"), " ", ", "))
		if strings.Count(out, want) != 2 || !strings.Contains(out, "most True\n") ||
			!strings.Contains(out, "idle 0\n") || !strings.Contains(out, "again True\n") {
			s.t.Errorf("want twice %s Spark said:\n%s", want, out)
		}
		if r := s.newest(); r.Type != "SPARK" || r.State != wire.AppFinished || r.Final != wire.Succeeded {
			s.t.Errorf("report %+v", r)
		}
	})
}
