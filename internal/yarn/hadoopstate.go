package yarn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/hadoopstore"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// values returns the state as the store has it: values by name.
func (p *past) values() map[string][]byte {
	all := map[string][]byte{nameLife: p.life.Append(nil), nameKeys: p.keys.Append(nil)}
	for _, app := range p.apps {
		name := savedName(app.Submission.ID)
		if wire.AppState(app.State) < wire.AppFinished {
			all[nameLaunch+name] = app.Submission.Append(nil)
		}
		app.Submission.DropLaunch()
		all[nameApp+name] = app.Append(nil)
	}
	for i := range p.tokens {
		all[nameToken+string(p.tokens[i].Identifier)] = p.tokens[i].Append(nil)
	}
	return all
}

// Moved counts what was moved from one store to another.
type Moved struct {
	Apps, Running int      // applications, and how many of them are not over
	Tokens        int      // delegation tokens
	Left          []string // what was left behind, and why, a line each
	To            string   // where it is now
	Before        string   // where the store is now that was there before; "": there was none, or it was replaced
	Aside         string   // where the state is now that was handed over; "": in Hadoop's store only
}

// fromHadoop returns the state of Hadoop's ResourceManager as an earlier life of this one would have stored it.
func fromHadoop(s *hadoopstore.State, queues Queues, sizes Sizes) (*past, Moved, error) {
	queues.withDefaults()
	leaves := queues.leaves()
	moved := Moved{Apps: len(s.Apps)}
	k := newKeys()
	p := &past{
		life: savedLife{Epoch: max(0, s.Epoch-1)},
		keys: &savedKeys{Node: k.node.Save(), Container: k.container.Save(), Delegation: k.delegations.keys.Save(),
			Master: k.master.Save(), Clients: k.clients},
	}
	if s.Keys.Current != nil {
		p.keys.Master = token.Saved{Current: *s.Keys.Current, Next: s.Keys.Next}
	}
	expired := 0
	for i := range s.Apps {
		if expired += missingAttempts(&s.Apps[i]); expired > mostExpired {
			id := s.Apps[i].Submission.ID
			return nil, moved, fmt.Errorf("%s: of it and of the applications before it %d attempts are missing in the "+
				"store, at most %d may be: end it, and while Hadoop's ResourceManager is stopped remove it from the "+
				"store: yarn resourcemanager -remove-application-from-state-store %s", id, expired, mostExpired, id)
		}
		app, err := appFromHadoop(&s.Apps[i], &leaves, sizes)
		if err != nil {
			return nil, moved, err
		}
		app.Order = int64(i + 1)
		p.apps = append(p.apps, app)
		if app.State < int32(wire.AppFinished) {
			moved.Running++
		}
		at := app.Submission.ID.Timestamp
		if p.life.Latest = max(p.life.Latest, at); i == 0 || at < p.life.First {
			p.life.First = at
		}
	}
	for i := range s.Tokens {
		one, err := tokenFromHadoop(&s.Tokens[i], s.Users)
		if err != nil {
			moved.Left = append(moved.Left, err.Error())
			continue
		}
		p.tokens = append(p.tokens, one)
	}
	moved.Tokens = len(p.tokens)
	return p, moved, nil
}

// appFromHadoop returns the stored form of an application of Hadoop's. If Hadoop had not stored the end of the
// application, appFromHadoop concludes it from the stored attempts, as Hadoop does when it starts.
func appFromHadoop(s *hadoopstore.App, leaves *leafTable, sizes Sizes) (*savedApp, error) {
	app := &savedApp{
		User:        s.User,
		Submission:  s.Submission,
		Access:      s.Submission.Launch.ACLs(),
		State:       int32(wire.AppAccepted),
		Diagnostics: s.Diagnostics,
		Times:       times{started: s.Started, launched: s.Launched, finished: s.Finished},
		Ends:        endsIn(&s.Application),
	}
	for i := range s.Attempts {
		a := &s.Attempts[i]
		saved, err := attemptFromHadoop(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.ID, err)
		}
		for len(app.Attempts) < int(a.ID.Attempt)-1 {
			removed := savedAttempt{State: int32(wire.AttemptFailed), Diagnostics: saidRemoved}
			app.Attempts = append(app.Attempts, removed)
		}
		if last := i == len(s.Attempts)-1; !last && saved.State == int32(wire.AttemptLaunched) { // another one followed
			saved.State, saved.Failed = int32(wire.AttemptFailed), true
		}
		app.Attempts = append(app.Attempts, saved)
		app.use(a, sizes)
	}
	app.conclude(s)
	queue, leaf := leaves.find(s.Submission.Queue)
	app.Queue = queue
	if app.State < int32(wire.AppFinished) && !leaf && !leaves.mayCreate(queue) {
		return nil, fmt.Errorf("%s runs in queue %q, which is no leaf queue of the configuration: add the queue, or "+
			"end the application", s.Submission.ID, s.Submission.Queue)
	}
	return app, nil
}

// mostExpired bounds how many attempts of all applications together may be missing in Hadoop's store. Each is stored
// here, because the place of an attempt in the list of its application is its number.
const mostExpired = 100_000

// missingAttempts returns how many attempts of an application, before its last one, are not in Hadoop's store.
func missingAttempts(s *hadoopstore.App) int {
	n := len(s.Attempts)
	if n == 0 {
		return 0
	}
	return int(s.Attempts[n-1].ID.Attempt) - n
}

// saidRemoved is said of an attempt that Hadoop has removed from its store.
const saidRemoved = "of this attempt, whose failure has expired, nothing was stored"

// conclude sets how an application of Hadoop's has ended, if it has: as it is stored, or as its last attempt ended.
// Hadoop stores the end of an attempt before that of its application, and no final status of an ApplicationMaster that
// has said none.
func (m *savedApp) conclude(s *hadoopstore.App) {
	over, ok := overInHadoop[s.State]
	if n := len(s.Attempts); n > 0 {
		last := &s.Attempts[n-1]
		if !ok && (last.State != hadoopstore.AttemptFailed || s.Submission.Unmanaged) { // a failed one may have another
			if over, ok = endsWith[last.State]; ok {
				m.Times.finished, m.Diagnostics = last.Finished, last.Diagnostics
			}
		}
		m.Final = int32(last.Final)
	}
	if !ok {
		m.Final = int32(wire.Undefined)
		return
	}
	m.State = int32(over)
	if m.Final == int32(wire.Undefined) {
		m.Final = int32(finalOf[over])
	}
}

// use adds what the containers of an attempt have used.
func (m *savedApp) use(a *hadoopstore.Attempt, sizes Sizes) {
	if len(a.Used) == 0 {
		m.Memory, m.VCores = m.Memory+a.Memory, m.VCores+a.VCores
	}
	var others sched.Resources
	sizes.others(&others, m.Others)
	for _, u := range a.Used {
		switch k := sizes.kind(u.Kind); {
		case u.Kind == hadoopstore.Memory:
			m.Memory += u.Amount
		case u.Kind == hadoopstore.VCores:
			m.VCores += u.Amount
		case k != nil:
			others[k.at] += u.Amount
		}
	}
	m.Others = sizes.size(others).Others
}

// overInHadoop are the states of applications that are over, by Hadoop's numbers, and overAttempts those of attempts.
var (
	overInHadoop = map[int32]wire.AppState{hadoopstore.AppFinished: wire.AppFinished,
		hadoopstore.AppFailed: wire.AppFailed, hadoopstore.AppKilled: wire.AppKilled}
	overAttempts = map[int32]wire.AttemptState{hadoopstore.AttemptFinished: wire.AttemptFinished,
		hadoopstore.AttemptFailed: wire.AttemptFailed, hadoopstore.AttemptKilled: wire.AttemptKilled}
)

// endsWith is how an application ends with its last attempt, by Hadoop's number of the attempt's state. finalOf is the
// final status of one whose ApplicationMaster has said none.
var (
	endsWith = map[int32]wire.AppState{hadoopstore.AttemptFinished: wire.AppFinished,
		hadoopstore.AttemptFailed: wire.AppFailed, hadoopstore.AttemptKilled: wire.AppKilled}
	finalOf = map[wire.AppState]wire.FinalStatus{wire.AppFailed: wire.Failed, wire.AppKilled: wire.Killed}
)

// numberIn returns Hadoop's number of a state in a map that has each state once; zero: the state is not in it.
func numberIn[S comparable](states map[int32]S, state S) int32 {
	for number, one := range states {
		if one == state {
			return number
		}
	}
	return 0
}

// endsIn returns the end of an application's lifetime; zero: there is none. Hadoop 3 stores the instant.
func endsIn(s *hadoopstore.Application) int64 {
	for _, t := range s.Timeouts {
		if t.Type == wire.TimeoutLifetime {
			return t.At
		}
	}
	if seconds := s.Submission.Lifetime; seconds > 0 && seconds <= mostLifetime {
		return s.Submitted + seconds*1000
	}
	return 0
}

// attemptFromHadoop returns the stored form of an attempt of Hadoop's. An attempt that is not over runs, as far as the
// store knows.
func attemptFromHadoop(s *hadoopstore.Attempt) (savedAttempt, error) {
	a := savedAttempt{
		State:       int32(wire.AttemptLaunched),
		Diagnostics: s.Diagnostics,
		Times:       times{started: s.Started, launched: s.Started, finished: s.Finished},
	}
	if s.Tracking != hadoopstore.NoTracking {
		a.Original = s.Tracking
	}
	if over, ok := overAttempts[s.State]; ok {
		a.State = int32(over)
		a.Failed = over == wire.AttemptFailed && !blamelessExit(s.Exit)
	}
	if c := s.Master; c != nil {
		a.Master = &savedMaster{c.ID.ID, c.Node, c.HTTPAddress, c.Resource, s.Started}
	}
	_, secrets, err := token.ReadCredentials(s.Credentials)
	a.ClientKey = secrets[hadoopstore.ClientKey]
	return a, err
}

// tokenFromHadoop returns the stored form of a delegation token, whose password is made with one of the keys.
func tokenFromHadoop(s *hadoopstore.DelegationToken, all []hadoopstore.DelegationKey) (one savedToken, err error) {
	id, err := s.ID()
	if err != nil {
		return one, err
	}
	at := slices.IndexFunc(all, func(k hadoopstore.DelegationKey) bool { return k.ID == id.Key })
	if at < 0 {
		return one, fmt.Errorf("delegation token %d of %s: the store has no key %d", id.Sequence, id.Owner, id.Key)
	}
	key := all[at].Key
	return savedToken{s.Identifier, token.Sign(key, s.Identifier), s.Expires, key}, nil
}

// toHadoop returns the state for the next life, which is Hadoop's.
func (p *past) toHadoop() (*hadoopstore.State, Moved) {
	moved := Moved{Apps: len(p.apps)}
	s := &hadoopstore.State{Epoch: p.life.Epoch + 1}
	master := &p.keys.Master
	s.Keys.Current = &master.Current
	switch { // Hadoop takes tokens of both, and signs with the next one
	case master.Previous != nil: // there may be tokens of it still; a next one has signed nothing yet
		s.Keys.Current, s.Keys.Next = master.Previous, &master.Current
	case master.Next != nil: // which Hadoop has made, and may have signed with
		s.Keys.Next = master.Next
	}
	for _, app := range p.apps {
		s.Apps = append(s.Apps, app.toHadoop(p.keys.Clients))
		if app.State < int32(wire.AppFinished) {
			moved.Running++
		}
	}
	for i := range p.tokens {
		if err := p.tokens[i].toHadoop(s, &p.keys.Delegation.Current); err != nil {
			moved.Left = append(moved.Left, err.Error())
		}
	}
	moved.Tokens = len(s.Tokens)
	return s, moved
}

// toHadoop returns an application as Hadoop stores it. clients is the secret from which keys of clients' tokens are
// made.
func (m *savedApp) toHadoop(clients []byte) hadoopstore.App {
	to := hadoopstore.App{Application: hadoopstore.Application{
		Submitted:   m.Times.started,
		Started:     m.Times.started,
		Launched:    m.Times.launched,
		Finished:    m.Times.finished,
		Submission:  m.Submission,
		User:        m.User,
		Diagnostics: m.Diagnostics,
	}}
	to.State = numberIn(overInHadoop, wire.AppState(m.State))
	queue := m.Submission.Queue
	if named := strings.TrimPrefix(queue, "root."); named != m.Queue && !strings.HasSuffix(m.Queue, "."+named) {
		queue = "root." + m.Queue // a rule has chosen it, or it was moved there
	}
	to.Submission.Moved(queue, m.Submission.Priority)
	if to.State != 0 {
		to.Submission.Launch = wire.AccessContext(m.Access)
	}
	if m.Ends > 0 {
		to.Timeouts = []hadoopstore.Timeout{{Type: wire.TimeoutLifetime, At: m.Ends}}
	}
	for i := range m.Attempts {
		id := wire.AttemptID{App: m.Submission.ID, Attempt: int32(i + 1)}
		to.Attempts = append(to.Attempts, m.Attempts[i].toHadoop(id, clients))
	}
	if n := len(to.Attempts); n > 0 && to.State != 0 {
		last := &to.Attempts[n-1]
		last.Final = wire.FinalStatus(m.Final)
		last.Used = []hadoopstore.Use{{Kind: hadoopstore.Memory, Amount: m.Memory},
			{Kind: hadoopstore.VCores, Amount: m.VCores}}
		for a := range m.Others.All() {
			last.Used = append(last.Used, hadoopstore.Use{Kind: a.Kind, Amount: a.Value})
		}
		if last.State == 0 {
			last.State, last.Finished = numberIn(endsWith, wire.AppState(m.State)), m.Times.finished
		}
	}
	if to.State != 0 && to.Submission.Resource == nil { // Hadoop refuses to start with one that asks for nothing
		to.Submission.Resource = &wire.Resource{Memory: 1, VCores: 1}
		if n := len(to.Attempts); n > 0 && to.Attempts[n-1].Master != nil {
			to.Submission.Resource = &to.Attempts[n-1].Master.Resource
		}
	}
	return to
}

// toHadoop returns an attempt as Hadoop stores it.
func (m *savedAttempt) toHadoop(id wire.AttemptID, clients []byte) hadoopstore.Attempt {
	key := m.ClientKey
	if key == nil {
		key = clientKey(clients, id)
	}
	to := hadoopstore.Attempt{
		ID:          id,
		Credentials: token.Secrets(map[string][]byte{hadoopstore.ClientKey: key}),
		Tracking:    cmp.Or(m.Original, hadoopstore.NoTracking),
		Diagnostics: m.Diagnostics,
		Started:     m.Times.started,
		Finished:    m.Times.finished,
		Exit:        wire.ExitInvalid,
	}
	to.State = numberIn(overAttempts, wire.AttemptState(m.State))
	if to.State == hadoopstore.AttemptFailed && !m.Failed {
		to.Exit = wire.ExitAborted // which Hadoop does not count
	}
	if c := m.Master; c != nil {
		to.Master = &wire.Container{ID: wire.ContainerID{Attempt: id, ID: c.ID}, Node: c.Node, HTTPAddress: c.Web,
			Resource: c.Resource}
	}
	return to
}

// toHadoop adds a delegation token to a store, and its key: ours, unless another one has signed it.
func (m *savedToken) toHadoop(s *hadoopstore.State, ours *wire.MasterKey) error {
	one := hadoopstore.DelegationToken{Identifier: m.Identifier, Expires: m.Expires}
	id, err := one.ID()
	if err != nil {
		return fmt.Errorf("delegation token %x: %w", m.Identifier, err)
	}
	key := wire.MasterKey{ID: id.Key, Key: m.Key}
	if m.Key == nil {
		key = *ours
	}
	at := slices.IndexFunc(s.Users, func(k hadoopstore.DelegationKey) bool { return k.ID == key.ID })
	switch {
	case at < 0:
		s.Users = append(s.Users, hadoopstore.DelegationKey{MasterKey: key, Expires: id.Most})
	case string(s.Users[at].Key) != string(key.Key):
		return fmt.Errorf("delegation token %d of %s: two keys have the number %d", id.Sequence, id.Owner, key.ID)
	default:
		s.Users[at].Expires = max(s.Users[at].Expires, id.Most)
	}
	s.Tokens = append(s.Tokens, one)
	s.Last = max(s.Last, id.Sequence)
	return nil
}
