package sojourn

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme runs the commands of README.md, as printed, in a copy of the tree as a fresh clone has it: twice, so that
// no command fails because of what an earlier one wrote. A word after sh says what a block needs besides: long
// (minutes, run with SOJOURN_LONG=1), trace (Facebook's day, which is not in the tree) or hadoop (a cluster).
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	clone := t.TempDir()
	for path := range everyFile(t) {
		to := filepath.Join(clone, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			continue // removed and not yet committed
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(to, data, info.Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for range 2 {
		for _, block := range regexp.MustCompile("(?s)```sh([^\n]*)\n(.*?)```").FindAllStringSubmatch(string(text),
			-1) {
			needs, commands := strings.TrimSpace(block[1]), block[2]
			if needs != "" && !(needs == "long" && os.Getenv("SOJOURN_LONG") == "1") {
				continue
			}
			if strings.Contains(commands, ".py") {
				if _, err := exec.LookPath("python3"); err != nil {
					t.Log("python3 is not there: its commands are left out")
					continue
				}
			}
			c := exec.CommandContext(t.Context(), "sh", "-e", "-c", commands)
			c.Dir = clone
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s\n%v\n%s", commands, err, out)
			}
			ran++
		}
	}
	if ran < 6 {
		t.Errorf("%d blocks of commands were run: README.md has more", ran)
	}
}

// everyFile yields the files that a clone has.
func everyFile(t *testing.T) func(yield func(string) bool) {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skip("not a git checkout")
	}
	return func(yield func(string) bool) {
		for path := range strings.Lines(string(out)) {
			if !yield(strings.TrimSpace(path)) {
				return
			}
		}
	}
}
