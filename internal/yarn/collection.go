package yarn

import (
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// A collection has what nodes report of how far they are with collecting the logs of an application.
type collection struct {
	// by node that ran containers of the application and is remembered; nil: the time of the nodes is over
	at     map[*node]wire.LogStatus
	nodes  int32                       // that ran containers of it, those included that were forgotten
	counts [wire.LogsFailing + 1]int32 // of nodes, by their last status
	waits  aged                        // for what nodes say, since the end of the application
}

// set sets the status of a node.
func (c *collection) set(n *node, s wire.LogStatus) {
	c.counts[c.at[n]]--
	c.at[n] = s
	c.counts[s]++
}

// status returns the status of the whole collection, as Hadoop derives it from the nodes' own. over: the application
// has ended.
func (c *collection) status(over bool) wire.LogStatus {
	count, all := &c.counts, c.nodes
	failed := count[wire.LogsFailed] + count[wire.LogsTimedOut] + count[wire.LogsFailing]
	final := count[wire.LogsSucceeded] + count[wire.LogsFailed] + count[wire.LogsTimedOut]
	switch {
	case all == count[wire.LogsNotStarted]:
		return wire.LogsNotStarted
	case all == count[wire.LogsDisabled]:
		return wire.LogsDisabled
	case !over || final+count[wire.LogsDisabled] < all:
		if failed > 0 {
			return wire.LogsFailing
		}
		return wire.LogsRunning
	case failed == 0:
		return wire.LogsSucceeded
	case count[wire.LogsFailed] > 0:
		return wire.LogsFailed
	}
	return wire.LogsTimedOut
}

// collectionTimeout is how long after the end of an application its nodes may take to collect its logs. What they say
// later does not count, as in Hadoop, and by which node it was said is forgotten.
const collectionTimeout = 10 * time.Minute

// expired is called when collectionTimeout is over.
func (c *collection) expired() { c.at = nil }

// collects adds a node to those that will collect logs of an application, because it has run a container of it.
func collects(app *application, n *node) {
	if !app.m.config.Shown.Collects {
		return
	}
	c := app.m.apps.logs[app.id]
	if c == nil {
		c = &collection{at: map[*node]wire.LogStatus{}}
		app.m.apps.logs[app.id] = c
		if app.over {
			collectsUntil(app)
		}
	}
	if c.at != nil && c.at[n] == 0 {
		c.at[n] = wire.LogsNotStarted
		c.counts[wire.LogsNotStarted]++
		c.nodes++
	}
}

// collectsUntil starts the time in which the nodes of an application that is over may report on its logs.
func collectsUntil(app *application) {
	if c := app.m.apps.logs[app.id]; c != nil {
		app.m.live.collecting.watch(&c.waits, app.m.now, c)
	}
}

// forgetLogs forgets what nodes said of the logs of an application.
func (t *appTable) forgetLogs(app *application) {
	if c := t.logs[app.id]; c != nil {
		c.waits.leave()
		delete(t.logs, app.id)
	}
}

// collected handles a node's reports of how far it is with the logs of applications.
func (n *node) collected(list []wire.LogReport) {
	for _, r := range list {
		app := n.m.apps.byID[r.App]
		if app == nil || r.Status < wire.LogsDisabled || r.Status > wire.LogsFailing {
			continue
		}
		collects(app, n) // also where it ran in an earlier life
		if c := n.m.apps.logs[r.App]; c != nil && c.at != nil {
			c.set(n, r.Status)
		}
	}
}

// logsOf returns how far the collection of an application's logs has come.
func logsOf(app *application) wire.LogStatus {
	if !app.m.config.Shown.Collects {
		return wire.LogsDisabled
	}
	c := app.m.apps.logs[app.id]
	if c == nil {
		return wire.LogsNotStarted
	}
	s := c.status(app.over)
	late := app.over && app.m.millis()-app.times.finished > collectionTimeout.Milliseconds()
	if late && (s == wire.LogsNotStarted || s == wire.LogsRunning || s == wire.LogsFailing) {
		return wire.LogsTimedOut
	}
	return s
}
