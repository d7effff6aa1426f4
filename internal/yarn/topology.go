package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultRack is the rack of hosts that are not named.
const DefaultRack = "/default-rack"

// Bounds on the operator's script.
const (
	scriptTime   = 30 * time.Second // to print a host's rack
	scriptWait   = time.Minute      // for others to end; with scriptTime, less than NodeManagers wait
	scriptLinger = time.Second      // from its end to that of a child that holds its output open
	scriptOutput = 4 << 10          // bytes
	mostScripts  = 16               // at once
	mostHosts    = 100_000          // whose racks are kept
)

// A topology knows the racks of hosts: by the table that it was given, and by the operator's script, which is asked
// once for each host. As Hadoop does, both are asked by the address of a host where there is one; the table by its name
// as well. It may be used by many goroutines.
type topology struct {
	script    string            // net.topology.script.file.name; "": none
	table     map[string]string // racks by host, as spelled writes it
	addressed bool              // the table names addresses
	resolver  *resolver
	asked     chan struct{} // scripts that run

	mu     sync.Mutex
	known  map[string]string // racks of hosts that were learned: half of mostHosts at most
	before map[string]string // those that were learned before known was begun, when it was full the last time
}

func newTopology(racks map[string]string, script string, r *resolver) *topology {
	t := &topology{script: script, table: map[string]string{}, resolver: r, known: map[string]string{},
		asked: make(chan struct{}, mostScripts)}
	for host, rack := range racks {
		t.table[spelled(host)] = rack
		t.addressed = t.addressed || isAddress(host)
	}
	return t
}

// of returns the rack of a host as far as it is known.
func (t *topology) of(host string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.learned(host), t.table[spelled(host)], DefaultRack)
}

// learned returns the rack of a host that was learned and is still kept; "": there is none. The caller holds t.mu.
func (t *topology) learned(host string) string { return cmp.Or(t.known[host], t.before[host]) }

// learn finds out a host's rack, where that is not known yet: by the addresses of the host, which it looks up, and by
// the script. It may take as long as these do. A host whose addresses are not found counts by its name.
func (t *topology) learn(ctx context.Context, host string) error {
	if t.knows(host) {
		return nil
	}
	if strings.HasPrefix(host, "-") || !wellNamed(host) || strings.Contains(host, " ") {
		return fmt.Errorf("host %.200q: must be a name or an address", host)
	}
	unresolved := t.resolver.learn(ctx, host)
	names := t.resolver.names(host)
	for _, name := range slices.Backward(names) { // the name itself is the first
		if rack := t.table[name]; rack != "" {
			t.keep(host, rack)
			return nil
		}
	}
	if t.script == "" {
		return unresolved
	}
	rack, err := t.ask(ctx, host, preferred(names))
	if err != nil || rack == "" {
		return err
	}
	t.keep(host, rack)
	return nil
}

// preferred returns by which of its names, which are resolver.names, the script is asked for a host: by an address, of
// IPv4 if there is one, as Java does, else by its name.
func preferred(names []string) string {
	if i := slices.IndexFunc(names[1:], func(a string) bool { return !strings.Contains(a, ":") }); i >= 0 {
		return names[1+i]
	}
	return names[min(1, len(names)-1)]
}

// ask asks the script for the rack of a host by one of its names; "": another call has asked meanwhile.
func (t *topology) ask(ctx context.Context, host, name string) (string, error) {
	select {
	case t.asked <- struct{}{}:
		defer func() { <-t.asked }()
	case <-time.After(scriptWait):
		return "", fmt.Errorf("ask %s for the rack of %s: %d of it run, and none ends", t.script, host, mostScripts)
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t.knows(host) {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	var out beginning
	cmd := exec.CommandContext(ctx, t.script, name)
	cmd.Stdout, cmd.WaitDelay = &out, scriptLinger
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("ask %s for the rack of %s: %w", t.script, name, err)
	}
	rack := strings.Fields(string(out.text))
	if len(rack) != 1 || !isRackPath(rack[0]) {
		return "", fmt.Errorf("ask %s for the rack of %s: got %.100q, must be a path like /rack1", t.script, name,
			out.text)
	}
	return strings.TrimSuffix(rack[0], "/"), nil
}

// isRackPath reports whether text names a rack: parts of printable characters, each after a slash. One slash at the end
// does not count, as in Hadoop.
func isRackPath(text string) bool {
	parts := strings.Split(strings.TrimSuffix(text, "/"), "/")
	return len(parts) > 1 && parts[0] == "" && !slices.Contains(parts[1:], "") && wellNamed(text)
}

// keep notes the rack of a host. When many were learned since, it is forgotten: nodes keep their racks, and the host of
// a node that registers later is asked for again.
func (t *topology) keep(host, rack string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= mostHosts/2 {
		t.before, t.known = t.known, map[string]string{}
	}
	t.known[host] = rack
}

// knows reports whether there is nothing more to find out about the rack of a host.
func (t *topology) knows(host string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.learned(host) != "" || !t.addressed && (t.script == "" || t.table[spelled(host)] != "")
}

// A beginning keeps the first scriptOutput bytes of what is written to it.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), scriptOutput-len(b.text))]...)
	return len(p), nil
}

// parseRacks reads a table of racks (net.topology.table.file.name): a host and a rack a line, comments after #.
func parseRacks(file string, text []byte) (map[string]string, error) {
	racks := map[string]string{}
	err := eachLine(file, text, func(f []string) error {
		switch {
		case len(f) != 2:
			return errors.New("must be a host and a rack, like: node7 /rack1")
		case !wellNamed(f[0]):
			return fmt.Errorf("host %.100q: must be a name or an address", f[0])
		case !isRackPath(f[1]):
			return fmt.Errorf("rack %.100q: must be a path like /rack1", f[1])
		}
		racks[f[0]] = strings.TrimSuffix(f[1], "/")
		return nil
	})
	if err != nil {
		return nil, err
	}
	return racks, nil
}

// eachLine calls do with the fields of each line of a file that has any. # begins a comment. The error of do gets the
// name of the file and the line.
func eachLine(file string, text []byte, do func(fields []string) error) error {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) > 0 {
			if err := do(f); err != nil {
				return fmt.Errorf("%s:%d: %w", file, n, err)
			}
		}
	}
	return nil
}
