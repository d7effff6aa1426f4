package token

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/recording"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The vector that the JDK's own classes computed: identifier, password, and the blob that carries just this token.
func TestMasterVector(t *testing.T) {
	m := Master{wire.AttemptID{App: wire.ApplicationID{ID: 1, Timestamp: 1700000000000}, Attempt: 1}, 42}
	identifier := m.Append(nil)
	if want := "0a0d0a0908011080d095ffbc311001102a"; hex.EncodeToString(identifier) != want {
		t.Fatalf("identifier %x, want %s", identifier, want)
	}
	if got := base64.StdEncoding.EncodeToString(identifier); got != "Cg0KCQgBEIDQlf+8MRABECo=" {
		t.Errorf("user name %s", got)
	}
	keys := NewKeys(wire.MasterKey{ID: 42, Key: unhex(t, "0102030405060708")})
	password := keys.Sign(identifier)
	if want := "03d06c63060d81cc895e359a4215844317d714a4"; hex.EncodeToString(password) != want {
		t.Errorf("password %x, want %s", password, want)
	}
	blob, err := AddCredential(nil, wire.Token{Identifier: identifier, Password: password, Kind: KindMaster})
	want := "4844545300" + "01" + "00" + "11" + hex.EncodeToString(
		identifier,
	) + "14" + hex.EncodeToString(
		password,
	) + "10" + hex.EncodeToString(
		[]byte(KindMaster),
	) + "00" + "00"
	if err != nil || hex.EncodeToString(blob) != want {
		t.Errorf("blob %x, want %s (%v)", blob, want, err)
	}
	if got, err := ReadMaster(identifier); err != nil || got != m {
		t.Errorf("read %+v, %v", got, err)
	}
}

type identifier interface {
	proto.Message
	proto.Decoder
}

// Every token that was recorded is written again byte for byte, and its password computed again from the keys that the
// ResourceManager gave the NodeManager.
func TestRecorded(t *testing.T) {
	list, err := recording.ReadAll("../../testdata/transcripts")
	if err != nil {
		t.Fatal(err)
	}
	var exchanges []recording.Exchange
	for _, c := range list {
		more, err := c.Exchanges()
		if err != nil {
			t.Fatal(err)
		}
		exchanges = append(exchanges, more...)
	}
	keys := map[string]map[int32]*Keys{KindContainer: {}, KindNode: {}}
	for _, e := range exchanges {
		if e.Method == "registerNodeManager" {
			var m wire.RegisterNodeResponse
			if err := m.Decode(e.Response); err != nil {
				t.Fatal(err)
			}
			keys[KindContainer][m.ContainerKey.ID] = NewKeys(m.ContainerKey)
			keys[KindNode][m.NodeKey.ID] = NewKeys(m.NodeKey)
		}
	}
	count := map[string]int{}
	check := func(where string, token wire.Token) {
		var id identifier
		var key func() int32
		switch token.Kind {
		case KindContainer:
			m := &Container{}
			id, key = m, func() int32 { return m.Key }
		case KindNode:
			m := &Node{}
			id, key = m, func() int32 { return m.Key }
		default:
			t.Fatalf("%s: token of kind %q", where, token.Kind)
		}
		if err := id.Decode(token.Identifier); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if got := id.Append(nil); !bytes.Equal(got, token.Identifier) {
			t.Errorf("%s: %s is written as\n%x, was\n%x", where, token.Kind, got, token.Identifier)
		}
		signer := keys[token.Kind][key()]
		if signer == nil {
			t.Errorf("%s: %s names key %d, which no key was given for", where, token.Kind, key())
		} else if password, ok := signer.Password(key(), token.Identifier); !ok ||
			!bytes.Equal(password, token.Password) {
			t.Errorf("%s: password %x, was %x", where, password, token.Password)
		}
		count[token.Kind]++
	}
	for _, e := range exchanges {
		switch e.Method {
		case "allocate":
			var m wire.AllocateResponse
			if e.Response == nil {
				continue
			}
			if err := m.Decode(e.Response); err != nil {
				t.Fatal(err)
			}
			for _, c := range m.Allocated {
				check(e.Where, c.Token)
			}
			for _, n := range m.NodeTokens {
				check(e.Where, n.Token)
			}
		case "startContainers":
			var m wire.StartContainersRequest
			if err := m.Decode(e.Request); err != nil {
				t.Fatal(err)
			}
			check(e.Where, m.Token)
		}
	}
	if count[KindContainer] < 20 || count[KindNode] != 5 {
		t.Errorf("checked %v: want 20 container tokens or more and 5 node tokens", count)
	}
}

// The blob that the recorded ResourceManager launched with is the one that was submitted, and a token.
func TestRecordedCredentials(t *testing.T) {
	find := func(file, method string) []byte {
		list, err := recording.Read("../../testdata/transcripts/" + file)
		if err != nil {
			t.Fatal(err)
		}
		exchanges, err := list[0].Exchanges()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range exchanges {
			if e.Method == method {
				return e.Request
			}
		}
		t.Fatalf("no %s in %s", method, file)
		return nil
	}
	var submitted wire.SubmitRequest
	var started wire.StartContainersRequest
	if err := submitted.Decode(find("client-submit.txt", "submitApplication")); err != nil {
		t.Fatal(err)
	}
	if err := started.Decode(find("rm-to-nm-start.txt", "startContainers")); err != nil {
		t.Fatal(err)
	}
	sent, launched := submitted.Submission.Launch.Tokens(), started.Launch.Tokens()
	// In the launched blob the token begins after magic, version, count and the empty alias: 26 bytes of identifier, 20
	// of password.
	if launched[6] != 0 || launched[7] != 26 {
		t.Fatalf("blob %x", launched)
	}
	got, err := AddCredential(sent, wire.Token{Identifier: launched[8:34], Password: launched[35:55], Kind: KindMaster})
	if err != nil || !bytes.Equal(got, launched) {
		t.Errorf("blob\n%x, was\n%x (%v)", got, launched, err)
	}
	if m, err := ReadMaster(launched[8:34]); err != nil ||
		m.Attempt.String() != "appattempt_1795296959429_0001_000001" {
		t.Errorf("token of %v, %v", m.Attempt, err)
	}
}

func TestCredentials(t *testing.T) {
	one := wire.Token{Identifier: []byte("id"), Password: []byte("pw"), Kind: "k", Service: "s"}
	// Trailing bytes stay, and more tokens than fit one byte are counted right.
	for name, c := range map[string]struct{ blob, want string }{
		"trailing":  {"HDTS\x00\x00\x00junk", "HDTS\x00\x01\x00\x02id\x02pw\x01k\x01s\x00junk"},
		"127 more":  {"HDTS\x00\x7f...", "HDTS\x00\x8f\x80\x00\x02id\x02pw\x01k\x01s..."},
		"no blob":   {"", "HDTS\x00\x01\x00\x02id\x02pw\x01k\x01s\x00"},
		"other":     {"HDTX\x00\x00\x00", ""},
		"short":     {"HDTS\x00", ""},
		"version 2": {"HDTS\x02\x00\x00", ""},
		"minus one": {"HDTS\x00\xff\x00", ""},
		"cut":       {"HDTS\x00\x8e\x00", ""},
	} {
		got, err := AddCredential([]byte(c.blob), one)
		if (err != nil) != (c.want == "") || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	// A protocol buffer gets one entry more.
	got, err := AddCredential([]byte("HDTS\x01\x00"), one)
	m, rest, err2 := proto.Delimited(got[5:])
	if err != nil || err2 != nil || len(rest) != 0 ||
		!bytes.Contains(m, []byte("\x0a\x02id\x12\x02pw\x1a\x01k\x22\x01s")) {
		t.Errorf("a buffer: %q, %v, %v", got, err, err2)
	}
}

func TestVInt(t *testing.T) {
	// By WritableUtils: one byte from -112 to 127; -113 says one byte of magnitude follows, -120 eight; -121 to -128
	// the same of ^v.
	for v, want := range map[int64]string{0: "00", 127: "7f", -112: "90", 128: "8f80", 256: "8e0100", -113: "8770",
		-1 << 63: "807fffffffffffffff", math.MaxInt64: "887fffffffffffffff"} {
		b := AppendVInt(nil, v)
		got, n, err := ReadVInt(b)
		if hex.EncodeToString(b) != want || got != v || n != len(b) || err != nil {
			t.Errorf("%d is written %x, want %s, and read as %d (%d bytes, %v)", v, b, want, got, n, err)
		}
	}
}

func TestRolling(t *testing.T) {
	k := NewKeys(wire.MasterKey{ID: math.MaxInt32, Key: []byte("first")})
	id := []byte("identifier")
	first := k.Sign(id)
	k.Offer()
	if n := k.Offered(); n.ID != math.MinInt32 || bytes.Equal(n.Key, []byte("first")) {
		t.Errorf("offered %+v: a new key has the next id", n)
	}
	if !bytes.Equal(k.Sign(id), first) || k.Current().ID != math.MaxInt32 {
		t.Error("a key that is offered signs before it is used")
	}
	if !k.Use() || k.Use() {
		t.Error("an offered key is used once")
	}
	second := k.Sign(id)
	if bytes.Equal(second, first) {
		t.Error("the new key signs as the old one did")
	}
	if old, ok := k.Password(math.MaxInt32, id); !ok || !bytes.Equal(old, first) {
		t.Error("what the key before signed is not good any more")
	}
	k.Offer()
	k.Use()
	if _, ok := k.Password(math.MaxInt32, id); ok {
		t.Error("what was signed two keys ago is still good")
	}
	if old, ok := k.Password(math.MinInt32, id); !ok || !bytes.Equal(old, second) {
		t.Error("what the key before signed is not good any more")
	}
}

func FuzzAddCredential(f *testing.F) {
	f.Add([]byte("HDTS\x00\x00\x00"))
	f.Add([]byte("HDTS\x01\x02\x0a\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := AddCredential(b, wire.Token{Identifier: []byte("id")})
		if err == nil && len(got) <= len(b) {
			t.Errorf("%x becomes %x", b, got)
		}
	})
}

func FuzzIdentifiers(f *testing.F) {
	f.Add((&Container{Node: "h:1", User: "u"}).Append(nil))
	f.Add((&Master{}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, id := range []identifier{&Master{}, &Node{}, &Container{}} {
			if id.Decode(b) == nil {
				id.Append(nil)
			}
		}
	})
}

func BenchmarkSign(b *testing.B) {
	keys := NewKeys(RandomKey())
	id := (&Container{Node: "localhost:45001", User: "root"}).Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		keys.Sign(id)
	}
}

// What is taken for a token by itself is one in a blob.
func FuzzCheckToken(f *testing.F) {
	f.Add([]byte("\x02id\x02pw\x04KIND\x07nn:8020"))
	f.Add([]byte("\x02id\x02pw\x04KIND\x07nn:8020x"))
	f.Add([]byte("\x8f\xff\x02pw\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if CheckToken(b) != nil {
			return
		}
		tokens, secrets, err := ReadCredentials(Blob(map[string][]byte{"a": b, "b": b}, map[string][]byte{"c": {1}}))
		if err != nil || len(tokens) != 2 || string(secrets["c"]) != "\x01" {
			t.Errorf("%x: %d tokens, %d secrets, %v", b, len(tokens), len(secrets), err)
		}
	})
}
