package yarn

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// certify writes PEM files of a new certificate for 127.0.0.1, and returns a client that trusts it alone.
func certify(t *testing.T, dir string) (KeySource, *http.Client) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s := KeySource{Path: filepath.Join(dir, "rm.pem"), KeyPath: filepath.Join(dir, "rm.key")}
	for path, block := range map[string]*pem.Block{s.Path: {Type: "CERTIFICATE", Bytes: der},
		s.KeyPath: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	if signed, err := x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	} else {
		roots.AddCert(signed)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}
	return s, &http.Client{Transport: transport, Timeout: patience}
}

// REST, the page and the proxy are served by TLS alone, and reports name them so.
func TestTLS(t *testing.T) {
	source, browser := certify(t, t.TempDir())
	c := start(t, func(config *Config) {
		config.Security.TLS = &source
		config.Page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the page") })
		config.Addresses.Web = "127.0.0.1:0"
	})
	c.node()
	id := c.submit(func(s *wire.Submission) { s.Unmanaged = true })
	get := func(path, want string) {
		t.Helper()
		r, err := browser.Get("https://" + c.at.Web + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if text, _ := io.ReadAll(r.Body); !strings.Contains(string(text), want) {
			t.Errorf("%s: %s %s, want %s", path, r.Status, text, want)
		}
	}
	get("/", "the page")
	get("/ws/v1/cluster/info", `"clusterInfo"`)
	get("/proxy/"+id.String()+"/", "has no pages yet")
	if r := c.report(id); !strings.HasPrefix(r.Master.Tracking, "https://") {
		t.Errorf("pages are said to be at %s", r.Master.Tracking)
	}
	r, err := http.Get("http://" + c.at.Web + "/ws/v1/cluster/info")
	if err == nil {
		r.Body.Close()
	}
	if err == nil && r.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %s", r.Status)
	}
	old := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", c.at.Web, old); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
	u := url.URL{Scheme: "https", Host: c.at.Web, Path: "/ws/v1/cluster/apps/" + id.String() + "/state",
		RawQuery: "user.name=root"}
	q, err := http.NewRequest(http.MethodPut, u.String(), strings.NewReader(`{"state":"KILLED"}`))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	if r, err = browser.Do(q); err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if at := r.Header.Get("Location"); r.StatusCode == http.StatusAccepted && !strings.HasPrefix(at, "https://") {
		t.Errorf("killed: %s at %s", r.Status, at)
	}
}

// A cluster's own files say where the key store is, and on which port.
func TestTLSOfFiles(t *testing.T) {
	const lines = "yarn.http.policy=HTTPS_ONLY\nyarn.resourcemanager.hostname=rm.example.org\n"
	dir := site(t, lines+"yarn.resourcemanager.webapp.address=rm.example.org:1\n")
	text, err := os.ReadFile(filepath.Join(site(t, `ssl.server.keystore.location=conf/rm.jks
		ssl.server.keystore.password=secret
		ssl.server.keystore.keypassword=other`), "yarn-site.xml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "ssl-server.xml"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	config, _, err := Site(dir)
	want := KeySource{Path: filepath.Join(dir, "conf/rm.jks"), Password: "secret", KeyPassword: "other"}
	if err != nil || config.Security.TLS == nil || *config.Security.TLS != want {
		t.Fatalf("%+v, %v", config.Security.TLS, err)
	}
	if config.Addresses.Web != "rm.example.org:8090" || config.Web != "rm.example.org:8090" {
		t.Errorf("REST is at %s, said to be at %s", config.Addresses.Web, config.Web)
	}
	if err := config.Check(); err == nil || !strings.Contains(err.Error(), "conf/rm.jks") {
		t.Errorf("there is no such store: %v", err)
	}
	for _, shown := range config.Shown.Properties {
		if strings.Contains(shown.Value, "secret") {
			t.Errorf("%s is shown", shown.Name)
		}
	}
	config, _, err = Site(site(t, lines))
	if err != nil {
		t.Fatal(err)
	}
	if err := config.Check(); err == nil || !strings.Contains(err.Error(), "ssl.server.keystore.location") {
		t.Errorf("no key store is named: %v", err)
	}
	const store = "<property><name>ssl.server.keystore.location</name><value>/x</value></property>"
	_, _, err = Site(withFile(t, lines+"hadoop.security.credential.provider.path=jceks://file/x", "ssl-server.xml",
		"<configuration>"+store+"</configuration>"))
	if err == nil || !strings.Contains(err.Error(), "credential providers are not read") {
		t.Errorf("a password elsewhere: %v", err)
	}
}

// Where REST is served by TLS alone, so are the pages of NodeManagers: links to them say so.
func TestLinksToNodes(t *testing.T) {
	for _, secure := range []bool{false, true} {
		f := newFew(t)
		want := "http://"
		if secure {
			f.m.config.Security.TLS, want = &KeySource{}, "https://"
		}
		app := f.m.apps.byID[f.managed(nil)]
		r := app.current().master.report()
		var text bytes.Buffer
		s := see(app, "user")
		writeJSON(&text, body{"app", bodyOfApp(&s.report, s.now, s.cluster, s.at)})
		for what, link := range map[string]string{"its container": r.Log, "its container's node": r.NodeAddress,
			"its attempt": bodyOfAttempt(app.current()).Logs} {
			if !strings.HasPrefix(link, want) {
				t.Errorf("%s is at %s, want %s...", what, link, want)
			}
		}
		if !strings.Contains(text.String(), `"amContainerLogs":"`+want) {
			t.Errorf("it is told of as %s", &text)
		}
	}
}
