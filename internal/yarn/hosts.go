package yarn

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Hosts are which machines may have NodeManagers. Each is a name, or an address as spelled writes it.
type Hosts struct {
	Included []string // nil: all
	Excluded []string // of those
	// Patience is how long the nodes of an excluded host may take to leave gracefully, whatever the operator says;
	// below zero: as long as they need.
	Patience map[string]time.Duration
}

// allows reports whether a host with these names, which are resolver.names, may have a NodeManager.
func (h *hostSet) allows(names ...string) bool {
	isIncluded := func(name string) bool { return h.included[name] }
	isExcluded := func(name string) bool { return h.excluded[name] }
	return !slices.ContainsFunc(names, isExcluded) && (h.included == nil || slices.ContainsFunc(names, isIncluded))
}

// A hostSet is Hosts for looking up.
type hostSet struct {
	included, excluded map[string]bool
	addressed          bool // an address is among them: hosts are compared by their addresses as well
}

// patienceOf returns the Patience of a host with these names: that of the first which has one. said reports whether
// one has.
func (h Hosts) patienceOf(names []string) (patience time.Duration, said bool) {
	for _, name := range names {
		if patience, said = h.Patience[name]; said {
			break
		}
	}
	return patience, said
}

// spelled returns the spelling by which a host is compared: of an address the canonical one, of a name itself.
func spelled(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return host
}

// isAddress reports whether a host is named by an address.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// set returns the hosts for looking up.
func (h Hosts) set() hostSet {
	s := hostSet{excluded: map[string]bool{}}
	for _, host := range h.Excluded {
		s.excluded[host] = true
	}
	if len(h.Included) > 0 {
		s.included = map[string]bool{}
		for _, host := range h.Included {
			s.included[host] = true
		}
	}
	s.addressed = slices.ContainsFunc(h.Included, isAddress) || slices.ContainsFunc(h.Excluded, isAddress)
	return s
}

// readHosts reads the files that nodes.include-path and nodes.exclude-path name, relative to a folder; "": there is no
// such file.
func readHosts(dir, included, excluded string) (h Hosts, err error) {
	for _, one := range []struct {
		path string
		list *[]string
	}{{included, &h.Included}, {excluded, &h.Excluded}} {
		if one.path == "" {
			continue
		}
		path := one.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		text, err := readBounded(path)
		if err != nil {
			return h, err
		}
		if *one.list, h.Patience, err = parseHosts(path, text); err != nil { // in the end those of the excluded
			return h, err
		}
	}
	return h, nil
}

// parseHosts reads a list of hosts: separated by spaces or lines, with comments after #, or as XML. In XML hosts may
// have a <timeout>, in seconds.
func parseHosts(file string, text []byte) (list []string, patience map[string]time.Duration, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		var doc struct {
			XMLName xml.Name `xml:"hosts"`
			Hosts   []struct {
				Name    string `xml:"name"`
				Timeout string `xml:"timeout"`
			} `xml:"host"`
		}
		if err := readXML(text, &doc); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w: must be <hosts> with a <host> of <name> for each", file, err)
		}
		for _, h := range doc.Hosts {
			names := strings.FieldsFunc(h.Name, func(r rune) bool {
				return r == ',' || r == ' ' || r == '\n' || r == '\t'
			})
			for i, name := range names {
				names[i] = spelled(name)
			}
			list = append(list, names...)
			said := strings.TrimSpace(h.Timeout)
			if said == "" {
				continue
			}
			n, err := strconv.ParseInt(said, 10, 32)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: <timeout> of %.200s is %.200q: must be a number of seconds, or -1: "+
					"as long as it takes", file, h.Name, said)
			}
			for _, name := range names {
				if patience == nil {
					patience = map[string]time.Duration{}
				}
				patience[name] = time.Duration(n) * time.Second
			}
		}
		return list, patience, nil
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		for _, host := range strings.Fields(line) {
			list = append(list, spelled(host))
		}
	}
	return list, nil, nil
}
