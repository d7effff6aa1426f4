package jobhistory

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The first lines of job history files (org.apache.hadoop.mapreduce.jobhistory.EventWriter).
const (
	jsonMark   = "Avro-Json"
	binaryMark = "Avro-Binary"
)

// Sniff reports whether a text that begins with start is a job history.
func Sniff(start []byte) bool {
	return bytes.HasPrefix(start, []byte(jsonMark)) || bytes.HasPrefix(start, []byte(binaryMark))
}

// ErrCut is the error of a history that ends in the middle of an event, as that of a job whose ApplicationMaster was
// lost.
var ErrCut = errors.New("ends in the middle of an event: the file is cut off")

// events calls each with the events of a history, in either encoding, in their order: the name of the event's type, and
// its fields, which each may keep. It stops at the first error, also one of each, and adds the name of the file and the
// number of the event, from 1. A history that ends within an event gives ErrCut after its last whole event; one that
// is cut off between two events gives no error.
func events(name string, r io.Reader, each func(string, fields) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	mark, err := line(in)
	if err != nil {
		return fmt.Errorf("%s:1: %w", name, err)
	}
	next, err := decoderOf(string(bytes.TrimSpace(mark)), in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for n := 1; ; n++ {
		e, err := next()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%s: event %d: %w", name, n, ErrCut)
		case err == nil:
			err = each(e.name, e.fields)
		}
		if err != nil {
			return fmt.Errorf("%s: event %d: %w", name, n, err)
		}
	}
}

// decoderOf returns a function that returns the next event; io.EOF after the last. mark is the first line of the file.
func decoderOf(mark string, in *bufio.Reader) (func() (record, error), error) {
	text, err := line(in)
	switch {
	case mark != jsonMark && mark != binaryMark:
		return nil, fmt.Errorf("begins with %.40q, a job history with %s or %s (Hadoop 2 and later)",
			mark, jsonMark, binaryMark)
	case err != nil && len(text) == 0:
		return nil, fmt.Errorf("line 2, the schema: %w", ErrCut)
	case mark == jsonMark:
		return func() (record, error) { return eventOfJSON(in) }, nil
	}
	s, err := parseSchema(text)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(s.fields, func(f field) bool { return f.name == "event" && f.of.kind == "union" }) {
		return nil, errors.New("schema: has no field event of several types: this is no job history")
	}
	return func() (record, error) { // reads at least a byte, so that it comes to an end
		if _, err := in.Peek(1); err != nil {
			return record{}, err
		}
		d := datum{in, maxItems}
		v, err := d.decode(s, 0)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return record{}, err
		}
		event, _ := v.(map[string]any)
		r, _ := event["event"].(record)
		return r, nil
	}, nil
}

// line reads a line. Its last one may lack its end.
func line(in *bufio.Reader) (text []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxText {
			return nil, fmt.Errorf("a line is longer than %d MiB", maxText>>20)
		}
		if err == nil || len(text) > 0 && err == io.EOF {
			return text, nil
		}
		if err != bufio.ErrBufferFull {
			return nil, err
		}
	}
}

// eventOfJSON reads an event in Avro's JSON encoding, in which each has a line.
func eventOfJSON(in *bufio.Reader) (record, error) {
	for {
		text, err := line(in)
		if err != nil {
			return record{}, err
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var e struct {
			Event map[string]map[string]any `json:"event"`
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&e); err != nil {
			if text[len(text)-1] != '\n' {
				err = io.ErrUnexpectedEOF
			}
			return record{}, err
		}
		for name, body := range e.Event { // there is one
			return record{unqualified(name), body}, nil
		}
		return record{}, nil
	}
}

// fields are the fields of an event, or of a record in it, by name.
type fields map[string]any

// plain returns a value without the name of its type, with which Avro's JSON encoding marks the values of unions.
func plain(v any) any {
	switch v := v.(type) {
	case record:
		return v.fields
	case map[string]any:
		if len(v) == 1 {
			for name, inner := range v {
				switch name {
				case "string", "int", "long", "array", "map":
					return inner
				}
				if strings.Contains(name, ".") {
					return inner
				}
			}
		}
	}
	return v
}

// text returns a field that is a text; "" where there is none.
func (f fields) text(name string) string {
	s, _ := plain(f[name]).(string)
	return s
}

// number returns a field that is a whole number; 0 where there is none.
func (f fields) number(name string) int64 {
	switch n := plain(f[name]).(type) {
	case int64:
		return n
	case json.Number:
		v, _ := n.Int64()
		return v
	}
	return 0
}

// list returns a field that is a list; nil where there is none.
func (f fields) list(name string) []any {
	l, _ := plain(f[name]).([]any)
	return l
}

// object returns a field that is a record; nil where there is none.
func (f fields) object(name string) fields {
	m, _ := plain(f[name]).(map[string]any)
	return m
}
