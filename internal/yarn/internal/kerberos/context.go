package kerberos

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/etype"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/types"
)

// A Context protects messages between a caller and this server (RFC 4121, 4.2). Wrap and Unwrap may be called by one
// goroutine each at a time.
type Context struct {
	client Name
	key    []byte
	kind   etype.EType

	sent, received uint64 // sequence numbers of the next messages
}

// newContext returns the context of a caller with a key. It is the caller's subkey, or the session's.
func newContext(client Name, key types.EncryptionKey) (*Context, error) {
	kind, err := crypto.GetEtype(key.KeyType)
	if err != nil || strong[key.KeyType] == 0 || len(key.KeyValue) != strong[key.KeyType] {
		return nil, fmt.Errorf("the session has encryption type %d: must be AES", key.KeyType)
	}
	var b [4]byte
	rand.Read(b[:]) // never fails
	return &Context{client: client, key: key.KeyValue, kind: kind,
		sent: uint64(binary.BigEndian.Uint32(b[:]) % mostSequence)}, nil
}

// Client returns the principal of the caller.
func (c *Context) Client() Name { return c.client }

// A wrap token is
//
//	05 04  flags  FF  extra (2 bytes)  rotation (2 bytes)  sequence number (8 bytes)
//
// and, sealed, the encryption of the message, extra bytes of filler and the token's head; else the message and a
// checksum of extra bytes over the message and the head. All that follows the head is rotated to the right.
const (
	headBytes      = 16
	byAcceptor     = 1
	isSealed       = 2
	acceptorSubkey = 4
)

// header returns the head of a token, with nothing extra and no rotation.
func header(flags byte, sequence uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{5, 4, flags, 0xff, 0, 0, 0, 0}, sequence)
}

// Wrap returns the token of a message to the caller: sealed, or with a checksum only.
func (c *Context) Wrap(message []byte, seal bool) ([]byte, error) {
	if !seal {
		h := header(byAcceptor, c.sent)
		c.sent++
		sum, err := c.kind.GetChecksumHash(c.key, append(slices.Clone(message), h...), keyusage.GSSAPI_ACCEPTOR_SEAL)
		if err != nil {
			return nil, err
		}
		binary.BigEndian.PutUint16(h[4:], uint16(len(sum)))
		return append(append(h, message...), sum...), nil
	}
	h := header(byAcceptor|isSealed, c.sent)
	c.sent++
	_, sealed, err := c.kind.EncryptMessage(c.key, append(slices.Clone(message), h...), keyusage.GSSAPI_ACCEPTOR_SEAL)
	if err != nil {
		return nil, err
	}
	return append(h, sealed...), nil
}

// Unwrap returns the message of the caller's next token, and whether it was sealed. A token that is not the next, or
// was changed on the way, is an error.
func (c *Context) Unwrap(token []byte) (message []byte, sealed bool, err error) {
	if len(token) < headBytes || token[0] != 5 || token[1] != 4 || token[3] != 0xff {
		return nil, false, errors.New("wrap token: must begin with 0504 and flags (RFC 4121, 4.2.6.2)")
	}
	h, body := token[:headBytes], token[headBytes:]
	flags := h[2]
	extra, rotation := int(binary.BigEndian.Uint16(h[4:])), int(binary.BigEndian.Uint16(h[6:]))
	if flags&(byAcceptor|acceptorSubkey) != 0 {
		return nil, false, errors.New("wrap token: it is the acceptor's, or of a key that was not agreed on")
	}
	if sequence := binary.BigEndian.Uint64(h[8:]); sequence != c.received {
		return nil, false, fmt.Errorf("wrap token: number %d, expected %d", sequence, c.received)
	}
	if n := len(body); n > 0 {
		cut := rotation % n
		body = append(slices.Clone(body[cut:]), body[:cut]...)
	}
	if sealed = flags&isSealed != 0; sealed {
		message, err = c.open(h, body, extra)
	} else {
		message, err = c.check(h, body, extra)
	}
	if err == nil {
		c.received++
	}
	return message, sealed, err
}

// open decrypts a sealed message.
func (c *Context) open(h, body []byte, extra int) ([]byte, error) {
	if len(body) < c.kind.GetConfounderByteSize()+c.kind.GetHMACBitLength()/8+headBytes+extra {
		return nil, errors.New("wrap token: it is cut off")
	}
	plain, err := c.kind.DecryptMessage(c.key, body, keyusage.GSSAPI_INITIATOR_SEAL)
	if err != nil {
		return nil, fmt.Errorf("wrap token: %w", err)
	}
	end := len(plain) - headBytes
	if end < extra {
		return nil, errors.New("wrap token: it is cut off")
	}
	want := slices.Clone(h)
	want[6], want[7] = 0, 0
	if !bytes.Equal(plain[end:], want) {
		return nil, errors.New("wrap token: its head was changed")
	}
	return plain[:end-extra], nil
}

// check compares the checksum of a message that is not sealed.
func (c *Context) check(h, body []byte, extra int) ([]byte, error) {
	end := len(body) - extra
	if extra != c.kind.GetHMACBitLength()/8 || end < 0 {
		return nil, errors.New("wrap token: it has no checksum")
	}
	signed := append(slices.Clone(body[:end]), h...)
	clear(signed[end+4 : end+8])
	if !c.kind.VerifyChecksum(c.key, signed, body[end:], keyusage.GSSAPI_INITIATOR_SEAL) {
		return nil, errors.New("wrap token: its checksum is wrong")
	}
	return body[:end], nil
}
