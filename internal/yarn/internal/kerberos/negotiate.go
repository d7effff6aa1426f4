package kerberos

import (
	"errors"
	"fmt"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/spnego"
)

// AcceptNegotiation is Accept for a token of SPNEGO (RFC 4178), or one of Kerberos itself. The caller must begin with a
// token of Kerberos: nothing is negotiated.
func (a *Acceptor) AcceptNegotiation(token []byte) (c *Context, reply []byte, err error) {
	inner, negotiated, err := mechToken(token)
	if err != nil {
		return nil, nil, err
	}
	if c, reply, err = a.Accept(inner); err != nil || !negotiated {
		return c, reply, err
	}
	r := spnego.NegTokenResp{NegState: asn1.Enumerated(spnego.NegStateAcceptCompleted),
		SupportedMech: gssapi.OIDKRB5.OID(), ResponseToken: reply}
	reply, err = r.Marshal()
	return c, reply, err
}

// mechToken returns the token of Kerberos that a token of SPNEGO has, and whether it was one of SPNEGO.
func mechToken(token []byte) (inner []byte, negotiated bool, err error) {
	defer func() {
		if recover() != nil { // gokrb5 indexes what it has not measured
			inner, err = nil, errors.New("SPNEGO token: cannot be read")
		}
	}()
	if len(token) > mostToken {
		return nil, false, fmt.Errorf("SPNEGO token of %d bytes: may have %d", len(token), mostToken)
	}
	var t spnego.SPNEGOToken
	if t.Unmarshal(token) != nil {
		return token, false, nil // Accept says what it is not
	}
	if !t.Init || len(t.NegTokenInit.MechTokenBytes) == 0 {
		return nil, true, errors.New("SPNEGO token: must begin with a token of Kerberos")
	}
	return t.NegTokenInit.MechTokenBytes, true, nil
}
