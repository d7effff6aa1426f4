package wire

import (
	"bytes"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// A Submission is an application as its user submits it. One that was read is written as it came, one made here from
// its fields.
type Submission struct {
	ID             ApplicationID
	Name           string
	Queue          string
	Priority       Priority
	Launch         LaunchContext // of its ApplicationMaster
	Unmanaged      bool          // the client starts its ApplicationMaster, not the ResourceManager
	MaxAttempts    int32         // of its ApplicationMaster; zero: the cluster's default
	Resource       *Resource     // of its ApplicationMaster (Spark); nil: see Master
	Type           string
	KeepContainers bool  // over attempts
	Validity       int64 // ms for which a failure of its ApplicationMaster counts; up to 0: for ever
	Lifetime       int64 // s; zero: unlimited
	Tags           []string
	Label          string
	Master         []ResourceRequest // for its ApplicationMaster (MapReduce): the one for "*" counts
	LogAggregation proto.Raw         // for container tokens, as it came; nil: none
	raw            proto.Raw         // the message that was read; nil: it was made here
}

func (m *Submission) Fields(f *proto.Fields) {
	if f.Begins() {
		m.raw = append(m.raw, f.Encoded()...) // of a message in parts all count: so protobuf merges
	} else if !f.Reading() && len(m.raw) > 0 {
		f.Copy(m.raw)
		return
	}
	f.Message(1, &m.ID)
	f.String(2, &m.Name)
	f.String(3, &m.Queue)
	f.Message(4, &m.Priority)
	f.Message(5, &m.Launch)
	f.Bool(7, &m.Unmanaged)
	f.Int32(8, &m.MaxAttempts)
	proto.Optional(f, 9, &m.Resource)
	if f.Has(m.Type != "") {
		f.String(10, &m.Type)
	}
	f.Bool(11, &m.KeepContainers)
	f.Strings(12, &m.Tags)
	if f.Has(m.Validity != 0) {
		f.Int64(13, &m.Validity)
	}
	if f.Has(m.LogAggregation != nil) {
		f.Message(14, &m.LogAggregation)
	}
	if f.Has(m.Label != "") {
		f.String(16, &m.Label)
	}
	proto.Repeated(f, 17, &m.Master)
	if f.Has(m.Lifetime != 0) {
		f.Within(18, func() {
			f.Put(1, TimeoutLifetime)
			f.Int64(2, &m.Lifetime)
		})
	}
}

func (m *Submission) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Submission) Decode(b []byte) error  { return proto.Decode(b, m) }

// The memory that a ResourceRequest takes without its strings, and a string without its text, in bytes.
const requestBytes, stringBytes = 88, 16

// Footprint returns how many bytes of memory the submission takes, with what is made of the message.
func (m *Submission) Footprint() int64 {
	n := len(m.raw) + len(m.Launch.fields) + len(m.LogAggregation) + len(m.Name) + len(m.Queue) + len(m.Type) +
		cap(m.Tags)*stringBytes + cap(m.Master)*requestBytes
	for _, tag := range m.Tags {
		n += len(tag)
	}
	for i := range m.Master {
		n += len(m.Master[i].Place) + len(m.Master[i].Label) + len(m.Master[i].Resource.Others)
	}
	return int64(n)
}

// DropLaunch drops what only the launch of an ApplicationMaster needs, which may be large: the context with its
// credentials and access lists, the places for the ApplicationMaster, how logs are collected, and the message as it
// came.
func (m *Submission) DropLaunch() {
	m.Launch, m.LogAggregation, m.Master, m.raw = LaunchContext{}, nil, nil, nil
}

// DropLaunchExceptACLs drops what DropLaunch drops, except the access lists.
func (m *Submission) DropLaunchExceptACLs() {
	list := m.Launch.ACLs()
	m.DropLaunch()
	m.Launch = AccessContext(list)
}

// Moved sets the queue and the priority with which the application runs now, in the message as it came, too.
func (m *Submission) Moved(queue string, priority Priority) {
	m.Queue, m.Priority = queue, priority
	if len(m.raw) > 0 { // of a field that is there twice, the last counts
		raw := proto.AppendString(bytes.Clone(m.raw), 3, queue)
		m.raw = proto.AppendMessage(raw, 4, proto.Raw(proto.Append(nil, &priority)))
	}
}

// MasterResource returns what the ApplicationMaster's container is to have.
func (m *Submission) MasterResource() (Resource, bool) {
	for _, q := range m.Master {
		if q.Place == Anywhere || q.Place == "" {
			return q.Resource, true
		}
	}
	if m.Resource != nil {
		return *m.Resource, true
	}
	return Resource{}, false
}

// A LaunchContext is what a container runs: files, environment, commands, credentials. It is the client's, and is
// passed on with all that it has, known here or not.
type LaunchContext struct{ fields proto.Raw }

func (m *LaunchContext) Fields(f *proto.Fields) { m.fields.Fields(f) }

// NewLaunchContext returns one that runs a command.
func NewLaunchContext(command string) LaunchContext {
	return LaunchContext{proto.AppendString(nil, 5, command)}
}

// AccessContext returns a context that has nothing but access lists.
func AccessContext(list []ACL) LaunchContext { return LaunchContext{proto.Each(nil, launchACLs, list)} }

const (
	launchTokens      = 2
	launchEnvironment = 4
	launchACLs        = 6
)

// Tokens returns the credentials blob, of several the last; nil: none.
func (m *LaunchContext) Tokens() []byte {
	var last []byte
	for r := proto.Read(m.fields); r.Next(); {
		if r.Num() == launchTokens {
			last = r.Lent()
		}
	}
	return bytes.Clone(last)
}

// ACLs returns who may see and change the application.
func (m *LaunchContext) ACLs() (list []ACL) {
	for r := proto.Read(m.fields); r.Next(); {
		if r.Num() == launchACLs {
			list = proto.Many(&r, list)
		}
	}
	return list
}

// A Variable is one of a container's environment.
type Variable struct{ Name, Value string }

func (m *Variable) Fields(f *proto.Fields) {
	f.String(1, &m.Name)
	f.String(2, &m.Value)
}

func (m *Variable) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Variable) Decode(b []byte) error  { return proto.Decode(b, m) }

// With returns the context with other credentials and more environment; the rest stays as it is.
func (m *LaunchContext) With(tokens []byte, more []Variable) LaunchContext {
	var files, rest []byte
	for r := proto.Read(m.fields); r.Next(); {
		switch n := r.Num(); {
		case n < launchTokens:
			files = append(files, r.Raw()...)
		case n > launchTokens:
			rest = append(rest, r.Raw()...)
		}
	}
	files = proto.AppendBytes(files, launchTokens, tokens)
	files = proto.Each(files, launchEnvironment, more)
	return LaunchContext{append(files, rest...)}
}
