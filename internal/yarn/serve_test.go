package yarn

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/store"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// full is a keeper that cannot write.
type full struct{}

var errFull = errors.New("the disk is full")

func (full) Commit(map[string][]byte) error { return errFull }
func (full) Close() error                   { return nil }

// stopUnstored stops a ResourceManager that has stopTime to end, while a submission and a launch wait for keeper k. It
// returns what Serve does, and what the client is told.
func stopUnstored(t *testing.T, k store.Keeper, stopTime time.Duration) (serve, submit error) {
	t.Helper()
	under, _, err := policy.Parse("fifo")
	if err != nil {
		t.Fatal(err)
	}
	rm, err := Listen(t.Context(), Config{Core: sched.Config{Policy: under}, Sizes: Sizes{MinMemory: 512},
		Log:       slog.New(slog.DiscardHandler),
		Addresses: Addresses{"127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", ""}})
	if err != nil {
		t.Fatal(err)
	}
	rm.stopTime = stopTime
	rm.front.m.saves = &saver{to: store.New(k, func(error) {}), apps: map[*application]bool{},
		changed: map[string][]byte{}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rm.Serve(ctx) }()
	q := registration(9, wire.Resource{Memory: 4096, VCores: 8})
	if _, err := rm.front.ask(func(m *manager) (answer, error) {
		return tracker{m}.register(q, &net.TCPAddr{})
	}); err != nil {
		t.Fatal(err)
	}
	d := rpc.Dialer{Protocol: wire.ApplicationClient, User: "ana"}
	c, err := d.Dial(ctx, rm.Addresses().Client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var given wire.NewApplication
	if err := c.Call(ctx, "getNewApplication", &wire.Empty{}, &given); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() {
		told <- c.Call(context.Background(), "submitApplication", &wire.SubmitRequest{Submission: wire.Submission{
			ID: given.ID, Resource: &wire.Resource{Memory: 512, VCores: 1}, Launch: wire.NewLaunchContext("")}}, nil)
	}()
	for launched := false; !launched; time.Sleep(time.Millisecond) {
		rm.front.look(func(m *manager) { launched = len(m.apps.list) > 0 && m.apps.list[0].current() != nil })
	}
	stop()
	return <-ended, <-told
}

// A ResourceManager that is stopped while its state cannot be stored says that, and not that a turn was not over. What
// waited for the state to be stored ends.
func TestStopWhileNothingIsStored(t *testing.T) {
	stuck := blocked{make(chan bool)}
	t.Cleanup(func() { close(stuck.let) })
	for _, c := range []struct {
		keeper store.Keeper
		want   string
	}{{full{}, errFull.Error()}, {stuck, "the last changes were not written"}} {
		var serve, submit error
		for stopTime := 2 * time.Second; stopTime <= 16*time.Second; stopTime *= 2 { // the machine may be busy
			serve, submit = stopUnstored(t, c.keeper, stopTime)
			if serve != nil && strings.Contains(serve.Error(), c.want) {
				break
			}
		}
		if serve == nil || !strings.Contains(serve.Error(), "keep the state") ||
			!strings.Contains(serve.Error(), c.want) {
			t.Errorf("stopped: %v, want %q", serve, c.want)
		}
		if submit == nil {
			t.Errorf("%q: a submission that was not stored is accepted", c.want)
		}
	}
}
