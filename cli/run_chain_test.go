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
