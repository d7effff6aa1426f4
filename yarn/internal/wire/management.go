package wire

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/yarn/internal/proto"
)

// ContainerManagementProtocol: what NodeManagers are told by who holds a node token. Here the ResourceManager is the client.
//
//	startContainers  StartContainersRequest  → StartContainersResponse
//	stopContainers   StopContainersRequest   → StopContainersResponse

// A StartContainersRequest starts one container, as the ResourceManager always does.
type StartContainersRequest struct {
	Launch LaunchContext
	Token  Token // of the container
}

func (m *StartContainersRequest) Append(b []byte) []byte {
	one := proto.AppendMessage(nil, 1, &m.Launch)
	one = proto.AppendMessage(one, 2, &m.Token)
	return proto.AppendMessage(b, 1, proto.Raw(one))
}

func (m *StartContainersRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() != 1 {
			continue
		}
		one := proto.Read(r.Lent())
		for one.Next() {
			switch one.Num() {
			case 1:
				one.Message(&m.Launch)
			case 2:
				one.Message(&m.Token)
			}
		}
		if err := one.Err(); err != nil {
			return err
		}
	}
	return r.Err()
}

// A StartContainersResponse says what was started and what was not. What auxiliary services say is not kept.
type StartContainersResponse struct {
	Started []ContainerID
	Failed  []FailedContainer
}

func (m *StartContainersResponse) Append(b []byte) []byte {
	return proto.Each(proto.Each(b, 2, m.Started), 3, m.Failed)
}

func (m *StartContainersResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 2:
			m.Started = proto.Many(&r, m.Started)
		case 3:
			m.Failed = proto.Many(&r, m.Failed)
		}
	}
	return r.Err()
}

// A FailedContainer is a container that a NodeManager refused, and why.
type FailedContainer struct {
	ID             ContainerID
	Class, Message string
}

func (m *FailedContainer) Error() string { return fmt.Sprintf("%s: %s: %s", m.ID, m.Class, m.Message) }

func (m *FailedContainer) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.ID)
	return proto.AppendMessage(b, 2, proto.Raw(proto.AppendString(proto.AppendString(nil, 1, m.Message), 3, m.Class)))
}

func (m *FailedContainer) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			for e := proto.Read(r.Lent()); e.Next(); { // its cause, 4, may nest without end, and is not read
				switch e.Num() {
				case 1:
					m.Message = e.String()
				case 3:
					m.Class = e.String()
				}
			}
		}
	}
	return r.Err()
}

// A StopContainersRequest stops containers.
type StopContainersRequest struct{ Containers []ContainerID }

func (m *StopContainersRequest) Append(b []byte) []byte { return proto.Each(b, 1, m.Containers) }

func (m *StopContainersRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Containers = proto.Many(&r, m.Containers)
		}
	}
	return r.Err()
}
