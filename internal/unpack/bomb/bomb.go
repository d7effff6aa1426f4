// Package bomb tests what input that is made to fill memory costs, for the tests of readers of foreign files.
package bomb

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/resident"
)

// Most is how much memory in bytes a reader may take to refuse a bomb, the process of the test included.
const Most = 256 << 20

// patience is far more than any of the tests takes, also under the race detector on a busy machine: it ends a reader
// that would go on for ever.
const patience = 10 * time.Minute

// marker names, in the environment of a child process, the test that the child runs.
const marker = "SOJOURN_BOMB"

// Within runs f in a process of its own, and fails the test unless the process ends with at most Most bytes resident at
// its peak; the race detector takes more, so that the peak is not looked at there. What f reports fails the test too. A
// process that takes far more is ended before it fills the machine.
func Within(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if os.Getenv(marker) == t.Name() {
		go guard()
		f(t)
		if peak, err := resident.Peak(os.Getpid()); err != nil {
			t.Error(err)
		} else if peak > Most && !raceDetector {
			t.Errorf("took %d MiB of memory, must be at most %d", peak>>20, int64(Most)>>20)
		}
		return
	}
	var parts []string
	for part := range strings.SplitSeq(t.Name(), "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run="+strings.Join(parts, "/"), "-test.v")
	child.Env = append(os.Environ(), marker+"="+t.Name())
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	if err := child.Run(); err != nil {
		t.Errorf("%v\n%s", err, out.Bytes())
		return
	}
	if !bytes.Contains(out.Bytes(), []byte("--- PASS: "+t.Name())) {
		t.Errorf("the child process did not run the test:\n%s", out.Bytes())
	}
}

// guard ends the process when it has mapped several times what it may.
func guard() {
	mapped := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for range time.Tick(10 * time.Millisecond) {
		if metrics.Read(mapped); mapped[0].Value.Uint64() > 5*Most {
			fmt.Fprintf(os.Stderr, "mapped %d MiB and goes on\n", mapped[0].Value.Uint64()>>20)
			os.Exit(3)
		}
	}
}
