package rpc

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// A Mechanism lets peers in by SASL GSSAPI (RFC 4752). Many goroutines may use it.
type Mechanism interface {
	// Service returns the principal that peers need a ticket for: its first component and its host.
	Service() (protocol, host string)
	// Accept takes a peer's first token. reply is the token for the peer; nil: the peer wants none.
	Accept(token []byte) (s Session, reply []byte, err error)
	// Local returns the local user of a name that a peer gives. The name may be a principal.
	Local(name string) (user string, err error)
}

// A Session is what a Mechanism has agreed on with one peer.
type Session interface {
	// Peer returns the principal of the peer, and its local user.
	Peer() (principal, user string)
	// Wrap returns the token of a message, encrypted or with a checksum only.
	Wrap(message []byte, seal bool) ([]byte, error)
	// Unwrap returns the message of the next token, and whether it was encrypted.
	Unwrap(token []byte) (message []byte, sealed bool, err error)
}

// A handshake is how far a connection has come with SASL.
type handshake struct {
	offered bool
	nonce   string  // of DIGEST-MD5's challenge; "" once it is answered
	session Session // of GSSAPI; nil: none has begun
	layers  bool    // GSSAPI's protections were offered
}

// proves reports whether peers must prove who they are.
func (s *Server) proves() bool { return s.Password != nil || s.Kerberos != nil }

// offers returns the ways in which peers may prove who they are, and the names of the ways, for messages.
func (s *Server) offers(challenge []byte) (auths []saslAuth, names string) {
	if s.Password != nil {
		by := byToken
		by.challenge = challenge
		auths, names = append(auths, by), by.method
	}
	if s.Kerberos != nil {
		by := saslAuth{method: methodKerberos, mechanism: "GSSAPI"}
		by.protocol, by.server = s.Kerberos.Service()
		if auths = append(auths, by); names != "" {
			names += ", "
		}
		names += by.method
	}
	return auths, names
}

// handshake takes a SASL message and answers it.
func (c *serverConn) handshake(h *requestHeader, b []byte) error {
	if !c.sasl || c.known || c.proof {
		return fatal(FatalUnauthorized, classSASL, "SASL where none is expected")
	}
	var m saslMessage
	if b, _, err := proto.Delimited(b); err != nil || m.Decode(b) != nil {
		return fatal(FatalBadRequest, classServer, "SASL message cannot be read")
	}
	s := c.bench.server
	kerberos := len(m.auths) == 1 && m.auths[0].method == methodKerberos
	switch {
	case !s.proves() && m.state == saslNegotiate:
		c.say(h, &saslMessage{state: saslSuccess}) // go on without: each peer is believed
	case !s.proves() && m.state == saslInitiate:
		// The peer has chosen SIMPLE by itself, and does not wait for an answer.
	case m.state == saslNegotiate && !c.shake.offered:
		c.shake.offered, c.shake.nonce = true, newNonce()
		auths, _ := s.offers(digestChallenge(c.shake.nonce, protections(s.Protections)))
		c.say(h, &saslMessage{state: saslNegotiate, auths: auths})
	case m.state == saslInitiate && kerberos && c.shake.nonce != "" && s.Kerberos != nil:
		c.shake.nonce = ""
		return c.beginSession(h, m.token)
	case (m.state == saslInitiate || m.state == saslResponse) && !kerberos && c.shake.nonce != "" && s.Password != nil:
		nonce := c.shake.nonce
		c.shake.nonce = ""
		return c.checkDigest(h, nonce, m.token)
	case m.state == saslResponse && c.shake.session != nil && !c.shake.layers && len(m.token) == 0:
		return c.offerLayers(h)
	case m.state == saslResponse && c.shake.session != nil && c.shake.layers:
		return c.chooseLayer(h, m.token)
	case m.state == saslInitiate:
		_, names := s.offers(nil)
		method := "no"
		if len(m.auths) == 1 {
			method = cutName(m.auths[0].method)
		}
		return fatal(FatalUnauthorized, classAccess, "%s authentication is not enabled.  Available:[%s]", method, names)
	default:
		return fatal(FatalUnauthorized, classSASL, "SASL state %d is not expected here", m.state)
	}
	return nil
}

// cutName bounds a name that a peer has sent.
func cutName(s string) string { return s[:min(len(s), mostUser)] }

// checkDigest takes the response to DIGEST-MD5's challenge.
func (c *serverConn) checkDigest(h *requestHeader, nonce string, response []byte) error {
	identifier, values, err := digestIdentifier(response)
	if err != nil {
		return fatal(FatalUnauthorized, classSASL, "DIGEST-MD5: %v", err)
	}
	secret, err := c.bench.server.Password(identifier)
	var e *Error
	if errors.As(err, &e) {
		return fatal(FatalUnauthorized, e.Class, "%s", e.Message)
	}
	if err != nil {
		return fatal(FatalUnauthorized, classInvalidToken, "%v", err)
	}
	proof, l, ok := digestVerify(Secret{identifier, secret}, nonce, values, protections(c.bench.server.Protections))
	if !ok {
		return fatal(
			FatalUnauthorized,
			classSASL,
			"DIGEST-MD5: digest response format violation. Mismatched response.",
		)
	}
	c.call.Token = identifier
	return c.proved(h, proof, l, mostWrapped)
}

// beginSession takes GSSAPI's first token.
func (c *serverConn) beginSession(h *requestHeader, token []byte) error {
	session, reply, err := c.bench.server.Kerberos.Accept(token)
	if err != nil {
		return fatal(FatalUnauthorized, classSASL, "GSS initiate failed: %v", err)
	}
	c.shake.session = session
	if reply == nil {
		return c.offerLayers(h)
	}
	c.say(h, &saslMessage{state: saslChallenge, token: reply})
	return nil
}

// offerLayers tells the peer which protections there are, and how long tokens may be that it sends (RFC 4752, 3.2).
func (c *serverConn) offerLayers(h *requestHeader) error {
	offer := uint32(0)
	for _, p := range protections(c.bench.server.Protections) {
		if offer |= uint32(p) << 24; p != Authentication {
			offer |= mostWrapped
		}
	}
	token, err := c.shake.session.Wrap(binary.BigEndian.AppendUint32(nil, offer), false)
	if err != nil {
		return fatal(FatalUnauthorized, classSASL, "GSSAPI: %v", err)
	}
	c.shake.layers = true
	c.say(h, &saslMessage{state: saslChallenge, token: token})
	return nil
}

// chooseLayer takes the protection that the peer has chosen, how long tokens to the peer may be, and the user that the
// peer wants to be, which must be itself.
func (c *serverConn) chooseLayer(h *requestHeader, token []byte) error {
	session := c.shake.session
	choice, _, err := session.Unwrap(token)
	if err != nil || len(choice) < 4 {
		return fatal(FatalUnauthorized, classSASL, "GSSAPI: the choice of a protection cannot be read: %v", err)
	}
	p, most := Protection(choice[0]), int(binary.BigEndian.Uint32(choice)&0xffffff)
	principal, _ := session.Peer()
	switch as := string(choice[4:]); {
	case !slices.Contains(protections(c.bench.server.Protections), p):
		return fatal(FatalUnauthorized, classSASL, "GSSAPI: protection %d was not offered", p)
	case p != Authentication && most < leastWrapped:
		return fatal(FatalUnauthorized, classSASL, "GSSAPI: tokens of %d bytes: must be %d or more", most, leastWrapped)
	case as != "" && as != principal:
		return fatal(FatalUnauthorized, classSASL, "%s is not authorized to be %s", principal, cutName(as))
	case p == Authentication:
		return c.proved(h, nil, nil, 0)
	}
	return c.proved(h, nil, sessionLayer{session, p == Privacy}, most)
}

// proved ends the handshake. From then on a layer protects all frames; nil: none does.
func (c *serverConn) proved(h *requestHeader, token []byte, l layer, peerMost int) error {
	c.proof = true
	c.say(h, &saslMessage{state: saslSuccess, token: token})
	if l == nil {
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	b := c.bench
	w := (&wrappedConn{Conn: c.conn, in: c.in, layer: l, most: b.limits.Frame, server: true}).begin(peerMost)
	in := newFrameReader(w, c.in.idle, c.in.transfer)
	in.until = c.in.until
	in.share = b.server.Room.ShareOf(HostOf(c.call.Remote))
	b.mu.Lock() // the server may be closing
	defer b.mu.Unlock()
	if w.in.stopped.Load() {
		in.stop()
	}
	c.conn, c.in = w, in
	return nil
}

// identify takes the user that the peer says it is. A proof counts more: a token replaces that user, and a session's
// user must be allowed to act for that user.
func (c *serverConn) identify(u userInfo) error {
	user := u.effective
	if n := len(user); n > mostUser {
		return fatal(FatalUnauthorized, classAccess, "the user's name has %d bytes, may have %d", n, mostUser)
	}
	real := u.real
	switch {
	case c.call.Token != nil:
		return nil
	case c.shake.session != nil:
		c.call.Principal, real = c.shake.session.Peer()
		if user == "" || user == c.call.Principal {
			c.call.User = real
			return nil
		}
		local, err := c.bench.server.Kerberos.Local(user)
		if err != nil {
			return fatal(FatalUnauthorized, classAccess, "Illegal principal name %s: %v", user, err)
		}
		user = local
	}
	if c.call.User = user; real == "" || real == user {
		return nil
	}
	c.call.Real = real
	return c.impersonates(userInfo{effective: user, real: real})
}
