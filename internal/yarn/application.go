package yarn

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// newApplication adds the application that user submits to queue by s.
func newApplication(m *manager, user, queue string, s *wire.Submission) *application {
	app := &application{
		m:          m,
		id:         s.ID,
		user:       user,
		queue:      queue,
		submission: *s,
		state:      wire.AppAccepted,
		asks:       newAskTable(),
		nodes:      map[*node]bool{},
		times:      times{started: m.millis()},
	}
	app.access, _ = accessOf(s.Launch.ACLs())
	m.apps.add(app)
	if ids := &m.apps.ids; s.ID.Timestamp == ids.timestamp {
		ids.taken.add(app.id.ID)
	}
	app.save()
	app.submission.Priority = m.priority(s.Priority)
	app.submission.Name, app.submission.Type = cut(s.Name, mostTitle), cut(s.Type, mostType)
	hints, wrong := readHints(s.Tags)
	if len(wrong) > 0 {
		m.log.Warn("hint not understood", "application", app.id.String(), "why", wrong[0], "more", len(wrong)-1)
	}
	app.hints = hints
	if s.Lifetime > 0 && s.Lifetime < mostLifetime {
		app.expire(m.now.Add(time.Duration(s.Lifetime) * time.Second))
	}
	tasks := int32(1)
	if s.Unmanaged {
		tasks = 0
	}
	size, _ := s.MasterResource()
	spec := app.spec(tasks, m.config.Sizes.normal(size))
	// The core must know where a master may be started before it starts one.
	spec.Stages[0].Asked = m.live.shunned.count > 0 || app.near() != nil
	m.note(sched.Event{Kind: sched.JobSubmitted, Job: app.job, Body: spec})
	if spec.Stages[0].Asked {
		m.step()
		app.noteMaster()
	}
	m.log.Info(
		"application submitted",
		"application",
		app.id.String(),
		"user",
		user,
		"name",
		app.submission.Name,
		"type",
		app.submission.Type,
		"queue",
		app.queue,
	)
	return app
}

// mostLifetime is the longest lifetime, in s. An application with a longer one has no limit.
const mostLifetime = 100 * 365 * 24 * 3600

// spec returns the description of the application for the core, with one stage: its masters. Further stages follow when
// it asks for containers.
func (app *application) spec(masters int32, size wire.Resource) *sched.JobSpec {
	s := &app.submission
	spec := &sched.JobSpec{
		Name:     s.Name,
		User:     app.user,
		Queue:    app.queue,
		Type:     s.Type,
		Priority: int32(s.Priority),
		Submit:   app.m.at(),
		Open:     true,
		Stages: []sched.StageSpec{
			{
				Kind:        sched.Master,
				PerTask:     app.m.config.Sizes.amount(size),
				Tasks:       masters,
				MaxAttempts: app.countedAttempts(),
				Prior:       app.hints.prior(0, masters),
			},
		},
	}
	said := &app.hints.terms
	spec.Deadline, spec.Goal, spec.Profile, spec.Delays = said.Deadline, said.Goal, said.Profile, said.Delays
	return spec
}

// grant makes a container of launch a of the core: the ApplicationMaster's, which begins an attempt of the application,
// or one that the ApplicationMaster asked for.
func (app *application) grant(a *sched.Action) {
	m := app.m
	if app.over || a.Stage.Index > 0 && app.current().ended() { // ended by what was done for an action before this one
		m.note(
			sched.Event{Kind: sched.AttemptDone, Outcome: sched.Killed, Attempt: a.Attempt, Node: a.Node, Job: app.job},
		)
		return
	}
	n := m.nodes.list[a.Node-1]
	c := &container{m: m, lease: a.Attempt, node: n, created: m.millis(),
		resource: m.config.Sizes.size(m.core.Amount(a.Shape))}
	if a.Stage.Index == 0 {
		c.attempt = app.begin()
		c.attempt.master = c
		c.group = -1
	} else {
		key := app.asks.stages[a.Stage.Index]
		if key.grows != 0 {
			grown(app, a, key.groupKey)
			return
		}
		c.attempt, c.priority, c.group = app.current(), key.priority, key.allocation
		app.asks.placed(app.asks.groups[key.groupKey], n)
	}
	c.attempt.sequence++
	c.id = wire.ContainerID{Attempt: c.attempt.id, ID: m.life.epoch<<wire.EpochShift | c.attempt.sequence}
	m.leases.put(c)
	m.nodes.containers++
	n.hold(c)
	c.attempt.containers.put(c)
	m.count.granted++
	n.serve(app)
	collects(app, n)
	if c.isMaster() {
		c.attempt.launch()
	} else {
		c.notice = unheard
		c.attempt.dues.granted.add(c)
	}
}

// exhausted ends the application as failed: its ApplicationMaster has failed once too often.
func (app *application) exhausted() {
	why := "its ApplicationMaster failed"
	if a := app.current(); a != nil && a.diagnostics != "" {
		why = a.diagnostics
	}
	times := fmt.Sprintf("%d times", len(app.attempts))
	if within := app.submission.Validity; within > 0 {
		times = fmt.Sprintf("%d times in previous %d milliseconds", app.failures(), within)
	}
	why = fmt.Sprintf("Application %s failed %s due to %s. Failing the application.", app.id, times, why)
	app.end(wire.AppFailed, outcome{wire.Failed, why})
}

// kill ends the application as killed. It does nothing if the ApplicationMaster has said that the application is over,
// as in Hadoop: what was reported as FINISHED stays that.
func kill(app *application, why string) {
	if app.state != wire.AppFinished {
		app.end(wire.AppKilled, outcome{wire.Killed, why})
	}
}

// end ends the application: its containers are ended, and the nodes that had a container of it are told.
func (app *application) end(state wire.AppState, o outcome) {
	if app.over {
		return
	}
	m := app.m
	app.over, app.state, app.times.finished = true, state, m.millis()
	m.live.off(app.lifetime.alarm)
	if app.shunned != nil { // its nodes may be forgotten
		m.apps.wary--
	}
	if app.outcome.final == wire.Undefined {
		app.outcome = o
	}
	if j := m.core.Job(app.job); j != nil {
		app.used = m.core.Service(j, max(m.at(), m.core.Now))
		if !j.Ended {
			m.note(sched.Event{Kind: sched.JobEnded, Job: app.job, Outcome: jobOutcome(state, app.outcome.final)})
		}
	}
	if a := app.current(); a != nil {
		a.finish(attemptStates[state], app.outcome.diagnostics)
	}
	for n := range app.nodes {
		n.apps = append(n.apps, app.id)
		n.farewell.needed--
	}
	clear(app.nodes)
	m.finds.forget(app)
	m.apps.letGo(app)
	collectsUntil(app)
	app.save()
	m.log.Info(
		"application ended",
		"application",
		app.id.String(),
		"state",
		state.String(),
		"attempts",
		len(app.attempts),
		"diagnostics",
		cut(app.outcome.diagnostics, mostLogged),
	)
	d := deed{user: app.user, operation: finishOperations[state], target: targetManager, app: app.id.String()}
	var why error
	if state == wire.AppFailed { // a kill is a success in the audit log, as in Hadoop's
		why = errors.New(app.outcome.diagnostics)
	}
	m.log.audit(d, why)
	m.apps.gone++
	m.apps.trim(m.config.Completed)
}

// attemptStates are the states that the last attempt of an application gets when the application ends in a state.
var attemptStates = map[wire.AppState]wire.AttemptState{
	wire.AppFinished: wire.AttemptFinished, wire.AppFailed: wire.AttemptFailed, wire.AppKilled: wire.AttemptKilled,
}

// jobOutcome returns the outcome, for the core, of an application that ends in a state and has a final status.
func jobOutcome(state wire.AppState, final wire.FinalStatus) sched.Outcome {
	switch {
	case state == wire.AppKilled || final == wire.Killed:
		return sched.Killed
	case state == wire.AppFailed || final == wire.Failed:
		return sched.Failed
	}
	return sched.OK
}

// typeOf returns the application's type: YARN if its submission names none, as in Hadoop.
func typeOf(app *application) string { return cmp.Or(app.submission.Type, "YARN") }

// report returns the application's report for clients.
func (app *application) report() wire.ApplicationReport {
	r := wire.ApplicationReport{
		ID:          app.id,
		User:        app.user,
		Queue:       "root." + app.queue,
		Name:        app.submission.Name,
		Type:        typeOf(app),
		State:       app.state,
		Final:       app.outcome.final,
		Diagnostics: app.outcome.diagnostics,
		Start:       app.times.started,
		Finish:      app.times.finished,
		Launched:    app.times.launched,
		Attempt:     wire.AttemptID{App: app.id, Attempt: -1},
		Progress:    app.progress,
		Tags:        app.submission.Tags,
		Priority:    app.submission.Priority,
		Unmanaged:   app.submission.Unmanaged,
		Master:      addressOf(app, app.current()),
		Usage:       usageOf(app),
	}
	if a := app.current(); a != nil {
		r.Attempt, r.Logs = a.id, logsOf(app)
	}
	if !app.lifetime.ends.IsZero() {
		r.Lifetime = wire.Lifetime{Expires: app.expiry(), Left: max(0, app.lifetime.ends.Unix()-app.m.now.Unix())}
	}
	if r.Diagnostics == "" {
		r.Diagnostics = waitsFor(app)
	}
	if app.over {
		reportEnd(app, &r)
	}
	return r
}

// addressOf returns the addresses of the ApplicationMaster of an attempt of app, as far as it has said them. a may be
// nil.
func addressOf(app *application, a *attempt) wire.MasterAddress {
	at := wire.MasterAddress{
		Host:     wire.NotAvailable,
		Port:     -1,
		Tracking: app.m.proxied(app.id),
		Original: wire.NotAvailable,
	}
	if a != nil && a.address.Host != "" {
		at.Host, at.Port = a.address.Host, a.address.Port
	}
	if a != nil && a.address.Original != "" {
		at.Original = a.address.Original
	}
	return at
}

// waitsFor says, in Hadoop's words, what the application waits for until its ApplicationMaster registers; "": nothing.
func waitsFor(app *application) string {
	m := app.m
	if a := app.current(); a != nil && launchWords[a.state] != "" {
		return launchWords[a.state]
	}
	if !app.starting() {
		return ""
	}
	size, _ := app.submission.MasterResource()
	size = m.config.Sizes.normal(size)
	why := "It waits for resources for its ApplicationMaster."
	if m.nodes.up == 0 {
		why = "Skipping AM assignment as cluster resource is empty."
	}
	return fmt.Sprintf("Application is added to the scheduler and is not yet activated. %s  Details : "+
		"AM Resource Request = <memory:%d, vCores:%d>; Queue = root.%s; Available = <memory:%d, vCores:%d>; ",
		why, size.Memory, size.VCores, app.queue,
		m.core.Capacity[sched.Memory]-m.core.Queues[0].Used[sched.Memory],
		m.core.Capacity[sched.VCores]-m.core.Queues[0].Used[sched.VCores])
}

// reportEnd changes the report of an application that is over: it made all progress unless it failed or never ran. If
// its ApplicationMaster did not finish, its tracking URL is its page on this ResourceManager (appPage).
func reportEnd(app *application, r *wire.ApplicationReport) {
	if app.state == wire.AppFinished || app.state == wire.AppKilled && (app.times.launched > 0 || r.Unmanaged) {
		r.Progress = 1
	}
	if app.state != wire.AppFinished {
		page := app.m.config.scheme() + "://" + app.m.config.Web + "/cluster/app/" + app.id.String()
		r.Master = wire.MasterAddress{Host: wire.NotAvailable, Port: -1, Tracking: page, Original: page}
	}
}

// usageOf returns what the application uses, if it is not over, and what it has used.
func usageOf(app *application) (u wire.Usage) {
	m, used := app.m, app.used
	if j := m.core.Job(app.job); j != nil && !app.over {
		used = m.core.Service(j, max(m.at(), m.core.Now))
		u = wire.Usage{
			Known:          true,
			Containers:     j.Running,
			Used:           m.config.Sizes.size(j.Used),
			ClusterPercent: percent(j.Used, m.core.Capacity),
		}
		u.QueuePercent = u.ClusterPercent
		if q, ok := m.core.QueueNamed(app.queue); ok {
			if part := m.capacities(q).absolute; part > 0 {
				u.QueuePercent /= part
			}
		}
	}
	u.MemorySeconds, u.VCoreSeconds = int64(used[sched.Memory]), int64(used[sched.VCores])
	u.OtherSeconds = m.config.Sizes.seconds(used)
	return u
}

// launchWords say, in Hadoop's words, what an ApplicationMaster that has not registered waits for.
var launchWords = map[wire.AttemptState]string{
	wire.AttemptAllocated: "Scheduler has assigned a container for AM, waiting for AM container to be launched",
	wire.AttemptLaunched:  "AM container is launched, waiting for AM container to Register with RM",
}

// percent returns the part of the whole's memory, in percent.
func percent(part, whole sched.Resources) float32 {
	if whole[sched.Memory] == 0 {
		return 0
	}
	return 100 * float32(part[sched.Memory]) / float32(whole[sched.Memory])
}

// instant is the layout in which clients write the end of an application's lifetime.
const instant = "2006-01-02T15:04:05.000-0700"

// unlimited is what clients write instead if the lifetime has no limit.
const unlimited = "UNLIMITED"

// expire sets the instant at which an application is killed; zero: never.
func (app *application) expire(at time.Time) {
	app.m.live.off(app.lifetime.alarm)
	app.save()
	if app.lifetime.ends = at; at.IsZero() {
		return
	}
	app.lifetime.alarm = app.m.live.at(at, func() {
		kill(app, fmt.Sprintf("Application %s is killed by ResourceManager as it has exceeded the lifetime "+
			"period.", app.id))
	})
}

// expiry returns the end of the application's lifetime, as clients write it.
func (app *application) expiry() string {
	if app.lifetime.ends.IsZero() {
		return unlimited
	}
	return app.lifetime.ends.Format(instant)
}
