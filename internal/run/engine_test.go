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
