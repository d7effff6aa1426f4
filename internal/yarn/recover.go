package yarn

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/store"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// How a ResourceManager recovers after a restart:
//
//  1. The store has applications, their attempts, keys and tokens (restore).
//  2. Applications that are not over wait for their ApplicationMasters, on nodes that are absent (resume).
//  3. NodeManagers register again and report their containers (find, adopt). The core learns of the containers in the
//     Step in which the node joins (found, learnFound), so that no room is granted twice.
//  4. ApplicationMasters are told to register again, and then repeat all their asks, as Hadoop's client library does.

// remember opens the store, in a file or in ZooKeeper, and restores its content. All later changes of the state are
// written to it.
func (m *manager) remember() error {
	failed := func(err error) {
		m.log.Error("the state cannot be kept, and who changes it waits", "why", err)
	}
	var kept *store.Store
	var values map[string][]byte
	where := m.config.Kept.where()
	if a := m.config.Kept.Active; a != nil {
		var err error
		if kept, values, err = a.open(failed); err != nil {
			return fmt.Errorf("open the state: %w", err)
		}
	} else {
		o, err := store.Open(where, failed)
		if err != nil {
			return fmt.Errorf("open the state: %w", err)
		}
		if o.Aside != "" {
			m.log.Error("the state was damaged: nothing of it is known", "why", o.Damage, "set aside as", o.Aside)
		}
		kept, values = o.Store, o.Values
	}
	p, err := readPast(values)
	if err == nil {
		err = p.whole()
	}
	if err != nil {
		kept.Close()
		return fmt.Errorf("%s: %w; move it away to start without what it holds", where, err)
	}
	m.saves = &saver{to: kept, apps: map[*application]bool{}, changed: map[string][]byte{}}
	m.restore(p)
	if err := m.saves.wait(m.saves.flush()); err != nil {
		return err
	}
	if n := len(m.apps.list); n > 0 {
		m.log.Info("state taken over", "applications", n, "that run", m.apps.unfinished(), "epoch", m.life.epoch)
	}
	return nil
}

// restore takes over the state that an earlier process has stored.
func (m *manager) restore(p *past) {
	if p.keys != nil {
		m.life = life{max(m.life.identity, p.life.Latest+1), p.life.Epoch + 1, p.life.First}
		m.apps.ids.timestamp = m.life.identity
		m.keys.master, m.keys.node = token.Restore(&p.keys.Master), token.Restore(&p.keys.Node)
		m.keys.container = token.Restore(&p.keys.Container)
		m.keys.delegations.keys = token.Restore(&p.keys.Delegation)
		if len(p.keys.Clients) > 0 {
			m.keys.clients = p.keys.Clients
		}
		if m.keys.master.Offered().ID != m.keys.master.Current().ID {
			m.useKeys()
		}
	}
	for i := range p.tokens {
		m.restoreToken(&p.tokens[i])
	}
	for _, app := range p.apps {
		m.restoreApp(app)
	}
	for _, name := range p.left {
		m.saves.put(name, nil)
	}
	m.apps.trim(m.config.Completed)
	saveLife(m)
	m.saveKeys()
	m.step()
}

// restoreToken makes a delegation token of an earlier process valid again until it expires. A token that has expired,
// or cannot be decoded, is deleted from the store.
func (m *manager) restoreToken(s *savedToken) {
	one := &delegation{password: s.Password, expires: time.UnixMilli(s.Expires), key: s.Key}
	if one.id.Decode(s.Identifier) != nil || !m.now.Before(one.expires) {
		m.saves.put(nameToken+string(s.Identifier), nil)
		return
	}
	d := &m.keys.delegations
	d.last = max(d.last, one.id.Sequence)
	d.add(string(s.Identifier), one)
	m.expireLater(string(s.Identifier), one)
}

// restoreApp adds a stored application. If its ApplicationMaster had said that it is over, it is over.
func (m *manager) restoreApp(s *savedApp) {
	app := &application{
		m:          m,
		id:         s.Submission.ID,
		user:       s.User,
		queue:      s.Queue,
		submission: s.Submission,
		state:      wire.AppState(s.State),
		outcome:    outcome{wire.FinalStatus(s.Final), s.Diagnostics},
		asks:       newAskTable(),
		nodes:      map[*node]bool{},
		times:      s.Times,
		order:      s.Order,
		stored:     stored{launch: true, parts: int(s.Parts)},
	}
	used := sched.Resources{sched.Memory: s.Memory, sched.VCores: s.VCores}
	m.config.Sizes.others(&used, s.Others)
	for k, n := range used {
		app.used[k] = float64(n)
	}
	app.access, _ = accessOf(s.Access)
	app.hints, _ = readHints(s.Submission.Tags)
	m.apps.add(app)
	for i := range s.Attempts {
		app.attempts = append(app.attempts, app.restoreAttempt(int32(i+1), &s.Attempts[i]))
	}
	app.lifetime.ends = millisTime(s.Ends)
	if app.state >= wire.AppFinished {
		app.over, app.progress = true, 1
		m.apps.letGo(app)
		changed := s.launch
		if a := app.current(); a != nil && !a.ended() {
			a.state, changed = attemptStates[app.state], true
		}
		if changed { // else a restart would write all applications that are over again before it serves
			app.save()
		}
		m.apps.gone++
		return
	}
	app.resume()
}

// restoreAttempt returns the attempt of a number as it was stored. Its ApplicationMaster's container is on a node that
// is absent.
func (app *application) restoreAttempt(number int32, s *savedAttempt) *attempt {
	a := &attempt{
		app:         app,
		id:          wire.AttemptID{App: app.id, Attempt: number},
		state:       wire.AttemptState(s.State),
		failed:      s.Failed,
		diagnostics: s.Diagnostics,
		times:       s.Times,
		address:     wire.MasterAddress{Host: s.Host, Port: s.Port, Original: s.Original},
		clientKey:   s.ClientKey,
	}
	a.dues.tokens = map[*node]nodeToken{}
	if s.Master != nil {
		id := wire.ContainerID{Attempt: a.id, ID: s.Master.ID}
		a.master = &container{m: app.m, id: id, attempt: a, node: absent(app.m, s.Master), resource: s.Master.Resource,
			group: -1, state: done, created: s.Master.Created}
	}
	return a
}

// absent returns a node that stands for the node of a container until it registers. Neither the core nor the table of
// nodes has it.
func absent(m *manager, s *savedMaster) *node {
	n := &node{m: m, id: s.Node, name: s.Node.String(), web: s.Web, state: wire.NodeNew, quiet: new(atomic.Bool)}
	n.quiet.Store(true)
	return n
}

// resume continues an application that was not over: with its ApplicationMaster, if that may still run, else with a new
// one.
func (app *application) resume() {
	m := app.m
	app.state = wire.AppAccepted // until its ApplicationMaster registers again, as in Hadoop
	m.queues.make(app.queue)
	m.finds.restart(app)
	tasks := int32(1)
	if app.submission.Unmanaged {
		tasks = 0
	}
	size, _ := app.submission.MasterResource()
	spec := app.spec(tasks, m.config.Sizes.normal(size))
	st := &spec.Stages[0]
	st.Asked, st.MaxAttempts = true, max(1, st.MaxAttempts-app.failures())
	spec.Submit = min(m.at(), time.UnixMilli(app.times.started).Sub(m.started)) // it keeps its age and its deadline
	m.note(sched.Event{Kind: sched.JobSubmitted, Job: app.job, Body: spec})
	m.step()
	if ends := app.lifetime.ends; !ends.IsZero() {
		app.expire(ends)
	}
	a := app.current()
	switch {
	case a == nil && app.submission.Unmanaged:
		app.begin().state = wire.AttemptLaunched
		return
	case a != nil && a.ended() && app.failures() >= app.mostAttempts(): // Hadoop's had not stored that yet
		app.exhausted()
		return
	case app.starting():
		app.noteMaster()
		return
	}
	a.state = wire.AttemptLaunched
	if a.dues.key = m.keys.master.Current().ID; m.keys.master.Save().Previous != nil {
		a.dues.key = 0 // it may have a token of either key
	}
	a.watch()
	if c := a.master; c != nil {
		c.state = running
		c.node.hold(c)
		a.containers.put(c)
		m.nodes.containers++
		m.finds.awaited[c.node.id] = append(m.finds.awaited[c.node.id], c)
		m.live.quiet.watch(&c.waits, m.now, (*absentMaster)(c))
	}
}

// An absentMaster is an ApplicationMaster's container whose node has not registered in this life.
type absentMaster container

// expired ends the container as lost: its node has not come back.
func (c *absentMaster) expired() { (*container)(c).lost(saidLost) }

// failures returns how many attempts count as failures: those that failed within the period that the submission names.
func (app *application) failures() (n int32) {
	within := app.submission.Validity
	for _, a := range app.attempts {
		if a.failed && (within <= 0 || a.times.finished > app.m.millis()-within) {
			n++
		}
	}
	return n
}

// unfound is called when a container ends that the core does not know. If it is an ApplicationMaster's, the core can
// neither count its failure nor start another one, so unfound does that.
func (app *application) unfound(c *container) {
	switch {
	case !c.isMaster() || app.over:
	case app.failures() >= app.mostAttempts():
		app.exhausted()
	default:
		app.noteMaster()
	}
}

// earlier reports whether a container was granted in an earlier life.
func (m *manager) earlier(id wire.ContainerID) bool { return id.ID>>wire.EpochShift < m.life.epoch }

// find takes over the containers of a registering node that run since an earlier life. It does so at the node's first
// registration in this life only. Later, a container that is not known has ended here.
func (n *node) find(q *wire.RegisterNodeRequest) {
	m := n.m
	if m.life.epoch == 0 {
		return
	}
	var given []*container
	there := map[wire.ContainerID]bool{}
	for i := range q.Containers {
		s := &q.Containers[i]
		there[s.ID] = true
		c := m.container(s.ID)
		switch {
		case c != nil && c.lease == 0 && c.isMaster() && c.node != n:
			c.node.drop(c)
			c.waits.leave()
			c.node = n
			n.hold(c)
			n.serve(c.attempt.app)
			if s.State != wire.ContainerComplete {
				c.found(0)
			}
		case c == nil && n.registration == 1 && m.earlier(s.ID):
			if c = n.adopt(s); c != nil && m.finds.wasGiven(c.attempt.app, s.ID) {
				given = append(given, c)
			}
		}
	}
	absent := m.finds.awaited[n.id]
	delete(m.finds.awaited, n.id)
	for _, c := range absent {
		if !there[c.id] && c.state != done {
			c.lost(saidUnknown)
		}
	}
	m.step()
	for _, c := range given {
		c.giveUp(wire.ExitAborted, saidReleased, sched.Killed)
	}
}

// adopt takes over a container of an earlier life, if its attempt runs still or its application keeps containers, and
// returns it. It returns nil if the container is not taken over, or if it has ended: its ApplicationMaster, which knows
// the container, is then told of the end.
func (n *node) adopt(s *wire.NodeContainer) *container {
	m := n.m
	app, of := m.apps.byID[s.ID.Attempt.App], m.attempt(s.ID.Attempt)
	if of == nil || app.over {
		return nil
	}
	a, keeps := app.current(), app.submission.KeepContainers
	if of != a && !keeps || a.ended() && !(keeps && a.state == wire.AttemptFailed) {
		return nil
	}
	size := m.config.Sizes.size(m.config.Sizes.amount(s.Resource))
	c := &container{m: m, id: s.ID, attempt: a, node: n, resource: size, priority: s.Priority,
		group: s.Allocation, version: s.Version, created: s.Created, state: done}
	if s.State == wire.ContainerComplete {
		m.nodes.containers++
		of.containers.put(c)
		why := cut(s.Diagnostics, mostDiagnostics)
		a.notify(c, wire.ContainerStatus{ID: s.ID, State: s.State, Exit: s.Exit, Diagnostics: why})
		c.settle()
		return nil
	}
	stage := app.stageFor(stageKey{groupKey{s.Priority, s.Allocation, 0}, m.config.Sizes.normal(s.Resource)})
	if stage == 0 {
		return nil
	}
	m.nodes.containers++
	of.containers.put(c)
	c.state = running
	n.hold(c)
	n.serve(app)
	c.found(stage)
	return c
}

// stageFor returns the stage for containers of a group and a size. It makes a new stage if there is none. 0 means that
// the application has as many stages as it may have, or that no container has the size, which a node has told.
func (app *application) stageFor(key stageKey) int32 {
	t := &app.asks
	if g := t.groups[key.groupKey]; g != nil && t.fits(g, key.size) {
		return g.stage
	}
	if idle := t.idle[key.kind()]; len(idle) > 0 {
		return idle[len(idle)-1]
	}
	stage := int32(len(t.stages))
	spec := &sched.StageSpec{
		Kind: kindOf(app.submission.Type, key.priority), PerTask: app.m.config.Sizes.amount(key.size), Tasks: -1}
	if stage >= mostStages || spec.Validate(stage) != nil {
		return 0
	}
	t.stages = append(t.stages, key)
	t.idle[key.kind()] = append(t.idle[key.kind()], stage)
	app.noteAsks(&sched.Asks{Stage: stage, Spec: spec})
	return stage
}

// found notes for the core that container c runs, in a stage.
func (c *container) found(stage int32) {
	f := &sched.Found{Stage: stage}
	if c.created > 0 {
		f.Ran = max(0, c.m.now.Sub(time.UnixMilli(c.created)))
	}
	c.m.finds.noted[f] = c
	c.m.note(sched.Event{Kind: sched.AttemptFound, Job: c.attempt.app.job, Node: c.node.sched, Body: f})
}

// learnFound reads from the core's events, after a Step, which attempts the containers of found have become. A
// container for which the core has made no attempt is ended.
func (m *manager) learnFound() {
	if len(m.finds.noted) == 0 {
		return
	}
	for i := range m.core.Events {
		e := &m.core.Events[i]
		f, ok := e.Body.(*sched.Found)
		if !ok {
			continue
		}
		c := m.finds.noted[f]
		delete(m.finds.noted, f)
		switch {
		case c.state == done && e.Attempt != 0: // it has ended meanwhile
			done := sched.Event{Kind: sched.AttemptDone, Outcome: sched.Killed}
			done.Attempt, done.Node, done.Job = e.Attempt, e.Node, e.Job
			m.note(done)
		case e.Attempt == 0:
			c.giveUp(wire.ExitAborted, saidUnknown, sched.Killed)
		default:
			c.lease = e.Attempt
			m.leases.put(c)
		}
	}
}
