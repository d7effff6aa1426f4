package yarn

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
)

// A rest carries out a request within a turn.
type rest struct {
	m    *manager
	user string // the caller
	r    *http.Request
}

// inTurn runs do in a turn for the user that a request names.
func (f *front) inTurn(r *http.Request, do func(rest) (body, error)) (b body, err error) {
	user := visitor(r)
	f.groups.meet(user)
	_, err = f.ask(func(m *manager) (_ answer, err error) {
		b, err = do(rest{m, user, r})
		return nil, err
	})
	return b, err
}

// answerREST makes the reply to a request and writes it. Replies are made a few at a time, so that callers who ask
// again and again leave processors to others; they are written at the pace of each caller.
func (f *front) answerREST(w http.ResponseWriter, r *http.Request, do func() (body, error)) {
	share := f.shareOf(r)
	defer share.Hold(0)
	f.groups.meet(visitor(r)) // which may wait for the operating system: no other reply must
	write := func() func() {
		f.making <- struct{}{}
		defer func() { <-f.making }()
		b, err := do()
		write, size := makeREST(w, r, b, err)
		if !share.Hold(size) {
			return func() { http.Error(w, rpc.ErrNoRoom.Error(), http.StatusServiceUnavailable) }
		}
		return write
	}()
	write()
}

// shareOf returns a share, still empty, of the memory that connections may hold, for the host of a request.
func (f *front) shareOf(r *http.Request) *rpc.Share {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	share := f.room.ShareOf(host)
	return &share
}

// makeREST encodes a reply, or, if err is not nil, why there is none, in JSON or XML as the request accepts. It returns
// the function that writes the reply, and how many bytes of memory the reply holds until then.
func makeREST(w http.ResponseWriter, r *http.Request, b body, err error) (write func(), size int) {
	status := http.StatusOK
	if err != nil {
		e := &restError{http.StatusBadRequest, "BadRequestException", err.Error()}
		errors.As(err, &e)
		status, b = e.status, e.body()
	}
	if b.name == accepted {
		return func() {
			scheme := "http"
			if r.TLS != nil {
				scheme = "https"
			}
			w.Header().Set("Location", scheme+"://"+r.Host+r.URL.Path+"/"+b.value.(string))
			w.WriteHeader(http.StatusAccepted)
		}, 0
	}
	kind, encode := "json", writeJSON
	if wantsXML(r) {
		kind, encode = "xml", writeXML
	}
	var text bytes.Buffer
	if err := encode(&text, b); err != nil { // rather than the beginning of a reply, as if it were whole
		e := &restError{http.StatusInternalServerError, "WebApplicationException", err.Error()}
		status = e.status
		text.Reset()
		_ = encode(&text, e.body()) // of strings alone
	}
	return func() {
		w.Header().Set("Content-Type", "application/"+kind+";charset=utf-8")
		w.WriteHeader(status)
		w.Write(text.Bytes())
	}, text.Cap()
}

// body returns the body of the reply.
func (e *restError) body() body {
	return body{"RemoteException", exceptionInfo{e.class, "org.apache.hadoop.yarn.webapp." + e.class, e.message}}
}

// asREST returns the REST error that stands for the error of a client's call; nil: the call has succeeded.
func asREST(_ answer, err error) error {
	e, ok := err.(*rpc.Error)
	switch {
	case !ok:
		return err
	case e.Class == classAppNotFound:
		return notFound(e.Message)
	case e.Class == classAccess:
		return forbidden(e.Message)
	}
	return badRequest(e.Message)
}

// writeJSON writes an object with one member, or the value alone.
func writeJSON(w io.Writer, b body) error {
	if strings.HasPrefix(b.name, alone) {
		return json.NewEncoder(w).Encode(b.value)
	}
	return json.NewEncoder(w).Encode(map[string]any{b.name: b.value})
}

// writeXML writes an element with the body's name. Each element of a list has the name of the list, as in Hadoop.
func writeXML(w io.Writer, b body) error {
	if _, err := io.WriteString(w, strings.TrimSuffix(xml.Header, "\n")); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	start := xml.StartElement{Name: xml.Name{Local: strings.TrimPrefix(b.name, alone)}}
	return errors.Join(e.EncodeElement(b.value, start), e.Close())
}

// wantsXML reports whether a request asks for XML, and not for JSON before it. A request that says nothing gets JSON,
// as from Hadoop.
func wantsXML(r *http.Request) bool {
	accept := strings.ToLower(r.Header.Get("Accept"))
	x, j := strings.Index(accept, "application/xml"), strings.Index(accept, "application/json")
	return x >= 0 && (j < 0 || x < j)
}
