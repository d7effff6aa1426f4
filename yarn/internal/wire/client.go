package wire

import "github.com/sojourn-sched/sojourn/yarn/internal/proto"

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

// The states of an attempt, of those that this project's attempts have.
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

func (m *NewApplication) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.ID)
	return proto.AppendMessage(b, 2, &m.Maximum)
}

func (m *NewApplication) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			r.Message(&m.Maximum)
		}
	}
	return r.Err()
}

// A SubmitRequest submits an application.
type SubmitRequest struct{ Submission Submission }

func (m *SubmitRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			r.Message(&m.Submission)
		}
	}
	return r.Err()
}

func (m *SubmitRequest) Append(b []byte) []byte { return proto.AppendMessage(b, 1, &m.Submission) }

// An ApplicationRequest asks for something of an application.
type ApplicationRequest struct{ ID ApplicationID }

func (m *ApplicationRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			r.Message(&m.ID)
		}
	}
	return r.Err()
}

func (m *ApplicationRequest) Append(b []byte) []byte { return proto.AppendMessage(b, 1, &m.ID) }

// An ApplicationResponse is one report.
type ApplicationResponse struct{ Report ApplicationReport }

func (m *ApplicationResponse) Append(b []byte) []byte { return proto.AppendMessage(b, 1, &m.Report) }

func (m *ApplicationResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			r.Message(&m.Report)
		}
	}
	return r.Err()
}

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
	MasterToken   *Token // for the owner of an unmanaged ApplicationMaster; nil else
}

// MasterAddress is where an ApplicationMaster is found.
type MasterAddress struct {
	Host     string // NotAvailable: it has not registered
	Port     int32  // -1: it has not registered
	Tracking string // URL by the proxy
	Original string // URL that the ApplicationMaster gave; NotAvailable: none
}

func (m *ApplicationReport) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.ID)
	b = proto.AppendString(b, 2, m.User)
	b = proto.AppendString(b, 3, m.Queue)
	b = proto.AppendString(b, 4, m.Name)
	b = proto.AppendString(b, 5, m.Master.Host)
	b = proto.AppendInt32(b, 6, m.Master.Port)
	b = proto.AppendInt32(b, 8, int32(m.State))
	b = proto.AppendString(b, 9, m.Master.Tracking)
	b = proto.AppendString(b, 10, m.Diagnostics)
	b = proto.AppendInt64(b, 11, m.Start)
	b = proto.AppendInt64(b, 12, m.Finish)
	b = proto.AppendInt32(b, 13, int32(m.Final))
	b = proto.AppendMessage(b, 14, &m.Usage)
	b = proto.AppendString(b, 15, m.Master.Original)
	b = proto.AppendMessage(b, 16, &m.Attempt)
	b = proto.AppendFloat(b, 17, m.Progress)
	b = proto.AppendString(b, 18, m.Type)
	if m.MasterToken != nil {
		b = proto.AppendMessage(b, 19, m.MasterToken)
	}
	b = proto.AppendStrings(b, 20, m.Tags)
	if m.Attempt.Attempt > 0 {
		b = proto.AppendInt32(b, 21, 1) // logs are not aggregated
	}
	b = proto.AppendBool(b, 22, m.Unmanaged)
	b = proto.AppendMessage(b, 23, &m.Priority)
	b = proto.AppendString(b, 24, "<Not set>")           // node labels of its containers
	b = proto.AppendString(b, 25, "<DEFAULT_PARTITION>") // and of its ApplicationMaster
	b = proto.AppendMessage(b, 26, &m.Lifetime)
	return proto.AppendInt64(b, 27, m.Launched)
}

// A Lifetime is the one timeout that applications have. The zero Lifetime is unlimited.
type Lifetime struct {
	Expires string // an instant, as Timeout has it; "": never
	Left    int64  // s, where it expires
}

func (m *Lifetime) Append(b []byte) []byte {
	expires, left := m.Expires, m.Left
	if expires == "" {
		expires, left = "UNLIMITED", -1
	}
	inner := proto.AppendInt32(nil, 1, TimeoutLifetime)
	inner = proto.AppendString(inner, 2, expires)
	inner = proto.AppendInt64(inner, 3, left)
	b = proto.AppendInt32(b, 1, TimeoutLifetime)
	return proto.AppendMessage(b, 2, proto.Raw(inner))
}

func (m *Lifetime) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() != 2 {
			continue
		}
		for inner := proto.Read(r.Lent()); inner.Next(); {
			switch inner.Num() {
			case 2:
				m.Expires = inner.String()
			case 3:
				m.Left = inner.Int64()
			}
		}
	}
	if m.Left < 0 {
		*m = Lifetime{}
	}
	return r.Err()
}

func (m *ApplicationReport) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			m.User = r.String()
		case 3:
			m.Queue = r.String()
		case 4:
			m.Name = r.String()
		case 5:
			m.Master.Host = r.String()
		case 6:
			m.Master.Port = r.Int32()
		case 8:
			m.State = AppState(r.Int32())
		case 9:
			m.Master.Tracking = r.String()
		case 10:
			m.Diagnostics = r.String()
		case 11:
			m.Start = r.Int64()
		case 12:
			m.Finish = r.Int64()
		case 13:
			m.Final = FinalStatus(r.Int32())
		case 14:
			r.Message(&m.Usage)
		case 15:
			m.Master.Original = r.String()
		case 16:
			r.Message(&m.Attempt)
		case 17:
			m.Progress = r.Float()
		case 18:
			m.Type = r.String()
		case 19:
			m.MasterToken = proto.One(&r, m.MasterToken)
		case 20:
			m.Tags = append(m.Tags, r.String())
		case 22:
			m.Unmanaged = r.Bool()
		case 23:
			r.Message(&m.Priority)
		case 26:
			r.Message(&m.Lifetime)
		case 27:
			m.Launched = r.Int64()
		}
	}
	return r.Err()
}

// Usage is what an application uses and has used. Commands fail on one with parts missing, so all of it is always written.
type Usage struct {
	Known          bool // false: before the first container and after the last; the numbers of now are then written as -1
	Containers     int32
	Used           Resource
	MemorySeconds  int64   // MiB·s
	VCoreSeconds   int64   // core·s
	QueuePercent   float32 // of the queue's capacity
	ClusterPercent float32 // of the cluster's
}

func (m *Usage) Append(b []byte) []byte {
	now := *m
	none := Resource{}
	reserved := int32(0)
	if !m.Known {
		now.Containers, now.Used, none, reserved = -1, Resource{-1, -1}, Resource{-1, -1}, -1
	}
	b = proto.AppendInt32(b, 1, now.Containers)
	b = proto.AppendInt32(b, 2, reserved)
	b = proto.AppendMessage(b, 3, &now.Used)
	b = proto.AppendMessage(b, 4, &none)
	b = proto.AppendMessage(b, 5, &now.Used) // what it needs
	b = proto.AppendInt64(b, 6, m.MemorySeconds)
	b = proto.AppendInt64(b, 7, m.VCoreSeconds)
	if m.Known {
		b = proto.AppendFloat(b, 8, m.QueuePercent)
		b = proto.AppendFloat(b, 9, m.ClusterPercent)
	}
	b = proto.AppendInt64(b, 10, 0) // of what was preempted
	b = proto.AppendInt64(b, 11, 0)
	b = proto.AppendMessage(b, 12, &amount{"memory-mb", m.MemorySeconds})
	b = proto.AppendMessage(b, 12, &amount{"vcores", m.VCoreSeconds})
	b = proto.AppendMessage(b, 13, &amount{"memory-mb", 0})
	return proto.AppendMessage(b, 13, &amount{"vcores", 0})
}

func (m *Usage) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Containers = r.Int32()
			m.Known = m.Containers >= 0
		case 3:
			r.Message(&m.Used)
		case 6:
			m.MemorySeconds = r.Int64()
		case 7:
			m.VCoreSeconds = r.Int64()
		case 8:
			m.QueuePercent = r.Float()
		case 9:
			m.ClusterPercent = r.Float()
		}
	}
	return r.Err()
}

type amount struct {
	key   string
	value int64
}

func (m *amount) Append(b []byte) []byte {
	return proto.AppendInt64(proto.AppendString(b, 1, m.key), 2, m.value)
}

// A KillRequest ends an application.
type KillRequest struct {
	ID          ApplicationID
	Diagnostics string
}

func (m *KillRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			m.Diagnostics = r.String()
		}
	}
	return r.Err()
}

func (m *KillRequest) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.ID)
	if m.Diagnostics != "" {
		b = proto.AppendString(b, 2, m.Diagnostics)
	}
	return b
}

// A KillResponse says whether the application has ended: a client asks until it has.
type KillResponse struct{ Done bool }

func (m *KillResponse) Append(b []byte) []byte { return proto.AppendBool(b, 1, m.Done) }

func (m *KillResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Done = r.Bool()
		}
	}
	return r.Err()
}

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
	Own               bool      // only those of who asks
}

// A TimeRange is a time in ms since 1970 from one to another, both included; Until is 0 where there is none.
type TimeRange struct{ From, Until int64 }

func (m *ApplicationsRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Types = append(m.Types, r.String())
		case 2:
			m.States = r.Ints(m.States)
		case 3:
			m.Users = append(m.Users, r.String())
		case 4:
			m.Queues = append(m.Queues, r.String())
		case 5:
			m.Limit = r.Int64()
		case 6:
			m.Started.From = r.Int64()
		case 7:
			m.Started.Until = r.Int64()
		case 8:
			m.Finished.From = r.Int64()
		case 9:
			m.Finished.Until = r.Int64()
		case 11:
			m.Own = r.Int32() == scopeOwn
		case 10:
			m.Tags = append(m.Tags, r.String())
		case 12:
			m.Name = r.String()
		}
	}
	return r.Err()
}

func (m *ApplicationsRequest) Append(b []byte) []byte {
	b = proto.AppendStrings(b, 1, m.Types)
	return proto.AppendInts(b, 2, m.States)
}

// scopeOwn asks for the caller's own applications.
const scopeOwn = 2

// An ApplicationsResponse is many reports.
type ApplicationsResponse struct{ Reports []ApplicationReport }

func (m *ApplicationsResponse) Append(b []byte) []byte { return proto.Each(b, 1, m.Reports) }

func (m *ApplicationsResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Reports = proto.Many(&r, m.Reports)
		}
	}
	return r.Err()
}

// ClusterMetrics counts nodes by state.
type ClusterMetrics struct{ Nodes, Decommissioned, Active, Lost, Unhealthy, Rebooted, Decommissioning, Shutdown int32 }

func (m *ClusterMetrics) Append(b []byte) []byte {
	var c []byte
	for i, n := range []int32{m.Nodes, m.Decommissioned, m.Active, m.Lost, m.Unhealthy, m.Rebooted, m.Decommissioning, m.Shutdown} {
		c = proto.AppendInt32(c, int32(i+1), n)
	}
	return proto.AppendMessage(b, 1, proto.Raw(c))
}

func (m *ClusterMetrics) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() != 1 {
			continue
		}
		to := []*int32{&m.Nodes, &m.Decommissioned, &m.Active, &m.Lost, &m.Unhealthy, &m.Rebooted, &m.Decommissioning, &m.Shutdown}
		for c := proto.Read(r.Lent()); c.Next(); {
			if n := int(c.Num()); n <= len(to) {
				*to[n-1] = c.Int32()
			}
		}
	}
	return r.Err()
}

// A NodesRequest asks for the nodes in some states; none: in all.
type NodesRequest struct{ States []int32 } // NodeState

func (m *NodesRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.States = r.Ints(m.States)
		}
	}
	return r.Err()
}

func (m *NodesRequest) Append(b []byte) []byte { return proto.AppendInts(b, 1, m.States) }

// A NodesResponse is many reports.
type NodesResponse struct{ Reports []NodeReport }

func (m *NodesResponse) Append(b []byte) []byte { return proto.Each(b, 1, m.Reports) }

func (m *NodesResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Reports = proto.Many(&r, m.Reports)
		}
	}
	return r.Err()
}

// A QueueRequest asks for a queue, perhaps with its applications and what is below it.
type QueueRequest struct {
	Name                      string
	Apps, Children, Recursive bool
}

func (m *QueueRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Name = r.String()
		case 2:
			m.Apps = r.Bool()
		case 3:
			m.Children = r.Bool()
		case 4:
			m.Recursive = r.Bool()
		}
	}
	return r.Err()
}

func (m *QueueRequest) Append(b []byte) []byte {
	b = proto.AppendString(b, 1, m.Name)
	b = proto.AppendBool(b, 2, m.Apps)
	b = proto.AppendBool(b, 3, m.Children)
	return proto.AppendBool(b, 4, m.Recursive)
}

// A QueueResponse is a queue; without one, there is none of that name.
type QueueResponse struct{ Queue *QueueInfo }

func (m *QueueResponse) Append(b []byte) []byte {
	if m.Queue == nil {
		return b
	}
	return proto.AppendMessage(b, 1, m.Queue)
}

func (m *QueueResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Queue = proto.One(&r, m.Queue)
		}
	}
	return r.Err()
}

// QueueInfo is what is told of a queue.
type QueueInfo struct {
	Name, Path         string
	Capacity, Max      float32 // of its parent's, in [0, 1]
	Current            float32 // used, of its capacity
	Children           []QueueInfo
	Apps               []ApplicationReport
	Statistics         QueueStatistics
	Shares             QueueShares
	PreemptionDisabled bool
	Scheduler          string
}

func (m *QueueInfo) Append(b []byte) []byte {
	b = proto.AppendString(b, 1, m.Name)
	b = proto.AppendFloat(b, 2, m.Capacity)
	b = proto.AppendFloat(b, 3, m.Max)
	b = proto.AppendFloat(b, 4, m.Current)
	b = proto.AppendInt32(b, 5, 2) // it runs
	b = proto.Each(b, 6, m.Children)
	b = proto.Each(b, 7, m.Apps)
	b = proto.AppendString(b, 8, "*") // labels
	b = proto.AppendMessage(b, 10, &m.Statistics)
	b = proto.AppendBool(b, 11, m.PreemptionDisabled)
	b = proto.AppendMessage(b, 12, &m.Shares)
	b = proto.AppendBool(b, 13, m.PreemptionDisabled)
	b = proto.AppendFloat(b, 14, -1) // weight: by percentage
	b = proto.AppendString(b, 15, m.Path)
	b = proto.AppendInt32(b, 16, 1<<31-1) // applications at once
	return proto.AppendString(b, 17, m.Scheduler)
}

// Decode reads a queue without the queues below it.
func (m *QueueInfo) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Name = r.String()
		case 2:
			m.Capacity = r.Float()
		case 3:
			m.Max = r.Float()
		case 4:
			m.Current = r.Float()
		case 7:
			m.Apps = proto.Many(&r, m.Apps)
		case 10:
			r.Message(&m.Statistics)
		case 11:
			m.PreemptionDisabled = r.Bool()
		case 12:
			r.Message(&m.Shares)
		case 15:
			m.Path = r.String()
		case 17:
			m.Scheduler = r.String()
		}
	}
	return r.Err()
}

// QueueStatistics counts what is in a queue and all below it. Amounts of memory are in MiB.
type QueueStatistics struct {
	Submitted, Running, Pending, Completed, Killed, Failed, Users int64
	FreeMemory, UsedMemory, PendingMemory, ReservedMemory         int64
	FreeVCores, UsedVCores, PendingVCores, ReservedVCores         int64
	RunningContainers, PendingContainers, ReservedContainers      int64
}

func (m *QueueStatistics) fields() []*int64 {
	return []*int64{&m.Submitted, &m.Running, &m.Pending, &m.Completed, &m.Killed, &m.Failed, &m.Users,
		&m.FreeMemory, &m.UsedMemory, &m.PendingMemory, &m.ReservedMemory,
		&m.FreeVCores, &m.UsedVCores, &m.PendingVCores, &m.ReservedVCores,
		&m.RunningContainers, &m.PendingContainers, &m.ReservedContainers}
}

func (m *QueueStatistics) Append(b []byte) []byte {
	for i, n := range m.fields() {
		b = proto.AppendInt64(b, int32(i+1), *n)
	}
	return b
}

func (m *QueueStatistics) Decode(b []byte) error {
	to := m.fields()
	r := proto.Read(b)
	for r.Next() {
		if n := int(r.Num()); n <= len(to) {
			*to[n-1] = r.Int64()
		}
	}
	return r.Err()
}

// QueueShares is a queue's part of the cluster, in [0, 1] and in amounts.
type QueueShares struct {
	Capacity, Absolute, Max, AbsoluteMax float32
	MasterPart                           float32 // that ApplicationMasters may take
	Min, MaxAmount                       Resource
}

func (m *QueueShares) Append(b []byte) []byte {
	var c []byte
	for i, f := range []float32{m.Capacity, m.Absolute, m.Max, m.AbsoluteMax, m.MasterPart} {
		c = proto.AppendFloat(c, int32(i+1), f)
	}
	c = proto.AppendMessage(c, 6, &m.Min)
	c = proto.AppendMessage(c, 7, &m.MaxAmount)
	c = proto.AppendMessage(c, 8, &Resource{}) // configured in amounts
	c = proto.AppendMessage(c, 9, &Resource{})
	return proto.AppendMessage(proto.AppendString(b, 1, ""), 2, proto.Raw(c))
}

func (m *QueueShares) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() != 2 {
			continue
		}
		to := []*float32{&m.Capacity, &m.Absolute, &m.Max, &m.AbsoluteMax, &m.MasterPart}
		c := proto.Read(r.Lent())
		for c.Next() {
			switch n := int(c.Num()); {
			case n <= len(to):
				*to[n-1] = c.Float()
			case n == 6:
				c.Message(&m.Min)
			case n == 7:
				c.Message(&m.MaxAmount)
			}
		}
		if err := c.Err(); err != nil {
			return err
		}
	}
	return r.Err()
}

// QueueACLs says of queues what their caller may do.
type QueueACLs struct{ Queues []QueueACL }

// A QueueACL says what may be done with a queue.
type QueueACL struct {
	Queue string
	May   []int32 // SubmitTo, Administer
}

// What may be done with a queue.
const (
	SubmitTo int32 = iota + 1
	Administer
)

func (m *QueueACLs) Append(b []byte) []byte {
	for _, q := range m.Queues {
		b = proto.AppendMessage(b, 1, proto.Raw(proto.AppendInts(proto.AppendString(nil, 1, q.Queue), 2, q.May)))
	}
	return b
}

func (m *QueueACLs) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() != 1 {
			continue
		}
		var one QueueACL
		for q := proto.Read(r.Lent()); q.Next(); {
			switch q.Num() {
			case 1:
				one.Queue = q.String()
			case 2:
				one.May = q.Ints(one.May)
			}
		}
		m.Queues = append(m.Queues, one)
	}
	return r.Err()
}

// An AttemptRequest asks for something of an attempt.
type AttemptRequest struct{ ID AttemptID }

func (m *AttemptRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			r.Message(&m.ID)
		}
	}
	return r.Err()
}

func (m *AttemptRequest) Append(b []byte) []byte { return proto.AppendMessage(b, 1, &m.ID) }

// An AttemptReport is what is told of an attempt.
type AttemptReport struct {
	ID            AttemptID
	Master        MasterAddress
	Diagnostics   string
	State         AttemptState
	Container     *ContainerID // of its ApplicationMaster; nil: none yet
	Start, Finish int64        // ms since 1970
}

func (m *AttemptReport) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.ID)
	b = proto.AppendString(b, 2, m.Master.Host)
	b = proto.AppendInt32(b, 3, m.Master.Port)
	b = proto.AppendString(b, 4, m.Master.Tracking)
	b = proto.AppendString(b, 5, m.Diagnostics)
	b = proto.AppendInt32(b, 6, int32(m.State))
	if m.Container != nil {
		b = proto.AppendMessage(b, 7, m.Container)
	}
	b = proto.AppendString(b, 8, m.Master.Original)
	b = proto.AppendInt64(b, 9, m.Start)
	return proto.AppendInt64(b, 10, m.Finish)
}

func (m *AttemptReport) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			m.Master.Host = r.String()
		case 3:
			m.Master.Port = r.Int32()
		case 4:
			m.Master.Tracking = r.String()
		case 5:
			m.Diagnostics = r.String()
		case 6:
			m.State = AttemptState(r.Int32())
		case 7:
			m.Container = proto.One(&r, m.Container)
		case 8:
			m.Master.Original = r.String()
		case 9:
			m.Start = r.Int64()
		case 10:
			m.Finish = r.Int64()
		}
	}
	return r.Err()
}

// An AttemptsResponse is reports of attempts: of one, where one was asked for.
type AttemptsResponse struct{ Reports []AttemptReport }

func (m *AttemptsResponse) Append(b []byte) []byte { return proto.Each(b, 1, m.Reports) }

func (m *AttemptsResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Reports = proto.Many(&r, m.Reports)
		}
	}
	return r.Err()
}

// A ContainerRequest asks for something of a container.
type ContainerRequest struct{ ID ContainerID }

func (m *ContainerRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			r.Message(&m.ID)
		}
	}
	return r.Err()
}

func (m *ContainerRequest) Append(b []byte) []byte { return proto.AppendMessage(b, 1, &m.ID) }

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

func (m *ContainerReport) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.ID)
	b = proto.AppendMessage(b, 2, &m.Resource)
	b = proto.AppendMessage(b, 3, &m.Node)
	b = proto.AppendMessage(b, 4, &m.Priority)
	b = proto.AppendInt64(b, 5, m.Start)
	b = proto.AppendInt64(b, 6, m.Finish)
	b = proto.AppendString(b, 8, m.Log)
	b = proto.AppendInt32(b, 9, m.Exit)
	b = proto.AppendInt32(b, 10, int32(m.State))
	b = proto.AppendString(b, 11, m.NodeAddress)
	return proto.AppendInt32(b, 12, executionGuaranteed)
}

func (m *ContainerReport) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			r.Message(&m.Resource)
		case 3:
			r.Message(&m.Node)
		case 4:
			r.Message(&m.Priority)
		case 5:
			m.Start = r.Int64()
		case 6:
			m.Finish = r.Int64()
		case 8:
			m.Log = r.String()
		case 9:
			m.Exit = r.Int32()
		case 10:
			m.State = ContainerState(r.Int32())
		case 11:
			m.NodeAddress = r.String()
		}
	}
	return r.Err()
}

// A ContainersResponse is reports of containers: of one, where one was asked for.
type ContainersResponse struct{ Reports []ContainerReport }

func (m *ContainersResponse) Append(b []byte) []byte { return proto.Each(b, 1, m.Reports) }

func (m *ContainersResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Reports = proto.Many(&r, m.Reports)
		}
	}
	return r.Err()
}

// A ResourceTypesResponse is the kinds of resources.
type ResourceTypesResponse struct{ Types []ResourceType }

func (m *ResourceTypesResponse) Append(b []byte) []byte { return proto.Each(b, 1, m.Types) }

func (m *ResourceTypesResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Types = proto.Many(&r, m.Types)
		}
	}
	return r.Err()
}
