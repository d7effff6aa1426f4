package sojourn

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
)

// TestReadme runs the commands of README.md and of the pages for users, as printed and in this order, in a copy of the
// tree as a fresh clone has it. README.md builds the program. With SOJOURN_LONG=1 the commands of each page run twice.
// In either case no command may fail because of what an earlier one wrote. A word after sh says what a block needs
// besides: long (minutes, run with SOJOURN_LONG=1), trace (Facebook's day, which is not in the tree) or hadoop (a
// cluster).
func TestReadme(t *testing.T) {
	clone := cloned(t)
	for _, c := range []struct {
		page  string
		least int // blocks of commands that are run
	}{{"README.md", 3}, {"docs/what-if.md", 12}, {"docs/programs.md", 1}} {
		t.Run(c.page, func(t *testing.T) {
			for range longtest.Few(1, 2) {
				if ran := runPage(t, c.page, clone); ran < c.least {
					t.Errorf("%d blocks of commands were run: the page has more", ran)
				}
			}
		})
	}
}

// cloned returns a folder with what a fresh clone has.
func cloned(t *testing.T) string {
	t.Helper()
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
	return clone
}

// commandBlock is a block of commands of a page, and the lines of their output that the page shows, if it does.
var commandBlock = regexp.MustCompile("(?s)```sh([^\n]*)\n(.*?)```(?:\n\n```text\n(.*?)```)?")

// runPage runs the blocks of commands of a page in a folder, looks for the lines that it shows of their output, and
// returns how many blocks were run.
func runPage(t *testing.T, page, folder string) (ran int) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range commandBlock.FindAllStringSubmatch(string(text), -1) {
		needs, commands := strings.TrimSpace(block[1]), block[2]
		if needs != "" && !(needs == "long" && longtest.On()) {
			continue
		}
		if strings.Contains(commands, ".py") {
			if _, err := exec.LookPath("python3"); err != nil {
				t.Log("python3 is not there: its commands are left out")
				continue
			}
		}
		c := exec.CommandContext(t.Context(), "sh", "-e", "-c", commands)
		c.Dir = folder
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %s\n%v\n%s", page, commands, err, out)
		}
		for line := range strings.Lines(block[3]) {
			if !strings.Contains(string(out), line) {
				t.Errorf("%s: %s\nshows %q, and the output is\n%s", page, commands, line, out)
			}
		}
		ran++
	}
	return ran
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
