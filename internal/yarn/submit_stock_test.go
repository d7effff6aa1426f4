package yarn

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// install writes the commands of an installation of Hadoop, which its jars alone are not, and returns that of hadoop.
func (s *stock) install() string {
	s.t.Helper()
	java := "exec java -Xmx256m " + strings.Join(quick, " ") + " -cp \"$HADOOP_CONF_DIR:" + s.jars + "/*\" "
	for name, cases := range map[string][]string{
		"hadoop": {"fs) shift; " + java + `org.apache.hadoop.fs.FsShell "$@"`,
			"jar) shift; " + java + `org.apache.hadoop.util.RunJar "$@"`},
		"mapred": {"streaming) shift; " + java + `org.apache.hadoop.streaming.HadoopStreaming "$@"`,
			"job) shift; " + java + `org.apache.hadoop.mapred.JobClient "$@"`},
		"yarn": {"application) " + java + `org.apache.hadoop.yarn.client.cli.ApplicationCLI "$@"`},
	} {
		path := filepath.Join(s.dir, "bin", name)
		s.write(path, "#!/bin/sh\ncase $1 in\n"+strings.Join(cases, ";;\n")+";;\n*) exit 9;;\nesac\n")
		if err := os.Chmod(path, 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	return filepath.Join(s.dir, "bin", "hadoop")
}

// submit runs `sojourn submit` with the cluster's own configuration and returns what it wrote on standard output.
func (s *stock) submit(hadoop string, args ...string) string {
	s.t.Helper()
	args = append([]string{program(s.t), "submit", "--conf", s.dir + "/conf", "--hadoop", hadoop}, args...)
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := s.command(ctx, s.dir+"/conf", args...)
	cmd.Stderr = &strings.Builder{}
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("sojourn %s: %v\n%s%s", strings.Join(args[1:], " "), err, out, cmd.Stderr)
	}
	return string(out)
}

// outputOf returns the lines of an output, part after part.
func outputOf(t *testing.T, dir string) string {
	t.Helper()
	parts, _ := filepath.Glob(dir + "/part-*")
	slices.Sort(parts)
	var all strings.Builder
	for _, part := range parts {
		text, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	if all.Len() == 0 {
		t.Errorf("%s is empty", dir)
	}
	return all.String()
}

// runHere runs `sojourn run` in the test's folder, with the same words as `sojourn submit` gets.
func (s *stock) runHere(args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), program(s.t), append([]string{"run"}, args...)...)
	cmd.Dir = s.dir
	if said, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("sojourn run %q: %v\n%s", args, err, said)
	}
}

// writeInput writes two texts to the folder in. One has odd lines.
func (s *stock) writeInput() {
	s.t.Helper()
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "%d the quick brown fox %d jumps over\tthe lazy dog\n", i*7919%3000, i%17)
	}
	s.write(s.dir+"/in/a.txt", text.String())
	s.write(s.dir+"/in/b.txt", "\\n is no line end\nno TAB and no blank here\nlast line without its end")
}

// onHDFS are the jobs of a workload file, of all kinds that have a file of their own to ship: none, cut points that are
// drawn from the input, and programs.
const onHDFS = `queues: [{name: default}]
jobs:
  - {name: count, job: wordcount, input: [in], output: out/count, reduces: 3, user: ana}
  - {name: order, job: sort, input: [in/*.txt], output: out/order, reduces: 2, submit: 1s}
  - {name: words, mapper: ./m.sh, reducer: cat, input: [in/a.txt], output: out/words, reduces: 1,
     submit: 2s, deadline: 1h}
`

// TestStockSubmitHDFS gives a workload file to 'sojourn run' on the local file system and then, the same file, to
// 'sojourn submit' on a cluster whose file system is HDFS. Outputs must be equal, also where a sample runs first.
func TestStockSubmitHDFS(t *testing.T) {
	whole(t)
	s := newStock(t)
	s.chooseHDFS()
	s.choosePorts()
	s.startHDFS()
	s.serveVerb("srpt:preempt=kill")
	s.addNodes(1)
	hadoop := s.install()
	s.writeInput()
	s.write(s.dir+"/m.sh", "#!/bin/sh\nexec tr ' ' '\\t'\n")
	if err := os.Chmod(s.dir+"/m.sh", 0o755); err != nil {
		t.Fatal(err)
	}
	s.write(s.dir+"/jobs.yaml", onHDFS)
	s.run(fileShell, "-mkdir", "-p", ".")
	s.run(fileShell, "-put", s.dir+"/in", "in")
	s.runHere("jobs.yaml")
	equal := func(t *testing.T, there, here string) {
		t.Helper()
		if got, want := outputOf(t, there), outputOf(t, here); got != want {
			t.Errorf("%s: %d bytes on the cluster, %d here\n%.300q\n%.300q", here, len(got), len(want), got, want)
		}
	}
	s.part("a workload file", func(s *stock) {
		s.submit(hadoop, "jobs.yaml")
		s.run(fileShell, "-get", "out", s.dir+"/there")
		for _, job := range []string{"count", "order", "words"} {
			equal(s.t, s.dir+"/there/"+job, s.dir+"/out/"+job)
		}
	})
	s.part("a sample first", func(s *stock) {
		s.submit(hadoop, "sort", "--input", "in", "--output", "sorted", "--reduces", "2", "--sample", "0.2")
		s.run(fileShell, "-get", "sorted", s.dir+"/sorted-there")
		s.runHere("sort", "--input", "in", "--output", "sorted", "--reduces", "2")
		equal(s.t, s.dir+"/sorted-there", s.dir+"/sorted")
		if tags := s.newest().Tags; !slices.ContainsFunc(tags, func(tag string) bool {
			return strings.HasPrefix(tag, "sojourn.size=")
		}) {
			s.t.Errorf("tags %q", tags)
		}
	})
	s.part("nothing is left beside the outputs", func(s *stock) {
		cmd := s.java(s.t.Context(), s.dir+"/conf", "256m", fileShell, "-ls", "-C", ".")
		list, err := cmd.Output()
		if err != nil {
			s.t.Fatal(err)
		}
		names := strings.Fields(string(list))
		slices.Sort(names)
		if want := []string{"in", "out", "sorted"}; !slices.Equal(names, want) {
			s.t.Errorf("the user's folder has %q, want %q", names, want)
		}
	})
}

// Built-in jobs, programs and a jar run by `sojourn submit` on stock NodeManagers, and write what 'sojourn run' writes.
func TestStockSubmit(t *testing.T) {
	s := newStock(t)
	whole(t)
	s.choosePorts()
	s.serveVerb("srpt:preempt=kill")
	s.addNodes(1)
	hadoop := s.install()
	s.writeInput()
	local := func(job string, args ...string) string {
		out := filepath.Join(s.dir, "here-"+job)
		args = append([]string{program(t), "run", job, "--input", s.dir + "/in", "--output", out}, args...)
		if said, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, said)
		}
		return outputOf(t, out)
	}
	for _, job := range []string{"wordcount", "sort", "sequence-count"} {
		s.part(job, func(s *stock) {
			s.submit(hadoop, job, "--input", s.dir+"/in", "--output", s.dir+"/there-"+job, "--reduces", "3")
			if got, want := outputOf(s.t, s.dir+"/there-"+job), local(job, "--reduces", "3"); got != want {
				s.t.Errorf("%d bytes on the cluster, %d here\n%.300q\n%.300q", len(got), len(want), got, want)
			}
		})
	}
	s.part("programs, a sample first", func(s *stock) {
		s.write(s.dir+"/m.sh", "#!/bin/sh\nexec tr ' ' '\\t'\n")
		os.Chmod(s.dir+"/m.sh", 0o755)
		out := s.submit(hadoop, "--mapper", "./m.sh", "--reducer", "cat", "--input", s.dir+"/in", "--output",
			s.dir+"/cut", "--sample", "0.2", "--json", "--queue", "default", "--deadline", "1h")
		var doc struct {
			Results []struct {
				PerJob []struct {
					Outcome string
					Wait    float64 `json:"wait_s"`
					Sojourn float64 `json:"sojourn_s"`
					Sample  struct {
						Part      float64
						Predicted float64 `json:"predicted_size_s"`
					}
				} `json:"per_job"`
			}
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			s.t.Fatal(err)
		}
		j := doc.Results[0].PerJob[0]
		if j.Outcome != "ok" || j.Wait <= 0 || j.Sojourn <= j.Wait || j.Sample.Part < 0.1 || j.Sample.Part > 0.3 ||
			j.Sample.Predicted < 5 {
			s.t.Errorf("%+v in %s", j, out)
		}
		tags := s.newest().Tags
		if !slices.ContainsFunc(tags, func(t string) bool { return strings.HasPrefix(t, "sojourn.size=") }) ||
			!slices.Contains(tags, "sojourn.deadline=1h0m0s") {
			s.t.Errorf("tags %q", tags)
		}
		outputOf(s.t, s.dir+"/cut")
	})
	s.part("a jar", func(s *stock) {
		jars, _ := filepath.Glob(s.jars + "/hadoop-mapreduce-examples-*.jar")
		out := s.submit(hadoop, "--jar", jars[0], "wordcount", "--input", s.dir+"/in", "--output", s.dir+"/jar", "-D",
			"mapreduce.job.reduces=2", "--", "{input}", "{output}")
		lines := strings.Split(outputOf(s.t, s.dir+"/jar"), "\n")
		slices.Sort(lines)
		want := strings.Split(outputOf(s.t, s.dir+"/here-wordcount"), "\n")
		slices.Sort(want)
		if !slices.Equal(lines, want) || !strings.Contains(out, "Reduce input groups") {
			s.t.Errorf("%d lines, want %d; said\n%s", len(lines), len(want), out)
		}
	})
}
