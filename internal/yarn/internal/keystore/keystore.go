// Package keystore reads the private key and the certificates of a TLS server from what Hadoop's clusters keep them in:
// Java's key stores (JKS, PKCS12), or PEM files. It reads them again when they change.
package keystore

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	jks "github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/sojourn-sched/sojourn/internal/safefile"
)

// mostBytes bounds the files that are read.
const mostBytes = 4 << 20

// A Source says where a server's key and certificates are.
type Source struct {
	// Path is a key store of Java's, JKS or PKCS12, whatever its name ends with, or a PEM file of certificates, the
	// server's own first.
	Path string
	// KeyPath is the PEM file of the private key; "": Path has the key.
	KeyPath string
	// Password opens a key store. KeyPassword opens the key in a JKS; "": Password does.
	Password, KeyPassword string
}

// The first bytes of key stores.
var (
	magicJKS   = []byte{0xfe, 0xed, 0xfe, 0xed}
	magicJCEKS = []byte{0xce, 0xce, 0xce, 0xce}
	magicPEM   = []byte("-----BEGIN")
)

// Read reads the key and the certificates. Errors name the file.
func (s *Source) Read() (*tls.Certificate, error) {
	text, err := safefile.Read(s.Path, mostBytes)
	if err != nil {
		return nil, err
	}
	var c *tls.Certificate
	if s.KeyPath == "" {
		c, err = s.parse(text)
	} else {
		var key []byte
		if key, err = safefile.Read(s.KeyPath, mostBytes); err == nil {
			c, err = parsePEM(text, key)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read key and certificates of %s: %w", s.Path, err)
	}
	return c, nil
}

// parse reads a key store, whose kind its first bytes say: files that Java calls JKS may be PKCS12.
func (s *Source) parse(text []byte) (*tls.Certificate, error) {
	switch {
	case bytes.HasPrefix(text, magicJKS):
		return s.parseJKS(text)
	case bytes.HasPrefix(text, magicJCEKS):
		return nil, errors.New("a JCEKS store: must be JKS, PKCS12 or PEM (keytool -importkeystore converts it)")
	case bytes.HasPrefix(bytes.TrimSpace(text), magicPEM):
		return parsePEM(text, text)
	}
	key, own, others, err := pkcs12.DecodeChain(text, s.Password)
	if err != nil {
		return nil, fmt.Errorf("as PKCS12: %w", err)
	}
	return join(key, append([]*x509.Certificate{own}, others...))
}

// parseJKS reads the first private key of a JKS, in the order of the aliases.
func (s *Source) parseJKS(text []byte) (*tls.Certificate, error) {
	if beyond(text) {
		return nil, errors.New("as JKS: a length in it goes beyond its end: it is damaged")
	}
	store := jks.New(jks.WithOrderedAliases())
	if err := store.Load(bytes.NewReader(text), []byte(s.Password)); err != nil {
		return nil, fmt.Errorf("as JKS: %w", err)
	}
	password := s.KeyPassword
	if password == "" {
		password = s.Password
	}
	for _, alias := range store.Aliases() {
		if !store.IsPrivateKeyEntry(alias) {
			continue
		}
		entry, err := store.GetPrivateKeyEntry(alias, []byte(password))
		if err != nil {
			return nil, fmt.Errorf("as JKS: key %s: %w", alias, err)
		}
		key, err := x509.ParsePKCS8PrivateKey(entry.PrivateKey)
		if err != nil {
			return nil, fmt.Errorf("as JKS: key %s: %w", alias, err)
		}
		var chain []*x509.Certificate
		for _, one := range entry.CertificateChain {
			c, err := x509.ParseCertificate(one.Content)
			if err != nil {
				return nil, fmt.Errorf("as JKS: certificate of %s: %w", alias, err)
			}
			chain = append(chain, c)
		}
		return join(key, chain)
	}
	return nil, errors.New("as JKS: there is no private key in it")
}

// beyond reports whether a length or a count in a JKS goes beyond its end. The library allocates what they say before
// it reads.
func beyond(text []byte) (failed bool) {
	rest := text[len(magicJKS):]
	take := func(n uint32) (part []byte) {
		if uint64(n) > uint64(len(rest)) {
			failed, rest = true, nil
			return nil
		}
		part, rest = rest[:n], rest[n:]
		return part
	}
	number := func(size uint32) (n uint32) {
		for _, one := range take(size) {
			n = n<<8 | uint32(one)
		}
		return n
	}
	const privateKey, typed = 1, 2 // the tag of an entry, the version from which certificates say their type
	version := number(4)
	for entries := number(4); entries > 0 && !failed; entries-- {
		tag, certificates := number(4), uint32(1)
		take(number(2)) // alias
		take(8)         // time
		if tag == privateKey {
			take(number(4))
			certificates = number(4)
			failed = failed || uint64(certificates) > uint64(len(rest)/4)
		}
		for ; certificates > 0 && !failed; certificates-- {
			if version >= typed {
				take(number(2))
			}
			take(number(4))
		}
	}
	return failed
}

// parsePEM reads certificates and a key.
func parsePEM(certificates, key []byte) (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(certificates, key)
	return &c, err
}

// join puts a key and its certificates together, the key's own first.
func join(key any, chain []*x509.Certificate) (*tls.Certificate, error) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T cannot sign", key)
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	own := slices.IndexFunc(chain, func(c *x509.Certificate) bool { return ok && public.Equal(c.PublicKey) })
	if own < 0 {
		return nil, errors.New("no certificate in it is that of the private key")
	}
	c := &tls.Certificate{PrivateKey: key, Leaf: chain[own], Certificate: [][]byte{chain[own].Raw}}
	for i, one := range chain {
		if i != own {
			c.Certificate = append(c.Certificate, one.Raw)
		}
	}
	return c, nil
}
