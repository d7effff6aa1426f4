package yarn

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
)

const negotiate = "Negotiate"

// proving returns a handler for clusters with Kerberos: it lets in requests whose users prove by SPNEGO who they are
// (RFC 4559). If REST has no principal, all requests are Hadoop's static user's, and change nothing: a name in a URL
// must not be enough to act for another user. Without Kerberos proving returns next.
func (f *front) proving(next http.Handler) http.Handler {
	if f.kerberos == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user := staticUser
		switch {
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
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), asker{}, user)))
	})
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
	for name, values := range r.URL.Query() {
		if !strings.EqualFold(name, "doAs") || len(values) == 0 || values[0] == user {
			continue
		}
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		if err := f.impersonate(user, values[0], &net.TCPAddr{IP: net.ParseIP(host)}); err != nil {
			page(w, http.StatusForbidden, "AuthorizationException", err.Error())
			return "", false
		}
		return values[0], true
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
