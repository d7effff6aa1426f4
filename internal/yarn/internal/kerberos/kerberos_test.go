package kerberos

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/kerberos/kerberostest"
)

const aes128, aes256 = etypeID.AES128_CTS_HMAC_SHA1_96, etypeID.AES256_CTS_HMAC_SHA1_96

// acceptor returns the acceptor of rm/localhost, and its keytab.
func acceptor(t testing.TB, kind int32) (*Acceptor, string) {
	t.Helper()
	path := kerberostest.Keytab(t, "rm/localhost", kind)
	a, err := NewAcceptor(Name{"rm", "localhost", kerberostest.Realm}, path)
	if err != nil {
		t.Fatal(err)
	}
	return a, path
}

// A caller with a ticket gets in, the service proves itself, and messages go both ways, with each kind of AES.
func TestAccept(t *testing.T) {
	for kind := range strong {
		of := kind
		if kind == etypeID.AES256_CTS_HMAC_SHA384_192 {
			of = aes256 // gokrb5 makes no tickets of that kind
		}
		a, path := acceptor(t, of)
		i := kerberostest.Initiator{Kind: of, Sub: kind, Client: "oozie/host.example.com", Service: "rm/localhost",
			Path: path}
		c, reply, err := a.Accept(i.Token(t))
		if err != nil {
			t.Errorf("kind %d: %v", kind, err)
			continue
		}
		if got := c.Client().String(); got != "oozie/host.example.com@"+kerberostest.Realm {
			t.Errorf("kind %d: the caller is %s", kind, got)
		}
		if err := i.Check(reply); err != nil {
			t.Errorf("kind %d: %v", kind, err)
		}
		for n, seal := range []bool{false, true, true, false} {
			want := bytes.Repeat([]byte("message"), n*100)
			got, sealed, err := c.Unwrap(i.Wrap(want, seal, n*13))
			if err != nil || sealed != seal || !bytes.Equal(got, want) {
				t.Errorf("kind %d, message %d: %q, sealed %v, %v", kind, n, got, sealed, err)
			}
			token, err := c.Wrap(want, seal)
			if err != nil {
				t.Fatal(err)
			}
			if got, sealed, err = i.Unwrap(token); err != nil || sealed != seal || !bytes.Equal(got, want) {
				t.Errorf("kind %d, reply %d: %q, sealed %v, %v", kind, n, got, sealed, err)
			}
		}
	}
}

// A caller that asks for no proof gets none.
func TestAcceptOneWay(t *testing.T) {
	a, path := acceptor(t, aes256)
	i := kerberostest.Initiator{Client: "ana", Service: "rm/localhost", Path: path, OneWay: true}
	if c, reply, err := a.Accept(i.Token(t)); err != nil || reply != nil || c.Client().First != "ana" {
		t.Errorf("reply %x, %v", reply, err)
	}
}

// Tickets and requests that are not what they should be are refused, each for its reason.
func TestAcceptRefuses(t *testing.T) {
	a, path := acceptor(t, aes256)
	other := kerberostest.Keytab(t, "nm/localhost", aes256)
	forged := kerberostest.Keytab(t, "rm/localhost", aes128)
	for name, c := range map[string]struct {
		i    kerberostest.Initiator
		want string
	}{
		"another service": {kerberostest.Initiator{Service: "nm/localhost", Path: other}, "the ticket is for nm/"},
		"another key":     {kerberostest.Initiator{Path: forged, Kind: aes128}, "the ticket is not accepted"},
		"over":            {kerberostest.Initiator{Path: path, Ends: -10 * time.Minute}, "the ticket is not accepted"},
		"another realm":   {kerberostest.Initiator{Path: path, Claimed: "OTHER.COM"}, "says realm OTHER.COM"},
		"three parts":     {kerberostest.Initiator{Path: path, Client: "a/b/c"}, "has 3 components"},
		"an odd name":     {kerberostest.Initiator{Path: path, Client: "root@" + kerberostest.Realm}, "odd component"},
	} {
		if c.i.Client == "" {
			c.i.Client = "ana"
		}
		if c.i.Service == "" {
			c.i.Service = "rm/localhost"
		}
		if _, _, err := a.Accept(c.i.Token(t)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	i := kerberostest.Initiator{Client: "ana", Service: "rm/localhost", Path: path}
	token := i.Token(t)
	if _, _, err := a.Accept(token); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Accept(token); err == nil || !strings.Contains(err.Error(), "was seen before") {
		t.Errorf("a repeated request: %v", err)
	}
	for n := range len(token) {
		if _, _, err := a.Accept(token[:n]); err == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(token))
		}
	}
	if _, _, err := a.Accept(make([]byte, mostToken+1)); err == nil {
		t.Error("a long token is accepted")
	}
}

// RC4 keys let no caller in, and an acceptor is not made of a keytab that has no AES key of its own.
func TestWeakKeys(t *testing.T) {
	path := kerberostest.Keytab(t, "rm/localhost", etypeID.RC4_HMAC)
	_, err := NewAcceptor(Name{"rm", "localhost", kerberostest.Realm}, path)
	if err == nil || !strings.Contains(err.Error(), "it has no AES key of rm/localhost@") {
		t.Errorf("RC4: %v", err)
	}
	path = kerberostest.Keytab(t, "nm/localhost", aes128)
	if _, err = NewAcceptor(Name{"rm", "localhost", kerberostest.Realm}, path); err == nil {
		t.Error("another's keytab")
	}
	if _, err = NewAcceptor(Name{First: "rm", Realm: kerberostest.Realm}, path); err == nil {
		t.Error("a principal without a host")
	}
}

// A keytab that changes counts after a few seconds; one that is damaged leaves the keys.
func TestKeytabChanges(t *testing.T) {
	a, path := acceptor(t, aes256)
	old := a.keys
	if err := os.WriteFile(path, []byte{5, 2, 0}, 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if a.current(now.Add(lookAgain)) != old {
		t.Error("a damaged keytab counts")
	}
	text, err := os.ReadFile(kerberostest.Keytab(t, "rm/localhost", aes128))
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if a.current(now.Add(lookAgain+time.Second)) != old {
		t.Error("looked at too soon")
	}
	if got := a.current(now.Add(3 * lookAgain)); got.Entries[0].Key.KeyType != aes128 {
		t.Error("a new keytab does not count")
	}
}

// Messages that were changed, repeated or turned back are refused.
func TestUnwrapRefuses(t *testing.T) {
	for _, seal := range []bool{false, true} {
		a, path := acceptor(t, aes256)
		i := kerberostest.Initiator{Client: "ana", Service: "rm/localhost", Path: path}
		c, _, err := a.Accept(i.Token(t))
		if err != nil {
			t.Fatal(err)
		}
		token := i.Wrap([]byte("hello"), seal, 3)
		for n := range token {
			wrong := bytes.Clone(token)
			wrong[n] ^= 1
			if n == 7 {
				continue // the rotation is not covered: another one is refused below
			}
			if got, _, err := c.Unwrap(wrong); err == nil {
				t.Errorf("seal %v: byte %d changed, and %q is accepted", seal, n, got)
			}
			if _, _, err := c.Unwrap(token[:n]); err == nil {
				t.Errorf("seal %v: %d bytes are accepted", seal, n)
			}
		}
		rotated := bytes.Clone(token)
		rotated[7]++
		if _, _, err := c.Unwrap(rotated); err == nil {
			t.Errorf("seal %v: another rotation is accepted", seal)
		}
		if got, _, err := c.Unwrap(token); err != nil || string(got) != "hello" {
			t.Errorf("seal %v: %q, %v", seal, got, err)
		}
		if _, _, err := c.Unwrap(token); err == nil {
			t.Errorf("seal %v: a repeated message is accepted", seal)
		}
		back, err := c.Wrap([]byte("hello"), seal)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Unwrap(back); err == nil {
			t.Errorf("seal %v: a message of the service is accepted", seal)
		}
	}
}

// Rules of Hadoop's documentation and of its default, with what it says comes out.
func TestRules(t *testing.T) {
	const realm = kerberostest.Realm
	for _, c := range []struct{ rules, name, want string }{
		{"DEFAULT", "ana@" + realm, "ana"},
		{"DEFAULT", "hdfs/host1@" + realm, "hdfs"},
		{"DEFAULT", "ana@OTHER.COM", "no rules applied to ana@OTHER.COM"},
		{"DEFAULT", "ana", "ana"},
		{"RULE:[2:$1@$0](nm@.*EXAMPLE.COM)s/.*/yarn/\nDEFAULT", "nm/h1@" + realm, "yarn"},
		{"RULE:[2:$1@$0](nm@.*EXAMPLE.COM)s/.*/yarn/\nDEFAULT", "jhs/h1@" + realm, "jhs"},
		{"RULE:[1:$1@$0](.*@OTHER.COM)s/@.*//", "ana@OTHER.COM", "ana"},
		{"RULE:[1:$1@$0](.*@OTHER.COM)s/@.*///L", "ANA@OTHER.COM", "ana"},
		{"RULE:[1:$1]/L", "ANA@OTHER.COM", "ana"},
		{"RULE:[1:$1]", "ana/h@OTHER.COM", "no rules applied"},
		{"RULE:[1:$1@$0]", "ana@OTHER.COM", "non-simple name ana@OTHER.COM after auth_to_local rule RULE:[1:$1@$0]"},
		{"RULE:[2:$1-$2](.*)s/-/_/g", "a-b/c-d@X", "a_b_c_d"},
		{"RULE:[2:$1-$2](.*)s/-/_/", "a-b/c-d@X", "a_b-c-d"},
		{`RULE:[1:$1](.*)s/(\w+)-(\w+)/$2$1/`, "b-a@X", "ab"},
		{`RULE:[1:$1](.*)s/x/\$1/`, "axb@X", "a$1b"},
		{"RULE:[1:$1](a)s/a// DEFAULT", "a@X", "no name of a@X"},
		{"RULE:[1:$1](an)s/an/x/ DEFAULT", "ana@" + realm, "ana"}, // all of the text must match
	} {
		r, err := ParseRules(c.rules, realm, false)
		if err != nil {
			t.Errorf("%s: %v", c.rules, err)
			continue
		}
		n, err := ParseName(c.name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Local(n)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s of %s: %s, want %s", c.rules, c.name, got, c.want)
		}
	}
	mit, err := ParseRules("DEFAULT", realm, true)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := mit.Local(Name{"ana", "", "OTHER.COM"}); got != "ana@OTHER.COM" || err != nil {
		t.Errorf("MIT: %s, %v", got, err)
	}
	for _, wrong := range []string{"RULE", "RULE:[1:$1", "RULE:[3:$1]", "RULE:[x:$1]", "RULE:[1:$2]", "RULE:[1:$1](a",
		"RULE:[1:$1](a)s/b", "RULE:[1:$1](a)s/b/c", "RULE:[1:$1]((?=a)", "RULE:[1:$1](a)s/[/b/", "default",
		strings.Repeat("DEFAULT ", 10_000)} {
		if _, err := ParseRules(wrong, realm, false); err == nil {
			t.Errorf("%.40s: accepted", wrong)
		}
	}
}

func TestParseName(t *testing.T) {
	for _, s := range []string{"", "@X", "a@", "a/@X", "/b@X", "a/b/c@X", "a@X@Y", "a@X/b"} {
		if n, err := ParseName(s); err == nil {
			t.Errorf("%q is read as %+v", s, n)
		}
	}
	for _, s := range []string{"ana", "ana@X", "rm/h@X", "rm/_HOST@X"} {
		if n, err := ParseName(s); err != nil || n.String() != s {
			t.Errorf("%q is read as %+v, %v", s, n, err)
		}
	}
}

// Rules of any text are refused or give a simple name.
func FuzzRules(f *testing.F) {
	f.Add("RULE:[2:$1@$0](nm@.*)s/(.)/$1/g/L\nDEFAULT", "nm/h@X")
	f.Fuzz(func(t *testing.T, rules, name string) {
		r, err := ParseRules(rules, "X", false)
		n, odd := ParseName(name)
		if err != nil || odd != nil {
			return
		}
		if local, err := r.Local(n); err == nil && (local == "" || strings.ContainsAny(local, "/@")) {
			t.Errorf("%q is %q", name, local)
		}
	})
}

// First tokens of any bytes are refused: no other caller has the key. The ticket of those that it begins with has
// ended, because a process that fuzzes has not seen them before.
func FuzzAccept(f *testing.F) {
	a, path := acceptor(f, aes256)
	i := kerberostest.Initiator{Client: "ana", Service: "rm/localhost", Path: path, Ends: -time.Hour}
	token := i.Token(f)
	f.Add(token)
	f.Add(token[:40])
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, accept := range map[string]func([]byte) (*Context, []byte, error){
			"GSS": a.Accept, "SPNEGO": a.AcceptNegotiation} {
			if c, _, err := accept(b); err == nil {
				t.Errorf("%s: lets %s in", name, fmt.Sprint(c.Client()))
			}
		}
	})
}

// Keytabs of any bytes are read or refused.
func FuzzKeytab(f *testing.F) {
	text, err := os.ReadFile(kerberostest.Keytab(f, "rm/localhost", aes128))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, b []byte) {
		if k, err := parseKeytab(b); err == nil && k == nil {
			t.Error("no keytab")
		}
	})
}
