package yarn

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/store"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// The names of values in the store. Containers are not stored: NodeManagers report them when they register again.
//
// A keeper may delete the values of an application one after the other, in the order of their names. The application's
// own value comes first in this order. So an application whose own value is there has all its values.
const (
	nameLife   = "life"
	nameKeys   = "keys"
	nameApp    = "app/"    // and the id: an application, without what only the launch of its ApplicationMaster needs
	nameLaunch = "launch/" // and the id: its whole submission, until the application is over
	nameOld    = "old"     // a number from 0, a slash and the id: attempts of long ago, in parts of attemptsOfPart
	nameToken  = "token/"  // and the identifier: a delegation token
)

// A saver writes the state that outlives the process. The changes of a turn are written after the turn, atomically. A
// nil saver writes nothing.
type saver struct {
	to      *store.Store
	apps    map[*application]bool // applications that have changed in this turn
	changed map[string][]byte     // other values that have changed in this turn
	marks   int                   // changes since the start, and calls of await
	last    uint64                // number of the last changes that were put; zero: there were none
}

// mark notes that an application has changed.
func (s *saver) mark(app *application) {
	if s != nil {
		s.apps[app] = true
		s.marks++
	}
}

// put notes that the value of that name is m from now on; a nil m deletes it.
func (s *saver) put(name string, m proto.Message) {
	if s == nil {
		return
	}
	s.marks++
	s.changed[name] = nil
	if m != nil {
		s.changed[name] = m.Append([]byte{})
	}
}

// await makes the answer to the present call wait until all changes so far are stored, as if the call had made one. A
// call that repeats another changes nothing, but what the first one changed may not be stored yet.
func (s *saver) await() {
	if s != nil {
		s.marks++
	}
}

// seen returns how many changes and calls of await there were.
func (s *saver) seen() int {
	if s == nil {
		return 0
	}
	return s.marks
}

// mostInFull is how many attempts of an application, the last ones, keep their whole diagnostics. Earlier attempts keep
// the beginning.
const mostInFull = 20

// attemptsOfPart is how many attempts a part has. Where failures expire an application may have any number of attempts,
// and only the last ones change: all attempts before the last mostInFull are written once, part by part.
const attemptsOfPart = 16

// mostParts is how many parts of an application's attempts one turn adds, so that all that changes of the application
// fits into one request to ZooKeeper. The attempts after them stay in its own value until a later turn.
const mostParts = 256

// stored says what the store has of an application beside its latest state.
type stored struct {
	launch bool // what only the launch of an ApplicationMaster needs
	parts  int  // of attempts
}

// oldName returns the name of a part of an application's attempts. name is that of the application.
func oldName(part int, name string) string { return fmt.Sprintf("%s%d/%s", nameOld, part, name) }

// saveOld adds to the values to be stored the parts of an application's attempts that are whole and are not stored yet,
// mostParts at most. name is that of the application.
func saveOld(app *application, to map[string][]byte, name string) {
	n, whole := attemptsOfPart, max(0, len(app.attempts)-mostInFull)/attemptsOfPart
	for most := min(whole, app.stored.parts+mostParts); app.stored.parts < most; app.stored.parts++ {
		part := savedPart{Attempts: savedAttempts(app.attempts[n*app.stored.parts:][:n])}
		to[oldName(app.stored.parts, name)] = part.Append([]byte{})
	}
}

// flush starts to write the changes of this turn. It returns the number for wait, which is that of the turn before if
// nothing has changed; zero: nothing ever has.
func (s *saver) flush() uint64 {
	if s == nil {
		return 0
	}
	if len(s.apps)+len(s.changed) == 0 {
		return s.last
	}
	for app := range s.apps {
		name := savedName(app.id)
		if app.forgotten {
			s.changed[nameApp+name], s.changed[nameLaunch+name] = nil, nil
			for part := range app.stored.parts {
				s.changed[oldName(part, name)] = nil
			}
			continue
		}
		saveOld(app, s.changed, name)
		s.changed[nameApp+name] = app.saved().Append([]byte{})
		if app.over {
			s.changed[nameLaunch+name] = nil
		} else if !app.stored.launch {
			app.stored.launch = true
			s.changed[nameLaunch+name] = app.submission.Append([]byte{})
		}
	}
	clear(s.apps)
	s.last = s.to.Put(s.changed)
	clear(s.changed)
	return s.last
}

// wait returns when the changes for which flush returned number are stored. It must not be called within a turn.
func (s *saver) wait(number uint64) error {
	if s != nil && number > 0 && !s.to.Wait(number) {
		return fmt.Errorf("this ResourceManager ends, and what was asked for may be lost")
	}
	return nil
}

// release makes wait return at once, now and from now on.
func (s *saver) release() {
	if s != nil {
		s.to.Release()
	}
}

// close writes the changes that are left, and closes the store.
func (s *saver) close() error {
	if s == nil {
		return nil
	}
	s.flush()
	return s.to.Close()
}

// store returns the name, for REST, of where the state is stored.
func (m *manager) store() string {
	switch {
	case m.saves == nil:
		return "none"
	case m.config.Kept.Active != nil:
		return inZooKeeper
	}
	return "bbolt"
}

// waiter returns a function that waits until the changes of this turn are stored.
func (s *saver) waiter() func() error {
	if s == nil {
		return func() error { return nil }
	}
	number := s.to.Next()
	return func() error { return s.wait(number) }
}

// savedName returns the part of names that names an application.
func savedName(id wire.ApplicationID) string { return fmt.Sprintf("%d/%d", id.Timestamp, id.ID) }

// A savedLife describes the last life of the ResourceManager, from a start to an end.
type savedLife struct {
	Epoch  int64 // how many lives there were before it
	Latest int64 // the latest timestamp of ids of applications
	First  int64 // the identity of the first life
}

func (m *savedLife) Fields(f *proto.Fields) {
	f.Int64(1, &m.Epoch)
	f.Int64(2, &m.Latest)
	f.Int64(3, &m.First)
}

func (m *savedLife) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *savedLife) Decode(b []byte) error  { return proto.Decode(b, m) }

// savedKeys are the keys that sign tokens.
type savedKeys struct {
	Master, Node, Container, Delegation token.Saved
	Clients                             []byte
}

func (m *savedKeys) Fields(f *proto.Fields) {
	f.Message(1, &m.Master)
	f.Message(2, &m.Node)
	f.Message(3, &m.Container)
	f.Message(4, &m.Delegation)
	f.Bytes(5, &m.Clients)
}

func (m *savedKeys) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *savedKeys) Decode(b []byte) error  { return proto.Decode(b, m) }

// A savedApp is the stored form of an application. Instants are in ms since 1970.
type savedApp struct {
	Order       int64           // of submission, over all lives
	User, Queue string          // as in application
	Submission  wire.Submission // without what only the launch of the ApplicationMaster needs
	Access      []wire.ACL
	State       int32
	Final       int32
	Diagnostics string
	Times       times
	Ends        int64          // of its lifetime; zero: never
	Memory      int64          // MiB-seconds that it used; set when the application is over
	VCores      int64          // core-seconds, likewise
	Others      wire.Others    // seconds of other kinds, likewise
	Parts       int32          // of attempts, which are stored apart
	Attempts    []savedAttempt // those after them

	launch bool // Submission is whole, by a value of its own
}

func (m *savedApp) Fields(f *proto.Fields) {
	f.Int64(1, &m.Order)
	f.String(2, &m.User)
	f.String(3, &m.Queue)
	f.Message(4, &m.Submission)
	proto.Repeated(f, 5, &m.Access)
	f.Int32(6, &m.State)
	f.Int32(7, &m.Final)
	f.String(8, &m.Diagnostics)
	f.Message(9, &m.Times)
	f.Int64(10, &m.Ends)
	f.Int64(11, &m.Memory)
	f.Int64(12, &m.VCores)
	proto.Repeated(f, 13, &m.Attempts)
	f.String(14, (*string)(&m.Others))
	f.Int32(15, &m.Parts)
}

func (m *savedApp) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *savedApp) Decode(b []byte) error  { return proto.Decode(b, m) }

// A savedPart has attempts of long ago.
type savedPart struct{ Attempts []savedAttempt }

func (m *savedPart) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Attempts) }

func (m *savedPart) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *savedPart) Decode(b []byte) error  { return proto.Decode(b, m) }

func (m *times) Fields(f *proto.Fields) {
	f.Int64(1, &m.started)
	f.Int64(2, &m.launched)
	f.Int64(3, &m.finished)
}

// A savedAttempt is the stored form of an attempt, with its ApplicationMaster's address and container.
type savedAttempt struct {
	State       int32
	Failed      bool // as in attempt
	Diagnostics string
	Times       times
	Host        string
	Port        int32
	Original    string
	Master      *savedMaster // nil: unmanaged
	ClientKey   []byte       // as in attempt
}

func (m *savedAttempt) Fields(f *proto.Fields) {
	f.Int32(1, &m.State)
	f.Bool(2, &m.Failed)
	f.String(3, &m.Diagnostics)
	f.Message(4, &m.Times)
	f.String(5, &m.Host)
	f.Int32(6, &m.Port)
	f.String(7, &m.Original)
	proto.Optional(f, 8, &m.Master)
	if f.Has(m.ClientKey != nil) {
		f.Bytes(9, &m.ClientKey)
	}
}

// A savedMaster is the stored form of an ApplicationMaster's container.
type savedMaster struct {
	ID       int64
	Node     wire.NodeID
	Web      string
	Resource wire.Resource
	Created  int64
}

func (m *savedMaster) Fields(f *proto.Fields) {
	f.Int64(1, &m.ID)
	f.Message(2, &m.Node)
	f.String(3, &m.Web)
	f.Message(4, &m.Resource)
	f.Int64(5, &m.Created)
}

// A savedToken is the stored form of a delegation token. Its identifier is in the name, too.
type savedToken struct {
	Identifier, Password []byte
	Expires              int64
	Key                  []byte // as in delegation
}

func (m *savedToken) Fields(f *proto.Fields) {
	f.Bytes(1, &m.Identifier)
	f.Bytes(2, &m.Password)
	f.Int64(3, &m.Expires)
	if f.Has(m.Key != nil) {
		f.Bytes(4, &m.Key)
	}
}

func (m *savedToken) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *savedToken) Decode(b []byte) error  { return proto.Decode(b, m) }

// saved returns the stored form of the application.
func (app *application) saved() *savedApp {
	m := &savedApp{
		Order:       app.order,
		User:        app.user,
		Queue:       app.queue,
		Submission:  app.submission,
		State:       int32(app.state),
		Final:       int32(app.outcome.final),
		Diagnostics: app.outcome.diagnostics,
		Times:       app.times,
		Memory:      int64(app.used[sched.Memory]),
		VCores:      int64(app.used[sched.VCores]),
		Others:      app.m.config.Sizes.seconds(app.used),
		Parts:       int32(app.stored.parts),
		Attempts:    savedAttempts(app.attempts[attemptsOfPart*app.stored.parts:]),
	}
	m.Submission.DropLaunch()
	if !app.lifetime.ends.IsZero() {
		m.Ends = app.lifetime.ends.UnixMilli()
	}
	for _, kind := range slices.Sorted(maps.Keys(app.access)) {
		m.Access = append(m.Access, wire.ACL{Type: kind, Users: string(app.access[kind])})
	}
	return m
}

func savedAttempts(list []*attempt) (saved []savedAttempt) {
	for _, a := range list {
		saved = append(saved, a.saved())
	}
	return saved
}

func (a *attempt) saved() savedAttempt {
	m := savedAttempt{
		State:       int32(a.state),
		Failed:      a.failed,
		Diagnostics: a.diagnostics,
		Times:       a.times,
		Host:        a.address.Host,
		Port:        a.address.Port,
		Original:    a.address.Original,
		ClientKey:   a.clientKey,
	}
	if c := a.master; c != nil {
		m.Master = &savedMaster{c.id.ID, c.node.id, c.node.web, c.resource, c.created}
	}
	return m
}

// save marks the application to be written to the store at the end of this turn.
func (app *application) save() { app.m.saves.mark(app) }

// saveLife writes to the store what the next life must know of this one.
func saveLife(m *manager) {
	m.saves.put(nameLife, &savedLife{m.life.epoch, m.apps.ids.timestamp, m.life.first})
}

// saveKeys writes the keys to the store.
func (m *manager) saveKeys() {
	k := &m.keys
	m.saves.put(nameKeys, &savedKeys{k.master.Save(), k.node.Save(), k.container.Save(), k.delegations.keys.Save(),
		k.clients})
}

// save writes a delegation token to the store.
func (d *delegation) save(m *manager, identifier []byte) {
	m.saves.put(nameToken+string(identifier), &savedToken{identifier, d.password, d.expires.UnixMilli(), d.key})
}

// A past is the state that an earlier process has stored.
type past struct {
	life   savedLife
	keys   *savedKeys // nil: there was no life before
	apps   []*savedApp
	tokens []savedToken
	left   []string // names of values of no application, which a deletion that was cut short has left
}

// readPast decodes the values of the store. Applications are in the order of submission.
func readPast(values map[string][]byte) (*past, error) {
	p := &past{}
	for name, text := range values {
		var err error
		switch {
		case name == nameLife:
			err = p.life.Decode(text)
		case name == nameKeys:
			p.keys = &savedKeys{}
			err = p.keys.Decode(text)
		case strings.HasPrefix(name, nameToken):
			one := savedToken{}
			err = one.Decode(text)
			p.tokens = append(p.tokens, one)
		case strings.HasPrefix(name, nameApp):
			app := &savedApp{}
			if err = app.Decode(text); err == nil {
				name := strings.TrimPrefix(name, nameApp)
				err = errors.Join(app.merge(values[nameLaunch+name]), app.addOld(values, name))
			}
			p.apps = append(p.apps, app)
		case strings.HasPrefix(name, nameLaunch), strings.HasPrefix(name, nameOld):
			if _, app, _ := strings.Cut(name, "/"); values[nameApp+app] == nil {
				p.left = append(p.left, name)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%.80q: %w", name, err)
		}
	}
	slices.SortFunc(p.apps, func(a, b *savedApp) int { return cmp.Compare(a.Order, b.Order) })
	slices.SortFunc(p.tokens, func(a, b savedToken) int {
		return cmp.Compare(string(a.Identifier), string(b.Identifier))
	})
	return p, nil
}

// whole returns an error for a state without keys: they are written last and deleted first.
func (p *past) whole() error {
	if p.keys == nil && len(p.apps)+len(p.tokens) > 0 {
		return errors.New("is not whole: a take-over or a hand-over was cut short: `sojourn rm take-over` makes it " +
			"again")
	}
	return nil
}

// addOld puts the attempts that are stored apart before the others. name is that of the application.
func (m *savedApp) addOld(values map[string][]byte, name string) error {
	var all []savedAttempt
	for i := range int(m.Parts) {
		var part savedPart
		if err := part.Decode(values[oldName(i, name)]); err != nil {
			return fmt.Errorf("part %d of %d of its attempts: %w", i+1, m.Parts, err)
		}
		if len(part.Attempts) != attemptsOfPart { // none, if the part is missing
			return fmt.Errorf("part %d of %d of its attempts has %d, must have %d", i+1, m.Parts,
				len(part.Attempts), attemptsOfPart)
		}
		all = append(all, part.Attempts...)
	}
	m.Attempts = append(all, m.Attempts...)
	return nil
}

// merge takes the submission from launch, the value of nameLaunch; nil: it was deleted, because the application is
// over.
func (m *savedApp) merge(launch []byte) error {
	if launch == nil {
		m.Submission.DropLaunch()
		return nil
	}
	var s wire.Submission
	if err := s.Decode(launch); err != nil {
		return err
	}
	s.Name, s.Type, s.Priority = m.Submission.Name, m.Submission.Type, m.Submission.Priority
	m.Submission, m.launch = s, true
	return nil
}

// millisTime returns the instant of ms since 1970; zero: the zero Time.
func millisTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
