package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/reproduce"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/spelling"
)

// reproduceFlags say with what a paper's claims are redone.
type reproduceFlags struct {
	output
	lab    paper.Lab
	folder string
	trials int
}

func reproduceCommand(a *app) *cobra.Command {
	var f reproduceFlags
	c := &cobra.Command{
		Use:   "reproduce [NAME]",
		Short: "Redo a paper's claims, and write docs/reproduction/NAME.md",
		Long: `Run the experiments of a paper again, each with several seeds, and print for every published claim what
came out beside it. The same stands, with pictures, on the page that is written. There are: ` + strings.Join(
			reproduce.Names(),
			", ",
		) + ".",
		Example: `  sojourn reproduce mrorder
  sojourn reproduce mrorder --trials 3 --output /tmp/pages      # a quick look
  sojourn reproduce gittins --trace FB-2009_samples_24_times_1hr_0.tsv`,
		Args: atMostOne, ValidArgsFunction: fixedCompletion(reproduce.Names()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listPapers(a, f.json)
			}
			return f.redo(cmd.Context(), a, args[0])
		},
	}
	f.output.register(c)
	fl := c.Flags()
	fl.StringVar(&f.lab.Trace, "trace", "", "Facebook's day of 2009 in SWIM's format "+
		"(FB-2009_samples_24_times_1hr_0.tsv), for what needs it")
	fl.StringVar(&f.lab.Trace2010, "trace-2010", "", "Facebook's day of 2010, likewise "+
		"(FB-2010_samples_24_times_1hr_0.tsv)")
	fl.StringVar(&f.folder, "output", filepath.Join("docs", "reproduction"), "folder for the page and its pictures")
	fl.StringVar(&f.lab.Scratch, "scratch", os.TempDir(), "folder for the data of real jobs, up to 2 GB, which is "+
		"removed at the end")
	fl.IntVar(&f.trials, "trials", 0, "trials an experiment at most; 0: as many as the page has")
	return c
}

// claimJSON is a row of a report.
type claimJSON struct {
	Part      string  `json:"part"`
	Where     string  `json:"where"`
	Claim     string  `json:"claim"`
	Unit      string  `json:"unit,omitempty"`
	Published string  `json:"published,omitempty"`
	Own       bool    `json:"own,omitempty"` // of this project, not published
	Trials    int     `json:"trials"`
	Median    float64 `json:"median"`
	Least     float64 `json:"least"`
	Greatest  float64 `json:"greatest"`
	Same      bool    `json:"same_direction"`
	Why       string  `json:"why,omitempty"`
}

func (f *reproduceFlags) redo(ctx context.Context, a *app, name string) (err error) {
	if err := f.output.check(); err != nil {
		return err
	}
	if f.trials < 0 {
		return usagef("--trials %d: must be 0 or more", f.trials)
	}
	p, err := reproduce.Find(name)
	if err != nil {
		return usageError{err}
	}
	page := filepath.Join(f.folder, name+".md")
	var lacking error
	if p.Needs != nil {
		lacking = p.Needs(f.lab)
	}
	if err := f.makeFolder(page, lacking); err != nil {
		return err
	}
	lab := f.lab
	if lab.Scratch, err = os.MkdirTemp(f.lab.Scratch, "sojourn-reproduce-"); err != nil {
		return fmt.Errorf("--scratch: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(lab.Scratch)) }()
	bar := newBar(&f.output, a.Err, "reproduce "+name, 0)
	report, err := paper.Redo(
		ctx,
		p,
		lab,
		paper.Options{Trials: f.trials, Progress: func(done, total int, about string) {
			bar.of(int64(total))
			bar.set(int64(done), fmt.Sprintf("%d of %s: %s", done, spelling.Count(total, "trial"), about))
		}},
	)
	bar.stop()
	if err != nil {
		return err
	}
	if lacking != nil {
		if err := f.tellLeft(a, report, name, lacking); err != nil {
			return err
		}
	}
	if err := report.Write(f.folder); err != nil {
		return failuref("%w", err)
	}
	if f.json {
		return a.printJSON(claimsOf(report))
	}
	printReport(a, report, page)
	return nil
}

// makeFolder makes the folder for the page, before minutes of work. lacking says what is missing for some parts of the
// paper; nil: nothing. If something is, a page that exists is refused, because it would lose those parts, and no folder
// is made yet.
func (f *reproduceFlags) makeFolder(page string, lacking error) error {
	if lacking == nil {
		if err := os.MkdirAll(f.folder, 0o777); err != nil {
			return fmt.Errorf("--output: %w", err)
		}
	} else if _, err := os.Stat(page); err == nil {
		return usagef("%s is there and would lose what cannot be run: %w. Give that, or another --output",
			page, lacking)
	}
	return nil
}

// tellLeft prints how many parts of a paper were not run for what is lacking. If none was run, that is an error.
func (f *reproduceFlags) tellLeft(a *app, report *paper.Report, name string, lacking error) error {
	left := 0
	for i := range report.Parts {
		if report.Parts[i].Missing != "" {
			left++
		}
	}
	if left == len(report.Parts) { // each part saw at once that it cannot be run
		return usagef("no part of %s can be run: %w", name, lacking)
	}
	if !f.quiet {
		fmt.Fprintf(a.Err, "sojourn: of %s of %s %d are not run: %v\n", spelling.Count(len(report.Parts), "part"), name,
			left, lacking)
	}
	return nil
}

// listPapers lists what can be redone.
func listPapers(a *app, asJSON bool) error {
	type paperJSON struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	}
	papers, list := reproduce.All(), []paperJSON{}
	t := newTable("NAME", "TITLE")
	for _, name := range reproduce.Names() {
		p := papers[name]
		list = append(list, paperJSON{name, p.Title})
		t.row(name, p.Title)
	}
	if asJSON {
		return a.printJSON(list)
	}
	t.print(a.Out)
	return nil
}

func claimsOf(r *paper.Report) (list []claimJSON) {
	for i := range r.Parts {
		for _, row := range r.Parts[i].Rows() {
			c := claimJSON{
				r.Parts[i].Title,
				row.Where,
				row.Says,
				row.Unit,
				row.PublishedText(),
				row.Own,
				row.Trials,
				row.Median,
				row.Low,
				row.High,
				row.Same(),
				"",
			}
			if row.Explained() {
				c.Why = row.Why
			}
			list = append(list, c)
		}
	}
	return list
}

// printReport prints the claims part by part, and why those differ that do.
func printReport(a *app, r *paper.Report, page string) {
	for i := range r.Parts {
		p := &r.Parts[i]
		fmt.Fprintf(a.Out, "%s\n\n", p.Title)
		if p.Missing != "" {
			fmt.Fprintf(a.Out, "not run: %s\n\n", p.Missing)
			continue
		}
		t, why := newTable("WHERE", "CLAIM", "PUBLISHED", "OURS", "VERDICT"), []string{}
		for _, row := range p.Rows() {
			t.row(row.Where, plain(row.Says), row.PublishedText(), row.OursText(), plain(row.Verdict()))
			if w := row.Where + ": " + row.Why; row.Explained() && !slices.Contains(why, w) {
				why = append(why, w)
			}
		}
		t.print(a.Out)
		for _, w := range why {
			fmt.Fprintf(a.Out, "\n  %s\n", plain(w))
		}
		fmt.Fprintln(a.Out)
	}
	fmt.Fprintf(a.Out, "written: %s\n", page)
}

// plain takes the marks of Markdown out of a text.
func plain(s string) string { return strings.NewReplacer("*", "", "`", "").Replace(s) }
