package yarn

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"net"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// The bodies of REST replies. Names and nesting of members are Hadoop's, so that tools made for Hadoop can read them. A
// member that Hadoop leaves out in some replies is omitted when it is empty.

// parts are structs that are written as one object with the members of all of them. Some of Hadoop's objects have more
// members than a type of this module may have fields (TestTidyWidth).
type parts []any

// MarshalJSON writes the members of all parts.
func (p parts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for _, part := range p {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		if len(b) > 1 && len(text) > len("{}") {
			b = append(b, ',')
		}
		b = append(b, text[1:len(text)-1]...)
	}
	return append(b, '}'), nil
}

// MarshalXML writes the members of all parts as elements.
func (p parts) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	var inner struct {
		Text []byte `xml:",innerxml"`
	}
	for _, part := range p {
		text, err := xml.Marshal(part)
		if err != nil {
			return err
		}
		text = text[bytes.IndexByte(text, '>')+1 : bytes.LastIndexByte(text, '<')] // without the name of the part
		inner.Text = append(inner.Text, text...)
	}
	return e.EncodeElement(inner, start)
}

// A decimal is a number that is always written with a decimal point (7.0), as Java writes floating-point numbers.
type decimal float32

func (d decimal) String() string {
	if math.IsNaN(float64(d)) || math.IsInf(float64(d), 0) { // as a node may say of its use; JSON has no such numbers
		return "0.0"
	}
	s := strconv.FormatFloat(float64(d), 'f', -1, 32)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// MarshalJSON writes the number.
func (d decimal) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }

// MarshalXML writes the number as an element.
func (d decimal) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return e.EncodeElement(d.String(), start)
}

// A body is the body of a reply: an object with one member, which has a name and a value.
type body struct {
	name  string
	value any
}

// Names of bodies that are not written as a member.
const (
	alone    = "=" // the value itself is the body; in XML the element has the name that follows the "="
	accepted = "+" // there is no body, the status is 202, and the value names what is now below the request's path
)

// A statement lists the kinds of resources, each with what queues and users have lent and borrowed of it.
type statement struct {
	Kinds any `json:"kind" xml:"kind"`
}

type clusterInfo struct {
	ID                   int64  `json:"id" xml:"id"`
	StartedOn            int64  `json:"startedOn" xml:"startedOn"`
	State                string `json:"state" xml:"state"`
	HAState              string `json:"haState" xml:"haState"`
	Store                string `json:"rmStateStoreName" xml:"rmStateStoreName"`
	ResourceManager      string `json:"resourceManagerVersion" xml:"resourceManagerVersion"`
	ResourceManagerBuild string `json:"resourceManagerBuildVersion" xml:"resourceManagerBuildVersion"`
	Hadoop               string `json:"hadoopVersion" xml:"hadoopVersion"`
	HadoopBuild          string `json:"hadoopBuildVersion" xml:"hadoopBuildVersion"`
	Connection           string `json:"haZooKeeperConnectionState" xml:"haZooKeeperConnectionState"`
}

// appCounts, memoryCounts, coreCounts, nodeCounts and amountCounts are the parts of the figures of the whole cluster.
type appCounts struct {
	Submitted int64 `json:"appsSubmitted" xml:"appsSubmitted"`
	Completed int64 `json:"appsCompleted" xml:"appsCompleted"`
	Pending   int64 `json:"appsPending" xml:"appsPending"`
	Running   int64 `json:"appsRunning" xml:"appsRunning"`
	Failed    int64 `json:"appsFailed" xml:"appsFailed"`
	Killed    int64 `json:"appsKilled" xml:"appsKilled"`
}

// memoryCounts are in MiB.
type memoryCounts struct {
	Reserved  int64 `json:"reservedMB" xml:"reservedMB"`
	Available int64 `json:"availableMB" xml:"availableMB"`
	Allocated int64 `json:"allocatedMB" xml:"allocatedMB"`
	Pending   int64 `json:"pendingMB" xml:"pendingMB"`
	Total     int64 `json:"totalMB" xml:"totalMB"`
}

type coreCounts struct {
	Reserved            int64 `json:"reservedVirtualCores" xml:"reservedVirtualCores"`
	Available           int64 `json:"availableVirtualCores" xml:"availableVirtualCores"`
	Allocated           int64 `json:"allocatedVirtualCores" xml:"allocatedVirtualCores"`
	Pending             int64 `json:"pendingVirtualCores" xml:"pendingVirtualCores"`
	Total               int64 `json:"totalVirtualCores" xml:"totalVirtualCores"`
	ContainersAllocated int   `json:"containersAllocated" xml:"containersAllocated"`
	ContainersReserved  int   `json:"containersReserved" xml:"containersReserved"`
	ContainersPending   int   `json:"containersPending" xml:"containersPending"`
}

type nodeCounts struct {
	Total           int `json:"totalNodes" xml:"totalNodes"`
	Active          int `json:"activeNodes" xml:"activeNodes"`
	Lost            int `json:"lostNodes" xml:"lostNodes"`
	Unhealthy       int `json:"unhealthyNodes" xml:"unhealthyNodes"`
	Decommissioning int `json:"decommissioningNodes" xml:"decommissioningNodes"`
	Decommissioned  int `json:"decommissionedNodes" xml:"decommissionedNodes"`
	Rebooted        int `json:"rebootedNodes" xml:"rebootedNodes"`
	Shutdown        int `json:"shutdownNodes" xml:"shutdownNodes"`
}

// amountCounts are of all partitions. There is one partition.
type amountCounts struct {
	Used       amountInfo `json:"totalUsedResourcesAcrossPartition" xml:"totalUsedResourcesAcrossPartition"`
	Total      amountInfo `json:"totalClusterResourcesAcrossPartition" xml:"totalClusterResourcesAcrossPartition"`
	Reserved   amountInfo `json:"totalReservedResourcesAcrossPartition" xml:"totalReservedResourcesAcrossPartition"`
	Containers int        `json:"totalAllocatedContainersAcrossPartition" xml:"totalAllocatedContainersAcrossPartition"`
	Known      bool       `json:"crossPartitionMetricsAvailable" xml:"crossPartitionMetricsAvailable"`
}

type schedulerInfo struct {
	Info queueBody `json:"schedulerInfo" xml:"schedulerInfo"`
}

// queueInfo describes a queue. Capacities are in percent.
type queueInfo struct {
	Name                 string     `json:"queueName" xml:"queueName"`
	Path                 string     `json:"queuePath" xml:"queuePath"`
	Capacity             decimal    `json:"capacity" xml:"capacity"`
	UsedCapacity         decimal    `json:"usedCapacity" xml:"usedCapacity"`
	MaxCapacity          decimal    `json:"maxCapacity" xml:"maxCapacity"`
	AbsoluteCapacity     decimal    `json:"absoluteCapacity" xml:"absoluteCapacity"`
	AbsoluteMaxCapacity  decimal    `json:"absoluteMaxCapacity" xml:"absoluteMaxCapacity"`
	AbsoluteUsedCapacity decimal    `json:"absoluteUsedCapacity" xml:"absoluteUsedCapacity"`
	State                string     `json:"state" xml:"state"`
	Applications         int64      `json:"numApplications" xml:"numApplications"`
	Used                 amountInfo `json:"resourcesUsed" xml:"resourcesUsed"`
}

// hundredths returns a part in percent, rounded to five digits after the point: 70 for the float32 nearest to 0.7.
func hundredths(part float32) decimal { return decimal(math.Round(float64(part)*1e7) / 1e5) }

// amountInfo is an amount of resources: memory in MiB, virtual cores, and once more a list of all kinds by name.
type amountInfo struct {
	Memory int64         `json:"memory" xml:"memory"`
	VCores int64         `json:"vCores" xml:"vCores"`
	Kinds  amountsByKind `json:"resourceInformations" xml:"resourceInformations"`
}

type amountsByKind struct {
	Info []amountOfKind `json:"resourceInformation" xml:"resourceInformation"`
}

// amountOfKind is an amount of one kind of resource, and the least and the most of it that a container may have. Of
// memory and cores Hadoop shows no limits here.
type amountOfKind struct {
	Attributes struct{} `json:"attributes" xml:"attributes"`
	Max        int64    `json:"maximumAllocation" xml:"maximumAllocation"`
	Min        int64    `json:"minimumAllocation" xml:"minimumAllocation"`
	Name       string   `json:"name" xml:"name"`
	Type       string   `json:"resourceType" xml:"resourceType"`
	Units      string   `json:"units" xml:"units"`
	Value      int64    `json:"value" xml:"value"`
}

// info returns the description of amount r.
func (s Sizes) info(r wire.Resource) amountInfo {
	o := amountInfo{Memory: r.Memory, VCores: int64(r.VCores)}
	list := []amountOfKind{
		{Name: wire.MemoryKind, Units: "Mi", Max: math.MaxInt64, Value: r.Memory},
		{Name: wire.CoresKind, Max: math.MaxInt64, Value: int64(r.VCores)},
	}
	a := s.amount(r)
	for _, k := range s.Kinds {
		list = append(list, amountOfKind{Name: k.Name, Units: k.Units, Min: k.Min, Max: k.Max, Value: a[k.at]})
	}
	for i := range list {
		list[i].Type = "COUNTABLE"
	}
	o.Kinds.Info = list
	return o
}

// infoOf returns the description of amount r of the core.
func (s Sizes) infoOf(r sched.Resources) amountInfo { return s.info(s.size(r)) }

// resource returns the amount that a caller described: memory and cores from the members, other kinds from the list. It
// stops when the other kinds are longer than wire.MostOthers, since such an amount is refused.
func (i *amountInfo) resource() *wire.Resource {
	r := &wire.Resource{Memory: i.Memory, VCores: int32(min(max(i.VCores, math.MinInt32), math.MaxInt32))}
	for _, k := range i.Kinds.Info {
		switch {
		case k.Value == 0 || k.Name == "" || k.Name == wire.CoresKind || k.Name == wire.MemoryKind:
		case len(r.Others) <= wire.MostOthers:
			r.Others = r.Others.Plus(wire.Amount{Kind: k.Name, Units: k.Units, Value: k.Value})
		}
	}
	return r
}

func (s Sizes) bodyOfQueue(q *wire.QueueInfo) queueInfo {
	o := queueInfo{
		Name:                 q.Name,
		Path:                 q.Path,
		Capacity:             hundredths(q.Capacity),
		UsedCapacity:         hundredths(q.Current),
		MaxCapacity:          hundredths(q.Max),
		AbsoluteCapacity:     hundredths(q.Shares.Absolute),
		AbsoluteMaxCapacity:  hundredths(q.Shares.AbsoluteMax),
		AbsoluteUsedCapacity: hundredths(q.Current * q.Shares.Absolute),
		State:                q.State.String(),
		Applications:         q.Statistics.Running + q.Statistics.Pending,
		Used:                 s.info(q.Used),
	}
	return o
}

type nodeList struct {
	Node []parts `json:"node,omitempty" xml:"node"`
}

// nodeInfo describes a node. Memory is in MiB.
type nodeInfo struct {
	Rack             string `json:"rack" xml:"rack"`
	State            string `json:"state" xml:"state"`
	ID               string `json:"id" xml:"id"`
	Host             string `json:"nodeHostName" xml:"nodeHostName"`
	HTTPAddress      string `json:"nodeHTTPAddress" xml:"nodeHTTPAddress"`
	LastHealthUpdate int64  `json:"lastHealthUpdate" xml:"lastHealthUpdate"`
	Version          string `json:"version" xml:"version"`
	HealthReport     string `json:"healthReport" xml:"healthReport"`
	Containers       int32  `json:"numContainers" xml:"numContainers"`
	UsedMemory       int64  `json:"usedMemoryMB" xml:"usedMemoryMB"`
	AvailableMemory  int64  `json:"availMemoryMB" xml:"availMemoryMB"`
	UsedVCores       int32  `json:"usedVirtualCores" xml:"usedVirtualCores"`
	AvailableVCores  int32  `json:"availableVirtualCores" xml:"availableVirtualCores"`
}

// nodeUse says how much the processes of a node use, as its NodeManager measures it, and what the node has. Shares are
// in percent. Members of Hadoop's for which this ResourceManager has no figures are zero.
type nodeUse struct {
	MemoryShare   decimal    `json:"memUtilization" xml:"memUtilization"`
	CoreShare     decimal    `json:"cpuUtilization" xml:"cpuUtilization"`
	Opportunistic int32      `json:"numRunningOpportContainers" xml:"numRunningOpportContainers"`
	OtherMemory   int64      `json:"usedMemoryOpportGB" xml:"usedMemoryOpportGB"`
	OtherVCores   int32      `json:"usedVirtualCoresOpport" xml:"usedVirtualCoresOpport"`
	Queued        int32      `json:"numQueuedContainers" xml:"numQueuedContainers"`
	Tags          struct{}   `json:"allocationTags" xml:"allocationTags"`
	Measured      measured   `json:"resourceUtilization" xml:"resourceUtilization"`
	Attributes    struct{}   `json:"nodeAttributesInfo" xml:"nodeAttributesInfo"`
	Total         amountInfo `json:"totalResource" xml:"totalResource"`
	// nil: the node cannot be used
	Used *amountInfo `json:"usedResource,omitempty" xml:"usedResource,omitempty"`
	Free *amountInfo `json:"availableResource,omitempty" xml:"availableResource,omitempty"`
}

type measured struct {
	Memory            int32   `json:"nodePhysicalMemoryMB" xml:"nodePhysicalMemoryMB"`
	Virtual           int32   `json:"nodeVirtualMemoryMB" xml:"nodeVirtualMemoryMB"`
	Cores             decimal `json:"nodeCPUUsage" xml:"nodeCPUUsage"`
	ContainersMemory  int32   `json:"aggregatedContainersPhysicalMemoryMB" xml:"aggregatedContainersPhysicalMemoryMB"`
	ContainersVirtual int32   `json:"aggregatedContainersVirtualMemoryMB" xml:"aggregatedContainersVirtualMemoryMB"`
	ContainersCores   decimal `json:"containersCPUUsage" xml:"containersCPUUsage"`
}

func bodyOfNode(n *node) parts {
	r, s := n.report(), n.m.config.Sizes
	var containers, machine wire.Use
	if proto.Decode(r.Utilization, &containers) != nil || proto.Decode(r.Machine, &machine) != nil {
		containers, machine = wire.Use{}, wire.Use{}
	}
	use := nodeUse{
		Measured: measured{
			machine.Memory, machine.Virtual, decimal(machine.Cores),
			containers.Memory, containers.Virtual, decimal(containers.Cores),
		},
		Total: s.info(r.Capacity),
	}
	free := r.Used
	if n.usable() {
		free = r.Capacity
		used, left := s.info(r.Used), s.infoOf(s.amount(r.Capacity).Sub(s.amount(r.Used)))
		use.Used, use.Free = &used, &left
		use.MemoryShare = decimal(100 * float32(machine.Memory) / float32(max(1, free.Memory)))
		use.CoreShare = decimal(100 * machine.Cores / float32(max(1, free.VCores)))
	}
	return parts{nodeInfo{
		Rack:             r.Rack,
		State:            nodeStates[r.State],
		ID:               r.ID.String(),
		Host:             r.ID.Host,
		HTTPAddress:      r.HTTPAddress,
		LastHealthUpdate: r.HealthTime,
		Version:          n.version,
		HealthReport:     r.Health,
		Containers:       r.Containers,
		UsedMemory:       r.Used.Memory,
		AvailableMemory:  free.Memory - r.Used.Memory,
		UsedVCores:       r.Used.VCores,
		AvailableVCores:  free.VCores - r.Used.VCores,
	}, use}
}

type appList struct {
	App []parts `json:"app,omitempty" xml:"app"`
}

// appIdentity, appMaster and appUsage are the parts of the description of an application: what it is, where its
// ApplicationMaster is, and what it uses.

// appIdentity says what an application is. Instants are in ms since 1970, times in ms, progress in percent.
type appIdentity struct {
	ID           string  `json:"id" xml:"id"`
	User         string  `json:"user" xml:"user"`
	Name         string  `json:"name" xml:"name"`
	Queue        string  `json:"queue" xml:"queue"`
	State        string  `json:"state" xml:"state"`
	FinalStatus  string  `json:"finalStatus" xml:"finalStatus"`
	Progress     decimal `json:"progress" xml:"progress"`
	TrackingUI   string  `json:"trackingUI" xml:"trackingUI"`
	TrackingURL  string  `json:"trackingUrl,omitempty" xml:"trackingUrl,omitempty"`
	Diagnostics  string  `json:"diagnostics" xml:"diagnostics"`
	ClusterID    int64   `json:"clusterId" xml:"clusterId"`
	Type         string  `json:"applicationType" xml:"applicationType"`
	Tags         string  `json:"applicationTags" xml:"applicationTags"`
	Priority     int32   `json:"priority" xml:"priority"`
	StartedTime  int64   `json:"startedTime" xml:"startedTime"`
	LaunchTime   int64   `json:"launchTime" xml:"launchTime"`
	FinishedTime int64   `json:"finishedTime" xml:"finishedTime"`
	ElapsedTime  int64   `json:"elapsedTime" xml:"elapsedTime"`
}

type appMaster struct {
	ContainerLogs string `json:"amContainerLogs,omitempty" xml:"amContainerLogs,omitempty"`
	HTTPAddress   string `json:"amHostHttpAddress,omitempty" xml:"amHostHttpAddress,omitempty"`
	RPCAddress    string `json:"amRPCAddress,omitempty" xml:"amRPCAddress,omitempty"`
	Node          string `json:"masterNodeId" xml:"masterNodeId"`
	Unmanaged     bool   `json:"unmanagedApplication" xml:"unmanagedApplication"`
}

// appUsage says what an application holds (-1 once it has ended), and what it has used since its start.
type appUsage struct {
	AllocatedMemory   int64   `json:"allocatedMB" xml:"allocatedMB"`
	AllocatedVCores   int32   `json:"allocatedVCores" xml:"allocatedVCores"`
	ReservedMemory    int64   `json:"reservedMB" xml:"reservedMB"`
	ReservedVCores    int32   `json:"reservedVCores" xml:"reservedVCores"`
	RunningContainers int32   `json:"runningContainers" xml:"runningContainers"`
	MemorySeconds     int64   `json:"memorySeconds" xml:"memorySeconds"`
	VCoreSeconds      int64   `json:"vcoreSeconds" xml:"vcoreSeconds"`
	QueuePercent      decimal `json:"queueUsagePercentage" xml:"queueUsagePercentage"`
	ClusterPercent    decimal `json:"clusterUsagePercentage" xml:"clusterUsagePercentage"`
	PreemptedMemory   int64   `json:"preemptedResourceMB" xml:"preemptedResourceMB"`
	PreemptedVCores   int32   `json:"preemptedResourceVCores" xml:"preemptedResourceVCores"`
	TasksPreempted    int32   `json:"numNonAMContainerPreempted" xml:"numNonAMContainerPreempted"`
	MastersPreempted  int32   `json:"numAMContainerPreempted" xml:"numAMContainerPreempted"`
	LogAggregation    string  `json:"logAggregationStatus" xml:"logAggregationStatus"`
}

// appExpected is an extension of Hadoop's description of an application: when its first task is expected to start and
// its last to end, in seconds from now. Nine of ten simulated ends lie between Low and High. Members that are not known
// are left out, and Start is left out when a task has started.
type appExpected struct {
	Start *float64 `json:"expected_start_s,omitempty" xml:"expected_start_s,omitempty"`
	End   *float64 `json:"expected_end_s,omitempty" xml:"expected_end_s,omitempty"`
	Low   *float64 `json:"expected_end_low_s,omitempty" xml:"expected_end_low_s,omitempty"`
	High  *float64 `json:"expected_end_high_s,omitempty" xml:"expected_end_high_s,omitempty"`
}

// A masterPlace says where an ApplicationMaster is: its node's ID, the scheme and the address of the node's pages, and
// its container.
type masterPlace struct{ node, scheme, web, container string }

// bodyOfApp returns the description of an application at instant now in ms. cluster is the start of the ResourceManager
// in ms. at is empty if the ApplicationMaster has no container, or the user may not see it.
func bodyOfApp(r *wire.ApplicationReport, now, cluster int64, at masterPlace) parts {
	id := appIdentity{
		ID:           r.ID.String(),
		User:         r.User,
		Name:         r.Name,
		Queue:        r.Queue,
		State:        r.State.String(),
		FinalStatus:  finalName(r.Final),
		Progress:     decimal(100 * r.Progress),
		TrackingUI:   "History",
		TrackingURL:  r.Master.Tracking,
		Diagnostics:  r.Diagnostics,
		ClusterID:    cluster,
		Type:         r.Type,
		Tags:         strings.Join(r.Tags, ","),
		Priority:     int32(r.Priority),
		StartedTime:  r.Start,
		LaunchTime:   r.Launched,
		FinishedTime: r.Finish,
		ElapsedTime:  now - r.Start,
	}
	switch {
	case r.Finish > 0:
		id.ElapsedTime = r.Finish - r.Start
	case r.State == wire.AppRunning:
		id.TrackingUI = "ApplicationMaster"
	default:
		id.TrackingUI, id.TrackingURL = "UNASSIGNED", ""
	}
	master := appMaster{Unmanaged: r.Unmanaged}
	if at.container != "" {
		master.Node, master.HTTPAddress = at.node, at.web
		master.ContainerLogs = at.scheme + "://" + at.web + "/node/containerlogs/" + at.container + "/" + r.User
	}
	if r.Master.Port > 0 {
		master.RPCAddress = net.JoinHostPort(r.Master.Host, strconv.Itoa(int(r.Master.Port)))
	}
	used := appUsage{
		AllocatedMemory:   -1,
		AllocatedVCores:   -1,
		ReservedMemory:    -1,
		ReservedVCores:    -1,
		RunningContainers: -1,
		MemorySeconds:     r.Usage.MemorySeconds,
		VCoreSeconds:      r.Usage.VCoreSeconds,
		QueuePercent:      decimal(r.Usage.QueuePercent),
		ClusterPercent:    decimal(r.Usage.ClusterPercent),
		LogAggregation:    r.Logs.String(),
	}
	if r.Usage.Known {
		used.AllocatedMemory, used.AllocatedVCores = r.Usage.Used.Memory, r.Usage.Used.VCores
		used.ReservedMemory, used.ReservedVCores, used.RunningContainers = 0, 0, r.Usage.Containers
	}
	return parts{id, master, used}
}

type statistics struct {
	Item []statistic `json:"statItem" xml:"statItem"`
}

// statistic is the number of the applications of a type that are in a state.
type statistic struct {
	State string `json:"state" xml:"state"`
	Type  string `json:"type" xml:"type"`
	Count int    `json:"count" xml:"count"`
}

// exceptionInfo says why a request was refused.
type exceptionInfo struct {
	Exception string `json:"exception" xml:"exception"`
	Class     string `json:"javaClassName" xml:"javaClassName"`
	Message   string `json:"message" xml:"message"`
}
