package yarn

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// DefaultRack is the rack of hosts of which nothing is said.
const DefaultRack = "/default-rack"

// scriptTime bounds how long the operator's script may take to tell a host's rack.
const scriptTime = 30 * time.Second

// A topology knows the racks of hosts: by the table that it was given, and by the operator's script, which is asked once for each host. It may be used
// by many goroutines.
type topology struct {
	script string // net.topology.script.file.name; "": none

	mu    sync.Mutex
	known map[string]string
}

func newTopology(racks map[string]string, script string) *topology {
	t := &topology{script: script, known: map[string]string{}}
	maps.Copy(t.known, racks)
	return t
}

// of returns the rack of a host as far as it is known.
func (t *topology) of(host string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if rack := t.known[host]; rack != "" {
		return rack
	}
	return DefaultRack
}

// learn asks the script for a host's rack, where nobody has. It may take as long as the script does.
func (t *topology) learn(ctx context.Context, host string) error {
	t.mu.Lock()
	_, known := t.known[host]
	t.mu.Unlock()
	if known || t.script == "" {
		return nil
	}
	if strings.HasPrefix(host, "-") {
		return fmt.Errorf("host %q: must be a name or an address", host)
	}
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, t.script, host).Output()
	if err != nil {
		return fmt.Errorf("ask %s for the rack of %s: %w", t.script, host, err)
	}
	rack := strings.Fields(string(out))
	if len(rack) != 1 || !strings.HasPrefix(rack[0], "/") {
		return fmt.Errorf("ask %s for the rack of %s: got %.100q, must be a path like /rack1", t.script, host, out)
	}
	t.mu.Lock()
	t.known[host] = rack[0]
	t.mu.Unlock()
	return nil
}

// parseRacks reads a table of racks (net.topology.table.file.name): a host and a rack a line, comments after #.
func parseRacks(file string, text []byte) (map[string]string, error) {
	racks := map[string]string{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		switch f := strings.Fields(line); {
		case len(f) == 0:
		case len(f) == 2 && strings.HasPrefix(f[1], "/"):
			racks[f[0]] = f[1]
		default:
			return nil, fmt.Errorf("%s:%d: must be a host and a rack, like: node7 /rack1", file, n)
		}
	}
	return racks, nil
}
