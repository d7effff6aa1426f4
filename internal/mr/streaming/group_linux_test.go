package streaming

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// An engine that is killed by kill -9 can end no program: the kernel ends its programs for it, and the guard what those
// have started. The engine is this test binary, started again.
func TestProgramsDieWithTheEngine(t *testing.T) {
	const asEngine = "STREAMING_TEST_AS_ENGINE"
	if os.Getenv(asEngine) != "" {
		p, err := Start(
			t.Context(),
			Command{
				Args:     sh("sleep 1000 & sleep 1000; :"),
				guard:    new(guard),
				Reporter: &reports{},
				Output:   func([]byte) error { return nil },
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("started %d\n", p.cmd.Process.Pid)
		_ = p.Wait() // until killed
		return
	}
	engine := exec.Command(os.Args[0], "-test.run=^TestProgramsDieWithTheEngine$")
	engine.Env = append(os.Environ(), asEngine+"=1")
	out, err := engine.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	id, err2 := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "started ")))
	if err != nil || err2 != nil {
		t.Fatalf("the engine said %q: %v, %v", line, err, err2)
	}
	until(t, "a shell and its two children run", func() bool {
		n := 0
		for _, some := range group(t, id) {
			n += some
		}
		return n == 3
	})
	if err := engine.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = engine.Wait() // killed
	until(t, "the program and its children are gone", func() bool { return len(group(t, id)) == 0 })
}
