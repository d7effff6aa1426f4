package keystore

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	jks "github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"
)

// A made is a key, its certificate, and that of the authority which signed it.
type made struct {
	key            *ecdsa.PrivateKey
	own, authority *x509.Certificate
}

func newMade(t testing.TB, name string) (m made) {
	t.Helper()
	sign := func(name string, ca bool, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate,
		*ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: name}, IsCA: ca,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true}
		if parent == nil {
			parent, by = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return signed, key
	}
	authority, by := sign("authority", true, nil, nil)
	m.authority = authority
	m.own, m.key = sign(name, false, authority, by)
	return m
}

func (m made) pkcs8(t testing.TB) []byte {
	t.Helper()
	b, err := x509.MarshalPKCS8PrivateKey(m.key)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (m made) jks(t testing.TB, password, keyPassword string) []byte {
	t.Helper()
	s := jks.New()
	entry := jks.PrivateKeyEntry{CreationTime: time.Now(), PrivateKey: m.pkcs8(t)}
	for _, c := range []*x509.Certificate{m.own, m.authority} {
		entry.CertificateChain = append(entry.CertificateChain, jks.Certificate{Type: "X509", Content: c.Raw})
	}
	var b bytes.Buffer
	trusted := jks.TrustedCertificateEntry{CreationTime: time.Now(),
		Certificate: jks.Certificate{Type: "X509", Content: m.authority.Raw}}
	if err := s.SetTrustedCertificateEntry("a", trusted); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPrivateKeyEntry("b", entry, []byte(keyPassword)); err != nil {
		t.Fatal(err)
	}
	if err := s.Store(&b, []byte(password)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (m made) pkcs12(t testing.TB, password string) []byte {
	t.Helper()
	b, err := pkcs12.Modern.Encode(m.key, m.own, []*x509.Certificate{m.authority}, password)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (m made) pem(t testing.TB) (certificates, key []byte) {
	t.Helper()
	for _, c := range []*x509.Certificate{m.own, m.authority} {
		certificates = append(certificates, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return certificates, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: m.pkcs8(t)})
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Each kind of store yields the key's own certificate first, whatever the file is called.
func TestRead(t *testing.T) {
	dir, m := t.TempDir(), newMade(t, "rm")
	certificates, key := m.pem(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("a.jks"), m.jks(t, "secret", "other"))
	write(t, at("b.jks"), m.pkcs12(t, "secret"))
	write(t, at("c.pem"), certificates)
	write(t, at("c.key"), key)
	write(t, at("d.pem"), append(certificates, key...))
	for _, s := range []Source{
		{Path: at("a.jks"), Password: "secret", KeyPassword: "other"}, {Path: at("b.jks"), Password: "secret"},
		{Path: at("c.pem"), KeyPath: at("c.key")}, {Path: at("d.pem")},
	} {
		c, err := s.Read()
		if err != nil {
			t.Errorf("%s: %v", s.Path, err)
			continue
		}
		if !m.key.Equal(c.PrivateKey) || len(c.Certificate) != 2 || !bytes.Equal(c.Certificate[0], m.own.Raw) {
			t.Errorf("%s: another key, or %d certificates", s.Path, len(c.Certificate))
		}
	}
	other := newMade(t, "other")
	_, foreign := other.pem(t)
	write(t, at("foreign.key"), foreign)
	write(t, at("e.jceks"), append(magicJCEKS, 0, 0, 0, 2))
	for _, c := range []struct {
		s    Source
		want string
	}{
		{Source{Path: at("a.jks"), Password: "wrong"}, "as JKS"},
		{Source{Path: at("a.jks"), Password: "secret"}, "key b"},
		{Source{Path: at("b.jks"), Password: "wrong"}, "as PKCS12"},
		{Source{Path: at("c.pem"), KeyPath: at("foreign.key")}, "private key does not match"},
		{Source{Path: at("c.pem")}, "c.pem"}, {Source{Path: at("e.jceks")}, "a JCEKS store: must be"},
		{Source{Path: at("absent")}, "no such file"},
	} {
		_, err := c.s.Read()
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%+v: %v, want %s", c.s, err, c.want)
		}
	}
}

// A length or a number in a JKS that is larger than the file is refused before memory is taken for it. All others are
// read as before.
func TestDamagedLengths(t *testing.T) {
	m := newMade(t, "rm")
	whole := m.jks(t, "secret", "secret")
	s := Source{Password: "secret"}
	if _, err := s.parse(whole); err != nil {
		t.Fatal(err)
	}
	beyonds := 0
	for at := len(magicJKS); at+4 <= len(whole); at++ {
		text := slices.Clone(whole)
		copy(text[at:], "\x7f\xff\xff\xff")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := s.parse(text)
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; err == nil || taken > 16<<20 {
			t.Fatalf("2^31 at byte %d: %v, and %d MiB are taken", at, err, taken>>20)
		}
		if strings.Contains(err.Error(), "a length in it goes beyond its end") {
			beyonds++
		}
	}
	if beyonds < 5 { // of the alias, the key, the chain, a certificate's type and the certificate
		t.Errorf("%d lengths are refused", beyonds)
	}
}

// A file that changes is read anew once the time between looks is over; one that is damaged leaves the certificate.
func TestWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rm.p12")
	first, second := newMade(t, "first"), newMade(t, "second")
	write(t, path, first.pkcs12(t, "secret"))
	var log bytes.Buffer
	w, err := NewWatch(Source{Path: path, Password: "secret"}, time.Minute, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	is := func(after time.Duration, want string) {
		t.Helper()
		if name := w.certificate(at.Add(after)).Leaf.Subject.CommonName; name != want {
			t.Errorf("after %v it is %s, want %s", after, name, want)
		}
	}
	write(t, path, second.pkcs12(t, "secret"))
	if err := os.Chtimes(path, at, at.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	is(30*time.Second, "first")
	is(2*time.Minute, "second")
	write(t, path, []byte("0 damaged"))
	is(4*time.Minute, "second")
	if !strings.Contains(log.String(), "is not read anew") || !strings.Contains(log.String(), "certificate read anew") {
		t.Errorf("logged %s", log.String())
	}
	write(t, path, first.pkcs12(t, "secret"))
	is(6*time.Minute, "first")

	server, client := net.Pipe()
	go tls.Server(server, w.Config()).Handshake()
	roots := x509.NewCertPool()
	roots.AddCert(first.authority)
	c := tls.Client(client, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
	if err := c.Handshake(); err != nil || c.ConnectionState().Version < tls.VersionTLS12 {
		t.Errorf("handshake: %v", err)
	}
}

// Stores of any bytes are read or refused.
func FuzzParse(f *testing.F) {
	m := newMade(f, "rm")
	certificates, key := m.pem(f)
	f.Add(m.jks(f, "secret", "secret"))
	f.Add(m.pkcs12(f, "secret"))
	f.Add(append(certificates, key...))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := Source{Password: "secret"}
		if c, err := s.parse(text); err == nil && (len(c.Certificate) == 0 || c.PrivateKey == nil) {
			t.Error("a certificate without a key")
		}
	})
}
