package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/mr/jobs"
	"github.com/sojourn-sched/sojourn/policy"
)

// policiesCommand lists the policies, or prints the card of one.
func policiesCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:               "policies [NAME]",
		Short:             "List the policies, or say what one does, takes and needs",
		Args:              atMostOne,
		ValidArgsFunction: fixedCompletion(a.names.Policies.Names()),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listPolicies(a, asJSON)
			}
			e, ok := a.names.Policies[args[0]]
			if !ok {
				_, _, err := a.names.Policies.Parse(args[0])
				return err
			}
			if asJSON {
				return a.printJSON(cardOf(args[0], e.Card))
			}
			printCard(a, args[0], e.Card)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document on standard output")
	return c
}

// cardJSON is a policy's card as a JSON document.
type cardJSON struct {
	Name   string      `json:"name"`
	Title  string      `json:"title"`
	Source string      `json:"source"`
	Spec   string      `json:"spec,omitempty"`
	Wraps  bool        `json:"wraps,omitempty"`
	Needs  []string    `json:"needs,omitempty"`
	Params []paramJSON `json:"params,omitempty"`
	Memory []string    `json:"memory,omitempty"`
	Claims []string    `json:"claims,omitempty"`
}

type paramJSON struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Range   string `json:"range"`
	Meaning string `json:"meaning"`
}

func cardOf(name string, c policy.Card) cardJSON {
	j := cardJSON{
		Name:   name,
		Title:  c.Title,
		Source: c.Source,
		Spec:   c.Spec,
		Wraps:  c.Wraps,
		Needs:  run.PowerNames(c.Needs),
		Memory: c.Memory,
	}
	for _, p := range c.Params {
		j.Params = append(j.Params, paramJSON{p.Name, p.Default, p.Range(), p.Meaning})
	}
	for _, claim := range c.Claims {
		j.Claims = append(j.Claims, claim.String())
	}
	return j
}

func listPolicies(a *app, asJSON bool) error {
	if asJSON {
		var all []cardJSON
		for _, name := range a.names.Policies.Names() {
			all = append(all, cardOf(name, a.names.Policies[name].Card))
		}
		return a.printJSON(all)
	}
	t := newTable("POLICY", "WHAT IT DOES")
	for _, name := range a.names.Policies.Names() {
		e := a.names.Policies[name]
		if e.Card.Wraps {
			name += "{inner}"
		}
		t.row(name, e.Card.Title)
	}
	t.print(a.Out)
	fmt.Fprintln(a.Out, "\n'sojourn policies NAME' shows parameters and sources.")
	return nil
}

func printCard(a *app, name string, c policy.Card) {
	fmt.Fprintf(a.Out, "%s: %s\nsource: %s\n", name, c.Title, c.Source)
	if c.Spec != "" {
		fmt.Fprintf(a.Out, "defined in: %s\n", c.Spec)
	}
	if needs := run.PowerNames(c.Needs); len(needs) > 0 {
		fmt.Fprintf(a.Out, "needs an engine that can: %v\n", needs)
	}
	if len(c.Params) > 0 {
		fmt.Fprintln(a.Out)
		t := newTable("PARAMETER", "DEFAULT", "RANGE", "MEANING")
		for _, p := range c.Params {
			t.row(p.Name, p.Default, p.Range(), p.Meaning)
		}
		t.print(a.Out)
	}
	for _, m := range c.Memory {
		fmt.Fprintf(a.Out, "remembers: %s\n", m)
	}
	for _, claim := range c.Claims {
		fmt.Fprintf(a.Out, "claims: %s\n", claim)
	}
}

// jobsCommand lists the MapReduce jobs, or shows one.
func jobsCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:               "jobs [NAME]",
		Short:             "List the built-in MapReduce jobs, or say what one reads and takes",
		Args:              atMostOne,
		ValidArgsFunction: fixedCompletion(sortedKeys(a.jobs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listJobs(a, asJSON)
			}
			e, err := jobNamed(a, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(jobOf(args[0], e))
			}
			fmt.Fprintf(a.Out, "%s: %s\nreads: %s\n", args[0], e.About, e.Input)
			if len(e.Params) > 0 {
				fmt.Fprintln(a.Out)
				t := newTable("-D KEY", "DEFAULT", "MEANING")
				for _, p := range e.Params {
					t.row(p.Name, p.Default, p.About)
				}
				t.print(a.Out)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document on standard output")
	return c
}

type jobJSON struct {
	Name   string    `json:"name"`
	About  string    `json:"about"`
	Input  string    `json:"input"`
	Params []keyJSON `json:"params,omitempty"`
}

type keyJSON struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Meaning string `json:"meaning"`
}

func jobOf(name string, e jobs.Entry) jobJSON {
	j := jobJSON{Name: name, About: e.About, Input: e.Input}
	for _, p := range e.Params {
		j.Params = append(j.Params, keyJSON{p.Name, p.Default, p.About})
	}
	return j
}

func listJobs(a *app, asJSON bool) error {
	if asJSON {
		var all []jobJSON
		for _, name := range sortedKeys(a.jobs) {
			all = append(all, jobOf(name, a.jobs[name]))
		}
		return a.printJSON(all)
	}
	t := newTable("JOB", "WHAT IT COMPUTES", "READS")
	for _, name := range sortedKeys(a.jobs) {
		t.row(name, a.jobs[name].About, a.jobs[name].Input)
	}
	t.print(a.Out)
	return nil
}

func jobNamed(a *app, name string) (jobs.Entry, error) {
	e, ok := a.jobs[name]
	if !ok {
		return e, usagef("no job is named %q: there are %s", name, strings.Join(sortedKeys(a.jobs), ", "))
	}
	return e, nil
}
