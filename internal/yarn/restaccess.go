package yarn

import "net/http"

// accessInfo says whether a user is on an access list. It stands alone in its reply, as Hadoop's does, and allowed is a
// text in JSON.
type accessInfo struct {
	Allowed     bool   `json:"allowed,string" xml:"allowed"`
	User        string `json:"user" xml:"user"`
	Diagnostics string `json:"diagnostics" xml:"diagnostics"`
}

// serveAccess says to administrators of a queue whether a user may submit to it, or administer it. The lists of queues
// apply even without yarn.acl.enable, as in Hadoop, so it learns the groups of the caller and of the user in any case.
// It does so before a reply is made: the operating system may be slow, and no other reply must wait for it.
func (f *front) serveAccess(w http.ResponseWriter, r *http.Request) {
	f.groups.lookUp(visitor(r))
	if _, err := f.inTurn(r, rest.access); err == nil { // only administrators make it look up the groups of others
		f.groups.lookUp(r.URL.Query().Get("user"))
	}
	f.answerREST(w, r, func() (body, error) { return f.inTurn(r, rest.access) })
}

// access is what serveAccess says, by the groups that are known.
func (q rest) access() (body, error) {
	queue, form := q.r.PathValue("queue"), q.r.URL.Query()
	path, there := q.m.queues.listsOf(queue)
	listed := func(user string, of func(QueueAccess) ACL) bool {
		return there && q.m.queues.allows(path, q.m.listed(user), of)
	}
	if !listed(q.user, administers) {
		return body{}, forbidden("User=" + q.user + " doesn't haven access to queue=" + queue +
			" so it cannot check ACLs for other users.")
	}
	user := form.Get("user")
	if user == "" {
		return body{}, badRequest("Null user")
	}
	kind, of := form.Get("queue-acl-type"), submits
	switch {
	case kind == "ADMINISTER_QUEUE":
		of = administers
	case !form.Has("queue-acl-type"):
		kind = "SUBMIT_APPLICATIONS"
	case kind != "SUBMIT_APPLICATIONS":
		return body{}, badRequest("Specified queueAclType=" + kind +
			" is not a valid type, valid queue acl types={SUBMIT_APPLICATIONS/ADMINISTER_QUEUE}")
	}
	info := accessInfo{Allowed: listed(user, of), User: user}
	if !info.Allowed {
		info.Diagnostics = "User=" + user + " doesn't have access to queue=" + queue + " with acl-type=" + kind
	}
	return body{alone + "rmQueueAclInfo", info}, nil
}
