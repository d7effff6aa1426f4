package wire

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// A meter holds up to most bytes.
type meter struct{ held, most int }

func (m *meter) Hold(n int) bool {
	if n > m.most {
		return false
	}
	m.held = n
	return true
}

// memory returns how many bytes were ever allocated, and how many are in use, with what is not collected yet.
func memory() (allocated, inUse int) {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int(s.TotalAlloc), int(s.HeapAlloc)
}

// holding returns a message with only a field of that number, which holds the message inner.
func holding(num int32, inner []byte) []byte { return proto.AppendBytes(nil, num, inner) }

// What a request takes in memory is counted before it is taken, whatever lists of tiny elements it has: at the top, in
// a message, or in the elements of a list, with messages in these.
func TestRequestsAreCounted(t *testing.T) {
	const fields, elements = 20, 2000
	check := func(q proto.Described, body []byte) {
		fresh := reflect.New(reflect.TypeOf(q).Elem()).Interface().(proto.Described)
		m := meter{most: 1 << 30}
		before, _ := memory()
		_ = proto.DecodeWithin(body, fresh, &m) // of wrong bodies counts what was read until then
		after, _ := memory()
		most := m.held + m.held/4 + 32<<10
		took := after - before
		if took > most { // some of it was of lists that have grown since
			runtime.GC()
			_, with := memory()
			runtime.KeepAlive(fresh)
			fresh = nil
			runtime.GC()
			_, without := memory()
			took = with - without
		}
		if took > most {
			t.Errorf("%T: %x... takes %d bytes in memory, and %d are counted", q, body[:8], took, m.held)
		}
		tight := meter{most: m.held - 1}
		again := reflect.New(reflect.TypeOf(q).Elem()).Interface().(proto.Described)
		if err := proto.DecodeWithin(body, again, &tight); m.held > 0 && !errors.Is(err, proto.ErrMemory) {
			t.Errorf("%T: %x... is read into less than is counted: %v", q, body[:8], err)
		}
	}
	for _, q := range []proto.Described{&RegisterNodeRequest{}, &HeartbeatRequest{}, &RegisterMasterRequest{},
		&AllocateRequest{}, &SubmitRequest{}, &ApplicationsRequest{}, &UpdateNodeResource{}} {
		for a := range int32(fields) {
			check(q, bytes.Repeat(holding(a+1, nil), elements))
			for b := range int32(fields) {
				check(q, bytes.Repeat(holding(a+1, holding(b+1, nil)), elements))
				check(q, holding(a+1, bytes.Repeat(holding(b+1, nil), elements)))
			}
		}
	}
	for c := range int32(fields) { // reports of containers, with something in each
		check(&HeartbeatRequest{}, holding(1, bytes.Repeat(holding(3, holding(c+1, nil)), elements)))
		check(&HeartbeatRequest{}, holding(1, bytes.Repeat(holding(8, holding(c+1, nil)), elements)))
	}
}
