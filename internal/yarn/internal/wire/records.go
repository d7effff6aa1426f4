package wire

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// An ApplicationID names an application: the ResourceManager's start in ms, and an ordinal from 1.
type ApplicationID struct {
	ID        int32
	Timestamp int64
}

func (m *ApplicationID) Fields(f *proto.Fields) {
	f.Int32(1, &m.ID)
	f.Int64(2, &m.Timestamp)
}

// String returns the form that commands and logs use.
func (m ApplicationID) String() string { return fmt.Sprintf("application_%d_%04d", m.Timestamp, m.ID) }

// ParseApplicationID reads the form that String writes.
func ParseApplicationID(s string) (ApplicationID, error) {
	parts := strings.Split(s, "_")
	if len(parts) == 3 && parts[0] == "application" {
		ts, err1 := strconv.ParseInt(parts[1], 10, 64)
		id, err2 := strconv.ParseInt(parts[2], 10, 32)
		if err1 == nil && err2 == nil && ts >= 0 && id > 0 {
			return ApplicationID{int32(id), ts}, nil
		}
	}
	return ApplicationID{}, fmt.Errorf("application id %q: must be like application_1700000000000_0001", s)
}

// An AttemptID names an attempt of an application: one run of its ApplicationMaster, from 1.
type AttemptID struct {
	App     ApplicationID
	Attempt int32
}

func (m *AttemptID) Fields(f *proto.Fields) {
	f.Message(1, &m.App)
	f.Int32(2, &m.Attempt)
}

func (m *AttemptID) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *AttemptID) Decode(b []byte) error  { return proto.Decode(b, m) }

// String returns the form that logs and token holders use.
func (m AttemptID) String() string {
	return fmt.Sprintf("appattempt_%d_%04d_%06d", m.App.Timestamp, m.App.ID, m.Attempt)
}

// A ContainerID names a container: an attempt, and an ordinal below 2^40 after the epoch of the ResourceManager.
type ContainerID struct {
	Attempt AttemptID
	ID      int64
}

// EpochShift is how many bits of a container's ordinal its epoch is above.
const EpochShift = 40

func (m *ContainerID) Fields(f *proto.Fields) {
	f.Message(2, &m.Attempt)
	f.Int64(3, &m.ID)
}

func (m *ContainerID) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ContainerID) Decode(b []byte) error  { return proto.Decode(b, m) }

// String returns the form that commands, logs and folders use.
func (m ContainerID) String() string {
	epoch := ""
	if e := m.ID >> EpochShift; e != 0 {
		epoch = fmt.Sprintf("e%02d_", e)
	}
	return fmt.Sprintf(
		"container_%s%d_%04d_%02d_%06d",
		epoch,
		m.Attempt.App.Timestamp,
		m.Attempt.App.ID,
		m.Attempt.Attempt,
		m.ID&(1<<EpochShift-1),
	)
}

// A NodeID names a NodeManager exactly as it registered.
type NodeID struct {
	Host string
	Port int32
}

func (m *NodeID) Fields(f *proto.Fields) {
	f.String(1, &m.Host)
	f.Int32(2, &m.Port)
}

// String returns host:port.
func (m NodeID) String() string { return net.JoinHostPort(m.Host, strconv.Itoa(int(m.Port))) }

// A Priority is a number alone in a message. Of containers, smaller is more urgent; of applications, larger.
type Priority int32

func (m *Priority) Fields(f *proto.Fields) { f.Int32(1, (*int32)(m)) }

// A Token is an identifier, and the password that shows who signed it.
type Token struct {
	Identifier, Password []byte
	Kind, Service        string
}

func (m *Token) Fields(f *proto.Fields) {
	f.Bytes(1, &m.Identifier)
	f.Bytes(2, &m.Password)
	f.String(3, &m.Kind)
	f.String(4, &m.Service)
}

func (m *Token) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Token) Decode(b []byte) error  { return proto.Decode(b, m) }

// A MasterKey is what tokens are signed with. A NodeManager adopts a key only if its ID differs from the one that it
// has.
type MasterKey struct {
	ID  int32
	Key []byte
}

func (m *MasterKey) Fields(f *proto.Fields) {
	f.Int32(1, &m.ID)
	f.Bytes(2, &m.Key)
}

// ContainerState says how far a container is.
type ContainerState int32

// The states of a container.
const (
	ContainerNew ContainerState = iota + 1
	ContainerRunning
	ContainerComplete
)

// Exit statuses that are not a process's own.
const (
	ExitInvalid   = -1000 // it still runs
	ExitAborted   = -100  // released by the application, or its node was lost
	ExitDisks     = -101  // its node's disks failed
	ExitPreempted = -102
	ExitVirtual   = -103 // it took more virtual memory than it had
	ExitMemory    = -104 // it took more memory than it had
	ExitByMaster  = -105 // killed by its ApplicationMaster
	ExitByRM      = -106 // killed by the ResourceManager
	ExitAfterApp  = -107 // its application was over
)

// A ContainerStatus is how a container is doing.
type ContainerStatus struct {
	ID          ContainerID
	State       ContainerState
	Diagnostics string
	Exit        int32
	raw         []byte // as a NodeManager sent it, lent; nil: made here
}

func (m *ContainerStatus) Fields(f *proto.Fields) {
	if f.Begins() {
		m.Exit, m.raw = ExitInvalid, f.Encoded()
	} else if !f.Reading() && len(m.raw) > 0 {
		f.Copy(m.raw) // as it came
		return
	}
	f.Message(1, &m.ID)
	f.Int32(2, (*int32)(&m.State))
	if f.Reading() && m.State != ContainerComplete {
		f.Skip(3) // of what runs it is not needed, and comes every second
	} else {
		f.String(3, &m.Diagnostics)
	}
	f.Int32(4, &m.Exit)
}

// Keep returns the status with what was lent to it copied to the end of b, and b.
func (m *ContainerStatus) Keep(b []byte) (ContainerStatus, []byte) {
	at := len(b)
	b = append(b, m.raw...)
	kept := *m
	kept.raw = b[at:len(b):len(b)]
	return kept, b
}

// ContainerType distinguishes an ApplicationMaster's container from the others.
type ContainerType int32

// The types of containers.
const (
	MasterContainer ContainerType = iota + 1
	TaskContainer
)

// A Container is a lease of a part of a node, as an ApplicationMaster gets it. MapReduce's fails without the address,
// the size or the priority.
type Container struct {
	ID          ContainerID
	Node        NodeID
	HTTPAddress string // host:port
	Resource    Resource
	Priority    Priority // of the ask that it answers
	Token       Token
	Allocation  int64 // of the ask that it answers
	Version     int32 // how often its size has changed
}

func (m *Container) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	f.Message(2, &m.Node)
	f.String(3, &m.HTTPAddress)
	f.Message(4, &m.Resource)
	f.Message(5, &m.Priority)
	f.Message(6, &m.Token)
	f.Put(7, executionGuaranteed)
	f.Int64(8, &m.Allocation)
	if f.Has(m.Version != 0) {
		f.Int32(9, &m.Version)
	}
}

const executionGuaranteed = 1 // Hadoop's other kind, opportunistic containers, is not offered

// A ResourceRequest says how many containers of one size an application wants in one place. It is written as Hadoop's
// AMRMClient does.
type ResourceRequest struct {
	Priority   Priority
	Place      string // "*", "/rack" or host
	Resource   Resource
	Containers int32
	Relax      bool // farther places will do
	Label      string
	Allocation int64 // -1: none
}

// Anywhere is the place of the request that carries the total.
const Anywhere = "*"

func (m *ResourceRequest) Fields(f *proto.Fields) {
	if f.Begins() {
		m.Relax, m.Allocation = true, -1
	}
	f.Message(1, &m.Priority)
	f.String(2, &m.Place)
	f.Message(3, &m.Resource)
	f.Int32(4, &m.Containers)
	f.Bool(5, &m.Relax)
	if f.Has(m.Label != "") {
		f.String(6, &m.Label)
	}
	f.PutWithin(7, func() {
		f.Put(1, executionGuaranteed)
		f.Put(2, 0) // not enforced
	})
	f.Int64(8, &m.Allocation)
}

// FinalStatus is what an application says of itself at its end.
type FinalStatus int32

// The final statuses.
const (
	Undefined FinalStatus = iota
	Succeeded
	Failed
	Killed
)

// An ACL lets users see (ViewApp) or change (ModifyApp) an application.
type ACL struct {
	Type  int32
	Users string
}

// What an ACL is of.
const (
	ViewApp int32 = iota + 1
	ModifyApp
)

func (m *ACL) Fields(f *proto.Fields) {
	f.Int32(1, &m.Type)
	f.String(2, &m.Users)
}

func (m *ACL) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ACL) Decode(b []byte) error  { return proto.Decode(b, m) }

// NodeState is a node's state as it is reported to clients and ApplicationMasters.
type NodeState int32

// The states of nodes.
const (
	NodeNew NodeState = iota + 1
	NodeRunning
	NodeUnhealthy
	NodeDecommissioned
	NodeLost
	NodeRebooted
	NodeDecommissioning
	NodeShutdown
)

// A NodeReport is what is told of a node. `yarn node -status` fails without the capacity.
type NodeReport struct {
	ID          NodeID
	HTTPAddress string
	Rack        string
	Used        Resource
	Capacity    Resource
	Containers  int32
	State       NodeState
	Health      string
	HealthTime  int64     // ms since 1970
	Utilization proto.Raw // of the containers, as the node sent it; nil: unknown
	Machine     proto.Raw // of the whole machine
}

func (m *NodeReport) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	f.String(2, &m.HTTPAddress)
	f.String(3, &m.Rack)
	f.Message(4, &m.Used)
	f.Message(5, &m.Capacity)
	if f.Has(m.Containers > 0) {
		f.Int32(6, &m.Containers)
	}
	f.Int32(7, (*int32)(&m.State))
	f.String(8, &m.Health)
	f.Int64(9, &m.HealthTime)
	if f.Has(m.Utilization != nil) {
		f.Message(11, &m.Utilization)
	}
	if f.Has(m.Machine != nil) {
		f.Message(12, &m.Machine)
	}
}

// Empty is a message without fields: what many methods are answered with.
type Empty struct{}

func (m *Empty) Fields(*proto.Fields)   {}
func (m *Empty) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Empty) Decode(b []byte) error  { return proto.Decode(b, m) }
