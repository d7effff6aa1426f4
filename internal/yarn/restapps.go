package yarn

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// appDetails is the part of an application's body that says what it has held over time, what it holds and waits for,
// and when it must end. Preempted amounts are not counted: they are zero.
type appDetails struct {
	Seconds          *secondsMap   `json:"resourceSecondsMap" xml:"resourceSecondsMap"`
	PreemptedMemory  int64         `json:"preemptedMemorySeconds" xml:"preemptedMemorySeconds"`
	PreemptedVCores  int64         `json:"preemptedVcoreSeconds" xml:"preemptedVcoreSeconds"`
	PreemptedSeconds struct{}      `json:"preemptedResourceSecondsMap" xml:"preemptedResourceSecondsMap"`
	MasterLabel      *string       `json:"amNodeLabelExpression,omitempty" xml:"amNodeLabelExpression"`
	Requests         []requestInfo `json:"resourceRequests,omitempty" xml:"resourceRequests"`
	Held             *usageList    `json:"resourceInfo,omitempty" xml:"resourceInfo"`
	Timeouts         *timeoutList  `json:"timeouts,omitempty" xml:"timeouts"`
}

// leaveOut has, for each part of an application's body that a request may deselect, the function that leaves it out.
// The names of the parts are Hadoop's.
var leaveOut = map[string]func(*appDetails){
	"resourceRequests":       func(d *appDetails) { d.Requests = nil },
	"timeouts":               func(d *appDetails) { d.Timeouts = nil },
	"appNodeLabelExpression": func(*appDetails) {}, // it is never there
	"amNodeLabelExpression":  func(d *appDetails) { d.MasterLabel = nil },
	"resourceInfo":           func(d *appDetails) { d.Held = nil },
}

// unselected returns a function that leaves out what a request does not want in applications' bodies (deSelects).
func unselected(r *http.Request) (func(*appDetails), error) {
	var all []func(*appDetails)
	names := slices.Sorted(maps.Keys(leaveOut))
	r.FormValue("") // so that r.Form is parsed
	for name := range strings.SplitSeq(strings.Join(r.Form["deSelects"], ","), ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(names, func(one string) bool { return strings.EqualFold(one, name) })
		switch {
		case i >= 0:
			all = append(all, leaveOut[names[i]])
		case name != "":
			return nil, badRequest(fmt.Sprintf("Invalid deSelects string %s specified. It should be one of [%s]",
				cut(name, mostName), strings.Join(names, ", ")))
		}
	}
	return func(d *appDetails) {
		for _, one := range all {
			one(d)
		}
	}, nil
}

// A secondsMap has resource-seconds by the name of the kind. In JSON it has a member "entry" for each kind, as in
// Hadoop.
type secondsMap amountsMap

// MarshalJSON writes a member for each entry.
func (m *secondsMap) MarshalJSON() ([]byte, error) {
	p := parts{}
	for _, e := range m.Entry {
		p = append(p, struct {
			Entry amountEntry `json:"entry"`
		}{e})
	}
	return p.MarshalJSON()
}

type usageList struct {
	Usage []usageInfo `json:"resourceUsagesByPartition" xml:"resourceUsagesByPartition"`
}

// usageInfo is the use of a partition. There is one partition, whose name is empty. The limits of ApplicationMasters
// are zero, as in Hadoop, where those of the queue count.
type usageInfo struct {
	Partition string     `json:"partitionName" xml:"partitionName"`
	Used      amountInfo `json:"used" xml:"used"`
	Reserved  amountInfo `json:"reserved" xml:"reserved"`
	Pending   amountInfo `json:"pending" xml:"pending"`
	Masters   amountInfo `json:"amUsed" xml:"amUsed"`
	Most      amountInfo `json:"amLimit" xml:"amLimit"`
	MostOfOne amountInfo `json:"userAmLimit" xml:"userAmLimit"`
}

// requestInfo is what an application waits for: containers of a size, on a host, a rack or anywhere.
type requestInfo struct {
	Priority   int32      `json:"priority" xml:"priority"`
	Allocation int64      `json:"allocationRequestId" xml:"allocationRequestId"`
	Place      string     `json:"resourceName" xml:"resourceName"`
	Size       amountInfo `json:"capability" xml:"capability"`
	Containers int32      `json:"numContainers" xml:"numContainers"`
	Relax      bool       `json:"relaxLocality" xml:"relaxLocality"`
	Label      string     `json:"nodeLabelExpression" xml:"nodeLabelExpression"`
	Execution  struct {
		Type    string `json:"executionType" xml:"executionType"`
		Enforce bool   `json:"enforceExecutionType" xml:"enforceExecutionType"`
	} `json:"executionTypeRequest" xml:"executionTypeRequest"`
}

// detailsOf describes an application for a caller. may: the caller may see what the application holds and asks for.
func detailsOf(app *application, may bool) appDetails {
	d := appDetails{Timeouts: &timeoutList{[]timeoutInfo{lifetimeOf(app)}}, Seconds: &secondsMap{},
		MasterLabel: new(string)}
	if !may {
		return d
	}
	sizes, used, j := app.m.config.Sizes, app.used, app.m.core.Job(app.job)
	if j != nil && !app.over {
		used = app.m.core.Service(j, max(app.m.at(), app.m.core.Now))
		none := sizes.info(wire.Resource{})
		held := usageInfo{Used: sizes.infoOf(j.Used), Reserved: none, Masters: none, Most: none, MostOfOne: none}
		var waits sched.Resources
		for _, st := range j.Stages {
			waits = waits.Add(app.m.core.Amount(st.Shape).Times(int64(st.Pending)))
		}
		held.Pending = sizes.infoOf(waits)
		if a := app.current(); a != nil && a.master != nil && !a.ended() {
			held.Masters = sizes.info(a.master.resource)
		}
		d.Held = &usageList{[]usageInfo{held}}
		d.Requests = requestsOf(app)
	}
	if d.Held != nil || len(app.attempts) > 0 {
		var seconds sched.Resources
		for k := range seconds {
			seconds[k] = int64(used[k])
		}
		m := secondsMap(amountsOf(sizes.infoOf(seconds)))
		d.Seconds = &m
	}
	return d
}

// mostRequests bounds the requests in an answer about one application.
const mostRequests = 100

// requestsOf lists what an application waits for, by priority, allocation and place. The hosts and racks of a group are
// left out if there are too many for mostRequests: an application may name thousands, and lists of applications are
// made within turns.
func requestsOf(app *application) (list []requestInfo) {
	one := func(priority int32, allocation int64, r wire.ResourceRequest) {
		i := requestInfo{Priority: priority, Allocation: allocation, Place: r.Place, Containers: r.Containers,
			Relax: r.Relax, Size: app.m.config.Sizes.info(r.Resource)}
		i.Execution.Type = "GUARANTEED"
		list = append(list, i)
	}
	if app.starting() {
		if size, ok := app.submission.MasterResource(); ok {
			one(0, -1, wire.ResourceRequest{Place: wire.Anywhere, Containers: 1, Relax: true,
				Resource: app.m.config.Sizes.normal(size)})
		}
		return list
	}
	for i, key := range app.asks.stages {
		g := app.asks.groups[key.groupKey]
		if g == nil || g.stage != int32(i) || g.total <= 0 || i == 0 {
			continue
		}
		if len(list) >= mostRequests {
			break
		}
		one(int32(g.key.priority), g.key.allocation,
			wire.ResourceRequest{Place: wire.Anywhere, Containers: g.total, Relax: g.relax, Resource: g.size})
		if len(list)+len(g.places) > mostRequests {
			continue
		}
		for _, r := range g.places {
			one(int32(g.key.priority), g.key.allocation, r)
		}
	}
	slices.SortFunc(list, func(a, b requestInfo) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Allocation, b.Allocation),
			cmp.Compare(a.Place, b.Place))
	})
	return list
}
