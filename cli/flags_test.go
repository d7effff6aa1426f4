package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Wrong usage is exit status 2 with every verb, whatever is wrong: a flag that does not exist, and arguments that no
// verb takes.
func TestWrongUsageOfEveryVerb(t *testing.T) {
	var verbs func(c *cobra.Command, above []string) [][]string
	verbs = func(c *cobra.Command, above []string) (list [][]string) {
		for _, child := range c.Commands() {
			path := append(append([]string{}, above...), child.Name())
			list = append(append(list, path), verbs(child, path)...)
		}
		return list
	}
	list := verbs(Command(Streams{}), nil)
	if len(list) < 15 {
		t.Fatalf("%d verbs: %q", len(list), list)
	}
	for _, verb := range list {
		for _, wrong := range [][]string{{"--no-such-flag"}, {"one", "two", "three", "four"}} {
			args := append(append([]string{}, verb...), wrong...)
			if status, out, errs := sojourn(t, args...); status != statusUsage || out != "" || errs == "" {
				t.Errorf("sojourn %s: exit status %d, want 2: %q, %q", strings.Join(args, " "), status, out, errs)
			}
		}
	}
}

// --version and version print the same line, and CHANGELOG.md begins with that version.
func TestVersion(t *testing.T) {
	if a, b := must(t, "version"), must(t, "--version"); a != b || !strings.HasPrefix(a, "sojourn "+Version) {
		t.Errorf("version prints %q and --version %q", a, b)
	}
	log, err := os.ReadFile(filepath.Join("..", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, newest, _ := strings.Cut(string(log), "\n## ")
	if !strings.HasPrefix(newest, Version+" ") {
		t.Errorf("the newest version of CHANGELOG.md is %.20q, want %s", newest, Version)
	}
}

// A workload of programs cannot be simulated, and the error says what to do: with one seed, with several, and under
// several policies.
func TestSimOfPrograms(t *testing.T) {
	mix := filepath.Join("..", "examples", "mix", "mix.yaml")
	for _, more := range [][]string{nil, {"--seeds", "3"}, {"--policy", "fifo,fair"}, {"--json"}} {
		status, _, errs := sojourn(t, append([]string{"sim", "--trace", mix}, more...)...)
		if status != statusUsage || !strings.Contains(errs, `job "sort-words" says what to run`) ||
			!strings.Contains(errs, "'sojourn run ../examples/mix/mix.yaml' runs it") ||
			!strings.Contains(errs, "'sojourn sim --from-record FILE' simulates") {
			t.Errorf("%q: exit status %d: %s", more, status, errs)
		}
	}
}

// With -q a run prints its result and nothing else, also where there is something to remark on.
func TestQuiet(t *testing.T) {
	status, out, errs := sojourn(t, "sim", "--trace", generated(t), "--cluster", "nodes=4,memory=8GiB,vcores=4",
		"--policy", "dynamicmr", "--policy", "probe{srpt}", "--estimator", "oracle", "-q", "--progress", "always")
	if status != statusOK || out == "" || errs != "" {
		t.Errorf("exit status %d, %q", status, errs)
	}
}

// Every verb takes -q, and then writes nothing to standard error where nothing is wrong. Some of these commands remark
// on something without it.
func TestQuietVerbs(t *testing.T) {
	trace := generated(t)
	loud := writeFile(t, "loud.sh", "#!/bin/sh\necho said >&2\nexec cat\n")
	if err := os.Chmod(loud, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"in.txt":     "a b\n",
		"tasks.yaml": "jobs:\n  - {name: j, submit: 0s, deadline: 9s, maps: {count: 3, time: 2s}}\n",
		"sweep.yaml": "policies: [fifo]\nworkloads: [" + trace + "]\nclusters: [\"" + smallCluster + "\"]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	remarks := 0
	for _, line := range []string{
		"sim --trace " + trace + " --cluster nodes=4,memory=8GiB,vcores=4 --policy dynamicmr --record #.rec",
		"run --mapper " + loud + " --input in.txt --output o# --reduces 0",
		"run logs o#",
		"fluid --trace " + trace + " --policy ps",
		"experiment sweep.yaml --output sweep#",
		"policies fifo", "jobs wordcount", "version", "completion fish",
		"generate text --size 1kB --output #.txt",
		"workload show " + trace,
		"workload convert tasks.yaml --to sls --output #.json",
		"workload generate --jobs 3 --output #.tsv",
		"record diff true.rec #.rec", "record events #.rec", "record explain #.rec 3", "record export #.rec",
		"record fairness #.rec", "record replay #.rec", "record report #.rec -o #.html", "record summary #.rec",
	} {
		for _, quiet := range []bool{true, false} {
			args := strings.Fields(strings.ReplaceAll(line, "#", fmt.Sprint(quiet)))
			if quiet {
				args = append(args, "-q")
			}
			status, _, errs := sojourn(t, args...)
			if status != statusOK || quiet && errs != "" {
				t.Errorf("%q: exit status %d, %q", args, status, errs)
			}
			if errs != "" {
				remarks++
			}
		}
	}
	if remarks < 3 {
		t.Errorf("%d commands remark on something without -q, must be sim, run and convert", remarks)
	}
}

// A conversion from SWIM to SWIM for a cluster remarks on nothing: a reader on this cluster makes the same jobs.
func TestConvertKnowsItsCluster(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("jobs.tsv", []byte("a\t0\t0\t1000\t9000000000\t1000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{"nodes=2,map-slots=2,reduce-slots=1", "nodes=1,memory=2GiB,vcores=2"} {
		status, _, errs := sojourn(t, "workload", "convert", "jobs.tsv", "--to", "swim", "--cluster", cluster)
		if status != statusOK || errs != "" {
			t.Errorf("%s: exit status %d, %q", cluster, status, errs)
		}
	}
}
