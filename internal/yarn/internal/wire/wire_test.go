package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/recording"
)

type message interface {
	proto.Message
	proto.Decoder
}

// messages are the request and the response of each method, by name.
var messages = map[string][2]func() message{
	"registerNodeManager": {
		func() message { return &RegisterNodeRequest{} },
		func() message { return &RegisterNodeResponse{} },
	},
	"nodeHeartbeat": {
		func() message { return &HeartbeatRequest{} },
		func() message { return &HeartbeatResponse{} },
	},
	"unRegisterNodeManager": {func() message { return &UnregisterNode{} }, func() message { return &Empty{} }},
	"registerApplicationMaster": {
		func() message { return &RegisterMasterRequest{} },
		func() message { return &RegisterMasterResponse{} },
	},
	"allocate": {
		func() message { return &AllocateRequest{} },
		func() message { return &AllocateResponse{} },
	},
	"finishApplicationMaster": {
		func() message { return &FinishMasterRequest{} },
		func() message { return &FinishMasterResponse{} },
	},
	"getNewApplication": {func() message { return &Empty{} }, func() message { return &NewApplication{} }},
	"submitApplication": {func() message { return &SubmitRequest{} }, func() message { return &Empty{} }},
	"getApplicationReport": {
		func() message { return &ApplicationRequest{} },
		func() message { return &ApplicationResponse{} },
	},
	"forceKillApplication": {
		func() message { return &KillRequest{} },
		func() message { return &KillResponse{} },
	},
	"getApplications": {
		func() message { return &ApplicationsRequest{} },
		func() message { return &ApplicationsResponse{} },
	},
	"getClusterMetrics": {func() message { return &Empty{} }, func() message { return &ClusterMetrics{} }},
	"getClusterNodes": {
		func() message { return &NodesRequest{} },
		func() message { return &NodesResponse{} },
	},
	"getQueueInfo": {
		func() message { return &QueueRequest{} },
		func() message { return &QueueResponse{} },
	},
	"getQueueUserAcls": {func() message { return &Empty{} }, func() message { return &QueueACLs{} }},
	"getApplicationAttempts": {
		func() message { return &ApplicationRequest{} },
		func() message { return &AttemptsResponse{} },
	},
	"getApplicationAttemptReport": {
		func() message { return &AttemptRequest{} },
		func() message { return &AttemptsResponse{} },
	},
	"getContainers": {
		func() message { return &AttemptRequest{} },
		func() message { return &ContainersResponse{} },
	},
	"getContainerReport": {
		func() message { return &ContainerRequest{} },
		func() message { return &ContainersResponse{} },
	},
	"getResourceTypeInfo": {
		func() message { return &Empty{} },
		func() message { return &ResourceTypesResponse{} },
	},
	"getResourceProfiles": {func() message { return &Empty{} }, func() message { return &Empty{} }},
	"startContainers": {
		func() message { return &StartContainersRequest{} },
		func() message { return &StartContainersResponse{} },
	},
	"stopContainers": {
		func() message { return &stopContainers{} },
		func() message { return &Empty{} },
	},
	"getContainerStatuses": {
		func() message { return &stopContainers{} },
		func() message { return &Empty{} },
	},
	"refreshNodes": {func() message { return &RefreshNodes{} }, func() message { return &Empty{} }},
	"updateNodeResource": {
		func() message { return &UpdateNodeResource{} },
		func() message { return &Empty{} },
	},
	"updateApplicationPriority": {
		func() message { return &PriorityChange{} },
		func() message { return &PriorityChanged{} },
	},
	"moveApplicationAcrossQueues": {func() message { return &Move{} }, func() message { return &Empty{} }},
	"signalToContainer":           {func() message { return &Signal{} }, func() message { return &Empty{} }},
	"updateApplicationTimeouts": {
		func() message { return &TimeoutChange{} },
		func() message { return &TimeoutsChanged{} },
	},
	"getDelegationToken":   {func() message { return &TokenWanted{} }, func() message { return &TokenGiven{} }},
	"renewDelegationToken": {func() message { return &TokenGiven{} }, func() message { return &TokenRenewed{} }},
}

// notOurs are messages that this project only reads, in the forms in which some stock peer writes what its encoder
// here, which serves fakes, writes otherwise: MapReduce leaves out two fields of asks and enforces the third, and
// distributed shell two of its end. What auxiliary services say to startContainers, and what is answered to the two
// methods of NodeManagers, is not kept.
var notOurs = map[string]string{
	"> allocate": "ask", "> finishApplicationMaster": "end", "< startContainers": "services", "< stopContainers": "ids",
	"< getContainerStatuses": "ids",
}

// Every recorded message is read, and written again byte for byte.
func TestRecorded(t *testing.T) {
	list, err := recording.ReadAll("../../testdata/transcripts")
	if err != nil {
		t.Fatal(err)
	}
	read, same := map[string]int{}, map[string]int{}
	check := func(where, name string, m message, want []byte) {
		if err := m.Decode(want); err != nil {
			t.Errorf("%s: %s: %v", where, name, err)
			return
		}
		read[name]++
		got := m.Append(nil)
		if bytes.Equal(got, want) {
			same[name]++
		} else if notOurs[name] == "" {
			t.Errorf("%s: %s is written as\n%x, was\n%x", where, name, got, want)
		}
		again := reflect.New(reflect.TypeOf(m).Elem()).Interface().(message)
		if err := again.Decode(got); err != nil || !bytes.Equal(again.Append(nil), got) {
			t.Errorf("%s: %s is not stable: %v", where, name, err)
		}
	}
	for _, c := range list {
		exchanges, err := c.Exchanges()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range exchanges {
			forms, ok := messages[e.Method]
			if !ok {
				t.Errorf("%s: method %s is not known", e.Where, e.Method)
				continue
			}
			check(e.Where, "> "+e.Method, forms[0](), e.Request)
			if e.Response != nil {
				check(e.Where, "< "+e.Method, forms[1](), e.Response)
			}
		}
	}
	for _, name := range []string{"< nodeHeartbeat", "> nodeHeartbeat", "< allocate", "< getApplicationReport",
		"> startContainers", "> submitApplication"} {
		if same[name] < 3 || same[name] != read[name] {
			t.Errorf("%s: %d recorded, %d the same", name, read[name], same[name])
		}
	}
}

// What the recordings say of one ask, one container and one heartbeat, read by eye from the decoded bytes.
func TestValues(t *testing.T) {
	list, err := recording.Read("../../testdata/transcripts/am-session.txt")
	if err != nil {
		t.Fatal(err)
	}
	exchanges, err := list[0].Exchanges()
	if err != nil {
		t.Fatal(err)
	}
	var ask AllocateRequest
	var got AllocateResponse
	if err := ask.Decode(exchanges[1].Request); err != nil {
		t.Fatal(err)
	}
	if err := got.Decode(exchanges[2].Response); err != nil {
		t.Fatal(err)
	}
	want := []ResourceRequest{
		{
			20,
			"*",
			Resource{Memory: 512, VCores: 1},
			2,
			true,
			"",
			-1,
		}, {20, "/default-rack", Resource{Memory: 512, VCores: 1}, 2, true, "", -1},
		{20, "localhost", Resource{Memory: 512, VCores: 1}, 2, true, "", -1},
	}
	if !reflect.DeepEqual(ask.Asks, want) || ask.Progress != 0.05 {
		t.Errorf("asks %+v, want %+v", ask.Asks, want)
	}
	if len(got.Allocated) != 2 || len(got.NodeTokens) != 1 || got.Nodes != 1 || got.Cores != 4 {
		t.Fatalf("got %+v", got)
	}
	c := got.Allocated[0]
	if c.ID.String() != "container_1795296959429_0001_01_000002" || c.Node.String() != "localhost:45001" ||
		c.HTTPAddress != "localhost:45021" ||
		c.Resource != (Resource{Memory: 512, VCores: 1}) ||
		c.Priority != 20 ||
		c.Allocation != -1 ||
		c.Token.Kind != "ContainerToken" {
		t.Errorf("container %+v", c)
	}
}

// What the ResourceManager changed in a launch context is what With changes: environment and credentials, and no file
// or command.
func TestLaunchContext(t *testing.T) {
	read := func(file, method string) []byte {
		list, err := recording.Read("../../testdata/transcripts/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			exchanges, err := c.Exchanges()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range exchanges {
				if e.Method == method {
					return e.Request
				}
			}
		}
		t.Fatalf("no %s in %s", method, file)
		return nil
	}
	var submitted SubmitRequest
	var started StartContainersRequest
	if err := submitted.Decode(read("client-submit.txt", "submitApplication")); err != nil {
		t.Fatal(err)
	}
	if err := started.Decode(read("rm-to-nm-start.txt", "startContainers")); err != nil {
		t.Fatal(err)
	}
	if r, ok := submitted.Submission.MasterResource(); !ok || r != (Resource{Memory: 512, VCores: 1}) {
		t.Errorf("the ApplicationMaster is to have %v, %v", r, ok)
	}
	ours := submitted.Submission.Launch.With(started.Launch.Tokens(), []Variable{
		{
			"APPLICATION_WEB_PROXY_BASE",
			"/proxy/application_1795296959429_0001",
		}, {"APP_SUBMIT_TIME_ENV", "1795296971153"}})
	parts := func(l *LaunchContext) map[string]int {
		m := map[string]int{}
		for r := proto.Read(l.fields); r.Next(); {
			m[fmt.Sprintf("%x", r.Raw())]++
		}
		return m
	}
	if a, b := parts(&ours), parts(&started.Launch); !reflect.DeepEqual(a, b) {
		t.Errorf("the context to launch has other fields than the recorded one:\n%v\n%v", a, b)
	}
	if acls := ours.ACLs(); len(acls) != 2 || acls[0].Users != " " {
		t.Errorf("ACLs %+v", acls)
	}
	// An unknown field passes, tokens are replaced where there were none before.
	l := LaunchContext{proto.AppendString(proto.AppendString(nil, 5, "date"), 99, "new")}
	l = l.With([]byte("t"), nil)
	if want := "\x12\x01t" + "\x2a\x04date" + "\x9a\x06\x03new"; string(l.fields) != want {
		t.Errorf("%q, want %q", l.fields, want)
	}
}

func TestNames(t *testing.T) {
	app := ApplicationID{12, 1700000000000}
	id := ContainerID{AttemptID{app, 2}, 3<<40 | 7}
	for got, want := range map[string]string{
		app.String():        "application_1700000000000_0012",
		id.Attempt.String(): "appattempt_1700000000000_0012_000002",
		id.String():         "container_e03_1700000000000_0012_02_000007",
		ContainerID{id.Attempt, 1234567}.String():   "container_1700000000000_0012_02_1234567",
		NodeID{"h", 1}.String():                     "h:1",
		AppFinished.String() + AppState(0).String(): "FINISHED",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got, err := ParseApplicationID(app.String()); err != nil || got != app {
		t.Errorf("%v, %v", got, err)
	}
	for _, s := range []string{"", "application", "application_1_x", "job_1_1", "application_1_0", "application_-1_1",
		"application_1_1_1"} {
		if _, err := ParseApplicationID(s); err == nil ||
			!strings.Contains(err.Error(), "application_1700000000000_0001") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// FuzzDecode gives every decoder whatever bytes may come. What it reads it must write so that it reads the same again.
func FuzzDecode(f *testing.F) {
	list, err := recording.ReadAll("../../testdata/transcripts")
	if err != nil {
		f.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range list {
		exchanges, _ := c.Exchanges()
		for _, e := range exchanges {
			for _, b := range [][]byte{e.Request, e.Response} {
				if key := fmt.Sprint(e.Method, len(b)); len(b) > 0 && !seen[key] {
					seen[key] = true
					f.Add(b)
				}
			}
		}
	}
	others := Others("").Plus(Amount{"yarn.io/gpu", "", 2}).Plus(Amount{"disk", "Gi", 7})
	size := Resource{Memory: 512, VCores: 1, Others: others}
	update := UpdateRequest{Version: 1, Container: ContainerID{ID: 2}, Kind: Decrease, Resource: size, Execution: 1}
	changed := Container{ID: update.Container, Resource: size, Version: 3}
	for _, m := range []message{
		&AllocateRequest{Asks: []ResourceRequest{{Place: Anywhere, Resource: size}}, Updates: []UpdateRequest{update}},
		&AllocateResponse{Updated: []UpdatedContainer{{Increase, changed}}, Refused: []UpdateError{{"x", update, -1}}},
		&RegisterMasterResponse{Maximum: size, Types: []ResourceType{{"disk", "Gi"}}},
		&RegisterNodeRequest{Resource: size, Containers: []NodeContainer{{Resource: size, Version: 1}}},
		&HeartbeatRequest{Status: NodeStatus{Increased: []Container{changed}}},
		&HeartbeatResponse{Updates: []Container{changed}},
	} {
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, forms := range messages {
			for _, form := range forms {
				m, again := form(), form()
				if m.Decode(b) != nil {
					continue
				}
				once := m.Append(nil)
				if err := again.Decode(once); err != nil {
					t.Fatalf("%s: what was written cannot be read: %v", name, err)
				}
			}
		}
	})
}

// FuzzSubmissionInParts submits an application in a message that has the field of the submission twice, as protobuf
// allows. What is stored and passed on of it must be what the two parts were merged to.
func FuzzSubmissionInParts(f *testing.F) {
	sent := Submission{ID: ApplicationID{ID: 1, Timestamp: 2}, Name: "one", Resource: &Resource{Memory: 512, VCores: 1},
		Launch: NewLaunchContext("master"), Tags: []string{"a"}, LogAggregation: proto.Raw{0x0a, 1, 'x'},
		Master: []ResourceRequest{{Place: Anywhere, Resource: Resource{Memory: 1, VCores: 1}}}}
	more := Submission{Name: "two", Launch: LaunchContext{proto.AppendString(nil, launchTokens, "t")}, Lifetime: 7,
		Resource: &Resource{Others: Others("").Plus(Amount{"yarn.io/gpu", "", 2})}, Tags: []string{"b"}}
	parts := [][]byte{nil, sent.Append(nil), more.Append(nil), proto.AppendString(nil, 2, "two"),
		proto.AppendMessage(nil, 5, more.Launch.fields), proto.AppendString(nil, 14, "\x12\x01y")}
	for _, a := range parts {
		for _, b := range parts {
			f.Add(a, b)
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var merged SubmitRequest
		if merged.Decode(proto.AppendBytes(proto.AppendBytes(nil, 1, a), 1, b)) != nil || len(a)+len(b) == 0 {
			return // what is empty is written as if it were made here
		}
		got := merged.Submission
		var stored, whole Submission
		if err := stored.Decode(got.Append(nil)); err != nil {
			t.Fatal(err)
		}
		if err := whole.Decode(append(bytes.Clone(a), b...)); err != nil {
			t.Fatal(err)
		}
		got.raw, stored.raw, whole.raw = nil, nil, nil
		if !reflect.DeepEqual(got, stored) || !reflect.DeepEqual(got, whole) {
			t.Errorf("merged to\n%+v, stored as\n%+v, in one part\n%+v", got, stored, whole)
		}
	})
}

// Of credentials that come twice the last count, as protobuf has it.
func TestLastTokens(t *testing.T) {
	l := LaunchContext{proto.AppendString(proto.AppendString(nil, launchTokens, "old"), launchTokens, "new")}
	if got := l.Tokens(); string(got) != "new" {
		t.Errorf("tokens %q", got)
	}
	if got := (&LaunchContext{}).Tokens(); got != nil {
		t.Errorf("tokens %q where there are none", got)
	}
}

// What a node says of its use in parts is merged.
func TestUseInParts(t *testing.T) {
	for _, num := range []int32{6, 7} {
		var s NodeStatus
		m := proto.AppendMessage(nil, num, proto.Raw(proto.Append(nil, &Use{Memory: 5, Virtual: 6, Cores: 1})))
		m = proto.AppendMessage(m, num, proto.Raw(proto.AppendInt32(nil, 1, 7)))
		before := bytes.Clone(m)
		if err := proto.Decode(m, &s); err != nil {
			t.Fatal(err)
		}
		for _, encoded := range [][]byte{s.Utilization, s.Machine} {
			var got Use
			err := proto.Decode(encoded, &got)
			if want := (Use{Memory: 7, Virtual: 6, Cores: 1}); encoded != nil && (err != nil || got != want) {
				t.Errorf("field %d: %+v, %v", num, got, err)
			}
		}
		if (s.Utilization == nil) == (s.Machine == nil) || !bytes.Equal(m, before) {
			t.Errorf("field %d was read as %+v from %x", num, s, m)
		}
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	list, err := recording.Read("../../testdata/transcripts/nm-register-heartbeat.txt")
	if err != nil {
		b.Fatal(err)
	}
	exchanges, err := list[0].Exchanges()
	if err != nil {
		b.Fatal(err)
	}
	idle := exchanges[1].Request
	b.Run("idle", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var q HeartbeatRequest
			if err := q.Decode(idle); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("reply", func(b *testing.B) {
		b.ReportAllocs()
		out := make([]byte, 0, 64)
		reply := &HeartbeatResponse{ResponseID: 1, Interval: 1000}
		for b.Loop() {
			out = reply.Append(out[:0])
		}
	})
}

// A stopContainers asks a node to stop containers, or how they are. The ResourceManager calls neither: clients do.
type stopContainers struct{ Containers []ContainerID }

func (m *stopContainers) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Containers) }
func (m *stopContainers) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *stopContainers) Decode(b []byte) error  { return proto.Decode(b, m) }

// What is counted of a submission is at least the memory that it takes, when it was read from few bytes, too.
func TestFootprintCountsWhatIsMade(t *testing.T) {
	if n := reflect.TypeFor[ResourceRequest]().Size(); n != requestBytes {
		t.Errorf("a request takes %d bytes, and is counted as %d", n, requestBytes)
	}
	if n := reflect.TypeFor[string]().Size(); n != stringBytes {
		t.Errorf("a string takes %d bytes, and is counted as %d", n, stringBytes)
	}
	one := ResourceRequest{Place: "host", Resource: Resource{Others: Others("").Plus(Amount{Kind: "gpu", Value: 1})}}
	sent := Submission{Name: "name", Tags: []string{"a", "b"}, Master: []ResourceRequest{one, one, one}}
	var s Submission
	if err := s.Decode(sent.Append(nil)); err != nil {
		t.Fatal(err)
	}
	made := len(s.Name) + 2*(stringBytes+1) + 3*(requestBytes+len(one.Place)+len(one.Resource.Others))
	if n := s.Footprint(); n < int64(len(s.raw)+made) {
		t.Errorf("%d bytes are counted, and %d and %d are held", n, len(s.raw), made)
	}
	s.DropLaunch()
	if n := s.Footprint(); n >= int64(len(sent.Append(nil))) {
		t.Errorf("%d bytes are counted afterwards", n)
	}
}

// A heartbeat that is reset keeps the memory of its lists, says how much that is, and holds on to nothing that was in
// them: not to the message either, which its containers alias.
func TestHeartbeatReset(t *testing.T) {
	sent := HeartbeatRequest{
		ContainerKey: MasterKey{Key: []byte("key")},
		Logs:         make([]LogReport, 7),
		Status: NodeStatus{
			Node:       NodeID{Host: "host"},
			Containers: make([]ContainerStatus, 100),
			Increased:  []Container{{HTTPAddress: "host:1"}},
		},
	}
	message := sent.Append(nil)
	var q HeartbeatRequest
	if err := q.Decode(message); err != nil {
		t.Fatal(err)
	}
	s := q.Status
	kept := q.Reset()
	if least := 100*int(reflect.TypeFor[ContainerStatus]().Size()) + int(reflect.TypeFor[Container]().Size()) +
		7*int(reflect.TypeFor[LogReport]().Size()) + len("hostkey"); kept < least || kept > 3*least {
		t.Errorf("%d bytes are said to be kept, want some more than %d", kept, least)
	}
	if !reflect.DeepEqual(s.Containers, make([]ContainerStatus, 100)) || s.Increased[0].HTTPAddress != "" {
		t.Error("a request that was reset still has what was in its lists")
	}
	if err := q.Decode(message); err != nil {
		t.Fatal(err)
	}
	if &q.Status.Containers[0] != &s.Containers[0] || &q.Status.Increased[0] != &s.Increased[0] {
		t.Error("the lists of the next request have other memory")
	}
	if got := q.Append(nil); !bytes.Equal(got, message) {
		t.Errorf("the next request is\n%x, want\n%x", got, message)
	}
}
