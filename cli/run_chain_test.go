package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRunChain: a job of a workload may read what an earlier one writes, also where an earlier run has left its output,
// and under several policies, where each policy's job reads the output of its own policy.
func TestRunChain(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, "in.txt", strings.Repeat("b a\nc a\n", 1000))
	const want = "a\t2000\nb\t1000\nc\t1000\n"
	for _, input := range []string{"words", "words/part-*"} {
		for _, policies := range []string{"fifo", "fifo,fair"} {
			out := filepath.Join(dir, strings.NewReplacer("/", "-", "*", "", ",", "-").Replace(input+policies))
			for _, overwrite := range []bool{false, true} {
				// The second job has to arrive after the first one has ended, however busy the machine is.
				for wait := 200 * time.Millisecond; ; wait *= 4 {
					mix := writeFile(t, "mix.yaml", fmt.Sprintf("jobs:\n"+
						"  - {name: words, job: wordcount, input: [%[1]s], output: %[2]s/words, reduces: 2}\n"+
						"  - {name: lines, job: sort, input: ['%[2]s/%[3]s'], output: %[2]s/lines, submit: %[4]v}\n",
						in, out, input, wait))
					args := []string{"run", mix, "--policy", policies}
					if overwrite {
						args = append(args, "--overwrite")
					}
					status, _, errs := sojourn(t, args...)
					if status != statusOK && wait < time.Minute {
						if err := os.RemoveAll(filepath.Join(out, "lines")); err != nil {
							t.Fatal(err)
						}
						overwrite = true
						continue
					}
					if status != statusOK {
						t.Fatalf("%s under %s: exit status %d, %s", input, policies, status, errs)
					}
					break
				}
				for _, p := range strings.Split(policies, ",") {
					lines := filepath.Join(out, "lines")
					if policies != p {
						lines = filepath.Join(lines, p)
					}
					if got := outputOf(t, lines); got != want {
						t.Errorf("%s under %s, %s: %q, want %q", input, policies, p, got, want)
					}
				}
			}
		}
	}
}

// TestRunOutputsApart: an output that lies in that of another job, which would replace it, is refused before any work
// is done, whichever job comes first and through links.
func TestRunOutputsApart(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("in.txt", []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("real", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", "link"); err != nil {
		t.Fatal(err)
	}
	const job = "  - {name: %s, job: wordcount, input: [in.txt], output: %s}\n"
	for _, c := range []struct{ one, two, policies, want string }{
		{"o", "o/words", "fifo", `job "two" writes to`},
		{"o/words", "o", "fifo", `job "one" writes to`},
		{"o", "o/deep/down", "fifo", `job "two" writes to`},
		{"link/o", "real/o/words", "fifo", `job "two" writes to`},
		{"link/o", "real/o", "fifo", `jobs "one" and "two" both write to`},
		{"o", "o/fifo", "fifo,fair", `job "two" writes to`},
		{"o", "o-words", "fifo", ""},
		{"o/a", "o/b", "fifo,fair", ""},
	} {
		if err := os.WriteFile("mix.yaml", fmt.Appendf(nil, "jobs:\n"+job+job, "one", c.one, "two", c.two),
			0o666); err != nil {
			t.Fatal(err)
		}
		for _, more := range [][]string{nil, {"--overwrite"}} {
			status, _, errs := sojourn(t, append([]string{"run", "mix.yaml", "--policy", c.policies}, more...)...)
			if c.want == "" {
				if status != statusOK {
					t.Errorf("%+v %v: exit status %d, %s", c, more, status, errs)
				}
				for _, out := range []string{"o", "o-words"} {
					if err := os.RemoveAll(out); err != nil {
						t.Fatal(err)
					}
				}
				continue
			}
			if status != statusUsage || !strings.Contains(errs, c.want) {
				t.Errorf("%+v %v: exit status %d, %s", c, more, status, errs)
			}
			if _, err := os.Stat("o"); err == nil {
				t.Fatalf("%+v %v: something was written", c, more)
			}
		}
	}
}
