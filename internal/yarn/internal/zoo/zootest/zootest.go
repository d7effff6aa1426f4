// Package zootest starts the ZooKeeper of stock Hadoop's jars for tests.
package zootest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
)

// A Server is a ZooKeeper of one process.
type Server struct {
	Address string // host:port
	Process *os.Process
}

// Start starts ZooKeeper, whose sessions end after 2 s of silence or more, and stops it when the test ends. The test is
// skipped if $SOJOURN_HADOOP, the folder of the jars, is not set, and in `make test`, which has no half minute for it.
// A client that connects at once has to try again.
func Start(t testing.TB) *Server {
	t.Helper()
	jars := os.Getenv("SOJOURN_HADOOP")
	if jars == "" {
		t.Skip("SOJOURN_HADOOP names no folder of stock Hadoop's jars: make test sets it where a JDK and Maven are")
	}
	if !longtest.On() && os.Getenv("SOJOURN_STOCK") != "all" {
		t.Skip("half a minute of ZooKeeper: make test-long")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().String()
	_, port, _ := net.SplitHostPort(at)
	ln.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "zoo.cfg")
	text := fmt.Sprintf("tickTime=1000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\n"+
		"admin.enableServer=false\n", dir, port)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", jars+"/*",
		"org.apache.zookeeper.server.ZooKeeperServerMain", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &Server{at, cmd.Process}
}
