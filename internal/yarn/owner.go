package yarn

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
)

// An owner decides which goroutine may touch the state of the cluster, and nothing else. Callers put calls into a line.
// The first caller becomes the leader: it carries out its own call and those that arrived meanwhile as one turn, then
// hands the lead to one of the callers that arrived during the turn. So the state has one owner at a time, and a call
// that comes alone is answered without a change of goroutine.
type owner struct {
	m     *manager
	line  line
	spare sync.Pool // of calls whose caller waits
	timer *time.Timer
	armed time.Time // when timer goes off; zero: it is not set. Only turns use it
}

// An answer makes the reply to a call, after the Step that the call's facts led to. A nil answer is an empty message.
type answer func() proto.Message

// reply returns an answer that does not depend on what the core decides.
func reply(r proto.Message) (answer, error) { return func() proto.Message { return r }, nil }

// A call is work that a goroutine hands to the current leader.
type call struct {
	do     func(*manager) (answer, error)
	later  answer // that do has returned
	reply  proto.Message
	encode bool      // the reply must be encoded within the turn, into text
	text   proto.Raw // the reply, encoded
	err    error
	change uint64    // number of the changes to be stored before the reply goes out; zero: none
	done   chan news // of capacity 1; nil: no caller waits
}

// news is what the caller of a call hears.
type news uint8

const (
	answered news = iota
	leads         // the caller is the next leader, and carries out its own call first
)

// partOfCall is how many elements of each list of one call are taken in one turn: asks, releases and changes of size of
// an ApplicationMaster, reports of a NodeManager.
const partOfCall = 500

// cutAt returns the first n elements of list, or all if there are fewer, and the rest.
func cutAt[T any](list []T, n int) (first, rest []T) {
	n = min(n, len(list))
	return list[:n], list[n:]
}

// newOwner returns the owner of m.
func newOwner(m *manager) *owner {
	o := &owner{m: m, timer: time.NewTimer(farAway)}
	o.spare.New = func() any { return &call{done: make(chan news, 1)} }
	m.post = o.post
	return o
}

// ask runs do in a turn and returns the reply. The caller waits until the turn is over.
func (o *owner) ask(do func(*manager) (answer, error)) (proto.Message, error) {
	c := o.spare.Get().(*call)
	c.do = do
	o.carry(c)
	reply, err, change := c.reply, c.err, c.change
	*c = call{done: c.done}
	o.spare.Put(c)
	if err == nil {
		err = o.m.saves.wait(change)
	}
	return reply, err
}

// look runs read in a turn, for callers that only read the state.
func (o *owner) look(read func(*manager)) {
	o.ask(func(m *manager) (answer, error) { read(m); return nil, nil })
}

// serve is ask for a call of a peer. It encodes the reply within the turn, while nothing changes what the reply
// refers to.
func (o *owner) serve(peer *rpc.Call, do func(*manager) (answer, error)) (proto.Message, error) {
	reply, change, err := o.encoded(peer, do)
	if err == nil {
		err = o.m.saves.wait(change)
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// attend is serve for a call of a NodeManager. The reply does not wait until what the node has reported is stored:
// while that cannot be done, as on a full disk, each node where an ApplicationMaster ends would fall silent, and be
// lost with all that runs there. A node reports again what runs there when it registers with the next life.
func (o *owner) attend(peer *rpc.Call, do func(*manager) (answer, error)) (proto.Message, error) {
	reply, _, err := o.encoded(peer, do)
	return reply, err
}

// encoded runs do in a turn, and returns the reply, encoded within the turn, and the number of the changes that are to
// be stored.
func (o *owner) encoded(peer *rpc.Call, do func(*manager) (answer, error)) (proto.Message, uint64, error) {
	c := o.spare.Get().(*call)
	c.do, c.encode, c.text = do, true, peer.Scratch[:0]
	o.carry(c)
	empty, err, change := c.reply == nil, c.err, c.change
	peer.Scratch = c.text
	*c = call{done: c.done}
	o.spare.Put(c)
	if err != nil || empty {
		return nil, change, err
	}
	return &peer.Scratch, change, nil
}

// post runs do in a turn without waiting for it. It must not be called within a turn.
func (o *owner) post(do func()) {
	c := &call{do: func(*manager) (answer, error) { do(); return nil, nil }}
	if o.line.join(c) {
		o.lead()
	}
}

// A line holds the calls that wait for a turn.
type line struct {
	mu      sync.Mutex
	waiting []*call
	spare   []*call // the memory of waiting at the next take
	led     bool    // a goroutine leads
}

// join puts a call into the line, and reports whether the caller must lead.
func (l *line) join(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, c)
	lead := !l.led
	l.led = true
	return lead
}

// take returns the calls that wait. The slice is valid until the next take.
func (l *line) take() []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting, l.spare = l.spare[:0], l.waiting
	return l.spare
}

// next chooses the next leader among the callers that wait for a reply. alone reports that there is none although
// calls wait, so that the current leader leads on.
func (l *line) next() (leader *call, alone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.waiting {
		if c.done != nil {
			return c, false
		}
	}
	l.led = len(l.waiting) > 0
	return nil, l.led
}

// carry returns when call c has been carried out, by this goroutine or by the current leader.
func (o *owner) carry(c *call) {
	if o.line.join(c) || <-c.done == leads {
		o.lead()
		<-c.done
	}
}

// lead carries out the calls that wait, among them the caller's own, and hands the lead on.
func (o *owner) lead() {
	defer crash()
	for on := true; on; {
		o.turn(o.line.take())
		var leader *call
		if leader, on = o.line.next(); leader != nil {
			leader.done <- leads
		}
	}
}

// crash ends the process when the goroutine that defers it panics, even where a caller would recover, as HTTP servers
// do. Half a turn leaves a state that must not be used, and a lead that no goroutine would hand on.
func crash() {
	if why := recover(); why != nil {
		text := fmt.Sprintf("%v, in the owner's turn\n%s", why, debug.Stack())
		go panic(text)
		select {}
	}
}

// loop makes a turn whenever something is due that no caller asks for, until ctx is done.
func (o *owner) loop(ctx context.Context) {
	defer o.timer.Stop()
	for {
		select {
		case <-o.timer.C:
			o.look(func(*manager) { o.armed = time.Time{} })
		case <-ctx.Done():
			return
		}
	}
}

// turn carries calls out together: their facts, one Step, their answers in order.
func (o *owner) turn(batch []*call) {
	m := o.m
	m.begin()
	for _, c := range batch {
		before := m.saves.seen()
		c.later, c.err = c.do(m)
		if m.saves.seen() != before {
			c.change = 1 // until the number is known
		}
	}
	meet(m)
	m.step()
	number := m.saves.flush()
	active := m.config.Kept.Active.valid()
	for _, c := range batch {
		if !active {
			c.later, c.err = nil, standbyError(m.config.Kept.HA.ID)
		}
		if c.err == nil && c.later != nil {
			c.reply = c.later()
		}
		if c.encode && c.reply != nil {
			c.text = c.reply.Append(c.text)
		}
		if c.change > 0 {
			c.change = number
		}
	}
	o.arm()
	for _, c := range batch {
		if c.done != nil {
			c.done <- answered
		}
	}
}

// arm sets the timer to the next instant at which something is due. A timer that goes off too early is set again.
func (o *owner) arm() {
	if next := o.m.due(); o.armed.IsZero() || next.Before(o.armed) {
		o.armed = next
		o.timer.Reset(max(0, next.Sub(o.m.now)))
	}
}
