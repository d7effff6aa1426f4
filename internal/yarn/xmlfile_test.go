package yarn

import (
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
