package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// toy is a registry with one policy of each form.
var toy = Registry{
	"plain": {Card{}, func(Args) sched.Policy { return nothing{} }},
	"order": {Card{Needs: sched.CanKill, Params: []Param{
		{Name: "delay", Kind: Duration, Default: "5s", Max: 60},
		{Name: "part", Kind: Number, Default: "0.5", Max: 1},
		{Name: "most", Kind: Integer, Default: "3", Min: 1},
		{
			Name:    "preempt",
			Kind:    Choice,
			Default: "off",
			Choices: []Option{{Name: "off"}, {Name: "suspend", Needs: sched.CanSuspend}},
		},
	}}, func(a Args) sched.Policy {
		return values{a.Time("delay"), a.Number("part"), a.Int("most"), a.Choice("preempt")}
	}},
	"around": {
		Card{Wraps: true, Params: []Param{{Name: "max", Kind: Number, Default: "1"}}},
		func(a Args) sched.Policy { return around{a.Inner} },
	},
}

type nothing struct{}

func (nothing) Decide(*sched.Plan) {}

type values struct {
	delay   time.Duration
	part    float64
	most    int
	preempt string
}

func (values) Decide(*sched.Plan) {}

type around struct{ sched.Policy }

func TestParse(t *testing.T) {
	for spec, want := range map[string]sched.Policy{
		"plain":                                nothing{},
		"order":                                values{5 * time.Second, 0.5, 3, "off"},
		"order:delay=1m,part=0.25":             values{time.Minute, 0.25, 3, "off"},
		" order : most=7 , preempt=suspend":    values{5 * time.Second, 0.5, 7, "suspend"},
		"around{plain}":                        around{nothing{}},
		"around{order:delay=2s}:max=2":         around{values{2 * time.Second, 0.5, 3, "off"}},
		"around{around{order:part=0}}:max=0.1": around{around{values{5 * time.Second, 0, 3, "off"}}},
	} {
		if got, _, err := toy.Parse(spec); err != nil || got != want {
			t.Errorf("%q: got %#v, %v, want %#v", spec, got, err, want)
		}
	}
}

func TestParseNeeds(t *testing.T) {
	for spec, want := range map[string]sched.Powers{
		"plain":                          0,
		"order":                          sched.CanKill,
		"around{order:preempt=suspend}":  sched.CanKill | sched.CanSuspend,
		"around{order:preempt=off}":      sched.CanKill,
		"around{around{plain}}":          0,
		"order:preempt=suspend,delay=0s": sched.CanKill | sched.CanSuspend,
	} {
		if _, card, err := toy.Parse(spec); err != nil || card.Needs != want {
			t.Errorf("%q: needs %b, %v, want %b", spec, card.Needs, err, want)
		}
	}
}

// What a policy looks at is on its card, whatever its parameters are called and whatever goes around it.
func TestCardsTellOfProgress(t *testing.T) {
	for spec, want := range map[string]bool{
		"late{fifo}": true, "probe{late{fifo}}": true, "late{fifo}:check=2s": true, "dynamicmr": true,
		"fair": false, "fspy:late=age": false, "probe{fspy:late=share}": false,
	} {
		if _, card, err := Parse(spec); err != nil || card.Progress != want {
			t.Errorf("%s: looks at progress: %v, %v, want %v", spec, card.Progress, err, want)
		}
	}
}

// An error says what is wrong and what would be right.
func TestParseErrors(t *testing.T) {
	for spec, want := range map[string][]string{
		"":                      {"no name"},
		"plane":                 {`no policy "plane"`, "around, order, plain", "did you mean plain?"},
		"zzzzzz":                {"around, order, plain"},
		"plain:x=1":             {`no parameter "x"`, "takes none"},
		"order:dely=1s":         {`no parameter "dely"`, "delay, part, most, preempt", "did you mean delay?"},
		"order:delay":           {"key=value"},
		"order:":                {"key=value"},
		"order:delay=1s,":       {"key=value"},
		"order:delay=5":         {"delay=5", "a time like 90s", "0s to 1m0s", "default 5s"},
		"order:delay=2m":        {"0s to 1m0s"},
		"order:delay=-1s":       {"0s to 1m0s"},
		"order:part=1.1":        {"a number", "0 to 1", "default 0.5"},
		"order:part=NaN":        {"a number"},
		"order:part=1e999":      {"a number"},
		"order:most=0":          {"a whole number", "1 or more"},
		"order:most=1.5":        {"a whole number"},
		"order:preempt=kill":    {"one of off, suspend"},
		"order:part=0,part=1":   {"given twice"},
		"plain{plain}":          {"takes no inner policy"},
		"around":                {"around{fifo}"},
		"around{plain":          {"not closed"},
		"around{plain}}":        {"after the closing brace"},
		"around{plain}x":        {"after the closing brace"},
		"around{}":              {"inside around", "no name"},
		"around{order:most=-1}": {"inside around", "most=-1"},
	} {
		_, _, err := toy.Parse(spec)
		if err == nil {
			t.Errorf("%q: no error", spec)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %q does not say %q", spec, err, w)
			}
		}
	}
}

func TestParseList(t *testing.T) {
	for _, c := range []struct{ flags, want []string }{
		{[]string{"plain,order, plain"}, []string{"plain", "order", "plain"}},
		{[]string{"order:delay=1s,part=1", "plain"}, []string{"order:delay=1s,part=1", "plain"}},
		{[]string{"around{plain}", "plain,order"}, []string{"around{plain}", "plain", "order"}},
	} {
		if got, err := toy.ParseList(c.flags); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, %v", c.flags, got, err)
		}
	}
	if _, err := toy.ParseList([]string{"order:delay=1s,plain"}); err == nil ||
		!strings.Contains(err.Error(), "once for each") {
		t.Errorf("a list with parameters: %v", err)
	}
}

// Cards are complete: everything that is printed is there, defaults are in range, and the policy can be made.
func TestCards(t *testing.T) {
	for _, name := range All.Names() {
		c := All[name].Card
		if c.Title == "" || c.Source == "" || !strings.HasPrefix(c.Spec, "docs/spec/") ||
			len(c.Claims) == 0 && !c.Wraps {
			t.Errorf("%s: title, source, page or claims are missing on the card", name)
		}
		for _, p := range c.Params {
			if p.Meaning == "" || p.Default == "" || p.Kind == Choice && len(p.Choices) < 2 {
				t.Errorf("%s: parameter %s is not described", name, p.Name)
			}
		}
		if c.Wraps {
			name += "{fifo}"
		}
		if p, _, err := Parse(name); err != nil || p == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every policy has a section or a page, which its card names and which says each of its parameters with its default,
// and scenarios.
func TestSpec(t *testing.T) {
	shared, err := os.ReadFile("../docs/spec/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer("`", "", " ", "", ",", "") // of a table's row
	heading := regexp.MustCompile("(?m)^#+ (.*)$")
	for name, entry := range All {
		path, anchor, _ := strings.Cut(entry.Card.Spec, "#")
		page, err := os.ReadFile("../" + path)
		if err != nil {
			t.Errorf("%s: the card's page: %v", name, err)
			continue
		}
		found := anchor == ""
		for _, h := range heading.FindAllStringSubmatch(string(page), -1) {
			found = found || strings.NewReplacer(" ", "-", ".", "").Replace(strings.ToLower(h[1])) == anchor
		}
		if !found {
			t.Errorf("%s: %s has no heading %q", name, path, anchor)
		}
		for _, p := range entry.Card.Params {
			said, row := "`"+p.Name+"="+p.Default+"`", "|"+p.Name+"|"+p.Default+"|"
			if !strings.Contains(string(page), said) && !strings.Contains(string(shared), said) &&
				!strings.Contains(plain.Replace(string(page)), row) {
				t.Errorf("%s: %s does not say %s", name, path, said)
			}
		}
		if files, _ := filepath.Glob("testdata/" + name + "/*.txt"); len(files) == 0 {
			t.Errorf("%s: no scenarios in testdata/%s", name, name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"fifo", "fair:delay=5s", "late{fair:delay=5s}:max=0.1", "a{b{c}}:d=e,f=g", "{}", ":,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		if p, _, err := Parse(spec); (p == nil) == (err == nil) {
			t.Errorf("%q: %v, %v", spec, p, err)
		}
	})
}

// A queue's policy is read as on the command line, and an error names the queue by its path and the remedy.
func TestCheckQueues(t *testing.T) {
	queue := func(policy string) []*sched.QueueSpec {
		return []*sched.QueueSpec{{Name: "a"}, {Name: "b", Queues: []*sched.QueueSpec{{Name: "x", Policy: policy}}}}
	}
	for _, good := range []string{"", "fifo", "fair", "drf", "fair:delay=5s",
		"fifo:delay=5s,rack-delay=1s,locality=off"} {
		if err := CheckQueues(queue(good)); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, wants := range map[string][]string{
		"fare":                   {"queue b.x", `no policy "fare"`, "drf, fair, fifo", "did you mean fair?"},
		"srpt":                   {"queue b.x", `no policy "srpt"`, "drf, fair, fifo"},
		"fair:dely=5s":           {"queue b.x", `no parameter "dely"`, "did you mean delay?"},
		"fair:delay=5":           {"queue b.x", "delay=5", "a time like 90s"},
		"late{fifo}":             {"queue b.x", `no policy "late"`},
		"fifo{fair}":             {"queue b.x", "no inner policy"},
		"fifo{fair":              {"queue b.x", "not closed"},
		"fair:delay=1s,delay=2s": {"queue b.x", "given twice"},
	} {
		err := CheckQueues(queue(bad))
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q in it", bad, err, want)
			}
		}
	}
}
