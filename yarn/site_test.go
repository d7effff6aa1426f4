package yarn

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func site(t *testing.T, properties string) string {
	t.Helper()
	dir := t.TempDir()
	text := "<?xml version=\"1.0\"?>\n<configuration>\n"
	for line := range strings.Lines(properties) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			text += "<property><name>" + name + "</name><value>" + value + "</value></property>\n"
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(text+"</configuration>\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSite(t *testing.T) {
	config, notes, err := Site(site(t, `
		domain=example.org
		yarn.resourcemanager.hostname=rm.${domain}
		yarn.resourcemanager.scheduler.address=10.0.0.1:9030
		yarn.scheduler.minimum-allocation-mb=256
		yarn.scheduler.maximum-allocation-vcores=16
		yarn.nm.liveness-monitor.expiry-interval-ms=5000
		yarn.am.liveness-monitor.expiry-interval-ms=2m
		yarn.resourcemanager.am.max-attempts=3
		yarn.admin.acl=*,ops admins
		yarn.resourcemanager.scheduler.class=org.example.Other
		yarn.resourcemanager.connect.retry-interval.ms=1000
		yarn.nodemanager.local-dirs=/data`))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Addresses: Addresses{"rm.example.org:8031", "10.0.0.1:9030", "rm.example.org:8032", "rm.example.org:8033", "rm.example.org:8088"},
		Sizes:     Sizes{MinMemory: 256, MaxVCores: 16}, Expiry: Expiry{Node: 5 * time.Second, Master: 2 * time.Minute},
		Attempts: 3, Web: "rm.example.org:8088", Admins: []string{"ops", "admins"}, Keys: Keys{Roll: 24 * time.Hour},
	}
	config.Reread = nil // a function
	if !reflect.DeepEqual(config, want) {
		t.Errorf("read\n%+v, want\n%+v", config, want)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "yarn-site.xml: yarn.resourcemanager.scheduler.class = org.example.Other: not understood") {
		t.Errorf("notes %q", notes)
	}
	// Where no address is named, nothing listens to the network.
	config, _, err = Site(site(t, ""))
	if err != nil || config.Addresses.Tracker != "localhost:8031" {
		t.Errorf("%+v, %v", config.Addresses, err)
	}
	config, _, err = Site(site(t, "yarn.resourcemanager.bind-host=0.0.0.0"))
	if err != nil || config.Addresses.Client != "0.0.0.0:8032" {
		t.Errorf("%+v, %v", config.Addresses, err)
	}
}

func TestSiteRefused(t *testing.T) {
	for properties, want := range map[string]string{
		"yarn.scheduler.minimum-allocation-mb=1g":                `property yarn.scheduler.minimum-allocation-mb is "1g": must be a whole number`,
		"yarn.resourcemanager.address=rm":                        `property yarn.resourcemanager.address is "rm": must be host:port`,
		"yarn.resourcemanager.hostname=${nobody}":                "must be something without variables",
		"yarn.am.liveness-monitor.expiry-interval-ms=soon":       "must be a number of ms, or a time like 10m",
		"yarn.resourcemanager.am.max-attempts=-1":                "must be a whole number",
		"yarn.resourcemanager.hostname=${a}\na=${a}${a}${a}${a}": "",
	} {
		_, _, err := Site(site(t, properties))
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", properties, err, want)
		}
	}
	if _, _, err := Site(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no yarn-site.xml in ") {
		t.Errorf("an empty folder: %v", err)
	}
}
