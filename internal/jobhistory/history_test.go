package jobhistory

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// sample returns a job history that stock Hadoop 3.4.2 wrote, the n-th of the example.
func sample(t testing.TB, n int) []byte {
	t.Helper()
	paths, err := filepath.Glob("../../examples/history/*.jhist.gz")
	if err != nil || len(paths) != 4 {
		t.Fatalf("%d histories, want 4: %v", len(paths), err)
	}
	packed, err := os.ReadFile(paths[n])
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// byHand is a history as Hadoop 2 writes it, of a job with a map whose first attempt failed and a reduce.
//
//go:embed testdata/by-hand.jhist
var byHand string

// after returns the instant so many seconds after the submission of the job byHand.
func after(seconds time.Duration) time.Duration { return (1500000000 + seconds) * time.Second }

func TestReadJSON(t *testing.T) {
	got, err := Read("h.jhist", strings.NewReader(byHand))
	if err != nil {
		t.Fatal(err)
	}
	want := &Job{
		ID: "job_1_0001", Name: "by hand", User: "ann", Queue: "etl", State: Succeeded, Uber: true,
		Submit: after(0), Launch: after(3), Finish: after(16), Masters: []Master{{after(1), "n1"}},
		Tasks: []Task{
			{
				ID: "task_1_0001_m_000000", Kind: Map, Start: after(3), Locations: []string{"n1", "n2"},
				Attempts: []Attempt{
					{ID: "attempt_1_0001_m_000000_0", State: "FAILED", Start: after(4), Finish: after(5),
						Host: "n1", Rack: "/r1"},
					{ID: "attempt_1_0001_m_000000_1", State: Succeeded, Start: after(6), Sorted: after(9),
						Finish: after(10), Host: "n2", Rack: "/r1",
						Counters: Counters{InputBytes: 900, FileSystemRead: 1000, LocalRead: 7}},
				},
			},
			{
				ID: "task_1_0001_r_000000", Kind: Reduce, Start: after(6),
				Attempts: []Attempt{{ID: "attempt_1_0001_r_000000_0", State: Succeeded, Start: after(7),
					Fetched: after(12), Sorted: after(13), Finish: after(15),
					Host: "n1", Rack: "/r1", Counters: Counters{ShuffleBytes: 300, CPU: 1500 * time.Millisecond}}},
			},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v, want\n%+v", got, want)
	}
	if a := got.Tasks[0].Success(); a == nil || a.Host != "n2" {
		t.Errorf("the attempt that succeeded: %+v", a)
	}
}

// TestReadBinary reads what stock Hadoop wrote of a word count of four files into two reduces.
func TestReadBinary(t *testing.T) {
	j, err := Read("h.jhist", bytes.NewReader(sample(t, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if j.Name != "word count" || j.State != Succeeded || j.Uber || len(j.Masters) != 1 || len(j.Tasks) != 6 {
		t.Fatalf("read %+v", j)
	}
	kinds := map[Kind]int{}
	var in, shuffled int64
	for i := range j.Tasks {
		task := &j.Tasks[i]
		kinds[task.Kind]++
		a := task.Success()
		if a == nil || a.Start <= j.Masters[0].Start || a.Finish <= a.Start || a.Finish > j.Finish ||
			a.Host != "localhost" {
			t.Fatalf("task %+v", task)
		}
		if task.Kind == Reduce && (a.Fetched <= a.Start || a.Sorted < a.Fetched || a.Finish < a.Sorted) {
			t.Errorf("reduce %+v", a)
		}
		in += a.Counters.InputBytes
		shuffled += a.Counters.ShuffleBytes
	}
	// Four files of 2000 words of 61,166 bytes together; each map's combined counts are 4,256 bytes.
	if kinds[Map] != 4 || kinds[Reduce] != 2 || in != 61166 || shuffled != 4*4256 {
		t.Errorf("%v tasks read %d bytes and fetched %d", kinds, in, shuffled)
	}
}

func TestReadErrors(t *testing.T) {
	lines := strings.SplitAfter(byHand, "\n")
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "h.jhist:1: EOF"},
		{"Hadoop 1", "Meta VERSION=\"1\" .\n", `h.jhist: begins with "Meta VERSION=\"1\" ."`},
		{"no schema", "Avro-Binary\n", "h.jhist: line 2, the schema: ends in the middle"},
		{"unknown type", "Avro-Binary\n{\"type\":\"record\",\"fields\":[{\"name\":\"a\",\"type\":\"b\"}]}\n",
			`h.jhist: schema: field "a": type "b" is not known`},
		{"no events", "Avro-Binary\n{\"type\":\"record\",\"name\":\"E\"}\n\x00",
			"h.jhist: schema: has no field event"},
		{"nothing of a job", lines[0] + lines[1] + lines[2], "h.jhist: says nothing of a job"},
		{"cut", byHand[:len(byHand)-20], "h.jhist: event 12: ends in the middle of an event"},
		{"a time", strings.Replace(byHand, `"submitTime":1500000000000`, `"submitTime":15000000000000`, 1),
			"h.jhist: event 2: submitTime: 15000000000000, must be milliseconds since 1970"},
		{"order", strings.Replace(byHand, `"finishTime":1500000010000`, `"finishTime":1400000010000`, 1),
			"h.jhist: event 8: attempt attempt_1_0001_m_000000_1: finishes"},
	} {
		_, err := Read("h.jhist", strings.NewReader(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

// TestReadCut cuts a real history anywhere: what it says before the cut stays, and the error says that it is cut.
func TestReadCut(t *testing.T) {
	text := sample(t, 1)
	whole, err := Read("h.jhist", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		at := len(text) - 1 - chance.IntN(3000)
		j, err := Read("h.jhist", bytes.NewReader(text[:at]))
		if err != nil && !errors.Is(err, ErrCut) {
			t.Errorf("cut at %d of %d bytes: %v", at, len(text), err)
		}
		if j.ID != whole.ID || len(j.Tasks) != len(whole.Tasks) || j.State == Succeeded {
			t.Errorf("cut at %d of %d bytes: %+v", at, len(text), j)
		}
	}
}

func TestReadConf(t *testing.T) {
	const text = `<?xml version="1.0"?><configuration><property><name>mapreduce.map.memory.mb</name>` +
		`<value>2048</value><final>false</final></property>` +
		`<property><name>dfs.replication</name><value>3</value></property></configuration>`
	conf, err := ReadConf("conf.xml", strings.NewReader(text))
	if err != nil || len(conf) != 1 || conf["mapreduce.map.memory.mb"] != "2048" {
		t.Errorf("read %v, %v", conf, err)
	}
	_, err = ReadConf("conf.xml", strings.NewReader(text[:100]))
	if err == nil || !strings.HasPrefix(err.Error(), "conf.xml: ") {
		t.Errorf("cut: %v", err)
	}
}

// An event of few bytes may say that it has as many values as it likes: reading stops before they fill memory.
func TestManyValues(t *testing.T) {
	const head = "Avro-Binary\n{\"type\":\"record\",\"name\":\"E\",\"fields\":[{\"name\":\"event\",\"type\":" +
		"[{\"type\":\"array\",\"items\":"
	lists := []byte{0, 0xfe, 0xff, 0x3f} // 2^19 lists of 4,096 values each
	for range 100_000 {
		lists = append(lists, 0x80, 0x40, 0)
	}
	for name, text := range map[string]string{
		"2^31 values of no bytes":  head + "\"null\"}]}]}\n\x00\xfe\xff\xff\xff\x0f\x00",
		"2^31 records of no bytes": head + "{\"type\":\"record\",\"name\":\"X\"}}]}]}\n\x00\xfe\xff\xff\xff\x0f\x00",
		"lists within a list":      head + "{\"type\":\"array\",\"items\":\"null\"}}]}]}\n" + string(lists),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read("h.jhist", strings.NewReader(text))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "h.jhist: event 1: one event has too many values") {
			t.Errorf("%s: %v", name, err)
		}
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 64 {
			t.Errorf("%s: %d MB were allocated", name, mb)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(byHand))
	f.Add(sample(f, 1))
	const head = "Avro-Binary\n{\"type\":\"record\",\"name\":\"E\",\"fields\":[{\"name\":\"event\",\"type\":"
	f.Add([]byte(head + "[{\"type\":\"array\",\"items\":\"null\"}]}]}\n\x00\xff\xff\xff\xff\x0f"))
	f.Add([]byte(head + "[\"E\"]}]}\n\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := Read("h.jhist", bytes.NewReader(text))
		if err == nil && j.ID == "" {
			t.Error("a history of no job")
		}
	})
}
