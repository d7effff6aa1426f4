// Package kerberostest is the client's side of Kerberos for tests: tickets that no KDC has given, and the initiator of
// a GSSAPI context (RFC 4121), written apart from the acceptor that it tests.
package kerberostest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Realm is that of all principals here.
const Realm = "EXAMPLE.COM"

// Keytab writes the keytab of a principal, such as rm/localhost, into a folder of the test.
func Keytab(t testing.TB, principal string, kind int32) (path string) {
	t.Helper()
	k := keytab.New()
	err := k.AddEntry(principal, Realm, "password of "+principal, time.Now().Add(-time.Hour), 1, kind)
	if err != nil {
		t.Fatal(err)
	}
	text, err := k.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "keytab")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An Initiator is a client with a ticket for a service.
type Initiator struct {
	Kind    int32  // of encryption; 0: AES of 256 bits
	Sub     int32  // of the encryption of messages; 0: Kind
	Client  string // ana, or oozie/host
	Crealm  string // of the client; "": Realm
	Claimed string // the realm that the request says; "": Crealm
	Service string // rm/localhost
	Path    string // of the service's keytab
	Ends    time.Duration
	OneWay  bool // wants no proof of the service

	key            types.EncryptionKey
	auth           types.Authenticator
	session        types.EncryptionKey
	sent, received uint64
}

func name(s string) types.PrincipalName { return types.NewPrincipalName(1, s) }

// Token returns the first token to the service.
func (i *Initiator) Token(t testing.TB) []byte {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if i.Kind == 0 {
		i.Kind = etypeID.AES256_CTS_HMAC_SHA1_96
	}
	if i.Sub == 0 {
		i.Sub = i.Kind
	}
	if i.Crealm == "" {
		i.Crealm = Realm
	}
	if i.Claimed == "" {
		i.Claimed = i.Crealm
	}
	if i.Ends == 0 {
		i.Ends = time.Hour
	}
	keys, err := keytab.Load(i.Path)
	check(err)
	now := time.Now().UTC()
	ticket, session, err := messages.NewTicket(name(i.Client), i.Crealm, name(i.Service), Realm, types.NewKrbFlags(),
		keys, i.Kind, 1, now.Add(-time.Hour), now.Add(-time.Hour), now.Add(i.Ends), now.Add(i.Ends))
	check(err)
	i.session = session
	i.auth, err = types.NewAuthenticator(i.Claimed, name(i.Client))
	check(err)
	size := 16
	if i.Sub == etypeID.AES256_CTS_HMAC_SHA1_96 || i.Sub == etypeID.AES256_CTS_HMAC_SHA384_192 {
		size = 32
	}
	check(i.auth.GenerateSeqNumberAndSubKey(i.Sub, size))
	i.key, i.sent = i.auth.SubKey, uint64(i.auth.SeqNumber)
	i.received = i.sent // until Check
	sum := make([]byte, 24)
	binary.LittleEndian.PutUint32(sum, 16)
	flags := uint32(gssapi.ContextFlagInteg | gssapi.ContextFlagConf)
	if !i.OneWay {
		flags |= gssapi.ContextFlagMutual
	}
	binary.LittleEndian.PutUint32(sum[20:], flags)
	i.auth.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: sum}
	q, err := messages.NewAPReq(ticket, session, i.auth)
	check(err)
	b, err := q.Marshal()
	check(err)
	oid, err := asn1.Marshal(gssapi.OIDKRB5.OID())
	check(err)
	return asn1tools.AddASNAppTag(append(append(oid, 1, 0), b...), 0)
}

// Check checks the service's proof of itself.
func (i *Initiator) Check(reply []byte) error {
	var t spnego.KRB5Token
	if err := t.Unmarshal(reply); err != nil || !t.IsAPRep() {
		return fmt.Errorf("no AP-REP: %w", err)
	}
	plain, err := crypto.DecryptEncPart(t.APRep.EncPart, i.session, keyusage.AP_REP_ENCPART)
	if err != nil {
		return err
	}
	var part messages.EncAPRepPart
	if err := part.Unmarshal(plain); err != nil {
		return err
	}
	if part.Cusec != i.auth.Cusec || part.CTime.Unix() != i.auth.CTime.Unix() {
		return errors.New("the proof is of another request")
	}
	i.received = uint64(part.SequenceNumber)
	return nil
}

// Wrap returns the token of a message to the service. rotate is by how much what follows its head is rotated.
func (i *Initiator) Wrap(message []byte, seal bool, rotate int) []byte {
	kind, _ := crypto.GetEtype(i.Sub)
	h := []byte{5, 4, 0, 0xff, 0, 0, 0, 0}
	if seal {
		h[2] = 2
	}
	h = binary.BigEndian.AppendUint64(h, i.sent)
	i.sent++
	text := append(bytes.Clone(message), h...)
	var body []byte
	if seal {
		_, body, _ = kind.EncryptMessage(i.key.KeyValue, text, keyusage.GSSAPI_INITIATOR_SEAL)
	} else {
		sum, _ := kind.GetChecksumHash(i.key.KeyValue, text, keyusage.GSSAPI_INITIATOR_SEAL)
		binary.BigEndian.PutUint16(h[4:], uint16(len(sum)))
		body = append(bytes.Clone(message), sum...)
	}
	binary.BigEndian.PutUint16(h[6:], uint16(rotate))
	at := len(body) - rotate%len(body)
	return append(append(h, body[at:]...), body[:at]...)
}

// Unwrap returns the message of the service's next token.
func (i *Initiator) Unwrap(token []byte) (message []byte, sealed bool, err error) {
	kind, err := crypto.GetEtype(i.Sub)
	if err != nil || len(token) < 16 || binary.BigEndian.Uint64(token[8:]) != i.received || token[2]&1 == 0 {
		return nil, false, fmt.Errorf("not the service's next token: %x", token)
	}
	i.received++
	h, body := bytes.Clone(token[:16]), token[16:]
	if sealed = token[2]&2 != 0; sealed {
		plain, err := kind.DecryptMessage(i.key.KeyValue, body, keyusage.GSSAPI_ACCEPTOR_SEAL)
		if err != nil || !bytes.Equal(plain[len(plain)-16:], h) {
			return nil, true, fmt.Errorf("sealed by another key: %w", err)
		}
		return plain[:len(plain)-16], true, nil
	}
	end := len(body) - int(binary.BigEndian.Uint16(h[4:]))
	clear(h[4:8])
	text := append(bytes.Clone(body[:end]), h...)
	if !kind.VerifyChecksum(i.key.KeyValue, text, body[end:], keyusage.GSSAPI_ACCEPTOR_SEAL) {
		return nil, false, errors.New("signed by another key")
	}
	return body[:end], false, nil
}
