package yarn

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// The main classes of stock Hadoop that tests run.
const (
	examples         = "org.apache.hadoop.examples.ExampleDriver"
	sleepJob         = "org.apache.hadoop.mapreduce.SleepJob"
	mapredJob        = "org.apache.hadoop.mapred.JobClient"
	mapredQueue      = "org.apache.hadoop.mapred.JobQueueClient"
	applicationCLI   = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"
	nodeCLI          = "org.apache.hadoop.yarn.client.cli.NodeCLI"
	queueCLI         = "org.apache.hadoop.yarn.client.cli.QueueCLI"
	shellClient      = "org.apache.hadoop.yarn.applications.distributedshell.Client"
	shellMaster      = "org.apache.hadoop.yarn.applications.distributedshell.ApplicationMaster"
	unmanagedMasters = "org.apache.hadoop.yarn.applications.unmanagedamlauncher.UnmanagedAMLauncher"
)

// TestStock is what `make test` runs where stock Hadoop is to be had.
func TestStock(t *testing.T) {
	s := newStock(t)
	s.serve("capacity", nil)
	s.addNodes(1)
	s.part("distributed shell", (*stock).distributedShell)
	s.part("word count", func(s *stock) { s.wordCount(2, 1) })
}

// TestStockCapacity is what stock applications must find working, on two NodeManagers.
func TestStockCapacity(t *testing.T) {
	whole(t)
	s := newStock(t)
	s.serve("capacity", func(c *Config) { c.Expiry.Node = 30 * time.Second })
	s.addNodes(2)
	s.part("20 maps and 3 reduces on two nodes", func(s *stock) {
		s.wordCount(20, 3)
		for i := range s.nodes {
			if logs, _ := filepath.Glob(s.home(i) + "/log/application_*/container_*"); len(logs) == 0 {
				s.t.Errorf("node %d ran nothing", i)
			}
		}
	})
	s.part("pi", func(s *stock) {
		if out := s.run(examples, "pi", "4", "10"); !strings.Contains(
			out,
			"Estimated value of Pi is 3.4",
		) { // of these 40 points
			s.t.Errorf("pi said:\n%s", out)
		}
	})
	s.part("terasort", (*stock).teraSort)
	s.part("sleep", func(s *stock) { s.sleep(3, 1, 300) })
	for i := range 3 {
		s.part(fmt.Sprint("two jobs in contention, ", i+1), (*stock).contention)
	}
	s.part("distributed shell", (*stock).distributedShell)
	s.part("an unmanaged ApplicationMaster", (*stock).unmanaged)
	s.part("Spark, client mode", func(s *stock) {
		if out := s.spark("client"); !strings.Contains(out, "Pi is roughly 3.1") {
			s.t.Errorf("Spark said:\n%s", out)
		}
	})
	s.part("Spark, cluster mode", func(s *stock) {
		s.spark("cluster")
		logs, _ := filepath.Glob(fmt.Sprintf("%s/node*/log/%s/container_*_000001/stdout", s.dir, s.newest().ID))
		if len(logs) != 1 {
			s.t.Fatalf("logs of the driver: %v", logs)
		}
		if out, _ := os.ReadFile(logs[0]); !strings.Contains(string(out), "Pi is roughly 3.1") {
			s.t.Errorf("the driver said:\n%s", out)
		}
	})
	s.part("kill from the command line", (*stock).killed)
	s.part("an ApplicationMaster is killed", (*stock).secondAttempt)
	s.part("a NodeManager is lost in mid-job", func(part *stock) { part.nodeLost(s) })
}

// TestStockLostReplies has every fourth reply to NodeManagers and to ApplicationMasters lost, after the call was
// carried out.
func TestStockLostReplies(t *testing.T) {
	whole(t)
	s := newStock(t)
	s.serve("capacity", nil)
	var proxies []*peer.Proxy
	for _, at := range []*string{&s.at.Tracker, &s.at.Master} {
		p, err := peer.StartProxy(*at, func(n int) bool { return n%4 == 0 })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		proxies = append(proxies, p)
		*at = p.Address()
	}
	s.configure()
	s.addNodes(1)
	s.part("word count", func(s *stock) { s.wordCount(6, 2) })
	for i, p := range proxies {
		if p.Lost() < 2 {
			t.Errorf("proxy %d lost %d replies: too few for the test to say anything", i, p.Lost())
		}
	}
}

// TestStockKeys rolls all keys every 12 s, and uses new ones 4 s after nodes were offered them.
func TestStockKeys(t *testing.T) {
	whole(t)
	s := newStock(t)
	s.serve("capacity", func(c *Config) { c.Keys = Keys{Roll: 12 * time.Second, Delay: 4 * time.Second} })
	s.addNodes(1)
	key := func() (id int32) {
		s.rm.front.ask(func(m *manager) (answer, error) { id = m.keys.container.Current().ID; return nil, nil })
		return id
	}
	s.part("nine maps of four seconds", func(s *stock) {
		first := key()
		out := s.sleep(9, 1, 4000)
		if rolled := key() - first; rolled < 2 {
			s.t.Errorf("the job saw %d new keys: too few for the test to say anything", rolled)
		}
		if strings.Contains(out, "Failed map tasks") {
			s.t.Errorf("tasks failed:\n%s", out)
		}
	})
}

// TestStockPolicies runs `sojourn rm` itself under one policy after the other. Each but the last is killed by signal 9
// in the middle of a job, and the next takes its place on the same ports: the NodeManager comes back, the job of the
// old life is not known any more and ends, and new ones run.
func TestStockPolicies(t *testing.T) {
	whole(t)
	s := newStock(t)
	policies := []string{"fifo", "fair", "srpt", "fspy"}
	rm := s.serveVerb(policies[0])
	s.addNodes(1)
	lives := map[int64]bool{} // by the timestamp in the ids of applications, and so of containers
	for i, name := range policies {
		s.part(name+", word count", func(s *stock) { s.wordCount(2, 1) })
		s.part(name+", contention", (*stock).contention)
		lives[s.newest().ID.Timestamp] = true
		if i == len(policies)-1 {
			break
		}
		var shell sync.WaitGroup
		shell.Go(
			func() { // no NodeManager ends this one's ApplicationMaster: it ends when it is told that it is not known
				if out, err := s.launchUnmanaged("sleep 600", 1); err == nil ||
					!strings.Contains(out, classAttemptNotFound) {
					t.Errorf("an unmanaged ApplicationMaster of the old life: %v\n%s", err, out)
				}
			},
		)
		s.untilRuns(s.newest().ID, 1)
		old, wait := s.endless()
		rm.kill()
		rm = s.serveVerb(policies[i+1])
		s.untilNodes(1)
		wait()
		shell.Wait()
		s.clean()
		if err := s.call("getApplicationReport", &wire.ApplicationRequest{ID: old.ID},
			&wire.ApplicationResponse{}); err == nil ||
			!strings.Contains(err.Error(), classAppNotFound) {
			t.Errorf("the old life's application: %v", err)
		}
	}
	if len(lives) != len(policies) {
		t.Errorf("%d lives have %d timestamps: container ids may be used twice", len(policies), len(lives))
	}
}

// words writes n files of words, and returns where, and what there is of each, line by line.
func (s *stock) words(n int) (in string, want []string) {
	s.t.Helper()
	in = filepath.Join(s.dir, strings.ReplaceAll("in "+s.t.Name(), "/", "-"))
	counts := map[string]int{}
	for i := range n {
		var b strings.Builder
		for k := range 2000 {
			word := fmt.Sprint("word", (k*7+i)%311)
			counts[word]++
			fmt.Fprintln(&b, word)
		}
		s.write(filepath.Join(in, fmt.Sprint("part", i)), b.String())
	}
	for word, n := range counts {
		want = append(want, fmt.Sprintf("%s\t%d", word, n))
	}
	slices.Sort(want)
	return in, want
}

// wordCount counts words, compares with counts that Go made, and returns its output: the lines of all parts, in order.
func (s *stock) wordCount(maps, reduces int) []string {
	s.t.Helper()
	in, want := s.words(maps)
	out := strings.Replace(in, "in ", "out ", 1)
	said := s.run(examples, "wordcount", fmt.Sprint("-Dmapreduce.job.reduces=", reduces), in, out)
	parts, _ := filepath.Glob(out + "/part-r-*")
	if len(parts) != reduces || !strings.Contains(said, fmt.Sprintf("Launched map tasks=%d", maps)) {
		s.t.Errorf("%d parts, want %d of %d maps:\n%s", len(parts), reduces, maps, said)
	}
	var got []string
	for _, part := range parts {
		text, err := os.ReadFile(part)
		if err != nil {
			s.t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if !slices.IsSorted(lines) {
			s.t.Errorf("%s is not in order", part)
		}
		got = append(got, lines...)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.t.Errorf("%d lines came out that are not the %d expected", len(got), len(want))
	}
	if r := s.newest(); r.State != wire.AppFinished || r.Final != wire.Succeeded || r.Name != "word count" ||
		r.Type != "MAPREDUCE" {
		s.t.Errorf("report %+v", r)
	}
	return got
}

func sleepArgs(maps, reduces, ms int) []string {
	return []string{
		sleepJob,
		"-m",
		fmt.Sprint(maps),
		"-r",
		fmt.Sprint(reduces),
		"-mt",
		fmt.Sprint(ms),
		"-rt",
		fmt.Sprint(ms),
	}
}

func (s *stock) sleep(maps, reduces, ms int) string {
	s.t.Helper()
	return s.run(sleepArgs(maps, reduces, ms)...)
}

// contention runs two jobs that want more than there is. Reduces that start early must not keep the other's maps, or
// their own, out for ever.
func (s *stock) contention() {
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, err := s.try(sleepArgs(3*len(s.nodes), 2*len(s.nodes), 300)...); err != nil {
				s.t.Error(err)
			}
		})
	}
	both.Wait()
}

// teraSort generates, sorts and validates: the sum over all rows must be that of the rows generated.
func (s *stock) teraSort() {
	const rows = 20_000
	// Without HDFS a task's file system works in its client's folder, not its own, where the file of partitions has
	// been put for it.
	if err := os.Symlink("tera-sorted/_partition.lst", s.dir+"/_partition.lst"); err != nil {
		s.t.Fatal(err)
	}
	made := s.run(examples, "teragen", "-Dmapreduce.job.maps=2", fmt.Sprint(rows), s.dir+"/tera")
	s.run(examples, "terasort", "-Dmapreduce.job.reduces=2", s.dir+"/tera", s.dir+"/tera-sorted")
	s.run(examples, "teravalidate", s.dir+"/tera-sorted", s.dir+"/tera-report")
	report, err := os.ReadFile(s.dir + "/tera-report/part-r-00000")
	if err != nil {
		s.t.Fatal(err)
	}
	sum := regexp.MustCompile(`CHECKSUM=(\d+)`).FindStringSubmatch(made)
	if sum == nil {
		s.t.Fatalf("teragen says no checksum:\n%s", made)
	}
	n, _ := strconv.ParseUint(sum[1], 10, 64)
	if want := fmt.Sprintf("checksum\t%x\n", n); string(report) != want {
		s.t.Errorf("teravalidate reports %q, want %q", report, want)
	}
}

func (s *stock) shellJar() string {
	return s.jars + "/hadoop-yarn-applications-distributedshell-" + hadoopVersion + ".jar"
}

func (s *stock) distributedShell() {
	out := s.run(
		shellClient,
		"-jar",
		s.shellJar(),
		"-shell_command",
		"date",
		"-num_containers",
		"3",
		"-container_memory",
		"256",
		"-master_memory",
		"256",
	)
	if !strings.Contains(out, "Application completed successfully") {
		s.t.Errorf("distributed shell said:\n%s", out)
	}
}

// launchUnmanaged has distributed shell's ApplicationMaster run a command in some containers, by the launcher that
// stock Hadoop has for ApplicationMasters that are not managed.
func (s *stock) launchUnmanaged(command string, containers int) (string, error) {
	s.write(s.dir+"/shellCommands", string([]byte{0, byte(len(command))})+command) // as Java's writeUTF does
	master := strings.Join(
		[]string{"java", "-Xmx256m", quick[0], quick[1], quick[2], "-cp", s.dir + "/conf:" + s.jars + "/*", shellMaster,
			"--container_memory", "256", "--num_containers", fmt.Sprint(containers), "--priority", "0", "--appname",
			"shell"},
		" ",
	)
	return s.try(
		unmanagedMasters,
		"-appname",
		"shell",
		"-queue",
		"default",
		"-classpath",
		s.dir+"/conf:"+s.jars+"/*",
		"-cmd",
		master,
	)
}

func (s *stock) unmanaged() {
	out, err := s.launchUnmanaged("echo unmanaged", 2)
	if err != nil {
		s.t.Fatal(err)
	}
	r := s.newest()
	if !strings.Contains(out, "App ended with state: FINISHED and status: SUCCEEDED") || !r.Unmanaged ||
		r.State != wire.AppFinished ||
		r.Final != wire.Succeeded {
		s.t.Errorf("the report is %+v; the launcher said:\n%s", r, out)
	}
	logs, _ := filepath.Glob(fmt.Sprintf("%s/node*/log/%s/container_*/stdout", s.dir, r.ID))
	for _, log := range logs {
		if text, _ := os.ReadFile(log); string(text) != "unmanaged\n" {
			s.t.Errorf("%s: %q", log, text)
		}
	}
	if len(logs) != 2 {
		s.t.Errorf("%d containers ran, want 2", len(logs))
	}
}

// spark runs Spark's own example of pi with two executors, and checks its report.
func (s *stock) spark(mode string) string {
	s.t.Helper()
	out, err := s.submitSpark(mode)
	if err != nil {
		s.t.Fatal(err)
	}
	if r := s.newest(); r.Type != "SPARK" || r.State != wire.AppFinished || r.Final != wire.Succeeded {
		s.t.Errorf("report %+v", r)
	}
	return out
}

// submitSpark runs Spark's own example of pi with two executors. Its event log lands in the folder spark-events.
func (s *stock) submitSpark(mode string) (string, error) {
	s.t.Helper()
	return s.sparkSubmit(mode, []string{"spark.executor.instances=2"},
		os.Getenv("SOJOURN_SPARK")+"/examples/src/main/python/pi.py", "4")
}

// sparkSubmit runs a Spark program on one-core executors of 512 MiB, with properties beyond those of all here.
func (s *stock) sparkSubmit(mode string, more []string, program ...string) (string, error) {
	s.t.Helper()
	home := os.Getenv("SOJOURN_SPARK")
	if home == "" {
		s.t.Skip("SOJOURN_SPARK names no Spark: make test-hadoop sets it")
	}
	events := filepath.Join(s.dir, "spark-events")
	if err := os.MkdirAll(events, 0o755); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	args := []string{
		home + "/bin/spark-submit",
		"--master",
		"yarn",
		"--deploy-mode",
		mode,
		"--driver-memory",
		"512m",
		"--executor-memory",
		"512m",
		"--executor-cores",
		"1",
	}
	for _, conf := range append([]string{
		"spark.yarn.am.memory=512m", "spark.yarn.stagingDir=file:" + s.dir + "/staging",
		"spark.yarn.jars=local:" + home + "/jars/*",
		"spark.ui.enabled=false", "spark.eventLog.enabled=true", "spark.eventLog.compress=false",
		"spark.eventLog.dir=file:" + events, "spark.yarn.appMasterEnv.PYSPARK_PYTHON=python3",
		"spark.yarn.appMasterEnv.SPARK_LOCAL_IP=127.0.0.1",
		"spark.yarn.appMasterEnv.SPARK_LOCAL_HOSTNAME=127.0.0.1", "spark.executorEnv.SPARK_LOCAL_IP=127.0.0.1",
	}, more...) {
		args = append(args, "--conf", conf)
	}
	cmd := s.command(ctx, s.dir+"/conf", append(args, program...)...)
	cmd.Env = append(
		cmd.Env,
		"YARN_CONF_DIR="+s.dir+"/conf",
		"SPARK_HOME="+home,
		"PYSPARK_PYTHON=python3",
		"SPARK_LOCAL_IP=127.0.0.1",
		"SPARK_LOCAL_HOSTNAME=127.0.0.1",
	)
	return s.execute(cmd)
}

// endless submits a job that does not end by itself, and returns it when it runs, and what waits for its client's
// failure.
func (s *stock) endless() (wire.ApplicationReport, func()) {
	s.t.Helper()
	before := s.newest().ID
	var job sync.WaitGroup
	job.Go(func() {
		if out, err := s.try(sleepArgs(2, 1, 600_000)...); err == nil {
			s.t.Errorf("a job that was killed succeeded:\n%s", out)
		}
	})
	return s.untilRuns(before, 3), job.Wait
}

// killed kills by `yarn application -kill` and by `mapred job -kill`, which has the job's ApplicationMaster do it.
func (s *stock) killed() {
	r, wait := s.endless()
	if out := s.run(applicationCLI, "application", "-kill", r.ID.String()); !strings.Contains(
		out,
		"Killed application "+r.ID.String(),
	) {
		s.t.Errorf("kill said:\n%s", out)
	}
	wait()
	if out := s.run(applicationCLI, "application", "-status", r.ID.String()); !strings.Contains(out, "State : KILLED") {
		s.t.Errorf("status said:\n%s", out)
	}
	r, wait = s.endless()
	job := strings.Replace(r.ID.String(), "application", "job", 1)
	if out := s.run(mapredJob, "-kill", job); !strings.Contains(out, "Killed job "+job) {
		s.t.Errorf("mapred job -kill said:\n%s", out)
	}
	wait()
	if r := s.newest(); r.Final != wire.Killed {
		s.t.Errorf("report %+v", r)
	}
}

// secondAttempt ends the process of an ApplicationMaster, as the kernel might; the job succeeds in its second attempt.
func (s *stock) secondAttempt() {
	before := s.newest().ID
	var job sync.WaitGroup
	job.Go(func() {
		if _, err := s.try(sleepArgs(2, 1, 4000)...); err != nil {
			s.t.Error(err)
		}
	})
	r := s.untilRuns(before, 3)
	killed := 0
	for i := range s.nodes {
		for _, pid := range processes(s.home(i)) {
			if at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil &&
				strings.HasSuffix(at, "_01_000001") &&
				syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	job.Wait()
	if r = s.newest(); killed == 0 || r.Attempt.Attempt != 2 || r.Final != wire.Succeeded {
		s.t.Errorf("%d processes killed; report %+v", killed, r)
	}
}

// nodeLost ends a NodeManager and all that runs there, when a job's maps do; all is the cluster beyond this part of the
// test.
func (s *stock) nodeLost(all *stock) {
	before := s.newest().ID
	var job sync.WaitGroup
	job.Go(func() {
		if _, err := s.try(sleepArgs(8, 1, 15_000)...); err != nil {
			s.t.Error(err)
		}
	})
	r := s.untilRuns(before, 8) // of a vcore each
	lost := 0                   // the one that has not got the ApplicationMaster
	if at, _ := filepath.Glob(fmt.Sprintf("%s/log/%s/container_*_000001", s.home(lost), r.ID)); len(at) > 0 {
		lost = 1
	}
	s.nodes[lost].kill()
	s.endContainers(lost)
	s.untilNodes(1)
	job.Wait()
	if r = s.newest(); r.Attempt.Attempt != 1 || r.Final != wire.Succeeded {
		s.t.Errorf("report %+v", r)
	}
	all.startNode(lost) // it clears what it left when it was killed
	s.untilNodes(2)
}

// spoken is what a command says on its standard output, without what differs from run to run: identities, times and
// sizes.
func (s *stock) spoken(args ...string) []string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := s.java(ctx, s.dir+"/conf", "256m", args...)
	var out, logs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &logs
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%v: %v\n%s%s", args, err, &out, &logs)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		line = regexp.MustCompile(`\w{3} \w{3} \d\d \d\d:\d\d:\d\d [+A-Z0-9:]+ \d{4}|\d\d-\w{3}-\d{4} \d\d:\d\d:\d\d`).
			ReplaceAllString(line, "DATE")
		line = regexp.MustCompile(`\d[\d.]*`).ReplaceAllString(line, "N")
		line = strings.ReplaceAll(line, "localhost", "N") // as some resolve 127.0.0.1
		if line = strings.Join(strings.Fields(line), " "); line == "Counters: N" {
			break // of a job that runs
		}
		lines = append(lines, line)
	}
	return lines
}

// TestStockRestart kills `sojourn rm` by signal 9 in the middle of a job, three times. The job ends as if nothing had
// been: with its first ApplicationMaster, and no task that ran is run again.
func TestStockRestart(t *testing.T) {
	whole(t)
	s := newStock(t)
	state := []string{"--state", s.dir + "/state"}
	rm := s.serveVerb("capacity", state...)
	s.addNodes(2)
	s.part("a job over three kills", func(s *stock) {
		const maps, reduces = 12, 2
		type ended struct {
			out string
			err error
		}
		done := make(chan ended, 1)
		go func() {
			out, err := s.try(sleepArgs(maps, reduces, 10_000)...)
			done <- ended{out, err}
		}()
		r := s.untilRuns(wire.ApplicationID{}, 4)
		for range 3 {
			rm.kill()
			began := time.Now()
			rm = s.serveVerb("capacity", state...)
			s.until("the job goes on", time.Minute, func() bool {
				now := s.newest()
				return now.ID == r.ID && now.State == wire.AppRunning && now.Usage.Containers >= 2
			})
			s.t.Logf("runs again %v after the kill", time.Since(began))
			time.Sleep(3 * time.Second) // something happens in this life, too
		}
		job := <-done
		if job.err != nil {
			s.t.Fatal(job.err)
		}
		s.ranOnce(job.out, maps, reduces)
	})
}

// ranOnce checks that the newest job ended in its first attempt, and by what its client said that no task ran twice. A
// container that was granted and not started is refused by its node after a restart, as with Hadoop, and asked for
// again.
func (s *stock) ranOnce(out string, maps, reduces int) {
	s.t.Helper()
	refused := strings.Count(out, "rejected as it is allocated by a previous RM")
	for _, want := range []string{
		fmt.Sprint("Launched map tasks=", maps+refused), fmt.Sprint("Launched reduce tasks=", reduces),
	} {
		if !strings.Contains(out, want+"\n") {
			s.t.Errorf("want %s; the job said\n%s", want, out)
		}
	}
	if r := s.newest(); r.State != wire.AppFinished || r.Attempt.Attempt != 1 {
		s.t.Errorf("it ended as %v with attempt %d", r.State, r.Attempt.Attempt)
	}
}

// TestStockReference has an existing cluster change over: the same runs under Hadoop's own ResourceManager, then under
// `sojourn rm` on the same configuration and ports, to which the NodeManager comes by itself. The output of word count
// must be equal byte for byte, and commands must print the same but for identities, times and sizes.
func TestStockReference(t *testing.T) {
	whole(t)
	s := newStock(t)
	hadoop := s.serveJava()
	s.addNodes(1)
	want := s.reference("Hadoop")
	hadoop.kill()
	sojourn := s.serveVerb("capacity")
	s.untilNodes(1)
	got := s.reference("Sojourn")
	sojourn.kill()
	s.serveJava()
	s.untilNodes(1) // and back
	if len(want) == 0 || len(got) == 0 {
		t.Fatal("not both ran")
	}
	t.Run("compared", func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if !slices.Equal(got[name], want[name]) {
				t.Errorf(
					"%s says\n\t%s\nunder Hadoop's ResourceManager it says\n\t%s",
					name,
					strings.Join(got[name], "\n\t"),
					strings.Join(want[name], "\n\t"),
				)
			}
		}
	})
}

// reference runs word count and a job that is killed, and returns what came out and what commands said of them, by
// name.
func (s *stock) reference(name string) map[string][]string {
	said := map[string][]string{}
	s.part(name, func(s *stock) {
		output := s.wordCount(2, 1)
		finished := s.newest().ID.String()
		r, wait := s.endless()
		id := fmt.Sprintf("%d_%04d", r.ID.Timestamp, r.ID.ID)
		application, attempt, job := "application_"+id, "appattempt_"+id+"_000001", "job_"+id
		say := func(name string, args ...string) {
			if said[name] = s.spoken(args...); strings.Contains(name, "-list") {
				slices.Sort(said[name]) // Hadoop's order is that of a hash
			}
		}
		say("yarn application -list", applicationCLI, "application", "-list")
		say("yarn application -status, running", applicationCLI, "application", "-status", application)
		say("yarn application -status, finished", applicationCLI, "application", "-status", finished)
		say("yarn applicationattempt -list", applicationCLI, "applicationattempt", "-list", application)
		say("yarn applicationattempt -status", applicationCLI, "applicationattempt", "-status", attempt)
		say("yarn container -list", applicationCLI, "container", "-list", attempt)
		say("yarn container -status", applicationCLI, "container", "-status", "container_"+id+"_01_000001")
		say("yarn node -list", nodeCLI, "-list")
		say("yarn node -status", nodeCLI, "-status", s.onlyNode())
		say("yarn queue -status", queueCLI, "-status", "default")
		say("mapred job -list", mapredJob, "-list")
		say("mapred job -status", mapredJob, "-status", job)
		say("mapred job -list-active-trackers", mapredJob, "-list-active-trackers")
		say("mapred job -list-attempt-ids", mapredJob, "-list-attempt-ids", job, "MAP", "running")
		say("mapred queue -list", mapredQueue, "-list")
		say("mapred queue -info", mapredQueue, "-info", "default")
		say("mapred queue -showacls", mapredQueue, "-showacls")
		say("yarn application -kill", applicationCLI, "application", "-kill", application)
		wait()
		s.clean()
		say("yarn application -kill, again", applicationCLI, "application", "-kill", application)
		say("yarn application -status, killed", applicationCLI, "application", "-status", application)
		say("yarn application -list, all", applicationCLI, "application", "-list", "-appStates", "ALL")
		say("mapred job -list all", mapredJob, "-list", "all")
		said["word count"] = output
	})
	return said
}

// onlyNode is the name of the one node.
func (s *stock) onlyNode() string {
	s.t.Helper()
	var r wire.NodesResponse
	if err := s.call("getClusterNodes", &wire.NodesRequest{}, &r); err != nil || len(r.Reports) != 1 {
		s.t.Fatalf("%d nodes, want 1: %v", len(r.Reports), err)
	}
	return r.Reports[0].ID.String()
}
