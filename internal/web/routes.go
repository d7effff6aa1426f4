package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// A route is one method of one path of the REST interface.
type route struct {
	method, path string
	about        string
	params       []param
	body         any // what is sent with it; nil: nothing
	answer       any // a value of the type of its answer
	do           func(*call) (any, error)
}

// A param is a parameter in the path, where the path has its name in braces, or else in the query.
type param struct{ name, kind, about string }

var (
	ofRun  = param{"run", "integer", "number of the run, from 0"}
	ofJob  = param{"job", "integer", "number of the job, from 1"}
	ofNode = param{"node", "integer", "number of the node, from 1"}
	// ofInstant is the parameter of tables that show one instant.
	ofInstant = param{"at", "number", "the instant, in seconds; now where it is left out"}

	paged = []param{
		{"offset", "integer", "rows to skip"},
		{"limit", "integer", "rows to send, at most 1000; 100 where it is left out"},
		{"sort", "string", "column to sort by; a minus before it: the largest first"},
	}
)

// How many rows a page has where the request does not say, and at most.
const (
	usualPage = 100
	mostPage  = 1000
)

// routes are the whole REST interface, except the stream of changes. openapi.json describes them.
var routes = []route{
	{"GET", "/runs", "The runs of this site.", nil, nil, Runs{}, (*call).runs},
	{"GET", "/runs/{run}/cluster", "The cluster now and over time.", []param{ofRun}, nil, Cluster{}, (*call).cluster},
	{"GET", "/runs/{run}/queues", "The queues at an instant and over time.", []param{ofRun, ofInstant}, nil, Queues{},
		(*call).queues},
	{"GET", "/runs/{run}/jobs", "Jobs, a page at a time.", append([]param{ofRun,
		{"q", "string", "a part of the job's name, user or queue, or its number"},
		{"queue", "string", "of this queue, or of one below it"},
		{"user", "string", "of this user"},
		{"state", "string", "one of " + strings.Join(jobStates, ", ")},
		{"at", "number", "there at this instant, in seconds: submitted, and not ended"}}, paged...), nil, Jobs{},
		(*call).jobs},
	{"GET", "/runs/{run}/jobs/{job}", "One job: stages, attempts, counters, when it is expected to end.",
		[]param{ofRun, ofJob}, nil, JobDetail{}, (*call).detail},
	{"GET", "/runs/{run}/jobs/{job}/why", "Why a job waited at an instant.", []param{ofRun, ofJob,
		{"at", "number", "the instant, in seconds; now where it is left out"}}, nil, Why{}, (*call).why},
	{"GET", "/runs/{run}/jobs/{job}/logs", "What programs of a job wrote to standard error: a line an attempt.",
		[]param{ofRun, ofJob}, nil, JobLogs{}, (*call).logs},
	{"GET", "/runs/{run}/jobs/{job}/logs/{attempt}", "What programs of an attempt wrote to standard error.",
		[]param{ofRun, ofJob, {"attempt", "string", "as in the list of logs, such as map-00003-0"}}, nil, Log{},
		(*call).log},
	{"POST", "/runs/{run}/jobs/{job}", "Kill a job, move it, or change its priority.", []param{ofRun, ofJob},
		Action{}, Session{}, (*call).act},
	{"GET", "/runs/{run}/users", "Users with sums over their jobs, a page at a time.", append([]param{ofRun,
		{"q", "string", "a part of the user's name"}}, append(paged[:2:2], param{"sort", "string", "user, jobs, " +
		"unfinished, waiting, failed, running, pending, service, sojourn, wait (the means), used (the dominant " +
		"share), or received.KIND with a kind of resource; a minus before it: the largest first"})...), nil, Users{},
		(*call).users},
	{"GET", "/runs/{run}/nodes", "Nodes at an instant, a page at a time.", append([]param{ofRun, ofInstant,
		{"q", "string", "a part of the name or the class"}}, paged...), nil, Nodes{}, (*call).nodes},
	{"GET", "/runs/{run}/nodes/{node}", "One node.", []param{ofRun, ofNode}, nil, Node{}, (*call).node},
	{"GET", "/runs/{run}/lanes", "What ran on nodes between two instants.", []param{ofRun,
		{"from", "number", "in seconds"}, {"until", "number", "in seconds; now where it is left out"},
		{"offset", "integer", "nodes to skip"}, {"nodes", "integer", "nodes to show; all others where it is left out"},
		{"lanes", "integer", "lanes at most, 100 where it is left out: several nodes share one where there are more"},
		{"columns", "integer", "columns of a picture without bars"}}, nil, Lanes{}, (*call).lanes},
	{"GET", "/compare", "Runs side by side, on the jobs that they share.", append([]param{
		{"runs", "string", "numbers of runs with commas between them; all where it is left out"},
		{"q", "string", "a part of the job's name or queue"}}, append(paged[:2:2], param{"sort", "string",
		"job; change: the largest difference of any run from the first, longer or shorter; loss: by how much any run " +
			"takes longer; change.1: the difference of the run after the first, with its sign, and so on; a minus " +
			"before it: the largest first"})...), nil, Comparison{}, (*call).compare},
	{"GET", "/session", "The user of the request, and a token.", nil, nil, Session{}, (*call).session},
}

func (c *call) runs() (any, error) {
	c.site.mu.Lock()
	list := Runs{Runs: []Run{}, At: c.site.opensAt}
	c.site.mu.Unlock()
	for i, b := range c.site.all() {
		list.Runs = append(list.Runs, c.runOf(c.latest(b), i))
	}
	return list, nil
}

// runOf describes a run to the user of the request.
func (c *call) runOf(s *boardCopy, id int) Run {
	r := s.run(id)
	r.Acts = c.site.guard != nil && r.Live
	return r
}

func (c *call) cluster() (any, error) {
	b, _, err := c.board()
	if err != nil {
		return nil, err
	}
	return c.latest(b).clusterAnswer(), nil
}

func (c *call) queues() (any, error) {
	b, _, err := c.board()
	if err != nil {
		return nil, err
	}
	s := c.latest(b)
	at, err := c.moment(s)
	if err != nil {
		return nil, err
	}
	return s.queuesAnswer(at), nil
}

// moment returns the instant that a table is asked for: now, unless an earlier one is named.
func (c *call) moment(s *boardCopy) (sched.Time, error) {
	at, err := c.instant("at")
	if c.r.FormValue("at") == "" || at > s.now {
		at = s.now
	}
	return at, err
}

// A page is which part of a list is asked for.
type page struct {
	offset, limit int
	column        string
	down          bool // the largest first
}

// page returns the page that a request asks for. column is the one to sort by where the request does not say.
func (c *call) page(column string) (p page, err error) {
	if p.offset, err = c.number("offset", 0, 1<<30); err != nil {
		return p, err
	}
	if p.limit, err = c.number("limit", usualPage, mostPage); err != nil {
		return p, err
	}
	p.column, p.down = strings.CutPrefix(cmp.Or(c.r.FormValue("sort"), column), "-")
	return p, nil
}

// columnError returns the error for a column that is none of columns.
func columnError[F any](column string, columns map[string]F) error {
	return wrong("sort=%s: must be one of %s", column, strings.Join(slices.Sorted(maps.Keys(columns)), ", "))
}

func (c *call) jobs() (any, error) {
	b, _, err := c.board()
	if err != nil {
		return nil, err
	}
	p, err := c.page("job")
	if err != nil {
		return nil, err
	}
	if jobColumns[p.column] == nil {
		return nil, columnError(p.column, jobColumns)
	}
	said := c.r.FormValue
	f := jobFilter{text: strings.ToLower(said("q")), queue: said("queue"), user: said("user"), state: said("state")}
	if f.state != "" && !slices.Contains(jobStates, f.state) {
		return nil, wrong("state=%s: must be one of %s", f.state, strings.Join(jobStates, ", "))
	}
	if f.at, err = c.instant("at"); err != nil {
		return nil, err
	}
	f.there = said("at") != ""
	return c.latest(b).jobsAnswer(f, p), nil
}

// mostUsers bounds the users that a filter offers.
const mostUsers = 100

// jobsAnswer returns a page of the jobs that a filter allows. It looks at every job.
func (s *boardCopy) jobsAnswer(f jobFilter, p page) *Jobs {
	list := &Jobs{Now: s.now.Seconds(), Offset: p.offset, Rows: []ListedJob{}, Queues: []string{}, Users: []string{}}
	order := s.order(p.column)
	number, _ := strconv.ParseInt(f.text, 10, 32)                    // 0, which is no job: the text is no number
	whole := jobFilter{queue: f.queue, user: f.user, state: f.state} // for a job that is named by its number
	queues, users := map[string]bool{}, map[string]bool{}
	var sojourns, waits []float64
	for i := range order {
		at := i
		if p.down {
			at = len(order) - 1 - i
		}
		r := &s.jobs[order[at]]
		queues[r.queue] = true
		if len(users) < mostUsers {
			users[r.user] = true
		}
		if !f.has(r) && !(number > 0 && r.id == sched.JobID(number) && whole.has(r)) {
			continue
		}
		if list.Total++; list.Total > p.offset && len(list.Rows) < p.limit {
			list.Rows = append(list.Rows, ListedJob{s.job(r), s.expected(r), s.figures(r)})
		}
		if r.end >= 0 {
			list.Service += r.service
		}
		if r.end >= 0 && r.outcome == sched.OK {
			sojourns = append(sojourns, r.sojourn(s.now).Seconds())
		}
		if r.first >= 0 {
			waits = append(waits, r.wait(s.now).Seconds())
		}
	}
	slices.Sort(sojourns)
	slices.Sort(waits)
	list.Sojourn, list.Wait = spreadOf(sojourns), spreadOf(waits)
	list.Queues = append(list.Queues, slices.Sorted(maps.Keys(queues))...)
	list.Users = append(list.Users, slices.Sorted(maps.Keys(users))...)
	return list
}

func (c *call) detail() (any, error) {
	b, _, err := c.board()
	if err != nil {
		return nil, err
	}
	id, err := c.job()
	if err != nil {
		return nil, err
	}
	d, ok := b.detail(id)
	if !ok {
		return nil, missing("job %d is not in this run, or is forgotten", id)
	}
	return d, c.shows(b, id)
}

func (c *call) why() (any, error) {
	b, _, err := c.board()
	if err != nil {
		return nil, err
	}
	id, err := c.job()
	if err != nil {
		return nil, err
	}
	at, err := c.instant("at")
	if err != nil {
		return nil, err
	}
	if err := c.shows(b, id); err != nil {
		return nil, err
	}
	if b.about.Explain == nil {
		return nil, missing("this run leaves no record, from which a reason could be found: say --record FILE")
	}
	if c.r.FormValue("at") == "" {
		at = c.latest(b).now
	}
	x, err := b.about.Explain(id, at)
	if err != nil {
		return nil, err
	}
	c.hide(b, x)
	return Why{*x}, nil
}

// nodeColumns are what nodes can be sorted by.
var nodeColumns = map[string]func(a, b *Node) int{
	"node":    func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) },
	"name":    func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) },
	"class":   func(a, b *Node) int { return cmp.Compare(a.Class, b.Class) },
	"rack":    func(a, b *Node) int { return cmp.Compare(a.Rack, b.Rack) },
	"busy":    func(a, b *Node) int { return cmp.Compare(a.Busy, b.Busy) },
	"running": func(a, b *Node) int { return cmp.Compare(a.Running, b.Running) },
	"done":    func(a, b *Node) int { return cmp.Compare(a.Done, b.Done) },
	"failed":  func(a, b *Node) int { return cmp.Compare(a.Failed, b.Failed) },
	"mean":    func(a, b *Node) int { return cmp.Compare(a.Mean, b.Mean) },
	"idle":    func(a, b *Node) int { return cmp.Compare(a.Idle, b.Idle) },
}

func (c *call) nodes() (any, error) {
	b, _, err := c.board()
	if err != nil {
		return nil, err
	}
	p, err := c.page("node")
	if err != nil {
		return nil, err
	}
	by := nodeColumns[p.column]
	if by == nil {
		return nil, columnError(p.column, nodeColumns)
	}
	s, text := c.latest(b), strings.ToLower(c.r.FormValue("q"))
	at, err := c.moment(s)
	if err != nil {
		return nil, err
	}
	past := &pastNodes{}
	if at < s.now {
		past = b.nodesAt(at)
	}
	var rows []Node
	for i := range s.nodes {
		r := &s.nodes[i]
		if text != "" && !contains(r.name, text) && !contains(r.class, text) {
			continue
		}
		n := s.node(i)
		past.put(&n)
		rows = append(rows, n)
	}
	slices.SortStableFunc(rows, func(x, y Node) int {
		if p.down {
			return by(&y, &x)
		}
		return by(&x, &y)
	})
	list := &Nodes{Now: s.now.Seconds(), At: at.Seconds(), Total: len(rows), Offset: p.offset, Rows: cut(rows, p),
		Forgotten: past.forgotten}
	for i := range list.Rows {
		s.fill(&list.Rows[i])
		past.fill(&list.Rows[i])
	}
	return list, nil
}

func (c *call) node() (any, error) {
	b, _, err := c.board()
	if err != nil {
		return nil, err
	}
	s, text := c.latest(b), c.r.PathValue("node")
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id < 1 {
		return nil, wrong("node %q: must be the number of a node, from 1", text)
	}
	if id > int64(len(s.nodes)) {
		return nil, missing("node %d is not in this run: there are nodes 1 to %d", id, len(s.nodes))
	}
	n := s.node(int(id - 1))
	s.fill(&n)
	return n, nil
}

// cut returns a page of rows.
func cut[T any](rows []T, p page) []T {
	from := min(p.offset, len(rows))
	return append([]T{}, rows[from:min(from+p.limit, len(rows))]...)
}

func (c *call) lanes() (any, error) {
	b, _, err := c.board()
	if err != nil {
		return nil, err
	}
	w := window{}
	var errs [6]error
	w.from, errs[0] = c.instant("from")
	w.until, errs[1] = c.instant("until")
	w.offset, errs[2] = c.number("offset", 0, 1<<30)
	w.nodes, errs[3] = c.number("nodes", 0, 1<<30)
	w.lanes, errs[4] = c.number("lanes", 100, 400)
	w.columns, errs[5] = c.number("columns", 300, 2000)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return b.lanes(w), nil
}

func (c *call) compare() (any, error) {
	all := c.site.all()
	text := c.r.FormValue("runs")
	var runs []Run
	var of []*boardCopy
	for i, b := range all {
		if text == "" || slices.Contains(strings.Split(text, ","), strconv.Itoa(i)) {
			s := c.latest(b)
			runs, of = append(runs, c.runOf(s, i)), append(of, s)
		}
	}
	if len(of) == 0 {
		return nil, wrong("runs=%s: must be numbers from 0 to %d with commas between them", text, len(all)-1)
	}
	p, err := c.page("-change")
	if err != nil {
		return nil, err
	}
	by, err := differencesBy(p, len(of))
	if err != nil {
		return nil, err
	}
	paired := c.site.pair(c.viewer(of)+text, runs, of)
	rows := make([]*Difference, 0, len(paired.rows))
	part := strings.ToLower(c.r.FormValue("q"))
	for i := range paired.rows {
		if d := &paired.rows[i]; part == "" || contains(d.Name, part) || contains(d.Queue, part) {
			rows = append(rows, d)
		}
	}
	slices.SortStableFunc(rows, func(a, b *Difference) int {
		if p.down {
			a, b = b, a
		}
		return by(a, b)
	})
	answer := &Comparison{Runs: paired.runs, Total: len(rows), Offset: p.offset, Rows: []Difference{}}
	for _, d := range cut(rows, p) {
		answer.Rows = append(answer.Rows, *d)
	}
	return answer, nil
}

// A Guard knows users and lets them change jobs.
type Guard interface {
	// User returns who sends a request.
	User(*http.Request) string
	// Views returns which jobs a user may look at; nil: all.
	Views(user string) func(sched.JobID) bool
	// Act does what a user wants to happen to a job, or says why not.
	Act(user string, job sched.JobID, what Action) error
}

func (c *call) session() (any, error) {
	if c.site.guard == nil {
		return Session{}, nil
	}
	user := c.site.guard.User(c.r)
	return Session{user, token(user)}, nil
}

// mostBody bounds the bytes that are sent with a request.
const mostBody = 4096

func (c *call) act() (any, error) {
	_, _, err := c.board()
	if err != nil {
		return nil, err
	}
	id, err := c.job()
	if err != nil {
		return nil, err
	}
	if c.site.guard == nil {
		return nil, refusal{http.StatusForbidden, "the jobs of this run cannot be changed from here"}
	}
	user := c.site.guard.User(c.r)
	if !genuine(c.r.Header.Get("X-Sojourn-Token"), user) {
		return nil, refusal{http.StatusForbidden, "the token is missing or old: " + prefix + "/session has a new one"}
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, c.r.Body, mostBody))
	var what Action
	if err != nil || json.Unmarshal(text, &what) != nil {
		return nil, wrong("the body must be JSON such as {\"kill\":true}, {\"queue\":\"a.b\"} or {\"priority\":3}")
	}
	if err := c.site.guard.Act(user, id, what); err != nil {
		return nil, refusal{http.StatusForbidden, err.Error()}
	}
	return Session{user, token(user)}, nil
}
