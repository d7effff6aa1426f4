package yarn

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

const (
	flinkCLI     = "org.apache.flink.client.cli.CliFrontend"
	flinkSession = "org.apache.flink.yarn.cli.FlinkYarnSessionCli"
)

// flinkConf is Flink's configuration: small processes, TaskManagers of one slot, and what Flink needs on Java 17.
const flinkConf = `
jobmanager.memory.process.size: 640m
jobmanager.memory.jvm-metaspace.size: 128m
jobmanager.memory.jvm-overhead.min: 64m
jobmanager.memory.off-heap.size: 64m
taskmanager.memory.process.size: 704m
taskmanager.memory.framework.heap.size: 96m
taskmanager.memory.managed.size: 64m
taskmanager.memory.jvm-metaspace.size: 128m
taskmanager.memory.jvm-overhead.min: 64m
taskmanager.numberOfTaskSlots: 1
yarn.staging-directory: file:%s/flink-staging
env.java.opts.all: %s
`

// flinkOpens opens what Flink looks into by reflection.
var flinkOpens = []string{"java.net", "java.io", "java.nio", "sun.nio.ch", "java.lang.reflect", "java.text",
	"java.time", "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks"}

// opened returns the options of a process of Flink.
func opened() (list []string) {
	for _, p := range flinkOpens {
		list = append(list, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	return list
}

// newFlink returns a cluster whose clients are Flink's, with a job of testdata/flink.
func newFlink(t *testing.T) (s *stock, job string) {
	whole(t)
	s = newStock(t)
	flink := os.Getenv("SOJOURN_FLINK")
	if flink == "" {
		t.Skip("SOJOURN_FLINK names no folder of Flink's jars: make test-hadoop sets it where Maven Central has them")
	}
	classes, job := s.dir+"/classes", s.dir+"/sums.jar"
	for _, args := range [][]string{
		{"javac", "-cp", flink + "/*", "-d", classes, "testdata/flink/Sums.java"},
		{"jar", "cf", job, "-C", classes, "."},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	opens := strings.Join(append(opened(), quick...), " ")
	s.write(s.dir+"/flink/config.yaml", fmt.Sprintf(flinkConf, s.dir, opens))
	t.Setenv("FLINK_CONF_DIR", s.dir+"/flink")
	t.Setenv("FLINK_LIB_DIR", flink)
	s.serveVerb("capacity")
	s.addNodes(1)
	return s, job
}

// withFlink is the cluster whose commands are Flink's as well.
func (s *stock) withFlink() *stock {
	both := *s
	both.jars = os.Getenv("SOJOURN_FLINK") + "/*:" + s.jars
	return &both
}

// sums checks what the job of testdata/flink has written.
func (s *stock) sums(path string, below int) {
	s.t.Helper()
	var want strings.Builder
	for k := range 7 {
		sum := 0
		for n := k; n < below; n += 7 {
			sum += n
		}
		fmt.Fprintf(&want, "%d %d\n", k, sum)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if string(got) != want.String() {
		s.t.Errorf("Flink writes\n%s, want\n%s", got, want.String())
	}
}

// TestStockFlink runs a batch job of Flink in an application of its own, on two TaskManagers that it asks for. Then it
// starts a session, which is an application that runs jobs as they are submitted to it, runs two there, and ends it.
func TestStockFlink(t *testing.T) {
	s, job := newFlink(t)
	const below = 100_000
	s.part("an application", func(s *stock) {
		out := s.dir + "/application.txt"
		said := s.withFlink().run(flinkCLI, "run", "-t", "yarn-application", "-c", "Sums", job, out, fmt.Sprint(below))
		s.until("the application has ended", 2*time.Minute, func() bool { return s.newest().State >= wire.AppFinished })
		r := s.newest()
		if r.Type != "Apache Flink" || r.State != wire.AppFinished || r.Final != wire.Succeeded {
			s.t.Fatalf("report %+v\n%s", r, said)
		}
		s.sums(out, below)
		if list, _ := filepath.Glob(fmt.Sprintf("%s/node*/log/%s/container_*", s.dir, r.ID)); len(list) != 3 {
			s.t.Errorf("%d containers ran, want a JobManager and two TaskManagers", len(list))
		}
	})
	s.part("a session", func(s *stock) {
		both := s.withFlink()
		said := both.run(flinkSession, "-d")
		r := s.newest()
		if r.Type != "Apache Flink" || r.State != wire.AppRunning {
			s.t.Fatalf("report %+v\n%s", r, said)
		}
		for i := range 2 {
			out := fmt.Sprintf("%s/session%d.txt", s.dir, i)
			both.run(append(opened(), flinkCLI, "run", "-t", "yarn-session", "-Dyarn.application.id="+r.ID.String(),
				"-c", "Sums", job, out, fmt.Sprint(below))...) // in a session the client runs the program
			s.sums(out, below)
		}
		if last := s.newest(); last.ID != r.ID || last.State != wire.AppRunning {
			s.t.Errorf("after two jobs: %+v", last)
		}
		ctx, cancel := context.WithTimeout(context.Background(), commandTime)
		defer cancel()
		end := both.java(ctx, s.dir+"/conf", "256m", flinkSession, "-id", r.ID.String())
		end.Stdin = strings.NewReader("stop\n")
		said, err := s.execute(end)
		if err != nil {
			s.t.Fatal(err)
		}
		s.until("the session has ended", 2*time.Minute, func() bool { return s.newest().State >= wire.AppFinished })
		if r := s.newest(); r.State != wire.AppFinished || r.Final != wire.Succeeded || r.Attempt.Attempt != 1 {
			s.t.Errorf("report %+v\n%s", r, said)
		}
	})
}
