package streaming

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
)

// execute runs a job of programs on files, and gives the parts of its output.
func execute(t testing.TB, programs Programs, conf mr.Conf, reduces int, paths ...string) ([]string,
	*mr.Counters, error) {
	t.Helper()
	j, err := Job(programs, conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	return executeJob(t, j, reduces, paths...)
}

// executeJob runs a job on files, two attempts at a time, all maps and then all reduces, and gives the parts of its
// output.
func executeJob(t testing.TB, j *mr.Job, reduces int, paths ...string) ([]string, *mr.Counters, error) {
	t.Helper()
	config, err := input.Configure(j.Conf)
	if err != nil {
		t.Fatal(err)
	}
	if config.MinSplit == 0 {
		config.MinSplit = 1
	}
	config.Cores = 2
	files, err := input.Expand(paths, config)
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := input.Plan(files, config)
	parts := reduces
	if j.Reduces == mr.MapOnly {
		parts = len(splits)
	}
	memory, err := mr.NewMemory(1<<30, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	work, err := mr.OpenWorkspace(filepath.Join(t.TempDir(), "out"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	r, err := mr.NewRun(j, parts, memory, work)
	if err != nil {
		t.Fatal(err)
	}
	total := &mr.Counters{}
	var mu sync.Mutex // guards total
	twoAtATime := func(n int, attempt func(a *mr.Attempt) error) error {
		errs := make([]error, n)
		slots := make(chan bool, 2)
		var wg sync.WaitGroup
		for i := range n {
			slots <- true
			wg.Go(func() {
				a := mr.NewAttempt(t.Context(), i, 0)
				errs[i] = attempt(a)
				mu.Lock()
				total.Add(&a.Report().Counters)
				mu.Unlock()
				<-slots
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	maps := make([]*mr.MapOutput, len(splits))
	defer func() {
		for _, m := range maps {
			if m != nil {
				m.Release()
			}
		}
	}()
	err = twoAtATime(len(splits), func(a *mr.Attempt) (err error) {
		if maps[a.Task], err = r.Map(a, splits[a.Task]); err == nil && j.Reduces == mr.MapOnly {
			err = r.CommitTask(a)
		}
		return err
	})
	if err == nil && j.Reduces != mr.MapOnly {
		err = twoAtATime(parts, func(a *mr.Attempt) error {
			if err := r.Reduce(a, maps); err != nil {
				return err
			}
			return r.CommitTask(a)
		})
	}
	if err != nil {
		return nil, total, err
	}
	names, err := r.Outputs()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	return texts, total, nil
}

func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// same fails the test unless the parts are what is wanted.
func same(t *testing.T, got []string, err error, want ...string) {
	t.Helper()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("parts %q, %v; want %q", got, err, want)
	}
}

const poem = "the day\nthe night\n\na day\nno end"

func TestJobOfShellPrograms(t *testing.T) {
	in := file(t, "in", poem)
	got, counters, err := execute(t, Programs{
		Mapper: `awk '{for (i = 1; i <= NF; i++) print $i "\t" 1}'`,
		Reducer: `awk -F'\t' '$1 != k {if (NR > 1) print k "\t" n; k = $1; n = 0} {n += $2} END {if (NR) ` +
			`print k "\t" n}'`,
	}, nil, 1, in)
	same(t, got, err, "a\t1\nday\t2\nend\t1\nnight\t1\nno\t1\nthe\t2\n")
	// 5 lines, 8 words, 6 of them different.
	for counter, want := range map[mr.Counter]int64{mr.MapInputRecords: 5, mr.MapOutputRecords: 8,
		mr.ReduceInputRecords: 8, mr.ReduceInputGroups: 6, mr.ReduceOutputRecords: 6} {
		if n := counters.Of[counter]; n != want {
			t.Errorf("%v is %d, want %d", counter, n, want)
		}
	}
}

// The programs of TestJobOfPythonPrograms, which run under Hadoop Streaming as they are.
const (
	pythonMapper = `#!/usr/bin/env python3
import os, sys
for line in sys.stdin:
    for word in line.split():
        print(f"{word}\t1")
    sys.stderr.write("reporter:counter:Mine,lines,1\n")
assert os.environ["mapreduce_task_ismap"] == "true"
assert os.environ["my_own_option"] == "7"
`
	pythonReducer = `#!/usr/bin/env python3
import itertools, sys
pairs = (line.rstrip("\n").split("\t", 1) for line in sys.stdin)
for word, group in itertools.groupby(pairs, key=lambda p: p[0]):
    print(word, sum(int(n) for _, n in group), sep="\t")
`
)

func TestJobOfPythonPrograms(t *testing.T) {
	program(t, "python3")
	mapper, reducer := file(t, "m.py", pythonMapper), file(t, "r.py", pythonReducer)
	in := file(t, "in", poem)
	want := "a\t1\nday\t2\nend\t1\nnight\t1\nno\t1\nthe\t2\n"
	conf := mr.Conf{"my.own-option": "7"}
	got, counters, err := execute(t, Programs{Mapper: mapper, Reducer: reducer}, conf, 1, in)
	same(t, got, err, want)
	if n := counters.User[mr.UserCounter{Group: "Mine", Name: "lines"}]; n != 5 {
		t.Errorf("counter Mine/lines is %d, want 5", n)
	}
	got, _, err = execute(t, Programs{Mapper: mapper, Combiner: reducer, Reducer: "python3 " + reducer}, conf, 1, in)
	same(t, got, err, want)
	got, _, err = execute(t, Programs{Mapper: mapper, Reducer: reducer}, conf, 3, in)
	lines := strings.SplitAfter(strings.Join(got, ""), "\n")
	slices.Sort(lines)
	if len(got) != 3 || strings.Join(lines, "") != want || err != nil {
		t.Errorf("3 parts: %q, %v; want the lines of %q", got, err, want)
	}
}

const pairs = "b\t2\tx\na\nb\t1\n"

var pairTests = []struct {
	name     string
	programs Programs
	conf     mr.Conf
	want     string
}{
	{"no programs", Programs{}, nil, "a\t\nb\t2\tx\nb\t1\n"},
	{"cat", Programs{Mapper: "cat", Reducer: "cat"}, nil, "a\t\nb\t2\tx\nb\t1\n"},
	{"what the reducer reads", Programs{Mapper: "cat", Reducer: "sed 's/\t/|/g'"}, nil, "a|\t\nb|2|x\t\nb|1\t\n"},
	{"map only", Programs{Mapper: "cat", Reducer: None}, nil, "b\t2\tx\na\t\nb\t1\n"},
	{
		"map only, by option",
		Programs{Mapper: "cat", Reducer: "false"},
		mr.Conf{"mapreduce.job.reduces": "0"},
		"b\t2\tx\na\t\nb\t1\n",
	},
	{"key of two fields", Programs{Mapper: "sed 's/\t/./g'", Reducer: "cat"}, mr.Conf{
		"stream.map.output.field.separator": ".", "stream.num.map.output.key.fields": "2",
	}, "a\t\nb.1\t\nb.2\tx\n"},
	{"other separators of the reducer", Programs{Mapper: "cat", Reducer: "cat"}, mr.Conf{
		"stream.reduce.input.field.separator": "::", "stream.reduce.output.field.separator": "::",
	}, "a\t\nb\t2\tx\nb\t1\n"},
	{"mapper that reads pairs", Programs{Mapper: "sed 's/\t$/!/'", Reducer: None}, mr.Conf{
		"mapreduce.job.inputformat.class": "org.apache.hadoop.mapred.KeyValueTextInputFormat",
	}, "b\t2\tx\na!\t\nb\t1\n"},
	{"exit status does not matter", Programs{Mapper: `sh -c 'cat; exit 1'`, Reducer: None}, mr.Conf{
		"stream.non.zero.exit.is.failure": "false",
	}, "b\t2\tx\na\t\nb\t1\n"},
	{"mapper that wants little", Programs{Mapper: "head -n 1", Reducer: None}, nil, "b\t2\tx\n"},
	{
		"environment",
		Programs{Mapper: `sh -c 'echo $A $B'`, Reducer: None},
		mr.Conf{"stream.addenvironment": "A=1 B=2=3"},
		"1 2=3\t\n",
	},
}

// What Hadoop Streaming makes of lines: the whole line is the key where there is no TAB, the value then empty; the
// output has a TAB between key and value in any case.
func TestPairs(t *testing.T) {
	in := file(t, "in", pairs)
	for _, test := range pairTests {
		t.Run(test.name, func(t *testing.T) {
			got, _, err := execute(t, test.programs, test.conf, 1, in)
			same(t, got, err, test.want)
		})
	}
}

// A combiner that writes at the end, in no order, as one with a hash table does.
func TestCombinerInNoOrder(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "k%d\t1\n", i%300)
	}
	awk := `awk -F'\t' '{n[$1] += $2} END {for (k in n) print k "\t" n[k]}'`
	got, counters, err := execute(t, Programs{Mapper: "cat", Combiner: awk, Reducer: awk + " "}, nil, 1,
		file(t, "in", text.String()))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(strings.Join(got, ""))
	if len(lines) != 600 || counters.Of[mr.CombineInputRecords] != 5000 || counters.Of[mr.ReduceInputGroups] != 300 {
		t.Errorf("%d words, %d combined, %d groups; want 600, 5000, 300", len(lines),
			counters.Of[mr.CombineInputRecords], counters.Of[mr.ReduceInputGroups])
	}
	for i := 1; i < len(lines); i += 2 {
		if n := lines[i]; n != "17" && n != "16" { // 5000 / 300 is 16 and two thirds
			t.Errorf("%s is %s", lines[i-1], n)
		}
	}
}

// Each file has a mapper of its own, which is told its name; where files are combined, one has them all.
func TestMapperPerFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "1\n2\n", "b": "", "c": "3\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := Programs{
		Mapper: `sh -c 'f=$(basename $mapreduce_map_input_file); n=$(cat | wc -l); printf ` +
			`"$f,$map_input_start,$map_input_length\t%d\n" $n'`,
		Reducer: None,
	}
	conf := mr.Conf{"mapreduce.input.fileinputformat.split.minsize": "1m"}
	got, _, err := execute(t, p, conf, 1, dir)
	if text := strings.Join(got, ""); err != nil || text != "a,0,4\t2\nc,0,2\t1\n" {
		t.Errorf("%q, %v; want one mapper for a, one for c", got, err)
	}
	conf["mapreduce.job.inputformat.class"] = "CombineTextInputFormat"
	got, _, err = execute(t, p, conf, 1, dir)
	if text := strings.Join(got, ""); err != nil || text != "a,0,4\t3\n" {
		t.Errorf("combined: %q, %v; want one mapper, told of a", got, err)
	}
	delete(conf, "mapreduce.job.inputformat.class") // a file that is named twice is read twice
	got, _, err = execute(t, p, conf, 1, filepath.Join(dir, "a"), filepath.Join(dir, "a"))
	if text := strings.Join(got, ""); err != nil || text != "a,0,4\t2\na,0,4\t2\n" {
		t.Errorf("%q, %v; want two mappers for a", got, err)
	}
	// A split of nothing has a mapper too; a part of nothing no reducer.
	got, _, err = execute(t, Programs{Mapper: "wc -l", Reducer: None}, nil, 1, filepath.Join(dir, "b"))
	same(t, got, err, "0\t\n")
	got, _, err = execute(t, Programs{Mapper: "cat", Reducer: "wc -l"}, nil, 1, filepath.Join(dir, "b"))
	same(t, got, err, "")
}

// TestEndlessOutput: a program that writes without end is ended when what it writes cannot be kept, as on a full disk.
func TestEndlessOutput(t *testing.T) {
	j, err := Job(Programs{Mapper: "yes"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	j.Partition = func([]byte, int) int { return -1 }
	_, _, err = executeJob(t, j, 2, file(t, "in", "x\n"))
	if err == nil || !strings.Contains(err.Error(), "partition: part -1 of a key") {
		t.Errorf("%v; want what was wrong with the first pair", err)
	}
}

func TestEnvironment(t *testing.T) {
	in := file(t, "in", "x\n")
	names := []string{
		"mapreduce_job_id=job_local_0001", "mapred_job_id=job_local_0001", "mapreduce_job_name=mine",
		"mapred_job_name=mine", "mapreduce_task_id=task_local_0001_%s_000000",
		"mapred_tip_id=task_local_0001_%s_000000", "mapreduce_task_attempt_id=attempt_local_0001_%s_000000_0",
		"mapred_task_id=attempt_local_0001_%s_000000_0", "mapreduce_task_partition=0", "mapred_task_partition=0",
		"mapreduce_job_reduces=1", "mapred_reduce_tasks=1",
	}
	var want []string
	for _, kind := range []string{"m", "r"} {
		for _, n := range names {
			want = append(want, strings.ReplaceAll(n, "%s", kind))
		}
		want = append(want, fmt.Sprintf("mapreduce_task_ismap=%v", kind == "m"),
			fmt.Sprintf("mapred_task_is_map=%v", kind == "m"))
	}
	want = append(want, "mapreduce_map_input_file="+in, "map_input_file="+in, "mapreduce_map_input_start=0",
		"map_input_start=0", "mapreduce_map_input_length=2", "map_input_length=2")
	env := `sh -c 'cat; env | grep -E "^(map|reduce)"'`
	got, _, err := execute(t, Programs{Mapper: env, Reducer: env}, mr.Conf{"mapreduce.job.name": "mine"}, 1, in)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(got[0], "\t\n")
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("no %s in the environment:\n%s", line, strings.Join(lines, "\n"))
		}
	}
}

func TestJobFails(t *testing.T) {
	in := file(t, "in", "x\n")
	for _, p := range []Programs{
		{Mapper: `sh -c 'echo why >&2; exit 5'`, Reducer: None},
		{Mapper: `sh -c 'echo why >&2; exit 5'`, Reducer: "cat"},
		{Mapper: "cat", Reducer: `sh -c 'echo why >&2; exit 5'`},
	} {
		_, _, err := execute(t, p, nil, 1, in)
		failed := new(Error)
		if !errors.As(err, &failed) || failed.Stderr != "why" || !strings.Contains(err.Error(), "task 0, attempt 0") ||
			!strings.Contains(err.Error(), "exit status 5") {
			t.Errorf("%+v: %v; want the task, the exit status and the end of its standard error", p, err)
		}
	}
	_, _, err := execute(t, Programs{Mapper: "sleep 1000", Reducer: None},
		mr.Conf{"mapreduce.task.timeout": "100"}, 1, in)
	if !errors.Is(err, ErrSilent) {
		t.Errorf("%v; want ErrSilent", err)
	}
	// No shell reads a command, and a file may be no program at all: the errors say what to write.
	_, _, err = execute(t, Programs{Mapper: "cat | wc -l", Reducer: None}, nil, 1, in)
	if err == nil || !strings.Contains(err.Error(), "write sh -c '...'") {
		t.Errorf("%v; want what to write for a shell", err)
	}
	plain := file(t, "plain", "cat\n")
	if err := os.Chmod(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	_, _, err = execute(t, Programs{Mapper: plain, Reducer: None}, nil, 1, in)
	if err == nil || !strings.Contains(err.Error(), `name what runs it, as in "sh `+plain+`"`) {
		t.Errorf("%v; want what runs the file", err)
	}
}

func TestJobRefuses(t *testing.T) {
	notExecutable := file(t, "m.py", "print()")
	if err := os.Chmod(notExecutable, 0o644); err != nil {
		t.Fatal(err)
	}
	lacking, windows := file(t, "l.sh", "#! /no/such/sh -e\n"), file(t, "w.sh", "#!/usr/bin/env sh\r\n:\r\n")
	for _, path := range []string{lacking, windows} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		programs Programs
		conf     mr.Conf
		want     string
	}{
		{Programs{Mapper: "./no-such-program"}, nil, "mapper: program ./no-such-program: " + here +
			"/no-such-program does not exist"},
		{Programs{Mapper: lacking}, nil, "mapper: program " + lacking + ": its first line names the interpreter " +
			"/no/such/sh, which does not exist"},
		{Programs{Mapper: windows}, nil, "mapper: program " + windows + ": its first line, #!/usr/bin/env sh, ends " +
			"with a carriage return"},
		{Programs{Mapper: "cat", Reducer: "no-such-program x"}, nil, "reducer: program no-such-program: neither"},
		{Programs{Mapper: "cat", Combiner: notExecutable}, nil, "combiner: program " + notExecutable +
			" is not executable: chmod +x"},
		{Programs{Mapper: "/"}, nil, "mapper: program / is not a file"},
		{Programs{Mapper: "awk '{print"}, nil, "mapper: command awk '{print: a ' without its second"},
		{Programs{Mapper: " "}, nil, "mapper: command is empty"},
		{Programs{}, mr.Conf{"mapreduce.job.partitioner.class": "KeyFieldBasedPartitioner"},
			`configuration mapreduce.job.partitioner.class="KeyFieldBasedPartitioner" is not supported`},
		{Programs{}, mr.Conf{"stream.num.map.output.key.fields": "0"},
			`configuration stream.num.map.output.key.fields="0"`},
		{Programs{}, mr.Conf{"stream.map.output.field.separator": ""},
			`configuration stream.map.output.field.separator=""`},
		{Programs{}, mr.Conf{"mapred.task.timeout": "soon"}, `configuration mapred.task.timeout="soon"`},
		{Programs{}, mr.Conf{"stream.addenvironment": "A"}, `configuration stream.addenvironment: "A": ` +
			`want name=value`},
		{Programs{}, mr.Conf{"mapreduce.job.inputformat.class": "a.b.FixedLengthInputFormat"},
			"configuration mapreduce.job.inputformat.class: FixedLengthInputFormat"},
	} {
		if _, err := Job(test.programs, test.conf, nil); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%+v %v: %v; want %s", test.programs, test.conf, err, test.want)
		}
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"cat":                      {"cat"},
		"  ./m.py -x  1\t2\n":      {"./m.py", "-x", "1", "2"},
		`awk '{print $1 "\t" $2}'`: {"awk", `{print $1 "\t" $2}`},
		`sed "s/it's/its/"`:        {"sed", "s/it's/its/"},
		`a --flag='x y'"z" '' b`:   {"a", "--flag=x yz", "", "b"},
		`grep \t`:                  {"grep", `\t`},
		"naïve \xff":               {"naïve", "\xff"},
	} {
		if got, err := Words(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", line, got, err, want)
		}
	}
}

// A program of the working directory goes before one of PATH, with and without "./".
func TestProgramInWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("cat", []byte("#!/bin/sh\necho mine\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"cat", "./cat", "cat -n"} {
		if args, err := parseCommand(line); err != nil || args[0] != filepath.Join(here, "cat") {
			t.Errorf("%s: %q, %v", line, args, err)
		}
	}
	if err := os.Chmod("cat", 0o644); err != nil {
		t.Fatal(err)
	}
	if args, err := parseCommand("cat"); err != nil || strings.HasPrefix(args[0], here) {
		t.Errorf("%q, %v; want the one of PATH, as that here cannot be executed", args, err)
	}
}

// The whole way: lines of a file through cat, sorted, through cat, to a file.
func BenchmarkJob(b *testing.B) {
	program(b, "cat")
	chance := rand.New(rand.NewPCG(1, 1))
	var text bytes.Buffer
	for text.Len() < 200<<20 {
		fmt.Fprintf(&text, "%012x\ta line of some hundred bytes, as logs have it, with a key of random digits "+
			"and a value\n", chance.Uint64()>>16)
	}
	in := file(b, "in", text.String())
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, _, err := execute(b, Programs{Mapper: "cat", Reducer: "cat"}, nil, 2, in); err != nil {
			b.Fatal(err)
		}
	}
}
