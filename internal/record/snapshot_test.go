package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/sched"
)

// stateBytes codes the state of a core. Shapes stand for themselves, as a player has not seen those that the policy
// only asked about; how the core is woken is left out, as a player is not.
func stateBytes(t *testing.T, core *sched.Core) []byte {
	t.Helper()
	c, s := &coder{}, sched.StateOf(&core.View)
	for i := range s.Attempts {
		s.Attempts[i].Twin = min(s.Attempts[i].Twin, 0) // a record does not say the order of several
		for _, row := range []*int32{&s.Attempts[i].Holds, &s.Attempts[i].Wants} {
			c.resources(&s.Shapes[*row])
			*row = 0
		}
	}
	s.Shapes, s.Wake, s.Told = nil, 0, 0
	for i := range s.Stages { // a player names the tasks that it starts, so that it marks all of them
		st := &s.Stages[i]
		taken := make([]uint64, max(0, st.Total)>>6+1)
		copy(taken, st.Taken)
		for task := int32(1); task <= st.Next; task++ {
			taken[task>>6] |= 1 << (task & 63)
		}
		st.Next, st.Taken = 0, taken
	}
	if state(c, s); c.err != nil {
		t.Fatal(c.err)
	}
	return c.b
}

// chaosRecord is the record of a chaotic run with a snapshot at about each kilobyte.
func chaosRecord(t testing.TB, seed uint64) []byte {
	h := Header{Core: CoreConfigOf(chaosConfig(seed))}
	return write(t, h, Options{Policy: &inOrder{}, Gap: 512, span: 1}, func(w *Writer) { chaosRun(t, seed, w) })
}

// A core that begins at a snapshot is equal to one that has lived through the whole record, byte by byte of its state,
// after each Step: in runs with every kind of event and of action.
func TestSnapshotsAreTheState(t *testing.T) {
	snapshots := 0
	for seed := range longtest.Few[uint64](10, 20) {
		b := chaosRecord(t, seed)
		marks := reader(t, b).Marks()
		snapshots += len(marks)
		var states [][]byte // after each Step
		whole := play(reader(t, b))
		for _, err := range whole.steps() {
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, stateBytes(t, whole.core))
		}
		for _, m := range marks {
			r := reader(t, b)
			snap, err := r.Seek(m)
			if err != nil {
				t.Fatal(err)
			}
			if snap.Mark != m || string(snap.Policy) != "{}" {
				t.Fatalf("seed %d: the snapshot is %+v with %s, the index says %+v", seed, snap.Mark, snap.Policy, m)
			}
			p, err := playFrom(r, snap)
			if err != nil {
				t.Fatal(err)
			}
			n := m.Steps
			for s, err := range p.steps() {
				if err != nil {
					t.Fatalf("seed %d, from %v: %v", seed, m.Now, err)
				}
				if n++; s.Number != n || !bytes.Equal(stateBytes(t, p.core), states[n-1]) {
					t.Fatalf("seed %d, from %v: the state differs after step %d (%d)", seed, m.Now, n, s.Number)
				}
			}
			if int(n) != len(states) {
				t.Fatalf("seed %d, from %v: %d Steps of %d", seed, m.Now, n, len(states))
			}
		}
	}
	if snapshots < 40 {
		t.Errorf("%d snapshots, want at least two in a run", snapshots)
	}
}

// A record that was cut off anywhere has the snapshots that are whole, and they can be used: the last two are, since
// those before them were the last two of an earlier cut.
func TestMarksOfCutRecord(t *testing.T) {
	b := chaosRecord(t, 4)
	all := reader(t, b).Marks()
	if len(all) < 2 {
		t.Fatalf("%d snapshots, want several", len(all))
	}
	begin := int(reader(t, b).begin)
	for cut := begin; cut <= len(b); cut += 7 {
		r := reader(t, b[:cut])
		marks := r.Marks()
		for i, m := range marks {
			if m != all[i] {
				t.Fatalf("cut off at byte %d: snapshot %d is %+v, want %+v", cut, i+1, m, all[i])
			}
			if i < len(marks)-2 {
				continue
			}
			snap, err := r.Seek(m)
			if err != nil {
				if i == len(marks)-1 && errors.Is(err, ErrDamaged) {
					continue // the cut goes through it
				}
				t.Fatal(err)
			}
			p, err := playFrom(r, snap)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range p.steps() {
				if err != nil && !errors.Is(err, ErrCut) {
					t.Fatal(err)
				}
			}
		}
		for i := len(marks); i < len(all); i++ {
			if int(all[i].Offset)+60 < cut {
				t.Fatalf("cut off at byte %d: there is no snapshot of byte %d", cut, all[i].Offset)
			}
		}
	}
}

// A snapshot that is damaged costs time, and changes no answer.
func TestDamagedSnapshot(t *testing.T) {
	b := chaosRecord(t, 4)
	marks := reader(t, b).Marks()
	last := marks[len(marks)-1]
	q := Question{Job: last.Newest, At: last.Now}
	want, err := Explain(reader(t, b), q, nil)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(b)
	damaged[last.Offset+40] ^= 1
	_, err = reader(t, damaged).Seek(last)
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "snapshot at") {
		t.Errorf("a damaged snapshot: %v", err)
	}
	// The block is damaged for those who read through it as well: they say so.
	if _, err := Explain(reader(t, damaged), q, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("an answer from a damaged record: %v", err)
	}
	index := bytes.Clone(b)
	index[len(b)-len(endMark)-1] ^= 1 // the length of the index
	got, err := Explain(reader(t, index), q, nil)
	if err == nil && !bytes.Equal(marshalled(t, got), marshalled(t, want)) ||
		err != nil && !errors.Is(err, ErrDamaged) {
		t.Errorf("without an index: %s, %v, want %s", marshalled(t, got), err, marshalled(t, want))
	}
}

// The checksum of a block does not cover the bits that make it a snapshot or the index. A reader notices that one of
// them is wrong, and does not leave out a block of Steps.
func TestWrongKindOfBlock(t *testing.T) {
	b := chaosRecord(t, 4)
	kinds := map[uint32]int{}
	for at := int(reader(t, b).begin); ; {
		word := binary.LittleEndian.Uint32(b[at:])
		if word == 0 {
			break
		}
		kinds[word&^lengthBits]++
		for _, bit := range []uint32{snapshotBit, indexBit} {
			damaged := bytes.Clone(b)
			binary.LittleEndian.PutUint32(damaged[at:], word^bit)
			var err error
			for _, err = range reader(t, damaged).Steps() {
			}
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("byte %d, %#x for %#x: %v", at, word^bit, word, err)
			}
		}
		at += 8 + int(word&lengthBits)
	}
	if kinds[0] < 2 || kinds[snapshotBit] < 2 || kinds[indexBit] != 1 {
		t.Errorf("the record has blocks of kinds %v, want Steps, snapshots and an index", kinds)
	}
}

// What is asked of a record has the same answer with its snapshots and without, whatever the job and the instant: of a
// job that runs, waits, ended before a snapshot, or comes after it.
func TestExplainFromSnapshots(t *testing.T) {
	for seed := range longtest.Few[uint64](3, 6) {
		b := chaosRecord(t, seed)
		end := reader(t, b).Marks()
		for at := sched.Time(0); at <= end[len(end)-1].Now+5*sec; at += 3 * sec {
			for job := sched.JobID(1); job <= 13; job += 2 {
				q := Question{Job: job, At: at}
				got, err := Explain(reader(t, b), q, nil)
				if err != nil {
					t.Fatal(err)
				}
				plain, err := NewReader(struct{ io.Reader }{bytes.NewReader(b)}, "test.record", Payload{})
				if err != nil {
					t.Fatal(err)
				}
				want, err := Explain(plain, q, nil)
				if err != nil {
					t.Fatal(err)
				}
				if g, w := marshalled(t, got), marshalled(t, want); !bytes.Equal(g, w) {
					t.Fatalf("seed %d, job %d at %v:\n%s\nwithout snapshots:\n%s", seed, job, at, g, w)
				}
			}
		}
	}
}

// Events from an instant on are the same lines with snapshots and without.
func TestEventsFromSnapshots(t *testing.T) {
	b := chaosRecord(t, 7)
	for at := sched.Time(0); at < 60*sec; at += 7 * sec {
		var got, want strings.Builder
		if err := Events(&got, reader(t, b), EventOptions{From: at}); err != nil {
			t.Fatal(err)
		}
		plain, err := NewReader(struct{ io.Reader }{bytes.NewReader(b)}, "test.record", Payload{})
		if err != nil {
			t.Fatal(err)
		}
		if err := Events(&want, plain, EventOptions{From: at}); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("from %v: %d bytes of lines, want %d", at, got.Len(), want.Len())
		}
	}
}

// Snapshots of up to 64 KiB take at most a sixteenth of a record, and larger ones a quarter; a large one never keeps
// the next one away for longer than four times its size. Records of less than 1 MiB have none.
func TestSnapshotsAreBounded(t *testing.T) {
	for size := int64(1); size < 1<<26; size *= 3 {
		gap := gapAfter(size)
		if gap < 4*size || gap < leastGap || size <= 64<<10 && gap < 16*size || gap > max(4*leastGap, 4*size) {
			t.Errorf("after a snapshot of %d bytes come %d", size, gap)
		}
	}
	small := recorded(t, Options{Policy: &inOrder{}, span: 1}, func(w *Writer) { chaosRun(t, 4, w) })
	if marks := reader(t, small).Marks(); len(small) > leastGap || len(marks) > 0 {
		t.Errorf("%d snapshots in %d bytes", len(marks), len(small))
	}
}

// playOnFrom plays what comes after a snapshot of a record that may be anything.
func playOnFrom(t *testing.T, r *Reader, m Mark) {
	snap, err := r.Seek(m)
	var p *player
	if err == nil {
		p, err = playFrom(r, snap)
	}
	if err == nil {
		for _, e := range p.steps() {
			err = e
		}
	}
	if err != nil && !errors.Is(err, ErrCut) && !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
}

// playSnapshot takes any bytes as the content of a snapshot, which checksums and compression keep nothing out of.
func playSnapshot(t *testing.T, b []byte) {
	c := &coder{b: bytes.Clone(b), reading: true}
	snap := &Snapshot{State: &sched.State{}}
	if snap.code(c); c.err != nil {
		return
	}
	p, err := playFrom(reader(t, recorded(t, Options{}, func(*Writer) {})), snap)
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		return
	}
	if err := p.apply(&Step{Number: 1, Now: snap.State.Now}); err != nil && !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
}

// fillState sets all that v has to values that differ and are not zero, but for specs, which are small.
func fillState(v reflect.Value, n *int64) {
	*n = *n%90 + 1
	switch spec := v.Addr().Interface().(type) {
	case *sched.NodeSpec:
		*spec = sched.NodeSpec{Name: "node", Rack: 3, Capacity: sched.Resources{sched.VCores: *n}}
		return
	case *sched.QueueSpec:
		*spec = sched.QueueSpec{Name: "queue", Weight: 2, Masters: 0.5, Spared: true}
		return
	case **sched.JobSpec:
		*spec = &sched.JobSpec{Name: "job", Stages: []sched.StageSpec{{Kind: sched.Map, Tasks: 3}}}
		return
	case **sched.StageSpec:
		*spec = &sched.StageSpec{Kind: sched.Reduce, Tasks: 2}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillState(v.Field(i), n)
		}
	case reflect.Array:
		for i := range v.Len() {
			fillState(v.Index(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillState(v.Index(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillState(v.Elem(), n)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n) / 4)
	case reflect.Uint8:
		v.SetUint(uint64(*n%7 + 1)) // as there are eight kinds of resources
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	default:
		v.SetInt(*n)
	}
}

// Every field of a state is written and read: a field that is added to sched.State and forgotten here fails.
func TestStateIsCoded(t *testing.T) {
	want, got, n := &sched.State{}, &sched.State{}, int64(0)
	fillState(reflect.ValueOf(want).Elem(), &n)
	c := &coder{}
	state(c, want)
	read := &coder{b: c.b, reading: true}
	if state(read, got); c.err != nil || read.err != nil || len(read.b) > 0 {
		t.Fatalf("%v, %v, %d bytes are left", c.err, read.err, len(read.b))
	}
	w, g := reflect.ValueOf(*want), reflect.ValueOf(*got)
	for i := range w.NumField() {
		if a, b := g.Field(i).Interface(), w.Field(i).Interface(); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: read %+v, want %+v", w.Type().Field(i).Name, a, b)
		}
	}
}

// A state with more shapes than 65,536, which a snapshot could not have before, is written and read.
func TestStateOfManyShapesIsCoded(t *testing.T) {
	want, got := &sched.State{}, &sched.State{}
	for i := range int64(1<<16 + 2) {
		want.Shapes = append(want.Shapes, sched.Resources{sched.Memory: i})
	}
	c := &coder{}
	state(c, want)
	read := &coder{b: c.b, reading: true}
	if state(read, got); c.err != nil || read.err != nil || !slices.Equal(got.Shapes, want.Shapes) {
		t.Errorf("%v, %v, %d shapes of %d", c.err, read.err, len(got.Shapes), len(want.Shapes))
	}
}

// A question is answered from the last snapshot that is not after its instant, of several at one instant from the last.
func TestBefore(t *testing.T) {
	marks := []Mark{{Now: 2}, {Now: 5}, {Now: 5}, {Now: 9}}
	for at, want := range map[sched.Time]int{0: -1, 1: -1, 2: 0, 4: 0, 5: 2, 8: 2, 9: 3, 100: 3} {
		if got := before(marks, at); got != want {
			t.Errorf("before %d: mark %d, want %d", at, got, want)
		}
	}
}

// held writes down what each launch of a run holds.
type held struct {
	view *sched.View
	text strings.Builder
}

func (h *held) Attach(v *sched.View) { h.view = v }

func (h *held) Record(now sched.Time, _ []sched.Event, actions []sched.Action) {
	for _, x := range actions {
		if x.Kind == sched.Launch || x.Kind == sched.Resize {
			fmt.Fprintln(&h.text, now, x.Kind, x.Attempt, h.view.Amount(x.Shape))
		}
	}
}

// A core that forgets the shapes that are not used gives their rows to others. Its record says of each launch what it
// holds, from the beginning and from snapshots. It is replayed without a difference by a core that forgets none, and
// does not differ from the record of such a core. A reader remembers no more shapes than the core knew at once.
func TestRecordOfForgottenShapes(t *testing.T) {
	again := 0
	for seed := range uint64(8) {
		config, want := chaosConfig(seed), &held{}
		config.Forget = func() bool { return true }
		h := Header{Core: CoreConfigOf(config)}
		b := write(t, h, Options{Policy: &inOrder{}, Gap: 512, span: 1}, func(w *Writer) {
			chaosRunOf(t, seed, config, w, want)
		})
		whole, rows := reader(t, b), 0
		for step, err := range whole.Steps() {
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range step.Actions {
				rows = max(rows, int(a.Shape.Row())+1)
				if a.Shape != sched.ShapeID(a.Shape.Row()) {
					again++
				}
			}
		}
		if len(whole.memory.shapes) > rows {
			t.Errorf("seed %d: the reader remembers %d shapes of %d rows", seed, len(whole.memory.shapes), rows)
		}
		got := &held{}
		played := play(reader(t, b), got)
		for _, err := range played.steps() {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got.text.String() != want.text.String() {
			t.Errorf("seed %d: played, its launches hold\n%s\nwant\n%s", seed, got.text.String(), want.text.String())
		}
		plain := write(t, h, Options{}, func(w *Writer) { chaosRun(t, seed, w) })
		d, err := Diff(reader(t, b), reader(t, plain))
		if err != nil || d.Parts != nil || len(d.Headers) > 0 {
			t.Errorf("seed %d: against a core that forgets no shape: %+v, %v, %v", seed, d.Headers, d.Parts, err)
		}
		policy := func() sched.Policy { return chaosConfig(seed).Policy }
		if replayed, err := Replay(reader(t, b), 0, deciders(policy)); err != nil || replayed.Differs != nil {
			t.Errorf("seed %d: replayed %+v, %v", seed, replayed, err)
		}
		for _, m := range reader(t, b).Marks() {
			r := reader(t, b)
			snap, err := r.Seek(m)
			if err != nil {
				t.Fatal(err)
			}
			p, err := playFrom(r, snap)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range p.steps() {
				if err != nil {
					t.Fatalf("seed %d, from %v: %v", seed, m.Now, err)
				}
			}
			if !bytes.Equal(stateBytes(t, p.core), stateBytes(t, played.core)) {
				t.Errorf("seed %d, from %v: the state differs at the end", seed, m.Now)
			}
		}
	}
	if again < 50 {
		t.Errorf("%d actions have a shape in a row that another had before, want many", again)
	}
}
