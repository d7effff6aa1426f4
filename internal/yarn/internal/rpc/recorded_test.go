package rpc

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/recording"
)

func recordings(t testing.TB) []recording.Connection {
	t.Helper()
	list, err := recording.ReadAll("../../testdata/transcripts")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// withoutContext leaves out the one field of request headers that Hadoop's peers send and this client does not: who its
// caller is (7).
func withoutContext(b []byte) []byte {
	var out []byte
	for r := proto.Read(b); r.Next(); {
		if r.Num() != 7 {
			out = append(out, r.Raw()...)
		}
	}
	return out
}

// Every header that was recorded is written again byte for byte.
func TestRecordedHeaders(t *testing.T) {
	count := map[string]int{}
	same := func(f recording.Frame, name string, want []byte, m interface {
		proto.Message
		proto.Decoder
	}) {
		t.Helper()
		if err := m.Decode(want); err != nil {
			t.Fatalf("%s: %s: %v", f.Where, name, err)
		}
		if got := m.Append(nil); !bytes.Equal(got, want) {
			t.Errorf("%s: %s is written as\n%x, was\n%x", f.Where, name, got, want)
		}
		count[name]++
	}
	for _, c := range recordings(t) {
		for _, f := range c.Frames {
			if len(f.Bytes) == 7 {
				if !bytes.HasPrefix(f.Bytes, []byte("hrpc\x09\x00")) {
					t.Errorf("%s: preamble %x", f.Where, f.Bytes)
				}
				continue
			}
			in := newFrameReader(still(bytes.NewReader(f.Bytes)), DefaultIdle, DefaultTransfer)
			frame, err := in.next(DefaultMaxFrame)
			if err != nil {
				t.Fatalf("%s: %v", f.Where, err)
			}
			head, rest, err := proto.Delimited(frame)
			if err != nil {
				t.Fatalf("%s: %v", f.Where, err)
			}
			call := int32(0)
			if f.Client {
				var h requestHeader
				same(f, "request header", withoutContext(head), &h)
				call = h.call
			} else {
				var h responseHeader
				same(f, "response header", head, &h)
				call = h.call
			}
			body, _, err := proto.Delimited(rest)
			if err != nil && len(rest) > 0 {
				t.Fatalf("%s: %v", f.Where, err)
			}
			switch {
			case call == callSASL:
				same(f, "SASL message", body, &saslMessage{})
			case call == callContext:
				same(f, "context", body, &contextHeader{})
			case f.Client:
				same(f, "method header", body, &methodHeader{})
			}
		}
	}
	for _, name := range []string{"request header", "response header", "SASL message", "context", "method header"} {
		if count[name] < 20 {
			t.Errorf("only %d of %s in the recordings", count[name], name)
		}
	}
}

// Every digest and every server's proof that was recorded is computed again, from the passwords that the recordings
// hold.
func TestRecordedDigests(t *testing.T) {
	passwords := map[string][]byte{} // by identifier
	var all [][]byte
	for _, c := range recordings(t) {
		for _, f := range c.Frames {
			all = append(all, f.Bytes)
		}
	}
	checked, unknown := 0, 0
	for _, c := range recordings(t) {
		var nonce, proof string
		for _, f := range c.Frames {
			if len(f.Bytes) == 7 {
				continue
			}
			head, rest, _ := proto.Delimited(f.Bytes[4:])
			var m saslMessage
			if body, _, err := proto.Delimited(rest); err != nil || m.Decode(body) != nil || !isSASL(head, f.Client) {
				continue
			}
			switch m.state {
			case saslNegotiate:
				if !f.Client {
					values, err := parseDigest(m.auths[0].challenge)
					if err != nil || !bytes.Equal(digestChallenge(values["nonce"], plain), m.auths[0].challenge) {
						t.Errorf("%s: challenge %q, %v", f.Where, m.auths[0].challenge, err)
					}
					nonce = values["nonce"]
				}
			case saslInitiate:
				identifier, values, err := digestIdentifier(m.token)
				if err != nil {
					t.Fatalf("%s: %v", f.Where, err)
				}
				password := passwords[string(identifier)]
				if password == nil {
					password = passwordOf(identifier, all)
				}
				if password == nil {
					unknown++
					nonce = ""
					continue
				}
				s := Secret{identifier, password}
				ours, want, _, err := digestResponse(s, digestChallenge(nonce, plain), values["cnonce"], plain)
				if err != nil || !bytes.Equal(ours, m.token) {
					t.Errorf("%s: response\n%s, was\n%s (%v)", f.Where, ours, m.token, err)
				}
				answer, _, ok := digestVerify(s, nonce, values, plain)
				if !ok || string(answer) != want {
					t.Errorf("%s: the recorded response is not accepted", f.Where)
				}
				proof = want
				checked++
			case saslSuccess:
				if nonce != "" && string(m.token) != proof {
					t.Errorf("%s: server proves %s, want %s", f.Where, m.token, proof)
				}
			}
		}
	}
	if checked != 18 || unknown > 0 { // as many connections with tokens were recorded
		t.Errorf("recomputed %d digests, and knew no password of %d", checked, unknown)
	}
}

func isSASL(head []byte, client bool) bool {
	if client {
		var h requestHeader
		return h.Decode(head) == nil && h.call == callSASL
	}
	var h responseHeader
	return h.Decode(head) == nil && h.call == callSASL
}

// passwordOf looks for a token with an identifier in what was recorded. In a message it stands as field 1, and the
// password follows as field 2; in a blob of credentials each stands after its length alone. All passwords are 20 bytes.
func passwordOf(identifier []byte, all [][]byte) []byte {
	for _, b := range all {
		for at := 0; ; at++ {
			i := bytes.Index(b[at:], identifier)
			if i < 0 {
				break
			}
			at += i
			rest := b[at+len(identifier):]
			if bytes.HasPrefix(rest, []byte{0x12, 20}) && len(rest) > 22 {
				return rest[2:22]
			}
			if bytes.HasPrefix(rest, []byte{20}) && len(rest) > 21 {
				return rest[1:21]
			}
		}
	}
	return nil
}

// The vector of the JDK 17's own classes.
func TestDigestVector(t *testing.T) {
	decode := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	s := Secret{decode("CgUIARABGAE="), decode("c2VjcmV0cGFzc3dvcmQ=")}
	const nonce, cnonce = "KZNQrvO8AXWHSsgiKJf6v6aPWH9p2ANL9E1TdgOT", "nqfaBFnFkH7WF76mXlEJKnhR1whUCynU/VG1Y5eR"
	response, proof, _, err := digestResponse(s, digestChallenge(nonce, plain), cnonce, plain)
	if err != nil || !strings.Contains(string(response), "response=d07597e7c98942e40d84a9c9d2a59bda,") ||
		proof != "rspauth=84cc5ae39b9408041aa5e513b8aa271d" {
		t.Errorf("response %s, proof %s, %v", response, proof, err)
	}
}

// Frames that Hadoop's peers send, built by hand from the rules.
func TestFrameVectors(t *testing.T) {
	id, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f")
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"ping": {appendFrame(nil, &requestHeader{call: callPing, client: id, retry: retryNone}),
			"0000001b 1a 0802 1000 1807 2210 000102030405060708090a0b0c0d0e0f 2801"},
		"negotiate": {appendFrame(nil, &requestHeader{call: callSASL, retry: retryNone},
			&saslMessage{state: saslNegotiate}), "0000000e 0a 0802 1000 1841 2200 2801 02 1001"},
		"become simple": {appendFrame(nil, &responseHeader{call: callSASL, retry: retryNone},
			&saslMessage{state: saslSuccess}), "00000012 0e 08dfffffff0f 1000 1809 3a00 4001 02 1000"},
		"empty OK": {appendFrame(nil, &responseHeader{client: id}, proto.Raw(nil)),
			"0000001c 1a 0800 1000 1809 3a10 000102030405060708090a0b0c0d0e0f 4000 00"},
		"context of yarn": {appendFrame(nil, &requestHeader{call: callContext, client: id, retry: retryNone},
			&contextHeader{userInfo{effective: "yarn"}, "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"})[:44],
			"00000059 1a 0802 1000 1805 2210 000102030405060708090a0b0c0d0e0f 2801 3d 1206 0a04 7961726e 1a33 6f72"},
	} {
		if want := strings.ReplaceAll(c.want, " ", ""); hex.EncodeToString(c.got) != want {
			t.Errorf("%s is\n%x, want\n%s", name, c.got, want)
		}
	}
}

func TestDigestRefused(t *testing.T) {
	for _, s := range []string{`nonce`, `="x"`, `nonce="x`, `nonce="x\`, `nonce=x,nonce=y`,
		strings.Repeat("a", maxDigest+1)} {
		if values, err := parseDigest([]byte(s)); err == nil {
			t.Errorf("%.40q reads as %v", s, values)
		}
	}
	values, err := parseDigest([]byte(`charset=utf-8, username="a\"b,c=" ,response=00,qop="auth"`))
	if err != nil || values["username"] != `a"b,c=` || values["response"] != "00" || values["qop"] != "auth" ||
		values["charset"] != "utf-8" {
		t.Errorf("read %q, %v", values, err)
	}
	// Each value that the digest covers, changed by one step, must not pass.
	s := Secret{[]byte("id"), []byte("password")}
	nonce := "n"
	response, _, _, _ := digestResponse(s, digestChallenge(nonce, plain), "c", plain)
	_, right, _ := digestIdentifier(response)
	if _, _, ok := digestVerify(s, nonce, right, plain); !ok {
		t.Fatal("the right response is refused")
	}
	for name := range right {
		if name == "charset" || name == "maxbuf" || name == "username" || name == "qop" {
			continue // not covered, or not the response's own
		}
		wrong := map[string]string{}
		for k, v := range right {
			wrong[k] = v
		}
		wrong[name] += "x"
		if _, _, ok := digestVerify(s, nonce, wrong, plain); ok {
			t.Errorf("a response with %s changed is accepted", name)
		}
	}
	if _, _, ok := digestVerify(s, "another", right, plain); ok {
		t.Error("a response to another nonce is accepted")
	}
}

func FuzzParseDigest(f *testing.F) {
	f.Add([]byte(`realm="default",nonce="a\"b",qop="auth",charset=utf-8,algorithm=md5-sess`))
	f.Fuzz(func(t *testing.T, b []byte) {
		values, err := parseDigest(b)
		if err == nil && len(values) > len(b) {
			t.Errorf("%d values in %d bytes", len(values), len(b))
		}
	})
}
