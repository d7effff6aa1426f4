package rpc

import "github.com/sojourn-sched/sojourn/yarn/internal/proto"

// requestHeader is Hadoop's RpcRequestHeaderProto. Tracing, caller context and state ids are the caller's own affair.
type requestHeader struct {
	call   int32
	client []byte // sixteen bytes in calls, none during SASL; lent
	retry  int32
	kind   int32
}

func (h *requestHeader) Decode(b []byte) error {
	h.retry = retryNone
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			h.kind = r.Int32()
		case 3:
			h.call = r.Sint32()
		case 4:
			h.client = r.Lent()
		case 5:
			h.retry = r.Sint32()
		}
	}
	return r.Err()
}

func (h *requestHeader) Append(b []byte) []byte {
	b = proto.AppendInt32(b, 1, kindProto)
	b = proto.AppendInt32(b, 2, 0) // the final packet
	b = proto.AppendSint32(b, 3, h.call)
	b = proto.AppendBytes(b, 4, h.client)
	return proto.AppendSint32(b, 5, h.retry)
}

// responseHeader is Hadoop's RpcResponseHeaderProto.
type responseHeader struct {
	call   int32
	status int32
	err    *Error // where status is not success
	client []byte // lent
	retry  int32
}

func (h *responseHeader) Decode(b []byte) error {
	h.retry = retryNone
	var e Error
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			h.call = r.Int32()
		case 2:
			h.status = r.Int32()
		case 4:
			e.Class = r.String()
		case 5:
			e.Message = r.String()
		case 6:
			e.Detail = Detail(r.Int32())
		case 7:
			h.client = r.Lent()
		case 8:
			h.retry = r.Sint32()
		}
	}
	if h.status != statusSuccess {
		if h.status == statusFatal && !e.Fatal() {
			e.Detail = FatalUnknown
		}
		h.err = &e
	}
	return r.Err()
}

func (h *responseHeader) Append(b []byte) []byte {
	b = proto.AppendUint64(b, 1, uint64(uint32(h.call))) // 32-bit two's complement: five bytes for what is negative
	b = proto.AppendInt32(b, 2, h.status)
	b = proto.AppendInt32(b, 3, ipcVersion)
	if h.err != nil {
		b = proto.AppendString(b, 4, h.err.Class)
		b = proto.AppendString(b, 5, h.err.Message)
		b = proto.AppendInt32(b, 6, int32(max(h.err.Detail, Application)))
	}
	b = proto.AppendBytes(b, 7, h.client)
	return proto.AppendSint32(b, 8, h.retry)
}

// methodHeader is the protobuf engine's RequestHeaderProto: which method of which protocol is called.
type methodHeader struct{ method, protocol []byte } // lent

func (h *methodHeader) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			h.method = r.Lent()
		case 2:
			h.protocol = r.Lent()
		}
	}
	return r.Err()
}

func (h *methodHeader) Append(b []byte) []byte {
	b = proto.AppendBytes(b, 1, h.method)
	b = proto.AppendBytes(b, 2, h.protocol)
	return proto.AppendInt32(b, 3, 1)
}

// contextHeader is Hadoop's IpcConnectionContextProto: who calls, and by which protocol.
type contextHeader struct {
	user     userInfo
	protocol string
}

func (h *contextHeader) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 2:
			r.Message(&h.user)
		case 3:
			h.protocol = r.String()
		}
	}
	return r.Err()
}

func (h *contextHeader) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 2, &h.user)
	return proto.AppendString(b, 3, h.protocol)
}

// userInfo names the user to act as, and the one who really asks where that is another. Under a token both are absent.
type userInfo struct{ effective, real string }

func (u *userInfo) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			u.effective = r.String()
		case 2:
			u.real = r.String()
		}
	}
	return r.Err()
}

func (u *userInfo) Append(b []byte) []byte {
	if u.effective != "" {
		b = proto.AppendString(b, 1, u.effective)
	}
	return b
}

// saslState is the state of a SASL message.
type saslState int32

const (
	saslSuccess saslState = iota
	saslNegotiate
	saslInitiate
	saslChallenge
	saslResponse
)

// saslMessage is Hadoop's RpcSaslProto.
type saslMessage struct {
	state saslState
	token []byte // nil: absent
	auths []saslAuth
}

func (m *saslMessage) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 2:
			m.state = saslState(r.Int32())
		case 3:
			m.token = r.Bytes()
		case 4:
			m.auths = proto.Many(&r, m.auths)
		}
	}
	return r.Err()
}

func (m *saslMessage) Append(b []byte) []byte {
	b = proto.AppendInt32(b, 2, int32(m.state))
	if m.token != nil {
		b = proto.AppendBytes(b, 3, m.token)
	}
	return proto.Each(b, 4, m.auths)
}

// saslAuth is one way to prove who one is. All four strings are present even where they are empty: Java compares them.
type saslAuth struct {
	method, mechanism, protocol, server string
	challenge                           []byte // nil: absent
}

func (a *saslAuth) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			a.method = r.String()
		case 2:
			a.mechanism = r.String()
		case 3:
			a.protocol = r.String()
		case 4:
			a.server = r.String()
		case 5:
			a.challenge = r.Bytes()
		}
	}
	return r.Err()
}

func (a *saslAuth) Append(b []byte) []byte {
	b = proto.AppendString(b, 1, a.method)
	b = proto.AppendString(b, 2, a.mechanism)
	b = proto.AppendString(b, 3, a.protocol)
	b = proto.AppendString(b, 4, a.server)
	if a.challenge != nil {
		b = proto.AppendBytes(b, 5, a.challenge)
	}
	return b
}

// byToken is how a holder of a token proves it.
var byToken = saslAuth{method: "TOKEN", mechanism: "DIGEST-MD5", server: "default"}
