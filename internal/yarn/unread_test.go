package yarn

import (
	"archive/zip"
	"encoding/xml"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/policy"
)

var rewrite = flag.Bool("rewrite", false, "write docs/yarn-properties.md and the pictures of the page anew")

const (
	defaultsFile   = "testdata/yarn-default-3.4.2.txt"
	propertiesPage = "../../docs/yarn-properties.md"
)

// otherNames begin the properties of yarn-default.xml that defaultsFile leaves out: those of other programs. The two
// that turn something on in the ResourceManager are kept.
var otherNames = []string{
	"yarn.client.", "yarn.federation.", "yarn.nodemanager.", "yarn.router.", "yarn.sharedcache.",
	"yarn.timeline-service.",
}

func leftOut(name string) bool {
	return name != "yarn.timeline-service.enabled" && name != "yarn.federation.enabled" &&
		slices.ContainsFunc(otherNames, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// yarnDefaults reads defaultsFile.
func yarnDefaults(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(defaultsFile)
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			defaults[name] = value
		}
	}
	if len(defaults) < 200 {
		t.Fatalf("%s has %d properties: yarn-default.xml of Hadoop 3.4.2 has more", defaultsFile,
			len(defaults))
	}
	return defaults
}

// readNames returns the properties that Site reads, whatever the files say.
func readNames(t *testing.T) map[string]bool {
	t.Helper()
	dir := withFile(t, "", capacityFile, capacityXML("root.queues=a\nroot.a.capacity=100"))
	p, _, err := readProperties(dir, "core-site.xml", "yarn-site.xml", kindsFile, capacityFile)
	if err != nil {
		t.Fatal(err)
	}
	p.values["yarn.resourcemanager.ha.enabled"] = property{value: "true"} // what it turns on is read, too
	p.config(dir)
	p.queues(dir, true)
	return p.used
}

// Every property of yarn-default.xml is read, or named at start where it says something that is not so, or listed with
// the reason why it does not matter.
func TestEveryPropertyOfYarnDefault(t *testing.T) {
	read, defaults := readNames(t), yarnDefaults(t)
	var lines string
	var named []string
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		one, listed := listedAs(name)
		group, grouped := groupOf(name)
		switch {
		case read[name]:
		case renamed(name) != name && defaults[renamed(name)] == defaults[name]: // it is the one of the new name
		case listed && one.reason == "", !listed && grouped && group.reason == "":
			t.Errorf("%s: listed without a reason", name)
		case listed && one.value == anyValue:
		case listed:
			if one.value != defaults[name] {
				t.Errorf("%s: %q is not named at start, and the default is %q", name, one.value,
					defaults[name])
			}
			named = append(named, name)
			lines += name + "=other\n"
		case !grouped:
			t.Errorf("%s: neither read, nor named at start, nor listed", name)
		}
	}
	_, notes, err := Site(site(t, lines))
	if err != nil || len(notes) != len(named) {
		t.Fatalf("%d of %d properties are named, %v", len(notes), len(named), err)
	}
	for i, name := range named {
		if !strings.Contains(notes[i], "yarn-site.xml: "+name+" = other: of no effect: ") {
			t.Errorf("%s: %s", name, notes[i])
		}
	}
	// What says the default is not worth a line.
	lines = ""
	for name, value := range defaults {
		if !read[name] {
			lines += name + "=" + value + "\n"
		}
	}
	if _, notes, err = Site(site(t, lines)); err != nil || len(notes) > 0 {
		t.Errorf("of a file with the defaults: %q, %v", notes, err)
	}
	for _, name := range []string{"yarn.resourcemanager.unheard-of", "yarn.scheduler.unheard-of",
		"yarn.unheard-of"} {
		_, notes, _ := Site(site(t, name+"=1"))
		if len(notes) != 1 || !strings.Contains(notes[0], name+" = 1: not understood") {
			t.Errorf("%s: %q", name, notes)
		}
	}
}

// The list in the tree is that of Hadoop's jar, and the groups hold what the list leaves out.
func TestYarnDefaultOfTheJar(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("no home folder:", err)
	}
	cache := os.Getenv("SOJOURN_CACHE")
	if cache == "" {
		cache = filepath.Join(home, ".cache", "sojourn")
	}
	jar, err := zip.OpenReader(filepath.Join(cache, "hadoop-3.4.2", "jars", "hadoop-yarn-common-3.4.2.jar"))
	if err != nil {
		t.Skip("no jar of Hadoop, which make test-hadoop fetches:", err)
	}
	defer jar.Close()
	f, err := jar.Open("yarn-default.xml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var doc struct {
		Property []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.NewDecoder(f).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	theirs := map[string]string{}
	for _, one := range doc.Property {
		name := strings.TrimSpace(one.Name)
		if !leftOut(name) {
			theirs[name] = strings.TrimSpace(one.Value)
		} else if _, grouped := groupOf(name); !grouped {
			t.Errorf("%s: in no group", name)
		}
	}
	if ours := yarnDefaults(t); !maps.Equal(ours, theirs) {
		t.Errorf("%s has %d properties, and the jar %d, or other values", defaultsFile, len(ours),
			len(theirs))
	}
}

// What reasons name there is.
func TestReasonsNamePolicies(t *testing.T) {
	for _, spec := range []string{
		"capacity:preempt=kill", "capacity:delay=5s", "capacity:rack-delay=5s", "capacity:user-min=0.25",
		"capacity:user-factor=2",
	} {
		if _, _, err := policy.Parse(spec); err != nil {
			t.Errorf("a reason names --policy %s: %v", spec, err)
		}
	}
}

// docs/yarn-properties.md says what becomes of each property.
func TestPropertiesPage(t *testing.T) {
	read, defaults := readNames(t), yarnDefaults(t)
	var used, named string
	silent := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		one, listed := listedAs(renamed(name))
		switch {
		case read[name]:
			used += fmt.Sprintf("- `%s`\n", name)
		case listed && one.value == anyValue:
			silent[one.reason] = append(silent[one.reason], "`"+name+"`")
		case listed:
			value := "`" + one.value + "`"
			if one.value == "" {
				value = "nothing"
			}
			named += fmt.Sprintf("- `%s`\n  Not %s:\n  %s.\n", name, value, one.reason)
		}
	}
	for _, g := range unreadGroups {
		silent[g.reason] = append(silent[g.reason], "`"+g.prefix+"`...")
	}

	page := "# Properties of yarn-default.xml\n\n" +
		"What `sojourn rm` makes of each property of the ResourceManager in yarn-default.xml of Hadoop\n" +
		"3.4.2. `go test ./internal/yarn -run PropertiesPage -rewrite` writes this page.\n\n" +
		"## Read\n\n" + used + "\n## Named at start\n\n" +
		"These are not read. `sojourn rm` names them where they say something else than the default.\n\n" +
		named + "\n## Without effect\n\n" +
		"These are not read, and not named. Dots stand for the rest of a name; the single names above go\n" +
		"before.\n"
	for _, reason := range slices.Sorted(maps.Keys(silent)) {
		page += "\n" + strings.ToUpper(reason[:1]) + reason[1:] + ":\n\n"
		for _, name := range silent[reason] {
			page += "- " + name + "\n"
		}
	}
	if *rewrite {
		if err := os.WriteFile(propertiesPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(propertiesPage); err != nil || string(text) != page {
		t.Errorf("%s is not what the code says: write it anew by -rewrite: %v", propertiesPage, err)
	}
}
