package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed duckdb.py
var duckdbProgram string

//go:embed spark.py
var sparkProgram string

// peers makes contestants of other people's programs. Each is looked for once; where it is not there, the contestant
// says how to get it.
type peers struct {
	*bench
	noDuckDB, noSpark, noHadoop string // why not
	jars                        string // of Hadoop, for -cp
}

func (b *bench) peers(ctx context.Context) *peers {
	p := &peers{bench: b}
	module := func(name string) string {
		if err := exec.CommandContext(ctx, b.python, "-c", "import "+name).Run(); err != nil {
			return fmt.Sprintf(
				"%s has no package %s: python3 -m venv out/venv && out/venv/bin/pip install %s, then -python "+
					"out/venv/bin/python",
				b.python,
				name,
				name,
			)
		}
		return ""
	}
	p.noDuckDB, p.noSpark = module("duckdb"), module("pyspark")
	_, err := exec.LookPath("java")
	if err != nil {
		p.noHadoop = "no java in PATH: install a JDK, version 11 or 17"
		p.noSpark = p.noHadoop
	}
	if dirs, _ := filepath.Glob(filepath.Join(b.cache, "hadoop-*", "jars")); len(dirs) > 0 {
		p.jars = filepath.Join(dirs[len(dirs)-1], "*")
	} else if p.noHadoop == "" {
		p.noHadoop = fmt.Sprintf("no %s/hadoop-*/jars: put the jars of hadoop-mapreduce-examples and of what it "+
			"depends on there (mvn dependency:copy-dependencies)", b.cache)
	}
	if !b.slow {
		p.noHadoop, p.noSpark = "left out by -slow-peers=false", "left out by -slow-peers=false"
	}
	return p
}

// written runs a command whose output, a file or a folder, must not exist.
func written(c command, output string) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		if err := os.RemoveAll(output); err != nil {
			return sample{}, err
		}
		s, _, err := measure(ctx, c)
		return s, err
	}
}

// ours runs a job of sojourn's with arguments of 'sojourn run'.
func (b *bench) ours(output string, args ...string) contestant {
	c := command{
		path: b.sojourn,
		args: append([]string{"run", "--quiet", "--progress", "never", "--output", output}, args...),
	}
	return contestant{who: "sojourn", run: written(c, output)}
}

// duckdb runs a query of duckdb.py: its name, what it reads, what it writes, and what more it needs.
func (p *peers) duckdb(query string, in inputFile, output string, more ...string) contestant {
	c := p.script("duckdb.py", duckdbProgram,
		append([]string{query, in.path, output, fmt.Sprint(cores()), p.path("tmp")}, more...))
	return contestant{who: "DuckDB", run: written(c, output), missing: p.noDuckDB}
}

// spark runs a job of spark.py.
func (p *peers) spark(job string, in inputFile, output string, more ...string) contestant {
	c := p.script("spark.py", sparkProgram,
		append([]string{job, in.path, output, fmt.Sprint(cores()), p.path("tmp")}, more...))
	run := func(ctx context.Context) (sample, error) {
		s, err := written(c, output)(ctx)
		s.processor, s.memory = 0, 0 // those of Python; the virtual machine is not its child when it ends
		return s, err
	}
	return contestant{who: "Spark local", run: run, missing: p.noSpark, goal: 10, once: true}
}

func (p *peers) script(name, text string, args []string) command {
	path := p.path("tmp", "peer_"+name) // not a name that it imports
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		return command{path: "/bin/false", args: []string{err.Error()}}
	}
	return command{path: p.python, args: append([]string{path}, args...)}
}

// hadoop runs a program of Hadoop's examples under its local runner, with as many maps at once as there are cores.
func (p *peers) hadoop(program string, in inputFile, output string, more ...string) contestant {
	args := []string{"-Xmx2g", "-cp", p.jars, "org.apache.hadoop.examples.ExampleDriver", program,
		"-Dmapreduce.framework.name=local", "-Dfs.defaultFS=file:///", "-Dhadoop.tmp.dir=" + p.absolute("tmp"),
		fmt.Sprintf("-Dmapreduce.local.map.tasks.maximum=%d", cores()), "-Dmapreduce.task.io.sort.mb=256",
		in.path, output}
	c := command{path: "java", args: append(args, more...)}
	return contestant{who: "Hadoop local", run: written(c, output), missing: p.noHadoop, goal: 10, once: true}
}

// tool is a command line of the shell, which writes $1 and has further arguments from $2 on. The first word of who is a
// program that it needs.
func (b *bench) tool(who, line, output string, args ...string) contestant {
	name, _, _ := strings.Cut(who, " ")
	return contestant{
		who:     who,
		run:     written(shell(line, append([]string{output}, args...)...), output),
		missing: b.lacks(name),
	}
}

// lacks says what to do where a program of GNU's is not there.
func (b *bench) lacks(program string) string {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Sprintf("no %s in PATH: install GNU %s", program, program)
	}
	return ""
}
