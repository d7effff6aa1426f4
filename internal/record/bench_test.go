package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sojourn-sched/sojourn/sched"
)

// day submits the jobs of the FB-2010 day as a cluster of 600 nodes with 5 slots sees their maps: one for each 128 MiB
// of input, each 1 s + its bytes at 50 MB/s, times lognormal chance of sigma.
func day(b *testing.B, jobs int, sigma float64, to ...Follower) *rig {
	f, err := os.Open("../workload/testdata/traces/swim-FB-2010_samples_24_times_1hr_0.tsv.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	const block = 128 << 20
	r := newRig(sched.Config{Can: allPowers}, to...)
	for range 600 {
		r.node(slots(5, 0))
	}
	input := map[sched.JobID]int64{}
	lines := bufio.NewScanner(text)
	for id := sched.JobID(1); lines.Scan() && int(id) <= jobs; id++ {
		c := strings.Split(lines.Text(), "\t")
		submit, _ := strconv.Atoi(c[1])
		bytes, _ := strconv.ParseInt(c[3], 10, 64)
		input[id] = bytes
		j := mapReduce(sched.Time(submit)*sec, max(1, int32((bytes+block-1)/block)), sec, 0, 0)
		j.Name = c[0]
		r.submit(id, j)
	}
	chance := rand.New(rand.NewPCG(1, 2))
	r.takes = func(a *sched.Attempt) sched.Time {
		n := input[a.Stage.ID.Job] - int64(a.Task-1)*block
		d := float64(sec) + float64(min(n, block))/50e6*1e9
		if sigma > 0 {
			d *= math.Exp(sigma*chance.NormFloat64() - sigma*sigma/2)
		}
		return sched.Time(d)
	}
	return r
}

// counting is a sink that knows how much it got.
type counting struct{ n int64 }

func (c *counting) Write(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }

// The whole day with its record: bytes an event, and ns an event for all there is, the core and this test's engine
// included.
func BenchmarkRecordDay(b *testing.B) {
	for _, sigma := range []float64{0, 0.5} {
		for _, span := range []sched.Time{0, -1} {
			name := "sigma=" + strconv.FormatFloat(sigma, 'f', -1, 64) + "/span=" + map[bool]string{true: "1s",
				false: "full"}[span == 0]
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					c := &counting{}
					w, err := NewWriter(c, Header{}, Options{span: span})
					if err != nil {
						b.Fatal(err)
					}
					r := day(b, math.MaxInt32, sigma, w)
					r.run()
					if err := w.Close(); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(c.n)/float64(r.events), "bytes/event")
					b.ReportMetric(float64(r.events), "events")
				}
			})
		}
	}
}

// lent is a part of the day kept in memory, to be given to a recorder again and again.
func lent(b *testing.B, jobs int) (k *kept, events, entries int64) {
	k = &kept{}
	day(b, jobs, 0.5, k).run()
	for i := range k.steps {
		events += int64(len(k.steps[i].Events))
		entries += int64(len(k.steps[i].Events) + len(k.steps[i].Actions))
	}
	return k, events, entries
}

func BenchmarkWriter(b *testing.B) {
	k, events, entries := lent(b, 1000)
	core := sched.New(sched.Config{})
	shape := core.Shape(slots(1, 0))
	if shape != 1 {
		b.Fatalf("shape %d", shape)
	}
	b.ReportAllocs()
	for b.Loop() {
		k.write(b, core, io.Discard)
	}
	perIteration(b, events, entries)
}

func perIteration(b *testing.B, events, entries int64) {
	ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(ns/float64(events), "ns/event")
	b.ReportMetric(float64(entries)/ns*1e3, "Mentries/s")
	b.ReportMetric(float64(events), "events")
}

func BenchmarkReader(b *testing.B) {
	var events, entries int64
	record := recorded(b, Options{}, func(w *Writer) {
		k := &kept{}
		day(b, 1000, 0.5, w, k).run()
		for i := range k.steps {
			events += int64(len(k.steps[i].Events))
			entries += int64(len(k.steps[i].Events) + len(k.steps[i].Actions))
		}
	})
	for b.Loop() {
		readSteps(b, bytes.NewReader(record))
	}
	perIteration(b, events, entries)
}

// BenchmarkBesideGob writes and reads the Steps of the record that SOJOURN_RECORD names, or else of a part of the day.
// It does so by the coding of records, and by encoding/gob in one zstd stream, which has no blocks. Payloads are left
// out of both.
func BenchmarkBesideGob(b *testing.B) {
	for _, body := range bodies() {
		gob.Register(body)
	}
	k, core := &kept{}, sched.New(sched.Config{})
	if name := os.Getenv("SOJOURN_RECORD"); name != "" {
		core = k.read(b, name)
	} else {
		day(b, 1000, 0.5, k).run()
		core.Shape(slots(1, 0))
	}
	entries := int64(0)
	for i := range k.steps {
		entries += int64(len(k.steps[i].Events) + len(k.steps[i].Actions))
	}
	for _, coding := range []struct {
		name  string
		write func(*testing.B, io.Writer)
		read  func(*testing.B, io.Reader)
	}{
		{"record", func(b *testing.B, out io.Writer) { k.write(b, core, out) }, readSteps},
		{"gob", k.writeGob, k.readGob},
	} {
		var file bytes.Buffer
		coding.write(b, &file)
		b.Run(coding.name+"/write", func(b *testing.B) {
			for b.Loop() {
				coding.write(b, io.Discard)
			}
			b.ReportMetric(float64(file.Len()), "bytes")
			b.ReportMetric(float64(entries), "entries")
		})
		b.Run(coding.name+"/read", func(b *testing.B) {
			for b.Loop() {
				coding.read(b, bytes.NewReader(file.Bytes()))
			}
		})
	}
}

// read keeps the Steps of a file, and returns a core that has its shapes.
func (k *kept) read(b *testing.B, name string) *sched.Core {
	r, err := Open(name, Payload{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for s, err := range r.Steps() {
		if err != nil {
			b.Fatal(err)
		}
		k.Record(s.Now, s.Events, s.Actions)
	}
	core := sched.New(sched.Config{})
	for id := sched.ShapeID(1); ; id++ {
		amount, ok := r.Amount(id)
		if !ok {
			return core
		}
		core.Shape(amount)
	}
}

// write writes a record of the Steps; core has their shapes.
func (k *kept) write(b *testing.B, core *sched.Core, out io.Writer) {
	w, err := NewWriter(out, Header{}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	w.Attach(&core.View)
	for i := range k.steps {
		s := &k.steps[i]
		w.Record(s.Now, s.Events, s.Actions)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

func (k *kept) writeGob(b *testing.B, out io.Writer) {
	zip, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	e := gob.NewEncoder(zip)
	for i := range k.steps {
		if err := e.Encode(&k.steps[i]); err != nil {
			b.Fatal(err)
		}
	}
	if err := zip.Close(); err != nil {
		b.Fatal(err)
	}
}

// readSteps reads a record to its end.
func readSteps(b *testing.B, in io.Reader) {
	r, err := NewReader(in, "test.record", Payload{})
	if err != nil {
		b.Fatal(err)
	}
	for _, err := range r.Steps() {
		if err != nil {
			b.Fatal(err)
		}
	}
}

func (k *kept) readGob(b *testing.B, in io.Reader) {
	unzip, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	defer unzip.Close()
	d := gob.NewDecoder(unzip)
	for range k.steps {
		var s Step
		if err := d.Decode(&s); err != nil {
			b.Fatal(err)
		}
	}
}

// What a tally adds to a run: the same part of the day with and without one.
func BenchmarkTally(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run("with="+strconv.FormatBool(with), func(b *testing.B) {
			events := int64(0)
			for b.Loop() {
				var to []Follower
				if with {
					to = []Follower{NewTally(TallyOptions{})}
				}
				events = day(b, 3000, 0, to...).run().events
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
		})
	}
}

// The Record method alone, on Steps of one end and one launch each, with a core that stands still.
func BenchmarkTallyAlone(b *testing.B) {
	tally := NewTally(TallyOptions{})
	r := newRig(sched.Config{Can: allPowers}, tally)
	for range 600 {
		r.node(slots(5, 0))
	}
	for id := range sched.JobID(100) {
		r.submit(id+1, mapReduce(0, 30, 1000*sec, 0, 0))
	}
	r.step()
	var steps []Step
	for _, n := range r.core.Nodes {
		for a := range r.core.AttemptsOn(n) {
			steps = append(steps, Step{Events: []sched.Event{{Kind: sched.AttemptDone, Attempt: a.ID}},
				Actions: []sched.Action{
					{Kind: sched.Launch, Stage: a.Stage.ID, Node: a.Node, Task: a.Task, Shape: a.Holds, Attempt: a.ID},
				}})
		}
	}
	if len(steps) != 3000 {
		b.Fatalf("%d attempts run, want 3000", len(steps))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s := &steps[i]
		if i++; i == len(steps) {
			i = 0
		}
		tally.Record(0, s.Events, s.Actions)
	}
}

// BenchmarkExplainLate asks of the last instant of the day why a job waits: from a snapshot, and from the beginning.
func BenchmarkExplainLate(b *testing.B) {
	var text bytes.Buffer
	w, err := NewWriter(&text, Header{Engine: "test", Policy: "in order"}, Options{Policy: &inOrder{}})
	if err != nil {
		b.Fatal(err)
	}
	day(b, 24442, 0, w).run()
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	q := Question{Job: 24442, At: 24 * 3600 * sec}
	for name, in := range map[string]func() io.Reader{
		"snapshot": func() io.Reader { return bytes.NewReader(text.Bytes()) },
		"begin":    func() io.Reader { return struct{ io.Reader }{bytes.NewReader(text.Bytes())} },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, err := NewReader(in(), "day", Payload{})
				if err != nil {
					b.Fatal(err)
				}
				_, err = Explain(r, q, deciders(func() sched.Policy { return &inOrder{} }))
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
