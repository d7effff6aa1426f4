package web

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

//go:embed static openapi.json
var files embed.FS

// A Site serves runs as one page. Runs may be added while it serves.
type Site struct {
	guard Guard

	mu      sync.Mutex
	boards  []*Board
	pairs   map[string]pairCopy
	opensAt *float64 // in seconds; nil: now
}

// A pairCopy is a comparison, and the versions of the runs that it was made from.
type pairCopy struct {
	versions []int64
	pairing
}

// NewSite returns a site without runs. A nil guard lets nothing be changed.
func NewSite(guard Guard) *Site { return &Site{guard: guard, pairs: map[string]pairCopy{}} }

// Add adds a run.
func (s *Site) Add(b *Board) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boards = append(s.boards, b)
}

// OpenAt makes the page open at an instant: its queues, its nodes and its explanations are of that instant until the
// reader chooses another. It returns the runs that ended before; the page shows their end.
func (s *Site) OpenAt(at sched.Time) (over []Run) {
	seconds := at.Seconds()
	s.mu.Lock()
	s.opensAt = &seconds
	s.mu.Unlock()
	for i, b := range s.all() {
		if r := b.latest().run(i); !r.Live && r.Now < seconds {
			over = append(over, r)
		}
	}
	return over
}

// all returns the runs. The caller must not change the list.
func (s *Site) all() []*Board {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boards[:len(s.boards):len(s.boards)]
}

// A refusal is an error with the status of its answer.
type refusal struct {
	status int
	why    string
}

func (r refusal) Error() string { return r.why }

// wrong returns the refusal of a request that asks for something in a wrong way.
func wrong(format string, args ...any) error {
	return refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// missing returns the refusal of a request for something that does not exist.
func missing(format string, args ...any) error {
	return refusal{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

// Handler returns the handler of the page and of the REST interface.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.method+" "+prefix+r.path, func(w http.ResponseWriter, q *http.Request) { s.serve(w, q, &r) })
	}
	mux.HandleFunc("GET "+prefix+"/changes", s.changes)
	mux.HandleFunc("GET "+prefix+"/openapi.json", func(w http.ResponseWriter, q *http.Request) {
		serveFile(w, q, "openapi.json")
	})
	mux.HandleFunc("GET "+prefix+"/", func(w http.ResponseWriter, q *http.Request) {
		answer(w, nil, missing("%s is not part of the interface: %s/openapi.json describes it", q.URL.Path, prefix))
	})
	mux.HandleFunc("GET /static/{file}", func(w http.ResponseWriter, q *http.Request) {
		serveFile(w, q, path.Join("static", q.PathValue("file")))
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, q *http.Request) { serveFile(w, q, "static/index.html") })
	return secured(mux)
}

// prefix is the path of the REST interface.
const prefix = "/api/v1"

// policyOfContent lets the page load nothing but its own files.
const policyOfContent = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// secured adds the headers that keep other sites away from the page.
func secured(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Security-Policy", policyOfContent)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		h.ServeHTTP(w, q)
	})
}

// serveFile serves one of the files that are part of the program. A browser must always ask for them again, because
// another version of the program has other files.
func serveFile(w http.ResponseWriter, q *http.Request, name string) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		http.NotFound(w, q)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, q, name, time.Time{}, bytes.NewReader(text))
}

// A call is one request of the REST interface.
type call struct {
	site *Site
	r    *http.Request
}

// serve answers a request of a route.
func (s *Site) serve(w http.ResponseWriter, q *http.Request, r *route) {
	body, err := r.do(&call{s, q})
	answer(w, body, err)
}

// answer writes the answer to a request: body, or, if err is not nil, the error.
func answer(w http.ResponseWriter, body any, err error) {
	status := http.StatusOK
	if err != nil {
		status = http.StatusInternalServerError
		var r refusal
		if errors.As(err, &r) {
			status = r.status
		}
		body = Problem{err.Error()}
	}
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"the answer has no form"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// board returns the run that a request names, and its number.
func (c *call) board() (*Board, int, error) {
	all := c.site.all()
	text := c.r.PathValue("run")
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n >= len(all) {
		return nil, 0, missing("run %q: there are runs 0 to %d", text, len(all)-1)
	}
	return all[n], n, nil
}

// number returns the parameter name of the request, a whole number from 0 to most; otherwise, if the request does not
// have it.
func (c *call) number(name string, otherwise, most int) (int, error) {
	text := c.r.FormValue(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, wrong("%s=%s: must be a whole number from 0 to %d", name, text, most)
	}
	return n, nil
}

// instant reads a parameter that is a time in seconds.
func (c *call) instant(name string) (sched.Time, error) {
	text := c.r.FormValue(name)
	if text == "" {
		return 0, nil
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s >= 0 && s < 1e9) {
		return 0, wrong("%s=%s: must be a time in seconds, 0 or more", name, text)
	}
	return sched.Time(s * 1e9), nil
}

// job reads the job that a request names.
func (c *call) job() (sched.JobID, error) {
	text := c.r.PathValue("job")
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id < 1 {
		return 0, wrong("job %q: must be the number of a job, from 1", text)
	}
	return sched.JobID(id), nil
}

// pulse is the shortest time between two messages to a page that there is something new.
const pulse = time.Second

// changes sends a page the versions of all runs, as a server-sent event, when one of them has changed.
func (s *Site) changes(w http.ResponseWriter, q *http.Request) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		answer(w, nil, errors.New("this server cannot stream"))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	last := ""
	for silent := 0; ; silent++ {
		var now strings.Builder
		for i, b := range s.all() {
			if i > 0 {
				now.WriteByte(',')
			}
			fmt.Fprintf(&now, "%d", b.current())
		}
		switch text := now.String(); {
		case text != last:
			last, silent = text, 0
			fmt.Fprintf(w, "data: {\"versions\":[%s]}\n\n", text)
		case silent >= 15:
			silent = 0
			fmt.Fprint(w, ": nothing new\n\n") // or a proxy would end the connection
		}
		flusher.Flush()
		select {
		case <-q.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// current returns the version of a board.
func (b *Board) current() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.version
}
