package yarn

import (
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
	top := newTopology(nil, script)
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
