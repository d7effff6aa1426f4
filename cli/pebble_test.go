package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sojourn-sched/sojourn/mr/store"
)

// A store that another program has open is refused with what to do. When that program serves it, `sojourn run` counts
// the words of its values as they were when the job began, and no snapshot is left.
func TestRunOnServedStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db, err := pebble.Open(dir, &pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		key, value := fmt.Appendf(nil, "key-%03d", i), fmt.Appendf(nil, "even odd-%d", i%2)
		if err := db.Set(key, value, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"run", "wordcount", "--input", "pebble:" + dir, "--output", out, "--overwrite", "-q"}
	if status, _, errs := sojourn(t, args...); status != statusFailed || !strings.Contains(errs, "pebble:") {
		t.Errorf("of a store that is open elsewhere: exit status %d, %q", status, errs)
	}
	server, err := store.Serve(db, dir)
	if err != nil {
		t.Fatal(err)
	}
	must(t, args...)
	var text []byte
	parts, err := filepath.Glob(filepath.Join(out, "part-r-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		b, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, b...)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, want := range []string{"even\t300", "odd-0\t150", "odd-1\t150", "key-299\t1"} {
		if !slices.Contains(lines, want) {
			t.Errorf("the output lacks %q; it has %d lines", want, len(lines))
		}
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir + ".snapshots"); len(left) > 0 {
		t.Errorf("snapshots are left: %v", left)
	}
}
