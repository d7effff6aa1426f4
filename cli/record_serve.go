package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/web"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// usualAddress is where pages are served unless another address is said: on this machine only.
const usualAddress = "localhost:8765"

func recordServe(a *app) *cobra.Command {
	address, at := usualAddress, ""
	c := &cobra.Command{
		Use:   "serve RECORD...",
		Short: "Show recorded runs in a browser, several side by side",
		Example: `  sojourn record serve run.rec
  sojourn record serve fifo.rec fair.rec --address :8765
  sojourn record serve run.rec --at 12h30m`,
		Args: atLeastOne("record"),
		RunE: func(cmd *cobra.Command, args []string) error {
			instant, err := workload.ParseTime(cmp.Or(at, "0s"))
			if err != nil {
				return usageError{fmt.Errorf("--at: %w", err)}
			}
			site, err := siteUntil(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			if at != "" {
				openAt(a, site, instant)
			}
			p, err := openPage(address)
			if err != nil {
				return err
			}
			a.remark("http://%s shows %s; Ctrl-C ends it", p.at, spelling.Count(len(args), "run"))
			return p.serve(cmd.Context(), site.Handler())
		},
	}
	c.Flags().StringVar(&address, "address", address, "where to listen; :8765 lets other machines read too")
	c.Flags().StringVar(&at, "at", "", "open the page at this instant since the run began, such as 12h30m; "+
		"without it: at the end")
	return c
}

// openAt makes a page open at an instant, and remarks on runs that had ended by then.
func openAt(a *app, site *web.Site, at sched.Time) {
	for _, r := range site.OpenAt(at) {
		end := sched.Time(r.Now * 1e9).Round(time.Millisecond)
		a.remark("%s ends at %v, before %v: the page shows its end", r.Name, end, at)
	}
}

func recordReport(a *app) *cobra.Command {
	var out string
	var overwrite bool
	c := &cobra.Command{
		Use:     "report RECORD... --output FILE.html",
		Short:   "Write recorded runs into one HTML file that needs nothing else",
		Example: `  sojourn record report fifo.rec fair.rec -o report.html`,
		Args:    atLeastOne("record"),
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usagef("--output is needed: a file, such as report.html")
			}
			report := flagFile{"--output", out}
			for _, path := range args {
				if sameFile(path, out) {
					return usagef("record %s and %s are one file: give the report another name", path, report)
				}
			}
			if err := (&leaving{overwrite: overwrite}).room(report); err != nil {
				return err
			}
			site, err := siteOf(a, args)
			if err != nil {
				return err
			}
			return writeReport(site, out)
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "file to write")
	c.Flags().BoolVar(&overwrite, "overwrite", false, "replace a file that exists")
	return c
}

// writeReport writes a report to a file, which appears when it is complete.
func writeReport(site *web.Site, path string) error {
	f, err := newDraft(path)
	if err != nil {
		return failuref("--output: %w", err)
	}
	defer f.Drop()
	buffered := bufio.NewWriter(f)
	if err := errors.Join(site.WriteReport(buffered), buffered.Flush()); err != nil {
		return failuref("--output: %w", err)
	}
	return keep(f)
}

// siteOf returns a site of recorded runs as far as their records go.
func siteOf(a *app, paths []string) (*web.Site, error) {
	return siteFollowing(a, paths, func(string) func() bool { return nil })
}

// looksAgain is how often a record that is still being written is looked at.
const looksAgain = 500 * time.Millisecond

// siteUntil returns a site of recorded runs. A record that has no end is followed until the context ends, as its run
// may go on.
func siteUntil(ctx context.Context, a *app, paths []string) (*web.Site, error) {
	return siteFollowing(a, paths, func(path string) func() bool {
		told := false
		return func() bool {
			if !told {
				told = true
				a.remark("%s has no end yet: what is added to it is shown", path)
			}
			select {
			case <-ctx.Done():
				return false
			case <-time.After(looksAgain):
				return true
			}
		}
	})
}

// siteFollowing returns a site of recorded runs when what is whole of each has been played. A record without an end
// goes on to be played while more returns true; nil: that is its end.
func siteFollowing(a *app, paths []string, more func(path string) func() bool) (*web.Site, error) {
	site := web.NewSite(nil)
	for _, path := range paths {
		r, err := record.Open(path, run.Payload)
		if err != nil {
			return nil, err
		}
		board, err := boardOf(a, r, path, more(path))
		if err != nil {
			return nil, err
		}
		site.Add(board)
	}
	return site, nil
}

// boardOf plays a record to a board, and closes it when that is over. It returns when what is whole has been played.
func boardOf(a *app, r *record.Reader, path string, more func() bool) (*web.Board, error) {
	h := r.Header
	options, err := run.Recorded(h)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), r.Close())
	}
	board := web.NewBoard(web.About{
		Name: path, Engine: h.Engine, Policy: h.Policy, Estimator: h.Estimator, Workload: h.Trace, Seed: h.Seed,
		Explain: explainFrom(a, path), Logs: path + logsSuffix,
	})
	board.Figure(options)
	_, estimator, err := a.names.Deciders(h)
	if err != nil { // a policy or an estimator of another program: what the jobs say of themselves has to do
		estimator = nil
	}
	played := make(chan error, 1)
	var once sync.Once
	tell := func(err error) { once.Do(func() { played <- err }) }
	go func() {
		on := func() bool {
			if more == nil {
				return false
			}
			tell(nil)
			return more()
		}
		err := errors.Join(record.PlayOn(r, estimator, on, board), r.Close())
		switch {
		case errors.Is(err, record.ErrCut):
			board.Finish("the record ends early")
			err = mend(a, err)
		case err != nil:
			board.Finish(err.Error())
		default:
			board.Finish("")
		}
		tell(err)
	}()
	return board, <-played
}

// explainFrom returns what asks a record why a job waited. It reads the record up to the instant, each time.
func explainFrom(a *app, path string) web.Explainer {
	return func(job sched.JobID, at sched.Time) (*record.Explanation, error) {
		r, err := record.Open(path, run.Payload)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return record.Explain(r, record.Question{Job: job, At: at}, a.names.Deciders)
	}
}

// A webPage listens for browsers.
type webPage struct {
	listener net.Listener
	at       string // where, as a browser on this machine would say it
}

func openPage(address string) (*webPage, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usagef("address %q: must be HOST:PORT or :PORT, such as %s", address, usualAddress)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, failuref("%w", err)
	}
	if host == "" {
		host = "localhost"
	}
	_, port, err = net.SplitHostPort(l.Addr().String())
	return &webPage{l, net.JoinHostPort(host, port)}, err
}

// slowest bounds how long a browser may take to send the head of a request.
const slowest = 10 * time.Second

// serve answers until the context ends.
func (p *webPage) serve(ctx context.Context, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: slowest,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
		return failuref("%w", err)
	}
	return nil
}
