package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/web"
)

// A livePage shows runs in a browser while they go. The zero value, without an address, shows nothing.
type livePage struct {
	address string
	site    *web.Site
	records string // folder of records that nothing else keeps, from which reasons are found
	runs    int
}

func (l *livePage) register(c *cobra.Command) {
	c.Flags().StringVar(&l.address, "web", "", "show the runs in a browser while they go, and then until Ctrl-C; "+
		"such as "+usualAddress)
}

// during serves the page while work goes on, and after it until the context ends.
func (l *livePage) during(ctx context.Context, a *app, work func() error) (err error) {
	if l.address == "" {
		return work()
	}
	page, err := openPage(l.address)
	if err != nil {
		return err
	}
	l.site = web.NewSite(nil)
	if l.records, err = os.MkdirTemp("", "sojourn-web-"); err != nil {
		return failuref("--web: %w", errors.Join(err, page.listener.Close()))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(l.records)) }()
	a.remark("http://%s shows the runs", page.at)
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- page.serve(serving, l.site.Handler()) }()
	if err := work(); err != nil {
		stop()
		return errors.Join(err, <-ended)
	}
	a.remark("http://%s goes on to show what was run; Ctrl-C ends it", page.at)
	return <-ended
}

// watch adds a run to the page before it begins. The caller calls what it returns when the run is over.
// What programs write to standard error stands in the folder logs; "": nowhere.
func (l *livePage) watch(a *app, s *run.Setup, engine run.Engine, logs string) (over func(error)) {
	if l.site == nil {
		return func(error) {}
	}
	if s.Record == "" {
		l.runs++
		s.Record = filepath.Join(l.records, fmt.Sprintf("%d.rec", l.runs))
	}
	board := web.NewBoard(web.About{Name: s.Choice.Policy, Engine: engine.Name, Policy: s.Choice.Policy,
		Estimator: s.Choice.Estimator, Workload: s.Workload, Seed: s.Seed, Explain: explainFrom(a, s.Record),
		Logs: logs})
	s.Watch = append(s.Watch, board)
	l.site.Add(board)
	return func(err error) {
		why := ""
		if err != nil {
			why = err.Error()
		}
		board.Finish(why)
	}
}
