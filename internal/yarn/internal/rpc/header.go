package rpc

import "github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"

// requestHeader is Hadoop's RpcRequestHeaderProto. Tracing, caller context and state ids are the caller's own affair.
type requestHeader struct {
	call   int32
	client []byte // sixteen bytes in calls, none during SASL; lent
	retry  int32
	kind   int32
}

func (h *requestHeader) Fields(f *proto.Fields) {
	if f.Begins() {
		h.retry = retryNone
	}
	if f.Reading() {
		f.Int32(1, &h.kind)
	} else {
		f.Put(1, kindProto)
	}
	f.Put(2, 0) // the final packet
	f.Sint32(3, &h.call)
	f.Lent(4, &h.client)
	f.Sint32(5, &h.retry)
}

func (h *requestHeader) Append(b []byte) []byte { return proto.Append(b, h) }
func (h *requestHeader) Decode(b []byte) error  { return proto.Decode(b, h) }

// responseHeader is Hadoop's RpcResponseHeaderProto.
type responseHeader struct {
	call   int32
	status int32
	err    *Error // where status is not success
	client []byte // lent
	retry  int32
}

func (h *responseHeader) Fields(f *proto.Fields) {
	if f.Begins() {
		h.retry = retryNone
	}
	f.Uint32(1, &h.call) // 32-bit two's complement: five bytes for what is negative
	f.Int32(2, &h.status)
	f.Put(3, ipcVersion)
	if h.err != nil {
		h.err.fields(f)
	}
	f.Lent(7, &h.client)
	f.Sint32(8, &h.retry)
}

func (h *responseHeader) Append(b []byte) []byte { return proto.Append(b, h) }
func (h *responseHeader) Decode(b []byte) error {
	h.err = new(Error)
	err := proto.Decode(b, h)
	if h.status == statusSuccess {
		h.err = nil
	} else if h.status == statusFatal && !h.err.Fatal() {
		h.err.Detail = FatalUnknown
	}
	return err
}

// fields are those of a header that are about an exception.
func (e *Error) fields(f *proto.Fields) {
	f.String(4, &e.Class)
	f.String(5, &e.Message)
	if f.Reading() {
		f.Int32(6, (*int32)(&e.Detail))
	} else {
		f.Put(6, int64(max(e.Detail, Application)))
	}
}

// methodHeader is the protobuf engine's RequestHeaderProto: it names the method and its protocol.
type methodHeader struct{ method, protocol []byte } // lent

func (h *methodHeader) Fields(f *proto.Fields) {
	f.Lent(1, &h.method)
	f.Lent(2, &h.protocol)
	f.Put(3, 1)
}

func (h *methodHeader) Append(b []byte) []byte { return proto.Append(b, h) }
func (h *methodHeader) Decode(b []byte) error  { return proto.Decode(b, h) }

// contextHeader is Hadoop's IpcConnectionContextProto: it names the caller and the protocol.
type contextHeader struct {
	user     userInfo
	protocol string
}

func (h *contextHeader) Fields(f *proto.Fields) {
	f.Message(2, &h.user)
	f.String(3, &h.protocol)
}

func (h *contextHeader) Append(b []byte) []byte { return proto.Append(b, h) }
func (h *contextHeader) Decode(b []byte) error  { return proto.Decode(b, h) }

// userInfo names the user to act as (effective), and the user who acts, if that is another one (real). With a token
// both are absent.
type userInfo struct{ effective, real string }

func (u *userInfo) Fields(f *proto.Fields) {
	if f.Has(u.effective != "") {
		f.String(1, &u.effective)
	}
	if f.Has(u.real != "") {
		f.String(2, &u.real)
	}
}

func (u *userInfo) Append(b []byte) []byte { return proto.Append(b, u) }
func (u *userInfo) Decode(b []byte) error  { return proto.Decode(b, u) }

// saslState is the state of a SASL message.
type saslState int32

const (
	saslSuccess saslState = iota
	saslNegotiate
	saslInitiate
	saslChallenge
	saslResponse
	saslWrap
)

// saslMessage is Hadoop's RpcSaslProto.
type saslMessage struct {
	state saslState
	token []byte // nil: absent
	auths []saslAuth
}

func (m *saslMessage) Fields(f *proto.Fields) {
	f.Int32(2, (*int32)(&m.state))
	if f.Has(m.token != nil) {
		f.Bytes(3, &m.token)
	}
	proto.Repeated(f, 4, &m.auths)
}

func (m *saslMessage) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *saslMessage) Decode(b []byte) error  { return proto.Decode(b, m) }

// saslAuth is a way to prove who a peer is. All four strings are present even where they are empty: Java compares them.
type saslAuth struct {
	method, mechanism, protocol, server string
	challenge                           []byte // nil: absent
}

func (a *saslAuth) Fields(f *proto.Fields) {
	f.String(1, &a.method)
	f.String(2, &a.mechanism)
	f.String(3, &a.protocol)
	f.String(4, &a.server)
	if f.Has(a.challenge != nil) {
		f.Bytes(5, &a.challenge)
	}
}

func (a *saslAuth) Append(b []byte) []byte { return proto.Append(b, a) }
func (a *saslAuth) Decode(b []byte) error  { return proto.Decode(b, a) }

// byToken is how a holder of a token proves it. Kerberos is by the method of that name.
var byToken = saslAuth{method: "TOKEN", mechanism: "DIGEST-MD5", server: "default"}

const methodKerberos = "KERBEROS"
