package yarn

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// bombs are files of XML that would take much more memory or time than they are long.
func bombs() map[string]struct{ text, want string } {
	var laughs strings.Builder
	laughs.WriteString(`<?xml version="1.0"?><!DOCTYPE c [<!ENTITY a0 "ha">`)
	for i := range 9 {
		name := string(rune('0' + i))
		laughs.WriteString("<!ENTITY a" + string(rune('1'+i)) + ` "` + strings.Repeat("&a"+name+";", 10) + `">`)
	}
	laughs.WriteString("]><configuration>&a9;</configuration>")
	return map[string]struct{ text, want string }{
		"nested":   {strings.Repeat("<queue>", 500_000), "nested more than"},
		"entities": {laughs.String(), "document type declaration"},
		"elements": {"<configuration>" + strings.Repeat("<p/>", mostElements+1) + "</configuration>", "elements"},
		"long":     {"<configuration>" + strings.Repeat(" ", mostXML) + "</configuration>", "must be at most"},
	}
}

// Every reader of XML refuses every bomb in a sentence that names the file, and takes little memory for it.
func TestXMLBombs(t *testing.T) {
	for name, bomb := range bombs() {
		for _, file := range []string{"core-site.xml", "yarn-site.xml", capacityFile, fairFile, "hosts.xml"} {
			dir := site(t, "yarn.resourcemanager.nodes.include-path=hosts.xml\n"+
				map[bool]string{true: schedulerClass + "=FairScheduler"}[file == fairFile])
			if err := os.WriteFile(filepath.Join(dir, file), []byte(bomb.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			config, _, err := Site(dir)
			if err == nil && config.Hosts != nil {
				_, err = config.Hosts()
			}
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), bomb.want) || !strings.Contains(err.Error(), file) ||
				len(err.Error()) > 1000 {
				t.Errorf("%s in %s: %.300v, want one with %q", name, file, err, bomb.want)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 256 {
				t.Errorf("%s in %s: %d MiB were allocated", name, file, took)
			}
		}
	}
}

// A file of XML is one element, as for Hadoop's parser, in every file of the configuration. What is after it would be
// dropped, and may be what secures the cluster. Comments and spaces may be around it, and a byte order mark before it.
func TestXMLHasOneRoot(t *testing.T) {
	for _, file := range []string{"core-site.xml", capacityFile, fairFile, "hosts.xml"} {
		root := map[string]string{fairFile: "allocations", "hosts.xml": "hosts"}[file]
		root = cmp.Or(root, "configuration")
		whole := "<" + root + ">\n</" + root + ">"
		for _, c := range []struct{ text, want string }{
			{whole + "\n\n<" + root + "/>", "line 4: <" + root + "> after the end of the root element"},
			{whole + "<!-- x -->\n<property>\n</property>", "line 3: <property> after the end of the root element"},
			{whole + "\n \n left over\n", "line 4: text outside the root element"},
			{"<!-- x -->\ntext" + whole, "line 2: text outside the root element"},
			{whole + "\n</" + root + ">", "line 3: </" + root + "> ends no element"},
			{"\ufeff<?xml version=\"1.0\"?>\r\n<!-- x -->" + whole + "\n<!-- x -->\n<?x?>\t\r\n", ""},
		} {
			dir := site(t, "yarn.resourcemanager.nodes.include-path=hosts.xml\n"+
				map[bool]string{true: schedulerClass + "=FairScheduler"}[file == fairFile])
			if err := os.WriteFile(filepath.Join(dir, file), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			config, _, err := Site(dir)
			if err == nil && file == "hosts.xml" {
				_, err = config.Hosts()
			}
			switch want := filepath.Join(dir, file) + ": " + c.want; {
			case c.want == "" && err != nil:
				t.Errorf("%s: %q: %v", file, c.text, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: %q: %v, want %s", file, c.text, err, want)
			}
		}
	}
}

// A REST body is bounded, in length and in depth.
func TestRESTBodyBombs(t *testing.T) {
	for name, text := range map[string]string{
		"nested": strings.Repeat(`{"state":`, 5000),
		"lists":  `{"state":` + strings.Repeat("[", 60_000),
		"long":   `{"state":"` + strings.Repeat("x", 2*restBody) + `"}`,
	} {
		c := start(t, nil)
		if status, _ := c.rest("PUT", "/apps/application_1_0001/state?user.name=ana", text); status != 400 {
			t.Errorf("%s: status %d, want 400", name, status)
		}
	}
}
