package rpc

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rc4"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// A Protection is how messages are protected after a SASL handshake (hadoop.rpc.protection). Its value is that of the
// bit by which GSSAPI names it (RFC 4752, 3.3).
type Protection byte

// The protections: none once the peer is known, checksums, and encryption.
const (
	Authentication Protection = 1
	Integrity      Protection = 2
	Privacy        Protection = 4
)

// qop names the protection as SASL does.
func (p Protection) qop() string {
	return map[Protection]string{Authentication: "auth", Integrity: "auth-int", Privacy: "auth-conf"}[p]
}

// protections returns the list, best first; if it is empty, Authentication alone.
func protections(list []Protection) []Protection {
	if len(list) == 0 {
		return []Protection{Authentication}
	}
	return list
}

// A layer protects messages in both directions. One goroutine may wrap while another unwraps.
type layer interface {
	wrap(message []byte) ([]byte, error)
	// unwrap may return a part of token.
	unwrap(token []byte) ([]byte, error)
}

// digestLayer is that of DIGEST-MD5 (RFC 2831, 2.3 and 2.4): a message is followed by the first ten bytes of an
// HMAC-MD5 over its number and itself, both encrypted by RC4 for privacy, and by a 1 in two bytes and its number in
// four.
type digestLayer struct {
	signOut, signIn []byte
	out, in         *rc4.Cipher // nil: messages are not encrypted
	sent, received  uint32      // numbers of the next messages
}

const (
	digestSum     = 10
	digestTrailer = 6
)

// newDigestLayer returns the layer of a session key; nil: messages are not protected.
func newDigestLayer(key [md5.Size]byte, p Protection, server bool) layer {
	if p == Authentication {
		return nil
	}
	derive := func(magic string) []byte {
		sum := md5.Sum(append(slices.Clone(key[:]), magic...))
		return sum[:]
	}
	const toServer, toClient = "client-to-server", "server-to-client"
	out, in := toServer, toClient
	if server {
		out, in = toClient, toServer
	}
	l := &digestLayer{
		signOut: derive("Digest session key to " + out + " signing key magic constant"),
		signIn:  derive("Digest session key to " + in + " signing key magic constant"),
	}
	if p == Privacy {
		l.out, _ = rc4.NewCipher(derive("Digest H(A1) to " + out + " sealing key magic constant"))
		l.in, _ = rc4.NewCipher(derive("Digest H(A1) to " + in + " sealing key magic constant"))
	}
	return l
}

// digestMAC returns the first bytes of the HMAC of a message.
func digestMAC(key []byte, number uint32, message []byte) []byte {
	m := hmac.New(md5.New, key)
	m.Write(binary.BigEndian.AppendUint32(nil, number))
	m.Write(message)
	return m.Sum(nil)[:digestSum]
}

func (l *digestLayer) wrap(message []byte) ([]byte, error) {
	token := append(slices.Clone(message), digestMAC(l.signOut, l.sent, message)...)
	if l.out != nil {
		l.out.XORKeyStream(token, token)
	}
	token = binary.BigEndian.AppendUint32(append(token, 0, 1), l.sent)
	l.sent++
	return token, nil
}

func (l *digestLayer) unwrap(token []byte) ([]byte, error) {
	end := len(token) - digestTrailer
	if end < digestSum || token[end] != 0 || token[end+1] != 1 ||
		binary.BigEndian.Uint32(token[end+2:]) != l.received {
		return nil, errors.New("DIGEST-MD5: a message of another kind, or out of order")
	}
	body := token[:end]
	if l.in != nil {
		l.in.XORKeyStream(body, body)
	}
	message, sum := body[:end-digestSum], body[end-digestSum:]
	if subtle.ConstantTimeCompare(sum, digestMAC(l.signIn, l.received, message)) != 1 {
		return nil, errors.New("DIGEST-MD5: the checksum of a message is wrong")
	}
	l.received++
	return message, nil
}

// sessionLayer is that of GSSAPI.
type sessionLayer struct {
	session Session
	seal    bool
}

func (l sessionLayer) wrap(message []byte) ([]byte, error) { return l.session.Wrap(message, l.seal) }

func (l sessionLayer) unwrap(token []byte) ([]byte, error) {
	message, sealed, err := l.session.Unwrap(token)
	if err == nil && sealed != l.seal {
		err = fmt.Errorf("GSSAPI: a message that is sealed (%v), agreed on was %v", sealed, l.seal)
	}
	return message, err
}

const (
	mostWrapped  = 64 << 10 // bytes of a token that a peer may send
	wrapOverhead = 128      // bytes that a layer adds to a message, at most
	leastWrapped = 1 << 10  // bytes of a token that a peer must take
)

// A wrappedConn is a connection whose bytes travel in tokens of a layer. Each token is in a SASL message of its own:
//
//	length  header (call -33)  SASL message (WRAP, token)
//
// What is in the tokens, one after the other, is the stream of frames that would travel without the layer.
type wrappedConn struct {
	net.Conn
	in     *frameReader // of the frames that travel
	most   int          // bytes of such a frame
	plain  []byte       // what was unwrapped and is not read yet; lent by in
	layer  layer
	piece  int    // bytes of a message in one token
	server bool   // this is the server's side
	out    []byte // the memory of what Write writes
}

// begin prepares the connection, and returns it. From now on frames that w.in reads belong to it. A token to the peer
// has at most peerMost bytes.
func (w *wrappedConn) begin(peerMost int) *wrappedConn {
	w.in.passive = true // the reader of the frames in the stream sets deadlines
	w.piece = min(mostWrapped, peerMost) - wrapOverhead
	return w
}

func (w *wrappedConn) Read(p []byte) (int, error) {
	for len(w.plain) == 0 {
		w.plain = nil // it may be the end of a long frame
		frame, err := w.in.next(w.most)
		if err != nil {
			return 0, err
		}
		if w.plain, err = w.unwrap(frame); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.plain)
	w.plain = w.plain[n:]
	return n, nil
}

// unwrap returns what is in the token of a frame.
func (w *wrappedConn) unwrap(frame []byte) ([]byte, error) {
	head, rest, err := proto.Delimited(frame)
	if err != nil {
		return nil, fmt.Errorf("wrapped message: %w", err)
	}
	call := int32(0)
	if w.server {
		var h requestHeader
		err, call = h.Decode(head), h.call
	} else {
		var h responseHeader
		if err, call = h.Decode(head), h.call; err == nil && h.err != nil {
			return nil, h.err
		}
	}
	var m saslMessage
	if err == nil {
		if rest, _, err = proto.Delimited(rest); err == nil {
			err = m.Decode(rest)
		}
	}
	if err != nil || call != callSASL || m.state != saslWrap {
		return nil, fmt.Errorf("a message that is not wrapped, where wrapping was agreed on: %w",
			errors.Join(err, errNotWrapped))
	}
	return w.layer.unwrap(m.token)
}

var errNotWrapped = fmt.Errorf("must be a SASL message of state %d", saslWrap)

func (w *wrappedConn) Write(p []byte) (int, error) {
	w.out = w.out[:0]
	for rest := p; len(rest) > 0; {
		n := min(len(rest), w.piece)
		token, err := w.layer.wrap(rest[:n])
		if err != nil {
			return 0, err
		}
		rest = rest[n:]
		m := &saslMessage{state: saslWrap, token: token}
		if w.server {
			w.out = appendFrame(w.out, &responseHeader{call: callSASL, retry: retryNone}, m)
		} else {
			w.out = appendFrame(w.out, &requestHeader{call: callSASL, retry: retryNone}, m)
		}
	}
	_, err := w.Conn.Write(w.out)
	if cap(w.out) > keepBuffer {
		w.out = nil
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close ends the connection, and gives the room of its buffers back.
func (w *wrappedConn) Close() error {
	w.in.share.Hold(0)
	return w.Conn.Close()
}
