package yarn

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
)

// Hosts are which machines may have NodeManagers.
type Hosts struct {
	Included []string // nil: all
	Excluded []string // of those
}

// allows reports whether a host may have a NodeManager.
func (h *hostSet) allows(host string) bool {
	return !h.excluded[host] && (h.included == nil || h.included[host])
}

// A hostSet is Hosts for looking up.
type hostSet struct{ included, excluded map[string]bool }

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

// readHosts reads the lists that nodes.include-path and nodes.exclude-path name, relative to a folder; "": there is
// none.
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
		if *one.list, err = parseHosts(path, text); err != nil {
			return h, err
		}
	}
	return h, nil
}

// parseHosts reads a list of hosts: separated by spaces or lines, comments after #, or as XML.
func parseHosts(file string, text []byte) (list []string, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		var doc struct {
			XMLName xml.Name `xml:"hosts"`
			Hosts   []struct {
				Name string `xml:"name"`
			} `xml:"host"`
		}
		if err := readXML(text, &doc); err != nil {
			return nil, fmt.Errorf("read %s: %w: must be <hosts> with a <host> of <name> for each", file, err)
		}
		for _, h := range doc.Hosts {
			list = append(
				list,
				strings.FieldsFunc(
					h.Name,
					func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' },
				)...)
		}
		return list, nil
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		list = append(list, strings.Fields(line)...)
	}
	return list, nil
}
