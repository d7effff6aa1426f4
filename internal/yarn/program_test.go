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

// build builds cmd/sojourn once for all tests of the package.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sojourn-test-")
	if err != nil {
		return "", err
	}
	built = dir
	binary := filepath.Join(dir, "sojourn")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/sojourn").CombinedOutput(); err != nil {
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
