package wire

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// ContainerManagementProtocol: what holders of node tokens ask of NodeManagers. The ResourceManager is the client here.
//
//	startContainers  StartContainersRequest  → StartContainersResponse

// A StartContainersRequest starts one container, as the ResourceManager always does.
type StartContainersRequest struct {
	Launch LaunchContext
	Token  Token // of the container
}

func (m *StartContainersRequest) Fields(f *proto.Fields) {
	f.Within(1, func() {
		f.Message(1, &m.Launch)
		f.Message(2, &m.Token)
	})
}

func (m *StartContainersRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *StartContainersRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// A StartContainersResponse says what was started and what was not. What auxiliary services say is not kept.
type StartContainersResponse struct {
	Started []ContainerID
	Failed  []FailedContainer
}

func (m *StartContainersResponse) Fields(f *proto.Fields) {
	proto.Repeated(f, 2, &m.Started)
	proto.Repeated(f, 3, &m.Failed)
}

func (m *StartContainersResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *StartContainersResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// A FailedContainer is a container that a NodeManager refused, and why.
type FailedContainer struct {
	ID             ContainerID
	Class, Message string
}

func (m *FailedContainer) Error() string { return fmt.Sprintf("%s: %s: %s", m.ID, m.Class, m.Message) }

func (m *FailedContainer) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	f.Within(2, func() { // its cause, 4, may nest without end, and is not read
		f.String(1, &m.Message)
		f.String(3, &m.Class)
	})
}
