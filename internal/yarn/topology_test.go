package yarn

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// rackScript writes a script that prints racks.
func rackScript(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rack")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Racks are asked for by the addresses of a host, as in Hadoop, in a table by its name as well. The script gets an
// address of IPv4 if there is one. A host whose addresses are not found counts by its name, and is looked up again.
func TestRacksByAddress(t *testing.T) {
	names := &fakeNames{}
	names.say("a", "10.0.0.1")
	names.say("b", "2001:db8::2", "10.0.0.2")
	names.say("c", "10.0.0.3")
	names.say("e", "2001:db8::5")
	script := rackScript(t, "echo /by-script/$1\n")
	table := map[string]string{"10.0.0.1": "/one", "a": "/by-name", "2001:DB8:0::2": "/two", "c": "/three",
		"d": "/four", "10.0.0.9": "/nine"}
	for _, c := range []struct {
		what   string
		table  map[string]string
		script string
		host   string
		rack   string // "": an error, and DefaultRack
		asked  bool   // for addresses
	}{
		{"the address goes before the name", table, "", "a", "/one", true},
		{"any address counts, in any spelling", table, script, "b", "/two", true},
		{"no address is in the table", table, "", "c", "/three", true},
		{"no address is found", table, "", "d", "/four", true},
		{"an address as a name", table, "", "10.0.0.9", "/nine", false},
		{"nothing is found", table, "", "x", "", true},
		{"a table of names", map[string]string{"a": "/by-name"}, "", "a", "/by-name", false},
		{"a table of names before the script", map[string]string{"a": "/by-name"}, script, "a", "/by-name", false},
		{"the script gets the address", nil, script, "a", "/by-script/10.0.0.1", true},
		{"of IPv4 if there is one", nil, script, "b", "/by-script/10.0.0.2", true},
		{"else of IPv6", nil, script, "e", "/by-script/2001:db8::5", true},
		{"else the name", nil, script, "x", "/by-script/x", true},
	} {
		top := newTopology(c.table, c.script, newResolver(names.lookUp))
		names.forget()
		err := top.learn(t.Context(), c.host)
		if want := cmp.Or(c.rack, DefaultRack); top.of(c.host) != want || (err != nil) != (c.rack == "") {
			t.Errorf("%s: %s is in %s, error %v; want %s", c.what, c.host, top.of(c.host), err, want)
		}
		if asked := len(names.forget()) > 0; asked != c.asked {
			t.Errorf("%s: asked for addresses %v, want %v", c.what, asked, c.asked)
		}
	}
}

// A child that a script leaves with its output open is not waited for: it may live for ever.
func TestScriptThatLeavesAChild(t *testing.T) {
	script := rackScript(t, "sleep 300 &\necho $! > $0.pid\necho /one\n")
	t.Cleanup(func() {
		text, _ := os.ReadFile(script + ".pid")
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
			if child, err := os.FindProcess(pid); err == nil {
				child.Kill()
			}
		}
	})
	began := time.Now()
	top := newTopology(nil, script, newResolver((&fakeNames{}).lookUp))
	if err := top.learn(t.Context(), "a"); err != nil || top.of("a") != "/one" {
		t.Errorf("%v: rack %s", err, top.of("a"))
	}
	if took := time.Since(began); took > 200*time.Second { // the child lives for 300
		t.Errorf("the child was waited for: %v", took)
	}
}

func TestScriptOutputIsBounded(t *testing.T) {
	var out beginning
	for range 3 {
		if n, err := out.Write(make([]byte, scriptOutput-96)); n != scriptOutput-96 || err != nil {
			t.Errorf("%d, %v: a script that writes more must not end by that", n, err)
		}
	}
	if len(out.text) != scriptOutput {
		t.Errorf("%d bytes are kept", len(out.text))
	}
}

// No program is run for hosts that may not join, nor for what is no name.
func TestStrangersRunNoScript(t *testing.T) {
	script := rackScript(t, "echo \"$1\" >> $0.runs\necho /one\n")
	c := start(t, func(config *Config) {
		config.RackScript = script
		config.Hosts = func() (Hosts, error) { return Hosts{Excluded: []string{"evil"}}, nil }
	})
	c.look(func(m *manager) { m.nodes.resolver.lookUp = (&fakeNames{}).lookUp })
	tracker := c.tracker()
	for _, host := range []string{"evil", "a b", "a\x01", "good"} {
		q := registration(7, wire.Resource{Memory: 4096, VCores: 4})
		q.Node.Host = host
		invoke[wire.RegisterNodeResponse](c, tracker, "registerNodeManager", q)
	}
	if runs, _ := os.ReadFile(script + ".runs"); string(runs) != "good\n" {
		t.Errorf("the script ran for %q", runs)
	}
	c.look(func(m *manager) {
		if rack := m.nodes.topology.of("good"); rack != "/one" {
			t.Errorf("rack %s", rack)
		}
	})
}

// However many hosts come, the racks of mostHosts are kept at most, and those of the last half of them at least. A host
// that was forgotten is asked for again.
func TestRacksAreForgotten(t *testing.T) {
	top := newTopology(nil, rackScript(t, "echo /by-script\n"), newResolver((&fakeNames{}).lookUp))
	for i := range 3 * mostHosts {
		top.keep(strconv.Itoa(i), "/kept")
		if n := len(top.known) + len(top.before); n > mostHosts {
			t.Fatalf("the racks of %d hosts are kept", n)
		}
	}
	for i := range mostHosts / 2 {
		if rack := top.of(strconv.Itoa(3*mostHosts - 1 - i)); rack != "/kept" {
			t.Fatalf("host %d from the last is in %s", i, rack)
		}
	}
	if rack := top.of("0"); rack != DefaultRack {
		t.Errorf("the first host is in %s", rack)
	}
	for _, host := range []string{"0", "a"} {
		_ = top.learn(t.Context(), host) // its addresses are not found
		if rack := top.of(host); rack != "/by-script" {
			t.Errorf("%s is in %s", host, rack)
		}
	}
}

// A table with what is no name of a host or of a rack is refused, with its line. So is such a rack of a script.
func TestRacksThatAreNone(t *testing.T) {
	for rack, right := range map[string]bool{"/one": true, "/room 1/rack-2.3_b": false, "/room1/rack-2.3_b": true,
		"one": false, "/": false, "//one": false, "/one/": true, "/one//": false, "//": false, "/one//two": false,
		"/o\x01ne": false, "/o\x7fne": false, "/o\xffne": false} {
		racks, err := parseRacks("racks", []byte("a /one\nb "+rack+"\n"))
		if right && racks["b"] != strings.TrimSuffix(rack, "/") {
			t.Errorf("%q in a table is %q", rack, racks["b"])
		}
		if right != (err == nil) || !right && !strings.HasPrefix(err.Error(), "racks:2: ") {
			t.Errorf("%q in a table: %v", rack, err)
		}
		top := newTopology(nil, rackScript(t, "printf '%s\n' '"+rack+"'\n"), newResolver((&fakeNames{}).lookUp))
		if err := top.learn(t.Context(), "10.0.0.1"); right != (err == nil) {
			t.Errorf("%q of a script: %v", rack, err)
		}
	}
	_, err := parseRacks("racks", []byte("a\x01 /one\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "racks:1: host ") {
		t.Errorf("a host: %v", err)
	}
}
