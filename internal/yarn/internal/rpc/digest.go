package rpc

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// SASL DIGEST-MD5 (RFC 2831) as Hadoop's tokens use it: the user name is the token's identifier and the password its
// password, both in Base64, and nothing is wrapped after the handshake (qop=auth).
const (
	digestRealm = "default"
	digestURI   = "/default" // protocol, which is empty, and server id
	nonceBytes  = 30         // as the JDK has it
	maxDigest   = 4096       // bytes of a response, the JDK's limit
)

// A Secret is what a holder of a token knows.
type Secret struct {
	Identifier []byte
	Password   []byte
}

// newNonce returns a random value that has not been used before.
func newNonce() string {
	b := make([]byte, nonceBytes)
	rand.Read(b) // never fails
	return base64.StdEncoding.EncodeToString(b)
}

// digestChallenge is what a server says first. Java's client fails without the algorithm.
func digestChallenge(nonce string) []byte {
	return []byte(`realm="` + digestRealm + `",nonce="` + nonce + `",qop="auth",charset=utf-8,algorithm=md5-sess`)
}

// digestValues are the values that a response is computed over.
type digestValues struct{ nonce, count, cnonce, qop string }

// proof computes what shows that its maker knows the secret: the client's with "AUTHENTICATE", the server's with the
// empty method.
//
//	A1 = MD5(user ":" realm ":" password) ":" nonce ":" cnonce
//	A2 = method ":" uri
//	proof = hex MD5(hex MD5(A1) ":" nonce ":" count ":" cnonce ":" qop ":" hex MD5(A2))
func (s Secret) proof(method string, v digestValues) string {
	b64 := base64.StdEncoding.EncodeToString
	inner := md5.Sum([]byte(b64(s.Identifier) + ":" + digestRealm + ":" + b64(s.Password)))
	a1 := append(inner[:], ":"+v.nonce+":"+v.cnonce...)
	return hexMD5(
		[]byte(
			hexMD5(
				a1,
			) + ":" + v.nonce + ":" + v.count + ":" + v.cnonce + ":" + v.qop + ":" + hexMD5(
				[]byte(method+":"+digestURI),
			),
		),
	)
}

func hexMD5(b []byte) string {
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

// digestResponse answers a server's challenge, and returns what the server must prove in turn. The cnonce is the
// caller's so that recordings can be recomputed.
func digestResponse(s Secret, challenge []byte, cnonce string) (response []byte, proof string, err error) {
	values, err := parseDigest(challenge)
	if err != nil {
		return nil, "", fmt.Errorf("read challenge: %w", err)
	}
	v := digestValues{nonce: values["nonce"], count: "00000001", cnonce: cnonce, qop: "auth"}
	if v.nonce == "" || values["algorithm"] != "md5-sess" {
		return nil, "", fmt.Errorf("read challenge: it has no nonce or another algorithm than md5-sess: %q", challenge)
	}
	user := base64.StdEncoding.EncodeToString(s.Identifier)
	return fmt.Appendf(
			nil,
			`charset=utf-8,username="%s",realm="%s",nonce="%s",nc=%s,cnonce="%s",digest-uri="%s",maxbuf=65536,`+
				`response=%s,qop=%s`,
			user,
			digestRealm,
			v.nonce,
			v.count,
			v.cnonce,
			digestURI,
			s.proof("AUTHENTICATE", v),
			v.qop,
		), "rspauth=" + s.proof(
			"",
			v,
		), nil
}

// digestIdentifier returns the identifier of the token that a client's response speaks of, and the values that it must
// be checked with.
func digestIdentifier(response []byte) (identifier []byte, values map[string]string, err error) {
	if values, err = parseDigest(response); err != nil {
		return nil, nil, err
	}
	if identifier, err = base64.StdEncoding.DecodeString(values["username"]); err != nil {
		return nil, nil, fmt.Errorf("user name is not Base64: %w", err)
	}
	return identifier, values, nil
}

// digestVerify checks a client's response to the challenge with a nonce, and returns the server's own proof.
func digestVerify(s Secret, nonce string, values map[string]string) (proof []byte, ok bool) {
	v := digestValues{nonce: nonce, count: values["nc"], cnonce: values["cnonce"], qop: "auth"}
	qop := values["qop"]
	sound := values["nonce"] == nonce && values["realm"] == digestRealm && values["digest-uri"] == digestURI &&
		v.count == "00000001" && v.cnonce != "" && (qop == "auth" || qop == "")
	if !sound || subtle.ConstantTimeCompare([]byte(values["response"]), []byte(s.proof("AUTHENTICATE", v))) != 1 {
		return nil, false
	}
	return []byte("rspauth=" + s.proof("", v)), true
}

// parseDigest reads name=value pairs between commas; a value may be a quoted string with commas and with backslashes
// before what they stand for. A name that comes twice is refused.
func parseDigest(b []byte) (map[string]string, error) {
	if len(b) > maxDigest {
		return nil, fmt.Errorf("digest of %d bytes: at most %d", len(b), maxDigest)
	}
	values := map[string]string{}
	for s := string(b); s != ""; {
		name, rest, ok := strings.Cut(s, "=")
		name = strings.Trim(name, " \t,")
		if !ok || name == "" {
			return nil, fmt.Errorf("digest has %q where name=value must be", s)
		}
		var value string
		if value, s, ok = digestValue(rest); !ok {
			return nil, fmt.Errorf("digest value of %s does not end", name)
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("digest has %s twice", name)
		}
		values[name] = value
	}
	return values, nil
}

// digestValue splits a value from what follows its comma.
func digestValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ",")
		return strings.TrimSpace(value), rest, true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), strings.TrimLeft(s[i+1:], " \t,"), true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}
