package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
)

// folderOf returns the names and contents of a folder's files.
func folderOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(dir, e.Name())) // of a folder there is none
		fmt.Fprintf(&b, "%s: %x\n", e.Name(), text)
	}
	return b.String()
}

// Outputs that are inputs, each other, there already, or cannot be made are refused by a sentence that names the flags,
// and nothing in the folder has changed then.
func TestOutputsRefused(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"there.csv", "in.txt"} {
		if err := os.WriteFile(name, []byte("kept\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "workload", "generate", "--jobs", "5", "--output", "jobs.tsv")
	must(t, "sim", "--trace", "jobs.tsv", "--record", "x.rec")
	for path, text := range map[string]string{"cluster.yaml": "classes: [{name: c, count: 10, resources: {map-slots: " +
		"2, reduce-slots: 2}}]\n",
		"mix.yaml": "jobs:\n  - {name: w, job: wordcount, input: [in.txt], output: out}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("jobs.tsv", "link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Link("jobs.tsv", "second"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("done", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("done/part-r-00000", []byte("a line\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	before := folderOf(t, dir)
	for args, want := range map[string]string{
		"sim --trace jobs.tsv --availability there.csv --record there.csv --overwrite": "--availability there.csv " +
			"and --record there.csv are one file",
		"run wordcount --input in.txt --output o --availability there.csv --per-job there.csv --overwrite": "" +
			"--availability there.csv and --per-job there.csv are one file",
		"run --mapper ./link --input in.txt --output o --record jobs.tsv --overwrite": "program ./link and --record " +
			"jobs.tsv are one file",
		"run wordcount --input done --output folder/../done --overwrite": "which has its input done/part-r-00000: " +
			"choose another output",
		"sim --from-record x.rec --record x.rec --overwrite": "--from-record x.rec and " +
			"--record x.rec are one file",
		"sim --trace jobs.tsv --record jobs.tsv --overwrite": "--trace jobs.tsv and " +
			"--record jobs.tsv are one file",
		"sim --trace jobs.tsv --per-job ./folder/../jobs.tsv --overwrite": "--trace jobs.tsv and " +
			"--per-job ./folder/../jobs.tsv are one file",
		"sim --trace jobs.tsv --plot second --overwrite": "--trace jobs.tsv and " +
			"--plot second are one file",
		"sim --trace link --plot jobs.tsv": "--trace link and --plot " +
			"jobs.tsv are one file",
		"sim --trace jobs.tsv --cluster cluster.yaml --record cluster.yaml --overwrite": "--cluster cluster.yaml " +
			"and --record cluster.yaml are one file",
		"sim --trace jobs.tsv --record z --per-job " + dir + "/z": "--record z and --per-job " +
			dir + "/z are one file",
		"sim --trace jobs.tsv --per-job z --plot z": "--per-job z and --plot z " +
			"are one file",
		"sim --trace jobs.tsv --policy fifo --policy fair --record {policy} --plot fair": "--record fair and --plot " +
			"fair are one file",
		"fluid --trace jobs.tsv --policy ps --plot jobs.tsv --overwrite": "--trace jobs.tsv and --plot jobs.tsv " +
			"are one file",
		"run wordcount --input . --output o --per-job in.txt --overwrite": "--input in.txt and --per-job in.txt " +
			"are one file",
		"run mix.yaml --record mix.yaml --overwrite": "workload mix.yaml and --record mix.yaml are one file",
		"run mix.yaml --plot in.txt --overwrite":     "--input in.txt and --plot in.txt are one file",

		"sim --trace jobs.tsv --record x.rec --per-job new.csv": "--record " +
			"x.rec exists: choose another name, remove it, or say --overwrite",
		"sim --trace jobs.tsv --per-job there.csv": "--per-job " +
			"there.csv exists: choose another name, remove it, or say --overwrite",
		"sim --trace jobs.tsv --plot there.csv": "--plot " +
			"there.csv exists",
		"sim --trace jobs.tsv --policy fifo --policy srpt --per-job new-{policy}.csv --plot there.csv": "--plot " +
			"there.csv exists",
		"sim --trace jobs.tsv --plot folder --overwrite":         "--plot folder is a folder",
		"sim --trace jobs.tsv --plot nowhere/x.svg":              "--plot nowhere/x.svg: stat nowhere",
		"fluid --trace jobs.tsv --policy ps --per-job there.csv": "--per-job there.csv exists",
		"run mix.yaml --per-job there.csv":                       "--per-job there.csv exists",

		"generate text --size 1kB --output in.txt": "--output in.txt exists: choose another name, remove it, or say " +
			"--overwrite",
		"generate text --size 1kB --output none/in.txt":             "--output none/in.txt",
		"generate documents --size 1kB --output folder":             "--output folder exists",
		"generate documents --size 1kB --output . --overwrite":      "has cluster.yaml, which is no document",
		"generate documents --size 1kB --output in.txt --overwrite": "--output in.txt is no folder",
		"workload generate --jobs 3 --output jobs.tsv":              "--output jobs.tsv exists",
		"workload convert jobs.tsv --output there.csv":              "--output there.csv exists",
		"workload convert jobs.tsv --output ./jobs.tsv --overwrite": "are one file",
	} {
		if status, out, errs := sojourn(t, strings.Fields(args)...); status != statusUsage ||
			!strings.Contains(errs, want) ||
			out != "" {
			t.Errorf("%s: exit status %d, %q; want 2 and %q", args, status, errs, want)
		}
		if after := folderOf(t, dir); after != before {
			t.Fatalf("%s: the folder has changed:\n%s\nwas\n%s", args, after, before)
		}
	}
	for _, args := range []string{
		"sim --trace jobs.tsv --record x.rec --per-job there.csv --plot x.svg --overwrite",
		"sim --trace jobs.tsv --record /dev/null --per-job /dev/null --plot /dev/null",
		"fluid --trace jobs.tsv --policy ps --per-job there.csv --plot x.svg --overwrite",
		"run mix.yaml --per-job there.csv --plot x.svg --record x.rec --overwrite",
		"generate text --size 1kB --output made.txt",
		"generate text --size 2kB --output made.txt --overwrite",
		"generate documents --size 1kB --files 3 --output made",
		"generate documents --size 1kB --files 2 --output made --overwrite",
		"workload convert jobs.tsv --to yaml --output jobs.yaml",
		"workload generate --jobs 2 --output jobs.yaml --overwrite",
		"workload generate --jobs 2 --output /dev/null",
	} {
		must(t, strings.Fields(args)...)
	}
	if csv, err := os.ReadFile("there.csv"); err != nil || !strings.HasPrefix(string(csv), "policy,job,") ||
		strings.Count(string(csv), "\n") != 2 {
		t.Errorf("the CSV of one job is %q, %v", csv, err)
	}
	if left, _ := filepath.Glob("*.partial"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if info, err := os.Stat("made.txt"); err != nil || info.Size() < 1900 {
		t.Errorf("the text of 2 kB is %v, %v", info, err)
	}
	if docs, _ := filepath.Glob("made/*"); len(docs) != 2 {
		t.Errorf("two documents replaced three: %v", docs)
	}
}

// A run that is interrupted or fails leaves no part of a CSV, and what had its name stays.
func TestPartialOutputs(t *testing.T) {
	trace, dir := generated(t), t.TempDir()
	csv := filepath.Join(dir, "jobs.csv")
	if err := os.WriteFile(csv, []byte("kept\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"sim", "--trace", trace, "--cluster", smallCluster, "--per-job", csv, "--overwrite"}
	check := func(what string) {
		t.Helper()
		if got := folderOf(t, dir); got != fmt.Sprintf("jobs.csv: %x\n", "kept\n") {
			t.Errorf("%s: the folder has %.200s", what, got)
		}
	}
	if status, _, errs := sojourn(t, append(args, "--max-events", "300")...); status != statusFailed {
		t.Errorf("exit status %d, want 1: %s", status, errs)
	}
	check("a limit of events")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs bytes.Buffer
	long := filepath.Join(t.TempDir(), "long.tsv") // the simulator looks at its context now and then
	must(t, "workload", "generate", "--jobs", "5000", "--gap", "20s", "--input", "1GB", "--output", long)
	interrupted := append([]string{"sim", "--trace", long}, args[3:]...)
	if status := Run(ctx, Streams{strings.NewReader(""), io.Discard, &errs}, interrupted); status != statusInterrupted {
		t.Errorf("exit status %d, want 130: %s", status, &errs)
	}
	want := "sojourn: 'sojourn sim' was interrupted: files of policies that were done are whole"
	if !strings.HasPrefix(errs.String(), want) {
		t.Errorf("an interruption says %q, want %q", &errs, want)
	}
	check("an interruption")
	must(t, args...)
	if text, err := os.ReadFile(csv); err != nil || bytes.Count(text, []byte("\n")) != 101 {
		t.Errorf("the CSV of a hundred jobs has %d lines, %v", bytes.Count(text, []byte("\n")), err)
	}
}

// A policy that comes to no end takes nothing from those before and after it: their rows are printed, and it is named.
func TestFailedPolicyAmongOthers(t *testing.T) {
	trace := generated(t)
	events := func(policy string) int {
		var doc struct{ Results []struct{ Events int } }
		if err := json.Unmarshal([]byte(must(t, "sim", "--trace", trace, "--cluster", smallCluster, "--heartbeat", "1s",
			"--policy", policy, "--json")), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Results[0].Events
	}
	few, many := events("fair"), events("late{fair}") // which has reports of progress besides
	if few+1 >= many {
		t.Fatalf("%d events under fair, %d under late{fair}: no limit is between them", few, many)
	}
	args := []string{
		"sim",
		"--trace",
		trace,
		"--cluster",
		smallCluster,
		"--heartbeat",
		"1s",
		"--policy",
		"fair",
		"--policy",
		"late{fair}",
		"--policy",
		"fair:delay=0s",
		"--max-events",
		fmt.Sprint((few + many) / 2),
	}
	status, out, errs := sojourn(t, args...)
	if status != statusFailed || strings.Contains(out, "late{fair}") || strings.Count(out, "\n  fair") < 1 ||
		!strings.Contains(out, "fair:delay=0s") ||
		!strings.Contains(errs, "policy late{fair}: ") {
		t.Errorf("exit status %d, want 1; %q\n%s", status, errs, out)
	}
	var doc struct {
		Results []struct{ Policy string }
		Failed  []struct{ Policy, Error string }
	}
	status, out, _ = sojourn(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &doc); err != nil || status != statusFailed || len(doc.Results) != 2 ||
		len(doc.Failed) != 1 ||
		doc.Failed[0].Policy != "late{fair}" ||
		doc.Failed[0].Error == "" {
		t.Errorf("exit status %d, want 1; %v: %s", status, err, out)
	}
}

// A job of programs is named after those that it has.
func TestStreamingName(t *testing.T) {
	for want, p := range map[string]workload.Program{
		"m.py":                           {Mapper: "bin/m.py"},
		"r.py":                           {Reducer: "./r.py"},
		"m.py NONE":                      {Mapper: "./m.py", Reducer: "NONE"},
		"sh -c 'cat >/dev/null' uniq -c": {Mapper: "/bin/sh -c 'cat >/dev/null'", Reducer: "uniq -c"},
	} {
		if got := streamingName(p); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}

// What a killed process left of a folder is no obstacle for the next one of the same number, as in a container that
// starts again.
func TestGenerateAfterKill(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	left := fmt.Sprintf("%s.%d.partial", made, os.Getpid())
	if err := os.Mkdir(left, 0o777); err != nil {
		t.Fatal(err)
	}
	must(t, "generate", "documents", "--size", "1kB", "--files", "3", "--output", made)
	if docs, err := os.ReadDir(made); err != nil || len(docs) != 3 {
		t.Errorf("%v, %v; want three documents", docs, err)
	}
	if there := folderOf(t, filepath.Dir(made)); there != "made: \n"+filepath.Base(left)+": \n" {
		t.Errorf("there are %s", there)
	}
}

// An interrupted command leaves nothing of what it was to generate.
func TestGenerateInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"text"}, {"documents", "--files", "3"}} {
		var out, errs bytes.Buffer
		args = append([]string{"generate", "--size", "4MB", "--output", filepath.Join(dir, args[0])}, args...)
		if status := Run(ctx, Streams{strings.NewReader(""), &out, &errs}, args); status != statusInterrupted {
			t.Errorf("%v: status %d, %s", args, status, &errs)
		}
		if left := folderOf(t, dir); left != "" {
			t.Errorf("%v leaves %s", args, left)
		}
	}
}

// An output whose name has {policy} in it is beside those of other policies, as records are; else they are in a folder.
func TestRunOutputNamesPolicy(t *testing.T) {
	dir, in := t.TempDir(), writeFile(t, "text", "a b a\n")
	for name, want := range map[string][]string{
		"o-{policy}": {"o-fair-delay1s", "o-fifo"},
		"plain":      {"plain/fair-delay1s", "plain/fifo"},
	} {
		must(t, "run", "wordcount", "--input", in, "--output", filepath.Join(dir, name), "--policy", "fifo",
			"--policy", "fair:delay=1s")
		for _, out := range want {
			if _, err := os.Stat(filepath.Join(dir, out, "_SUCCESS")); err != nil {
				t.Errorf("--output %s: %v", name, err)
			}
		}
	}
	must(t, "run", "wordcount", "--input", in, "--output", filepath.Join(dir, "{policy}-alone"), "--policy", "fifo")
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i] = filepath.Base(list[i])
	}
	if got, want := strings.Join(list, " "), "fifo-alone o-fair-delay1s o-fifo plain"; got != want {
		t.Errorf("outputs are %s, want %s", got, want)
	}
}

// A workload is not converted to bytes by a cluster without reduces, which drops those of shuffle; without a cluster
// they stay.
func TestConvertKeepsShuffle(t *testing.T) {
	const line = "a\t0\t0\t1000000000\t500000000\t2000\n"
	args := []string{"workload", "convert", writeFile(t, "s.tsv", line), "--to", "swim"}
	if out := must(t, args...); out != line {
		t.Errorf("%q, want %q", out, line)
	}
	status, out, errs := sojourn(t, append(args, "--cluster", "nodes=2,map-slots=3,reduce-slots=0")...)
	if status != statusUsage || out != "" || !strings.Contains(errs, "leave --cluster out") {
		t.Errorf("exit status %d, want 2; %q\n%s", status, errs, out)
	}
}
