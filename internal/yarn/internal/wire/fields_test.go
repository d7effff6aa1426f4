package wire

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto/prototest"
)

func TestRoundTrip(t *testing.T) {
	prototest.RoundTrip(t, []proto.Described{
		&ActiveManager{}, &ServiceStatus{},
		new(
			ApplicationID,
		), new(AttemptID), new(ContainerID), new(NodeID), new(Resource), new(ResourceType), new(Priority), new(Token),
		new(
			MasterKey,
		), new(ContainerStatus), new(Container), new(ResourceRequest), new(ACL), new(NodeReport), new(Empty),
		new(
			RegisterNodeRequest,
		), new(RegisterNodeResponse), new(NodeContainer), new(NodeStatus), new(Use), new(Health), new(HeartbeatRequest),
		new(LogReport),
		new(HeartbeatResponse), new(UnregisterNode),
		new(
			RegisterMasterRequest,
		), new(RegisterMasterResponse), new(AllocateRequest), new(Blacklist), new(AllocateResponse), new(NodeToken),
		new(Preemption), new(UpdateError), new(UpdateRequest), new(UpdatedContainer), new(Amount),
		new(FinishMasterRequest), new(FinishMasterResponse),
		new(
			NewApplication,
		), new(SubmitRequest), new(ApplicationRequest), new(ApplicationResponse), new(ApplicationReport), new(Lifetime),
		new(
			Usage,
		), new(KillRequest), new(KillResponse), new(ApplicationsRequest), new(ApplicationsResponse),
		new(ClusterMetrics),
		new(
			NodesRequest,
		), new(NodesResponse), new(QueueRequest), new(QueueResponse), new(QueueInfo), new(QueueStatistics),
		new(QueueShares),
		new(
			QueueACLs,
		), new(QueueACL), new(AttemptRequest), new(AttemptReport), new(AttemptsResponse), new(ContainerRequest),
		new(ContainerReport),
		new(ContainersResponse), new(ResourceTypesResponse),
		new(
			PriorityChange,
		), new(PriorityChanged), new(Move), new(Signal), new(Timeout), new(TimeoutChange), new(TimeoutsChanged),
		new(TokenWanted), new(TokenGiven), new(TokenRenewed),
		new(Submission), new(LaunchContext), new(Variable),
		new(RefreshNodes), new(UpdateNodeResource), new(NodeResource), new(NodeIDs), new(Groups), new(GroupsWanted),
		new(StartContainersRequest), new(StartContainersResponse), new(FailedContainer), new(stopContainers),
	}, fit)
}

// fit makes of what was drawn what there is.
func fit(m any) {
	switch m := m.(type) {
	case *Resource: // other kinds are encoded
		if m.Others != "" {
			m.Others = Others("").Plus(Amount{"yarn.io/gpu", "", 2}).Plus(Amount{string(m.Others[:1]) + "x", "Gi", 7})
		}
	case *RegisterNodeResponse: // a node that is not let in hears why, and nothing else
		if m.Action != NodeNormal {
			*m = RegisterNodeResponse{Action: m.Action, Diagnostics: m.Diagnostics,
				ContainerKey: MasterKey{Key: []byte{}}, NodeKey: MasterKey{Key: []byte{}}}
		} else {
			m.Diagnostics = ""
		}
	case *HeartbeatResponse:
		if m.Action != NodeNormal {
			*m = HeartbeatResponse{Action: m.Action, Diagnostics: m.Diagnostics}
		} else {
			m.Diagnostics = ""
		}
	case *ContainerStatus: // diagnostics are of the end
		if m.State != ContainerComplete {
			m.Diagnostics = ""
		}
	case *LaunchContext:
		*m = NewLaunchContext("date")
	case *NodeReport:
		m.Containers = max(m.Containers, 0)
	case *AllocateResponse:
		m.Pending = max(m.Pending, 0)
	case *Lifetime:
		if m.Left = max(m.Left, 0); m.Expires == "" {
			m.Left = 0
		}
	case *Usage: // before the first container and after the last nothing is known
		m.OtherSeconds = "" // only written
		if m.Containers = max(m.Containers, 0); !m.Known {
			m.Containers, m.Used, m.QueuePercent, m.ClusterPercent = -1, Resource{Memory: -1, VCores: -1}, 0, 0
		}
	case *QueueInfo: // the queues below are not read
		m.Children, m.Used = nil, Resource{}
	}
}
