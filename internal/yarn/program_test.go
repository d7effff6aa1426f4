package yarn

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is the folder of the program; "" until a test has asked for it.
var built string

// TestMain removes the program after the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// build builds cmd/sojourn once for all tests of the package, without tables for debuggers: it links in half the time.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sojourn-test-")
	if err != nil {
		return "", err
	}
	built = dir
	binary := filepath.Join(dir, "sojourn")
	link := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "../../cmd/sojourn")
	if out, err := link.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build cmd/sojourn: %w\n%s", err, out)
	}
	return binary, nil
})

// program returns the path of the built `sojourn`.
func program(t *testing.T) string {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
