package yarn

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strings"
)

const negotiate = "Negotiate"

// proving returns a handler that finds out whose a request is, for visitor. On clusters with Kerberos it lets in
// requests whose users prove by SPNEGO who they are (RFC 4559). If REST has no principal there, all requests are
// Hadoop's static user's, and change nothing: a name in a URL must not be enough to act for another user. Without
// Kerberos requests are of the users that they name. In each case the user may act for another as impersonate allows.
func (f *front) proving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user := staticUser
		switch {
		case f.kerberos == nil:
			user = visitor(r)
		case f.web != nil:
			var ok bool
			if user, ok = f.negotiate(w, r); !ok {
				return
			}
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions:
			page(w, http.StatusForbidden, "REST changes nothing here",
				"The default static user cannot carry out this operation: "+webType+" must be kerberos")
			return
		}
		user, err := f.acting(user, r)
		if err != nil {
			page(w, http.StatusForbidden, "AuthorizationException", err.Error())
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), asker{}, user)))
	})
}

// acting returns the user that a request of user acts for: the one that the parameter doAs names, in any case of its
// letters, else user. It fails if user may not act for that one. As in Hadoop, doAs of a request that names no user
// does not count.
func (f *front) acting(user string, r *http.Request) (string, error) {
	for name, values := range r.URL.Query() {
		if !strings.EqualFold(name, "doAs") || values[0] == user || user == staticUser {
			continue
		}
		if !plain(values[0]) {
			return "", fmt.Errorf("doAs must name a user, not %q", values[0])
		}
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		return values[0], f.impersonate(user, values[0], &net.TCPAddr{IP: net.ParseIP(host)})
	}
	return user, nil
}

// negotiate returns the user who sends a request. If there is no proof of that, ok is false, and negotiate has answered
// the request.
func (f *front) negotiate(w http.ResponseWriter, r *http.Request) (user string, ok bool) {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, negotiate) {
		w.Header().Set("WWW-Authenticate", negotiate)
		page(w, http.StatusUnauthorized, "Authentication required", "by "+negotiate+" (SPNEGO, Kerberos)")
		return "", false
	}
	token, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err == nil {
		var reply []byte
		if user, reply, err = f.web.acceptWeb(token); err == nil && len(reply) > 0 {
			w.Header().Set("WWW-Authenticate", negotiate+" "+base64.StdEncoding.EncodeToString(reply))
		}
	}
	if err != nil {
		f.log.refused("authentication by REST refused", "from", r.RemoteAddr, "why", err)
		page(w, http.StatusForbidden, "GSSException", err.Error())
		return "", false
	}
	return user, true
}

// acceptWeb takes the token of a request, and returns the local user and the token for the answer.
func (m *mechanism) acceptWeb(token []byte) (user string, reply []byte, err error) {
	c, reply, err := m.acceptor.AcceptNegotiation(token)
	if err != nil {
		return "", nil, err
	}
	user, err = m.names.Local(c.Client())
	return user, reply, err
}
