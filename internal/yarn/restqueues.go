package yarn

import (
	"cmp"
	"encoding/xml"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// queueShape is the part of a queue's body that says how its share is configured, and how many containers it has.
type queueShape struct {
	Weight         decimal    `json:"weight" xml:"weight"` // -1: its share is said otherwise
	Normalized     decimal    `json:"normalizedWeight" xml:"normalizedWeight"`
	Amounts        bool       `json:"isAbsoluteResource" xml:"isAbsoluteResource"`
	HideQueues     bool       `json:"hideReservationQueues" xml:"hideReservationQueues"`
	Labels         []string   `json:"nodeLabels" xml:"nodeLabels"`
	Containers     int64      `json:"allocatedContainers" xml:"allocatedContainers"`
	Reserved       int64      `json:"reservedContainers" xml:"reservedContainers"`
	Pending        int64      `json:"pendingContainers" xml:"pendingContainers"`
	Least          amountInfo `json:"minEffectiveCapacity" xml:"minEffectiveCapacity"`
	Most           amountInfo `json:"maxEffectiveCapacity" xml:"maxEffectiveCapacity"`
	MostOfOne      amountInfo `json:"maximumAllocation" xml:"maximumAllocation"`
	Priority       int32      `json:"queuePriority" xml:"queuePriority"`
	Ordering       string     `json:"orderingPolicyInfo" xml:"orderingPolicyInfo"`
	Mode           string     `json:"mode" xml:"mode"`
	Kind           string     `json:"queueType" xml:"queueType"`
	CreationMethod string     `json:"creationMethod" xml:"creationMethod"`
	AutoCreation   string     `json:"autoCreationEligibility" xml:"autoCreationEligibility"`
}

// queueApps is the part of a leaf queue's body that describes its applications and their users.
type queueApps struct {
	Active       int64      `json:"numActiveApplications" xml:"numActiveApplications"`
	Waiting      int64      `json:"numPendingApplications" xml:"numPendingApplications"`
	Containers   int64      `json:"numContainers" xml:"numContainers"`
	Users        queueUsers `json:"users" xml:"users"`
	MastersPart  decimal    `json:"configuredMaxAMResourceLimit" xml:"configuredMaxAMResourceLimit"`
	MastersUsed  amountInfo `json:"usedAMResource" xml:"usedAMResource"`
	Spared       bool       `json:"preemptionDisabled" xml:"preemptionDisabled"`
	SparedWithin bool       `json:"intraQueuePreemptionDisabled" xml:"intraQueuePreemptionDisabled"`
	Priority     int32      `json:"defaultPriority" xml:"defaultPriority"`
	ByItself     bool       `json:"isAutoCreatedLeafQueue" xml:"isAutoCreatedLeafQueue"`
	MostLifetime int64      `json:"maxApplicationLifetime" xml:"maxApplicationLifetime"`
	Lifetime     int64      `json:"defaultApplicationLifetime" xml:"defaultApplicationLifetime"`
}

type queueUsers struct {
	User []queueUser `json:"user,omitempty" xml:"user"`
}

type queueUser struct {
	Name    string     `json:"username" xml:"username"`
	Used    amountInfo `json:"resourcesUsed" xml:"resourcesUsed"`
	Waiting int64      `json:"numPendingApplications" xml:"numPendingApplications"`
	Active  int64      `json:"numActiveApplications" xml:"numActiveApplications"`
	Masters amountInfo `json:"AMResourceUsed" xml:"AMResourceUsed"`
}

// partOf returns part p of the cluster's capacity, rounded down. It allows for the error of a float32, so that a third
// of 3 is 1.
func partOf(m *manager, p float32) amountInfo {
	all, x := m.core.Capacity, float64(p)*(1+1e-7)
	for k := range all {
		all[k] = int64(x * float64(all[k]))
	}
	return m.config.Sizes.infoOf(all)
}

// A queueUse is the use of a queue, by user. An application is active as soon as its ApplicationMaster is started.
type queueUse map[string]*userUse

// A userUse is what a user has in a queue: how many applications wait for their ApplicationMasters, how many are
// active, and what all of them and their masters use.
type userUse struct {
	waiting, active int64
	used, masters   sched.Resources
}

// queueUses returns the use of all queues, by path. O(all applications).
func queueUses(m *manager) map[string]queueUse {
	uses := map[string]queueUse{}
	for _, app := range m.apps.list {
		if app.over {
			continue
		}
		of := uses[app.queue]
		if of == nil {
			of = queueUse{}
			uses[app.queue] = of
		}
		u := of[app.user]
		if u == nil {
			u = &userUse{}
			of[app.user] = u
		}
		if app.starting() {
			u.waiting++
		} else {
			u.active++
		}
		if a := app.current(); a != nil && a.master != nil && !a.ended() {
			u.masters = u.masters.Add(m.config.Sizes.amount(a.master.resource))
		}
		if j := m.core.Job(app.job); j != nil {
			u.used = u.used.Add(j.Used)
		}
	}
	return uses
}

// queuesBelow is the part of a queue that has queues below it.
type queuesBelow struct {
	Queues struct {
		Queue []queueBody `json:"queue,omitempty" xml:"queue"`
	} `json:"queues" xml:"queues"`
}

// A queueBody describes a queue and those below it. Its type is an attribute in XML.
type queueBody struct {
	kind  string
	parts parts
}

// rootKind is the type of the root queue.
const rootKind = "capacityScheduler"

// MarshalJSON writes the members, the type before the others.
func (b queueBody) MarshalJSON() ([]byte, error) {
	type kind struct {
		Type string `json:"type,omitempty"`
	}
	return append(parts{kind{b.kind}}, b.parts...).MarshalJSON()
}

// MarshalXML writes the members as elements.
func (b queueBody) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if b.kind == rootKind {
		start.Attr = append(start.Attr,
			xml.Attr{Name: xml.Name{Local: "xmlns:xsi"}, Value: "http://www.w3.org/2001/XMLSchema-instance"})
	}
	if b.kind != "" {
		start.Attr = append(start.Attr, xml.Attr{Name: xml.Name{Local: "xsi:type"}, Value: b.kind})
	}
	return b.parts.MarshalXML(e, start)
}

// bodyOfQueues describes a queue and the queues below it. uses are those of queueUses.
func bodyOfQueues(m *manager, q *wire.QueueInfo, uses map[string]queueUse) queueBody {
	queue := m.core.Queues[0]
	if q.Path != "root" {
		queue, _ = m.core.QueueNamed(q.Path[len("root."):])
	}
	sizes := m.config.Sizes
	info := sizes.bodyOfQueue(q)
	s := &q.Statistics
	shape := queueShape{
		Weight:         -1,
		Labels:         []string{"*"},
		Containers:     s.RunningContainers,
		Pending:        s.PendingContainers,
		Least:          partOf(m, q.Shares.Absolute),
		Most:           partOf(m, q.Shares.AbsoluteMax),
		Ordering:       "utilization",
		Mode:           "percentage",
		Kind:           "parent",
		CreationMethod: "static",
		AutoCreation:   "off",
	}
	most := m.nodes.largest(m.config.Sizes)
	shape.MostOfOne = sizes.info(most)
	if queue == nil {
		return queueBody{parts: parts{info, shape}}
	}
	switch spec := queue.Spec; {
	case spec.Weight > 0:
		shape.Weight, shape.Mode = decimal(spec.Weight), "weight"
	case spec.Min.Amount != (sched.Resources{}):
		shape.Mode, shape.Amounts = "absolute", true
		shape.Least = sizes.info(q.Shares.Min)
	}
	if len(q.Children) > 0 || q.Path == "root" {
		var list queuesBelow
		for i := range q.Children {
			list.Queues.Queue = append(list.Queues.Queue, bodyOfQueues(m, &q.Children[i], uses))
		}
		return queueBody{parts: parts{info, shape, list}}
	}
	shape.Kind, shape.Ordering = "leaf", cmp.Or(queue.Spec.Policy, "fifo")
	apps := queueApps{
		Containers:   s.RunningContainers,
		MastersPart:  decimal(queue.Spec.Masters),
		Spared:       q.PreemptionDisabled,
		SparedWithin: true,
		MostLifetime: -1,
		Lifetime:     -1,
	}
	use, masters := uses[m.core.Path(queue)], sched.Resources{}
	for _, name := range slices.Sorted(maps.Keys(use)) {
		u := use[name]
		apps.Active, apps.Waiting = apps.Active+u.active, apps.Waiting+u.waiting
		masters = masters.Add(u.masters)
		apps.Users.User = append(apps.Users.User,
			queueUser{name, sizes.infoOf(u.used), u.waiting, u.active, sizes.infoOf(u.masters)})
	}
	apps.MastersUsed = sizes.infoOf(masters)
	return queueBody{"capacitySchedulerLeafQueueInfo", parts{info, shape, apps}}
}
