package yarn

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// class is the exception that a call was refused by; "": it was not.
func class(err error) string {
	if e := new(rpc.Error); errors.As(err, &e) {
		return e.Class
	}
	return ""
}

// What changes an application is its owner's and the administrators' alone.
func TestChangesAreTheOwners(t *testing.T) {
	c := start(t, func(config *Config) {
		config.MostPriority, config.Queues.Tree = 3, []*sched.QueueSpec{{Name: "default"}, {Name: "etl"}}
	})
	c.node()
	id := c.submit(func(s *wire.Submission) { s.Unmanaged = true })
	attempt := wire.AttemptID{App: id, Attempt: 1}
	for method, q := range map[string]interface{ Append([]byte) []byte }{
		"forceKillApplication":        &wire.KillRequest{ID: id},
		"updateApplicationPriority":   &wire.PriorityChange{ID: id, Priority: 3},
		"moveApplicationAcrossQueues": &wire.Move{ID: id, Queue: "etl"},
		"failApplicationAttempt":      &wire.AttemptRequest{ID: attempt},
		"signalToContainer": &wire.Signal{Container: wire.ContainerID{Attempt: attempt, ID: 1},
			Command: wire.SignalForceful},
		"updateApplicationTimeouts": &wire.TimeoutChange{ID: id},
	} {
		if err := c.as("mallory").Call(t.Context(), method, q, nil); class(err) != classAccess {
			t.Errorf("%s by another user: %v", method, err)
		}
	}
	if r := c.report(id); r.State != wire.AppAccepted || r.Queue != "root.default" || r.Priority != 0 {
		t.Errorf("disturbed: %+v", r)
	}
	root := c.as("root")
	if r := invoke[wire.PriorityChanged](c, root, "updateApplicationPriority",
		&wire.PriorityChange{ID: id, Priority: 3}); r.Priority != 3 {
		t.Errorf("priority %d", r.Priority)
	}
	if r := invoke[wire.PriorityChanged](c, c.client, "updateApplicationPriority",
		&wire.PriorityChange{ID: id, Priority: 1000}); r.Priority != 3 {
		t.Errorf("more than the cluster's maximum of 3: priority %d", r.Priority)
	}
	invoke[wire.Empty](c, c.client, "moveApplicationAcrossQueues", &wire.Move{ID: id, Queue: "root.etl"})
	if err := c.client.Call(t.Context(), "moveApplicationAcrossQueues", &wire.Move{ID: id, Queue: "nowhere"},
		nil); class(
		err,
	) != classYARN {
		t.Errorf("moved to nowhere: %v", err)
	}
	if r := c.report(id); r.Queue != "root.etl" || r.Priority != 3 {
		t.Errorf("report %+v", r)
	}
	c.look(func(m *manager) {
		j := m.core.Job(m.apps.byID[id].job)
		if q := m.core.Path(m.core.Queues[j.Queue]); q != "etl" || j.Spec.Priority != 3 {
			t.Errorf("the core has it in %s with priority %d", q, j.Spec.Priority)
		}
	})
	above := c.submit(func(s *wire.Submission) { s.Unmanaged, s.Priority = true, 1000 })
	if r := c.report(above); r.Priority != 3 {
		t.Errorf("submitted with more than the cluster's maximum of 3: priority %d", r.Priority)
	}
	invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: above})
	invoke[wire.Empty](c, c.client, "failApplicationAttempt", &wire.AttemptRequest{ID: attempt})
	if r := c.ends(id, wire.AppFailed); !strings.Contains(r.Diagnostics, "Attempt failed by user alice.") {
		t.Errorf("diagnostics %q", r.Diagnostics)
	}
	if err := c.client.Call(t.Context(), "moveApplicationAcrossQueues", &wire.Move{ID: id, Queue: "default"},
		nil); class(
		err,
	) != classYARN {
		t.Errorf("what is over is moved: %v", err)
	}
}

// A lifetime ends an application; it can be lengthened, lifted, and set when submitting.
func TestLifetime(t *testing.T) {
	f := newFew(t)
	m := f.m
	app := f.master.app
	change := func(expires string) error {
		_, err := f.do(func(m *manager) (answer, error) {
			return client{m, "user"}.changeTimeouts(&wire.TimeoutChange{
				ID:       app.id,
				Timeouts: []wire.Timeout{{Kind: wire.TimeoutLifetime, Expires: expires}},
			},
			)
		})
		return err
	}
	at := func(d time.Duration) string { return f.now.Add(d).Format(instant) }
	for _, bad := range []string{"soon", "", at(-time.Second)} {
		if err := change(bad); class(err) != classYARN {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := change(at(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if r := app.report(); r.Lifetime.Left != 60 || r.Lifetime.Expires != at(time.Minute) {
		t.Errorf("%+v", r.Lifetime)
	}
	if err := change(at(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(90 * time.Second)
	f.allocate(&wire.AllocateRequest{})
	if err := change(unlimited); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(90 * time.Second)
	f.allocate(&wire.AllocateRequest{})
	if err := change(at(time.Minute)); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(time.Minute)
	f.f.turn(nil)
	if app.state != wire.AppKilled || !strings.Contains(app.outcome.diagnostics, "exceeded the lifetime") {
		t.Errorf("%v: %s", app.state, app.outcome.diagnostics)
	}
	r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
	s := wire.Submission{ID: r.(*wire.NewApplication).ID, Unmanaged: true, Lifetime: 30}
	var again wire.Submission
	if err := again.Decode(s.Append(nil)); err != nil || again.Lifetime != 30 {
		t.Fatalf("%+v, %v", again, err)
	}
	f.do(func(m *manager) (answer, error) {
		return client{m, "user"}.submit(&wire.SubmitRequest{Submission: again})
	})
	f.now = f.now.Add(31 * time.Second)
	f.f.turn(nil)
	if state := m.apps.byID[s.ID].state; state != wire.AppKilled {
		t.Errorf("submitted with a lifetime: %v", state)
	}
}

// A signal goes to the container's node in its next reply, and again if that is lost.
func TestSignal(t *testing.T) {
	f := newFew(t)
	f.allocate(asks("a 1 true", "* 1 true"))
	c := f.master.own()[0]
	signal := func() error {
		_, err := f.do(func(m *manager) (answer, error) {
			return client{m, "user"}.signal(&wire.Signal{Container: c.id, Command: wire.SignalThreadDump})
		})
		return err
	}
	if err := signal(); class(err) != classYARN {
		t.Errorf("what does not run is signalled: %v", err)
	}
	beat := func(id int32) *wire.HeartbeatResponse {
		r, _ := f.do(func(m *manager) (answer, error) {
			return tracker{m}.heartbeat(
				&wire.HeartbeatRequest{
					Status: wire.NodeStatus{Node: c.node.id, ResponseID: id, Health: wire.Health{OK: true},
						Containers: []wire.ContainerStatus{{ID: c.id, State: wire.ContainerRunning}}},
				},
			)
		})
		return r.(*wire.HeartbeatResponse)
	}
	beat(0)
	if err := signal(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first reply is lost
		r := beat(1)
		var read wire.HeartbeatResponse
		if err := read.Decode(r.Append(nil)); err != nil || len(read.Signals) != 1 ||
			read.Signals[0] != (wire.Signal{Container: c.id, Command: wire.SignalThreadDump}) {
			t.Fatalf("%+v, %v", read.Signals, err)
		}
	}
	if r := beat(2); len(r.Signals) != 0 {
		t.Error("said again")
	}
}

// Containers of an application that says so outlive its ApplicationMaster: the next one is told of those that live, and
// of those that ended meanwhile.
func TestKeepContainers(t *testing.T) {
	c := start(t, nil)
	n := c.node()
	release, died := make(chan bool), make(chan bool)
	c.task = func(ctx context.Context, id wire.ContainerID) int32 {
		select {
		case <-release:
			return 0
		case <-ctx.Done():
			return 137
		}
	}
	c.master = func(ctx context.Context, m *peer.Master, id wire.ContainerID) int32 {
		defer m.Close()
		r, err := m.Register(ctx)
		if err != nil {
			t.Error(err)
			return 1
		}
		if id.Attempt.Attempt == 1 {
			r, err := m.Allocate(
				ctx,
				&wire.AllocateRequest{
					Asks: []wire.ResourceRequest{
						{
							Priority:   1,
							Place:      "*",
							Resource:   wire.Resource{Memory: 256, VCores: 1},
							Containers: 3,
							Relax:      true,
						},
					},
				},
			)
			if err != nil || len(r.Allocated) != 3 {
				t.Errorf("first attempt: %v", err)
				return 1
			}
			for i := range r.Allocated[:2] { // the third is never started
				if err := m.Start(ctx, &r.Allocated[i]); err != nil {
					t.Error(err)
				}
			}
			c.until("the tasks run", func() bool { running, _ := n.Running(); return running == 3 })
			close(died)
			return 137
		}
		if len(r.Containers) != 3 || len(r.NodeTokens) != 1 || r.Containers[0].Token.Identifier == nil {
			t.Errorf("the second is told of %d containers and %d tokens", len(r.Containers), len(r.NodeTokens))
		}
		close(release)
		ended := 0
		q := &wire.AllocateRequest{Releases: []wire.ContainerID{r.Containers[2].ID}}
		for ended < 3 {
			got, err := m.Allocate(ctx, q)
			if err != nil {
				t.Error(err)
				return 1
			}
			for _, s := range got.Completed {
				if s.Exit != 0 && s.Exit != wire.ExitAborted {
					t.Errorf("%s: exit %d", s.ID, s.Exit)
				}
				ended++
			}
			q = &wire.AllocateRequest{}
			select {
			case <-ctx.Done():
				return 1
			case <-time.After(5 * time.Millisecond):
			}
		}
		m.Finish(ctx, wire.Succeeded)
		return 0
	}
	id := c.submit(func(s *wire.Submission) { s.KeepContainers = true })
	<-died
	if r := c.ends(id, wire.AppFinished); r.Attempt.Attempt != 2 {
		t.Errorf("report %+v", r)
	}
	c.clean(id)
	// With no attempt to follow, nothing is kept.
	release, died = make(chan bool), make(chan bool)
	last := c.submit(func(s *wire.Submission) { s.KeepContainers, s.MaxAttempts = true, 1 })
	c.ends(last, wire.AppFailed)
	c.clean(last)
}

// Delegation tokens: given, renewed by the one who may, until when they may be, cancelled.
func TestDelegationTokens(t *testing.T) {
	c := start(t, nil)
	given := invoke[wire.TokenGiven](c, c.client, "getDelegationToken", &wire.TokenWanted{Renewer: "oozie/host@REALM"})
	oozie := c.as("oozie")
	if r := invoke[wire.TokenRenewed](c, oozie, "renewDelegationToken", &given); r.Expires < time.Now().
		Add(23*time.Hour).
		UnixMilli() {
		t.Errorf("renewed until %v", time.UnixMilli(r.Expires))
	}
	if err := c.as("mallory").Call(t.Context(), "renewDelegationToken", &given, nil); class(err) != classAccess {
		t.Errorf("renewed by another: %v", err)
	}
	if err := c.as("mallory").Call(t.Context(), "cancelDelegationToken", &given, nil); class(err) != classAccess {
		t.Errorf("cancelled by another: %v", err)
	}
	forged := given
	forged.Token.Password = slices.Clone(given.Token.Password)
	forged.Token.Password[0]++
	if err := oozie.Call(t.Context(), "renewDelegationToken", &forged, nil); class(err) != classInvalidToken {
		t.Errorf("a forged token: %v", err)
	}
	invoke[wire.Empty](c, c.client, "cancelDelegationToken", &given)
	if err := oozie.Call(t.Context(), "renewDelegationToken", &given, nil); class(err) != classInvalidToken {
		t.Errorf("renewed after it was cancelled: %v", err)
	}
}

// One user cannot take all delegation tokens that there may be. Those that end, or are cancelled, make room.
func TestDelegationTokensOfOneUser(t *testing.T) {
	f := newFew(t)
	give := func(user string) (*wire.TokenGiven, error) {
		r, err := f.do(func(m *manager) (answer, error) { return client{m, user}.giveToken(&wire.TokenWanted{}) })
		if err != nil {
			return nil, err
		}
		return r.(*wire.TokenGiven), nil
	}
	var last *wire.TokenGiven
	for i := range mostOfOwner {
		var err error
		if last, err = give("mallory"); err != nil {
			t.Fatalf("token %d: %v", i+1, err)
		}
	}
	if _, err := give("mallory"); class(err) != classYARN || !strings.Contains(err.Error(), "mallory has 20000") {
		t.Errorf("one more: %v", err)
	}
	if _, err := give("alice"); err != nil {
		t.Errorf("another user: %v", err)
	}
	if _, err := f.do(func(m *manager) (answer, error) { return client{m, "mallory"}.cancelToken(last) }); err != nil {
		t.Fatal(err)
	}
	if _, err := give("mallory"); err != nil {
		t.Errorf("after one was cancelled: %v", err)
	}
	f.now = f.now.Add(tokenRenewal)
	f.f.turn(nil)
	if d := &f.m.keys.delegations; len(d.good)+len(d.of) > 0 {
		t.Errorf("when all have ended, %d tokens and %d users are left", len(d.good), len(d.of))
	}
}

// A token ends a day after it was renewed last, and is forgotten.
func TestDelegationTokensEnd(t *testing.T) {
	f := newFew(t)
	give := func() *wire.TokenGiven {
		r, err := f.do(
			func(m *manager) (answer, error) {
				return client{m, "user"}.giveToken(&wire.TokenWanted{Renewer: "user"})
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		return r.(*wire.TokenGiven)
	}
	one, _ := give(), give()
	f.now = f.now.Add(23 * time.Hour)
	renew := func() error {
		_, err := f.do(func(m *manager) (answer, error) { return client{m, "user"}.renewToken(one) })
		return err
	}
	if err := renew(); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(2 * time.Hour)
	f.f.turn(nil)
	if len(f.m.keys.delegations.good) != 1 {
		t.Errorf("%d tokens, the one that was renewed is left", len(f.m.keys.delegations.good))
	}
	for range 8 {
		renew()
		f.now = f.now.Add(23 * time.Hour)
	}
	if err := renew(); class(err) != classInvalidToken {
		t.Errorf("after more than a week: %v", err)
	}
	f.f.turn(nil)
	if len(f.m.keys.delegations.good) != 0 {
		t.Errorf("%d tokens are left", len(f.m.keys.delegations.good))
	}
}

// What was to happen to what is over, changed or cancelled is not waited for any more.
func TestAlarmsGo(t *testing.T) {
	f := newFew(t)
	app := f.master.app
	none := len(f.m.live.alarms)
	for i := range 100 {
		q := &wire.TimeoutChange{
			ID: app.id,
			Timeouts: []wire.Timeout{
				{
					Kind:    wire.TimeoutLifetime,
					Expires: f.now.Add(time.Duration(100-i) * time.Hour).UTC().Format(instant),
				},
			},
		}
		if _, err := f.do(func(m *manager) (answer, error) { return client{m, "user"}.changeTimeouts(q) }); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(f.m.live.alarms) - none; got != 1 {
		t.Errorf("%d alarms for one lifetime that was changed 100 times", got)
	}
	for range 100 {
		r, err := f.do(
			func(m *manager) (answer, error) {
				return client{m, "user"}.giveToken(&wire.TokenWanted{Renewer: "user"})
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.do(func(m *manager) (answer, error) {
			return client{m, "user"}.cancelToken(r.(*wire.TokenGiven))
		}); err != nil {
			t.Fatal(err)
		}
	}
	f.do(func(m *manager) (answer, error) { return client{m, "user"}.kill(nil, &wire.KillRequest{ID: app.id}) })
	if got := len(f.m.live.alarms) - none; got != 0 {
		t.Errorf("%d alarms when the application is over and the tokens are cancelled", got)
	}
}

func TestAlarmsTakenBack(t *testing.T) {
	var l liveness
	start := time.Unix(1_700_000_000, 0)
	var rang []int
	set := map[int]*alarm{}
	for _, i := range []int{5, 3, 8, 1, 9, 2, 7, 4, 6} {
		set[i] = l.at(start.Add(time.Duration(i)), func() { rang = append(rang, i) })
	}
	for _, i := range []int{8, 1, 5, 5} {
		l.off(set[i])
	}
	l.expire(start.Add(4))
	l.off(set[3]) // has gone off
	l.off(set[9])
	l.expire(start.Add(100))
	if want := []int{2, 3, 4, 6, 7}; !slices.Equal(rang, want) {
		t.Errorf("%v went off, want %v", rang, want)
	}
}

// Of an application that is over, what it was launched with is not kept: a thousand of them are remembered.
func TestLaunchContextsGo(t *testing.T) {
	f := newFew(t)
	heap := func() int64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	const size = 1 << 20
	launch := wire.NewLaunchContext(strings.Repeat("x", size))
	before := heap()
	for range 20 {
		r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
		sent := wire.SubmitRequest{
			Submission: wire.Submission{ID: r.(*wire.NewApplication).ID, Unmanaged: true, Launch: launch},
		}
		var q wire.SubmitRequest
		if err := q.Decode(sent.Append(nil)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.do(func(m *manager) (answer, error) { return client{m, "user"}.submit(&q) }); err != nil {
			t.Fatal(err)
		}
		f.do(func(m *manager) (answer, error) {
			return client{m, "user"}.kill(nil, &wire.KillRequest{ID: q.Submission.ID})
		})
	}
	if kept := heap() - before; kept > 5*size {
		t.Errorf("%d bytes are kept of 20 applications that were launched with %d each", kept, size)
	}
	runtime.KeepAlive(f)
}

// An application's id is its own for ever: another user cannot submit under it, nor can anybody when the application is
// forgotten.
func TestIDsAreTakenOnce(t *testing.T) {
	f := newFew(t)
	f.m.config.Completed = 1
	submit := func(user string, id wire.ApplicationID) error {
		_, err := f.do(func(m *manager) (answer, error) {
			return client{m, user}.submit(&wire.SubmitRequest{Submission: wire.Submission{ID: id, Unmanaged: true}})
		})
		return err
	}
	var first wire.ApplicationID
	for i := range 70 { // more than a word of bits
		r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
		id := r.(*wire.NewApplication).ID
		if i == 0 {
			first = id
		}
		if err := submit("alice", id); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if err := submit("alice", id); err != nil {
			t.Errorf("%s again: %v", id, err)
		}
		if err := submit("mallory", id); class(err) != classYARN {
			t.Errorf("%s by another user: %v", id, err)
		}
		f.do(func(m *manager) (answer, error) { return client{m, "alice"}.kill(nil, &wire.KillRequest{ID: id}) })
	}
	if f.m.apps.byID[first] != nil {
		t.Fatalf("%s is not forgotten", first)
	}
	if err := submit("alice", first); class(err) != classYARN {
		t.Errorf("%s when it is forgotten: %v", first, err)
	}
}

// Ids do not run out, however many are asked for and not used: they get another timestamp, and count from 1 again. Ids
// of the timestamp before can still be submitted, and the next life has a later timestamp than any.
func TestIDsGetAnotherTimestamp(t *testing.T) {
	f, k := newFew(t), &memory{values: map[string][]byte{}}
	keepIn(t, f.m, k)
	newID := func() wire.ApplicationID {
		r, err := f.do(func(m *manager) (answer, error) { return client{m, "mallory"}.newID(nil) })
		if err != nil {
			t.Fatal(err)
		}
		return r.(*wire.NewApplication).ID
	}
	submit := func(id wire.ApplicationID) error {
		_, err := f.do(func(m *manager) (answer, error) {
			return client{m, "alice"}.submit(&wire.SubmitRequest{Submission: wire.Submission{ID: id, Unmanaged: true}})
		})
		return err
	}
	f.do(func(m *manager) (answer, error) { m.apps.ids.last = mostIDs - 1; return nil, nil })
	last, first := newID(), newID()
	if last.ID != mostIDs || first.ID != 1 || first.Timestamp <= last.Timestamp {
		t.Errorf("after %s comes %s", last, first)
	}
	f.do(func(m *manager) (answer, error) { m.apps.ids.last = mostIDs; return nil, nil })
	if next := newID(); next.ID != 1 || next.Timestamp <= first.Timestamp { // in the same ms
		t.Errorf("after %s comes %s", first, next)
	}
	for _, id := range []wire.ApplicationID{last, first} {
		if err := submit(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []wire.ApplicationID{{ID: mostIDs + 1, Timestamp: last.Timestamp},
		{ID: 1, Timestamp: first.Timestamp + 2}, {ID: 2, Timestamp: first.Timestamp + 1}} {
		if err := submit(id); class(err) != classYARN {
			t.Errorf("%s, which was not given: %v", id, err)
		}
	}
	f.do(func(m *manager) (answer, error) { m.saveKeys(); return nil, nil }) // as a start does
	p, err := readPast(k.values)
	if err != nil {
		t.Fatal(err)
	}
	again := newFleet(t, 0) // its clock stands at the start of the life before
	keepIn(t, again.m, k)
	again.do(func(m *manager) (answer, error) { m.restore(p); return nil, nil })
	if id := nextID(again.m); id.Timestamp <= first.Timestamp+1 {
		t.Errorf("the next life gives %s, the one before gave %s", id, first)
	}
}

// rmadmin tells the groups of a user, and says plainly what it cannot refresh.
func TestOperatorsCommands(t *testing.T) {
	c := start(t, func(config *Config) {
		config.Access.Groups = func(user string) ([]string, error) { return []string{user, "staff"}, nil }
	})
	d := rpc.Dialer{Protocol: wire.Administration, User: "root"}
	client, err := d.Dial(t.Context(), c.at.Admin)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	groups := invoke[wire.Groups](c, client, "getGroupsForUser", &wire.GroupsWanted{User: "ana"})
	if !slices.Equal(groups.Names, []string{"ana", "staff"}) {
		t.Errorf("ana is in %q", groups.Names)
	}
	for method, want := range map[string]string{
		"refreshAdminAcls": "no file says", "refreshClusterMaxPriority": "no file says",
		"refreshSuperUserGroupsConfiguration": "no file says", "refreshNodesResources": "no file says",
		"refreshServiceAcls": "Service Authorization (hadoop.security.authorization) not enabled.",
	} {
		err := client.Call(t.Context(), method, &wire.Empty{}, nil)
		if e := (*rpc.Error)(nil); !errors.As(err, &e) || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v, want %q", method, err, want)
		}
	}
}

// An application that waits for its ApplicationMaster says what for.
func TestDiagnosticsOfWhoWaits(t *testing.T) {
	c := start(t, nil)
	id := c.submit(nil)
	r := c.report(id)
	want := "AM Resource Request = <memory:512, vCores:1>; Queue = root.default"
	if !strings.Contains(r.Diagnostics, want) {
		t.Errorf("%q, want %q", r.Diagnostics, want)
	}
	c.node()
	c.ends(id, wire.AppFinished)
	if r := c.report(id); r.Diagnostics != "" {
		t.Errorf("after its end: %q", r.Diagnostics)
	}
}
