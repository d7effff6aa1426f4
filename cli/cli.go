// Package cli is the command line: one verb a file. It wires packages together, holds flags and prints; it decides
// nothing.
//
// A verb is in the file of its name, a verb below it too (record_serve.go, rm_takeover.go, run_logs.go); policies and
// jobs are in catalogue.go. Parts of sim and run that repeat or compare are in simseeds.go, simcheck.go and
// runrepeats.go. Verbs share the rest:
//
//	flags     flags.go, policyflags.go, source.go (which jobs), terms.go (deadlines and goals), availability.go,
//	          machine.go, queues.go, args.go (words that are no flags), completion.go
//	endings   interrupted.go (what an interrupted command leaves)
//	files     files.go (what a run leaves, and what would destroy it), plots.go
//	printing  report.go, compare.go, table.go; progress.go and narrate.go while work goes on; live.go and rm_page.go
//	          in a browser
//	options   registry.go: what a program adds
//
// A program of your own with a job or a policy of yours in it is three lines; cmd/sojourn is the same without
// additions:
//
//	func main() {
//		cli.Main(cli.With(cli.Job{Name: "mine", Entry: myJob}, cli.Policy{Name: "mine", Entry: myPolicy}))
//	}
package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/mr/jobs"
)

// Exit statuses, as the command line promises them.
const (
	statusOK          = 0
	statusFailed      = 1 // the work failed: a job did, or results differ
	statusUsage       = 2 // wrong usage, configuration or input
	statusInterrupted = 130
)

// Main runs the program's command line and exits.
func Main(options ...Option) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	os.Exit(Run(ctx, Streams{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:], options...))
}

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs one command and returns its exit status. Results go to Out, everything else to Err.
func Run(ctx context.Context, streams Streams, args []string, options ...Option) int {
	out := &checked{to: streams.Out}
	streams.Out = out
	a := newApp(streams, options)
	root := command(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if out.err != nil {
		err = failuref("write to standard output: %w", out.err)
	}
	if err == nil {
		return statusOK
	}
	status := statusOf(ctx, err)
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON && !a.printed {
		_ = json.NewEncoder(a.Out).Encode(map[string]string{"error": err.Error()})
	}
	if status == statusInterrupted {
		sayInterrupted(a.Err, cmd.CommandPath(), err)
		return status
	}
	fmt.Fprintf(a.Err, "sojourn: %v\n", err)
	if status == statusUsage && errors.As(err, new(usageError)) {
		fmt.Fprintf(a.Err, "Try '%s --help'.\n", cmd.CommandPath())
	}
	return status
}

// A checked writer remembers the first error of writing, which a full disk gives and a table would not mention.
type checked struct {
	to  io.Writer
	err error
}

func (c *checked) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}

// app is one command's surroundings.
type app struct {
	Streams
	names   run.Names // policies and estimators
	jobs    map[string]jobs.Entry
	printed bool // a JSON document is on Out already
	quiet   bool // print results and errors only
}

func newApp(s Streams, options []Option) *app {
	b := run.BuiltIn
	a := &app{
		Streams: s,
		names:   run.Names{Policies: maps.Clone(b.Policies), Estimators: maps.Clone(b.Estimators)},
		jobs:    maps.Clone(jobs.All),
	}
	for _, o := range options {
		o(a)
	}
	return a
}

// Command returns the command line, for programs that write its documentation or put it below another command. Run is
// the way to run it: it gives exit statuses and messages.
func Command(s Streams, options ...Option) *cobra.Command { return command(newApp(s, options)) }

// A usageError is an error in the words of a command: the reader is pointed to --help.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// failuref returns an error of the work, not of what was asked for: exit status 1.
func failuref(format string, args ...any) error { return run.Failuref(format, args...) }

func statusOf(ctx context.Context, err error) int {
	switch {
	case errors.As(err, new(run.Loss)):
		return statusFailed
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return statusInterrupted
	case errors.As(err, new(run.Failure)), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT),
		errors.Is(err, syscall.EIO):
		return statusFailed
	}
	return statusUsage
}

func command(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "sojourn",
		Version:       version(),
		Short:         "Schedule MapReduce-style batch work: simulate it, run it here, run it on a cluster",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          onlyChildren,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetVersionTemplate(versionLine() + "\n")
	root.PersistentFlags().BoolP("quiet", "q", false, "results and errors only")
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) { a.quiet, _ = cmd.Flags().GetBool("quiet") }
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{flagError(err)} })
	root.AddCommand(runCommand(a), submitCommand(a), simCommand(a), experimentCommand(a), fluidCommand(a),
		workloadCommand(a),
		recordCommand(a), rmCommand(a), modelCommand(a), reproduceCommand(a), policiesCommand(a), jobsCommand(a),
		generateCommand(a), versionCommand(a), taskCommand(a))
	root.SetHelpCommand(helpCommand(root))
	root.SetHelpFunc(a.help)
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.RunE = onlyChildren
	}
	return root
}

// helpCommand shows the help of a command, and refuses what is none.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND]", Short: "Show the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("unknown command %q", strings.Join(args, " "))
			}
			return c.Help()
		}}
}

// help prints what a command does and how it is used. On a terminal it folds what is wider.
func (a *app) help(c *cobra.Command, _ []string) {
	help := strings.TrimSpace(cmp.Or(c.Long, c.Short)) + "\n\n" + c.UsageString()
	if wide := terminalWidth(a.Out); wide > 0 {
		help = foldedHelp(help, wide-1)
	}
	_, _ = io.WriteString(a.Out, help)
}

// A described line has the name of a flag or of a command, and what it is after at least two spaces.
var described = regexp.MustCompile(`^( +\S.*?  +)(\S.*)$`)

// leastFolded is the least room for a description, below which a line is left as it is.
const leastFolded = 20

// foldedHelp breaks lines between words where they are wider than wide columns. A description goes on below its
// beginning. Other lines that begin with a space are examples, and keep their form.
func foldedHelp(help string, wide int) string {
	var lines []string
	for line := range strings.SplitSeq(help, "\n") {
		prose := line != "" && line[0] != ' '
		if k := len(lines) - 1; prose && k >= 0 && lines[k] != "" && lines[k][0] != ' ' {
			lines[k] += " " + line // of one paragraph
		} else {
			lines = append(lines, line)
		}
	}
	for i, line := range lines {
		head, rest := "", line
		if m := described.FindStringSubmatch(line); m != nil {
			head, rest = m[1], m[2]
		} else if strings.HasPrefix(line, " ") {
			continue
		}
		if room := wide - len(head); len(line) > wide && room >= leastFolded {
			var folded strings.Builder
			for line := range strings.Lines(text.WrapSoft(rest, room)) { // which fills lines with spaces
				folded.WriteString(strings.TrimRight(line, " \n") + "\n" + strings.Repeat(" ", len(head)))
			}
			lines[i] = head + strings.TrimRight(folded.String(), " \n")
		}
	}
	return strings.Join(lines, "\n")
}

// remark prints a sentence that is neither a result nor an error, unless the user wants neither.
func (a *app) remark(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.Err, "sojourn: "+format+"\n", args...)
	}
}

// onlyChildren refuses words that are none of a command's children, and shows its help where there are none.
func onlyChildren(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown command %q%s", args[0], suggestion(cmd, args[0]))
	}
	return cmd.Help()
}

// flagError says of a value that its flag cannot take what would be right, where the library says which of its
// functions failed.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	right, ok := map[string]string{
		"bool":         "true or false",
		"uint64":       "a whole number, 0 or more",
		"int":          "a whole number",
		"int32":        "a whole number",
		"int64":        "a whole number",
		"float64":      "a number",
		"float64Slice": "numbers with commas between them",
		"duration":     "a time, such as 500ms, 90s or 5m",
	}[invalid.GetFlag().Value.Type()]
	switch {
	case !ok:
		return err
	case errors.Is(err, strconv.ErrRange):
		right += ", and not as far from 0"
	}
	return fmt.Errorf("--%s %s: must be %s", invalid.GetFlag().Name, invalid.GetValue(), right)
}

func suggestion(cmd *cobra.Command, word string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return fmt.Sprintf(": did you mean %q?", near[0])
	}
	return ""
}

// parent is a command that only has others below it.
func parent(use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, RunE: onlyChildren}
	c.AddCommand(children...)
	return c
}

// printJSON writes the one JSON document of a command.
func (a *app) printJSON(v any) error {
	a.printed = true
	enc := json.NewEncoder(a.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
