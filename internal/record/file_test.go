package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/sched"
)

// populate sets every field of a value, however deep, to something that is not zero.
func populate(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		populate(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			populate(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range 3 {
			populate(v.Index(i), n)
		}
	case reflect.Array:
		for i := range v.Len() {
			populate(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(strings.Repeat("é", *n%5+1))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.1)
	case reflect.Uint8:
		v.SetUint(uint64(*n%3 + 1))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Interface:
		v.Set(reflect.ValueOf("a payload"))
	default:
		panic(v.Type().String())
	}
}

var textPayload = Payload{
	Name:   "text",
	Append: func(b []byte, payload any) ([]byte, error) { return append(b, payload.(string)...), nil },
	Parse:  func(b []byte) (any, error) { return string(b), nil },
}

// bodies are one of each type that Event.Body has, with every field set: a field that is new in sched and not coded
// here fails this test.
func bodies() []any {
	list := []any{
		&sched.JobSpec{},
		&sched.NodeSpec{},
		&sched.Asks{},
		&sched.Counters{},
		&sched.Undone{},
		&sched.Resources{},
	}
	n := 0
	for _, b := range list {
		populate(reflect.ValueOf(b).Elem(), &n)
	}
	return list
}

func codeBody(c *coder, body any) {
	switch b := body.(type) {
	case *sched.JobSpec:
		c.jobSpec(b)
	case *sched.NodeSpec:
		c.nodeSpec(b)
	case *sched.Asks:
		c.asks(b)
		list(c, &b.Near, c.near)
	case *sched.Counters:
		c.counters(b)
	case *sched.Undone:
		c.undone(b)
	case *sched.Resources:
		c.resources(b)
	}
}

func TestEveryFieldComesBack(t *testing.T) {
	for _, body := range bodies() {
		w := coder{payload: textPayload}
		codeBody(&w, body)
		again := reflect.New(reflect.TypeOf(body).Elem()).Interface()
		r := coder{b: w.b, reading: true, payload: textPayload}
		codeBody(&r, again)
		if w.err != nil || r.err != nil || len(r.b) != 0 || !reflect.DeepEqual(body, again) {
			t.Errorf("%T: errors %v, %v; %d bytes left\n%+v\n%+v", body, w.err, r.err, len(r.b), body, again)
		}
		for cut := range w.b { // of a body that ends too soon: an error, and no panic
			r := coder{b: w.b[:cut], reading: true, payload: textPayload}
			if codeBody(&r, reflect.New(reflect.TypeOf(body).Elem()).Interface()); r.err == nil {
				t.Errorf("%T cut to %d of %d bytes is read without an error", body, cut, len(w.b))
			}
		}
	}
}

// Counters without those that few engines know are the bytes that they were before there were any.
func TestCountersStayShort(t *testing.T) {
	w := coder{}
	w.counters(&sched.Counters{InputBytes: 1, OutputBytes: 2, InputRecords: 3, OutputRecords: 4})
	if want := append([]byte{2, 4, 6, 8}, make([]byte, sched.NumPhases)...); !bytes.Equal(w.b, want) {
		t.Errorf("bytes %v, want %v", w.b, want)
	}
}

// Numbers at the edges of their types come back, nil and empty lists stay what they are, and places of any width do.
func TestValuesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := &sched.JobSpec{
			Name: rapid.String().
				Draw(t, "name"),
			Weight: rapid.Float64().Draw(t, "weight"), Priority: rapid.Int32().Draw(t, "priority"),
			Submit:   sched.Time(rapid.Int64().Draw(t, "submit")),
			Deadline: sched.Time(rapid.Int64().Draw(t, "deadline")),
		}
		most := rapid.Int32Range(0, math.MaxInt32).Draw(t, "largest place")
		spec.Stages = make([]sched.StageSpec, rapid.IntRange(0, 3).Draw(t, "stages"))
		for i := range spec.Stages {
			st := &spec.Stages[i]
			st.Tasks, st.InputBytes = rapid.Int32().Draw(t, "tasks"), rapid.Int64().Draw(t, "bytes")
			for k := range st.PerTask {
				st.PerTask[k] = rapid.Int64().Draw(t, "amount")
			}
			for _, n := range rapid.SliceOf(rapid.Int32Range(0, most)).Draw(t, "places") {
				st.Places = append(st.Places, sched.NodeID(n))
			}
			if rapid.Bool().Draw(t, "empty") {
				st.After = []sched.Dep{}
			}
		}
		w := coder{}
		w.jobSpec(spec)
		r, again := coder{b: w.b, reading: true}, &sched.JobSpec{}
		r.jobSpec(again)
		if r.err != nil || w.err != nil || len(r.b) != 0 {
			t.Fatalf("errors %v, %v; %d bytes left", w.err, r.err, len(r.b))
		}
		if !reflect.DeepEqual(spec, again) {
			t.Fatalf("%+v\n%+v", spec, again)
		}
	})
}

// A payload comes back through its codec; a reader without it leaves the payload out, and reads all the rest.
func TestPayload(t *testing.T) {
	spec := mapReduce(0, 2, sec, 0, 0)
	spec.Payload = "how it really is"
	b := recorded(t, Options{Payload: textPayload}, func(w *Writer) {
		r := newRig(sched.Config{}, w)
		r.node(slots(1, 0))
		r.submit(1, spec)
		r.run()
	})
	for want, codec := range map[any]Payload{"how it really is": textPayload, nil: {}} {
		r, err := NewReader(bytes.NewReader(b), "test", codec)
		if err != nil {
			t.Fatal(err)
		}
		for s, err := range r.Steps() {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range s.Events {
				if got, ok := e.Body.(*sched.JobSpec); ok && (got.Payload != want || got.Stages[0].Tasks != 2) {
					t.Errorf("with codec %q: %+v", codec.Name, got)
				}
			}
		}
	}
	broken := errors.New("no such truth")
	_, err := NewWriter(io.Discard, Header{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, _ := NewWriter(io.Discard, Header{},
		Options{Payload: Payload{Name: "bad", Append: func([]byte, any) ([]byte, error) { return nil, broken }}})
	r := newRig(sched.Config{}, w)
	r.node(slots(1, 0))
	r.submit(1, spec)
	r.run()
	if err := w.Close(); !errors.Is(err, broken) || !errors.Is(w.Err(), broken) {
		t.Errorf("a payload that cannot be written: %v", err)
	}
}

// A record has each power by its name, in words that never change. A power without a name is an error: a replay would
// run without it.
func TestPowers(t *testing.T) {
	for p, want := range map[Powers]string{
		0:                                       `[]`,
		Powers(sched.CanKill | sched.CanResize): `["kill","resize"]`,
		Powers(sched.CanSuspend | sched.CanNameTasks): `["suspend","name-tasks"]`,
		Powers(sched.AllPowers):                       `["kill","suspend","resize","name-tasks","probe"]`,
	} {
		text, err := json.Marshal(p)
		if err != nil || string(text) != want {
			t.Errorf("%b: %s, %v; want %s", p, text, err, want)
		}
		back := ^p
		if err := json.Unmarshal(text, &back); err != nil || back != p {
			t.Errorf("%s is read as %b, %v", text, back, err)
		}
	}
	next := sched.AllPowers + 1
	if text, err := json.Marshal(Powers(next | sched.CanKill)); err == nil {
		t.Errorf("a power without a name is written as %s", text)
	}
	if _, err := NewWriter(io.Discard, Header{Core: CoreConfigOf(sched.Config{Can: next})}, Options{}); err == nil {
		t.Error("a record is begun without one of the powers")
	}
	var p Powers
	err := json.Unmarshal([]byte(`["kill","fly"]`), &p)
	if err == nil || !strings.Contains(err.Error(), `power "fly"`) {
		t.Errorf("error %v", err)
	}
}

func TestHeader(t *testing.T) {
	h := Header{
		Engine:    "sim",
		Seed:      1<<63 + 1,
		Policy:    "fair:delay=5s",
		Estimator: "oracle",
		Trace:     "FB.tsv",
		Cluster:   json.RawMessage(`{"nodes":4}`),
		Learned:   json.RawMessage(`[1]`),
		Core: CoreConfig{
			Can:        Powers(sched.CanKill | sched.CanProbe),
			Heartbeats: true,
			Limit:      7,
			Queues: []*sched.QueueSpec{
				{Name: "a", Weight: 2, Max: sched.Share{Part: 0.5}, Queues: []*sched.QueueSpec{{Name: "b"}}},
			},
		},
	}
	var b bytes.Buffer
	w, err := NewWriter(&b, h, Options{Payload: textPayload})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := reader(t, b.Bytes())
	h.Format, h.Payload = Format, "text"
	if !reflect.DeepEqual(*r.Header, h) {
		t.Errorf("%+v\n%+v", *r.Header, h)
	}
	if !strings.Contains(b.String(), `"can":["kill","probe"]`) {
		t.Errorf("powers are not written by name: %s", b.String())
	}
	if c := r.Header.Core.Config(); c.Can != sched.CanKill|sched.CanProbe || c.Limit != 7 || !c.Heartbeats ||
		c.Queues[0].Queues[0].Name != "b" {
		t.Errorf("configuration %+v", c)
	}
	line := func(doc string) []byte {
		return append(
			[]byte(magic),
			[]byte(strings.ToLower(hex(crc32.Checksum([]byte(doc), castagnoli)))+" "+doc+"\n")...)
	}
	for _, c := range []struct {
		in   []byte
		want error
		say  string
	}{
		{line(`{"format":3}`), ErrFormat, "format 3, and this is a reader of formats up to 2"},
		{line(`{"format":1,"core":{"can":["fly"]}}`), ErrFormat, `power "fly"`},
		{line(`{"format":1`), ErrFormat, "header"},
		{bytes.Replace(line(`{"format":1}`), []byte("1}"), []byte("1 }"), 1), ErrDamaged, "checksum of the header"},
		{[]byte("job0\t9\t9\n"), ErrFormat, "first line"},
		{bytes.Repeat([]byte("x"), 1000), ErrFormat, "first line"},
		{nil, ErrCut, "not complete"},
		{line(`{"format":1}`)[:20], ErrCut, "not complete"},
	} {
		if _, err := NewReader(bytes.NewReader(c.in), "my.record", Payload{}); !errors.Is(err, c.want) ||
			!strings.Contains(err.Error(), c.say) ||
			!strings.Contains(err.Error(), "my.record") {
			t.Errorf("%.40q: %v, want %v and %q", c.in, err, c.want, c.say)
		}
	}
}

func hex(v uint32) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 8)
	for i := range b {
		b[i] = digits[v>>(28-4*i)&15]
	}
	return string(b)
}

// A record is not written over another unless that is asked for; what is on disk after a flush is readable before the
// end.
func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.record")
	w, err := Create(path, Header{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{}
	r := mrorder41(sched.Config{}, w, k)
	for r.core.Now < 8*sec {
		r.step()
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	count := func() (n int, last error) {
		f, err := Open(path, Payload{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, err := range f.Steps() {
			if last = err; err == nil {
				n++
			}
		}
		return n, last
	}
	if n, err := count(); n != len(k.steps) || !errors.Is(err, ErrCut) {
		t.Errorf("growing: %d of %d steps, %v", n, len(k.steps), err)
	}
	r.run()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := count(); n != len(k.steps) || err != nil {
		t.Errorf("closed: %d of %d steps, %v", n, len(k.steps), err)
	}
	if _, err := Create(path, Header{}, Options{}); !errors.Is(err, fs.ErrExist) ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("over an existing record: %v", err)
	}
	if w, err = Create(path, Header{}, Options{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := count(); n != 0 || err != nil {
		t.Errorf("written over: %d steps, %v", n, err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Payload{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a record that is not there: %v", err)
	}
}

// short takes n bytes and then fails, as a disk that fills up.
type short struct {
	b    bytes.Buffer
	n    int
	err  error
	more int // writes after the first that failed
}

func (s *short) Write(b []byte) (int, error) {
	if s.b.Len()+len(b) > s.n {
		if s.b.Len() == s.n {
			s.more++
		}
		k, _ := s.b.Write(b[:s.n-s.b.Len()])
		return k, s.err
	}
	return s.b.Write(b)
}

// When the disk is full the writer says so, keeps saying the same, writes no more, and what it wrote is a record that
// was cut off.
func TestDiskFull(t *testing.T) {
	whole := recorded(t, Options{span: sec}, func(w *Writer) { mrorder41(sched.Config{}, w).run() })
	out := &short{n: len(whole) - 60, err: errors.New("no space left on device")}
	w, err := NewWriter(out, Header{Engine: "test", Seed: 1, Policy: "test"}, Options{span: sec})
	if err != nil {
		t.Fatal(err)
	}
	mrorder41(sched.Config{}, w).run()
	first := w.Err()
	if !errors.Is(first, out.err) || w.Close() != first || out.more != 0 || w.written != int64(out.n) {
		t.Errorf("%v, then %v; %d more writes; %d bytes written of %d", first, w.Close(), out.more, w.written, out.n)
	}
	n := 0
	for _, err := range reader(t, out.b.Bytes()).Steps() {
		if err == nil {
			n++
		} else if !errors.Is(err, ErrCut) {
			t.Error(err)
		}
	}
	if n == 0 {
		t.Error("nothing of it is readable")
	}
}

// A Step that is larger than a block has one of its own, and its neighbours are in others.
func TestLargeStep(t *testing.T) {
	k := &kept{}
	b := recorded(t, Options{span: -1}, func(w *Writer) {
		r := newRig(sched.Config{}, w, k)
		r.node(slots(5, 0))
		r.submit(1, mapReduce(0, 1, sec, 0, 0))
		for id := range sched.JobID(5000) { // 5000 specs at one instant take more than 64 KiB
			r.submit(id+2, mapReduce(2*sec, 1, sec, 0, 0))
		}
		r.run()
	})
	check(t, b, k.steps)
	r, blocks := reader(t, b), 0
	for range r.Steps() {
		if n := len(r.plain); n > blockSize && r.step.Now != 2*sec {
			t.Errorf("the step at %v is in a block of %d bytes", r.step.Now, n)
		}
		blocks = r.block
	}
	if blocks < 3 {
		t.Errorf("%d blocks, want at least three", blocks)
	}
}

var golden = flag.Bool("golden", false, "write testdata/v1.record anew: only where the format is not out in the world")

// Records of format 1 stay readable for ever: this one has the 13 jobs of a chaotic run, every kind of event and of
// action among their entries.
func TestGolden(t *testing.T) {
	const path = "testdata/v1.record"
	if *golden {
		if err := os.WriteFile(path, recordedAs(t, 4, func(w *Writer) { chaosRun(t, 4, w) }), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	events, actions := map[sched.EventKind]int{}, map[sched.ActionKind]int{}
	for s, err := range reader(t, old).Steps() {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Events {
			events[e.Kind]++
		}
		for _, a := range s.Actions {
			actions[a.Kind]++
		}
	}
	if len(events) != int(sched.Tick)+1 || len(actions) != int(sched.Wake)+1 || events[sched.JobSubmitted] != 13 {
		t.Errorf("events %v\nactions %v", events, actions)
	}
}

// compressor compresses the content of a block. The encoder is made once: making one takes longer than all else that a
// fuzz target does with a small input.
var compressor = sync.OnceValue(func() func(plain []byte) []byte {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(64<<10),
		zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return func(plain []byte) []byte { return zip.EncodeAll(plain, nil) }
})

// withBlock appends a block whose content is anything at all.
func withBlock(b, plain []byte) []byte {
	block := append(make([]byte, 8), compressor()(plain)...)
	sealBlock(block, 0)
	return append(b, block...)
}

// sealed makes a record of one block whose content is anything at all.
func sealed(plain []byte) []byte {
	line, err := Header{}.line()
	if err != nil {
		panic(err)
	}
	return withBlock(line, plain)
}

// A plainRecord is the first line of a record, and the content of its blocks of Steps: the tags, and the rest.
type plainRecord struct {
	line   []byte
	blocks [][2][]byte
}

// plainOf takes a record apart, which may lack its end.
func plainOf(t testing.TB, b []byte) (p plainRecord) {
	t.Helper()
	p.line = b[:bytes.IndexByte(b, '\n')+1]
	r := reader(t, b)
	for _, err := range r.Steps() {
		if errors.Is(err, ErrCut) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(r.memory.tags) == 0 { // it was the last of its block
			n, at := binary.Uvarint(r.plain)
			tags, rest := r.plain[at:at+int(n)], r.plain[at+int(n):]
			p.blocks = append(p.blocks, [2][]byte{bytes.Clone(tags), bytes.Clone(rest)})
		}
	}
	return p
}

// record puts a record together, with checksums that are right, and without snapshots and an index.
func (p plainRecord) record() []byte {
	b := bytes.Clone(p.line)
	for _, parts := range p.blocks {
		b = withBlock(b, slices.Concat(binary.AppendUvarint(nil, uint64(len(parts[0]))), parts[0], parts[1]))
	}
	return append(b, endMark...)
}

// edited returns a record with edits of its blocks.
func (p plainRecord) edited(edits []byte) plainRecord {
	blocks := make([][2][]byte, len(p.blocks))
	for i := range blocks {
		blocks[i] = [2][]byte{bytes.Clone(p.blocks[i][0]), bytes.Clone(p.blocks[i][1])}
	}
	for ; len(edits) > editBytes; edits = edits[editBytes+1:] {
		part := &blocks[int(edits[0]>>1)%len(blocks)][edits[0]&1]
		*part = editedOnce(*part, edits[1:])
	}
	return plainRecord{p.line, blocks}
}

// editBytes is the length of an edit: where, two bytes; how; and with which byte.
const editBytes = 4

// editedOnce does the first of edits to text.
func editedOnce(text, edits []byte) []byte {
	if len(text) == 0 {
		return text
	}
	at, with := int(binary.LittleEndian.Uint16(edits))%len(text), edits[3]
	switch edits[2] % 4 {
	case 0:
		text[at] = with
	case 1:
		text = slices.Insert(text, at, with)
	case 2:
		text = slices.Delete(text, at, min(at+1+int(with%4), len(text)))
	default:
		text[at] ^= 1 << (with % 8)
	}
	return text
}

// tryRecord reads and plays bytes that may be a record. It may fail in no other way than by one of the sentinel errors,
// and what it yields can be told and played.
func tryRecord(t *testing.T, in []byte) {
	huge := false // tasks for which the core would rightly take more memory than a test should
	r, err := NewReader(bytes.NewReader(in), "fuzz.record", Payload{})
	if err == nil {
		for s, e := range r.Steps() {
			err = e
			for i := 0; e == nil && i < len(s.Events); i++ {
				if spec, ok := s.Events[i].Body.(*sched.JobSpec); ok {
					for k := range spec.Stages {
						huge = huge || spec.Stages[k].Tasks > 1<<20
					}
				}
			}
		}
	}
	if err != nil && !errors.Is(err, ErrCut) && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
		t.Fatal(err)
	}
	if r, err = NewReader(bytes.NewReader(in), "fuzz.record", Payload{}); err != nil || huge {
		return
	}
	for _, m := range r.Marks() {
		playOnFrom(t, r, m)
	}
	if err := r.rewind(); err != nil {
		t.Fatal(err)
	}
	if err := Events(io.Discard, r, EventOptions{}); err != nil && !errors.Is(err, ErrCut) &&
		!errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
}

// snapshotsIn returns the content of the snapshots of a record.
func snapshotsIn(t testing.TB, b []byte) (list [][]byte) {
	t.Helper()
	r := reader(t, b)
	for _, m := range r.Marks() {
		frame, _, err := blockAt(bytes.NewReader(b), m.Offset)
		if err != nil {
			t.Fatal(err)
		}
		head := &coder{b: frame, reading: true}
		(&Mark{}).code(head)
		plain, err := r.unzip.DecodeAll(head.b, nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, plain)
	}
	return list
}

// stockRecords are small records of stock MapReduce and Spark.
func stockRecords(t testing.TB) (list [][]byte) {
	t.Helper()
	paths, err := filepath.Glob("../run/testdata/*.record")
	if err != nil || len(paths) < 3 {
		t.Fatalf("%d records of stock programs, %v", len(paths), err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// FuzzReader gives a reader any bytes, both as a file and, so that checksums keep nothing out, as the content of a
// block or of a snapshot. Fuzz it with -fuzzminimizetime=1x: the Go tool makes each input that reaches new code as
// short as it can, and tries no others for up to a minute. Inputs of FuzzEditedRecord are short enough, and its records
// larger.
func FuzzReader(f *testing.F) {
	small := write(f, Header{}, Options{Policy: &inOrder{}, Gap: 1, span: 1}, func(w *Writer) {
		g := newRig(sched.Config{}, w)
		g.node(slots(1, 1))
		g.submit(1, mapReduce(0, 2, sec, 1, sec))
		g.run()
	})
	whole := recordedAs(f, 4, func(w *Writer) { chaosRun(f, 4, w) })
	for _, b := range append(stockRecords(f), small, whole, whole[:len(whole)/2], chaosRecord(f, 4)) {
		f.Add(b)
	}
	for _, plain := range append(snapshotsIn(f, small), snapshotsIn(f, chaosRecord(f, 4))[0]) {
		f.Add(plain)
	}
	for _, b := range [][]byte{small, whole} {
		for _, parts := range plainOf(f, b).blocks {
			f.Add(slices.Concat(binary.AppendUvarint(nil, uint64(len(parts[0]))), parts[0], parts[1]))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		playSnapshot(t, b)
		tryRecord(t, b)
		tryRecord(t, sealed(b))
	})
}

// A record that is put together again has the Steps that it had.
func TestPlainRecord(t *testing.T) {
	for i, b := range append(stockRecords(t), recordedAs(t, 4, func(w *Writer) { chaosRun(t, 4, w) })) {
		var steps [2]int64
		for k, in := range [][]byte{b, plainOf(t, b).edited(nil).record()} {
			for s, err := range play(reader(t, in)).steps() {
				if k == 0 && errors.Is(err, ErrCut) {
					break
				} else if err != nil {
					t.Fatalf("record %d: %v", i, err)
				}
				steps[k] = s.Number
			}
		}
		if steps[0] == 0 || steps[0] != steps[1] {
			t.Errorf("record %d: %d Steps, put together again %d", i, steps[0], steps[1])
		}
	}
	for edits, want := range map[string]string{"\x01\x00\x00X": "aXc", "\x01\x00\x01X": "aXbc",
		"\x04\x00\x02\x04": "ac", "\x02\x00\x02\x03": "ab", "\x00\x00\x03\x09": "cbc"} {
		if got := string(editedOnce([]byte("abc"), []byte(edits))); got != want {
			t.Errorf("abc edited by %q is %q, want %q", edits, got, want)
		}
	}
}

// FuzzEditedRecord edits real records and snapshots at a few places. Most of what it makes is read to the places, and
// often beyond.
func FuzzEditedRecord(f *testing.F) {
	var records []plainRecord
	var snapshots [][]byte
	for seed := uint64(4); seed < 6; seed++ { // with heartbeats, and without
		records = append(records, plainOf(f, recordedAs(f, seed, func(w *Writer) { chaosRun(f, seed, w) })))
		snapshots = append(snapshots, snapshotsIn(f, chaosRecord(f, seed))...)
	}
	for _, b := range stockRecords(f) {
		records = append(records, plainOf(f, b))
	}
	for i := range records {
		tags := uint16(len(records[i].blocks[0][0]))
		f.Add(byte(i), []byte{})
		f.Add(byte(i), []byte{0, byte(tags), byte(tags >> 9), 3, 5})
		f.Add(byte(i), []byte{1, 40, 0, 0, 200, 1, 90, 0, 3, 0})
	}
	f.Add(byte(255), []byte{0, 0, 20, 0, 3, 1})
	f.Fuzz(func(t *testing.T, which byte, edits []byte) {
		if edits = edits[:min(len(edits), 8*(editBytes+1))]; which < 128 {
			tryRecord(t, records[int(which)%len(records)].edited(edits).record())
			return
		}
		plain := bytes.Clone(snapshots[int(which)%len(snapshots)])
		for ; len(edits) > editBytes; edits = edits[editBytes+1:] {
			plain = editedOnce(plain, edits[1:])
		}
		playSnapshot(t, plain)
	})
}
