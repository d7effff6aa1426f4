package wire

import "github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"

// HAServiceProtocol: which of several ResourceManagers is active.
//
//	getServiceStatus     Empty → ServiceStatus
//	monitorHealth        Empty → Empty
//	transitionToActive   Empty → Empty
//	transitionToStandby  Empty → Empty

// A ServiceState is what one of several ResourceManagers is.
type ServiceState int32

// The states that are reported.
const (
	ServiceActive  ServiceState = 1
	ServiceStandby ServiceState = 2
)

// ServiceStatus is the state of the one that is asked.
type ServiceStatus struct {
	State ServiceState
	Ready bool // to become active
}

func (m *ServiceStatus) Fields(f *proto.Fields) {
	f.Int32(1, (*int32)(&m.State))
	f.Bool(2, &m.Ready)
}

func (m *ServiceStatus) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ServiceStatus) Decode(b []byte) error  { return proto.Decode(b, m) }

// ActiveManager is what the lock of the active ResourceManager says (ActiveRMInfoProto).
type ActiveManager struct{ Cluster, ID string }

func (m *ActiveManager) Fields(f *proto.Fields) {
	f.String(1, &m.Cluster)
	f.String(2, &m.ID)
}

func (m *ActiveManager) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ActiveManager) Decode(b []byte) error  { return proto.Decode(b, m) }
