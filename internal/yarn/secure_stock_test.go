package yarn

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

const testRealm = "EXAMPLE.COM"

// A kdc is MIT's, of Debian's krb5-kdc, on a port of this machine, with a database that the test removes.
type kdc struct {
	t   *testing.T
	dir string
}

// newKDC starts a KDC, and makes all processes that the test starts use it. It skips the test where there is none.
func newKDC(t *testing.T) *kdc {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, tool := range []string{"krb5kdc", "kdb5_util", "kadmin.local", "kinit"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is missing: Debian's krb5-kdc, krb5-admin-server and krb5-user have it", tool)
		}
	}
	k := &kdc{t, t.TempDir()}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().String()
	ln.Close()
	k.write("krb5.conf", `[libdefaults]
 default_realm = `+testRealm+`
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 default_ccache_name = FILE:`+k.path("cache")+`
[realms]
 `+testRealm+` = {
  kdc = `+at+`
 }
`)
	k.write("kdc.conf", `[kdcdefaults]
 kdc_listen = `+at+`
 kdc_tcp_listen = `+at+`
[realms]
 `+testRealm+` = {
  database_name = `+k.path("principal")+`
  key_stash_file = `+k.path("stash")+`
  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
 }
`)
	t.Setenv("KRB5_CONFIG", k.path("krb5.conf"))
	t.Setenv("KRB5_KDC_PROFILE", k.path("kdc.conf"))
	t.Setenv("KRB5CCNAME", "FILE:"+k.path("cache"))
	t.Setenv("JAVA_TOOL_OPTIONS", "-Djava.security.krb5.conf="+k.path("krb5.conf"))
	k.run("kdb5_util", "create", "-s", "-P", "of the test", "-r", testRealm)
	log, err := os.Create(k.path("kdc.log"))
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("krb5kdc", "-n")
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
		log.Close()
	})
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", at); err == nil {
			conn.Close()
			return k
		}
		if time.Now().After(end) {
			t.Fatal("the KDC does not listen")
		}
	}
}

func (k *kdc) path(name string) string { return filepath.Join(k.dir, name) }

func (k *kdc) write(name, text string) {
	k.t.Helper()
	if err := os.WriteFile(k.path(name), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kdc) run(args ...string) string {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		k.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// keytab makes a principal and a keytab of it.
func (k *kdc) keytab(principal string) (path string) {
	k.t.Helper()
	path = k.path(strings.ReplaceAll(principal, "/", "-") + ".keytab")
	k.run("kadmin.local", "-q", "addprinc -randkey "+principal)
	k.run("kadmin.local", "-q", "ktadd -norandkey -k "+path+" "+principal)
	return path
}

// login makes clients act as a principal.
func (k *kdc) login(principal string) { k.run("kinit", "-kt", k.keytab(principal), principal) }

// serveSecured starts a ResourceManager in this process on the files of a cluster with Kerberos.
func (s *stock) serveSecured(k *kdc, protection string) {
	s.t.Helper()
	s.more = map[string]string{
		authentication: "kerberos", authorization: "true", rpcProtection: protection,
		authToLocal:                      "RULE:[2:$1@$0]([nj].*@" + testRealm + ")s/.*/yarn/ DEFAULT",
		"yarn.nodemanager.env-whitelist": "JAVA_HOME,HADOOP_CONF_DIR,JAVA_TOOL_OPTIONS",
	}
	for name, principal := range map[string]string{"yarn.resourcemanager": "rm/localhost",
		"yarn.nodemanager": "nm/localhost", "mapreduce.jobhistory": "jhs/localhost"} {
		s.more[name+".principal"], s.more[name+".keytab"] = principal+"@"+testRealm, k.keytab(principal)
	}
	s.choosePorts()
	dir := filepath.Join(s.dir, "conf")
	s.writeXML(filepath.Join(dir, policyFile), map[string]string{
		"security.resourcetracker.protocol.acl":           "yarn",
		"security.applicationclient.protocol.acl.blocked": "mallory",
	})
	said, _, err := Site(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	s.serve("capacity", func(c *Config) { c.Security = said.Security })
	s.asks = func(method string, q proto.Message, r proto.Decoder) error {
		call := &rpc.Call{User: "root", Body: q.Append(nil)}
		reply, err := newClient(s.rm.front).Methods[method](context.Background(), call)
		if err != nil || reply == nil {
			return err
		}
		return r.Decode(reply.Append(nil))
	}
}

// TestStockKerberos runs stock NodeManagers and clients with keytabs, under each protection. Maps alone: what serves
// the outputs of maps to reduces wants Hadoop's native library on a secured cluster, which Maven Central has not.
func TestStockKerberos(t *testing.T) {
	whole(t)
	for _, protection := range []string{"authentication", "integrity", "privacy"} {
		t.Run(protection, func(t *testing.T) {
			k := newKDC(t)
			s := newStock(t)
			s.serveSecured(k, protection)
			s.addNodes(1)
			k.login("ana")
			s.part("distributed shell", (*stock).distributedShell)
			s.part("maps", func(s *stock) { s.sleep(3, 0, 300) })
			s.part("commands", func(s *stock) {
				if r := s.newest(); r.User != "ana" || r.State != wire.AppFinished || r.Final != wire.Succeeded {
					s.t.Errorf("report %+v", r)
				}
				if out := s.run(applicationCLI, "application", "-list", "-appStates", "ALL"); !strings.Contains(out,
					"Total number of applications (application-types: [], states: ") {
					s.t.Errorf("yarn application -list said:\n%s", out)
				}
				k.login("mallory")
				out, err := s.try(applicationCLI, "application", "-list")
				if err == nil || !strings.Contains(out, "User mallory@"+testRealm+" (auth:KERBEROS) is not authorized "+
					"for protocol interface org.apache.hadoop.yarn.api.ApplicationClientProtocolPB: denied by") {
					s.t.Errorf("a user who is blocked: %v\n%s", err, out)
				}
			})
		})
	}
}
