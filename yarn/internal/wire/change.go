package wire

import "github.com/sojourn-sched/sojourn/yarn/internal/proto"

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

func (m *PriorityChange) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			r.Message(&m.Priority)
		}
	}
	return r.Err()
}

func (m *PriorityChange) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.ID)
	return proto.AppendMessage(b, 2, &m.Priority)
}

// PriorityChanged says which priority an application has now.
type PriorityChanged struct{ Priority Priority }

func (m *PriorityChanged) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			r.Message(&m.Priority)
		}
	}
	return r.Err()
}

func (m *PriorityChanged) Append(b []byte) []byte { return proto.AppendMessage(b, 1, &m.Priority) }

// A Move puts an application into another queue.
type Move struct {
	ID    ApplicationID
	Queue string
}

func (m *Move) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			m.Queue = r.String()
		}
	}
	return r.Err()
}

func (m *Move) Append(b []byte) []byte {
	return proto.AppendString(proto.AppendMessage(b, 1, &m.ID), 2, m.Queue)
}

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

func (m *Signal) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.Container)
		case 2:
			m.Command = SignalCommand(r.Int32())
		}
	}
	return r.Err()
}

func (m *Signal) Append(b []byte) []byte {
	return proto.AppendInt32(proto.AppendMessage(b, 1, &m.Container), 2, int32(m.Command))
}

// TimeoutLifetime is the one kind of timeout: of how long an application may live.
const TimeoutLifetime = 1

// A Timeout is when an application is ended: an instant like 2026-01-31T15:04:05.000+0000.
type Timeout struct {
	Kind    int32 // TimeoutLifetime
	Expires string
}

func (m *Timeout) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Kind = r.Int32()
		case 2:
			m.Expires = r.String()
		}
	}
	return r.Err()
}

func (m *Timeout) Append(b []byte) []byte {
	return proto.AppendString(proto.AppendInt32(b, 1, m.Kind), 2, m.Expires)
}

// A TimeoutChange changes when an application is ended.
type TimeoutChange struct {
	ID       ApplicationID
	Timeouts []Timeout
}

func (m *TimeoutChange) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			m.Timeouts = proto.Many(&r, m.Timeouts)
		}
	}
	return r.Err()
}

func (m *TimeoutChange) Append(b []byte) []byte {
	return proto.Each(proto.AppendMessage(b, 1, &m.ID), 2, m.Timeouts)
}

// TimeoutsChanged says when an application is ended now.
type TimeoutsChanged struct{ Timeouts []Timeout }

func (m *TimeoutsChanged) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Timeouts = proto.Many(&r, m.Timeouts)
		}
	}
	return r.Err()
}

func (m *TimeoutsChanged) Append(b []byte) []byte { return proto.Each(b, 1, m.Timeouts) }

// TokenWanted asks for a delegation token that somebody may renew.
type TokenWanted struct{ Renewer string }

func (m *TokenWanted) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Renewer = r.String()
		}
	}
	return r.Err()
}

func (m *TokenWanted) Append(b []byte) []byte { return proto.AppendString(b, 1, m.Renewer) }

// TokenGiven is a delegation token: given, to be renewed, or to be cancelled.
type TokenGiven struct{ Token Token }

func (m *TokenGiven) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			r.Message(&m.Token)
		}
	}
	return r.Err()
}

func (m *TokenGiven) Append(b []byte) []byte { return proto.AppendMessage(b, 1, &m.Token) }

// TokenRenewed says until when a delegation token is good now, in ms since 1970.
type TokenRenewed struct{ Expires int64 }

func (m *TokenRenewed) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Expires = r.Int64()
		}
	}
	return r.Err()
}

func (m *TokenRenewed) Append(b []byte) []byte { return proto.AppendInt64(b, 1, m.Expires) }
