package run

import (
	"slices"
	"strings"
	"testing"
)

// What has no effect is remarked on, and not refused.
func TestRemarks(t *testing.T) {
	for _, c := range []struct {
		spec, estimator string
		on              Engine
		says            string
	}{
		{"mrorder", "oracle", Simulator, ""},
		{"fspy", "oracle", Simulator, ""},
		{"probe{srpt}", "fspy:fit=relative", Simulator, ""},
		{"late{fspy}", "fspy", Embedded, ""},
		{"late{fspy}", "", Embedded, ""},
		{"late{mrorder:goal=makespan}", "fspy", Simulator, "use --policy 'probe{late{mrorder:goal=makespan}}'"},
		{"late{probe{gittins}}", "oracle", Simulator, "learns nothing: use --estimator fspy"},
		{"fspy", "mean", Embedded, "use --estimator fspy for policy fspy"},
		{
			"fspy", "history", Manager,
			"a ResourceManager runs no probes: policy fspy uses the sizes that --estimator history knows",
		},
		{"mrorder", "fspy", Manager, "use --estimator history"},
	} {
		got := strings.Join(BuiltIn.Remarks(c.on, Choice{c.spec, c.estimator}, nil), "\n")
		if c.says == "" && got != "" || !strings.Contains(got, c.says) {
			t.Errorf("%s, %s, %s: %q, want %q in it", c.on.Verb, c.spec, c.estimator, got, c.says)
		}
	}
}

// What an engine cannot give to a policy that steers by goals is said in a sentence each, also where another policy is
// around it. What concerns a parameter is said where the parameter is used.
func TestRemarksOnEngines(t *testing.T) {
	for _, c := range []struct {
		on   Engine
		spec string
		says []string // a part of each sentence
	}{
		{Simulator, "adaptive:delays=2", nil},
		{Embedded, "adaptive:delays=0", nil},
		{Embedded, "late{adaptive:delays=2}", []string{"all input is on this machine"}},
		{Manager, "adaptive", []string{"the goal of its maps"}},
		{Manager, "adaptive:delays=2", []string{"the goal of its maps", "the tasks of a stage together"}},
		{Simulator, "hardware", nil},
		{Embedded, "hardware", nil},
		{Manager, "hardware", []string{"by the tag sojourn.accelerators"}},
		{Simulator, "late{ras}", []string{"count with what their tasks ask for"}},
		{Embedded, "ras", nil},
		{Manager, "ras", []string{"is told no bytes"}},
		{Simulator, "reverse", []string{"count with what their tasks ask for"}},
		{Embedded, "reverse:burst=suspend", nil},
		{Manager, "reverse", []string{"is told no bytes", "--availability FILE", "cannot slow or suspend containers"}},
	} {
		got := BuiltIn.Remarks(c.on, Choice{c.spec, "mean"}, nil)
		if len(got) != len(c.says) {
			t.Errorf("%s, %s: %d remarks, want %d: %q", c.on.Verb, c.spec, len(got), len(c.says), got)
			continue
		}
		for i, says := range c.says {
			if !strings.HasPrefix(got[i], "policy ") || !strings.Contains(got[i], says) {
				t.Errorf("%s, %s: %q, want %q in it", c.on.Verb, c.spec, got[i], says)
			}
		}
	}
}

// An engine refuses a policy that needs what the engine lacks, and the refusal names the engines that have it.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		spec, estimator string
		on              Engine
		says            string // "": it is served
	}{
		{"fifo", "oracle", Simulator, ""},
		{"hfsp", "mean", Embedded, ""},
		{"dynamicmr", "history", Manager, "needs an engine that can name tasks, which a ResourceManager cannot: " +
			"'sojourn sim' and 'sojourn run' can"},
		{"reverse:burst=suspend", "mean", Manager, "needs an engine that can suspend, which a ResourceManager " +
			"cannot: 'sojourn sim' and 'sojourn run' can"},
		{"probe{srpt}", "fspy", Simulator, ""},
		{"probe{srpt}", "", Embedded, ""},
		{"probe{srpt}", "mean", Simulator, "needs probes, and sojourn sim --estimator mean does not learn from them"},
		{"nosuch", "mean", Simulator, "there is no policy"},
	} {
		err := BuiltIn.Check(c.on, Choice{c.spec, c.estimator})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, %s, %s: %v, want %q", c.on.Verb, c.spec, c.estimator, err, c.says)
		}
	}
}

// The embedded engine chooses an estimator by the policy; the others take what is named.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		on         Engine
		spec, want []string // policy and estimator; estimator
	}{
		{Embedded, []string{"fifo", ""}, []string{"mean"}},
		{Embedded, []string{"probe{srpt}", ""}, []string{"fspy:least=1ms"}},
		{Embedded, []string{"fifo", "fspy:window=9"}, []string{"fspy:window=9,least=1ms"}},
		{Simulator, []string{"fifo", "fspy"}, []string{"fspy"}},
	} {
		got, _, err := BuiltIn.settle(c.on, Choice{c.spec[0], c.spec[1]})
		if err != nil || !slices.Equal([]string{got.Estimator}, c.want) {
			t.Errorf("%s of %q: %q, %v, want %q", c.on.Verb, c.spec, got.Estimator, err, c.want)
		}
	}
}

// A policy that does not exist is an error of Open, which leaves nothing behind.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []Choice{{"none", "oracle"}, {"fifo", "none"}} {
		o, err := Setup{Engine: Simulator, Names: BuiltIn, Choice: c}.Open()
		if err == nil || o != nil {
			t.Errorf("%v: %v, %v", c, o, err)
		}
	}
}
