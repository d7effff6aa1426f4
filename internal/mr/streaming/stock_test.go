package streaming

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/mr"
)

// hadoop runs a job under stock Hadoop Streaming with its local runner, and gives the parts of its output.
func hadoop(t *testing.T, programs Programs, conf mr.Conf, reduces int, in string) (parts []string) {
	t.Helper()
	jars := os.Getenv("SOJOURN_HADOOP")
	if jars == "" {
		t.Skip("SOJOURN_HADOOP names no folder of stock Hadoop's jars: make test sets it where a JDK and Maven are")
	}
	dir := t.TempDir()
	args := []string{
		"-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1",
		"-cp",
		jars + "/*",
		"org.apache.hadoop.streaming.HadoopStreaming",
		"-D",
		"mapreduce.framework.name=local",
		"-D",
		"hadoop.tmp.dir=" + dir + "/tmp",
	}
	conf = maps.Clone(conf)
	if conf == nil {
		conf = mr.Conf{}
	}
	if conf["mapreduce.job.reduces"] == "" {
		conf["mapreduce.job.reduces"] = fmt.Sprint(reduces)
	}
	options := []string{"-input", in, "-output", dir + "/out"}
	for _, key := range slices.Sorted(maps.Keys(conf)) {
		switch value := conf[key]; key { // for some its launcher has options and takes no properties
		case "mapreduce.job.inputformat.class":
			options = append(options, "-inputformat", value)
		case "stream.addenvironment":
			for one := range strings.FieldsSeq(value) {
				options = append(options, "-cmdenv", one)
			}
		default:
			args = append(args, "-D", key+"="+value)
		}
	}
	args = append(args, options...)
	for _, p := range [][2]string{{"-mapper", programs.Mapper}, {"-combiner", programs.Combiner},
		{"-reducer", programs.Reducer}} {
		if p[1] != "" {
			args = append(args, p[0], p[1])
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "java", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("Hadoop Streaming: %v\n%s", err, out)
	}
	names, _ := filepath.Glob(dir + "/out/part-*")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(text))
	}
	return parts
}

// lines are those of all parts, in order: which part has a key, and in which order a key's values come, is each
// engine's own affair.
func lines(parts []string) []string {
	list := strings.SplitAfter(strings.Join(parts, ""), "\n")
	slices.Sort(list)
	return list
}

// Stock Hadoop Streaming makes the same of the same programs: of Python's in every `make test`, of all of TestPairs in
// `make test-hadoop`.
func TestStockStreaming(t *testing.T) {
	program(t, "python3")
	mapper, reducer := file(t, "m.py", pythonMapper), file(t, "r.py", pythonReducer)
	in, conf := file(t, "in", poem), mr.Conf{"my.own-option": "7"}
	compare := func(t *testing.T, programs Programs, conf mr.Conf, reduces int, in string) {
		t.Helper()
		want := hadoop(t, programs, conf, reduces, in)
		got, _, err := execute(t, programs, conf, reduces, in)
		if len(got) != len(want) {
			t.Errorf("%d parts, Hadoop makes %d", len(got), len(want))
		}
		same(t, lines(got), err, lines(want)...)
	}
	t.Run("python", func(t *testing.T) {
		compare(t, Programs{Mapper: mapper, Combiner: reducer, Reducer: reducer}, conf, 3, in)
	})
	if os.Getenv("SOJOURN_STOCK") != "all" {
		return
	}
	pairsIn := file(t, "in", pairs)
	for _, test := range pairTests[1:] { // without programs it passes the offsets of lines on
		t.Run(test.name, func(t *testing.T) { compare(t, test.programs, test.conf, 1, pairsIn) })
	}
}
