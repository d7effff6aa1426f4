package yarn

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// The bodies of attempts and containers. Hadoop writes the bodies of one attempt, of containers, and of the caller
// without a name around them, and in JSON all their values as strings.

type attemptList struct {
	Attempt []attemptInfo `json:"appAttempt,omitempty" xml:"appAttempt"`
}

// attemptInfo is an attempt in a list. Members that are not known yet are empty.
type attemptInfo struct {
	ID          int32  `json:"id" xml:"id"`
	Start       int64  `json:"startTime" xml:"startTime"`
	Finished    int64  `json:"finishedTime" xml:"finishedTime"`
	Container   string `json:"containerId" xml:"containerId"`
	HTTPAddress string `json:"nodeHttpAddress" xml:"nodeHttpAddress"`
	Node        string `json:"nodeId" xml:"nodeId"`
	Logs        string `json:"logsLink" xml:"logsLink"`
	Avoided     string `json:"blacklistedNodes" xml:"blacklistedNodes"`
	Distrusted  string `json:"nodesBlacklistedBySystem" xml:"nodesBlacklistedBySystem"`
	AttemptID   string `json:"appAttemptId" xml:"appAttemptId"`
	Ports       string `json:"exportPorts" xml:"exportPorts"`
	State       string `json:"appAttemptState" xml:"appAttemptState"`
}

func bodyOfAttempt(a *attempt) attemptInfo {
	o := attemptInfo{
		ID:        a.id.Attempt,
		Start:     a.times.started,
		Finished:  a.times.finished,
		AttemptID: a.id.String(),
		State:     attemptNames[a.state],
	}
	if a.master != nil {
		n := a.master.node
		o.Container, o.Node, o.HTTPAddress = a.master.id.String(), n.name, n.web
		o.Logs = a.app.m.config.scheme() + "://" + n.web + "/node/containerlogs/" + o.Container + "/" + a.app.user
	}
	return o
}

// oneAttemptInfo is an attempt that was asked for by its id. Hadoop gives its members other names than those in lists.
type oneAttemptInfo struct {
	AttemptID   string `json:"appAttemptId" xml:"appAttemptId"`
	Host        string `json:"host" xml:"host"`
	Port        int32  `json:"rpcPort,string" xml:"rpcPort"`
	Tracking    string `json:"trackingUrl" xml:"trackingUrl"`
	Original    string `json:"originalTrackingUrl" xml:"originalTrackingUrl"`
	Diagnostics string `json:"diagnosticsInfo" xml:"diagnosticsInfo"`
	State       string `json:"appAttemptState" xml:"appAttemptState"`
	Container   string `json:"amContainerId,omitempty" xml:"amContainerId,omitempty"`
	Started     int64  `json:"startedTime,string" xml:"startedTime"`
	Finished    int64  `json:"finishedTime,string" xml:"finishedTime"`
}

func bodyOfOneAttempt(a *attempt) oneAttemptInfo {
	r := a.report()
	o := oneAttemptInfo{
		AttemptID:   a.id.String(),
		Host:        r.Master.Host,
		Port:        r.Master.Port,
		Tracking:    r.Master.Tracking,
		Original:    r.Master.Original,
		Diagnostics: r.Diagnostics,
		State:       attemptNames[a.state],
		Started:     r.Start,
		Finished:    r.Finish,
	}
	if o.Diagnostics == "" {
		o.Diagnostics = launchWords[a.state]
	}
	if r.Container != nil {
		o.Container = r.Container.String()
	}
	return o
}

// containerList is a list of containers as Hadoop writes it in a body without a name: one container is an object,
// several are a list, and an empty list is left out.
type containerList struct {
	Container oneOrMore[containerInfo] `json:"container,omitempty" xml:"container"`
}

type oneOrMore[T any] []T

// MarshalJSON writes one element as itself.
func (l oneOrMore[T]) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]T(l))
}

type containerInfo struct {
	ID          string     `json:"containerId" xml:"containerId"`
	Memory      int64      `json:"allocatedMB,string" xml:"allocatedMB"`
	VCores      int32      `json:"allocatedVCores,string" xml:"allocatedVCores"`
	Node        string     `json:"assignedNodeId" xml:"assignedNodeId"`
	Priority    int32      `json:"priority,string" xml:"priority"`
	Started     int64      `json:"startedTime,string" xml:"startedTime"`
	Finished    int64      `json:"finishedTime,string" xml:"finishedTime"`
	Elapsed     int64      `json:"elapsedTime,string" xml:"elapsedTime"`
	Log         string     `json:"logUrl" xml:"logUrl"`
	Exit        int32      `json:"containerExitStatus,string" xml:"containerExitStatus"`
	State       string     `json:"containerState" xml:"containerState"`
	HTTPAddress string     `json:"nodeHttpAddress" xml:"nodeHttpAddress"`
	NodeID      string     `json:"nodeId" xml:"nodeId"`
	Amounts     amountsMap `json:"allocatedResources" xml:"allocatedResources"`
	Ports       string     `json:"exposedPorts" xml:"exposedPorts"`
}

// An amountsMap is amounts by the name of their kind.
type amountsMap struct {
	Entry []amountEntry `json:"entry" xml:"entry"`
}

type amountEntry struct {
	Key   string `json:"key" xml:"key"`
	Value string `json:"value" xml:"value"`
}

// amountsOf names amounts by their kind.
func amountsOf(i amountInfo) (m amountsMap) {
	for _, k := range i.Kinds.Info {
		m.Entry = append(m.Entry, amountEntry{k.Name, strconv.FormatInt(k.Value, 10)})
	}
	return m
}

func bodyOfContainer(c *container) containerInfo {
	r := c.report()
	o := containerInfo{
		ID:          c.id.String(),
		Memory:      r.Resource.Memory,
		VCores:      r.Resource.VCores,
		Node:        c.node.name,
		NodeID:      c.node.name,
		Priority:    int32(r.Priority),
		Started:     r.Start,
		Elapsed:     c.m.millis() - r.Start,
		Log:         r.Log,
		State:       "NEW",
		HTTPAddress: r.NodeAddress,
		Amounts:     amountsOf(c.m.config.Sizes.info(r.Resource)),
	}
	if c.state == running {
		o.State = "RUNNING"
	}
	return o
}

// Forms of ids.
var (
	attemptID   = regexp.MustCompile(`^appattempt_\d+_\d+_\d+$`)
	containerID = regexp.MustCompile(`^container_(e\d+_)?\d+_\d+_\d+_\d+$`)
)

// attempts lists the attempts of an application.
func (q rest) attempts() (body, error) {
	app, err := q.seen()
	if err != nil {
		return body{}, err
	}
	var list attemptList
	for _, a := range app.attempts {
		list.Attempt = append(list.Attempt, bodyOfAttempt(a))
	}
	return body{"appAttempts", list}, nil
}

func (q rest) attempt() (body, error) {
	a, err := q.tried()
	if err != nil {
		return body{}, err
	}
	return body{alone + "appAttempt", bodyOfOneAttempt(a)}, nil
}

// tried finds the attempt that the path names.
func (q rest) tried() (*attempt, error) {
	app, err := q.seen()
	if err != nil {
		return nil, err
	}
	name := q.r.PathValue("attempt")
	if !attemptID.MatchString(name) {
		return nil, badRequest("Invalid AppAttemptId prefix: " + name)
	}
	i := slices.IndexFunc(app.attempts, func(a *attempt) bool { return a.id.String() == name })
	if i < 0 {
		return nil, notFound("ApplicationAttempt with id '" + name + "' doesn't exist in RM.")
	}
	return app.attempts[i], nil
}

// containersOf lists the containers of an attempt. It is called outside of turns.
func containersOf(f *front, r *http.Request) (body, error) {
	user := visitor(r)
	f.groups.meet(user)
	var list containerList
	err := f.listContainers(func(m *manager) (*attempt, error) { return rest{m, user, r}.tried() }, func(c *container) {
		if c.state != done {
			list.Container = append(list.Container, bodyOfContainer(c))
		}
	})
	return body{alone + "containers", list}, err
}

func (q rest) container() (body, error) {
	a, err := q.tried()
	if err != nil {
		return body{}, err
	}
	name := q.r.PathValue("container")
	if !containerID.MatchString(name) {
		return body{}, badRequest("Invalid ContainerId prefix: " + name)
	}
	for _, of := range a.holders() {
		c := of.containers.at(ordinalOf(name))
		if c != nil && c.attempt == a && c.state != done && c.id.String() == name {
			return body{alone + "container", bodyOfContainer(c)}, nil
		}
	}
	return body{}, notFound("Container with id '" + name + "' doesn't exist in RM.")
}

// ordinalOf returns the ordinal of the container that a name of the form containerID stands for.
func ordinalOf(name string) int64 {
	parts := strings.Split(name, "_")
	ordinal, _ := strconv.ParseInt(parts[len(parts)-1], 10, 64)
	if e, later := strings.CutPrefix(parts[1], "e"); later {
		epoch, _ := strconv.ParseInt(e, 10, 64)
		ordinal |= epoch << wire.EpochShift
	}
	return ordinal
}
