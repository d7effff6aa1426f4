package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/sched"
)

// A simulation beside a service takes longer than alone, its record is decided again with the forecast that the policy
// was told, tasks are slowed if that is asked for, and a timetable that says nothing is refused with its line.
func TestSimAvailability(t *testing.T) {
	trace, rec := generated(t), filepath.Join(t.TempDir(), "run.rec")
	table := writeFile(t, "day", "period 10m\n0s 100%\n4m 50% # a burst\n8m 100%\n")
	args := []string{"sim", "--trace", trace, "--cluster", "nodes=4,map-slots=2,reduce-slots=2", "--policy", "reverse"}
	alone := must(t, args...)
	beside := must(t, append(args, "--availability", table, "--record", rec)...)
	if alone == beside {
		t.Errorf("nothing changes beside a service:\n%s", beside)
	}
	if out := must(t, "record", "replay", rec); !strings.Contains(out, "all decided as recorded") {
		t.Errorf("replay: %s", out)
	}
	r, err := record.Open(rec, record.Payload{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Header.Core.Forecast == nil {
		t.Error("the record lacks the forecast")
	}
	bursts := writeFile(t, "bursts", "period 20s\n0s 100%\n10s 30%\n")
	mean := func(more ...string) float64 {
		var doc struct {
			Results []struct {
				Sojourn struct{ Mean float64 } `json:"sojourn_s"`
			}
		}
		on := []string{"sim", "--trace", trace, "--cluster", "nodes=4,map-slots=2,reduce-slots=2", "--policy", "fair",
			"--json", "--availability", bursts}
		if err := json.Unmarshal([]byte(must(t, append(on, more...)...)), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Results[0].Sojourn.Mean
	}
	if full, slowed := mean(), mean("--throttle"); slowed <= full {
		t.Errorf("jobs take %v s on average where tasks are slowed, %v s where they are not", slowed, full)
	}
	if status, _, errs := sojourn(t, append(args, "--throttle")...); status != statusUsage ||
		!strings.Contains(errs, "--throttle needs --availability") {
		t.Errorf("exit status %d, %q", status, errs)
	}
	bad := writeFile(t, "bad", "0s 100%\n1h 5\n")
	if status, _, errs := sojourn(t, append(args, "--availability", bad)...); status != statusUsage ||
		!strings.Contains(errs, `bad:2: part "5": must be from 0% to 100%`) {
		t.Errorf("exit status %d, %q", status, errs)
	}
}

// A real job beside a service that leaves half of the node's cores ends all the same, with suspension. A program that
// takes two seconds of work is slowed where the node offers a tenth for half of each second, and the user is told. A
// timetable under which jobs would wait for ever is refused.
func TestRunAvailability(t *testing.T) {
	input := writeFile(t, "text", strings.Repeat("a b c\n", 1000))
	table := writeFile(t, "day", "0s 50%\n")
	on := []string{"--input", input, "--cluster", "nodes=1,memory=4GiB,vcores=4", "--output"}
	must(t, append([]string{"run", "wordcount", "--policy", "reverse:burst=suspend", "--availability", table},
		append(on, filepath.Join(t.TempDir(), "out"))...)...)
	burst := writeFile(t, "burst", "period 1s\n0s 100%\n500ms 10%\n")
	const mapper = "sh -c 'cat; for i in $(seq 40); do sleep 0.05; done'"
	args := append([]string{"run", "--mapper", mapper, "--reducer", "NONE", "--policy", "fifo",
		"--availability"}, append([]string{burst}, append(on, filepath.Join(t.TempDir(), "out"))...)...)
	status, _, errs := sojourn(t, args...)
	if status != 0 || !strings.Contains(errs, "tasks stood still for ") {
		t.Errorf("exit status %d, %q", status, errs)
	}
	never := writeFile(t, "never", "0s 100%\n1s 10%\n")
	args[len(args)-len(on)-2] = never
	status, _, errs = sojourn(t, append(args, "--overwrite")...)
	if status != statusUsage || !strings.Contains(errs, "never: from 1s on no node") {
		t.Errorf("exit status %d, %q", status, errs)
	}
}

// What programs use of the processor in a run under ras is kept for the next one: more than nothing.
func TestRunLearnsProfiles(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	must(t, "run", "--mapper", "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; cat'", "--reducer", "NONE",
		"--input", writeFile(t, "text", "a b c\n"), "--output", filepath.Join(t.TempDir(), "out"), "--policy", "ras",
		"--state", state)
	text, err := os.ReadFile(filepath.Join(state, "policy.json"))
	if err != nil {
		t.Fatal(err)
	}
	var left struct {
		Past map[string]struct{ Cores, Disk float64 }
	}
	if err := json.Unmarshal(text, &left); err != nil || len(left.Past) != 1 {
		t.Fatalf("%v, %s", err, text)
	}
	for stage, used := range left.Past {
		if used.Cores <= 0 || used.Cores > 4 || used.Disk <= 0 {
			t.Errorf("%q: a task uses %v cores, and %v B/s of the disk", stage, used.Cores, used.Disk)
		}
	}
}

// The instants of a timetable of rm count from the midnight before it starts, and a part holds until the next step.
func TestRMAvailability(t *testing.T) {
	zone := time.FixedZone("east", 5*3600)
	start := time.Date(2026, 3, 7, 14, 30, 0, 0, zone)
	s, ahead, err := roomBy(writeFile(t, "day", "period 24h\n0s 100%\n9h 40%\n17h 80%\n"), start)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		day, hour int
		part      float64
		until     time.Time
	}{
		{7, 14, 0.4, time.Date(2026, 3, 7, 17, 0, 0, 0, zone)}, {7, 17, 0.8, time.Date(2026, 3, 8, 0, 0, 0, 0, zone)},
		{8, 3, 1, time.Date(2026, 3, 8, 9, 0, 0, 0, zone)}, {9, 9, 0.4, time.Date(2026, 3, 9, 17, 0, 0, 0, zone)},
	} {
		part, until := s.Part(time.Date(2026, 3, c.day, c.hour, 0, 0, 0, zone))
		if part != c.part || !until.Equal(c.until) {
			t.Errorf("on day %d at %d h %v until %v, want %v until %v", c.day, c.hour, part, until, c.part, c.until)
		}
	}
	if s.Since != start || !ahead.IsInParts() {
		t.Errorf("since %v, in parts %v", s.Since, ahead.IsInParts())
	}
	for at := sched.Time(0); at < 60*time.Hour; at += 10 * time.Minute {
		part, until := s.Part(start.Add(at))
		if got := ahead.At(at); got[sched.VCores] != int64(part*1e6) || got[sched.Memory] != int64(part*1e6) ||
			start.Add(ahead.Next(at)).After(until) {
			t.Errorf("%v after the start policies are told of %v until %v, and nodes offer the part %v until %v", at,
				got, ahead.Next(at), part, until)
		}
	}
	if s, ahead, err = roomBy(writeFile(t, "once", "0s 100%\n9h 40%\n"), start); err != nil {
		t.Fatal(err)
	}
	if part, until := s.Part(start); part != 0.4 || !until.IsZero() {
		t.Errorf("the last step: %v until %v, want 0.4 for ever", part, until)
	}
	if got := ahead.At(0)[sched.VCores]; got != 400_000 || ahead.Next(0) != sched.Never {
		t.Errorf("policies are told of %d ppm until %v, want 400000 for ever", got, ahead.Next(0))
	}
	bad := writeFile(t, "bad", "0s 100%\n1h 5\n")
	dir := filepath.Dir(writeFile(t, "yarn-site.xml", "<configuration/>"))
	status, _, errs := sojourn(t, "rm", "--conf", dir, "--policy", "fifo", "--availability", bad)
	if status != statusUsage ||
		!strings.Contains(errs, `bad:2: part "5": must be from 0% to 100%`) {
		t.Errorf("exit status %d, %q", status, errs)
	}
}
