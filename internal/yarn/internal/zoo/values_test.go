package zoo

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"
)

// After a request whose outcome is not known, the next server may lag behind the one before. What it says of values
// counts once it has heard of the leader.
func TestLookUpWaitsForTheLeader(t *testing.T) {
	var heard atomic.Bool
	now := parts{count: 3, second: true}
	f := newFake(t, func(op int32, _ []byte) (int32, []byte, bool) {
		switch {
		case op == opSync:
			heard.Store(true)
			return 0, binary.BigEndian.AppendUint32(nil, 0), false
		case op == opGetData && heard.Load():
			head := binary.BigEndian.AppendUint32(nil, 0)
			return 0, data(string(binary.BigEndian.AppendUint32(head, now.encode())), 0), false
		}
		return noNode, nil, false
	})
	v := &Values{session: fakeSession(t, 10*time.Second, "", f.address), root: "/state", parts: map[string]parts{}}
	if err := v.lookUp([]string{"app/1/1"}); err != nil || v.parts["app/1/1"] != now {
		t.Errorf("found %+v, %v", v.parts, err)
	}
}

// The schema of older values is replaced only if it is still the one that was read: a newer program may have taken them
// over meanwhile.
func TestSchemaIsNotSetBack(t *testing.T) {
	const version = 5
	var said atomic.Int32
	f := newFake(t, func(op int32, body []byte) (int32, []byte, bool) {
		if op == opSetData {
			said.Store(int32(binary.BigEndian.Uint32(body[len(body)-4:])))
			return 0, stat(0), false
		}
		b := data("2", 0)
		binary.BigEndian.PutUint32(b[len(b)-68+32:], version)
		return 0, b, false
	})
	v := &Values{session: fakeSession(t, 10*time.Second, "", f.address), root: "/state"}
	if err := v.checkSchema(); err != nil || said.Load() != version {
		t.Errorf("written over version %d, %v", said.Load(), err)
	}
}
