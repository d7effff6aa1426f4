package wire

import "github.com/sojourn-sched/sojourn/yarn/internal/proto"

// A Submission is an application as its user submits it.
type Submission struct {
	ID             ApplicationID
	Name           string
	Queue          string
	Priority       Priority
	Launch         LaunchContext // of its ApplicationMaster
	Unmanaged      bool          // its ApplicationMaster is started by somebody else
	MaxAttempts    int32         // of its ApplicationMaster; zero: the cluster's default
	Resource       *Resource     // of its ApplicationMaster (Spark); nil: see Master
	Type           string
	KeepContainers bool  // over attempts
	Lifetime       int64 // s; zero: unlimited
	Tags           []string
	Label          string
	Master         []ResourceRequest // for its ApplicationMaster (MapReduce): the one for "*" counts
	LogAggregation proto.Raw         // for container tokens, as it came; nil: none
	raw            proto.Raw
}

func (m *Submission) Decode(b []byte) error {
	m.raw = append(m.raw[:0:0], b...)
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			m.Name = r.String()
		case 3:
			m.Queue = r.String()
		case 4:
			r.Message(&m.Priority)
		case 5:
			r.Message(&m.Launch)
		case 7:
			m.Unmanaged = r.Bool()
		case 8:
			m.MaxAttempts = r.Int32()
		case 9:
			m.Resource = proto.One(&r, m.Resource)
		case 10:
			m.Type = r.String()
		case 11:
			m.KeepContainers = r.Bool()
		case 12:
			m.Tags = append(m.Tags, r.String())
		case 14:
			m.LogAggregation = r.Bytes()
		case 16:
			m.Label = r.String()
		case 17:
			m.Master = proto.Many(&r, m.Master)
		case 18:
			m.Lifetime = lifetimeOf(r.Lent())
		}
	}
	return r.Err()
}

// Append writes a decoded submission as it came, and one made here from its fields.
func (m *Submission) Append(b []byte) []byte {
	if m.raw != nil {
		return append(b, m.raw...)
	}
	b = proto.AppendMessage(b, 1, &m.ID)
	b = proto.AppendString(b, 2, m.Name)
	b = proto.AppendString(b, 3, m.Queue)
	b = proto.AppendMessage(b, 4, &m.Priority)
	b = proto.AppendMessage(b, 5, &m.Launch)
	b = proto.AppendBool(b, 7, m.Unmanaged)
	b = proto.AppendInt32(b, 8, m.MaxAttempts)
	if m.Resource != nil {
		b = proto.AppendMessage(b, 9, m.Resource)
	}
	if m.Type != "" {
		b = proto.AppendString(b, 10, m.Type)
	}
	b = proto.AppendBool(b, 11, m.KeepContainers)
	b = proto.AppendStrings(b, 12, m.Tags)
	b = proto.Each(b, 17, m.Master)
	if m.Lifetime != 0 {
		b = proto.AppendMessage(b, 18, proto.Raw(proto.AppendInt64(proto.AppendInt32(nil, 1, TimeoutLifetime), 2, m.Lifetime)))
	}
	return b
}

// Launched lets go of what only launching needs, which may be large: the context, the credentials in it, and the message as it came.
func (m *Submission) Launched() { m.Launch, m.LogAggregation, m.raw = LaunchContext{}, nil, nil }

// lifetimeOf reads a timeout of a submission: its kind, and a number of s.
func lifetimeOf(b []byte) (s int64) {
	for r := proto.Read(b); r.Next(); {
		if r.Num() == 2 {
			s = r.Int64()
		}
	}
	return s
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

// A LaunchContext is what a container runs: files, environment, commands, credentials. It is the client's, and is passed on with all that
// it has, known here or not.
type LaunchContext struct{ fields proto.Raw }

func (m *LaunchContext) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
	}
	m.fields = append(m.fields[:0:0], b...)
	return r.Err()
}

func (m *LaunchContext) Append(b []byte) []byte { return m.fields.Append(b) }

// NewLaunchContext returns one that runs a command.
func NewLaunchContext(command string) LaunchContext {
	return LaunchContext{proto.AppendString(nil, 5, command)}
}

const (
	launchTokens      = 2
	launchEnvironment = 4
	launchACLs        = 6
)

// Tokens returns the credentials blob; nil: none.
func (m *LaunchContext) Tokens() []byte {
	for r := proto.Read(m.fields); r.Next(); {
		if r.Num() == launchTokens {
			return r.Bytes()
		}
	}
	return nil
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

func (m *Variable) Append(b []byte) []byte {
	return proto.AppendString(proto.AppendString(b, 1, m.Name), 2, m.Value)
}

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
