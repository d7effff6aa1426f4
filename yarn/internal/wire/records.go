package wire

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/yarn/internal/proto"
)

// An ApplicationID names an application: the ResourceManager's start in ms, and an ordinal from 1.
type ApplicationID struct {
	ID        int32
	Timestamp int64
}

func (m *ApplicationID) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.ID = r.Int32()
		case 2:
			m.Timestamp = r.Int64()
		}
	}
	return r.Err()
}

func (m *ApplicationID) Append(b []byte) []byte {
	b = proto.AppendInt32(b, 1, m.ID)
	return proto.AppendInt64(b, 2, m.Timestamp)
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

// An AttemptID names one life of an application's ApplicationMaster, from 1.
type AttemptID struct {
	App     ApplicationID
	Attempt int32
}

func (m *AttemptID) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.App)
		case 2:
			m.Attempt = r.Int32()
		}
	}
	return r.Err()
}

func (m *AttemptID) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.App)
	return proto.AppendInt32(b, 2, m.Attempt)
}

// String returns the form that logs and token holders use.
func (m AttemptID) String() string {
	return fmt.Sprintf("appattempt_%d_%04d_%06d", m.App.Timestamp, m.App.ID, m.Attempt)
}

// A ContainerID names a container: an attempt, and an ordinal below 2^40 after the epoch of the ResourceManager.
type ContainerID struct {
	Attempt AttemptID
	ID      int64
}

const epochShift = 40

func (m *ContainerID) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 2:
			r.Message(&m.Attempt)
		case 3:
			m.ID = r.Int64()
		}
	}
	return r.Err()
}

func (m *ContainerID) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 2, &m.Attempt)
	return proto.AppendInt64(b, 3, m.ID)
}

// String returns the form that commands, logs and folders use.
func (m ContainerID) String() string {
	epoch := ""
	if e := m.ID >> epochShift; e != 0 {
		epoch = fmt.Sprintf("e%d_", e)
	}
	return fmt.Sprintf("container_%s%d_%04d_%02d_%06d", epoch, m.Attempt.App.Timestamp, m.Attempt.App.ID, m.Attempt.Attempt, m.ID&(1<<epochShift-1))
}

// A NodeID names a NodeManager exactly as it registered.
type NodeID struct {
	Host string
	Port int32
}

func (m *NodeID) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			if host := r.Lent(); string(host) != m.Host { // mostly it is the same again
				m.Host = string(host)
			}
		case 2:
			m.Port = r.Int32()
		}
	}
	return r.Err()
}

func (m *NodeID) Append(b []byte) []byte {
	b = proto.AppendString(b, 1, m.Host)
	return proto.AppendInt32(b, 2, m.Port)
}

// String returns host:port.
func (m NodeID) String() string { return net.JoinHostPort(m.Host, strconv.Itoa(int(m.Port))) }

// A Resource is an amount of memory, in MiB, and of cores. Other kinds are not kept.
type Resource struct {
	Memory int64
	VCores int32
}

func (m *Resource) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Memory = r.Int64()
		case 2:
			m.VCores = r.Int32()
		}
	}
	return r.Err()
}

// Append writes both amounts twice, by field and by name, as every stock peer does.
func (m *Resource) Append(b []byte) []byte {
	b = proto.AppendInt64(b, 1, m.Memory)
	b = proto.AppendInt32(b, 2, m.VCores)
	b = appendAmount(b, "memory-mb", "Mi", m.Memory)
	return appendAmount(b, "vcores", "", int64(m.VCores))
}

func appendAmount(b []byte, kind, units string, value int64) []byte {
	b, at := proto.Open(b, 3)
	b = proto.AppendString(b, 1, kind)
	b = proto.AppendInt64(b, 2, value)
	b = proto.AppendString(b, 3, units)
	return proto.Shut(proto.AppendInt32(b, 4, 0), at) // countable
}

// A ResourceType is a kind of resource as it is announced.
type ResourceType struct{ Name, Units string }

func (m *ResourceType) Append(b []byte) []byte {
	b = proto.AppendString(b, 1, m.Name)
	b = proto.AppendString(b, 2, m.Units)
	return proto.AppendInt32(b, 3, 0)
}

func (m *ResourceType) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Name = r.String()
		case 2:
			m.Units = r.String()
		}
	}
	return r.Err()
}

// ResourceTypes are the kinds of resources that this project schedules on YARN.
func ResourceTypes() []ResourceType { return []ResourceType{{"memory-mb", "Mi"}, {"vcores", ""}} }

// A Priority is a number alone in a message. Of containers, smaller is more urgent; of applications, larger.
type Priority int32

func (m *Priority) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			*m = Priority(r.Int32())
		}
	}
	return r.Err()
}

func (m *Priority) Append(b []byte) []byte { return proto.AppendInt32(b, 1, int32(*m)) }

// A Token is an identifier, and the password that shows who signed it.
type Token struct {
	Identifier, Password []byte
	Kind, Service        string
}

func (m *Token) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Identifier = r.Bytes()
		case 2:
			m.Password = r.Bytes()
		case 3:
			m.Kind = r.String()
		case 4:
			m.Service = r.String()
		}
	}
	return r.Err()
}

func (m *Token) Append(b []byte) []byte {
	b = proto.AppendBytes(b, 1, m.Identifier)
	b = proto.AppendBytes(b, 2, m.Password)
	b = proto.AppendString(b, 3, m.Kind)
	return proto.AppendString(b, 4, m.Service)
}

// A MasterKey is what tokens are signed with. A NodeManager adopts a key only if its ID differs from the one that it has.
type MasterKey struct {
	ID  int32
	Key []byte
}

func (m *MasterKey) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.ID = r.Int32()
		case 2:
			m.Key = append(m.Key[:0], r.Lent()...)
		}
	}
	return r.Err()
}

func (m *MasterKey) Append(b []byte) []byte {
	b = proto.AppendInt32(b, 1, m.ID)
	return proto.AppendBytes(b, 2, m.Key)
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
	ExitDisks     = -101
	ExitPreempted = -102
	ExitByRM      = -106
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

func (m *ContainerStatus) Decode(b []byte) error {
	m.Exit, m.raw = ExitInvalid, b
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			m.State = ContainerState(r.Int32())
		case 3:
			if m.State == ContainerComplete { // of what runs it is not needed, and comes every second
				m.Diagnostics = r.String()
			}
		case 4:
			m.Exit = r.Int32()
		}
	}
	return r.Err()
}

// Keep returns the status with what was lent to it copied to the end of b, and b.
func (m *ContainerStatus) Keep(b []byte) (ContainerStatus, []byte) {
	at := len(b)
	b = append(b, m.raw...)
	kept := *m
	kept.raw = b[at:len(b):len(b)]
	return kept, b
}

// Append passes on what a NodeManager sent as it came.
func (m *ContainerStatus) Append(b []byte) []byte {
	if len(m.raw) > 0 {
		return append(b, m.raw...)
	}
	b = proto.AppendMessage(b, 1, &m.ID)
	b = proto.AppendInt32(b, 2, int32(m.State))
	b = proto.AppendString(b, 3, m.Diagnostics)
	return proto.AppendInt32(b, 4, m.Exit)
}

// ContainerType tells an ApplicationMaster's container from the others.
type ContainerType int32

// The types of containers.
const (
	MasterContainer ContainerType = iota + 1
	TaskContainer
)

// A Container is a lease of a part of a node, as an ApplicationMaster gets it. MapReduce's fails without the address, the size or the
// priority.
type Container struct {
	ID          ContainerID
	Node        NodeID
	HTTPAddress string // host:port
	Resource    Resource
	Priority    Priority // of the ask that it answers
	Token       Token
	Allocation  int64 // of the ask that it answers
}

func (m *Container) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.ID)
	b = proto.AppendMessage(b, 2, &m.Node)
	b = proto.AppendString(b, 3, m.HTTPAddress)
	b = proto.AppendMessage(b, 4, &m.Resource)
	b = proto.AppendMessage(b, 5, &m.Priority)
	b = proto.AppendMessage(b, 6, &m.Token)
	b = proto.AppendInt32(b, 7, executionGuaranteed)
	return proto.AppendInt64(b, 8, m.Allocation)
}

func (m *Container) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			r.Message(&m.Node)
		case 3:
			m.HTTPAddress = r.String()
		case 4:
			r.Message(&m.Resource)
		case 5:
			r.Message(&m.Priority)
		case 6:
			r.Message(&m.Token)
		case 8:
			m.Allocation = r.Int64()
		}
	}
	return r.Err()
}

const executionGuaranteed = 1 // Hadoop's other kind, opportunistic containers, is not offered

// A ResourceRequest says how many containers of one size an application wants in one place.
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

func (m *ResourceRequest) Decode(b []byte) error {
	m.Relax, m.Allocation = true, -1
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.Priority)
		case 2:
			m.Place = r.String()
		case 3:
			r.Message(&m.Resource)
		case 4:
			m.Containers = r.Int32()
		case 5:
			m.Relax = r.Bool()
		case 6:
			m.Label = r.String()
		case 8:
			m.Allocation = r.Int64()
		}
	}
	return r.Err()
}

// Append writes the request as Hadoop's AMRMClient does.
func (m *ResourceRequest) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.Priority)
	b = proto.AppendString(b, 2, m.Place)
	b = proto.AppendMessage(b, 3, &m.Resource)
	b = proto.AppendInt32(b, 4, m.Containers)
	b = proto.AppendBool(b, 5, m.Relax)
	if m.Label != "" {
		b = proto.AppendString(b, 6, m.Label)
	}
	b = proto.AppendMessage(b, 7, proto.Raw{0x08, executionGuaranteed, 0x10, 0}) // not enforced
	return proto.AppendInt64(b, 8, m.Allocation)
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

func (m *ACL) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Type = r.Int32()
		case 2:
			m.Users = r.String()
		}
	}
	return r.Err()
}

func (m *ACL) Append(b []byte) []byte {
	b = proto.AppendInt32(b, 1, m.Type)
	return proto.AppendString(b, 2, m.Users)
}

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

func (m *NodeReport) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.ID)
	b = proto.AppendString(b, 2, m.HTTPAddress)
	b = proto.AppendString(b, 3, m.Rack)
	b = proto.AppendMessage(b, 4, &m.Used)
	b = proto.AppendMessage(b, 5, &m.Capacity)
	if m.Containers > 0 {
		b = proto.AppendInt32(b, 6, m.Containers)
	}
	b = proto.AppendInt32(b, 7, int32(m.State))
	b = proto.AppendString(b, 8, m.Health)
	b = proto.AppendInt64(b, 9, m.HealthTime)
	if m.Utilization != nil {
		b = proto.AppendMessage(b, 11, m.Utilization)
	}
	if m.Machine != nil {
		b = proto.AppendMessage(b, 12, m.Machine)
	}
	return b
}

func (m *NodeReport) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			m.HTTPAddress = r.String()
		case 3:
			m.Rack = r.String()
		case 4:
			r.Message(&m.Used)
		case 5:
			r.Message(&m.Capacity)
		case 6:
			m.Containers = r.Int32()
		case 7:
			m.State = NodeState(r.Int32())
		case 8:
			m.Health = r.String()
		case 9:
			m.HealthTime = r.Int64()
		case 11:
			m.Utilization = r.Bytes()
		case 12:
			m.Machine = r.Bytes()
		}
	}
	return r.Err()
}

// Empty is a message without fields: what many methods are answered with.
type Empty struct{}

func (*Empty) Append(b []byte) []byte { return b }
func (*Empty) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
	}
	return r.Err()
}
