package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/outlook"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

func recordCommand(a *app) *cobra.Command {
	return parent("record", "Read what a run left behind: figures, events, a page, and why a job waited",
		recordSummary(a), recordEvents(a), recordExport(a), recordReplay(a), recordDiff(a), recordExplain(a),
		recordFairness(a), recordServe(a), recordReport(a))
}

// withRecord opens the record that a command is about. One that was cut off is read as far as it goes, and that is
// said.
func withRecord(a *app, args []string, use func(*record.Reader) error) error {
	r, err := record.Open(args[0], run.Payload)
	if err != nil {
		return err
	}
	err = use(r)
	if d := (record.Defect{}); errors.As(err, &d) {
		fmt.Fprintf(a.Err, "%s", d.Stack)
		err = failuref("%w", err)
	}
	return mend(a, errors.Join(err, r.Close()))
}

// mend makes a remark of a record that ends early.
func mend(a *app, err error) error {
	if errors.Is(err, record.ErrCut) {
		fmt.Fprintf(a.Err, "sojourn: %v; what is shown is what is whole\n", err)
		return nil
	}
	return err
}

func recordSummary(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "summary RECORD",
		Short: "Print the figures of a recorded run",
		Args:  exactly(1, "one record"),
		RunE: func(_ *cobra.Command, args []string) error {
			return withRecord(a, args, func(r *record.Reader) error {
				options, err := run.Recorded(r.Header)
				if err != nil {
					return fmt.Errorf("read %s: %w", args[0], err)
				}
				res, err := record.Summarize(r, options)
				if err != nil && !errors.Is(err, record.ErrCut) {
					return err
				}
				if asJSON {
					return errors.Join(err, a.printJSON(res))
				}
				h := r.Header
				fmt.Fprintf(a.Out, "%s: engine %s, policy %s, workload %s, seed %d\n%s, %s, %s\n\n",
					args[0], h.Engine, h.Policy, h.Trace, h.Seed, spelling.Count(res.Jobs, "job"),
					spelling.Count(res.Tasks, "task"), spelling.Count(res.Events, "event"))
				compareResults(a.Out, []record.Result{res})
				if len(res.Utilization) > 0 {
					fmt.Fprint(a.Out, "  utilisation:")
					for _, k := range sortedKeys(res.Utilization) {
						fmt.Fprintf(a.Out, " %s %.1f %%", k, 100*res.Utilization[k])
					}
					fmt.Fprintln(a.Out)
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document on standard output")
	return c
}

func recordEvents(a *app) *cobra.Command {
	var o record.EventOptions
	var job, node int32
	c := &cobra.Command{
		Use:   "events RECORD",
		Short: "Print what happened and what was decided, a line each",
		Args:  exactly(1, "one record"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Job, o.Node = sched.JobID(job), sched.NodeID(node)
			return withRecord(a, args, func(r *record.Reader) error { return record.Events(a.Out, r, o) })
		},
	}
	f := c.Flags()
	f.Int32Var(&job, "job", 0, "only of this job")
	f.Int32Var(&node, "node", 0, "only on this node")
	f.StringSliceVar(&o.Kinds, "kind", nil, "only of these kinds, such as launch,attempt-done")
	f.DurationVar(&o.From, "from", 0, "only from this instant on")
	f.DurationVar(&o.Until, "until", 0, "only until this instant; 0: to the end")
	f.BoolVar(&o.JSON, "json", false, "a JSON object a line")
	completeFlag(c, "kind", record.Kinds()...)
	return c
}

func recordExport(a *app) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "export RECORD",
		Short: "Write the attempts of a run as CSV, JSON, or a Chrome trace that opens in Perfetto",
		Args:  exactly(1, "one record"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(record.Formats, format) {
				return usagef("--format %q: must be one of %s", format, strings.Join(record.Formats, ", "))
			}
			return withRecord(a, args, func(r *record.Reader) error { return record.Export(a.Out, r, format) })
		},
	}
	c.Flags().StringVar(&format, "format", "csv", "csv, json, chrome")
	completeFlag(c, "format", record.Formats...)
	return c
}

func recordReplay(a *app) *cobra.Command {
	var from time.Duration
	var asJSON bool
	c := &cobra.Command{
		Use:   "replay RECORD",
		Short: "Decide again from the recorded events, and compare with what was decided then",
		Args:  exactly(1, "one record"),
		RunE: func(_ *cobra.Command, args []string) error {
			return withRecord(a, args, func(r *record.Reader) error {
				done, err := record.Replay(r, sched.Time(from), a.names.Deciders)
				if err != nil && !errors.Is(err, record.ErrCut) {
					return err
				}
				if asJSON {
					err = errors.Join(err, a.printJSON(done))
				} else if done.Differs == nil {
					fmt.Fprintf(a.Out, "%s: %s, %s, %s: all decided as recorded\n", args[0],
						spelling.Count(done.Steps, "step"), spelling.Count(done.Events, "event"),
						spelling.Count(done.Actions, "action"))
				}
				if done.Differs != nil {
					return failuref("%s: decided otherwise than recorded: %v", args[0], done.Differs)
				}
				return err
			})
		},
	}
	c.Flags().DurationVar(&from, "from", 0, "only from the last snapshot on that is not after this instant")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document on standard output")
	return c
}

func recordDiff(a *app) *cobra.Command {
	var most int
	var asJSON bool
	c := &cobra.Command{
		Use:   "diff RECORD RECORD",
		Short: "Compare two runs: where they part, and each job's sojourn times",
		Args:  exactly(2, "two records"),
		RunE: func(_ *cobra.Command, args []string) error {
			return withRecord(a, args[:1], func(x *record.Reader) error {
				return withRecord(a, args[1:], func(y *record.Reader) error {
					d, err := record.Diff(x, y)
					if err != nil && !errors.Is(err, record.ErrCut) {
						return err
					}
					if asJSON {
						return errors.Join(err, a.printJSON(d))
					}
					printDiff(a, args, d, most)
					return err
				})
			})
		},
	}
	c.Flags().IntVar(&most, "jobs", 20, "show so many of the jobs that differ most; 0: all")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document on standard output")
	return c
}

func printDiff(a *app, names []string, d *record.Compared, most int) {
	for _, h := range d.Headers {
		fmt.Fprintln(a.Out, h)
	}
	if d.Parts == nil {
		fmt.Fprintln(a.Out, "the runs are alike")
		return
	}
	fmt.Fprintf(a.Out, "the runs part at %v\n\n", d.Parts)
	jobs := slices.Clone(d.Jobs)
	gap := func(j record.JobDifference) sched.Time { return max(j.A-j.B, j.B-j.A) }
	slices.SortStableFunc(jobs, func(x, y record.JobDifference) int { return cmp.Compare(gap(y), gap(x)) })
	if most > 0 && len(jobs) > most {
		jobs = jobs[:most]
	}
	t := newTable("JOB", "NAME", names[0], names[1], "CHANGE")
	text := func(s sched.Time) string {
		if s < 0 {
			return "unfinished"
		}
		return seconds(s)
	}
	for _, j := range jobs {
		moved := ""
		if j.A >= 0 && j.B >= 0 {
			moved = change(j.B.Seconds(), j.A.Seconds())
		}
		t.row(strconv.Itoa(int(j.ID)), j.Name, text(j.A), text(j.B), moved)
	}
	t.print(a.Out)
	fmt.Fprintf(a.Out, "\n  sojourn times in seconds; %d of %s, those that differ most\n", len(jobs),
		spelling.Count(len(d.Jobs), "job"))
}

func recordExplain(a *app) *cobra.Command {
	var at string
	var asJSON bool
	c := &cobra.Command{Use: "explain RECORD JOB --at T", Short: "Say why a job did not run, or did, at an instant",
		Example: "  sojourn record explain run.rec 17 --at 5m", Args: exactly(2, "a record and the ID of a job"),
		RunE: func(_ *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[1], 10, 32)
			if err != nil || id < 1 {
				return usagef(
					"job %q: must be the number of a job, from 1: 'sojourn record events %s --kind "+
						"job-submitted' lists them",
					args[1],
					args[0],
				)
			}
			t, err := workload.ParseTime(at)
			if err != nil {
				return usageError{fmt.Errorf("--at: %w", err)}
			}
			return withRecord(a, args[:1], func(r *record.Reader) error {
				x, err := record.Explain(r, record.Question{Job: sched.JobID(id), At: t}, a.names.Deciders)
				if err != nil && !errors.Is(err, record.ErrCut) {
					return err
				}
				if x.State == record.Unknown {
					return failuref("%s: job %d is not in it: %s", args[0], id, x.Note)
				}
				if asJSON {
					return errors.Join(err, a.printJSON(x))
				}
				printExplanation(a, x)
				return err
			})
		}}
	c.Flags().StringVar(&at, "at", "0s", "the instant, since the run began")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document on standard output")
	return c
}

// printExplanation says in words why a job was where it was.
func printExplanation(a *app, x *record.Explanation) {
	name := fmt.Sprintf("job %d", x.Job)
	if x.Name != "" {
		name += " (" + x.Name + ")"
	}
	at := sched.Time(x.At * 1e9)
	switch {
	case x.State == "ended":
		fmt.Fprintf(a.Out, "%s had ended at %v, before %v\n", name, sched.Time(x.Ended*1e9), at)
	case len(x.Stages) == 0 && x.Submitted > 0:
		fmt.Fprintf(a.Out, "%s at %v: %s; it was at %v\n", name, at, x.State, sched.Time(x.Submitted*1e9))
	case len(x.Stages) == 0:
		fmt.Fprintf(a.Out, "%s at %v: %s\n", name, at, x.State)
	default:
		fmt.Fprintf(a.Out, "%s at %v, submitted at %v:\n", name, at,
			sched.Time(x.Submitted*1e9).Round(time.Millisecond))
	}
	for _, st := range x.Stages {
		fmt.Fprintf(a.Out, "  %s (stage %d): %d wait, %d run, %d are done\n    %s", st.Kind, st.Stage, st.Waiting,
			st.Running, st.Done, st.Reason)
		if st.Detail != "" {
			fmt.Fprintf(a.Out, ": %s", st.Detail)
		}
		fmt.Fprintln(a.Out)
		if st.Wish != "" {
			fmt.Fprintf(a.Out, "    the policy's wish: %s\n", st.Wish)
		}
		if st.Ahead > 0 {
			fmt.Fprintf(a.Out, "    its place: %s\n", st.Words)
		}
		for _, b := range st.Before {
			fmt.Fprintf(a.Out, "    before it: job %d %s, stage %d: %s\n", b.Stage.Job, b.Name, b.Stage.Index, b.Words)
		}
		if more := st.Ahead - len(st.Before); more > 0 && len(st.Before) > 0 {
			fmt.Fprintf(a.Out, "    and %d more\n", more)
		}
		for _, h := range st.Holders {
			fmt.Fprintf(a.Out, "    has room: job %d %s, with %s\n", h.Job, h.Name,
				spelling.Count(h.Attempts, "attempt"))
		}
	}
	if x.Expected != nil {
		printExpectation(a, x.Expected)
	}
	if x.Note != "" {
		fmt.Fprintln(a.Out, x.Note)
	}
}

// printExpectation says when a job was expected to start and to end, and when it did.
func printExpectation(a *app, e *record.Expectation) {
	if e.Outlook.Unknown != "" {
		fmt.Fprintf(a.Out, "  its end is not foreseen: %s\n", e.Outlook.Unknown)
		return
	}
	for _, row := range []struct {
		what string
		span *outlook.Span
		came float64
	}{{"start", e.Outlook.Start, e.Began}, {"end", e.Outlook.End, e.Ended}} {
		if row.span == nil {
			continue
		}
		fmt.Fprintf(a.Out, "  expected to %s in %s s, nine times in ten in %s to %s s", row.what,
			figure(row.span.Median), figure(row.span.Low), figure(row.span.High))
		if took := row.came - e.Since; row.came > 0 {
			within := "within that"
			if took < row.span.Low || took > row.span.High {
				within = "outside that"
			}
			fmt.Fprintf(a.Out, "; it did after %s s, %s", figure(took), within)
		}
		fmt.Fprintln(a.Out)
	}
}
