package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlots draws every kind of picture of two simulated runs, as SVG and as PNG, and looks for what must be in each.
func TestPlots(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	args := []string{"sim", "--trace", "../examples/queues.yaml", "--cluster", "nodes=4,map-slots=2,reduce-slots=1",
		"--policy", "fifo,fair", "-q", "--plot", at("sojourn.svg"), "--plot", "tail=" + at("tail.svg"),
		"--plot", "difference=" + at("difference.svg"), "--plot", "utilisation=" + at("u-{policy}.svg"),
		"--plot", "shares=" + at("s-{policy}.svg"), "--plot", "gantt=" + at("g-{policy}.PNG")}
	must(t, args...)
	for name, words := range map[string]string{
		"sojourn.svg": "Sojourn times|fifo|fair", "tail.svg": "the tail|fair",
		"difference.svg": "against fifo|fair", "u-fair.svg": "Utilisation under fair|map-slots",
		"s-fifo.svg": "Shares of queues under fifo", "g-fifo.PNG": "\x89PNG"} {
		text, err := os.ReadFile(at(name))
		if err != nil {
			t.Error(err)
		}
		for part := range strings.SplitSeq(words, "|") {
			if !bytes.Contains(text, []byte(part)) {
				t.Errorf("%s lacks %q", name, part)
			}
		}
	}
	for text, says := range map[string]string{
		"cake=" + at("x.svg"):  "is no kind of picture: there are sojourn",
		"gantt=" + at("x.svg"): "{policy}",
		at("sojourn.svg"):      "exists",
		"shares=" + dir + "/{policy}.svg --plot-axis round": "must be auto, linear or log",
	} {
		words := append([]string{"sim", "--trace", "../examples/queues.yaml", "--policy", "fifo,fair", "--plot"},
			strings.Fields(text)...)
		if status, _, errs := sojourn(t, words...); status != statusUsage || !strings.Contains(errs, says) {
			t.Errorf("--plot %s: exit status %d, %s; must be 2 and %q", text, status, errs, says)
		}
	}
	for _, c := range []struct{ verb, plot, says string }{
		{"fluid", "gantt=" + at("y.svg"), "there are sojourn, tail, difference"},
		{"sim", "difference=" + at("y.svg"), "needs two policies"},
	} {
		status, _, errs := sojourn(t, c.verb, "--trace", "../examples/queues.yaml", "--policy", "fifo", "--plot",
			c.plot)
		if status != statusUsage || !strings.Contains(errs, c.says) {
			t.Errorf("%s --plot %s: exit status %d, %s; must be 2 and %q", c.verb, c.plot, status, errs, c.says)
		}
	}
}
