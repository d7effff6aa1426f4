package wire

import "github.com/sojourn-sched/sojourn/yarn/internal/proto"

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
}

func (m *RegisterMasterRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Host = r.String()
		case 2:
			m.Port = r.Int32()
		case 3:
			m.Tracking = r.String()
		}
	}
	return r.Err()
}

func (m *RegisterMasterRequest) Append(b []byte) []byte {
	b = proto.AppendString(b, 1, m.Host)
	b = proto.AppendInt32(b, 2, m.Port)
	return proto.AppendString(b, 3, m.Tracking)
}

// A RegisterMasterResponse tells an ApplicationMaster what it may ask for. MapReduce's fails without the maximum.
type RegisterMasterResponse struct {
	Maximum Resource // of one container
	ACLs    []ACL    // as the application was submitted with
	Queue   string   // with "root." before it
	// Of earlier attempts of an application that keeps its containers: those that live, and tokens for their nodes.
	Containers []Container
	NodeTokens []NodeToken
}

func (m *RegisterMasterResponse) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.Maximum)
	b = proto.Each(b, 3, m.ACLs)
	b = proto.Each(b, 4, m.Containers)
	b = proto.AppendString(b, 5, m.Queue)
	b = proto.Each(b, 6, m.NodeTokens)
	b = proto.AppendInts(b, 7, []int32{0, 1}) // memory and cores are both counted
	return proto.Each(b, 9, ResourceTypes())
}

func (m *RegisterMasterResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.Maximum)
		case 3:
			m.ACLs = proto.Many(&r, m.ACLs)
		case 4:
			m.Containers = proto.Many(&r, m.Containers)
		case 5:
			m.Queue = r.String()
		case 6:
			m.NodeTokens = proto.Many(&r, m.NodeTokens)
		}
	}
	return r.Err()
}

// An AllocateRequest is an ApplicationMaster's heartbeat: what it wants now, what it gives back, how far it is.
type AllocateRequest struct {
	Asks       []ResourceRequest
	Releases   []ContainerID
	Blacklist  Blacklist
	ResponseID int32
	Progress   float32
	Updates    []proto.Raw // of containers' sizes, as they came: they are refused
	Tracking   string      // a new URL of its pages; "": as it was
}

func (m *AllocateRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Asks = proto.Many(&r, m.Asks)
		case 2:
			m.Releases = proto.Many(&r, m.Releases)
		case 3:
			r.Message(&m.Blacklist)
		case 4:
			m.ResponseID = r.Int32()
		case 5:
			m.Progress = r.Float()
		case 7:
			m.Updates = proto.Many(&r, m.Updates)
		case 11:
			m.Tracking = r.String()
		}
	}
	return r.Err()
}

func (m *AllocateRequest) Append(b []byte) []byte {
	b = proto.Each(b, 1, m.Asks)
	b = proto.Each(b, 2, m.Releases)
	b = proto.AppendMessage(b, 3, &m.Blacklist)
	b = proto.AppendInt32(b, 4, m.ResponseID)
	b = proto.AppendFloat(b, 5, m.Progress)
	return proto.Each(b, 7, m.Updates)
}

// A Blacklist names nodes and racks that an application does not want any more, and those that it wants again.
type Blacklist struct{ Add, Remove []string }

func (m *Blacklist) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Add = append(m.Add, r.String())
		case 2:
			m.Remove = append(m.Remove, r.String())
		}
	}
	return r.Err()
}

func (m *Blacklist) Append(b []byte) []byte {
	return proto.AppendStrings(proto.AppendStrings(b, 1, m.Add), 2, m.Remove)
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
	Pending      int32 // containers that it still waits for
	Cores        int32 // of the cluster
}

func (m *AllocateResponse) Append(b []byte) []byte {
	b = proto.AppendInt32(b, 2, m.ResponseID)
	b = proto.Each(b, 3, m.Allocated)
	b = proto.Each(b, 4, m.Completed)
	b = proto.AppendMessage(b, 5, &m.Headroom)
	b = proto.Each(b, 6, m.UpdatedNodes)
	b = proto.AppendInt32(b, 7, m.Nodes)
	if m.Preempt != nil {
		b = proto.AppendMessage(b, 8, m.Preempt)
	}
	b = proto.Each(b, 9, m.NodeTokens)
	if m.MasterToken != nil {
		b = proto.AppendMessage(b, 12, m.MasterToken)
	}
	b = proto.AppendMessage(b, 13, &m.Priority)
	b = proto.Each(b, 15, m.Refused)
	return proto.AppendMessage(b, 19, &enhancedHeadroom{m.Pending, m.Cores})
}

func (m *AllocateResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 2:
			m.ResponseID = r.Int32()
		case 3:
			m.Allocated = proto.Many(&r, m.Allocated)
		case 4:
			m.Completed = proto.Many(&r, m.Completed)
			last := &m.Completed[len(m.Completed)-1]
			*last, _ = last.Keep(nil)
		case 5:
			r.Message(&m.Headroom)
		case 6:
			m.UpdatedNodes = proto.Many(&r, m.UpdatedNodes)
		case 7:
			m.Nodes = r.Int32()
		case 8:
			m.Preempt = proto.One(&r, m.Preempt)
		case 9:
			m.NodeTokens = proto.Many(&r, m.NodeTokens)
		case 12:
			m.MasterToken = proto.One(&r, m.MasterToken)
		case 13:
			r.Message(&m.Priority)
		case 19:
			var h enhancedHeadroom
			r.Message(&h)
			m.Pending, m.Cores = h.pending, h.cores
		}
	}
	return r.Err()
}

type enhancedHeadroom struct{ pending, cores int32 }

func (m *enhancedHeadroom) Append(b []byte) []byte {
	if m.pending > 0 {
		b = proto.AppendInt32(b, 1, m.pending)
	}
	return proto.AppendInt32(b, 2, m.cores)
}

func (m *enhancedHeadroom) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.pending = r.Int32()
		case 2:
			m.cores = r.Int32()
		}
	}
	return r.Err()
}

// A NodeToken lets an ApplicationMaster talk to a NodeManager.
type NodeToken struct {
	Node  NodeID
	Token Token
}

func (m *NodeToken) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.Node)
	return proto.AppendMessage(b, 2, &m.Token)
}

func (m *NodeToken) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.Node)
		case 2:
			r.Message(&m.Token)
		}
	}
	return r.Err()
}

// A Preemption asks an ApplicationMaster for containers, which will be killed if it does not give them back.
type Preemption struct{ Containers []ContainerID }

func (m *Preemption) Append(b []byte) []byte {
	var strict []byte
	for i := range m.Containers {
		strict = proto.AppendMessage(strict, 1, proto.Raw(proto.AppendMessage(nil, 1, &m.Containers[i])))
	}
	return proto.AppendMessage(b, 1, proto.Raw(strict))
}

func (m *Preemption) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() != 1 {
			continue
		}
		for strict := proto.Read(r.Lent()); strict.Next(); {
			if strict.Num() != 1 {
				continue
			}
			for one := proto.Read(strict.Lent()); one.Next(); {
				if one.Num() == 1 {
					m.Containers = proto.Many(&one, m.Containers)
				}
			}
		}
	}
	return r.Err()
}

// An UpdateError refuses to change a container's size.
type UpdateError struct {
	Reason  string
	Request proto.Raw
}

func (m *UpdateError) Append(b []byte) []byte {
	b = proto.AppendString(b, 1, m.Reason)
	return proto.AppendMessage(b, 2, m.Request)
}

// A FinishMasterRequest says how an application ended.
type FinishMasterRequest struct {
	Diagnostics string
	Tracking    string // URL of its history
	Final       FinalStatus
}

func (m *FinishMasterRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Diagnostics = r.String()
		case 2:
			m.Tracking = r.String()
		case 3:
			m.Final = FinalStatus(r.Int32())
		}
	}
	return r.Err()
}

func (m *FinishMasterRequest) Append(b []byte) []byte {
	b = proto.AppendString(b, 1, m.Diagnostics)
	b = proto.AppendString(b, 2, m.Tracking)
	return proto.AppendInt32(b, 3, int32(m.Final))
}

// A FinishMasterResponse says whether the end has been taken note of: an ApplicationMaster asks until it has.
type FinishMasterResponse struct{ Unregistered bool }

func (m *FinishMasterResponse) Append(b []byte) []byte { return proto.AppendBool(b, 1, m.Unregistered) }

func (m *FinishMasterResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Unregistered = r.Bool()
		}
	}
	return r.Err()
}
