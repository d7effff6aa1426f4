package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"sort"
	"strconv"
)

// jsonMax is the length in bytes of the longest value that is read whole: a task with its attempts, never a job. Its
// decoded form takes up to a hundred times as much.
const jsonMax = 2 << 20

// A jsonText is a stream of JSON values, read a piece at a time: memory goes by the largest task, not the largest job.
type jsonText struct {
	in    *input
	dec   *json.Decoder
	lines lineCounter
}

func newJSONText(in *input) *jsonText {
	t := &jsonText{in: in}
	t.lines = lineCounter{r: in.Reader, line: 1}
	t.dec = json.NewDecoder(&t.lines)
	return t
}

// errTooLong is what a lineCounter says of a value longer than jsonMax.
var errTooLong = fmt.Errorf("a value is longer than %d MiB", jsonMax>>20)

// A lineCounter remembers where lines begin in the text that a decoder has taken and not used yet, to tell the line of
// an offset.
type lineCounter struct {
	r     io.Reader
	taken int64   // bytes
	used  int64   // bytes; what lies before is done with
	line  int     // of the byte at used
	begin int64   // offset at which that line begins
	ends  []int64 // offsets of the line ends between used and taken
}

func (c *lineCounter) Read(p []byte) (int, error) {
	if c.taken-c.used > jsonMax {
		return 0, errTooLong
	}
	n, err := c.r.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			c.ends = append(c.ends, c.taken+int64(i))
		}
	}
	c.taken += int64(n)
	return n, err
}

// use forgets what lies before an offset.
func (c *lineCounter) use(offset int64) {
	k := sort.Search(len(c.ends), func(i int) bool { return c.ends[i] >= offset })
	if k > 0 {
		c.line += k
		c.begin = c.ends[k-1] + 1
		c.ends = c.ends[:copy(c.ends, c.ends[k:])]
	}
	c.used = offset
}

// place returns the line and the column of an offset, which is not before used.
func (c *lineCounter) place(offset int64) (line, column int) {
	k := sort.Search(len(c.ends), func(i int) bool { return c.ends[i] >= offset })
	begin := c.begin
	if k > 0 {
		begin = c.ends[k-1] + 1
	}
	return c.line + k, int(offset-begin) + 1
}

// line returns the line that the reading has reached.
func (t *jsonText) line() int {
	line, _ := t.lines.place(t.dec.InputOffset())
	return line
}

// wrong says what is wrong where the reading stands.
func (t *jsonText) wrong(format string, args ...any) error {
	line, column := t.lines.place(t.dec.InputOffset())
	return t.in.at(line, column, format, args...)
}

// failed makes an error of the decoder, which began a value at start, one that names line, column and field.
func (t *jsonText) failed(field string, start int64, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := max(t.dec.InputOffset(), t.lines.used)
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		line, column := t.lines.place(offset)
		return t.in.at(line, column, "%s: ends in the middle: the file is cut off", field)
	case errors.As(err, &syntax):
		line, column := t.lines.place(max(syntax.Offset-1, t.lines.used))
		return t.in.at(line, column, "%s: %w", field, err)
	case errors.As(err, &kind):
		if kind.Field != "" {
			field += "." + kind.Field
		}
		if kind.Offset > 0 { // of what is wrong in the value, else that of the value's end is known
			offset = max(start+kind.Offset, t.lines.used)
		}
		line, column := t.lines.place(offset)
		return t.in.at(line, column, "%s: is %s, must be %s", field, kind.Value, jsonKind(kind.Type.String()))
	case errors.Is(err, errTooLong):
		line, column := t.lines.place(offset)
		return t.in.at(line, column, "%s: %w", field, err)
	}
	return t.in.broken(err)
}

// jsonKind says in words what Go type a value was to have.
func jsonKind(goType string) string {
	switch goType {
	case "string":
		return "a string"
	case "int64", "workload.number":
		return "a whole number"
	}
	return "an object or array as the format has it"
}

// delim reads the beginning of an object or an array; false: it is null instead.
func (t *jsonText) delim(field string, want json.Delim) (bool, error) {
	start := t.dec.InputOffset()
	token, err := t.dec.Token()
	if err != nil {
		return false, t.failed(field, start, err)
	}
	if token == nil {
		return false, nil
	}
	if token != want {
		line, column := t.lines.place(start)
		return false, t.in.at(line, column, "%s: must be %s", field, map[json.Delim]string{'{': "an object",
			'[': "an array"}[want])
	}
	return true, nil
}

// object reads an object, or null: each is called for each key, and reads its value.
func (t *jsonText) object(field string, each func(key string) error) error {
	some, err := t.delim(field, '{')
	for some && t.dec.More() {
		start := t.dec.InputOffset()
		token, err := t.dec.Token()
		if err != nil {
			return t.failed(field, start, err)
		}
		t.lines.use(t.dec.InputOffset())
		key, _ := token.(string) // the decoder takes nothing else for a key
		if err := each(key); err != nil {
			return err
		}
	}
	if err != nil || !some {
		return err
	}
	return t.end(field)
}

// array reads an array, or null: each is called for each element, and reads it.
func (t *jsonText) array(field string, each func() error) error {
	some, err := t.delim(field, '[')
	for some && t.dec.More() {
		t.lines.use(t.dec.InputOffset())
		if err := each(); err != nil {
			return err
		}
	}
	if err != nil || !some {
		return err
	}
	return t.end(field)
}

// end reads the end of an object or an array.
func (t *jsonText) end(field string) error {
	start := t.dec.InputOffset()
	if _, err := t.dec.Token(); err != nil {
		return t.failed(field, start, err)
	}
	t.lines.use(t.dec.InputOffset())
	return nil
}

// value reads a value into v.
func (t *jsonText) value(field string, v any) error {
	start := t.dec.InputOffset()
	if err := t.dec.Decode(v); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			// Its offset counts decoded values only, not what was read as tokens. What the decoder holds begins with
			// the bad value.
			if again := json.NewDecoder(t.dec.Buffered()).Decode(&ignored{}); errors.As(again, &syntax) {
				line, column := t.lines.place(t.dec.InputOffset() + syntax.Offset - 1)
				return t.in.at(line, column, "%s: %w", field, syntax)
			}
		}
		return t.failed(field, start, err)
	}
	t.lines.use(t.dec.InputOffset())
	return nil
}

// skip passes over a value.
func (t *jsonText) skip(field string) error { return t.value(field, &ignored{}) }

// ignored takes any JSON value and keeps nothing.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

// top reads the values of the text one after the other, or those of one array: each reads one.
func (t *jsonText) top(field string, each func() error) error {
	inArray, n := false, 0
	if b, _ := t.in.Peek(lineMax); len(b) > 0 {
		for _, c := range b {
			if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				inArray = c == '['
				break
			}
		}
	}
	count := func() error {
		n++
		return each()
	}
	if inArray {
		if err := t.array("jobs", count); err != nil {
			return err
		}
		if t.dec.More() {
			return t.wrong("something stands behind the array of jobs")
		}
	}
	for !inArray && t.dec.More() {
		if err := count(); err != nil {
			return err
		}
	}
	// More is false at the end of the text, and where it cannot be read on.
	if _, err := t.dec.Token(); err != io.EOF {
		start := t.dec.InputOffset()
		if err == nil {
			return t.wrong("something stands behind the jobs")
		}
		return t.failed(field, start, err)
	}
	if n == 0 {
		return t.in.at(0, 0, "holds no job")
	}
	return nil
}

// A number is a whole number, which some writers put in quotes.
type number int64

// UnmarshalJSON reads 12, "12" and 12.0.
func (n *number) UnmarshalJSON(text []byte) error {
	s := string(text)
	if s == "null" {
		return nil
	}
	if len(s) >= 2 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return &json.UnmarshalTypeError{Value: string(text[:min(len(text), 40)]), Type: reflect.TypeFor[number]()}
		}
		v = int64(f)
	}
	*n = number(v)
	return nil
}
