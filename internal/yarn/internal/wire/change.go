package wire

import "github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"

// What changes applications and containers that are there, of ApplicationClientProtocol, and delegation tokens:
//
//	updateApplicationPriority     PriorityChange  → PriorityChanged
//	moveApplicationAcrossQueues   Move            → Empty
//	signalToContainer             Signal          → Empty
//	failApplicationAttempt        AttemptRequest  → Empty
//	updateApplicationTimeouts     TimeoutChange   → TimeoutsChanged
//	getDelegationToken            TokenWanted     → TokenGiven
//	renewDelegationToken          TokenGiven      → TokenRenewed
//	cancelDelegationToken         TokenGiven      → Empty

// A PriorityChange makes an application more urgent, or less.
type PriorityChange struct {
	ID       ApplicationID
	Priority Priority
}

func (m *PriorityChange) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	f.Message(2, &m.Priority)
}

func (m *PriorityChange) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *PriorityChange) Decode(b []byte) error  { return proto.Decode(b, m) }

// PriorityChanged says which priority an application has now.
type PriorityChanged struct{ Priority Priority }

func (m *PriorityChanged) Fields(f *proto.Fields) { f.Message(1, &m.Priority) }
func (m *PriorityChanged) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *PriorityChanged) Decode(b []byte) error  { return proto.Decode(b, m) }

// A Move puts an application into another queue.
type Move struct {
	ID    ApplicationID
	Queue string
}

func (m *Move) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	f.String(2, &m.Queue)
}

func (m *Move) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Move) Decode(b []byte) error  { return proto.Decode(b, m) }

// A Signal is sent to a container by its node.
type Signal struct {
	Container ContainerID
	Command   SignalCommand
}

// SignalCommand is what a node does to a container's process.
type SignalCommand int32

// The signals.
const (
	SignalThreadDump SignalCommand = iota + 1
	SignalGraceful                 // terminate
	SignalForceful                 // kill
)

func (m *Signal) Fields(f *proto.Fields) {
	f.Message(1, &m.Container)
	f.Int32(2, (*int32)(&m.Command))
}

func (m *Signal) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Signal) Decode(b []byte) error  { return proto.Decode(b, m) }

// TimeoutLifetime is the one kind of timeout: of how long an application may live.
const TimeoutLifetime = 1

// A Timeout is when an application is ended: an instant like 2026-01-31T15:04:05.000+0000.
type Timeout struct {
	Kind    int32 // TimeoutLifetime
	Expires string
}

func (m *Timeout) Fields(f *proto.Fields) {
	f.Int32(1, &m.Kind)
	f.String(2, &m.Expires)
}

// A TimeoutChange changes when an application is ended.
type TimeoutChange struct {
	ID       ApplicationID
	Timeouts []Timeout
}

func (m *TimeoutChange) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	proto.Repeated(f, 2, &m.Timeouts)
}

func (m *TimeoutChange) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *TimeoutChange) Decode(b []byte) error  { return proto.Decode(b, m) }

// TimeoutsChanged says when an application is ended now.
type TimeoutsChanged struct{ Timeouts []Timeout }

func (m *TimeoutsChanged) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Timeouts) }
func (m *TimeoutsChanged) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *TimeoutsChanged) Decode(b []byte) error  { return proto.Decode(b, m) }

// TokenWanted asks for a delegation token, and names the user who may renew it.
type TokenWanted struct{ Renewer string }

func (m *TokenWanted) Fields(f *proto.Fields) { f.String(1, &m.Renewer) }
func (m *TokenWanted) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *TokenWanted) Decode(b []byte) error  { return proto.Decode(b, m) }

// TokenGiven is a delegation token: given, to be renewed, or to be cancelled.
type TokenGiven struct{ Token Token }

func (m *TokenGiven) Fields(f *proto.Fields) { f.Message(1, &m.Token) }
func (m *TokenGiven) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *TokenGiven) Decode(b []byte) error  { return proto.Decode(b, m) }

// TokenRenewed says until when a delegation token is good now, in ms since 1970.
type TokenRenewed struct{ Expires int64 }

func (m *TokenRenewed) Fields(f *proto.Fields) { f.Int64(1, &m.Expires) }
func (m *TokenRenewed) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *TokenRenewed) Decode(b []byte) error  { return proto.Decode(b, m) }
