package yarn

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// writePolicy writes hadoop-policy.xml into a folder.
func writePolicy(t *testing.T, dir, properties string) {
	t.Helper()
	made, err := os.ReadFile(filepath.Join(site(t, properties), "yarn-site.xml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, policyFile), made, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Who may call which protocol, from where, is read as Hadoop's ServiceAuthorizationManager reads it: the protocol's own
// property before the default's, what is blocked after what is allowed, users before hosts; refusals in its words.
func TestServices(t *testing.T) {
	dir := site(t, "hadoop.security.authorization=true\nsecurity.resourcetracker.protocol.acl=eve")
	writePolicy(t, dir, `
		security.service.authorization.default.acl=ana,bo,mallory staff
		security.service.authorization.default.acl.blocked=mallory
		security.service.authorization.default.hosts.blocked=10.9.0.0/16
		security.resourcetracker.protocol.acl=yarn
		security.resourcetracker.protocol.acl.blocked=
		security.resourcetracker.protocol.hosts=10.1.0.0/16,192.168.7.9
		security.resourcemanager-administration.protocol.acl=
		security.applicationmaster.protocol.acl=*
		security.ha.service.protocol.acl=zkfc`)
	config, notes, err := Site(dir)
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	config.Access.Groups = func(user string) ([]string, error) {
		return map[string][]string{"cy": {"staff"}}[user], nil
	}
	f := newFront(newManager(config.withDefaults(), Hosts{}, nil, time.Now))
	operators := newAdmin(f) // which has two protocols at a port
	f.secure(operators)
	for _, c := range []struct{ protocol, user, real, from, want string }{
		{wire.ApplicationClient, "ana", "", "10.1.2.3", ""},
		{wire.ApplicationClient, "ana", "hue", "10.1.2.3", ""},
		{wire.ApplicationClient, "cy", "", "10.1.2.3", ""},
		{wire.ApplicationClient, "mallory", "", "10.1.2.3",
			"User mallory (auth:SIMPLE) is not authorized for protocol interface " +
				"org.apache.hadoop.yarn.api.ApplicationClientProtocolPB: denied by configured ACL"},
		{wire.ApplicationClient, "dan", "hue", "10.1.2.3", "User dan (auth:PROXY) via hue (auth:SIMPLE) is not"},
		{wire.ApplicationClient, "", "", "10.1.2.3", "User  (auth:SIMPLE) is not authorized"},
		{wire.ApplicationClient, "ana", "", "10.9.2.3",
			"Host 10.9.2.3 is not authorized for protocol interface " + wire.ApplicationClient},
		{wire.ResourceTracker, "yarn", "", "10.1.2.3", ""},
		{wire.ResourceTracker, "yarn", "", "192.168.7.9", ""},
		{wire.ResourceTracker, "yarn", "", "192.168.7.8", "Host 192.168.7.8 is not authorized"},
		{wire.ResourceTracker, "yarn", "", "10.9.7.8", "Host 10.9.7.8 is not authorized"},
		{wire.ResourceTracker, "eve", "", "10.1.2.3", "User eve (auth:SIMPLE) is not authorized"},
		{wire.ResourceTracker, "ana", "", "10.1.2.3", "User ana (auth:SIMPLE) is not authorized"},
		{wire.Administration, "ana", "", "10.1.2.3", "User ana (auth:SIMPLE) is not authorized"},
		{wire.HighAvailability, "zkfc", "", "10.1.2.3", ""},
		{wire.HighAvailability, "ana", "", "10.1.2.3", "User ana (auth:SIMPLE) is not authorized"},
		{wire.Administration, "zkfc", "", "10.1.2.3", "User zkfc (auth:SIMPLE) is not authorized"},
		{wire.ApplicationMaster, "", "", "10.1.2.3", ""},
		{"org.example.Other", "ana", "", "10.1.2.3", "Protocol interface org.example.Other is not known."},
	} {
		from := &net.TCPAddr{IP: net.ParseIP(c.from)}
		err := operators.Admit(c.protocol, &rpc.Call{User: c.user, Real: c.real, Remote: from})
		if c.want == "" && err != nil || c.want != "" && (class(err) != classAuthorization ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s for %s of %s: %v, want %q", c.protocol, c.user, c.from, err, c.want)
		}
	}
}

// Without a file of lists all may call, which is said; without the switch, lists do not count.
func TestServicesAreOff(t *testing.T) {
	dir := site(t, "hadoop.security.authorization=true")
	config, notes, err := Site(dir)
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "there is no hadoop-policy.xml") {
		t.Errorf("no file: %q, %v", notes, err)
	}
	if s := config.Security.Services[wire.ApplicationClient]; !s.Allowed.Everybody || !onHosts(s.Hosts, "10.0.0.1") ||
		s.Blocked.has("ana", nil) || onHosts(s.BlockedHosts, "10.0.0.1") {
		t.Errorf("no file: %+v", s)
	}
	dir = site(t, "hadoop.security.authorization=false")
	writePolicy(t, dir, "security.applicationclient.protocol.acl=nobody")
	if config, _, err = Site(dir); err != nil || config.Security.Services != nil {
		t.Errorf("off: %+v, %v", config.Security.Services, err)
	}
	for _, wrong := range []string{"hosts=10.0.0.0/99", "hosts.blocked=10.0.0.1,*"} {
		dir = site(t, "hadoop.security.authorization=true")
		writePolicy(t, dir, "security.applicationclient.protocol."+wrong)
		_, _, err = Site(dir)
		name, _, _ := strings.Cut(wrong, "=")
		if err == nil || !strings.Contains(err.Error(), "hadoop-policy.xml: property security.applicationclient."+
			"protocol."+name+" is ") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// Lists count on the wire, for all four protocols, and as they are when an operator has them read again.
func TestServicesOnTheWire(t *testing.T) {
	dir := site(t, "hadoop.security.authorization=true")
	const nobody = "security.applicationmaster.protocol.acl=nobody\n"
	writePolicy(t, dir, nobody+
		"security.applicationclient.protocol.acl=ana\nsecurity.resourcetracker.protocol.acl=yarn")
	said, _, err := Site(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, func(config *Config) { config.Security = said.Security })
	calls := func(protocol, address, user, method string) error {
		d := rpc.Dialer{Protocol: protocol, User: user}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		client, err := d.Dial(ctx, address)
		if err != nil {
			return err
		}
		defer client.Close()
		return client.Call(ctx, method, &wire.Empty{}, nil)
	}
	refused := func(what string, err error) {
		t.Helper()
		if e := new(rpc.Error); !errors.As(err, &e) || e.Class != classAuthorization || !e.Fatal() {
			t.Errorf("%s: %v, want %s", what, err, classAuthorization)
		}
	}
	if err := calls(wire.ApplicationClient, c.at.Client, "ana", "getNewApplication"); err != nil {
		t.Errorf("ana: %v", err)
	}
	refused("bo", calls(wire.ApplicationClient, c.at.Client, "bo", "getNewApplication"))
	refused("ana as a node", calls(wire.ResourceTracker, c.at.Tracker, "ana", "registerNodeManager"))
	if err := calls(wire.ResourceTracker, c.at.Tracker, "yarn", "unRegisterNodeManager"); err != nil {
		t.Errorf("yarn as a node: %v", err)
	}
	writePolicy(t, dir, nobody+"security.applicationclient.protocol.acl=bo\n"+
		"security.resourcemanager-administration.protocol.acl=root")
	if err := calls(wire.Administration, c.at.Admin, "eve", "refreshServiceAcls"); class(err) != classAccess {
		t.Errorf("a stranger refreshes: %v", err)
	}
	if err := calls(wire.Administration, c.at.Admin, "root", "refreshServiceAcls"); err != nil {
		t.Fatal(err)
	}
	if err := calls(wire.ApplicationClient, c.at.Client, "bo", "getNewApplication"); err != nil {
		t.Errorf("bo: %v", err)
	}
	refused("ana", calls(wire.ApplicationClient, c.at.Client, "ana", "getNewApplication"))
	refused("eve administers", calls(wire.Administration, c.at.Admin, "eve", "refreshNodes"))
	if err := os.WriteFile(filepath.Join(dir, policyFile), []byte("<configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := calls(wire.Administration, c.at.Admin, "root", "refreshServiceAcls"); class(err) != classYARN {
		t.Errorf("a damaged file: %v", err)
	}
	refused("ana after a damaged file", calls(wire.ApplicationClient, c.at.Client, "ana", "getNewApplication"))
}

// Lists of any text are read or refused, and what is read names each protocol.
func FuzzServices(f *testing.F) {
	f.Add(`<configuration><property><name>security.resourcetracker.protocol.hosts</name>
		<value>10.0.0.0/8, node7</value></property></configuration>`)
	f.Add(`<configuration><property><name>security.service.authorization.default.acl.blocked</name>
		<value>eve staff</value></property></configuration>`)
	f.Fuzz(func(t *testing.T, text string) {
		p := &properties{values: map[string]property{}, used: map[string]bool{}}
		if p.read(policyFile, []byte(text)) != nil {
			return
		}
		if s := p.lists(); len(s) != len(serviceNames) {
			t.Errorf("%d lists", len(s))
		}
	})
}
