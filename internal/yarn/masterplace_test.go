package yarn

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// submit submits a managed application, and returns the error.
func (f *few) submit(change func(*wire.Submission)) (*application, error) {
	f.t.Helper()
	r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
	s := wire.Submission{ID: r.(*wire.NewApplication).ID, Launch: wire.NewLaunchContext("")}
	change(&s)
	_, err := f.do(func(m *manager) (answer, error) {
		return client{m, "user"}.submit(&wire.SubmitRequest{Submission: s})
	})
	return f.m.apps.byID[s.ID], err
}

// masterOn asks for an ApplicationMaster on places, and elsewhere where relax says so.
func masterOn(relax bool, places ...string) func(*wire.Submission) {
	return func(s *wire.Submission) {
		for _, place := range append(places, wire.Anywhere) {
			s.Master = append(s.Master, wire.ResourceRequest{Place: place, Containers: 1, Allocation: -1,
				Resource: wire.Resource{Memory: 512, VCores: 1}, Relax: relax || place != wire.Anywhere})
		}
	}
}

// ends has the node of an ApplicationMaster report that its process ended by itself.
func (f *few) ends(app *application) {
	c := app.current().master
	beat := &wire.HeartbeatRequest{Status: wire.NodeStatus{Node: c.node.id, Health: wire.Health{OK: true},
		Containers: []wire.ContainerStatus{{ID: c.id, State: wire.ContainerComplete, Exit: 1}}}}
	if n := c.node; n.last != nil {
		beat.Status.ResponseID = n.last.ResponseID
	}
	f.do(func(m *manager) (answer, error) { return tracker{m}.heartbeat(beat) })
}

// An ApplicationMaster is started on the host that its user names, there alone where nothing else will do, and its
// next attempt too.
func TestMasterPlaces(t *testing.T) {
	f := newFewUnder(t, "fifo:masters=1")
	for _, c := range []struct {
		relax  bool
		places []string
		want   string
	}{
		{false, []string{"c"}, "c"},
		{true, []string{"b"}, "b"},
		{false, []string{"/two"}, "c"},
		{true, []string{"unknown"}, "a"},
	} {
		app, err := f.submit(masterOn(c.relax, c.places...))
		if err != nil || app.current() == nil || app.current().master.node.id.Host != c.want {
			t.Fatalf("%v, elsewhere %v: %+v, %v, want %s", c.places, c.relax, app, err, c.want)
		}
	}
	app, err := f.submit(masterOn(false, "d"))
	if err != nil || app.current() != nil {
		t.Fatalf("there is no d yet: %v, %v", app.current(), err)
	}
	f.join("e", 5)
	if app.current() != nil {
		t.Fatalf("started on %s, and was for d", app.current().master.node.name)
	}
	f.join("d", 4)
	if a := app.current(); a == nil || a.master.node.id.Host != "d" {
		t.Fatalf("d has come, and the attempt is %+v", a)
	}
	f.ends(app)
	if a := app.current(); len(app.attempts) != 2 || a.master.node.id.Host != "d" {
		t.Errorf("%d attempts, the last on %s, want two on d", len(app.attempts), a.master.node.name)
	}
}

// What a submission asks for its ApplicationMaster and cannot get is refused in Hadoop's words.
func TestMasterRequestsAreRefused(t *testing.T) {
	withGPUs := wire.Resource{Memory: 512, VCores: 1, Others: gpus(4)}
	label := func(s *wire.Submission) {
		masterOn(true, "a")(s)
		s.Master[1].Label = "fast"
	}
	for _, c := range []struct {
		change      func(*wire.Submission)
		class, want string
	}{
		{func(*wire.Submission) {}, classInvalidResource, "its ApplicationMaster: no resources are asked for it"},
		{label, classInvalidLabel, "node label not enabled but request contains label expression"},
		{func(s *wire.Submission) { masterOn(true, wire.Anywhere)(s) }, classInvalidResource,
			"Invalid resource request, only one resource request with * is allowed"},
		{func(s *wire.Submission) {
			masterOn(true, "a")(s)
			s.Master = s.Master[:1]
			s.Resource = &withGPUs
			withGPUs.Others = ""
		},
			classInvalidResource, "Invalid resource request, no resource request specified with *"},
		{func(s *wire.Submission) { withGPUs.Others = gpus(4); s.Resource = &withGPUs }, classInvalidResource,
			"Requested resource type=[yarn.io/gpu]"},
		{func(s *wire.Submission) {
			masterOn(true, slices.Repeat([]string{"x"},
				mostMasterPlaces)...)(s)
		}, classInvalidResource,
			"names 1001 places: may be up to 1000"},
		{func(s *wire.Submission) {
			masterOn(true, slices.Repeat([]string{"x"}, mostMasterPlaces)...)(s)
			s.Unmanaged = true
		}, classInvalidResource, "names 1001 places: may be up to 1000"},
	} {
		f := newFew(t)
		if app, err := f.submit(c.change); app != nil || class(err) != c.class ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// An ask for a kind of resource that no node has is refused; none of it, as clients send that know the kind, is not.
func TestOtherResourcesAreRefused(t *testing.T) {
	f := newFew(t)
	q := asks("* 1 true")
	q.Asks[0].Resource.Others = gpus(4)
	var sent wire.AllocateRequest
	if err := sent.Decode(q.Append(nil)); err != nil {
		t.Fatal(err)
	}
	_, err := f.do(func(m *manager) (answer, error) { return master{m, f.master}.allocate(&sent) })

	const want = "Invalid resource request! Cannot allocate containers as requested resource is greater than maximum " +
		"allowed allocation. Requested resource type=[yarn.io/gpu], " +
		"Requested resource=<memory:512, vCores:1, yarn.io/gpu: 4>, " +
		"maximum allowed allocation=<memory:8192, vCores:4>, "
	if class(err) != classInvalidResource || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	var none wire.Resource
	text := proto.AppendBytes(nil, 3, proto.AppendUint64(proto.AppendString(nil, 1, "yarn.io/gpu"), 2, 0))
	if err := proto.Decode(text, &none); err != nil || none != (wire.Resource{}) {
		t.Errorf("none of a kind is %+v, %v", none, err)
	}
	if got := f.allocate(asks("* 1 true")); len(got) != 1 {
		t.Errorf("after it was refused: %v", got)
	}
	f.do(func(m *manager) (answer, error) {
		return tracker{m}.register(&wire.RegisterNodeRequest{Node: wire.NodeID{Host: "g", Port: 9},
			Resource: wire.Resource{Memory: 1024, VCores: 4, Others: q.Asks[0].Resource.Others}}, nil)
	})
	if n := f.m.nodes.byID[wire.NodeID{Host: "g", Port: 9}]; n == nil || n.capacity.Others != "" {
		t.Errorf("a node with accelerators is %+v", n)
	}
}

// Placement constraints at registration are refused in Hadoop's words, and registering without them goes on.
func TestPlacementConstraintsAreRefused(t *testing.T) {
	f := newFew(t)
	app := f.m.apps.byID[f.managed(nil)]
	q := wire.RegisterMasterRequest{Constraints: []proto.Raw{{0x0a, 0x00}}}
	var sent wire.RegisterMasterRequest
	if err := sent.Decode(q.Append(nil)); err != nil || len(sent.Constraints) != 1 {
		t.Fatalf("%+v, %v", sent, err)
	}
	register := func(q *wire.RegisterMasterRequest) error {
		_, err := f.do(func(m *manager) (answer, error) { return master{m, app.current()}.register(q) })
		return err
	}
	if err := register(&sent); class(err) != classYARN ||
		!strings.Contains(err.Error(), "Found non empty placement constraints map") {
		t.Errorf("%v", err)
	}
	if err := register(&wire.RegisterMasterRequest{}); err != nil {
		t.Errorf("without constraints: %v", err)
	}
}

// Failures of an ApplicationMaster that are older than the submission says do not count (two are allowed); without
// that, they count for ever.
func TestFailuresExpire(t *testing.T) {
	for _, c := range []struct {
		validity time.Duration
		every    time.Duration // between failures
		want     int           // attempts
	}{
		{0, time.Minute, 2},
		{10 * time.Second, time.Second, 2},
		{10 * time.Second, 11 * time.Second, 5},
	} {
		f := newFew(t)
		id := f.managed(func(s *wire.Submission) { s.Validity = c.validity.Milliseconds() })
		app := f.m.apps.byID[id]
		for range 4 {
			f.now = f.now.Add(c.every)
			if !app.over {
				f.ends(app)
			}
		}
		if len(app.attempts) != c.want || app.over != (c.want == 2) {
			t.Errorf("failures count %v, one each %v: %d attempts, over %v, want %d: %s", c.validity, c.every,
				len(app.attempts), app.over, c.want, app.outcome.diagnostics)
		}
		if c.validity > 0 && app.over &&
			!strings.Contains(app.outcome.diagnostics,
				"failed 2 times in previous 10000 milliseconds due to") {
			t.Errorf("it ended for %s", app.outcome.diagnostics)
		}
	}
}
