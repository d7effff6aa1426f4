package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
)

// mostReported bounds the attempts in a report. A report of so many takes about 10 MB.
const mostReported = 60_000

// WriteReport writes the page and what it shows of the runs of a site into one HTML file that needs nothing else.
// It has the details of jobs, from the longest sojourn time down, while their attempts are at most mostReported.
func (s *Site) WriteReport(out io.Writer) error {
	a := &asker{handler: s.Handler(), answers: map[string]json.RawMessage{}}
	all := s.all()
	a.keep("/runs", "/runs")
	room := mostReported
	for i, b := range all {
		run := fmt.Sprintf("/runs/%d", i)
		snap := b.latest()
		for _, part := range []string{"/cluster", "/queues"} {
			a.keep(run+part, run+part)
		}
		a.keep(run+"/lanes", run+"/lanes?lanes=60&columns=320")
		a.set(run+"/jobs", snap.jobsAnswer(jobFilter{}, page{limit: len(snap.jobs), column: "job"}))
		a.set(run+"/users", snap.usersAnswer("", page{limit: len(snap.jobs)}, userColumns["user"]))
		a.keepAll(run+"/nodes", len(snap.nodes))
		order := snap.order("sojourn")
		for k := len(order) - 1; k >= 0; k-- {
			r := &snap.jobs[order[k]]
			if room -= int(r.attempts) + 1; room < 0 {
				break
			}
			d, ok := b.detail(r.id)
			if ok {
				a.set(fmt.Sprintf("%s/jobs/%d", run, r.id), d)
			}
		}
	}
	runs, of := make([]Run, len(all)), make([]*boardCopy, len(all))
	for i, b := range all {
		of[i] = b.latest()
		runs[i] = of[i].run(i)
	}
	paired := pair(runs, of)
	rows := append([]Difference{}, paired.rows...)
	a.set("/compare", &Comparison{Runs: paired.runs, Total: len(rows), Rows: rows})
	if a.err != nil {
		return fmt.Errorf("write report: %w", a.err)
	}
	return writePage(out, a.answers)
}

// An asker collects the answers that a report holds, by their paths.
type asker struct {
	handler http.Handler
	answers map[string]json.RawMessage
	err     error
}

// keep asks for path, and keeps the answer under name.
func (a *asker) keep(name, path string) {
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+path, nil))
	if w.Code != http.StatusOK {
		a.err = errors.Join(a.err, fmt.Errorf("%s: status %d", path, w.Code))
		return
	}
	a.answers[name] = w.Body.Bytes()
}

// keepAll asks for the n nodes at path, page by page, and keeps them as one answer.
func (a *asker) keepAll(path string, n int) {
	var all Nodes
	for offset := 0; offset == 0 || offset < n; offset += mostPage {
		a.keep(path, fmt.Sprintf("%s?limit=%d&offset=%d", path, mostPage, offset))
		var part Nodes
		if a.err != nil {
			return
		}
		if a.err = json.Unmarshal(a.answers[path], &part); a.err != nil {
			return
		}
		part.Rows = append(all.Rows, part.Rows...)
		all = part
	}
	all.Offset = 0
	a.set(path, all)
}

// set keeps a value as an answer.
func (a *asker) set(name string, v any) {
	text, err := json.Marshal(v)
	if a.err = errors.Join(a.err, err); err == nil {
		a.answers[name] = text
	}
}

// modules are the page's scripts, each after those that it imports.
var modules = []string{"terms.js", "dom.js", "api.js", "draw.js", "views.js", "main.js"}

// imports and exports are the lines of a module that a page of one script does not need.
var (
	imports = regexp.MustCompile(`(?m)^import [^;]*;\n`)
	exports = regexp.MustCompile(`(?m)^export `)
)

// writePage writes the page with its style, its scripts and the answers within it.
func writePage(out io.Writer, answers map[string]json.RawMessage) error {
	read := func(name string) string {
		text, err := files.ReadFile("static/" + name)
		if err != nil {
			panic(err) // it is part of the program
		}
		return string(text)
	}
	var script strings.Builder
	for _, name := range modules {
		script.WriteString(exports.ReplaceAllString(imports.ReplaceAllString(read(name), ""), ""))
	}
	data, err := json.Marshal(answers) // in which no < stands: it becomes \u003c
	if err != nil {
		return err
	}
	head, rest, _ := strings.Cut(read("index.html"), `<link rel="stylesheet" href="/static/style.css">`)
	_, body, _ := strings.Cut(rest, `<script type="module" src="/static/main.js"></script>`)
	content, end, _ := strings.Cut(body, "</body>")
	for _, part := range []string{head, "<style>\n", read("style.css"), "</style>", content,
		`<script type="application/json" id="answers">`, string(data), "</script>\n",
		`<script type="module">` + "\n", script.String(), "</script>\n</body>", end} {
		if _, err := io.WriteString(out, part); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	return nil
}
