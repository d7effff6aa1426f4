package availability

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// Steps, comments and a period; and what is wrong is said with its line.
func TestParse(t *testing.T) {
	table, err := parse("day", strings.NewReader("\ufeff# a day\nperiod 24h\n0s 100%\n6h30m 37.5% # scarce\n"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := table.Of(sched.Resources{sched.VCores: 8, sched.Memory: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Duration]sched.Resources{
		0:              {sched.VCores: 8, sched.Memory: 1000},
		7 * time.Hour:  {sched.VCores: 3, sched.Memory: 375},
		25 * time.Hour: {sched.VCores: 8, sched.Memory: 1000},
	} {
		if got := f.At(at); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
	for text, says := range map[string]string{
		"":                        "there is no step",
		"0s 100%\nx 5%":           `day:2: time "x"`,
		"0s 120%":                 `day:1: part "120%": must be from 0% to 100%`,
		"0s 1":                    `part "1"`,
		"0s NaN%":                 `part "NaN%"`,
		"0s 1% 2%":                "must be an instant and a part",
		"5s 1%":                   "day: steps: the first one must be from 0",
		"0s 1%\n5s 2%\n5s 3%":     "must be after 5s",
		"0s 1%\n5s 2%\nperiod 4s": "period 4s",
		"period 1ns\n0s 1%":       "day: the part from 0s on holds for 1ns: must hold for 1ms or more",
		"0s 1%\n1us 2%\n5s 2%":    "from 0s on holds for 1µs",
	} {
		if _, err := parse("day", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want one that says %q", text, err, says)
		}
	}
}

// What a text is read as, it is written as and read again; no text makes the reader panic.
func FuzzParse(f *testing.F) {
	f.Add("period 24h\n0s 100%\n6h 40%\n")
	f.Add("0s 0%\n1ms 1e-9%")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := parse("x", strings.NewReader(text))
		if err != nil {
			return
		}
		var b strings.Builder
		fmt.Fprintf(&b, "period %v\n", table.period)
		for _, s := range table.steps {
			fmt.Fprintf(&b, "%v %v%%\n", s.from, s.part*100)
		}
		if _, err := parse("y", strings.NewReader(b.String())); err != nil {
			t.Errorf("%q is read, and %q is not: %v", text, b.String(), err)
		}
	})
}

// Part says what a node's forecast says, at every instant.
func TestPart(t *testing.T) {
	table, err := parse("t", strings.NewReader("period 30s\n0s 100%\n10s 50%\n20s 0%\n"))
	if err != nil {
		t.Fatal(err)
	}
	four, err := table.Of(sched.Resources{sched.VCores: 4})
	if err != nil {
		t.Fatal(err)
	}
	for at := sched.Time(0); at < 100*time.Second; at += time.Second / 2 {
		part, until := table.Part(at)
		if int64(4*part) != four.At(at)[sched.VCores] || until != four.Next(at) {
			t.Errorf("at %v the part is %v until %v, and a node of 4 offers %v until %v", at, part, until,
				four.At(at)[sched.VCores], four.Next(at))
		}
	}
	if table, err = parse("t", strings.NewReader("0s 100%\n10s 50%\n")); err != nil {
		t.Fatal(err)
	}
	if part, until := table.Part(time.Hour); part != 0.5 || until != sched.Never {
		t.Errorf("after the last step %v until %v", part, until)
	}
}

// A timetable that at last leaves no whole unit of some kind is refused, with the instant and the kind; one that comes
// back to more is not, nor one that leaves a unit on some node.
func TestStarved(t *testing.T) {
	one := sched.NodeSpec{Capacity: sched.Resources{sched.VCores: 1, sched.Memory: 1024}}
	two := sched.NodeSpec{Capacity: sched.Resources{sched.VCores: 2, sched.Memory: 1024}}
	for _, c := range []struct {
		text  string
		nodes []sched.NodeSpec
		says  string // of the error; empty: there is none
	}{
		{"0s 100%\n90s 40%", []sched.NodeSpec{two, one},
			"t: from 1m30s on no node ever offers more than 40% of its vcores"},
		{"0s 100%\n90s 50%", []sched.NodeSpec{one, two}, ""},
		{"0s 40%\n90s 100%", []sched.NodeSpec{one}, ""},
		{"period 2m\n0s 100%\n90s 0%", []sched.NodeSpec{one}, ""},
		{"period 2m\n0s 10%\n90s 20%", []sched.NodeSpec{one}, "more than 20% of its vcores"},
		{"0s 0%", []sched.NodeSpec{two}, "0% of its memory"},
	} {
		table, err := parse("t", strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		err = table.Starved(c.nodes)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%q: %v, want %q", c.text, err, c.says)
		}
	}
}

// A node of 4 cores offers all, 2 from 10 s on, and again 4 from 30 s on, when the timetable begins anew. One of 3
// cores offers one, which is less than the part that is told.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, err := parse("t", strings.NewReader("period 30s\n0s 100%\n10s 50%\n"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 45*time.Second)
		defer stop()
		start := time.Now()
		var told []string
		table.Follow(ctx, []sched.NodeSpec{{Capacity: sched.Resources{sched.VCores: 4}},
			{Capacity: sched.Resources{sched.VCores: 3}}}, func(id sched.NodeID, r sched.Resources, part float64) {
			told = append(told, fmt.Sprint(time.Since(start), id, r[sched.VCores], part))
		})
		want := []string{"0s 1 4 1", "0s 2 3 1", "10s 1 2 0.5", "10s 2 1 0.5", "30s 1 4 1", "30s 2 3 1", "40s 1 2 0.5",
			"40s 2 1 0.5"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// write makes a proc file system of two processors in a folder.
func write(t *testing.T, dir, stat string, processes map[string]string) {
	t.Helper()
	for name, text := range processes {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "stat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644); err != nil {
		t.Fatal(err)
	}
}

// In 200 ticks of two processors 100 were busy, 20 of them for this session: the others used 40 %, which count for a
// half. A name with brackets and blanks is no field. What is left of 10 cores is 8; memory stays.
func TestMeter(t *testing.T) {
	dir := t.TempDir()
	of := func(session, user, system int) string {
		return fmt.Sprintf("7 (a) b 1) S 1 7 %d 0 -1 0 0 0 0 0 %d %d 0 0", session, user, system)
	}
	write(t, dir, "cpu  100 0 0 900 0 0 0 0 0 0\ncpu0 1\n", map[string]string{"7": of(5, 30, 0), "8": of(6, 70, 0)})
	m := &Meter{proc: dir, self: 7}
	if err := m.Look(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "cpu  190 0 10 990 10 0 0 0 0 0\n", map[string]string{"7": of(5, 35, 5), "8": of(6, 150, 0),
		"9": of(5, 6, 4)})
	if err := m.Look(); err != nil {
		t.Fatal(err)
	}
	if got := m.part; got < 0.1999 || got > 0.2001 {
		t.Errorf("others use %v, want 0.2", got)
	}
	got := left(sched.Resources{sched.VCores: 10, sched.Memory: 4096, sched.MapSlots: 1}, m.part)
	if want := (sched.Resources{sched.VCores: 8, sched.Memory: 4096, sched.MapSlots: 1}); got != want {
		t.Errorf("left: %v, want %v", got, want)
	}
}

// The programs that a session starts are its own, also those that begin and end between two looks, or run over one:
// each counts once.
func TestMeterCountsOwnPrograms(t *testing.T) {
	type looks []map[string]string // processes at each look
	stat := func(session, self, waited int) string {
		return fmt.Sprintf("7 (a) S 1 7 %d 0 -1 0 0 0 0 0 %d 0 %d 0 0", session, self, waited)
	}
	for _, c := range []struct {
		name   string
		looks  looks
		busy   []int      // ticks of all processors at each look, of 1000 more each
		others [3]float64 // the part that others used before each look
	}{
		{"short programs", looks{
			{"7": stat(5, 0, 0)}, {"7": stat(5, 0, 500)}, {"7": stat(5, 0, 1000)},
		}, []int{0, 500, 1000}, [3]float64{0, 0, 0}},
		{"over a look", looks{
			{"7": stat(5, 10, 100)}, {"7": stat(5, 20, 100), "8": stat(5, 300, 40)}, {"7": stat(5, 30, 640)},
		}, []int{0, 350, 560}, [3]float64{0, 0, 0}}, // 8 ran 400 and its children 140 in the end
		{"below each other", looks{
			{"7": stat(5, 0, 0)},
			{"7": stat(5, 0, 0), "8": stat(5, 100, 0), "9": stat(5, 200, 0)},
			{"7": stat(5, 0, 600)},
		}, []int{0, 300, 600}, [3]float64{0, 0, 0}}, // 8 waited for 9, and 7 for 8
		{"not waited for", looks{
			{"7": stat(5, 0, 0)}, {"7": stat(5, 0, 0), "8": stat(5, 400, 0)}, {"7": stat(5, 100, 0)},
		}, []int{0, 400, 500}, [3]float64{0, 0, 0}}, // what 7 ran is not taken off
		{"others beside", looks{
			{"7": stat(5, 0, 0), "8": stat(6, 0, 0)},
			{"7": stat(5, 0, 200), "8": stat(6, 0, 500)},
			{"7": stat(5, 0, 400)},
		}, []int{0, 600, 1200}, [3]float64{0, 0.4, 0.4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, m := 0.0, (*Meter)(nil)
			for i, processes := range c.looks {
				dir := t.TempDir()
				write(t, dir, fmt.Sprintf("cpu %d 0 0 %d 0 0 0 0\n", c.busy[i], 1000*i-c.busy[i]+1000), processes)
				if m == nil {
					m = &Meter{self: 7}
				}
				if m.proc = dir; m.Look() != nil {
					t.Fatal("cannot be read")
				}
				if want += (c.others[i] - want) / 2; m.part < want-1e-9 || m.part > want+1e-9 {
					t.Errorf("look %d: others use %v, want %v", i, m.part, want)
				}
			}
		})
	}
}

// Each second the machine is measured. In the first and the second one other programs use both processors, then nothing
// runs, and at last there is nothing to read. Of the 4 cores 2, 1 and 2.5 are left, where
// the newest second counts a half, which is 3. Memory stays.
func TestMeasure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, busy, idle := t.TempDir(), 100, 900
		machine := func() {
			own := map[string]string{"7": "7 (a) S 1 7 5 0 -1 0 0 0 0 0 3 0 0 0"}
			write(t, dir, fmt.Sprintf("cpu  %d 0 0 %d 0 0 0 0 0 0\n", busy, idle), own)
		}
		machine()
		m := &Meter{proc: dir, self: 7}
		if err := m.Look(); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		start, ended := time.Now(), make(chan bool)
		var told []string
		go func() {
			defer close(ended)
			m.Measure(ctx, []sched.NodeSpec{{Capacity: sched.Resources{sched.VCores: 4, sched.Memory: 100}}},
				func(id sched.NodeID, r sched.Resources, part float64) {
					told = append(told, fmt.Sprint(time.Since(start), id, r[sched.VCores], r[sched.Memory], part))
				})
		}()
		time.Sleep(lookEvery / 2)
		for range 2 {
			busy += 200
			machine()
			time.Sleep(lookEvery)
		}
		idle += 200
		machine()
		time.Sleep(2 * lookEvery) // nothing has changed in the second one
		if err := os.Remove(filepath.Join(dir, "stat")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookEvery)
		stop()
		<-ended
		if want := []string{"1s 1 2 100 0.5", "2s 1 1 100 0.25", "3s 1 3 100 0.625"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// No content of proc makes the readers panic.
func FuzzProc(f *testing.F) {
	f.Add([]byte("cpu  190 0 10 990 10 0 0 0 0 0\n"))
	f.Add([]byte("7 (a) b 1) S 1 7 5 0 -1 0 0 0 0 0 35 5 0 0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if busy, all, err := processors(text); err == nil && busy > all {
			t.Errorf("%q: %d of %d ticks are busy", text, busy, all)
		}
		process(text)
	})
}
