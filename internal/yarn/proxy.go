package yarn

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// Limits on the pages of ApplicationMasters.
const (
	proxyDial   = 10 * time.Second
	proxyHeader = 30 * time.Second // until the headers of an answer have arrived
	proxyIdle   = 20               // idle connections that are kept
)

// proxyName is the proxy's name in Via headers, by which it recognizes its own requests.
const proxyName = "sojourn-rm"

// asker is the key, in a request's context, of the user that the request comes from, as front.proving found out.
type asker struct{}

// A proxy serves the pages of ApplicationMasters under /proxy/application_…. ApplicationMasters accept requests from
// the proxy's machine only, and redirect browsers here.
type proxy struct {
	f       *front
	reverse *httputil.ReverseProxy
}

// proxyTarget is the key of a request's target URL in its context.
type proxyTarget struct{}

// newProxy returns the proxy. own are the addresses of the ResourceManager, to which it does not connect.
func newProxy(f *front, own []net.Addr) *proxy {
	p := &proxy{f: f}
	p.reverse = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to := r.In.Context().Value(proxyTarget{}).(*url.URL)
			r.Out.URL, r.Out.Host = to, to.Host
			r.Out.Header = passed(r.In.Header)
			r.Out.Header.Set("Via", "1.1 "+proxyName)
			r.Out.AddCookie(&http.Cookie{Name: "proxy-user", Value: visitor(r.In)})
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Del("Set-Cookie") // a browser would send it to this address, for all applications
			return nil
		},
		Transport: &http.Transport{
			DialContext:           dialOthers(own),
			ResponseHeaderTimeout: proxyHeader,
			MaxIdleConns:          proxyIdle,
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if errors.Is(err, errOwnPages) {
				page(w, http.StatusLoopDetected, "These are no pages of an ApplicationMaster", err.Error())
				return
			}
			page(w, http.StatusBadGateway, "The ApplicationMaster does not answer", err.Error())
		},
	}
	return p
}

// passedHeaders are the headers of a request that are passed on to the ApplicationMaster, as by Hadoop's
// WebAppProxyServlet. Cookies and credentials are not: they are meant for this server only.
var passedHeaders = []string{"User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Accept-Charset",
	"Content-Type", "Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"}

// passed returns the headers of in that are passed on.
func passed(in http.Header) http.Header {
	out := http.Header{}
	for _, name := range passedHeaders {
		if values := in.Values(name); len(values) > 0 {
			out[name] = values
		}
	}
	return out
}

// errOwnPages says that an application named an address of the ResourceManager as that of its pages. Requests there
// would come from this machine, without a user.
var errOwnPages = errors.New("the address is the ResourceManager's own")

// dialOthers returns a dial function that refuses to connect to the ResourceManager's own addresses, by whatever name:
// it checks the address that was reached.
func dialOthers(own []net.Addr) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: proxyDial}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		for _, ln := range own {
			if reaches(c, ln) {
				c.Close()
				return nil, fmt.Errorf("pages at %s: %w", address, errOwnPages)
			}
		}
		return c, nil
	}
}

// reaches reports whether connection c leads to listener ln of this process. A listener on all addresses is reached by
// loopback, and by a connection from an address of the machine to the same address.
func reaches(c net.Conn, ln net.Addr) bool {
	to, ok := c.RemoteAddr().(*net.TCPAddr)
	at, ok2 := ln.(*net.TCPAddr)
	from, ok3 := c.LocalAddr().(*net.TCPAddr)
	if !ok || !ok2 || !ok3 || to.Port != at.Port {
		return false
	}
	if at.IP.IsUnspecified() {
		return to.IP.IsLoopback() || to.IP.Equal(from.IP)
	}
	return to.IP.Equal(at.IP)
}

// staticUser is Hadoop's name for a user who is not named.
const staticUser = "dr.who"

// visitor returns the user of a request: the one that front.proving found out, else the one that the request names.
func visitor(r *http.Request) string {
	if user, found := r.Context().Value(asker{}).(string); found {
		return user
	}
	if user := r.URL.Query().Get("user.name"); plain(user) {
		return user
	}
	return staticUser
}

// plain reports whether a name of a user can be a cookie's value as it is.
func plain(user string) bool { return user != "" && !strings.ContainsAny(user, "\"; ,\\\r\n") }

// ServeHTTP serves /proxy/application_…/path, and the same with redirect/ before application: that is the form to which
// ApplicationMasters redirect browsers. It forwards the request to the pages that the application's ApplicationMaster
// registered. For an application that is over it redirects to the pages of its history, or to its page here.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest := strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/proxy/"), "redirect/")
	name, rest, _ := strings.Cut(rest, "/")
	id, err := wire.ParseApplicationID(name)
	if err != nil {
		page(w, http.StatusBadRequest, "No application", err.Error())
		return
	}
	var original string
	var over, known bool
	p.f.look(func(m *manager) {
		app := m.apps.byID[id]
		if known = app != nil; known {
			over = app.over || app.state == wire.AppFinished
			if a := app.current(); a != nil {
				original = a.address.Original
			}
		}
	})
	to, ok := pagesOf(original)
	switch {
	case strings.Contains(r.Header.Get("Via"), proxyName): // the ApplicationMaster named this proxy as its pages
		page(w, http.StatusLoopDetected, "The ApplicationMaster's pages are this one", original)
	case !known:
		page(w, http.StatusNotFound, "No application "+id.String(), "it never was, or is over for long")
	case !ok && over:
		http.Redirect(w, r, "/cluster/app/"+id.String(), http.StatusFound)
	case !ok:
		page(
			w,
			http.StatusOK,
			id.String()+" has no pages yet",
			"its ApplicationMaster has not registered any: try again soon",
		)
	case over: // its tracking URL is that of its history
		http.Redirect(w, r, to.String(), http.StatusFound)
	default:
		base := strings.TrimSuffix(to.Path, "/") + "/"
		if rest != "" {
			to = to.JoinPath(rest)
		}
		if !strings.HasPrefix(path.Clean("/"+to.Path)+"/", base) {
			page(w, http.StatusBadRequest, "The path leads out of the registered pages", rest)
			return
		}
		to.RawQuery = r.URL.RawQuery
		p.reverse.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), proxyTarget{}, to)))
	}
}

// pagesOf parses the tracking URL that an ApplicationMaster registered, and reports whether pages can be fetched there:
// it must name a host, by HTTP or HTTPS. Without a scheme (host:port/path) it is HTTP. For anything else, such as an
// empty URL or Hadoop's "N/A", pagesOf returns nil and false.
func pagesOf(tracking string) (*url.URL, bool) {
	if tracking == "" || tracking == wire.NotAvailable {
		return nil, false
	}
	if !strings.Contains(tracking, "://") {
		tracking = "http://" + tracking
	}
	u, err := url.Parse(tracking)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, false
	}
	return u, true
}

// page answers with a short page. Title and text are not HTML.
func page(w http.ResponseWriter, status int, title, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	fmt.Fprintf(
		w,
		"<!doctype html><title>%[1]s</title><h1>%[1]s</h1><pre>%[2]s</pre>\n",
		html.EscapeString(title),
		html.EscapeString(text),
	)
}

// appPage serves the page of an application. Reports name it where an application has no pages of its own.
func appPage(f *front, w http.ResponseWriter, r *http.Request) {
	id, err := wire.ParseApplicationID(r.PathValue("app"))
	if err != nil {
		page(w, http.StatusBadRequest, "No application", err.Error())
		return
	}
	var found *wire.ApplicationReport
	user := visitor(r)
	f.groups.meet(user)
	f.look(func(m *manager) {
		if app := m.apps.byID[id]; app != nil {
			r := app.seen(user)
			found = &r
		}
	})
	if found == nil {
		page(w, http.StatusNotFound, "No application "+id.String(), "it never was, or is over for long")
		return
	}
	page(w, http.StatusOK, id.String(), fmt.Sprintf("name   %s\nuser   %s\nqueue  %s\nstate  %s\nfinal  %s\n\n%s",
		found.Name, found.User, found.Queue, found.State, finalName(found.Final), found.Diagnostics))
}
