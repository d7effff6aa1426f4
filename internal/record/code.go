package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A coder writes values behind b, or takes them off its front. One description of a value serves both directions, so
// that they cannot disagree: each method writes the value that it is given, or, while reading, reads into it. Methods
// that are named after a type (nodeSpec, asks) code its fields in the order of the format.
type coder struct {
	b       []byte
	reading bool
	err     error // the first one; while reading, what comes after it is zero
	payload Payload
}

var errShort = errors.New("a value ends beyond the block")

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	if c.reading {
		c.b = nil
	}
}

func (c *coder) byte(v byte) byte {
	if !c.reading {
		c.b = append(c.b, v)
		return v
	}
	if len(c.b) == 0 {
		c.fail(errShort)
		return 0
	}
	v = c.b[0]
	c.b = c.b[1:]
	return v
}

func (c *coder) uvarint(v uint64) uint64 {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, v)
		return v
	}
	if len(c.b) > 0 && c.b[0] < 0x80 {
		v = uint64(c.b[0])
		c.b = c.b[1:]
		return v
	}
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail(errShort)
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *coder) varint(v int64) int64 {
	u := c.uvarint(uint64(v)<<1 ^ uint64(v>>63))
	return int64(u>>1) ^ -int64(u&1)
}

// number codes an integer of any width.
func number[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8](c *coder, p *T) {
	v := c.varint(int64(*p))
	if c.reading {
		if *p = T(v); int64(*p) != v {
			c.fail(fmt.Errorf("%d is out of range", v))
		}
	}
}

func (c *coder) float(p *float64) {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint64(c.b, math.Float64bits(*p))
		return
	}
	if len(c.b) < 8 {
		c.fail(errShort)
		return
	}
	*p = math.Float64frombits(binary.LittleEndian.Uint64(c.b))
	c.b = c.b[8:]
}

func (c *coder) float32(v float32) float32 {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint32(c.b, math.Float32bits(v))
		return v
	}
	if len(c.b) < 4 {
		c.fail(errShort)
		return 0
	}
	v = math.Float32frombits(binary.LittleEndian.Uint32(c.b))
	c.b = c.b[4:]
	return v
}

// take returns the next n bytes, lent; nil where there are fewer.
func (c *coder) take(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.fail(errShort)
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *coder) string(p *string) {
	n := c.uvarint(uint64(len(*p)))
	if !c.reading {
		c.b = append(c.b, *p...)
		return
	}
	*p = string(c.take(n))
}

// present codes whether there is a value, or any other truth.
func (c *coder) present(v bool) bool {
	b := byte(0)
	if v {
		b = 1
	}
	return c.byte(b) != 0
}

// pointer codes a value that may be missing.
func pointer[T any](c *coder, p **T, each func(*T)) {
	if !c.present(*p != nil) {
		return
	}
	if c.reading {
		*p = new(T)
	}
	each(*p)
}

// list codes a slice; nil and empty differ. It grows as its elements are read, which bounds what is allocated.
func list[T any](c *coder, p *[]T, each func(*T)) {
	n := uint64(0)
	if *p != nil {
		n = uint64(len(*p)) + 1
	}
	n = c.uvarint(n)
	if !c.reading {
		for i := range *p {
			each(&(*p)[i])
		}
		return
	}
	if n == 0 {
		return
	}
	*p = make([]T, 0, min(n-1, 64))
	for range n - 1 {
		var zero T
		*p = append(*p, zero)
		if each(&(*p)[len(*p)-1]); c.err != nil {
			return
		}
	}
}

// vector codes the elements of v, one for each kind of resource: a byte with a bit for each kind whose element is not
// zero, then these elements, by each.
func vector[T int64 | float64](c *coder, v *[sched.NumResources]T, each func(*T)) {
	mask := byte(0)
	for k, a := range v {
		if a != 0 {
			mask |= 1 << k
		}
	}
	mask = c.byte(mask)
	for k := range v {
		if mask>>k&1 != 0 {
			each(&v[k])
		}
	}
}

func (c *coder) resources(r *sched.Resources) {
	vector(c, (*[sched.NumResources]int64)(r), func(n *int64) { number(c, n) })
}

// nonNegative codes what a node has or an attempt holds. While reading, it rejects an amount below zero.
func nonNegative(c *coder, r *sched.Resources) {
	c.resources(r)
	for k, a := range r {
		if c.reading && a < 0 {
			c.fail(fmt.Errorf("%v: %d, must not be negative", sched.ResourceKind(k), a))
		}
	}
}

func (c *coder) work(w *sched.Work) { vector(c, (*[sched.NumResources]float64)(w), c.float) }

// places codes the nodes with the input of tasks, each in as many bits as the largest needs: they are chance, which
// nothing compresses.
func (c *coder) places(p *[]sched.NodeID) {
	count, width := c.uvarint(uint64(len(*p))), uint64(1)
	if count == 0 {
		return
	}
	for _, n := range *p {
		width = max(width, uint64(bits.Len32(uint32(n))))
	}
	if width = uint64(c.byte(byte(width))); width == 0 || width > 31 {
		c.fail(errors.New("places on nodes that cannot be"))
		return
	}
	if c.reading && count > uint64(len(c.b))*8 {
		c.fail(errShort)
		return
	}
	size := (count*width + 7) / 8
	if c.reading {
		packed := c.take(size)
		if c.err != nil {
			return
		}
		*p = make([]sched.NodeID, count)
		for i := range *p {
			(*p)[i] = sched.NodeID(unpack(packed, uint64(i)*width, width))
		}
		return
	}
	at := len(c.b)
	c.b = append(c.b, make([]byte, size)...)
	for i, n := range *p {
		pack(c.b[at:], uint64(i)*width, uint64(n))
	}
}

// pack puts v, of at most 31 bits, where b has zeros from a bit on.
func pack(b []byte, bit, v uint64) {
	at := bit >> 3
	for v <<= bit & 7; v != 0; v >>= 8 {
		b[at] |= byte(v)
		at++
	}
}

// unpack returns the number of width bits from a bit on.
func unpack(b []byte, bit, width uint64) (v uint64) {
	for k := (bit + width + 7) >> 3; k > bit>>3; k-- {
		v = v<<8 | uint64(b[k-1])
	}
	return v >> (bit & 7) & (1<<width - 1)
}

// The bodies of events.

func (c *coder) jobSpec(s *sched.JobSpec) {
	c.string(&s.Name)
	c.string(&s.User)
	c.string(&s.Queue)
	c.string(&s.Type)
	c.float(&s.Weight)
	number(c, &s.Priority)
	number(c, &s.Submit)
	number(c, &s.Deadline)
	c.wanted(s)
	pointer(c, &s.Profile, c.profile)
	list(c, &s.Stages, c.stageSpec)
	number(c, &s.Probes)
	s.Open = c.present(s.Open)
	c.opaque(&s.Payload)
}

// wanted codes the goal and the allocation that a job wants, after a byte that says whether there is either.
func (c *coder) wanted(s *sched.JobSpec) {
	const goal, least, most, delays = 1, 2, 4, 8
	there := byte(0)
	if s.Goal != nil {
		there |= goal
	}
	if s.Min != (sched.Resources{}) {
		there |= least
	}
	if s.Max != (sched.Resources{}) {
		there |= most
	}
	if s.Delays != 0 {
		there |= delays
	}
	if there = c.byte(there); there >= 2*delays {
		c.fail(fmt.Errorf("there is no goal with the flags %d", there))
		return
	}
	if there&goal != 0 {
		if c.reading {
			s.Goal = &sched.Goal{}
		}
		c.goal(s.Goal)
	}
	if there&least != 0 {
		c.resources(&s.Min)
	}
	if there&most != 0 {
		c.resources(&s.Max)
	}
	if there&delays != 0 {
		number(c, &s.Delays)
	}
}

func (c *coder) goal(g *sched.Goal) {
	number(c, &g.Metric)
	c.float(&g.Weight)
	list(c, &g.Steps, func(s *sched.CostStep) {
		number(c, &s.After)
		c.float(&s.Cost)
	})
}

func (c *coder) profile(p *sched.Profile) {
	for i := range p.Phases {
		c.resources(&p.Phases[i])
	}
	list(c, &p.Accelerators, c.string)
}

func (c *coder) stageSpec(s *sched.StageSpec) {
	kind := s.Kind
	if s.Asked { // which stands in the same number
		kind += sched.NumKinds
	}
	if number(c, &kind); kind >= 2*sched.NumKinds {
		c.fail(fmt.Errorf("there is no kind of stage %d", kind))
	}
	s.Kind, s.Asked = kind%sched.NumKinds, kind >= sched.NumKinds
	c.resources(&s.PerTask)
	number(c, &s.Tasks)
	list(c, &s.After, func(d *sched.Dep) {
		number(c, &d.Stage)
		c.float(&d.Part)
	})
	number(c, &s.MaxAttempts)
	reserved := int32(0) // a size of gangs, which nothing set
	number(c, &reserved)
	number(c, &s.InputBytes)
	number(c, &s.Prior)
	c.places(&s.Places)
	number(c, &s.Copies)
}

func (c *coder) nodeSpec(s *sched.NodeSpec) {
	c.string(&s.Name)
	c.string(&s.Class)
	number(c, &s.Rack)
	nonNegative(c, &s.Capacity)
}

func (c *coder) asks(a *sched.Asks) {
	node := func(n *sched.NodeID) { number(c, n) }
	number(c, &a.Stage)
	pointer(c, &a.Spec, c.stageSpec)
	number(c, &a.Pending)
	list(c, &a.Only, node)
	list(c, &a.Banned, node)
}

func (c *coder) near(n *sched.Near) {
	number(c, &n.Node)
	number(c, &n.Rack)
	number(c, &n.Tasks)
}

// queue codes what is said of a queue and of those below it.
func (c *coder) queue(p **sched.QueueSpec) {
	if c.reading {
		*p = &sched.QueueSpec{}
	}
	q := *p
	c.string(&q.Name)
	c.float(&q.Weight)
	for _, s := range []*sched.Share{&q.Min, &q.Max} {
		c.resources(&s.Amount)
		c.float(&s.Part)
	}
	c.string(&q.Policy)
	list(c, &q.Queues, c.queue)
}

// sayMasters reports whether some of the queues, or of those below them, say what masters may hold.
func sayMasters(queues []*sched.QueueSpec) bool {
	return slices.ContainsFunc(queues, func(q *sched.QueueSpec) bool { return q.Masters != 0 || sayMasters(q.Queues) })
}

// masters codes what queues, and those below them, say of masters.
func (c *coder) masters(queues []*sched.QueueSpec) {
	for _, q := range queues {
		c.float(&q.Masters)
		c.masters(q.Queues)
	}
}

// saySpared reports whether some of the queues, or of those below them, are spared.
func saySpared(queues []*sched.QueueSpec) bool {
	return slices.ContainsFunc(queues, func(q *sched.QueueSpec) bool { return q.Spared || saySpared(q.Queues) })
}

// spared codes which queues, and which below them, are spared: a number each, 0 or 1.
func (c *coder) spared(queues []*sched.QueueSpec) {
	for _, q := range queues {
		n := int32(0)
		if q.Spared {
			n = 1
		}
		number(c, &n)
		q.Spared = n != 0
		c.spared(q.Queues)
	}
}

func (c *coder) undone(u *sched.Undone) {
	number(c, &u.Stage)
	list(c, &u.Tasks, func(t *int32) { number(c, t) })
}

// counters codes what an attempt counted. Counts that few engines know stand before the others, after a -1 in the place
// of the input, and only where one of them is not zero.
func (c *coder) counters(k *sched.Counters) {
	input := k.InputBytes
	if k.LocalBytes != 0 || k.RemoteBytes != 0 || k.SpilledRecords != 0 || k.CPU != 0 {
		input = -1
	}
	if number(c, &input); input == -1 {
		for _, n := range []*int64{&k.LocalBytes, &k.RemoteBytes, &k.SpilledRecords} {
			number(c, n)
		}
		number(c, &k.CPU)
		input = k.InputBytes
		number(c, &input)
	}
	k.InputBytes = input
	for _, n := range []*int64{&k.OutputBytes, &k.InputRecords, &k.OutputRecords} {
		number(c, n)
	}
	for i := range k.Phases {
		number(c, &k.Phases[i])
	}
}

// A Payload is how the payloads of jobs, which are the engine's own, are written and read. The zero Payload leaves them
// out.
type Payload struct {
	Name   string // in the header; a reader with another one leaves payloads out
	Append func(b []byte, payload any) ([]byte, error)
	Parse  func(b []byte) (any, error) // b is lent
}

// opaque codes a payload by the codec, if there is one. Its length comes first, so that a reader without the codec can
// skip it.
func (c *coder) opaque(p *any) {
	if c.reading {
		n := c.uvarint(0)
		if n == 0 {
			return
		}
		b := c.take(n - 1)
		if c.err != nil || c.payload.Parse == nil {
			return
		}
		v, err := c.payload.Parse(b)
		if err != nil {
			c.fail(fmt.Errorf("read payload %q: %w", c.payload.Name, err))
		}
		*p = v
		return
	}
	if *p == nil || c.payload.Append == nil {
		c.uvarint(0)
		return
	}
	b, err := c.payload.Append(nil, *p)
	if err != nil {
		c.fail(fmt.Errorf("write payload %q: %w", c.payload.Name, err))
	}
	c.uvarint(uint64(len(b)) + 1)
	c.b = append(c.b, b...)
}
