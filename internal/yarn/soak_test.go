package yarn

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/internal/resident"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// A soak is a `sojourn rm` under churn. Callers try again while it restarts.
type soak struct {
	*cluster
	ctx      context.Context // done when no more jobs are to begin
	over     context.Context // done when rogue callers are to end
	seen     sync.Map        // of container ids
	ended    atomic.Int64    // jobs
	started  atomic.Int64    // containers
	rogue    atomic.Int64    // calls of rogue callers that were answered
	rogueIDs chan wire.ApplicationID

	lives  []soaked
	faults int // nodes that crashed
}

// A soaked is what was seen of one life of the ResourceManager.
type soaked struct {
	ready time.Duration // from its start
	peak  float64       // MB resident
}

// soakNodes, soakUsers and soakLife are how many nodes there are, how many users submit one job after the other, and
// how long a life of the ResourceManager is in a soak of 30 minutes.
const (
	soakNodes = 20
	soakUsers = 8
	soakLife  = time.Minute
)

// TestSoak runs jobs beside rogue callers while nodes crash and others come, and while `sojourn rm` is killed by signal
// 9 and started again. No job is lost, no container is started twice, nothing is left in the end, and memory is flat.
// It takes two minutes where SOJOURN_LONG is 1, or as long as SOJOURN_SOAK says.
func TestSoak(t *testing.T) {
	length := 2 * time.Minute
	if said := os.Getenv("SOJOURN_SOAK"); said != "" {
		var err error
		if length, err = time.ParseDuration(said); err != nil {
			t.Fatalf("SOJOURN_SOAK: %v", err)
		}
	} else if !longtest.On() {
		t.Skip("takes minutes: with SOJOURN_LONG=1 or SOJOURN_SOAK=30m only")
	}
	c, program, dir := verbCluster(t)
	c.writeSite(dir, map[string]string{
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "100",
		"yarn.nm.liveness-monitor.expiry-interval-ms":             "2000",
	})
	ctx, stop := context.WithCancel(t.Context())
	over, end := context.WithCancel(t.Context())
	defer end()
	defer stop()
	s := &soak{cluster: c, ctx: ctx, over: over, rogueIDs: make(chan wire.ApplicationID, 10_000)}
	s.master = s.soakMaster
	s.task = func(ctx context.Context, id wire.ContainerID) int32 {
		s.once(id)
		select {
		case <-time.After(time.Duration(20+rand.IntN(280)) * time.Millisecond):
			return 0
		case <-ctx.Done():
			return 1
		}
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			n.Crash()
		}
	})
	began := time.Now()
	rm := s.begin(program, dir)
	for range soakNodes {
		c.node()
	}
	var users, rogues sync.WaitGroup
	for i := range soakUsers {
		users.Go(func() { s.user(i) })
	}
	for _, do := range []func(){s.manyPriorities, s.poll, s.poll, s.halfFrames} {
		rogues.Go(do)
	}
	for each := min(soakLife, length/6); time.Since(began) < length; {
		time.Sleep(each / 3)
		s.crashOne()
		time.Sleep(each - each/3)
		if time.Since(began) < length {
			s.lives[len(s.lives)-1].peak = peakOf(t, rm.cmd.Process.Pid)
			rm.end(syscall.SIGKILL)
			rm = s.begin(program, dir)
		}
	}
	stop()
	users.Wait()
	end()
	rogues.Wait()
	close(s.rogueIDs)
	for id := range s.rogueIDs {
		s.call("mallory", "forceKillApplication", &wire.KillRequest{ID: id}, &wire.KillResponse{})
	}
	for i, n := range c.nodes {
		c.until(fmt.Sprintf("node %d is empty", i), func() bool { _, known := n.Running(); return known == 0 })
	}
	c.until("no room is booked", func() bool {
		_, _, text := c.get("/ws/v1/cluster/metrics", "")
		return strings.Contains(text, `"containersAllocated":0,`) && strings.Contains(text, `"appsRunning":0,`)
	})
	s.lives[len(s.lives)-1].peak = peakOf(t, rm.cmd.Process.Pid)
	if err := rm.end(syscall.SIGTERM); err != nil {
		t.Errorf("asked to end: %v", err)
	}
	s.flat()
	s.print(time.Since(began))
}

// begin starts the ResourceManager, in a life that goes on with the state of the one before.
func (s *soak) begin(program, dir string) *verb {
	began := time.Now()
	rm := startVerb(s.t, program, dir, "soak.rec", "--policy", "fair", "--state", filepath.Join(dir, "state"))
	s.lives = append(s.lives, soaked{ready: time.Since(began)})
	return rm
}

// once fails the test if a container was started before.
func (s *soak) once(id wire.ContainerID) {
	s.started.Add(1)
	if _, twice := s.seen.LoadOrStore(id, true); twice {
		s.t.Errorf("container %s is started twice", id)
	}
}

// soakMaster is an ApplicationMaster of a job of up to 20 tasks, which outlives ResourceManagers.
func (s *soak) soakMaster(ctx context.Context, m *peer.Master, id wire.ContainerID) int32 {
	s.once(id)
	m.Patience = time.Minute
	j := peer.Job{
		Tasks:    1 + rand.Int32N(20),
		Resource: wire.Resource{Memory: 512, VCores: 1},
		Interval: 50 * time.Millisecond,
	}
	if _, err := j.Run(ctx, m); err != nil {
		return 1
	}
	return 0
}

// call calls until it is answered, and returns the exception that the answer is, if it is one.
func (s *soak) call(user, method string, q proto.Message, r proto.Decoder) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		d := rpc.Dialer{Protocol: wire.ApplicationClient, User: user}
		ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
		client, err := d.Dial(ctx, s.at.Client)
		if err == nil {
			err = client.Call(ctx, method, q, r)
			client.Close()
		}
		cancel()
		if _, answered := err.(*rpc.Error); err == nil || answered || time.Now().After(end) {
			return err
		}
	}
}

// submitAs submits an application, which may take several tries over a restart.
func (s *soak) submitAs(user string, unmanaged bool) (wire.ApplicationID, error) {
	var named wire.NewApplication
	if err := s.call(user, "getNewApplication", &wire.Empty{}, &named); err != nil {
		return named.ID, err
	}
	q := wire.Submission{
		ID:        named.ID,
		Name:      "soak",
		Type:      "MAPREDUCE",
		Unmanaged: unmanaged,
		Resource:  &wire.Resource{Memory: 512, VCores: 1},
		Launch:    wire.NewLaunchContext("master"),
	}
	return q.ID, s.call(user, "submitApplication", &wire.SubmitRequest{Submission: q}, &wire.Empty{})
}

// user submits one job after the other, and fails the test for one that does not end well.
func (s *soak) user(i int) {
	name := fmt.Sprint("user", i)
	for s.ctx.Err() == nil {
		id, err := s.submitAs(name, false)
		if err != nil {
			s.t.Errorf("%s: submit %s: %v", name, id, err)
			return
		}
		var r wire.ApplicationResponse
		end := time.Now().Add(3 * time.Minute)
		for ; r.Report.State < wire.AppFinished; time.Sleep(200 * time.Millisecond) {
			r = wire.ApplicationResponse{}
			if err := s.call(name, "getApplicationReport", &wire.ApplicationRequest{ID: id}, &r); err != nil {
				s.t.Errorf("%s: %s is lost: %v", name, id, err)
				return
			}
			if time.Now().After(end) {
				s.t.Errorf("%s: %s is %s after three minutes: %s", name, id, r.Report.State, r.Report.Diagnostics)
				return
			}
		}
		if r.Report.State != wire.AppFinished || r.Report.Final != wire.Succeeded {
			s.t.Errorf("%s: %s ended as %s: %s", name, id, r.Report.State, r.Report.Diagnostics)
		}
		s.ended.Add(1)
	}
}

// crashOne lets a node crash, with what it runs, and another join.
func (s *soak) crashOne() {
	i := rand.IntN(len(s.nodes))
	s.nodes[i].Crash()
	s.nodes = slices.Delete(s.nodes, i, i+1)
	s.faults++
	s.node()
}

// manyPriorities is an application, begun again in each life, that changes what it wants of 4,000 priorities in each
// call and gives back what it gets.
func (s *soak) manyPriorities() {
	for ; s.over.Err() == nil; time.Sleep(100 * time.Millisecond) {
		id, err := s.submitAs("mallory", true)
		if err != nil {
			continue
		}
		s.rogueIDs <- id
		var r wire.ApplicationResponse
		if s.call("mallory", "getApplicationReport", &wire.ApplicationRequest{ID: id}, &r) != nil ||
			r.Report.MasterToken == nil {
			continue
		}
		m := &peer.Master{Address: s.at.Master, Token: *r.Report.MasterToken}
		if _, err := m.Register(s.over); err != nil {
			continue
		}
		var back []wire.ContainerID
		for count := int32(1); s.over.Err() == nil; count = 3 - count {
			q := priorities(count)
			q.Releases = back
			r, err := m.Allocate(s.over, q)
			if err != nil {
				break
			}
			s.rogue.Add(1)
			back = nil
			for _, c := range r.Allocated {
				back = append(back, c.ID)
			}
		}
		m.Close()
	}
}

// poll reads the list of applications without a pause.
func (s *soak) poll() {
	for s.over.Err() == nil {
		r, err := http.Get("http://" + s.at.Web + "/ws/v1/cluster/apps")
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
		s.rogue.Add(1)
	}
}

// halfFrames connects again and again, sends half of a frame, and stays until it is thrown out.
func (s *soak) halfFrames() {
	half := append([]byte("hrpc\x09\x00\x00"), binary.BigEndian.AppendUint32(nil, 60_000)...)
	half = append(half, make([]byte, 30_000)...)
	var held []net.Conn
	for s.over.Err() == nil {
		conn, err := net.Dial("tcp", s.at.Client)
		if err == nil {
			conn.Write(half)
			s.rogue.Add(1)
			if held = append(held, conn); len(held) > 20 {
				held[0].Close()
				held = held[1:]
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, conn := range held {
		conn.Close()
	}
}

// peakOf returns how much memory a process has had resident at most, in MB.
func peakOf(t *testing.T, process int) float64 {
	t.Helper()
	peak, err := resident.Peak(process)
	if err != nil {
		t.Fatal(err)
	}
	return float64(peak) / 1e6
}

// flat fails the test if the lives of the second half had much more memory than those of the first.
func (s *soak) flat() {
	most := func(lives []soaked) (mb float64) {
		for _, l := range lives {
			mb = max(mb, l.peak)
		}
		return mb
	}
	half := len(s.lives) / 2
	if before, after := most(s.lives[:half]), most(s.lives[half:]); after > 1.5*before+64 {
		s.t.Errorf("%.0f MB at most in the second half, %.0f MB in the first", after, before)
	}
}

// print writes what happened as a fragment of a page.
func (s *soak) print(took time.Duration) {
	var ready time.Duration
	var peaks []string
	for _, l := range s.lives {
		ready = max(ready, l.ready)
		peaks = append(peaks, fmt.Sprintf("%.0f", l.peak))
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf(`<!-- by make soak -->
%v, %d nodes, %d users, %d cores, load %s at the end:

| | |
|---|---:|
| jobs that ended well | %d |
| containers started, each once | %d |
| kills of `+"`sojourn rm`"+` by signal 9 | %d |
| nodes that crashed | %d |
| calls of rogue callers | %d |
| longest time from start to ready, ms | %d |
| memory at the peak of each life, MB | %s |
<!-- end of the soak -->
`, took.Round(time.Second), soakNodes, soakUsers, runtime.NumCPU(), strings.Fields(string(load) + " ?")[0],
		s.ended.Load(), s.started.Load(), len(s.lives)-1, s.faults, s.rogue.Load(), ready.Milliseconds(),
		strings.Join(peaks, ", "))
}
