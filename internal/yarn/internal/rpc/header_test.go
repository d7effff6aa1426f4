package rpc

import (
	"reflect"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// Every header is read as it was written.
func TestHeadersRoundTrip(t *testing.T) {
	id := []byte("0123456789abcdef")
	for _, want := range []interface {
		proto.Message
		proto.Decoder
	}{
		&requestHeader{call: -33, client: id, retry: 3, kind: kindProto},
		&responseHeader{call: -33, client: id, retry: retryNone},
		&responseHeader{call: 1<<31 - 1, status: statusError, err: &Error{"class", "message", NoSuchMethod},
			client: []byte{}, retry: 1},
		&responseHeader{status: statusFatal, err: &Error{"class", "", FatalVersion}, client: id},
		&methodHeader{[]byte("method"), []byte("protocol")},
		&contextHeader{userInfo{"effective", "real"}, "protocol"},
		&contextHeader{protocol: "protocol"},
		&saslMessage{state: saslNegotiate,
			auths: []saslAuth{byToken, {"method", "mechanism", "protocol", "server", []byte{}}}},
		&saslMessage{state: saslResponse, token: []byte{}},
	} {
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface().(proto.Decoder)
		if err := got.Decode(want.Append(nil)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v is read as %+v, %v", want, got, err)
		}
	}
	// A fatal status without a fatal kind, and an error that does not say which, as Hadoop's own readers take them.
	for status, want := range map[int32]Detail{statusFatal: FatalUnknown, statusError: Application} {
		var got responseHeader
		if err := got.Decode((&responseHeader{status: status, err: &Error{}}).Append(nil)); err != nil ||
			got.err.Detail != want {
			t.Errorf("status %d is read as %v, %v", status, got.err, err)
		}
	}
}
