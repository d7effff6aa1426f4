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

// A picture that cannot be drawn takes no result away: the table comes first, and the error says why.
func TestUndrawnPictures(t *testing.T) {
	trace := writeFile(t, "zero.yaml", "jobs:\n- {name: a, submit: 0s, maps: {count: 2, time: 0s}}\n")
	for kind, why := range map[string]string{
		"tail":        "no job that has succeeded took any time",
		"difference":  "no job has succeeded, in some time, under the first policy and under another",
		"utilisation": "nothing ran for any time",
	} {
		path := filepath.Join(t.TempDir(), "{policy}.svg")
		args := []string{"sim", "--trace", trace, "--cluster", failingCluster, "--policy", "fifo,fair", "--plot",
			kind + "=" + path}
		status, out, errs := sojourn(t, args...)
		if status != statusFailed || !strings.Contains(out, "MAKESPAN") || !strings.Contains(out, "fair") ||
			!strings.Contains(errs, "there is nothing to draw: "+why) {
			t.Errorf("%s: exit status %d\n%s%s", kind, status, out, errs)
		}
		if list, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); err != nil || len(list) > 0 {
			t.Errorf("%s: %v is left, %v", kind, list, err)
		}
	}
}
