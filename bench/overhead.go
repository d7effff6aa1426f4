package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// emptyTasks is how many tasks that do nearly nothing a job has.
const emptyTasks = 10_000

// runOverhead measures jobs that do nearly nothing: many tasks, many files, and one record.
func runOverhead(ctx context.Context, b *bench) error {
	if err := b.tasks(ctx); err != nil {
		return err
	}
	one, err := b.input("one", 1, func(path string) error { return os.WriteFile(path, []byte("one\n"), 0o666) })
	if err != nil {
		return err
	}
	out := b.path("output", "one")
	whole := b.ours(out, "wordcount", "--input", one.path)
	inMilliseconds := func(run func(context.Context) (sample, error)) func(context.Context) (sample, error) {
		return func(ctx context.Context) (sample, error) {
			s, err := run(ctx)
			s.value = s.wall * 1e3
			return s, err
		}
	}
	whole.run = inMilliseconds(whole.run)
	if err := b.hold(ctx, contest{name: "one record, from start to exit", unit: "ms",
		contestants: []contestant{whole}}); err != nil {
		return err
	}
	first := contestant{who: "sojourn", run: b.firstRecord(one), goal: 50, most: true}
	return b.hold(ctx, contest{name: "start to first record, in a program as mapper", unit: "ms",
		contestants: []contestant{first}})
}

// tasks runs a job with many splits and one with many files.
func (b *bench) tasks(ctx context.Context) error {
	const line = 50 // bytes of a split
	small, err := b.generated(ctx, "text", emptyTasks*line)
	if err != nil {
		return err
	}
	out := b.path("output", "tasks")
	splits := b.ours(out, "wordcount", "--input", small.path, "-D",
		fmt.Sprintf("mapreduce.input.fileinputformat.split.maxsize=%d", line), "-D",
		"mapreduce.input.fileinputformat.split.minsize=1")
	splits.goal = 1000
	err = b.hold(
		ctx,
		contest{
			name:        fmt.Sprintf("%d tasks of %d bytes", emptyTasks, line),
			unit:        "tasks/s",
			amount:      emptyTasks,
			contestants: []contestant{splits},
		},
	)
	if err != nil {
		return err
	}
	files, err := b.input("files", emptyTasks, func(path string) error {
		if err := os.Mkdir(path, 0o777); err != nil {
			return err
		}
		for i := range emptyTasks {
			if err := os.WriteFile(filepath.Join(path, fmt.Sprintf("%05d", i)), fmt.Appendf(nil, "word %d\n", i),
				0o666); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	many := b.ours(out, "wordcount", "--input", files.path)
	cat := b.tool("xargs", `find "$2" -type f -print0 | xargs -0 -n 1 -P "$3" cat >"$1"`, b.path("output", "cat"),
		files.path, fmt.Sprint(cores()))
	cat.who = "find | xargs -n 1 cat"
	return b.hold(
		ctx,
		contest{
			name:        fmt.Sprintf("%d files of a line", emptyTasks),
			unit:        "files/s",
			amount:      emptyTasks,
			contestants: []contestant{many, cat},
		},
	)
}

// firstRecord measures from the start of sojourn until its mapper, a program, has a record in hand.
func (b *bench) firstRecord(in inputFile) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		out, err := b.fresh("first")
		if err != nil {
			return sample{}, err
		}
		stamp := b.absolute("tmp", "stamp")
		if err := os.Remove(stamp); err != nil && !errors.Is(err, os.ErrNotExist) {
			return sample{}, err
		}
		mapper, err := self("stamp", stamp)
		if err != nil {
			return sample{}, err
		}
		c := b.command("run", "--mapper", mapper.path+" child stamp "+stamp, "--reducer", "NONE", "--input", in.path,
			"--output", out)
		start := time.Now()
		s, _, err := measure(ctx, c)
		if err != nil {
			return s, err
		}
		text, err := os.ReadFile(stamp)
		if err != nil {
			return s, fmt.Errorf("the mapper had no record: %w", err)
		}
		at, err := strconv.ParseInt(string(text), 10, 64)
		s.value = float64(at-start.UnixNano()) / 1e6
		return s, err
	}
}

// stampFirst is a mapper that writes down when it has its first record.
func stampFirst(path string) error {
	r := bufio.NewReader(os.Stdin)
	if _, err := r.ReadString('\n'); err != nil {
		return err
	}
	return os.WriteFile(path, strconv.AppendInt(nil, time.Now().UnixNano(), 10), 0o666)
}
