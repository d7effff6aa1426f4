package wire

import "github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"

// ApplicationClientProtocol: what users' programs and commands say and hear.
//
//	getNewApplication            Empty                → NewApplication
//	submitApplication            SubmitRequest        → Empty
//	getApplicationReport         ApplicationRequest   → ApplicationResponse
//	forceKillApplication         KillRequest          → KillResponse
//	getApplications              ApplicationsRequest  → ApplicationsResponse
//	getClusterMetrics            Empty                → ClusterMetrics
//	getClusterNodes              NodesRequest         → NodesResponse
//	getQueueInfo                 QueueRequest         → QueueResponse
//	getQueueUserAcls             Empty                → QueueACLs
//	getApplicationAttemptReport  AttemptRequest       → AttemptsResponse
//	getApplicationAttempts       ApplicationRequest   → AttemptsResponse
//	getContainerReport           ContainerRequest     → ContainersResponse
//	getContainers                AttemptRequest       → ContainersResponse
//	getResourceTypeInfo          Empty                → ResourceTypesResponse

// AppState is an application's state as clients see it.
type AppState int32

// The states of an application.
const (
	AppNew AppState = iota + 1
	AppNewSaving
	AppSubmitted
	AppAccepted
	AppRunning
	AppFinished
	AppFailed
	AppKilled
)

var appStates = [...]string{"", "NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"}

func (s AppState) String() string {
	if s < 0 || int(s) >= len(appStates) {
		return ""
	}
	return appStates[s]
}

// AttemptState is an application attempt's state as clients see it.
type AttemptState int32

// The states of an attempt that this project has or names.
const (
	AttemptSubmitted AttemptState = 2
	AttemptScheduled AttemptState = 3
	AttemptAllocated AttemptState = 5
	AttemptLaunched  AttemptState = 6
	AttemptFailed    AttemptState = 7
	AttemptRunning   AttemptState = 8
	AttemptFinishing AttemptState = 9
	AttemptFinished  AttemptState = 10
	AttemptKilled    AttemptState = 11
)

// NewApplication is a new application's name, and what it may ask for.
type NewApplication struct {
	ID      ApplicationID
	Maximum Resource // of one container
}

func (m *NewApplication) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	f.Message(2, &m.Maximum)
}

func (m *NewApplication) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *NewApplication) Decode(b []byte) error  { return proto.Decode(b, m) }

// A SubmitRequest submits an application.
type SubmitRequest struct{ Submission Submission }

func (m *SubmitRequest) Fields(f *proto.Fields) { f.Message(1, &m.Submission) }
func (m *SubmitRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *SubmitRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// An ApplicationRequest asks for something of an application.
type ApplicationRequest struct{ ID ApplicationID }

func (m *ApplicationRequest) Fields(f *proto.Fields) { f.Message(1, &m.ID) }
func (m *ApplicationRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ApplicationRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// An ApplicationResponse is one report.
type ApplicationResponse struct{ Report ApplicationReport }

func (m *ApplicationResponse) Fields(f *proto.Fields) { f.Message(1, &m.Report) }
func (m *ApplicationResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ApplicationResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// NotAvailable is what reports have in the place of an address that is not known.
const NotAvailable = "N/A"

// An ApplicationReport is what clients are told of an application.
type ApplicationReport struct {
	ID            ApplicationID
	User          string // MapReduce's client fails without
	Queue         string // with "root." before it
	Name, Type    string
	Master        MasterAddress
	State         AppState
	Final         FinalStatus
	Diagnostics   string
	Start, Finish int64 // ms since 1970; Finish is 0 before the end
	Launched      int64 // ms since 1970; 0: not yet
	Lifetime      Lifetime
	Usage         Usage
	Attempt       AttemptID
	Progress      float32 // in [0, 1]
	Tags          []string
	Priority      Priority
	Unmanaged     bool
	Logs          LogStatus // how far they are collected; 0: there are none yet
	ClientToken   *Token    // by which the caller may call the ApplicationMaster; nil: no token is needed
	MasterToken   *Token    // for the owner of an unmanaged ApplicationMaster; nil else
}

// MasterAddress is where an ApplicationMaster is found.
type MasterAddress struct {
	Host     string // NotAvailable: it has not registered
	Port     int32  // -1: it has not registered
	Tracking string // URL by the proxy
	Original string // URL that the ApplicationMaster gave; NotAvailable: none
}

func (m *ApplicationReport) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	f.String(2, &m.User)
	f.String(3, &m.Queue)
	f.String(4, &m.Name)
	f.String(5, &m.Master.Host)
	f.Int32(6, &m.Master.Port)
	proto.Optional(f, 7, &m.ClientToken)
	f.Int32(8, (*int32)(&m.State))
	f.String(9, &m.Master.Tracking)
	f.String(10, &m.Diagnostics)
	f.Int64(11, &m.Start)
	f.Int64(12, &m.Finish)
	f.Int32(13, (*int32)(&m.Final))
	f.Message(14, &m.Usage)
	f.String(15, &m.Master.Original)
	f.Message(16, &m.Attempt)
	f.Float(17, &m.Progress)
	f.String(18, &m.Type)
	proto.Optional(f, 19, &m.MasterToken)
	f.Strings(20, &m.Tags)
	if f.Has(m.Logs != 0) {
		f.Int32(21, (*int32)(&m.Logs))
	}
	f.Bool(22, &m.Unmanaged)
	f.Message(23, &m.Priority)
	f.PutString(24, "<Not set>")           // node labels of its containers
	f.PutString(25, "<DEFAULT_PARTITION>") // and of its ApplicationMaster
	f.Message(26, &m.Lifetime)
	f.Int64(27, &m.Launched)
}

// A Lifetime is the one timeout that applications have. The zero Lifetime is unlimited.
type Lifetime struct {
	Expires string // an instant, as Timeout has it; "": never
	Left    int64  // s, where it expires
}

func (m *Lifetime) Fields(f *proto.Fields) {
	expires, left := m.Expires, m.Left
	if !f.Reading() && expires == "" {
		expires, left = "UNLIMITED", -1
	}
	f.Put(1, TimeoutLifetime)
	f.Within(2, func() {
		f.Put(1, TimeoutLifetime)
		f.String(2, &expires)
		f.Int64(3, &left)
	})
	switch {
	case !f.Reading():
	case left < 0:
		*m = Lifetime{}
	default:
		*m = Lifetime{expires, left}
	}
}

// Usage is what an application uses and has used. Commands fail on one with parts missing, so all of it is always
// written.
type Usage struct {
	Known          bool // false: the application is over; Containers and Used are written as -1, and no percentages
	Containers     int32
	Used           Resource
	MemorySeconds  int64   // MiB·s
	VCoreSeconds   int64   // core·s
	OtherSeconds   Others  // of other kinds
	QueuePercent   float32 // of the queue's capacity
	ClusterPercent float32 // of the cluster's
}

func (m *Usage) Fields(f *proto.Fields) {
	if f.Begins() {
		m.Containers = -1
	}
	now, none, reserved := m, Resource{}, int64(0)
	if !f.Reading() && !m.Known {
		none, reserved = Resource{Memory: -1, VCores: -1}, -1
		now = &Usage{Containers: -1, Used: none}
	}
	f.Int32(1, &now.Containers)
	f.Put(2, reserved)
	f.Message(3, &now.Used)
	f.PutWithin(4, func() { none.Fields(f) })
	f.PutWithin(5, func() { now.Used.Fields(f) }) // what it needs
	f.Int64(6, &m.MemorySeconds)
	f.Int64(7, &m.VCoreSeconds)
	if f.Has(m.Known) {
		f.Float(8, &m.QueuePercent)
		f.Float(9, &m.ClusterPercent)
	}
	f.Put(10, 0) // of what was preempted
	f.Put(11, 0)
	total := func(num int32, kind string, amount int64) {
		f.PutWithin(num, func() {
			f.PutString(1, kind)
			f.Put(2, amount)
		})
	}
	total(12, "memory-mb", m.MemorySeconds)
	total(12, "vcores", m.VCoreSeconds)
	if !f.Reading() {
		for a := range m.OtherSeconds.All() {
			total(12, a.Kind, a.Value)
		}
	}
	total(13, "memory-mb", 0)
	total(13, "vcores", 0)
	if f.Reading() {
		m.Known = m.Containers >= 0
	}
}

// A KillRequest ends an application.
type KillRequest struct {
	ID          ApplicationID
	Diagnostics string
}

func (m *KillRequest) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	if f.Has(m.Diagnostics != "") {
		f.String(2, &m.Diagnostics)
	}
}

func (m *KillRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *KillRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// A KillResponse says whether the application has ended: a client asks until it has.
type KillResponse struct{ Done bool }

func (m *KillResponse) Fields(f *proto.Fields) { f.Bool(1, &m.Done) }
func (m *KillResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *KillResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// An ApplicationsRequest asks for applications; empty lists let all pass.
type ApplicationsRequest struct {
	Types  []string
	States []int32 // AppState
	Users  []string
	Queues []string
	Limit  int64 // zero: none
	Tags   []string
	Name   string

	Started, Finished TimeRange // Finished is 0 while it runs
	Own               bool      // only those of the caller
}

// A TimeRange is a time in ms since 1970 from one to another, both included; Until is 0 where there is none.
type TimeRange struct{ From, Until int64 }

func (m *ApplicationsRequest) Fields(f *proto.Fields) {
	f.Strings(1, &m.Types)
	f.Ints(2, &m.States)
	f.Strings(3, &m.Users)
	f.Strings(4, &m.Queues)
	for i, n := range []*int64{&m.Limit, &m.Started.From, &m.Started.Until, &m.Finished.From, &m.Finished.Until} {
		if f.Has(*n != 0) {
			f.Int64(int32(i+5), n)
		}
	}
	f.Strings(10, &m.Tags)
	scope := int32(0)
	if m.Own {
		scope = scopeOwn
	}
	if f.Has(m.Own) {
		f.Int32(11, &scope)
	}
	if f.Reading() {
		m.Own = scope == scopeOwn
	}
	if f.Has(m.Name != "") {
		f.String(12, &m.Name)
	}
}

func (m *ApplicationsRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ApplicationsRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// scopeOwn is Hadoop's number of the scope that asks for the caller's own applications.
const scopeOwn = 2

// An ApplicationsResponse is many reports.
type ApplicationsResponse struct{ Reports []ApplicationReport }

func (m *ApplicationsResponse) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Reports) }
func (m *ApplicationsResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ApplicationsResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// ClusterMetrics counts nodes by state.
type ClusterMetrics struct{ Nodes, Decommissioned, Active, Lost, Unhealthy, Rebooted, Decommissioning, Shutdown int32 }

func (m *ClusterMetrics) Fields(f *proto.Fields) {
	f.Within(1, func() {
		for i, n := range []*int32{&m.Nodes, &m.Decommissioned, &m.Active, &m.Lost, &m.Unhealthy, &m.Rebooted,
			&m.Decommissioning, &m.Shutdown} {
			f.Int32(int32(i+1), n)
		}
	})
}

func (m *ClusterMetrics) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ClusterMetrics) Decode(b []byte) error  { return proto.Decode(b, m) }

// A NodesRequest asks for the nodes in some states; none: in all.
type NodesRequest struct{ States []int32 } // NodeState

func (m *NodesRequest) Fields(f *proto.Fields) { f.Ints(1, &m.States) }
func (m *NodesRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *NodesRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// A NodesResponse is many reports.
type NodesResponse struct{ Reports []NodeReport }

func (m *NodesResponse) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Reports) }
func (m *NodesResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *NodesResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// A QueueRequest asks for a queue, perhaps with its applications and what is below it.
type QueueRequest struct {
	Name                      string
	Apps, Children, Recursive bool
}

func (m *QueueRequest) Fields(f *proto.Fields) {
	f.String(1, &m.Name)
	f.Bool(2, &m.Apps)
	f.Bool(3, &m.Children)
	f.Bool(4, &m.Recursive)
}

func (m *QueueRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *QueueRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// A QueueResponse is a queue; nil: there is none of that name.
type QueueResponse struct{ Queue *QueueInfo }

func (m *QueueResponse) Fields(f *proto.Fields) { proto.Optional(f, 1, &m.Queue) }
func (m *QueueResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *QueueResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// QueueInfo is what is told of a queue. It is read without the queues below it, which may nest without end.
type QueueInfo struct {
	Name, Path         string
	Capacity, Max      float32 // of its parent's, in [0, 1]
	Current            float32 // used, of its capacity
	State              QueueState
	Children           []QueueInfo
	Apps               []ApplicationReport
	Statistics         QueueStatistics
	Shares             QueueShares
	PreemptionDisabled bool
	Scheduler          string
	Used               Resource // for REST: the message has memory and cores only
}

func (m *QueueInfo) Fields(f *proto.Fields) {
	f.String(1, &m.Name)
	f.Float(2, &m.Capacity)
	f.Float(3, &m.Max)
	f.Float(4, &m.Current)
	f.Int32(5, (*int32)(&m.State))
	if !f.Reading() {
		proto.Repeated(f, 6, &m.Children)
	}
	proto.Repeated(f, 7, &m.Apps)
	f.PutString(8, "*") // labels
	f.Message(10, &m.Statistics)
	f.Bool(11, &m.PreemptionDisabled)
	f.Message(12, &m.Shares)
	disabled, weight := m.PreemptionDisabled, float32(-1)
	f.Bool(13, &disabled)
	f.Float(14, &weight) // by percentage
	f.String(15, &m.Path)
	f.Put(16, 1<<31-1) // applications at once
	f.String(17, &m.Scheduler)
}

// QueueState says whether a queue takes new applications.
type QueueState int32

// The states of queues.
const (
	QueueStopped  QueueState = 1
	QueueRunning  QueueState = 2
	QueueDraining QueueState = 3 // it takes none, and there are some in it
)

// String returns the name that Hadoop gives a state.
func (s QueueState) String() string {
	switch s {
	case QueueStopped:
		return "STOPPED"
	case QueueDraining:
		return "DRAINING"
	}
	return "RUNNING"
}

// QueueStatistics counts what is in a queue and all below it. Amounts of memory are in MiB.
type QueueStatistics struct {
	Submitted, Running, Pending, Completed, Killed, Failed, Users int64
	FreeMemory, UsedMemory, PendingMemory, ReservedMemory         int64
	FreeVCores, UsedVCores, PendingVCores, ReservedVCores         int64
	RunningContainers, PendingContainers, ReservedContainers      int64
}

func (m *QueueStatistics) Fields(f *proto.Fields) {
	for i, n := range []*int64{&m.Submitted, &m.Running, &m.Pending, &m.Completed, &m.Killed, &m.Failed, &m.Users,
		&m.FreeMemory, &m.UsedMemory, &m.PendingMemory, &m.ReservedMemory,
		&m.FreeVCores, &m.UsedVCores, &m.PendingVCores, &m.ReservedVCores,
		&m.RunningContainers, &m.PendingContainers, &m.ReservedContainers} {
		f.Int64(int32(i+1), n)
	}
}

// QueueShares is a queue's part of the cluster, in [0, 1] and in amounts.
type QueueShares struct {
	Capacity, Absolute, Max, AbsoluteMax float32
	MasterPart                           float32 // that ApplicationMasters may take
	Min, MaxAmount                       Resource
}

func (m *QueueShares) Fields(f *proto.Fields) {
	f.PutString(1, "")
	f.Within(2, func() {
		for i, part := range []*float32{&m.Capacity, &m.Absolute, &m.Max, &m.AbsoluteMax, &m.MasterPart} {
			f.Float(int32(i+1), part)
		}
		f.Message(6, &m.Min)
		f.Message(7, &m.MaxAmount)
		var none Resource // configured in amounts
		f.PutWithin(8, func() { none.Fields(f) })
		f.PutWithin(9, func() { none.Fields(f) })
	})
}

// QueueACLs says of queues what their caller may do.
type QueueACLs struct{ Queues []QueueACL }

// A QueueACL says what may be done with a queue.
type QueueACL struct {
	Queue string
	May   []int32 // SubmitTo, Administer
}

func (m *QueueACL) Fields(f *proto.Fields) {
	f.String(1, &m.Queue)
	f.Ints(2, &m.May)
}

// What may be done with a queue.
const (
	SubmitTo int32 = iota + 1
	Administer
)

func (m *QueueACLs) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Queues) }
func (m *QueueACLs) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *QueueACLs) Decode(b []byte) error  { return proto.Decode(b, m) }

// An AttemptRequest asks for something of an attempt.
type AttemptRequest struct{ ID AttemptID }

func (m *AttemptRequest) Fields(f *proto.Fields) { f.Message(1, &m.ID) }
func (m *AttemptRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *AttemptRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// An AttemptReport is what is told of an attempt.
type AttemptReport struct {
	ID            AttemptID
	Master        MasterAddress
	Diagnostics   string
	State         AttemptState
	Container     *ContainerID // of its ApplicationMaster; nil: none yet
	Start, Finish int64        // ms since 1970
}

func (m *AttemptReport) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	f.String(2, &m.Master.Host)
	f.Int32(3, &m.Master.Port)
	f.String(4, &m.Master.Tracking)
	f.String(5, &m.Diagnostics)
	f.Int32(6, (*int32)(&m.State))
	proto.Optional(f, 7, &m.Container)
	f.String(8, &m.Master.Original)
	f.Int64(9, &m.Start)
	f.Int64(10, &m.Finish)
}

// An AttemptsResponse is reports of attempts: of one, where one was asked for.
type AttemptsResponse struct{ Reports []AttemptReport }

func (m *AttemptsResponse) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Reports) }
func (m *AttemptsResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *AttemptsResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// A ContainerRequest asks for something of a container.
type ContainerRequest struct{ ID ContainerID }

func (m *ContainerRequest) Fields(f *proto.Fields) { f.Message(1, &m.ID) }
func (m *ContainerRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ContainerRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// A ContainerReport is what is told of a container.
type ContainerReport struct {
	ID            ContainerID
	Resource      Resource
	Node          NodeID
	Priority      Priority
	Start, Finish int64  // ms since 1970; Finish is 0 while it lives
	Log           string // URL
	Exit          int32
	State         ContainerState
	NodeAddress   string // URL
}

func (m *ContainerReport) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	f.Message(2, &m.Resource)
	f.Message(3, &m.Node)
	f.Message(4, &m.Priority)
	f.Int64(5, &m.Start)
	f.Int64(6, &m.Finish)
	f.String(8, &m.Log)
	f.Int32(9, &m.Exit)
	f.Int32(10, (*int32)(&m.State))
	f.String(11, &m.NodeAddress)
	f.Put(12, executionGuaranteed)
}

// A ContainersResponse is reports of containers: of one, where one was asked for.
type ContainersResponse struct{ Reports []ContainerReport }

func (m *ContainersResponse) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Reports) }
func (m *ContainersResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ContainersResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// A ResourceTypesResponse is the kinds of resources.
type ResourceTypesResponse struct{ Types []ResourceType }

func (m *ResourceTypesResponse) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Types) }
func (m *ResourceTypesResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *ResourceTypesResponse) Decode(b []byte) error  { return proto.Decode(b, m) }
