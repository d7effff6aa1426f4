package jobhistory

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of what a file may make the reader do. The schema comes with the file, so it cannot be trusted either.
const (
	maxText  = 16 << 20 // bytes of a string, of a line of JSON and of a schema
	maxItems = 1 << 18  // values of one event; 5,000 counters of a job, each three times, are 60,000
	maxDepth = 64       // of values within values
)

// A schema says how a value is written in Avro's binary encoding (Apache Avro 1.11 specification, "Binary Encoding").
type schema struct {
	kind    string // a primitive type, or record, enum, array, map, union, fixed
	name    string // of a record, without its namespace
	fields  []field
	items   *schema   // of an array or a map
	options []*schema // of a union
	symbols []string  // of an enum
	size    int       // of a fixed
}

// A field is a field of a record's schema.
type field struct {
	name string
	of   *schema
}

// parseSchema reads a schema in its JSON form.
func parseSchema(text []byte) (*schema, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s, err := makeSchema(v, map[string]*schema{})
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

// makeSchema makes the schema that a JSON value describes. Names of types are compared without their namespaces: those
// of a job history have one namespace.
func makeSchema(v any, names map[string]*schema) (*schema, error) {
	switch v := v.(type) {
	case string:
		if s := names[unqualified(v)]; s != nil {
			return s, nil
		}
		switch v {
		case "null", "boolean", "int", "long", "float", "double", "bytes", "string":
			return &schema{kind: v}, nil
		}
		return nil, fmt.Errorf("type %.80q is not known", v)
	case []any:
		s := &schema{kind: "union"}
		for _, option := range v {
			o, err := makeSchema(option, names)
			if err != nil {
				return nil, err
			}
			s.options = append(s.options, o)
		}
		return s, nil
	case map[string]any:
		kind, ok := v["type"].(string)
		if !ok {
			return makeSchema(v["type"], names)
		}
		return namedSchema(kind, v, names)
	}
	return nil, fmt.Errorf("a type is a name, a list or an object, not %.80v", v)
}

// namedSchema makes the schema of an object of some kind.
func namedSchema(kind string, v map[string]any, names map[string]*schema) (*schema, error) {
	s := &schema{kind: kind}
	name, _ := v["name"].(string)
	if s.name = unqualified(name); s.name != "" {
		names[s.name] = s
	}
	var err error
	switch kind {
	case "record":
		list, _ := v["fields"].([]any)
		for _, item := range list {
			f, _ := item.(map[string]any)
			name, _ := f["name"].(string)
			of, err := makeSchema(f["type"], names)
			if err != nil {
				return nil, fmt.Errorf("field %.80q: %w", name, err)
			}
			s.fields = append(s.fields, field{name, of})
		}
	case "enum":
		list, _ := v["symbols"].([]any)
		for _, item := range list {
			symbol, _ := item.(string)
			s.symbols = append(s.symbols, symbol)
		}
	case "array":
		s.items, err = makeSchema(v["items"], names)
	case "map":
		s.items, err = makeSchema(v["values"], names)
	case "fixed":
		size, _ := v["size"].(float64)
		if s.size = int(size); size < 0 || size > maxText {
			err = fmt.Errorf("fixed %.80q has size %v", s.name, size)
		}
	default:
		return makeSchema(kind, names)
	}
	return s, err
}

// unqualified returns a name without its namespace.
func unqualified(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

var errTooMuch = errors.New("one event has too many values: the file is damaged")

// A datum decodes one value, with all values in it, of Avro's binary encoding.
type datum struct {
	in   *bufio.Reader
	left int // values that it may still decode
}

// decode returns the next value: a bool, a string, an int64, a map of the fields of a record, a list, a record of a
// union, or nil for what no event of a job history needs.
func (d *datum) decode(s *schema, depth int) (any, error) {
	if d.left--; d.left < 0 || depth > maxDepth {
		return nil, errTooMuch
	}
	switch s.kind {
	case "null":
		return nil, nil
	case "boolean":
		b, err := d.in.ReadByte()
		return b != 0, err
	case "int", "long":
		return binary.ReadVarint(d.in)
	case "float":
		_, err := d.in.Discard(4)
		return nil, err
	case "double":
		_, err := d.in.Discard(8)
		return nil, err
	case "fixed":
		_, err := d.in.Discard(s.size)
		return nil, err
	case "bytes", "string":
		return d.text()
	case "enum":
		n, err := d.choice(len(s.symbols))
		if err != nil {
			return nil, err
		}
		return s.symbols[n], nil
	case "union":
		n, err := d.choice(len(s.options))
		if err != nil {
			return nil, err
		}
		v, err := d.decode(s.options[n], depth+1)
		if r, ok := v.(map[string]any); ok && s.options[n].kind == "record" {
			return record{s.options[n].name, r}, err
		}
		return v, err
	case "record":
		r := make(map[string]any, len(s.fields))
		for _, f := range s.fields {
			v, err := d.decode(f.of, depth+1)
			if err != nil {
				return nil, err
			}
			r[f.name] = v
		}
		return r, nil
	}
	return d.blocks(s, depth)
}

// A record is a value of a union, with the name of its type.
type record struct {
	name   string
	fields map[string]any
}

// choice returns a number from 0 to n−1.
func (d *datum) choice(n int) (int64, error) {
	k, err := binary.ReadVarint(d.in)
	if err == nil && (k < 0 || k >= int64(n)) {
		err = fmt.Errorf("choice %d of %d: the file is damaged", k, n)
	}
	return k, err
}

// text returns a text after its length.
func (d *datum) text() (string, error) {
	n, err := binary.ReadVarint(d.in)
	if err != nil {
		return "", err
	}
	if n < 0 || n > maxText {
		return "", fmt.Errorf("a text of %d bytes, must be at most %d: the file is damaged", n, maxText)
	}
	var b strings.Builder
	if _, err := io.CopyN(&b, d.in, n); err != nil {
		return "", err
	}
	return b.String(), nil
}

// blocks returns an array as a list. Of a map it returns the values alone.
func (d *datum) blocks(s *schema, depth int) (list []any, err error) {
	for {
		n, err := binary.ReadVarint(d.in)
		if err != nil || n == 0 {
			return list, err
		}
		if n < 0 { // its size in bytes follows
			if n = -n; n < 0 {
				return nil, errTooMuch
			}
			if _, err := binary.ReadVarint(d.in); err != nil {
				return nil, err
			}
		}
		for range n {
			if s.kind == "map" {
				if _, err := d.text(); err != nil {
					return nil, err
				}
			}
			v, err := d.decode(s.items, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
	}
}
