// Package kerberos is the server's side of Kerberos for a ResourceManager: it accepts the GSSAPI contexts of callers
// (RFC 4121) by a keytab, protects messages within them, and maps principals to local users as Hadoop's
// hadoop.security.auth_to_local says. Tickets and encryption are gokrb5's.
//
// Only AES is accepted as encryption (RFC 3962 and RFC 8009): single DES, triple DES and RC4 are broken or deprecated
// (RFC 6649, RFC 8429).
package kerberos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/sojourn-sched/sojourn/internal/safefile"
)

// Limits of an Acceptor and of its contexts.
const (
	skew         = 5 * time.Minute  // between the clocks of callers and this machine, as Kerberos has it
	mostToken    = 60 << 10         // bytes of a caller's first token
	mostKeytab   = 4 << 20          // bytes in a keytab
	lookAgain    = 10 * time.Second // between looks whether the keytab has changed
	leastCipher  = 28               // bytes of what AES encrypts: a confounder and a checksum
	mostSequence = 1 << 30          // bound of the first sequence number of a context
)

// strong are the kinds of encryption that are accepted, with the bytes of their keys. gokrb5 says 24 of the last one.
var strong = map[int32]int{
	etypeID.AES128_CTS_HMAC_SHA1_96: 16, etypeID.AES256_CTS_HMAC_SHA1_96: 32,
	etypeID.AES128_CTS_HMAC_SHA256_128: 16, etypeID.AES256_CTS_HMAC_SHA384_192: 32,
}

// An Acceptor lets in callers who have a ticket for one principal. Many goroutines may use it.
type Acceptor struct {
	name Name
	path string // of the keytab

	replays replays

	mu   sync.Mutex
	keys *keytab.Keytab
	read time.Time // when the file was modified that keys were read from
	look time.Time // when the file was looked at last
}

// NewAcceptor returns an Acceptor for a principal, name/host@REALM, whose keys a keytab has. The keytab is read again
// when it has changed.
func NewAcceptor(principal Name, keytabPath string) (*Acceptor, error) {
	if principal.Host == "" || principal.Realm == "" {
		return nil, fmt.Errorf("principal %s: must be name/host@REALM", principal)
	}
	a := &Acceptor{name: principal, path: keytabPath}
	var err error
	a.keys, a.read, err = a.load()
	a.look = time.Now()
	return a, err
}

// Name returns the principal that callers must have a ticket for.
func (a *Acceptor) Name() Name { return a.name }

// load reads the keytab.
func (a *Acceptor) load() (keys *keytab.Keytab, modified time.Time, err error) {
	info, err := os.Stat(a.path)
	if err != nil {
		return nil, modified, err
	}
	text, err := safefile.Read(a.path, mostKeytab)
	if err != nil {
		return nil, modified, err
	}
	if keys, err = parseKeytab(text); err != nil {
		return nil, modified, fmt.Errorf("read keytab %s: %w", a.path, err)
	}
	for _, e := range keys.Entries {
		if a.is(e.Principal.Components, e.Principal.Realm) && strong[e.Key.KeyType] > 0 {
			return keys, info.ModTime(), nil
		}
	}
	return nil, modified, fmt.Errorf("keytab %s: it has no AES key of %s", a.path, a.name)
}

// parseKeytab reads a keytab. gokrb5 may panic on one that is cut off.
func parseKeytab(text []byte) (keys *keytab.Keytab, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it is cut off")
		}
	}()
	keys = keytab.New()
	return keys, keys.Unmarshal(text)
}

// is reports whether components and a realm are those of the Acceptor.
func (a *Acceptor) is(components []string, realm string) bool {
	return len(components) == 2 && components[0] == a.name.First && components[1] == a.name.Host &&
		realm == a.name.Realm
}

// current returns the keys, read anew if the keytab has changed. A keytab that cannot be read leaves them as they are.
func (a *Acceptor) current(now time.Time) *keytab.Keytab {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.look) >= lookAgain {
		a.look = now
		if info, err := os.Stat(a.path); err == nil && !info.ModTime().Equal(a.read) {
			if keys, modified, err := a.load(); err == nil {
				a.keys, a.read = keys, modified
			}
		}
	}
	return a.keys
}

// Accept takes the first token of a caller, and returns the context with the caller. reply is the token for the caller;
// nil: the caller wants no proof of who this server is. Errors name no secrets.
func (a *Acceptor) Accept(token []byte) (c *Context, reply []byte, err error) {
	defer func() {
		if recover() != nil { // gokrb5 indexes what it has not measured
			c, reply, err = nil, nil, errors.New("GSS token: cannot be read")
		}
	}()
	if len(token) > mostToken {
		return nil, nil, fmt.Errorf("GSS token of %d bytes: may have %d", len(token), mostToken)
	}
	var t spnego.KRB5Token
	if err := t.Unmarshal(token); err != nil {
		return nil, nil, fmt.Errorf("GSS token: %w", err)
	}
	if !t.IsAPReq() {
		return nil, nil, errors.New("GSS token: must be a request (AP-REQ)")
	}
	return a.accept(&t.APReq, time.Now())
}

// accept checks a request.
func (a *Acceptor) accept(q *messages.APReq, now time.Time) (*Context, []byte, error) {
	ticket := &q.Ticket
	switch {
	case !a.is(ticket.SName.NameString, ticket.Realm):
		return nil, nil, fmt.Errorf("the ticket is for %s@%s, and this is %s",
			ticket.SName.PrincipalNameString(), ticket.Realm, a.name)
	case strong[ticket.EncPart.EType] == 0:
		return nil, nil, fmt.Errorf("the ticket has encryption type %d: must be AES", ticket.EncPart.EType)
	case len(ticket.EncPart.Cipher) < leastCipher || len(q.EncryptedAuthenticator.Cipher) < leastCipher:
		return nil, nil, errors.New("the request is cut off")
	}
	service := types.PrincipalName{NameString: []string{a.name.First, a.name.Host}}
	// The addresses in a ticket are not compared with the caller's: Java's clients ask for tickets without any.
	if ok, err := q.Verify(a.current(now), skew, types.HostAddress{}, &service); err != nil || !ok {
		return nil, nil, fmt.Errorf("the ticket is not accepted: %w", errors.Join(err, errNotValid))
	}
	client, err := callerOf(&ticket.DecryptedEncPart, q.Authenticator.CRealm, a.name.Realm)
	if err != nil {
		return nil, nil, err
	}
	sent := q.Authenticator.CTime.Add(time.Duration(q.Authenticator.Cusec) * time.Microsecond) // as Verify reads it
	if err := a.replays.accept(client, q.EncryptedAuthenticator.Cipher, sent, now); err != nil {
		return nil, nil, err
	}
	key := ticket.DecryptedEncPart.Key
	if q.Authenticator.SubKey.KeyType != 0 {
		key = q.Authenticator.SubKey
	}
	c, err := newContext(client, key)
	if err != nil {
		return nil, nil, err
	}
	sum := q.Authenticator.Cksum
	if sum.CksumType != chksumtype.GSSAPI || len(sum.Checksum) < 24 {
		return nil, nil, errors.New("the request has no checksum of GSSAPI (RFC 4121, 4.1.1)")
	}
	c.received = uint64(uint32(q.Authenticator.SeqNumber))
	if binary.LittleEndian.Uint32(sum.Checksum[20:])&gssapi.ContextFlagMutual == 0 {
		c.sent = c.received // the caller knows no other number, and MIT's library counts so
		return c, nil, nil
	}
	reply, err := c.prove(q, ticket.DecryptedEncPart.Key)
	return c, reply, err
}

var errNotValid = errors.New("must be valid now, and encrypted by a key of the keytab")

// callerOf returns the principal of a ticket. claimed is the realm in the authenticator, and must be the ticket's:
// gokrb5 compares only the names. If the ticket came by other realms than home, its KDC must have checked them
// (RFC 4120, 2.7).
func callerOf(t *messages.EncTicketPart, claimed, home string) (n Name, err error) {
	parts := t.CName.NameString
	n = Name{Realm: t.CRealm}
	switch len(parts) {
	case 2:
		n.Host = parts[1]
		fallthrough
	case 1:
		n.First = parts[0]
	default:
		return n, fmt.Errorf("the caller's name has %d components: must be one or two", len(parts))
	}
	for _, p := range append([]string{t.CRealm}, parts...) {
		if p == "" || strings.ContainsAny(p, "/@\x00") {
			return n, fmt.Errorf("the caller's name %q has an odd component", n.String())
		}
	}
	switch {
	case claimed != t.CRealm:
		return n, fmt.Errorf("the caller says realm %s, and the ticket %s", claimed, t.CRealm)
	case n.Realm != home && len(t.Transited.Contents) > 0 &&
		!types.IsFlagSet(&t.Flags, flags.TransitedPolicyChecked):
		return n, fmt.Errorf("the ticket of %s came by realms that no KDC has checked", n)
	}
	return n, nil
}

// prove returns the token that proves to the caller that this has the key of the principal (AP-REP).
func (c *Context) prove(q *messages.APReq, session types.EncryptionKey) ([]byte, error) {
	part := messages.EncAPRepPart{CTime: q.Authenticator.CTime, Cusec: q.Authenticator.Cusec,
		SequenceNumber: int64(c.sent)}
	b, err := asn1.Marshal(part)
	if err != nil {
		return nil, err
	}
	sealed, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(b, asnAppTag.EncAPRepPart), session,
		keyusage.AP_REP_ENCPART, 0)
	if err != nil {
		return nil, err
	}
	b, err = asn1.Marshal(messages.APRep{PVNO: 5, MsgType: msgtype.KRB_AP_REP, EncPart: sealed})
	if err != nil {
		return nil, err
	}
	oid, err := asn1.Marshal(gssapi.OIDKRB5.OID())
	if err != nil {
		return nil, err
	}
	token := append(append(oid, 2, 0), asn1tools.AddASNAppTag(b, asnAppTag.APREP)...)
	return asn1tools.AddASNAppTag(token, 0), nil
}
