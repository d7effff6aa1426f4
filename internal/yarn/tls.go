package yarn

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/keystore"
)

// A KeySource says where the key and the certificates of REST are: a key store of Java's (JKS or PKCS12), or PEM files.
type KeySource = keystore.Source

// httpPolicy is the property that says whether REST is served by TLS. With httpsOnly it is.
const httpPolicy, httpsOnly = "yarn.http.policy", "HTTPS_ONLY"

// Properties of ssl-server.xml.
const (
	sslFile        = "hadoop.ssl.server.conf"
	storeLocation  = "ssl.server.keystore.location"
	storePassword  = "ssl.server.keystore.password"
	keyPassword    = "ssl.server.keystore.keypassword"
	providerOfKeys = "hadoop.security.credential.provider.path"
)

// secureWeb reports whether REST is served by TLS.
func (p *properties) secureWeb() bool {
	return strings.EqualFold(p.text(httpPolicy, ""), httpsOnly)
}

// webName names the property, below yarn.resourcemanager., that says where REST is, and its usual port.
func webName(p *properties) (name, port string) {
	const open, secure = "webapp.address", "webapp.https.address"
	// Only one of them is read. Both are marked as used, so that the other one gets no note.
	p.used["yarn.resourcemanager."+open], p.used["yarn.resourcemanager."+secure] = true, true
	if p.secureWeb() {
		return secure, "8090"
	}
	return open, "8088"
}

// keySourceOf reads where the key and the certificates of REST are, from the file that hadoop.ssl.server.conf names
// (ssl-server.xml) in a folder. Without such a file, or without a key store in it, Path is "".
func keySourceOf(p *properties, dir string) (s KeySource) {
	name := p.text(sslFile, "ssl-server.xml")
	q, _, err := readProperties(dir, "core-site.xml", "yarn-site.xml", name)
	if err != nil {
		p.wrong = append(p.wrong, err)
		return s
	}
	if s.Path = q.text(storeLocation, ""); s.Path == "" {
		return s
	}
	if !filepath.IsAbs(s.Path) {
		s.Path = filepath.Join(dir, s.Path)
	}
	s.Password, s.KeyPassword = q.text(storePassword, ""), q.text(keyPassword, "")
	if provider := q.text(providerOfKeys, ""); s.Password == "" && provider != "" {
		p.wrong = append(p.wrong, fmt.Errorf("%s: property %s is %q: must be absent, and %s said in %s: "+
			"credential providers are not read", q.values[providerOfKeys].file, providerOfKeys, provider,
			storePassword, name))
	}
	p.wrong = append(p.wrong, q.wrong...)
	return s
}

// scheme begins the URLs of this process: http, or https where REST is served by TLS.
func (c *Config) scheme() string {
	if c.Security.TLS != nil {
		return "https"
	}
	return "http"
}

// tls returns the configuration of TLS for REST, with the certificate; nil: REST is served without TLS.
func (c *Config) tls() (*tls.Config, error) {
	s := c.Security.TLS
	if s == nil {
		return nil, nil
	}
	w, err := keystore.NewWatch(*s, keystore.Every, c.Log)
	if err != nil {
		return nil, err
	}
	return w.Config(), nil
}
