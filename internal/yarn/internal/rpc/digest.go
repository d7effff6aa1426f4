package rpc

import (
	"cmp"
	"crypto/md5"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// SASL DIGEST-MD5 (RFC 2831) as Hadoop's tokens use it: the user name is the token's identifier and the password its
// password, both in Base64. What follows the handshake is protected as both sides have agreed.
const (
	digestCipher = "rc4"
	digestRealm  = "default"
	digestURI    = "/default" // protocol, which is empty, and server id
	nonceBytes   = 30         // as the JDK has it
	maxDigest    = 4096       // bytes of a response, the JDK's limit
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

// digestChallenge is what a server says first. Java's client fails without the algorithm, and, where privacy is
// offered, without a cipher: RC4 is the one of RFC 2831 that needs no padding, and that Go has.
func digestChallenge(nonce string, offers []Protection) []byte {
	qop, cipher := "", ""
	for i, p := range offers {
		if i > 0 {
			qop += ","
		}
		if qop += p.qop(); p == Privacy {
			cipher = `cipher="` + digestCipher + `",`
		}
	}
	return []byte(`realm="` + digestRealm + `",nonce="` + nonce + `",qop="` + qop + `",charset=utf-8,` + cipher +
		`algorithm=md5-sess`)
}

// digestValues are the values that a response is computed over.
type digestValues struct{ nonce, count, cnonce, qop string }

// proof returns the proof that its maker knows the secret: the client's proof with method "AUTHENTICATE", the server's
// with the empty method.
//
//	A1 = MD5(user ":" realm ":" password) ":" nonce ":" cnonce
//	A2 = method ":" uri, and ":" and 32 zeros where messages are protected
//	proof = hex MD5(hex MD5(A1) ":" nonce ":" count ":" cnonce ":" qop ":" hex MD5(A2))
func (s Secret) proof(method string, v digestValues) string {
	a1 := s.sessionKey(v)
	a2 := method + ":" + digestURI
	if v.qop != Authentication.qop() {
		a2 += ":00000000000000000000000000000000"
	}
	text := hex.EncodeToString(a1[:]) + ":" + v.nonce + ":" + v.count + ":" + v.cnonce + ":" + v.qop + ":"
	return hexMD5([]byte(text + hexMD5([]byte(a2))))
}

// sessionKey computes MD5(A1). The keys of a layer are made from it, too.
func (s Secret) sessionKey(v digestValues) [md5.Size]byte {
	b64 := base64.StdEncoding.EncodeToString
	inner := md5.Sum([]byte(b64(s.Identifier) + ":" + digestRealm + ":" + b64(s.Password)))
	return md5.Sum(append(inner[:], ":"+v.nonce+":"+v.cnonce...))
}

func hexMD5(b []byte) string {
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

// digestResponse answers a server's challenge, with the first of the wanted protections that the server offers. It
// returns the response, the proof that the server must give in turn, and the layer that protects messages from then on;
// nil: none. The caller chooses cnonce, so that recordings can be recomputed.
func digestResponse(s Secret, challenge []byte, cnonce string, wanted []Protection) (
	response []byte, proof string, l layer, err error,
) {
	values, err := parseDigest(challenge)
	if err != nil {
		return nil, "", nil, fmt.Errorf("read challenge: %w", err)
	}
	v := digestValues{nonce: values["nonce"], count: "00000001", cnonce: cnonce}
	if v.nonce == "" || values["algorithm"] != "md5-sess" {
		return nil, "", nil, fmt.Errorf(
			"read challenge: it has no nonce or another algorithm than md5-sess: %q", challenge)
	}
	offers := strings.Split(cmp.Or(values["qop"], Authentication.qop()), ",")
	for _, p := range wanted {
		if v.qop = p.qop(); !contains(offers, v.qop) {
			v.qop = ""
			continue
		}
		cipher := ""
		if p == Privacy {
			if cipher = ",cipher=" + digestCipher; !contains(strings.Split(values["cipher"], ","), digestCipher) {
				return nil, "", nil, fmt.Errorf("server offers the ciphers %q: must be %s", values["cipher"],
					digestCipher)
			}
		}
		response = fmt.Appendf(nil, `charset=utf-8,username="%s",realm="%s",nonce="%s",nc=%s,cnonce="%s",`+
			`digest-uri="%s",maxbuf=%d,response=%s,qop=%s%s`, base64.StdEncoding.EncodeToString(s.Identifier),
			digestRealm, v.nonce, v.count, v.cnonce, digestURI, mostWrapped, s.proof("AUTHENTICATE", v), v.qop, cipher)
		return response, "rspauth=" + s.proof("", v), newDigestLayer(s.sessionKey(v), p, false), nil
	}
	return nil, "", nil, fmt.Errorf("server offers the protections %q, and none of them is wanted", values["qop"])
}

// contains reports whether a list has a word, with spaces around it or not.
func contains(list []string, word string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.TrimSpace(s) == word })
}

// digestIdentifier returns the identifier of the token that a client's response names, and the values of the response,
// for digestVerify.
func digestIdentifier(response []byte) (identifier []byte, values map[string]string, err error) {
	if values, err = parseDigest(response); err != nil {
		return nil, nil, err
	}
	if identifier, err = base64.StdEncoding.DecodeString(values["username"]); err != nil {
		return nil, nil, fmt.Errorf("user name is not Base64: %w", err)
	}
	return identifier, values, nil
}

// digestVerify checks a client's response to the challenge with a nonce, and returns the server's own proof, and the
// layer that protects messages from then on; nil: none.
func digestVerify(s Secret, nonce string, values map[string]string, offers []Protection) (
	proof []byte, l layer, ok bool,
) {
	v := digestValues{nonce: nonce, count: values["nc"], cnonce: values["cnonce"],
		qop: cmp.Or(values["qop"], Authentication.qop())}
	at := slices.IndexFunc(offers, func(p Protection) bool { return p.qop() == v.qop })
	sound := values["nonce"] == nonce && values["realm"] == digestRealm && values["digest-uri"] == digestURI &&
		v.count == "00000001" && v.cnonce != "" && at >= 0 &&
		(v.qop != Privacy.qop() || values["cipher"] == digestCipher)
	if !sound || subtle.ConstantTimeCompare([]byte(values["response"]), []byte(s.proof("AUTHENTICATE", v))) != 1 {
		return nil, nil, false
	}
	return []byte("rspauth=" + s.proof("", v)), newDigestLayer(s.sessionKey(v), offers[at], true), true
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

// digestValue reads the value that s begins with, up to a comma or in quotes. It returns the value without
// its quotes and their backslashes, and what follows the comma. ok is false if a quoted value does not end.
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
