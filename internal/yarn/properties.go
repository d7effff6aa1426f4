package yarn

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/safefile"
)

// properties are the properties of Hadoop's configuration files. Later files override earlier ones. Methods that read a
// value note in wrong what is wrong with it.
type properties struct {
	dir    string // the folder of the files
	values map[string]property
	used   map[string]bool // names of properties that were asked for
	wrong  []error         // what is wrong with values, a property each
	other  *[]Kind         // what kindsOf returns; nil: to be read from the properties
}

// A property is a value, and the file that sets it. Later files do not override a final property.
type property struct {
	value, file string
	final       bool
	as          string // the name in the file: that of the property, or its old one in newNames
}

// newNames maps old names of properties to the new ones, as Hadoop 3.4.2 does. It has the properties that are read here
// or listed in unread.go. An old name is read as if the file had the new one in its place: the later of the two counts,
// unless the one before is final. All other code uses the new names.
var newNames = map[string]string{
	"fs.default.name": "fs.defaultFS",
	"hadoop.http.rmwebapp.scheduler.page.class":             "yarn.http.rmwebapp.scheduler.page.class",
	"topology.node.switch.mapping.impl":                     "net.topology.node.switch.mapping.impl",
	"topology.script.file.name":                             "net.topology.script.file.name",
	"yarn.resourcemanager.display.per-user-apps":            "yarn.webapp.filter-entity-list-by-user",
	"yarn.resourcemanager.system-metrics-publisher.enabled": "yarn.system-metrics-publisher.enabled",
	"yarn.resourcemanager.zk-acl":                           "hadoop.zk.acl",
	"yarn.resourcemanager.zk-address":                       "hadoop.zk.address",
	"yarn.resourcemanager.zk-auth":                          "hadoop.zk.auth",
	"yarn.resourcemanager.zk-timeout-ms":                    "hadoop.zk.timeout-ms",
}

// renamed returns the new name of a property if name is its old one, and name otherwise.
func renamed(name string) string { return cmp.Or(newNames[name], name) }

// A Property is a property as /conf shows it.
type Property struct {
	Name  string `json:"key" xml:"name"`
	Value string `json:"value" xml:"value"`
	Final bool   `json:"isFinal" xml:"final"`
	File  string `json:"resource" xml:"source"`
}

// mostConfiguration bounds a configuration file, in bytes.
const mostConfiguration = 16 << 20

// readProperties reads the files with names in folder dir, and returns the names of those that exist.
func readProperties(dir string, names ...string) (p *properties, found []string, err error) {
	p = &properties{dir: dir, values: map[string]property{}, used: map[string]bool{}}
	if _, err := os.Stat(dir); err != nil {
		return nil, nil, fmt.Errorf("folder with the cluster's configuration: %w", err)
	}
	for _, name := range names {
		text, err := readBounded(filepath.Join(dir, name))
		switch {
		case os.IsNotExist(err):
			continue
		case err != nil:
			return nil, nil, err
		}
		if err := p.read(filepath.Join(dir, name), text); err != nil {
			return nil, nil, err
		}
		found = append(found, name)
	}
	return p, found, nil
}

// readBounded reads a file of at most mostConfiguration bytes.
func readBounded(path string) ([]byte, error) { return safefile.Read(path, mostConfiguration) }

// read adds the properties of one file. Names and values may be elements or attributes, as in Hadoop. A property
// without a value does not count. It returns an error if the file includes another one, or has other elements, in which
// Hadoop looks for properties, too: neither is supported, and what is there might be what secures the cluster.
func (p *properties) read(file string, text []byte) error {
	var doc struct {
		XMLName  xml.Name `xml:"configuration"`
		Property []struct {
			Name  string     `xml:"name"`
			Value *string    `xml:"value"`
			Final string     `xml:"final"`
			Attr  []xml.Attr `xml:",any,attr"`
		} `xml:"property"`
		Include []struct {
			File string `xml:"href,attr"`
		} `xml:"include"`
		Others []struct{ XMLName xml.Name } `xml:",any"`
	}
	if err := readXML(text, &doc); err != nil {
		return fmt.Errorf(
			"read %s: %w: must be <configuration> with a <property> of <name> and <value> for each property",
			file,
			err,
		)
	}
	if len(doc.Include) > 0 {
		return fmt.Errorf(
			"read %s: it includes %q: must be the properties themselves, in one file",
			file,
			doc.Include[0].File,
		)
	}
	if len(doc.Others) > 0 {
		return fmt.Errorf("read %s: <%s> in <configuration>: must be <property>", file, doc.Others[0].XMLName.Local)
	}
	for _, one := range doc.Property {
		for _, a := range one.Attr {
			switch a.Name.Local {
			case "name":
				one.Name = a.Value
			case "value":
				one.Value = &a.Value
			case "final":
				one.Final = a.Value
			}
		}
		as := strings.TrimSpace(one.Name)
		if name := renamed(as); one.Value != nil && !p.values[name].final {
			p.values[name] = property{*one.Value, file, strings.TrimSpace(one.Final) == "true", as}
		}
	}
	return nil
}

// mostSubstitutions is Hadoop's bound on the substitutions of variables in one value.
const mostSubstitutions = 20

// text returns the value of a property, where each ${name} is replaced by the value of that property, without spaces
// around it. If the property is not set, text returns otherwise.
func (p *properties) text(name, otherwise string) string {
	return strings.TrimSpace(p.raw(name, otherwise))
}

// raw is text with the spaces around the value. In an access list, a space at the beginning means that it has no users.
func (p *properties) raw(name, otherwise string) string {
	p.used[name] = true
	one, ok := p.values[name]
	if !ok {
		return otherwise
	}
	v := one.value
	for n := 0; ; n++ {
		i := strings.Index(v, "${")
		if i < 0 {
			break
		}
		j := strings.Index(v[i:], "}")
		if j < 0 {
			break
		}
		if n == mostSubstitutions {
			p.fail(name, fmt.Sprintf("something with at most %d variables, those within variables included", n))
			return otherwise
		}
		inner, known := p.values[renamed(v[i+2:i+j])]
		if !known {
			p.fail(name, "something without variables that are not set")
			break
		}
		if v = v[:i] + strings.TrimSpace(inner.value) + v[i+j+1:]; len(v) > mostConfiguration {
			p.fail(name, "something whose variables come to an end")
			return otherwise
		}
	}
	return v
}

// has reports whether a property is set.
func (p *properties) has(name string) bool {
	_, ok := p.values[name]
	return ok
}

// A span is a range of allowed numbers.
type span struct{ least, most int64 }

// number returns the value of a property that is a whole number. said is false if the property is not set, or its value
// is not allowed, which p notes as an error.
func (p *properties) number(name string, may span) (n int64, said bool) {
	s := p.text(name, "")
	if s == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < may.least || n > may.most {
		p.fail(name, fmt.Sprintf("a whole number from %d to %d", may.least, may.most))
		return 0, false
	}
	return n, true
}

// count is number for a value of at least 1 that fits 32 bits; 0: the property is not set.
func (p *properties) count(name string) int32 {
	n, _ := p.number(name, span{1, math.MaxInt32})
	return int32(n)
}

// yes returns the value of a property that is true or false; otherwise, if it is not set.
func (p *properties) yes(name string, otherwise bool) bool {
	switch strings.ToLower(p.text(name, "")) {
	case "":
		return otherwise
	case "true":
		return true
	case "false":
		return false
	}
	p.fail(name, "true or false")
	return otherwise
}

// mostTime bounds times in configurations, so that sums of times do not overflow.
const mostTime = 100 * 365 * 24 * time.Hour

// millis returns the value of a property that is a time: a number of ms, or a number with a unit; zero: it is not set.
func (p *properties) millis(name string) time.Duration {
	s := p.text(name, "")
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if n, whole := strconv.ParseInt(s, 10, 64); whole == nil {
		d, err = time.Duration(min(max(n, 0), int64(mostTime/time.Millisecond)+1))*time.Millisecond, nil
	}
	if err != nil || d < time.Millisecond || d > mostTime {
		p.fail(name, "a number of ms, or a time like 10m, above 0 and up to a hundred years")
		return 0
	}
	return d
}

// ordered notes an error if has, the value of property less or its default, is above most, the value of property more
// or its default. The error is about the property that is set.
func (p *properties) ordered(less, more string, has, most int64) {
	switch {
	case has <= most:
	case p.has(less):
		p.fail(less, fmt.Sprintf("at most %s, which is %d", more, most))
	default:
		p.fail(more, fmt.Sprintf("at least %s, which is %d", less, has))
	}
}

// fail notes the error that a property must be want.
func (p *properties) fail(name, want string) {
	wrong := fmt.Errorf("%s: property %s is not set: must be %s", p.dir, name, want)
	if one, said := p.values[name]; said {
		wrong = fmt.Errorf("%s: property %s is %q: must be %s", one.file, one.as, strings.TrimSpace(one.value), want)
	}
	p.wrong = append(p.wrong, wrong)
}

// secret matches the names of properties whose values are never shown: Hadoop's default of sensitiveKeys, and the
// password for ZooKeeper, which has the keys that sign tokens.
var secret = regexp.MustCompile(
	`(?i)(secret|password|credential|token|oauth|keystore\.pass|\.key$|account\.key|zk.*auth$)`)

// sensitiveKeys is the property with further patterns of such names, between commas and spaces.
const sensitiveKeys = "hadoop.security.sensitive-config-keys"

// hidden returns the patterns of names whose values are not shown.
func hidden(p *properties) []*regexp.Regexp {
	list := []*regexp.Regexp{secret}
	between := func(r rune) bool { return r == ',' || r <= ' ' }
	for _, text := range strings.FieldsFunc(p.text(sensitiveKeys, ""), between) {
		one, err := regexp.Compile(text)
		if err != nil { // a pattern that only Java knows: no value at all is shown
			one = regexp.MustCompile("")
		}
		list = append(list, one)
	}
	return list
}

// said returns all properties, sorted by name. Values of properties with hidden names are replaced by "<redacted>".
func (p *properties) said() (list []Property) {
	patterns := hidden(p)
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		one := p.values[name]
		if slices.ContainsFunc(patterns, func(e *regexp.Regexp) bool { return e.MatchString(name) }) {
			one.value = "<redacted>"
		}
		list = append(list, Property{name, one.value, one.final, filepath.Base(one.file)})
	}
	return list
}
