package yarn

import "net/http"

// accessInfo says whether a user is on an access list. It stands alone in its reply, as Hadoop's does, and allowed is a
// text in JSON.
type accessInfo struct {
	Allowed     bool   `json:"allowed,string" xml:"allowed"`
	User        string `json:"user" xml:"user"`
	Diagnostics string `json:"diagnostics" xml:"diagnostics"`
}

// accessToQueue says to administrators of a queue whether a user may submit to it, or administer it. It is called
// outside of turns. The lists of queues apply even without yarn.acl.enable, as in Hadoop, so accessToQueue looks up the
// groups of the caller and of the user in any case.
func accessToQueue(f *front, r *http.Request) (b body, err error) {
	f.groups.lookUp(visitor(r))
	if b, err = f.inTurn(r, rest.access); err != nil {
		return b, err // so that only administrators make the operating system look up the groups of others
	}
	f.groups.lookUp(r.URL.Query().Get("user"))
	return f.inTurn(r, rest.access)
}

// access is accessToQueue with the groups that are known.
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
