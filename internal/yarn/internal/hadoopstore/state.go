package hadoopstore

import (
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// A State is what a store holds. Instants are in ms since 1970.
type State struct {
	Epoch  int64             // of the next life: part of the ids of its containers
	Apps   []App             // in order of submission
	Keys   Keys              // of ApplicationMasters' tokens
	Users  []DelegationKey   // of delegation tokens, in order of ID
	Tokens []DelegationToken // in order of the identifier
	Last   int32             // sequence number of the last delegation token
}

// An App is an application and its attempts, in order of their numbers. Where failures expire, Hadoop removes the first
// ones, so numbers may begin later than with 1.
type App struct {
	Application
	Attempts []Attempt
}

// The states of an application that is over. Hadoop stores no state of others.
const (
	AppFinished = 8
	AppFailed   = 9
	AppKilled   = 10
)

// An Application is ApplicationStateDataProto.
type Application struct {
	Submitted, Started, Launched, Finished int64
	Submission                             wire.Submission // its queue is the one that rules have chosen
	User                                   string
	State                                  int32 // AppFinished, AppFailed or AppKilled; zero: it is not over
	Diagnostics                            string
	Timeouts                               []Timeout
}

func (m *Application) Fields(f *proto.Fields) {
	f.Int64(1, &m.Submitted)
	f.Message(2, &m.Submission)
	f.String(3, &m.User)
	f.Int64(4, &m.Started)
	if f.Has(m.State != 0) {
		f.Int32(5, &m.State)
	}
	f.String(6, &m.Diagnostics)
	f.Int64(7, &m.Finished)
	proto.Repeated(f, 9, &m.Timeouts)
	f.Int64(10, &m.Launched)
}

func (m *Application) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Application) Decode(b []byte) error  { return proto.Decode(b, m) }

// A Timeout is the end of an application's lifetime, if Type is wire.TimeoutLifetime.
type Timeout struct {
	Type int32
	At   int64
}

func (m *Timeout) Fields(f *proto.Fields) {
	f.Int32(1, &m.Type)
	f.Int64(2, &m.At)
}

// The states of an attempt that is over. Hadoop stores no state of others.
const (
	AttemptFailed   = 6
	AttemptFinished = 9
	AttemptKilled   = 10
)

// An Attempt is ApplicationAttemptStateDataProto.
type Attempt struct {
	ID          wire.AttemptID
	Master      *wire.Container // the ApplicationMaster's; nil: unmanaged
	Credentials []byte          // a blob with the key of clients' tokens under ClientKey
	State       int32           // AttemptFailed, AttemptFinished or AttemptKilled; zero: it is not over
	Tracking    string          // URL that its ApplicationMaster has said
	Diagnostics string
	Started     int64
	Final       wire.FinalStatus
	Exit        int32 // of the ApplicationMaster's container
	Memory      int64 // MiB-seconds that its containers have used, in stores of Hadoop 2
	VCores      int64 // core-seconds, likewise
	Finished    int64
	Used        []Use // what its containers have used, with memory and cores
}

// A Use is how much of a kind of resource was used, in its unit times seconds.
type Use struct {
	Kind   string
	Amount int64
}

func (m *Use) Fields(f *proto.Fields) {
	f.String(1, &m.Kind)
	f.Int64(2, &m.Amount)
}

// The kinds that every cluster has.
const (
	Memory = "memory-mb"
	VCores = "vcores"
)

// NoTracking stands for the URL of an attempt that has said none.
const NoTracking = "N/A"

// ClientKey is the name in an attempt's credentials of the key of clients' tokens.
const ClientKey = "YARN_CLIENT_TOKEN_MASTER_KEY"

func (m *Attempt) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	proto.Optional(f, 2, &m.Master)
	if f.Has(m.Credentials != nil) {
		f.Bytes(3, &m.Credentials)
	}
	if f.Has(m.State != 0) {
		f.Int32(4, &m.State)
	}
	f.String(5, &m.Tracking)
	f.String(6, &m.Diagnostics)
	f.Int64(7, &m.Started)
	if f.Has(m.Final != 0) {
		f.Int32(8, (*int32)(&m.Final))
	}
	f.Int32(9, &m.Exit)
	f.Int64(10, &m.Memory)
	f.Int64(11, &m.VCores)
	f.Int64(12, &m.Finished)
	proto.Repeated(f, 15, &m.Used)
}

func (m *Attempt) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Attempt) Decode(b []byte) error  { return proto.Decode(b, m) }

// Keys is AMRMTokenSecretManagerStateProto: the key that signs ApplicationMasters' tokens, and the one after it.
type Keys struct {
	Current, Next *wire.MasterKey // nil: none
}

func (m *Keys) Fields(f *proto.Fields) {
	proto.Optional(f, 1, &m.Current)
	proto.Optional(f, 2, &m.Next)
}

func (m *Keys) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Keys) Decode(b []byte) error  { return proto.Decode(b, m) }

// A DelegationKey signs delegation tokens. Its form is a Writable of Java's.
type DelegationKey struct {
	wire.MasterKey
	Expires int64
}

// A DelegationToken is RMDelegationTokenIdentifierDataProto: a token that is good until it expires.
type DelegationToken struct {
	Identifier []byte // a token.Delegation, from which its password is made
	Expires    int64
}

// ID returns what the identifier says.
func (m *DelegationToken) ID() (id token.Delegation, err error) {
	err = id.Decode(m.Identifier)
	return id, err
}

func (m *DelegationToken) Fields(f *proto.Fields) {
	f.Bytes(1, &m.Identifier)
	f.Int64(2, &m.Expires)
}

func (m *DelegationToken) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *DelegationToken) Decode(b []byte) error  { return proto.Decode(b, m) }

// A version is VersionProto. A store with another major version than ours is refused, as Hadoop refuses it.
type version struct{ Major, Minor int32 }

func (m *version) Fields(f *proto.Fields) {
	f.Int32(1, &m.Major)
	f.Int32(2, &m.Minor)
}

// An epoch is EpochProto.
type epoch struct{ Epoch int64 }

func (m *epoch) Fields(f *proto.Fields) { f.Int64(1, &m.Epoch) }
