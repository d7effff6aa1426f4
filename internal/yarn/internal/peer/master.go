package peer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// A Master is an ApplicationMaster's side of its protocol. One goroutine owns it.
type Master struct {
	Address string // of the ResourceManager for ApplicationMasters
	Token   wire.Token
	// Patience is how long a ResourceManager that is not there is called again. Zero: not at all.
	Patience time.Duration

	client     *rpc.Client
	responseID int32
	nodes      map[wire.NodeID]wire.Token
}

// retryDial is the wait of a Master for a ResourceManager that is not there.
const retryDial = 20 * time.Millisecond

// mostTries is how often a call is made, at most, while replies are lost.
const mostTries = 20

// call makes a call again until there is a reply. An exception of the ResourceManager is a reply, too.
func (m *Master) call(ctx context.Context, method string, q proto.Message, r proto.Decoder) error {
	var err error
	for began, tries := time.Now(), 0; tries < mostTries || time.Since(began) < m.Patience; tries++ {
		if m.client == nil {
			d := rpc.Dialer{
				Protocol: wire.ApplicationMaster,
				Secret:   &rpc.Secret{Identifier: m.Token.Identifier, Password: m.Token.Password},
			}
			if m.client, err = d.Dial(ctx, m.Address); err != nil {
				m.client = nil
				var refused *rpc.Error
				if errors.As(err, &refused) || ctx.Err() != nil || time.Since(began) >= m.Patience {
					return err
				}
				time.Sleep(retryDial)
				continue
			}
		}
		var raw proto.Raw
		err = m.client.Call(ctx, method, q, &raw)
		var e *rpc.Error
		if errors.As(err, &e) {
			return err
		}
		if err == nil {
			return r.Decode(raw)
		}
		m.Close()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("%d replies in a row were lost, the last: %w", mostTries, err)
}

// Close ends the connection.
func (m *Master) Close() {
	if m.client != nil {
		m.client.Close()
		m.client = nil
	}
}

// Register introduces the ApplicationMaster.
func (m *Master) Register(ctx context.Context) (*wire.RegisterMasterResponse, error) {
	var r wire.RegisterMasterResponse
	err := m.call(
		ctx,
		"registerApplicationMaster",
		&wire.RegisterMasterRequest{Host: "localhost", Port: 4711, Tracking: "http://localhost:4712"},
		&r,
	)
	m.responseID, m.nodes = 0, map[wire.NodeID]wire.Token{}
	return &r, err
}

// Allocate beats once.
func (m *Master) Allocate(ctx context.Context, q *wire.AllocateRequest) (*wire.AllocateResponse, error) {
	q.ResponseID = m.responseID
	var r wire.AllocateResponse
	if err := m.call(ctx, "allocate", q, &r); err != nil {
		return nil, err
	}
	m.responseID = r.ResponseID
	for _, t := range r.NodeTokens {
		m.nodes[t.Node] = t.Token
	}
	if r.MasterToken != nil {
		m.Token = *r.MasterToken
		m.Close()
	}
	return &r, nil
}

// Start starts a container that was allocated, on its node's own address at 127.0.0.1.
func (m *Master) Start(ctx context.Context, c *wire.Container) error {
	node, err := m.dial(ctx, c)
	if err != nil {
		return err
	}
	defer node.Close()
	var r wire.StartContainersResponse
	if err := node.Call(ctx, "startContainers",
		&wire.StartContainersRequest{Launch: wire.NewLaunchContext("task"), Token: c.Token}, &r); err != nil {
		return err
	}
	if len(r.Failed) > 0 {
		return &r.Failed[0]
	}
	return nil
}

// Update asks a container's node to give it the size that it was granted.
func (m *Master) Update(ctx context.Context, c *wire.Container) error {
	node, err := m.dial(ctx, c)
	if err != nil {
		return err
	}
	defer node.Close()
	var r containersUpdated
	if err := node.Call(ctx, "updateContainer", &updateContainers{Tokens: []wire.Token{c.Token}}, &r); err != nil {
		return err
	}
	if len(r.Failed) > 0 {
		return &r.Failed[0]
	}
	return nil
}

// dial connects to the node of a container.
func (m *Master) dial(ctx context.Context, c *wire.Container) (*rpc.Client, error) {
	t, ok := m.nodes[c.Node]
	if !ok {
		return nil, fmt.Errorf("no NMToken sent for %s", c.Node)
	}
	d := rpc.Dialer{
		Protocol: wire.ContainerManagement,
		Secret:   &rpc.Secret{Identifier: t.Identifier, Password: t.Password},
	}
	return d.Dial(ctx, fmt.Sprintf("127.0.0.1:%d", c.Node.Port))
}

// Finish says how the application ended, again and again until the ResourceManager has taken note of it.
func (m *Master) Finish(ctx context.Context, final wire.FinalStatus) error {
	for {
		var r wire.FinishMasterResponse
		if err := m.call(ctx, "finishApplicationMaster", &wire.FinishMasterRequest{Final: final}, &r); err != nil ||
			r.Unregistered {
			return err
		}
	}
}

// notRegistered is the exception by which a ResourceManager that has restarted tells an ApplicationMaster to register.
const notRegistered = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"

// A Job is an application that runs waves of equal tasks: as many at once as it gets room for, until all have
// succeeded.
type Job struct {
	Tasks    int32
	Resource wire.Resource
	Interval time.Duration // between beats
}

// Run runs the job as Hadoop's own ApplicationMasters do: asks are absolute, surplus is given back, and tasks that did
// not succeed are asked for again. If the ResourceManager says that the ApplicationMaster is not registered, it
// registers again and repeats all asks. Run returns how many containers it was given.
func (j *Job) Run(ctx context.Context, m *Master) (given int, err error) {
	defer m.Close()
	if _, err := m.Register(ctx); err != nil {
		return 0, err
	}
	left, changed, succeeded := j.Tasks, true, int32(0)
	running := map[wire.ContainerID]bool{}
	var release []wire.ContainerID
	for succeeded < j.Tasks {
		q := &wire.AllocateRequest{Releases: release, Progress: float32(succeeded) / float32(j.Tasks)}
		if changed { // told anew after every change, as Hadoop's tables do
			q.Asks = []wire.ResourceRequest{
				{
					Priority:   20,
					Place:      wire.Anywhere,
					Resource:   j.Resource,
					Containers: left,
					Relax:      true,
					Allocation: -1,
				},
			}
			changed = false
		}
		r, err := m.Allocate(ctx, q)
		if e := (*rpc.Error)(nil); errors.As(err, &e) && e.Class == notRegistered {
			_, err = m.Register(ctx)
			r, changed = &wire.AllocateResponse{}, true
		} else {
			release = nil
		}
		if err != nil {
			return given, err
		}
		for i := range r.Allocated {
			c := &r.Allocated[i]
			given++
			if left == 0 {
				release = append(release, c.ID)
				continue
			}
			left--
			changed, running[c.ID] = true, true
			if err := m.Start(ctx, c); err != nil {
				if m.Patience == 0 {
					return given, err
				}
				left++ // granted by a ResourceManager that has restarted since: given back, and asked for again
				delete(running, c.ID)
				release = append(release, c.ID)
			}
		}
		for _, s := range r.Completed {
			switch {
			case !running[s.ID]:
				continue
			case s.Exit == 0:
				succeeded++
			default:
				left++
				changed = true
			}
			delete(running, s.ID)
		}
		select {
		case <-ctx.Done():
			return given, ctx.Err()
		case <-time.After(j.Interval):
		}
	}
	return given, m.Finish(ctx, wire.Succeeded)
}
