package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// Between two snapshots come at least 1 MiB, 16 times the size of the first up to 4 MiB, and at least 4 times its size.
func TestGapAfter(t *testing.T) {
	for size, want := range map[int64]int64{0: 1 << 20, 1: 1 << 20, 64 << 10: 1 << 20, 64<<10 + 1: 1<<20 + 16,
		100_000: 1_600_000, 256 << 10: 4 << 20, 256<<10 + 1: 4 << 20, 1 << 20: 4 << 20, 1<<20 + 1: 4<<20 + 4,
		8 << 20: 32 << 20} {
		if got := gapAfter(size); got != want {
			t.Errorf("after a snapshot of %d bytes come %d, want %d", size, got, want)
		}
	}
}

// talks is a policy, or an estimator, whose memory is a text that a test chooses.
type talks struct {
	sched.Estimator
	text  string // no JSON, to fail
	asked int
}

func (s *talks) Decide(*sched.Plan) {}

func (s *talks) MarshalJSON() ([]byte, error) {
	if s.asked++; s.text == "" {
		return nil, errors.New("it has no memory")
	}
	return json.Marshal(s.text)
}

// A writer that has written so many bytes is a rig for when snapshots are taken: its Steps are empty.
type dueRig struct {
	*Writer
	core *sched.Core
	file bytes.Buffer
}

func newDueRig(t *testing.T, o Options) *dueRig {
	t.Helper()
	r := &dueRig{}
	var err error
	if r.Writer, err = NewWriter(&r.file, Header{}, o); err != nil {
		t.Fatal(err)
	}
	r.core = sched.New(sched.Config{Recorder: r.Writer})
	return r
}

// at makes a Step when written bytes have been written, and returns how many snapshots there are then.
func (r *dueRig) at(written int64) int {
	r.written = written
	r.core.Step(r.core.Now+1, nil)
	return len(r.snaps.marks)
}

// A snapshot is taken as soon as enough was written since the one before, and its mark says where it is in the run.
func TestSnapshotsAreDue(t *testing.T) {
	r := newDueRig(t, Options{Policy: &talks{text: "p"}})
	for i, c := range []struct {
		written int64
		marks   int
	}{{0, 0}, {leastGap - 1, 0}, {leastGap, 1}} {
		if n := r.at(c.written); n != c.marks {
			t.Fatalf("%d: %d snapshots at byte %d, want %d", i, n, c.written, c.marks)
		}
	}
	first := r.snaps.marks[0]
	want := Mark{Offset: first.Offset, Now: 3, Steps: 3, Blocks: 1}
	if first != want || first.Offset <= leastGap {
		t.Errorf("the mark is %+v, want %+v", first, want)
	}
	next := r.written + gapAfter(r.written-first.Offset)
	if r.snaps.next != next || r.at(next-1) != 1 || r.at(next) != 2 {
		t.Errorf("the next snapshot comes at %d, want %d; there are %d", r.snaps.next, next, len(r.snaps.marks))
	}
	r = newDueRig(t, Options{Policy: &talks{text: "p"}, Gap: 5000})
	if n := r.at(4999); n != 0 || r.at(5000) != 1 || r.snaps.next != r.written+5000 {
		t.Errorf("with a gap of 5000 bytes: %d snapshots, the next at %d", len(r.snaps.marks), r.snaps.next)
	}
	if r = newDueRig(t, Options{}); r.at(1<<40) != 0 {
		t.Error("a snapshot without a policy")
	}
}

// A policy without a memory in JSON, or with one that no block holds, costs snapshots and no run. The one is not asked
// again, the other when twice as much is written.
func TestSnapshotsThatCannotBe(t *testing.T) {
	mute := &talks{}
	r := newDueRig(t, Options{Policy: mute, Gap: 1})
	if r.at(10) != 0 || r.at(1<<30) != 0 || mute.asked != 1 || r.Err() != nil {
		t.Errorf("%d snapshots of a policy without memory, asked %d times: %v", len(r.snaps.marks), mute.asked, r.Err())
	}
	deaf := &talks{}
	r = newDueRig(t, Options{Policy: &talks{text: "p"}, Estimator: deaf, Gap: 1})
	if r.at(10) != 0 || deaf.asked != 1 || r.Err() != nil {
		t.Errorf("%d snapshots of an estimator without memory: %v", len(r.snaps.marks), r.Err())
	}
	large := &talks{text: strings.Repeat("x", mostBlock)}
	r = newDueRig(t, Options{Policy: large, Gap: 1})
	if n := r.at(1000); n != 0 || r.Err() != nil || r.snaps.next != 2*r.written {
		t.Errorf("%d snapshots beyond a block, the next at %d of %d: %v", n, r.snaps.next, r.written, r.Err())
	}
	large.text = "small"
	if next := r.snaps.next; r.at(next-1) != 0 || r.at(next) != 1 {
		t.Errorf("%d snapshots when it had become small", len(r.snaps.marks))
	}
}

// The writer tells once why it leaves snapshots out, and nothing while it takes them.
func TestSnapshotLeftOut(t *testing.T) {
	large, silent := &talks{text: strings.Repeat("x", mostBlock)}, &talks{}
	for name, c := range map[string]struct {
		policy *talks
		e      sched.Estimator
		want   string
	}{
		"taken":     {&talks{text: "p"}, &talks{text: "e"}, ""},
		"too large": {large, nil, "a block holds at most 41943040"},
		"policy":    {silent, nil, "type *record.talks: it has no memory"},
		"estimator": {&talks{text: "p"}, silent, "cannot be written: json: error calling MarshalJSON"},
	} {
		var said []string
		o := Options{Policy: c.policy, Estimator: c.e, Gap: 1, Note: func(s string) { said = append(said, s) }}
		r := newDueRig(t, o)
		for at := range int64(4) {
			r.at(1000 << (2 * at))
		}
		switch {
		case c.want == "" && len(said) > 0:
			t.Errorf("%s: %q", name, said)
		case c.want != "" && (len(said) != 1 || !strings.Contains(said[0], c.want) ||
			!strings.HasPrefix(said[0], "record has no snapshot after 1")):
			t.Errorf("%s: %q, want one remark with %s", name, said, c.want)
		}
	}
}

// A snapshot gives back what the policy and the estimator remembered, and no more where there is no estimator.
func TestSnapshotHoldsMemories(t *testing.T) {
	for _, e := range []sched.Estimator{nil, &talks{text: "e"}} {
		b := write(t, Header{}, Options{Policy: &talks{text: "p"}, Estimator: e, Gap: 1, span: -1}, func(w *Writer) {
			r := newRig(sched.Config{Can: allPowers}, w)
			r.node(slots(1, 1))
			r.submit(1, mapReduce(0, 3, sec, 0, 0))
			r.run()
		})
		r := reader(t, b)
		snap, err := r.Seek(r.Marks()[0])
		want := ""
		if e != nil {
			want = `"e"`
		}
		if err != nil || string(snap.Policy) != `"p"` || string(snap.Estimator) != want {
			t.Errorf("%s and %s, %v", snap.Policy, snap.Estimator, err)
		}
	}
}

// told returns what a reader yields, a line a Step.
func told(t *testing.T, r *Reader) (lines []string) {
	t.Helper()
	for s, err := range r.Steps() {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(s.Number, s.Entry, r.block, s.Now, s.Events, s.Actions))
	}
	return lines
}

// sameSteps reports whether two readings have the same Steps, by what told says before their events.
func sameSteps(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if strings.SplitN(a[i], "[", 2)[0] != strings.SplitN(b[i], "[", 2)[0] {
			return false
		}
	}
	return true
}

// A reader goes back, to the beginning or to a snapshot, from wherever it is, also from the end, and numbers Steps,
// entries and blocks as it did.
func TestReaderGoesBack(t *testing.T) {
	b := chaosRecord(t, 4)
	r := reader(t, b)
	whole, marks := told(t, r), r.Marks()
	for range 2 {
		if err := r.rewind(); err != nil {
			t.Fatal(err)
		}
		n := 0
		for range r.Steps() { // part of it: what was read stays behind
			if n++; n == 5 {
				break
			}
		}
		if err := r.rewind(); err != nil {
			t.Fatal(err)
		}
		if again := told(t, r); !sameSteps(again, whole) {
			t.Fatalf("from the beginning again: %d Steps of %d", len(again), len(whole))
		}
	}
	for i := len(marks) - 1; i >= 0; i-- {
		m := marks[i]
		snap, err := r.Seek(m)
		if err != nil || snap.Mark != m {
			t.Fatalf("%+v, %v, want %+v", snap, err, m)
		}
		if rest := told(t, r); !sameSteps(rest, whole[m.Steps:]) {
			t.Fatalf("from the snapshot after %d Steps: %d Steps of %d", m.Steps, len(rest), len(whole))
		}
	}
	stream, err := NewReader(struct{ io.Reader }{bytes.NewReader(b)}, "stream", Payload{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Seek(marks[0]); err == nil || !strings.Contains(err.Error(), "this is no file") {
		t.Errorf("a stream: %v", err)
	}
	if err := stream.rewind(); err == nil || !strings.Contains(err.Error(), "cannot be read twice") {
		t.Errorf("a stream: %v", err)
	}
	if marks := stream.Marks(); marks != nil {
		t.Errorf("a stream has the marks %v", marks)
	}
	if _, err := r.Seek(Mark{Offset: r.begin}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(),
		fmt.Sprintf("snapshot at byte %d: ", r.begin)) || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("a snapshot where Steps are: %v", err)
	}
	if _, err := r.Seek(Mark{Offset: int64(len(b))}); !errors.Is(err, ErrDamaged) {
		t.Errorf("a snapshot behind the end: %v", err)
	}
}

// Marks are those of the index; without an index, or where it is wrong in any way, those that a walk finds. Records of
// format 1 have none.
func TestMarksWithoutIndex(t *testing.T) {
	b := chaosRecord(t, 4)
	all := reader(t, b).Marks()
	size := int64(len(b)) - int64(len(endMark))
	length := int64(binary.LittleEndian.Uint32(b[size-4:]))
	file := func(b []byte) seeker { return bytes.NewReader(b) }
	if got, ok := indexed(file(b)); !ok || len(got) != len(all) || len(all) < 2 {
		t.Fatalf("%d marks in the index, want %d", len(got), len(all))
	}
	index := b[size-length : size]
	for name, change := range map[string]func() []byte{
		"cut off":         func() []byte { return b[:size-length] },
		"no end mark":     func() []byte { return b[:size] },
		"nothing":         func() []byte { return b[len(b)-int(length)-len(endMark)+1:] },
		"too short":       func() []byte { return patched(b, size-4, 11) },
		"of no block":     func() []byte { return patched(b, size-4, uint32(length)+1) },
		"beyond a block":  func() []byte { return patched(b, size-4, mostBlock+1) },
		"beyond the file": func() []byte { return patched(b, size-4, uint32(size)+1) },
		"no index": func() []byte {
			other := bytes.Clone(index)
			sealBlock(other, 0)
			return append(append(bytes.Clone(b[:size-length]), other...), endMark...)
		},
		"shorter than it says": func() []byte {
			other := append(bytes.Clone(index[:len(index)-4]), 0, 0, 0, 0)
			binary.LittleEndian.PutUint32(other[len(other)-4:], uint32(len(other)+1))
			sealBlock(other, indexBit)
			return append(append(bytes.Clone(b[:size-length]), other...), endMark...)
		},
		"more marks than it has": func() []byte {
			other := bytes.Clone(index)
			other[8]++
			sealBlock(other, indexBit)
			return append(append(bytes.Clone(b[:size-length]), other...), endMark...)
		},
	} {
		in := change()
		if got, ok := indexed(file(in)); ok {
			t.Errorf("%s: %d marks from the index", name, len(got))
		}
		if name == "nothing" {
			continue
		}
		if got := reader(t, in).Marks(); fmt.Sprint(got) != fmt.Sprint(all) {
			t.Errorf("%s: marks %+v, want %+v", name, got, all)
		}
	}
	old := reader(t, b)
	if old.Header.Format = 1; old.Marks() != nil {
		t.Error("a record of format 1 has marks")
	}
}

// patched returns bytes with a number at an offset.
func patched(b []byte, at int64, n uint32) []byte {
	b = bytes.Clone(b)
	binary.LittleEndian.PutUint32(b[at:], n)
	return b
}

// A walk ends at an end mark, at a block that is too long, and at the end of the file; it leaves out what is no mark.
func TestWalk(t *testing.T) {
	block := func(bit uint32, content ...byte) []byte {
		b := append(make([]byte, 8), content...)
		sealBlock(b, bit)
		return b
	}
	mark := block(snapshotBit, 2, 4, 6, 8, 10) // times two, as varints are
	long := make([]byte, 8)
	binary.LittleEndian.PutUint32(long, mostBlock+1)
	just := make([]byte, 8)
	binary.LittleEndian.PutUint32(just, mostBlock)
	join := func(blocks ...[]byte) []byte { return bytes.Join(blocks, nil) }
	for i, c := range []struct {
		file []byte
		want []int64 // offsets
	}{
		{join(block(0, 1, 2), mark, mark), []int64{10, 23}},
		{join(mark, []byte(endMark), mark), []int64{0}},
		{join(mark, long, mark), []int64{0}},
		{join(mark, just, mark), []int64{0}},
		{join(mark, mark[:7]), []int64{0}},
		{join(mark, block(indexBit, 1), mark), []int64{0, 22}},
		{join(mark, block(snapshotBit, 0x80)), []int64{0}},
		{join(block(0), mark), []int64{}},
	} {
		marks := walk(bytes.NewReader(c.file), 0)
		got := []int64{}
		for _, m := range marks {
			if got = append(got, m.Offset); m != (Mark{m.Offset, 1, 2, 3, 4, 5}) {
				t.Errorf("%d: %+v", i, m)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%d: snapshots at %v, want %v", i, got, c.want)
		}
	}
	for says, in := range map[string][]byte{
		"EOF": mark[:7], fmt.Sprintf("a block of %d bytes", mostBlock+1): long,
		"the checksum does not match": mark[:len(mark)-1],
	} {
		if _, _, err := blockAt(bytes.NewReader(in), 0); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	changed := bytes.Clone(mark)
	changed[9]++
	if _, _, err := blockAt(bytes.NewReader(changed), 0); err == nil {
		t.Error("a block that was changed is read")
	}
	if frame, bits, err := blockAt(bytes.NewReader(mark), 0); err != nil || bits != snapshotBit || len(frame) != 5 {
		t.Errorf("%d bytes with the bits %x: %v", len(frame), bits, err)
	}
}

// What no core can remember is refused where a snapshot is read.
func TestSnapshotRefuses(t *testing.T) {
	coded := func(write func(*coder)) *coder {
		c := &coder{}
		write(c)
		return &coder{b: c.b, reading: true}
	}
	for n, want := range map[int]bool{3: true, 4: false} {
		list := make([]int32, n)
		each := func(c *coder) func(*int32) { return func(v *int32) { number(c, v) } }
		c := coded(func(c *coder) { atMost(c, 9, &list, each(c)) })
		var got []int32
		if atMost(c, 3, &got, each(c)); (c.err == nil) != want {
			t.Errorf("a list of %d where there are 3 at most: %v", n, c.err)
		}
	}
	for kind, want := range map[sched.ResourceKind]bool{sched.NumResources - 1: true, sched.NumResources: false} {
		c := coded(func(c *coder) { state(c, &sched.State{Kinds: []sched.ResourceKind{kind}}) })
		if state(c, &sched.State{}); (c.err == nil) != want {
			t.Errorf("a resource %d: %v", kind, c.err)
		}
	}
	for slot, want := range map[int32]bool{-1: false, 0: true, 1: true, 2: false} {
		for _, freed := range []bool{true, false} {
			m := newMemory(false, Payload{})
			m.slots.all = make([]slotMemory, 2)
			if m.slots.free = []int32{slot}; freed {
				m.slots.free, m.slots.freed = nil, []int32{slot}
			}
			c := coded(func(c *coder) { carry(c, m) })
			if carry(c, newMemory(true, Payload{})); (c.err == nil) != want {
				t.Errorf("a free slot %d of 2: %v", slot, c.err)
			}
		}
	}
}

// What the codec remembers comes back as it was, but for what a snapshot makes it forget.
func TestCarryIsWhole(t *testing.T) {
	m := newMemory(false, Payload{})
	m.now, m.serial, m.referred, m.stage = 1, 2, 3, sched.StageID{Job: 4, Index: 5}
	m.node, m.reported, m.job, m.nodes = 6, 7, 8, 9
	m.shapes = map[int32]namedShape{3: {1<<20 + 3, slots(1, 2)}, 1: {1, slots(3, 4)}}
	m.slots.all = []slotMemory{{serial: 11, stage: sched.StageID{Job: 12, Index: 13}, node: 14, running: true}, {},
		{serial: 15, stage: sched.StageID{Job: 16, Index: 17}, node: 18, running: true}}
	m.slots.freed, m.slots.free = []int32{1}, []int32{1, 0}
	c := &coder{}
	carry(c, m)
	read, got := &coder{b: c.b, reading: true}, newMemory(true, Payload{})
	if carry(read, got); read.err != nil || len(read.b) > 0 {
		t.Fatalf("%v, %d bytes are left", read.err, len(read.b))
	}
	want := fmt.Sprint(m.now, m.serial, m.referred, m.stage, m.node, m.reported, m.job, m.nodes, m.shapes, m.slots.all,
		m.slots.freed, m.slots.free, map[uint64]int32{11: 0, 15: 2})
	if text := fmt.Sprint(got.now, got.serial, got.referred, got.stage, got.node, got.reported, got.job, got.nodes,
		got.shapes, got.slots.all, got.slots.freed, got.slots.free, got.slots.find); text != want {
		t.Errorf("it comes back as\n%s\nwant\n%s", text, want)
	}
}
