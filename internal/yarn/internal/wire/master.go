package wire

import "github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"

// ApplicationMasterProtocol: what ApplicationMasters say and hear.
//
//	registerApplicationMaster  RegisterMasterRequest  → RegisterMasterResponse
//	allocate                   AllocateRequest        → AllocateResponse
//	finishApplicationMaster    FinishMasterRequest    → FinishMasterResponse

// A RegisterMasterRequest introduces an ApplicationMaster: where clients find it.
type RegisterMasterRequest struct {
	Host     string
	Port     int32
	Tracking string // URL of its pages
	// Constraints are placement constraints by tags, as they came: they are refused.
	Constraints []proto.Raw
}

func (m *RegisterMasterRequest) Fields(f *proto.Fields) {
	f.String(1, &m.Host)
	f.Int32(2, &m.Port)
	f.String(3, &m.Tracking)
	proto.Repeated(f, 4, &m.Constraints)
}

func (m *RegisterMasterRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *RegisterMasterRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// A RegisterMasterResponse tells an ApplicationMaster what it may ask for. MapReduce's fails without the maximum.
type RegisterMasterResponse struct {
	Maximum Resource // of one container
	// ClientKey signs the tokens by which clients prove who they are to the ApplicationMaster; nil: none do.
	ClientKey []byte
	ACLs      []ACL  // as the application was submitted with
	Queue     string // with "root." before it
	// Of earlier attempts of an application that keeps its containers: those that live, and tokens for their nodes.
	Containers []Container
	NodeTokens []NodeToken
	Types      []ResourceType // that there are
}

func (m *RegisterMasterResponse) Fields(f *proto.Fields) {
	f.Message(1, &m.Maximum)
	if f.Has(m.ClientKey != nil) {
		f.Bytes(2, &m.ClientKey)
	}
	proto.Repeated(f, 3, &m.ACLs)
	proto.Repeated(f, 4, &m.Containers)
	f.String(5, &m.Queue)
	proto.Repeated(f, 6, &m.NodeTokens)
	f.Put(7, 0) // memory and cores
	f.Put(7, 1) // are both counted
	proto.Repeated(f, 9, &m.Types)
}

func (m *RegisterMasterResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *RegisterMasterResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// An AllocateRequest is an ApplicationMaster's heartbeat: what it wants now, what it gives back, how far it is.
type AllocateRequest struct {
	Asks       []ResourceRequest
	Releases   []ContainerID
	Blacklist  Blacklist
	ResponseID int32
	Progress   float32
	Updates    []UpdateRequest
	Scheduling []proto.Raw // SchedulingRequests, as they came: they are refused
	Tracking   string      // a new URL of its pages; "": as it was
}

func (m *AllocateRequest) Fields(f *proto.Fields) {
	proto.Repeated(f, 1, &m.Asks)
	proto.Repeated(f, 2, &m.Releases)
	f.Message(3, &m.Blacklist)
	f.Int32(4, &m.ResponseID)
	f.Float(5, &m.Progress)
	proto.Repeated(f, 7, &m.Updates)
	proto.Repeated(f, 10, &m.Scheduling)
	if f.Has(m.Tracking != "") {
		f.String(11, &m.Tracking)
	}
}

func (m *AllocateRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *AllocateRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// A Blacklist names nodes and racks that an application does not want any more, and those that it wants again.
type Blacklist struct{ Add, Remove []string }

func (m *Blacklist) Fields(f *proto.Fields) {
	f.Strings(1, &m.Add)
	f.Strings(2, &m.Remove)
}

// An AllocateResponse is what an ApplicationMaster gets, and what became of what it had.
type AllocateResponse struct {
	ResponseID   int32
	Allocated    []Container
	Completed    []ContainerStatus
	Headroom     Resource
	UpdatedNodes []NodeReport
	Nodes        int32 // of the cluster
	Preempt      *Preemption
	NodeTokens   []NodeToken
	MasterToken  *Token // a new one; nil: the one it has will do
	Priority     Priority
	Refused      []UpdateError
	Updated      []UpdatedContainer
	Pending      int32 // containers that it still waits for
	Cores        int32 // of the cluster
}

func (m *AllocateResponse) Fields(f *proto.Fields) {
	f.Int32(2, &m.ResponseID)
	proto.Repeated(f, 3, &m.Allocated)
	kept := len(m.Completed)
	proto.Repeated(f, 4, &m.Completed)
	for i := kept; i < len(m.Completed); i++ {
		m.Completed[i], _ = m.Completed[i].Keep(nil)
	}
	f.Message(5, &m.Headroom)
	proto.Repeated(f, 6, &m.UpdatedNodes)
	f.Int32(7, &m.Nodes)
	proto.Optional(f, 8, &m.Preempt)
	proto.Repeated(f, 9, &m.NodeTokens)
	proto.Optional(f, 12, &m.MasterToken)
	f.Message(13, &m.Priority)
	proto.Repeated(f, 15, &m.Refused)
	proto.Repeated(f, 16, &m.Updated)
	f.Within(19, func() {
		if f.Has(m.Pending > 0) {
			f.Int32(1, &m.Pending)
		}
		f.Int32(2, &m.Cores)
	})
}

func (m *AllocateResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *AllocateResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// A NodeToken lets an ApplicationMaster talk to a NodeManager.
type NodeToken struct {
	Node  NodeID
	Token Token
}

func (m *NodeToken) Fields(f *proto.Fields) {
	f.Message(1, &m.Node)
	f.Message(2, &m.Token)
}

// A Preemption asks an ApplicationMaster for containers, which will be killed if it does not give them back.
type Preemption struct{ Containers []ContainerID }

func (m *Preemption) Fields(f *proto.Fields) {
	f.Within(1, func() { // the strict contract
		proto.RepeatedWithin(f, 1, &m.Containers, func(id *ContainerID) { f.Message(1, id) })
	})
}

// UpdateKind is what is to become of a container.
type UpdateKind int32

// The kinds of updates. The last two change how urgently a container is run, which is not offered.
const (
	Increase UpdateKind = iota
	Decrease
	Promote
	Demote
)

// An UpdateRequest asks for another size of a container. It is refused if the container's version is another one.
type UpdateRequest struct {
	Version   int32
	Container ContainerID
	Kind      UpdateKind
	Resource  Resource
	Execution int32 // how urgently it is to be run; zero: as it is
}

func (m *UpdateRequest) Fields(f *proto.Fields) {
	f.Int32(1, &m.Version)
	f.Message(2, &m.Container)
	f.Int32(3, (*int32)(&m.Kind))
	f.Message(4, &m.Resource)
	if f.Has(m.Execution != 0) {
		f.Int32(5, &m.Execution)
	}
}

// An UpdateError refuses to change a container's size.
type UpdateError struct {
	Reason  string
	Request UpdateRequest
	Version int32 // that the container has; -1: there is no such container
}

func (m *UpdateError) Fields(f *proto.Fields) {
	f.String(1, &m.Reason)
	f.Message(2, &m.Request)
	f.Int32(3, &m.Version)
}

// An UpdatedContainer is one with another size, and a token by which its node changes it.
type UpdatedContainer struct {
	Kind      UpdateKind
	Container Container
}

func (m *UpdatedContainer) Fields(f *proto.Fields) {
	f.Int32(1, (*int32)(&m.Kind))
	f.Message(2, &m.Container)
}

// A FinishMasterRequest says how an application ended.
type FinishMasterRequest struct {
	Diagnostics string
	Tracking    string // URL of its history
	Final       FinalStatus
}

func (m *FinishMasterRequest) Fields(f *proto.Fields) {
	f.String(1, &m.Diagnostics)
	f.String(2, &m.Tracking)
	f.Int32(3, (*int32)(&m.Final))
}

func (m *FinishMasterRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *FinishMasterRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// A FinishMasterResponse says whether the end has been taken note of: an ApplicationMaster asks until it has.
type FinishMasterResponse struct{ Unregistered bool }

func (m *FinishMasterResponse) Fields(f *proto.Fields) { f.Bool(1, &m.Unregistered) }
func (m *FinishMasterResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *FinishMasterResponse) Decode(b []byte) error  { return proto.Decode(b, m) }
