package yarn

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Site reads a cluster's own configuration from a folder with core-site.xml and yarn-site.xml, as they stand. What it says goes into a Config without
// Core; notes say, a line each, which properties for the ResourceManager are not understood here and have no effect.
func Site(dir string) (config Config, notes []string, err error) {
	p := properties{values: map[string]string{}, used: map[string]bool{}}
	found := false
	for _, name := range []string{"core-site.xml", "yarn-site.xml"} {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return config, nil, err
		}
		err = p.read(f)
		f.Close()
		if err != nil {
			return config, nil, fmt.Errorf("read %s: %w", filepath.Join(dir, name), err)
		}
		found = found || name == "yarn-site.xml"
	}
	if !found {
		return config, nil, fmt.Errorf("no yarn-site.xml in %s", dir)
	}
	config = p.config()
	return config, p.notes(), errors.Join(p.wrong...)
}

// config is what the properties say.
func (p *properties) config() Config {
	const rm, scheduler = "yarn.resourcemanager.", "yarn.scheduler."
	host := p.text(rm+"hostname", "localhost")
	bind := p.text(rm+"bind-host", "")
	address := func(what, port string) string {
		a := p.text(rm+what, net.JoinHostPort(host, port))
		if h, port, err := net.SplitHostPort(a); err == nil && bind != "" {
			return net.JoinHostPort(bind, port)
		} else if err != nil {
			p.fail(rm+what, a, "host:port")
		} else if h == "" || h == "0.0.0.0" && host == "localhost" {
			return net.JoinHostPort("127.0.0.1", port) // no address was named
		}
		return a
	}
	c := Config{
		Addresses: Addresses{Tracker: address("resource-tracker.address", "8031"), Master: address("scheduler.address", "8030"),
			Client: address("address", "8032"), Admin: address("admin.address", "8033"), Web: address("webapp.address", "8088")},
		Sizes: Sizes{MinMemory: p.number(scheduler+"minimum-allocation-mb", 0), MaxMemory: p.number(scheduler+"maximum-allocation-mb", 0),
			MinVCores: int32(p.number(scheduler+"minimum-allocation-vcores", 0)), MaxVCores: int32(p.number(scheduler+"maximum-allocation-vcores", 0))},
		Expiry: Expiry{Node: p.millis("yarn.nm.liveness-monitor.expiry-interval-ms"), Master: p.millis("yarn.am.liveness-monitor.expiry-interval-ms"),
			Container: p.millis(rm + "rm.container-allocation.expiry-interval-ms")},
		Attempts:  int32(p.number(rm+"am.max-attempts", 0)),
		Interval:  p.millis(rm + "nodemanagers.heartbeat-interval-ms"),
		Completed: int(p.number(rm+"max-completed-applications", 0)),
		Web:       p.text(rm+"webapp.address", net.JoinHostPort(host, "8088")), // as browsers know it
		Keys:      Keys{Roll: time.Duration(p.number(rm+"nm-tokens.master-key-rolling-interval-secs", 86400)) * time.Second},
	}
	if path := p.text(rm+"nodes.exclude-path", ""); path != "" {
		c.Excluded = func() ([]string, error) {
			b, err := os.ReadFile(path)
			return strings.Fields(string(b)), err
		}
	}
	for user := range strings.FieldsFuncSeq(p.text("yarn.admin.acl", ""), func(r rune) bool { return r == ',' || r == ' ' }) {
		if user != "*" { // everybody, which simple mode is already too close to
			c.Admins = append(c.Admins, user)
		}
	}
	return c
}

// properties are those of Hadoop's configuration files; later files win.
type properties struct {
	values map[string]string
	used   map[string]bool
	wrong  []error
}

// read takes the properties of one file in.
func (p *properties) read(r io.Reader) error {
	var file struct {
		XMLName  xml.Name `xml:"configuration"`
		Property []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.NewDecoder(r).Decode(&file); err != nil {
		return err
	}
	for _, one := range file.Property {
		p.values[strings.TrimSpace(one.Name)] = strings.TrimSpace(one.Value)
	}
	return nil
}

// mostSubstitutions is Hadoop's bound on variables within the values of variables.
const mostSubstitutions = 20

// text returns a property's value, with ${names} in it replaced by the values of those.
func (p *properties) text(name, otherwise string) string {
	p.used[name] = true
	v, ok := p.values[name]
	if !ok {
		return otherwise
	}
	for range mostSubstitutions {
		i := strings.Index(v, "${")
		if i < 0 {
			break
		}
		j := strings.Index(v[i:], "}")
		if j < 0 {
			break
		}
		inner, known := p.values[v[i+2:i+j]]
		if !known {
			p.fail(name, v, "something without variables that nobody sets")
			break
		}
		v = v[:i] + inner + v[i+j+1:]
	}
	return v
}

// number returns the value of a property that counts something.
func (p *properties) number(name string, otherwise int64) int64 {
	s := p.text(name, "")
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		p.fail(name, s, "a whole number")
	}
	return n
}

// millis returns the value of a property that is a time: a number of ms, or one with a unit.
func (p *properties) millis(name string) time.Duration {
	s := p.text(name, "")
	if s == "" {
		return 0
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return time.Duration(n) * time.Millisecond
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		p.fail(name, s, "a number of ms, or a time like 10m")
	}
	return d
}

func (p *properties) fail(name, value, want string) {
	p.wrong = append(p.wrong, fmt.Errorf("property %s is %q: must be %s", name, value, want))
}

// notes lists what is meant for a ResourceManager and is not read here.
func (p *properties) notes() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		ours := strings.HasPrefix(name, "yarn.resourcemanager.") || strings.HasPrefix(name, "yarn.scheduler.") || strings.HasPrefix(name, "yarn.acl.")
		if ours && !p.used[name] && !forOthers[name] {
			list = append(list, fmt.Sprintf("%s = %s: not understood, and of no effect", name, p.values[name]))
		}
	}
	return list
}

// forOthers are properties that carry the ResourceManager's name and are read by its peers.
var forOthers = map[string]bool{
	"yarn.resourcemanager.connect.retry-interval.ms": true, "yarn.resourcemanager.connect.max-wait.ms": true,
}
