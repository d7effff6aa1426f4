package kerberos

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Name is a Kerberos principal: first, or first/host, and a realm.
type Name struct{ First, Host, Realm string }

// ParseName reads a name as Hadoop writes it. A name may have two components; one without a realm is simple.
func ParseName(s string) (n Name, err error) {
	rest, realm, realmed := strings.Cut(s, "@")
	first, host, hosted := strings.Cut(rest, "/")
	if first == "" || hosted && host == "" || realmed && realm == "" || strings.ContainsAny(host+realm, "/@") {
		return n, fmt.Errorf("malformed Kerberos name: %q: must be name@REALM or name/host@REALM", s)
	}
	return Name{first, host, realm}, nil
}

func (n Name) String() string {
	s := n.First
	if n.Host != "" {
		s += "/" + n.Host
	}
	if n.Realm != "" {
		s += "@" + n.Realm
	}
	return s
}

// Rules map principals to local users (hadoop.security.auth_to_local).
type Rules struct {
	realm string // the default one
	mit   bool   // a principal without a rule keeps its name, and local names may have / and @ in them
	list  []rule
}

// A rule maps principals to local users: principals with that number of components, whose formatted text matches a
// pattern.
type rule struct {
	text       string // as it is written
	whole      bool   // DEFAULT: the first component, in the default realm
	components int
	format     []part
	match      *regexp.Regexp // of all of the formatted text; nil: any
	from       *regexp.Regexp // what is replaced in the formatted text; nil: nothing
	to         string         // by what, as Regexp.Expand has it
	all        bool           // all of it is replaced, not only the first
	lower      bool
}

// A part of a format is text, or the component of a number: 0 is the realm.
type part struct {
	text      string
	component int // -1: text
}

// maxRules bounds the rules of a configuration, in bytes.
const maxRules = 64 << 10

// ParseRules reads rules in Hadoop's form, separated by spaces or lines:
//
//	DEFAULT                                  the first component, in the default realm
//	RULE:[2:$1@$0](nm@.*EXAMPLE)s/.*/yarn/   for principals of two components
//
// and /g after a replacement, /L at the end for lower case. mit is hadoop.security.auth_to_local.mechanism=mit.
// Patterns are Go's: those of Java with look-around or back-references are refused.
func ParseRules(text, realm string, mit bool) (*Rules, error) {
	if len(text) > maxRules {
		return nil, fmt.Errorf("rules of %d bytes: may have %d", len(text), maxRules)
	}
	r := &Rules{realm: realm, mit: mit}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		one, after, err := parseRule(rest)
		if err != nil {
			return nil, fmt.Errorf("rule %.200q: %w", rest, err)
		}
		one.text = strings.TrimSpace(rest[:len(rest)-len(after)])
		r.list = append(r.list, one)
		rest = after
	}
	return r, nil
}

// parseRule reads the first rule of a text, and returns what follows it.
func parseRule(s string) (r rule, rest string, err error) {
	if after, ok := strings.CutPrefix(s, "DEFAULT"); ok {
		r.whole = true
		rest = r.lowered(after)
		return r, rest, nil
	}
	body, ok := strings.CutPrefix(s, "RULE:[")
	count, body, counted := strings.Cut(body, ":")
	format, body, ended := strings.Cut(body, "]")
	if !ok || !counted || !ended {
		return r, "", fmt.Errorf("must be DEFAULT or RULE:[components:format](pattern)s/from/to/g/L")
	}
	if r.components, err = strconv.Atoi(count); err != nil || r.components < 1 || r.components > 2 {
		return r, "", fmt.Errorf("%q components: must be 1 or 2", count)
	}
	if r.format, err = parseFormat(format, r.components); err != nil {
		return r, "", err
	}
	if inner, ok := strings.CutPrefix(body, "("); ok {
		pattern, after, ended := strings.Cut(inner, ")")
		if !ended {
			return r, "", fmt.Errorf("the pattern does not end with )")
		}
		if r.match, err = regexp.Compile(`\A(?:` + pattern + `)\z`); err != nil {
			return r, "", err
		}
		body = after
	}
	if inner, ok := strings.CutPrefix(body, "s/"); ok {
		from, inner, there := strings.Cut(inner, "/")
		to, after, ended := strings.Cut(inner, "/")
		if !there || !ended {
			return r, "", fmt.Errorf("the replacement does not end with /")
		}
		if r.from, err = regexp.Compile(from); err != nil {
			return r, "", err
		}
		r.to = template(to)
		body, r.all = strings.CutPrefix(after, "g")
	}
	rest = r.lowered(body)
	return r, rest, nil
}

// lowered reads /L, which may end a rule, and returns what follows.
func (r *rule) lowered(s string) string {
	s = strings.TrimPrefix(s, "/")
	s, r.lower = strings.CutPrefix(s, "L")
	return s
}

// parseFormat reads a text with $0, the realm, and $1 and so on, the components.
func parseFormat(s string, components int) (list []part, err error) {
	for s != "" {
		text, after, ok := strings.Cut(s, "$")
		if text != "" {
			list = append(list, part{text, -1})
		}
		if !ok {
			break
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		n, err := strconv.Atoi(after[:digits])
		if err != nil || n > components {
			return nil, fmt.Errorf("$%s in the format: must be $0 to $%d", after[:digits], components)
		}
		list = append(list, part{"", n})
		s = after[digits:]
	}
	return list, nil
}

// template rewrites Java's replacements for Regexp.Expand: $1 ends at its digits, and a backslash takes the next
// character as it is.
func template(to string) string {
	var b strings.Builder
	for i := 0; i < len(to); i++ {
		switch {
		case to[i] == '\\' && i+1 < len(to):
			if i++; to[i] == '$' {
				b.WriteByte('$')
			}
			b.WriteByte(to[i])
		case to[i] == '$':
			digits := len(to[i+1:]) - len(strings.TrimLeft(to[i+1:], "0123456789"))
			if digits == 0 {
				b.WriteString("$$")
				break
			}
			fmt.Fprintf(&b, "${%s}", to[i+1:i+1+digits])
			i += digits
		default:
			b.WriteByte(to[i])
		}
	}
	return b.String()
}

// Local returns the local user of a principal, by the first rule that applies.
func (r *Rules) Local(n Name) (string, error) {
	if n.Realm == "" && n.Host == "" {
		return n.First, nil
	}
	for i := range r.list {
		local, ok := r.list[i].apply(n, r.realm)
		if !ok {
			continue
		}
		if !r.mit && strings.ContainsAny(local, "/@") {
			return "", fmt.Errorf("non-simple name %s after auth_to_local rule %s", local, r.list[i].text)
		}
		if local == "" {
			return "", fmt.Errorf("no name of %s after auth_to_local rule %s", n, r.list[i].text)
		}
		return local, nil
	}
	if r.mit {
		return n.String(), nil
	}
	return "", fmt.Errorf("no rules applied to %s", n)
}

// apply returns the local user of a principal, and whether the rule is for it.
func (r *rule) apply(n Name, realm string) (local string, ok bool) {
	components := []string{n.Realm, n.First}
	if n.Host != "" {
		components = append(components, n.Host)
	}
	if r.whole {
		local, ok = n.First, n.Realm == realm
	} else if len(components)-1 == r.components {
		local, ok = r.replaced(components)
	}
	if r.lower {
		local = strings.ToLower(local)
	}
	return local, ok
}

// replaced returns the formatted components after the rule's replacement. ok: the formatted text matches.
func (r *rule) replaced(components []string) (text string, ok bool) {
	for _, p := range r.format {
		if p.component < 0 {
			text += p.text
		} else {
			text += components[p.component]
		}
	}
	if r.match != nil && !r.match.MatchString(text) {
		return "", false
	}
	if r.from == nil {
		return text, true
	}
	limit := 1
	if r.all {
		limit = -1
	}
	var b []byte
	end := 0
	for _, at := range r.from.FindAllStringSubmatchIndex(text, limit) {
		b = append(b, text[end:at[0]]...)
		b = r.from.ExpandString(b, r.to, text, at)
		end = at[1]
	}
	return string(append(b, text[end:]...)), true
}
