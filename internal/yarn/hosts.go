package yarn

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Hosts are which machines may have NodeManagers.
type Hosts struct {
	Included []string // nil: all
	Excluded []string // of those
	// Patience is how long the nodes of an excluded host may take to leave gracefully, whatever the operator says;
	// below zero: as long as they need.
	Patience map[string]time.Duration
}

// allows reports whether a host may have a NodeManager.
func (h *hostSet) allows(host string) bool {
	return !h.excluded[host] && (h.included == nil || h.included[host])
}

// A hostSet is Hosts for looking up.
type hostSet struct{ included, excluded map[string]bool }

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
		list = append(list, strings.Fields(line)...)
	}
	return list, nil, nil
}
