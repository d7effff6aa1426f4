package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/joblog"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/sched"
)

// logsSuffix is what the folder of a run's logs has after the name of what it stands beside.
const logsSuffix = ".logs"

// logsOf returns the folder for the logs of a run: the one that was asked for, else beside the record, else beside the
// output of a single job, else beside the workload.
func (f *runFlags) logsOf(m *mix, place policyPlace) string {
	switch {
	case f.logs != "":
		return named(f.logs, place.policy)
	case f.record != "":
		return named(f.record, place.policy) + logsSuffix
	case m.single:
		return place.output(m.jobs[0].Program.Output) + logsSuffix
	}
	return place.output(m.name + logsSuffix)
}

// mostShown bounds the failed attempts of a job that are told at the end of a run.
const mostShown = 3

// tellFailures names the attempts that failed of jobs that went well all the same, and says where the logs are.
func (f *runFlags) tellFailures(a *app, jobs []mr.Result, logs string) {
	for _, j := range jobs {
		if j.Err != nil {
			continue // the failure of the job says it
		}
		for i, err := range j.Failed {
			if i == mostShown {
				a.remark("and %s of the job failed", spelling.Count(len(j.Failed)-mostShown, "more attempt"))
				break
			}
			a.remark("an attempt failed, and its task was run again: %v", err)
		}
	}
	if list, err := joblog.List(logs); err == nil && len(list) > 0 {
		a.remark("what programs wrote to standard error: sojourn run logs %s", logs)
	}
}

func runLogs(a *app) *cobra.Command {
	repeat := 0
	c := &cobra.Command{
		Use:   "logs PLACE [JOB] [ATTEMPT]",
		Short: "Show what the programs of a run wrote to standard error",
		Long: fmt.Sprintf(`Show what the programs of a run wrote to standard error. PLACE is the output of a
job, the record of the run, its workload, or the folder of its logs. Several logs are listed, and a single one is shown.
JOB is a job's number, ATTEMPT such as map-00003-0: the stage, the task and the attempt, from 0.

A run with --repeats has logs for each repeat, from 1: --repeat says which one.

Of an attempt at most %d KiB and the end are kept, of a run with all of its repeats %d MiB.`, joblog.MostOfAttempt>>10,
			joblog.MostOfRun>>20),
		Example: `  sojourn run logs out/words
  sojourn run logs day.rec 3 map-00003-0
  sojourn run logs mix.yaml --repeat 2`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 3 {
				return usagef("%s takes a place, a job and an attempt, got %s", cmd.CommandPath(),
					spelling.Count(len(args), "word"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if repeat < 0 {
				return usagef("--repeat %d: repeats are numbered from 1", repeat)
			}
			dir, list, err := logsAt(args[0], repeat)
			if err != nil {
				return err
			}
			return showLogs(a.Out, dir, list, args[1:])
		},
	}
	c.Flags().IntVar(&repeat, "repeat", 0, "logs of this repeat, from 1, of a run with --repeats")
	return c
}

// logsAt finds the logs of a run, or of one repeat of it; repeat 0: the run was not repeated.
func logsAt(place string, repeat int) (dir string, list []joblog.Log, err error) {
	beside := strings.TrimRight(place, "/") + logsSuffix
	for _, dir := range []string{place, beside} {
		repeats, err := joblog.Repeats(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !isFile(dir) {
			return "", nil, failuref("%w", err)
		}
		if len(repeats) > 0 && !slices.Contains(repeats, repeat) {
			return "", nil, usagef("%s has the logs of repeats %s: say one of them, such as --repeat %[3]d", dir,
				listed(repeats), repeats[len(repeats)-1])
		}
		if repeat > 0 {
			if len(repeats) == 0 {
				continue
			}
			dir = joblog.RepeatDir(dir, repeat)
		}
		list, err := joblog.List(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !isFile(dir) {
			return "", nil, failuref("%w", err)
		}
		if len(list) > 0 {
			return dir, list, nil
		}
		below, err := filepath.Glob(filepath.Join(dir, "*"+string(filepath.Separator)+"*-*-*-*.log"))
		if err == nil && len(below) > 0 {
			return "", nil, usagef("%s has the logs of several runs: say one, such as %s", dir, filepath.Dir(below[0]))
		}
	}
	if repeat > 0 {
		return "", nil, usagef("%s: no logs of repeat %d are there or in %s: only a run with --repeats has such logs",
			place, repeat, beside)
	}
	return "", nil, usagef("%s: no logs are there or in %s: programs that wrote nothing leave none, and 'run' says "+
		"where it keeps them", place, beside)
}

// listed writes rising numbers: 1 to 9, or with commas where some are missing.
func listed(numbers []int) string {
	n := len(numbers)
	if n > 2 && numbers[n-1]-numbers[0] == n-1 {
		return fmt.Sprintf("%d to %d", numbers[0], numbers[n-1])
	}
	var words []string
	for _, x := range numbers {
		words = append(words, strconv.Itoa(x))
	}
	return strings.Join(words, ", ")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// attemptName matches the name of an attempt.
var attemptName = regexp.MustCompile(`^(map|reduce)-\d+-\d+$`)

// showLogs shows the logs that words ask for: a job, an attempt, or both. Several logs are listed.
func showLogs(w io.Writer, dir string, list []joblog.Log, words []string) error {
	var job sched.JobID
	attempt := ""
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 32)
		switch {
		case err == nil && n > 0 && i == 0:
			job = sched.JobID(n)
		case attemptName.MatchString(word) && i == len(words)-1:
			attempt = word
		default:
			return usagef("%q: must be the number of a job, then an attempt such as %s", word, list[0].Attempt)
		}
	}
	var asked []joblog.Log
	for _, l := range list {
		if (job == 0 || l.Job == job) && (attempt == "" || l.Attempt == attempt) {
			asked = append(asked, l)
		}
	}
	switch {
	case len(asked) == 0:
		return usagef("%s has no log of that: 'sojourn run logs %[1]s' lists what there is", dir)
	case len(asked) == 1 && len(words) > 0:
		return copyLog(w, asked[0])
	}
	t := newTable("JOB", "ATTEMPT", "BYTES", "LAST LINE")
	for _, l := range asked {
		last, err := lastLine(l)
		if err != nil {
			return failuref("%w", err)
		}
		t.row(strconv.Itoa(int(l.Job)), l.Attempt, strconv.FormatInt(l.Bytes, 10), last)
	}
	t.print(w)
	return nil
}

func copyLog(w io.Writer, l joblog.Log) error {
	text, err := os.Open(l.Path)
	if err != nil {
		return failuref("%w", err)
	}
	defer text.Close()
	if _, err := io.Copy(w, text); err != nil {
		return failuref("%s: %w", l.Path, err)
	}
	return nil
}

// lastBytes is how much of the end of a log its last line is looked for in, and lastColumns how much of it is listed.
const (
	lastBytes   = 4 << 10
	lastColumns = 50
)

// lastLine returns the last line of a log, with what a terminal could obey left out.
func lastLine(l joblog.Log) (string, error) {
	f, err := os.Open(l.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	end := make([]byte, min(l.Bytes, lastBytes))
	if _, err := f.ReadAt(end, l.Bytes-int64(len(end))); err != nil {
		return "", fmt.Errorf("%s: %w", l.Path, err)
	}
	lines := strings.Split(strings.TrimSpace(string(end)), "\n")
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(lines[len(lines)-1], "\uFFFD"))
	if runes := []rune(plain); len(runes) > lastColumns {
		plain = string(runes[:lastColumns-1]) + "…"
	}
	return plain, nil
}
