package yarn

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestStockRecords makes the records and job histories of stock applications that the tests of replays read. It writes
// them into the folder that SOJOURN_RECORDS names, and is skipped where there is none.
func TestStockRecords(t *testing.T) {
	into := os.Getenv("SOJOURN_RECORDS")
	if into == "" {
		t.Skip("SOJOURN_RECORDS names no folder for records")
	}
	for _, r := range []struct {
		name, policy string
		nodes        int
		run          func(*stock)
	}{
		{"stock-sleep", "capacity", 1, func(s *stock) { s.sleep(8, 1, 4000) }},
		{"stock-mix", "fair", 2, (*stock).mixed},
		{"stock-spark", "fair", 2, (*stock).sparkMix},
	} {
		t.Run(r.name, func(t *testing.T) {
			s := newStock(t)
			path := filepath.Join(into, r.name+".record")
			rm := s.serveVerb(r.policy, "--record", path, "--overwrite")
			s.addNodes(r.nodes)
			r.run(s)
			s.clean()
			if err := syscall.Kill(rm.cmd.Process.Pid, syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if err := rm.cmd.Wait(); err != nil {
				t.Logf("sojourn rm: %v", err)
			}
			rm.dead = true
			for _, pattern := range []string{"done*/*/job_*", "done*/*/*/*/*/*/job_*", "spark-events/*"} {
				left, _ := filepath.Glob(filepath.Join(s.dir, pattern))
				for _, path := range left {
					if text, err := os.ReadFile(path); err == nil { // else the job history server has just moved it
						s.write(filepath.Join(into, r.name, filepath.Base(path)), string(text))
					}
				}
			}
		})
	}
}

// each runs clients that start one after the other, and waits for all.
func (s *stock) each(gap time.Duration, clients ...func() error) {
	s.t.Helper()
	var all sync.WaitGroup
	for i, run := range clients {
		if i > 0 {
			time.Sleep(gap)
		}
		all.Go(func() {
			if err := run(); err != nil {
				s.t.Error(err)
			}
		})
	}
	all.Wait()
}

// sleeper returns a client that runs a job of maps and reduces that sleep for some milliseconds each.
func (s *stock) sleeper(maps, reduces, ms int) func() error {
	return func() error {
		_, err := s.try(sleepArgs(maps, reduces, ms)...)
		return err
	}
}

// mixed runs jobs of different sizes that overlap.
func (s *stock) mixed() {
	in, _ := s.words(4)
	count := func() error {
		_, err := s.try(examples, "wordcount", fmt.Sprint("-Dmapreduce.job.reduces=", 2), in, in+"-counted")
		return err
	}
	s.each(8*time.Second, s.sleeper(12, 2, 3000), s.sleeper(2, 1, 2000), count, s.sleeper(6, 0, 5000))
}

// sparkMix runs two Spark applications and a MapReduce job that overlap.
func (s *stock) sparkMix() {
	pi := func() error {
		_, err := s.submitSpark("cluster")
		return err
	}
	s.each(10*time.Second, pi, s.sleeper(4, 1, 3000), pi)
}
