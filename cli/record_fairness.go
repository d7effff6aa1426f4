package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/theory"
)

func recordFairness(a *app) *cobra.Command {
	var asJSON, users bool
	c := &cobra.Command{
		Use:   "fairness RECORD...",
		Short: "Print what each queue used, lent and borrowed, in units of a resource times seconds",
		Long: `Print, for each kind of resource of the cluster, what each queue had as its share by weight, what it
used, what it lent to others and what it borrowed from them. The sums of lent and borrowed are equal. BENEFIT is what
a queue used over what it would have used of a partition of its own: below 1 it lost by sharing. Amounts are of MiB,
cores or slots, times seconds; --json has them to the nanosecond. Of several records, such as those of runs with one
--state, the statement is of all together.`,
		Example: "  sojourn record fairness run.rec --users\n  sojourn record fairness monday.rec tuesday.rec",
		Args:    atLeastOne("record"),
		RunE: func(_ *cobra.Command, args []string) error {
			loans := &record.Loans{}
			for i := range args {
				err := withRecord(a, args[i:], func(r *record.Reader) error { return record.Play(r, loans) })
				if err != nil {
					return err
				}
				loans.Resume()
			}
			kinds := loans.Fairness()
			if asJSON {
				return a.printJSON(kinds)
			}
			for i := range kinds {
				printFairness(a, &kinds[i], users)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document on standard output")
	c.Flags().BoolVar(&users, "users", false, "a line for each user of a queue as well")
	return c
}

// amount is a number of unit·seconds as a reader needs it: whole where it is large.
func amount(u theory.UnitTime) string {
	s := u.Seconds()
	if math.Abs(s) < 1000 {
		s = math.Round(s*1000) / 1000
		return strconv.FormatFloat(s, 'f', -1, 64)
	}
	return strconv.FormatFloat(s, 'f', 0, 64)
}

// printFairness prints the statement of one kind of resource.
func printFairness(a *app, k *record.KindFairness, users bool) {
	header := []string{"QUEUE", "SHARE", "USED", "LENT", "BORROWED", "BALANCE", "BENEFIT"}
	lines := k.Queues
	if users {
		header, lines = append([]string{"QUEUE", "USER"}, header[1:]...), k.Users
	}
	t := newTable(header...)
	for i := range lines {
		s := &lines[i]
		cells := []string{s.Queue}
		if users {
			cells = append(cells, s.User)
		}
		for _, u := range []theory.UnitTime{s.Share, s.Used, s.Lent, s.Borrowed, s.Balance()} {
			cells = append(cells, amount(u))
		}
		t.row(append(cells, strconv.FormatFloat(s.Benefit, 'f', 3, 64))...)
	}
	fmt.Fprintf(a.Out, "%s, unit × seconds\n", k.Kind)
	t.print(a.Out)
	fmt.Fprintf(a.Out, "\n  lent and borrowed by queues: %v; benefit of sharing Ψ %.3f, loss Ω %.3f\n\n", k.Lent,
		k.Gain, k.Loss)
}
