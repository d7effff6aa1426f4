package web

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// TestPageAsksWhatIsDescribed holds the paths that the page asks for to those of the document, and these to what is
// served.
func TestPageAsksWhatIsDescribed(t *testing.T) {
	described := map[string]bool{}
	site := NewSite(nil)
	site.Add(NewBoard(About{}))
	h := site.Handler()
	part := regexp.MustCompile(`\$?\{[^}]*\}`)
	ended, end := context.WithCancel(t.Context())
	end() // or the stream of changes would go on
	for path, methods := range newDescriber(t).openAPI()["paths"].(map[string]any) {
		described[part.ReplaceAllString(path, "{}")] = true
		for method := range methods.(map[string]any) {
			w := httptest.NewRecorder()
			at := part.ReplaceAllString(path, "0")
			h.ServeHTTP(w, httptest.NewRequestWithContext(ended, strings.ToUpper(method), at, nil))
			if w.Code == http.StatusMethodNotAllowed || strings.Contains(w.Body.String(), "is not part of") {
				t.Errorf("%s %s is described and not served: status %d", method, path, w.Code)
			}
		}
	}
	asked := regexp.MustCompile("(?:get|post|logged|EventSource)\\((?:logs, |prefix \\+ )?[\"`](/[^\"`]*)[\"`]")
	found := map[string]bool{}
	for _, name := range modules {
		text, err := files.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllSubmatch(text, -1) {
			path := prefix + part.ReplaceAllString(string(m[1]), "{}")
			found[path] = true
			if !described[path] {
				t.Errorf("%s asks for %s, which the interface does not have", name, m[1])
			}
		}
	}
	if unused := len(described) - len(found); unused != 1 { // the text of a log, whose path is put together elsewhere
		t.Errorf("the page asks for %d paths of %d: %v", len(found), len(described), slices.Sorted(maps.Keys(found)))
	}
}

// TestTimelineKeepsIntegrals lets a run outgrow its bins many times: what was added is what is there.
func TestTimelineKeepsIntegrals(t *testing.T) {
	l := newTimeline(1)
	want := 0.0
	for i := range 5000 {
		value := float64(i % 7)
		l.curves[0].now = value
		step := sched.Time(i%13) * 777 * time.Microsecond
		l.pass(l.end + step)
		want += value * step.Seconds()
	}
	sum := 0.0
	for k, mean := range l.averages(0) {
		from := sched.Time(k) * l.width
		sum += mean * (min(from+l.width, l.end) - from).Seconds()
	}
	if d := sum - want; d > 1e-6 || d < -1e-6 {
		t.Errorf("the curve holds %g value-seconds, %g were added", sum, want)
	}
	if n := len(l.curves[0].sums); n > mostBins || n < mostBins/2 {
		t.Errorf("%d bins, must be %d to %d", n, mostBins/2, mostBins)
	}
}

// TestAttemptLogForgets fills a log of four with ten attempts of two jobs.
func TestAttemptLogForgets(t *testing.T) {
	l := newAttemptLog(4)
	tail := [2]int64{none, none}
	for i := range int64(10) {
		job := i % 2
		tail[job] = l.add(attempt{serial: uint64(i), job: sched.JobID(job + 1), end: -1}, tail[job], none)
		l.hold(sched.NewAttemptID(uint64(i), int32(i%5)), tail[job])
	}
	var serials []uint64
	l.chain(tail[1], false, func(a *attempt) bool {
		serials = append(serials, a.serial)
		return true
	})
	if len(serials) != 2 || serials[0] != 9 || serials[1] != 7 {
		t.Errorf("job 2 has attempts %v, must be 9 and 7: earlier ones are forgotten", serials)
	}
	if a := l.find(sched.NewAttemptID(3, 3)); a != nil {
		t.Errorf("attempt 3 is found, which is forgotten")
	}
	if a := l.find(sched.NewAttemptID(8, 3)); a == nil || a.serial != 8 {
		t.Errorf("attempt 8 is not found")
	}
}

// TestSpread puts attempts into columns by hand.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		from, to float64
		want     []float64
	}{
		{0.25, 0.75, []float64{0.5, 0, 0, 0}},
		{0.5, 2.25, []float64{0.5, 1, 0.25, 0}},
		{0, 4, []float64{1, 1, 1, 1}},
		{1.5, 2, []float64{0, 0.5, 0, 0}},
	} {
		rise := make([]float64, 6)
		spread(rise, c.from, c.to)
		height := 0.0
		for k, want := range c.want {
			height += rise[k]
			if d := height - want; d > 1e-9 || d < -1e-9 {
				t.Errorf("from %g to %g: column %d has %g, must be %g", c.from, c.to, k, height, want)
			}
		}
	}
}

// TestTokens tells users apart.
func TestTokens(t *testing.T) {
	if token("ana") == token("ben") || genuine("", "ana") || !genuine(token("ana"), "ana") {
		t.Error("a token must be its user's only")
	}
}

// An owner is a guard that lets one user change jobs, and hides a job from all others.
type owner struct {
	did    []Action
	hidden sched.JobID
}

// Views implements Guard.
func (o *owner) Views(user string) func(sched.JobID) bool {
	if user == "ana" {
		return nil
	}
	return func(id sched.JobID) bool { return id != o.hidden }
}

func (o *owner) User(r *http.Request) string { return r.FormValue("user.name") }

func (o *owner) Act(user string, _ sched.JobID, what Action) error {
	if user != "ana" {
		return errors.New("only ana may")
	}
	o.did = append(o.did, what)
	return nil
}

// TestActionsNeedTokens changes a job: without a token, with another user's, as a user who may not, and right.
func TestActionsNeedTokens(t *testing.T) {
	o := &owner{}
	site := NewSite(o)
	site.Add(NewBoard(About{}))
	h := site.Handler()
	for _, c := range []struct {
		user, token, body string
		status            int
	}{
		{"ana", "", `{"kill":true}`, http.StatusForbidden},
		{"ana", token("ben"), `{"kill":true}`, http.StatusForbidden},
		{"ben", token("ben"), `{"kill":true}`, http.StatusForbidden},
		{"ana", token("ana"), `kill`, http.StatusBadRequest},
		{"ana", token("ana"), `{"priority":7}`, http.StatusOK},
	} {
		r := httptest.NewRequest(http.MethodPost, prefix+"/runs/0/jobs/3?user.name="+c.user, strings.NewReader(c.body))
		r.Header.Set("X-Sojourn-Token", c.token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%+v: status %d: %s", c, w.Code, w.Body)
		}
	}
	if len(o.did) != 1 || o.did[0].Priority == nil || *o.did[0].Priority != 7 {
		t.Errorf("done: %+v, must be one change of priority", o.did)
	}
}

// TestHiddenJobs shows two jobs to two users: one sees both, the other neither the name nor the owner of the first, by
// no answer, filter or order.
func TestHiddenJobs(t *testing.T) {
	site := NewSite(&owner{hidden: 1})
	b := NewBoard(About{Explain: func(job sched.JobID, _ sched.Time) (*record.Explanation, error) {
		other := record.Rank{Stage: sched.StageID{Job: 3 - job}, Name: "other"}
		holder := record.Holder{Job: 3 - job, Name: "other"}
		stage := record.StageExplanation{Before: []record.Rank{other}, Holders: []record.Holder{holder}}
		return &record.Explanation{Stages: []record.StageExplanation{stage}}, nil
	}})
	core := sched.New(sched.Config{Policy: fifo(t), Recorder: b})
	stages := []sched.StageSpec{{Tasks: 1, PerTask: sched.Resources{sched.VCores: 1}}}
	core.Step(0, []sched.Event{
		{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{Name: "zsecret", User: "ana", Stages: stages}},
		{Kind: sched.JobSubmitted, Job: 2, Body: &sched.JobSpec{Name: "plain", User: "ben", Stages: stages}},
	})
	site.Add(b)
	h := site.Handler()
	for _, c := range []struct {
		path, user string
		status     int
		says       bool // zsecret, or the other job's name
	}{
		{"/runs/0/jobs?", "ana", 200, true},
		{"/runs/0/jobs?", "ben", 200, false},
		{"/runs/0/jobs?sort=-name&limit=1", "ana", 200, true},
		{"/runs/0/jobs?sort=-name&limit=1", "ben", 200, false},
		{"/runs/0/jobs/1?", "ana", 200, true},
		{"/runs/0/jobs/1?", "ben", 403, false},
		{"/runs/0/jobs/1/why?", "ben", 403, false},
		{"/runs/0/jobs/1/logs?", "ben", 403, false},
		{"/runs/0/jobs/1/logs/map-00000-0?", "ben", 403, false},
		{"/runs/0/jobs/2/why?", "ana", 200, true},
		{"/runs/0/jobs/2/why?", "ben", 200, false},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+c.path+"&user.name="+c.user, nil))
		text := w.Body.String()
		says := strings.Contains(text, "zsecret") || strings.Contains(text, `"other"`)
		if w.Code != c.status || says != c.says {
			t.Errorf("%s to %s: status %d, must be %d: %s", c.path, c.user, w.Code, c.status, text)
		}
	}
	for filter, total := range map[string]int{"q=zsecret": 0, "user=ana": 0, "q=plain": 1, "q=1": 1} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+"/runs/0/jobs?user.name=ben&"+filter, nil))
		var list Jobs
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || list.Total != total ||
			slices.Contains(list.Users, "ana") {
			t.Errorf("%s finds %+v, %v, must find %d", filter, list, err, total)
		}
	}
}

// TestDifferencesBy sorts three jobs by the difference of the second run from the first, and of the third.
func TestDifferencesBy(t *testing.T) {
	rows := []Difference{{ID: 1, Sojourns: []float64{10, 30, 9}}, {ID: 2, Sojourns: []float64{10, -1, 12}},
		{ID: 3, Sojourns: []float64{50, 15, 10}}}
	for sort, want := range map[string][]int32{
		"-change": {3, 1, 2}, "-loss": {1, 2, 3}, "change.1": {3, 1, 2}, "-change.1": {1, 3, 2},
		"-change.2": {2, 1, 3},
	} {
		p := page{}
		p.column, p.down = strings.CutPrefix(sort, "-")
		by, err := differencesBy(p, 3)
		if err != nil {
			t.Fatal(err)
		}
		var got []int32
		for _, d := range slices.SortedStableFunc(slices.Values(rows), func(a, b Difference) int {
			if p.down {
				a, b = b, a
			}
			return by(&a, &b)
		}) {
			got = append(got, d.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("sort=%s: %v, must be %v", sort, got, want)
		}
	}
}

// fifo returns the simplest policy.
func fifo(t *testing.T) sched.Policy {
	p, _, err := policy.Parse("fifo")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRefusals holds wrong requests to a status and a sentence that says what would be right.
func TestRefusals(t *testing.T) {
	site := NewSite(nil)
	site.Add(NewBoard(About{}))
	h := site.Handler()
	for path, want := range map[string]string{
		"/runs/7/cluster":          "there are runs 0 to 0",
		"/runs/0/jobs?sort=colour": "must be one of failed, idle, job, late, name",
		"/runs/0/jobs?state=lazy":  "must be one of waiting",
		"/runs/0/jobs?limit=x":     "must be a whole number from 0 to 1000",
		"/runs/0/jobs/0":           "must be the number of a job",
		"/runs/0/jobs/9":           "job 9 is not in this run",
		"/runs/0/jobs/9/why":       "say --record FILE",
		"/runs/0/lanes?from=-1":    "must be a time in seconds",
		"/runs/0/nodes/0":          "must be the number of a node",
		"/runs/0/nodes/1":          "node 1 is not in this run",
		"/compare?sort=change.1":   "must be one of change",
		"/compare?runs=9":          "numbers from 0 to 0",
		"/nothing":                 "openapi.json describes it",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+path, nil))
		if w.Code < 400 || w.Code >= 500 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s, must say %q", path, w.Code, w.Body, want)
		}
	}
	for _, path := range []string{"/runs", "/runs/0/cluster", "/runs/0/queues", "/runs/0/jobs", "/runs/0/nodes",
		"/runs/0/lanes", "/compare", "/openapi.json"} { // of a run that has not begun
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+path, nil))
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
	}
}

// TestExpectedEndsAreListed asks for the list of a run in which four tasks of 10 s run one after the other: when the
// first has ended, 30 s are left. The list says it once a page has asked and the run goes on.
func TestExpectedEndsAreListed(t *testing.T) {
	board := NewBoard(About{})
	order, _, err := policy.All.Parse("fifo")
	if err != nil {
		t.Fatal(err)
	}
	board.Rank(order)
	core := sched.New(sched.Config{Policy: order, Recorder: record.Tee{board}, Estimator: &model.Mean{}})
	slot := sched.Resources{sched.VCores: 1}
	spec := &sched.JobSpec{Name: "job", Stages: []sched.StageSpec{{Kind: sched.Map, PerTask: slot, Tasks: 4}}}
	launched := core.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Capacity: slot}},
		{Kind: sched.JobSubmitted, Job: 1, Body: spec}})
	listed(t, board)
	core.Step(1e9, nil)
	if j := listed(t, board); j.Expected.End != nil || !strings.Contains(j.Expected.Unknown, "no task like those") {
		t.Errorf("%+v is expected, and no task has ended", j.Expected)
	}
	board.ends.due = time.Time{}
	core.Step(10e9, []sched.Event{{Kind: sched.AttemptDone, Attempt: launched[0].Attempt}})
	j := listed(t, board)
	if j.Expected.End == nil || j.Expected.Start != nil {
		t.Fatalf("the list says %+v", j)
	}
	if low, end, high := *j.Expected.Low, *j.Expected.End, *j.Expected.High; !(10 < low && low < end && end < high) ||
		math.Abs(end-40) > 10 {
		t.Errorf("the end is expected at %.1f s, from %.1f to %.1f s; four tasks of 10 s end at 40 s", end, low,
			high)
	}
	if d, ok := board.detail(1); !ok || !reflect.DeepEqual(d.Expected, j.Expected) {
		t.Errorf("the job's own view says %+v, the list %+v", d.Expected, j.Expected)
	}
	board.ends.due = time.Now().Add(time.Hour)
	core.Step(12e9, []sched.Event{{Kind: sched.JobSubmitted, Job: 2, Body: spec}})
	if d, ok := board.detail(2); !ok || d.Expected != (Expected{}) {
		t.Errorf("of a job that was submitted after the last look, %+v is said", d.Expected)
	}
}

// listed returns the first job of a board's list.
func listed(t *testing.T, b *Board) ListedJob {
	t.Helper()
	b.last = nil
	list := b.latest().jobsAnswer(jobFilter{}, page{column: "job", limit: 1})
	if len(list.Rows) != 1 {
		t.Fatalf("%d jobs are listed, must be one", len(list.Rows))
	}
	return list.Rows[0]
}
