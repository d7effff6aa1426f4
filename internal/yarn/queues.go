package yarn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/sched"
)

// Queues are the queues of a cluster's configuration.
type Queues struct {
	Tree    []*sched.QueueSpec     // below the root; nil: one queue, named default
	Stopped []string               // dotted paths, below the root, of queues that are STOPPED; "" is the root
	Rules   []Rule                 // say to which queue an application goes; nil: to the queue that it names
	Access  map[string]QueueAccess // by dotted path below the root, for queues with access lists; "" is the root
}

// A Rule names a queue for an application. The first rule counts whose queue exists, or may be created.
type Rule struct {
	By     RuleKind
	Create bool   // the queue is created if it does not exist
	Final  bool   // the application is refused if the queue does not exist: no later rule is tried
	User   string // of ByDefault: the only user that the rule applies to; "": all
	Queue  string // of ByDefault: the dotted path below the root
}

// RuleKind says how a rule chooses the queue.
type RuleKind uint8

// The kinds of rules.
const (
	BySpecified RuleKind = iota // the queue that the application names, other than default
	ByUser                      // the queue named after the user
	ByDefault                   // always the same queue
	ByReject                    // none: the application is refused
)

// Specs returns the queues for the core. Without a configuration there is one queue, named default.
func (q Queues) Specs() []*sched.QueueSpec {
	q.withDefaults()
	return q.Tree
}

// stopped reports whether a queue takes no new applications, because it is STOPPED or a queue above it is. "" is the
// root.
func (q *Queues) stopped(path string) bool {
	return slices.ContainsFunc(q.Stopped, func(one string) bool {
		return one == "" || one == path || strings.HasPrefix(path, one+".")
	})
}

// withDefaults sets the queues and the rules of a cluster without a configuration, where q has none.
func (q *Queues) withDefaults() {
	if len(q.Tree) == 0 {
		q.Tree = []*sched.QueueSpec{{Name: sched.DefaultQueue}} // clients ask for it before there is a job in it
	}
	if q.Rules == nil {
		q.Rules = []Rule{{By: BySpecified, Final: true}, {By: ByDefault, Queue: sched.DefaultQueue}}
	}
}

// A leafTable finds the leaves of a tree of queues.
type leafTable struct {
	byPath map[string]bool     // true: a leaf; false: it has queues below it
	byName map[string][]string // paths of leaves, by the last part of the path
}

// leaves returns the table of the leaves of the tree.
func (q Queues) leaves() leafTable {
	t := leafTable{byPath: map[string]bool{}, byName: map[string][]string{}}
	var add func(list []*sched.QueueSpec, above string)
	add = func(list []*sched.QueueSpec, above string) {
		for _, s := range list {
			path, leaf := above+s.Name, len(s.Queues) == 0
			t.byPath[path] = leaf
			if leaf {
				t.byName[s.Name] = append(t.byName[s.Name], path)
			}
			add(s.Queues, path+".")
		}
	}
	add(q.Tree, "")
	return t
}

// find returns the path of the leaf that name stands for. name is the path itself, or its last part, if no other leaf
// has the same last part.
func (t *leafTable) find(name string) (path string, ok bool) {
	name = strings.TrimPrefix(name, "root.")
	if leaf, there := t.byPath[name]; there {
		return name, leaf
	}
	if paths := t.byName[name]; len(paths) == 1 {
		return paths[0], true
	}
	return name, false
}

// mayCreate reports whether users may create a queue with a path: no queue above it is a leaf, it is not too deep, and
// every part is a valid name.
func (t *leafTable) mayCreate(path string) bool {
	if _, there := t.byPath[path]; there || len(path) > mostPath {
		return false
	}
	for i, r := range path {
		if r == '.' && t.byPath[path[:i]] {
			return false
		}
	}
	parts := strings.Split(path, ".")
	return len(parts) <= mostDepth && !strings.ContainsAny(path, " \"'<>&") &&
		!slices.ContainsFunc(parts, func(s string) bool { return !wellNamed(s) })
}

// A placement finds the queue of each application.
type placement struct {
	Queues
	leaves leafTable       // of Queues
	made   map[string]bool // paths of queues that users have created, and of those above them: the core keeps them all
}

// room reports whether a queue for which mayCreate is true exists, or another one may be created within mostMade.
func (q *placement) room(path string) bool {
	return q.made[path] || len(q.made)+strings.Count(path, ".") < mostMade
}

// make notes that an application goes to a queue. If no file has the queue, the core creates it.
func (q *placement) make(path string) {
	if _, said := q.leaves.byPath[path]; said {
		return
	}
	for i, r := range path {
		if _, said := q.leaves.byPath[path[:i]]; r == '.' && !said {
			q.made[path[:i]] = true
		}
	}
	q.made[path] = true
}

// choose returns the path of the queue for an application, by its user and the queue that it names. The queue may have
// to be created. The error says why there is no queue.
func (q *placement) choose(user, named string) (string, error) {
	if !wellNamed(user) {
		return "", fmt.Errorf("user %.200q: must be %s", user, nameRule)
	}
	t := &q.leaves
	named = cmp.Or(named, sched.DefaultQueue)
	for _, r := range q.Rules {
		var path string
		switch r.By {
		case BySpecified:
			if strings.TrimPrefix(named, "root.") == sched.DefaultQueue {
				continue
			}
			path = named
		case ByUser:
			path = strings.ReplaceAll(user, ".", "_dot_")
		case ByDefault:
			if r.User != "" && r.User != user {
				continue
			}
			path = r.Queue
		case ByReject:
			return "", fmt.Errorf("no rule for placing applications takes it")
		}
		found, ok := t.find(path)
		if !ok && r.Create && t.mayCreate(found) {
			ok = q.room(found)
		}
		switch {
		case ok && q.stopped(found):
			return "", fmt.Errorf("queue root.%s is STOPPED and takes no new applications", found)
		case ok:
			return found, nil
		case len(t.byName[path]) > 1:
			return "", fmt.Errorf(
				"there are several, root.%s: name one by its path",
				strings.Join(t.byName[path], " and root."),
			)
		case r.Final:
			return "", fmt.Errorf("there is no such leaf queue")
		}
	}
	return "", fmt.Errorf("there is no such leaf queue")
}

// Limits on queues.
const (
	mostDepth = 32 // levels below the root
	mostPath  = mostDepth * (mostName + 1)
	mostName  = 255    // bytes of the name of a queue or a user
	mostMade  = 10_000 // queues that users create, with those above them
)

// nameRule states in words the rule that wellNamed checks.
const nameRule = "1 to 255 bytes of UTF-8 without control characters"

// wellNamed reports whether name is valid for a queue or a user. Names appear in logs, pages and metrics.
func wellNamed(name string) bool {
	return name != "" && len(name) <= mostName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, unicode.IsControl)
}

// checkQueue returns what the name of a queue must be, if name is not valid beside its siblings; "": it is valid.
func checkQueue(name string, siblings []*sched.QueueSpec) string {
	switch {
	case !wellNamed(name):
		return "names of queues of " + nameRule
	case strings.ContainsAny(name, ". "):
		return "names of queues without dots and spaces"
	case slices.ContainsFunc(siblings, func(s *sched.QueueSpec) bool { return s.Name == name }):
		return "names of queues, each once: " + name + " is there twice"
	}
	return ""
}

// allows reports whether a user is on the access list of a queue, or of a queue above it. is says whether the user is
// on a list, and of chooses a list of a queue. Without a configured list, the root's is everybody, as in Hadoop; so
// lists of other queues have an effect only if the root's is configured.
func (q *Queues) allows(path string, is func(ACL) bool, of func(QueueAccess) ACL) bool {
	for {
		list, said := q.Access[path]
		if path == "" && !said || is(of(list)) {
			return true
		}
		if path == "" {
			return false
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
}

// listsOf returns the path of the queue whose access lists count for a queue's name or path, and whether there is one.
// For a missing queue whose path begins with root, those of the queues above it count, as in Hadoop.
func (q *placement) listsOf(name string) (path string, ok bool) {
	if name == "root" {
		return "", true
	}
	if path, whole := strings.CutPrefix(name, "root."); whole {
		return path, true
	}
	if path, ok = q.leaves.find(name); !ok {
		_, said := q.leaves.byPath[path]
		ok = said || q.made[path]
	}
	return path, ok
}

// said notes the access lists a of a queue, as a file has them. which says whether the file has the list for
// submitting and the one for administering. A list that the file does not have is empty, or, for the root, everybody.
func (q *Queues) said(path string, a QueueAccess, which [2]bool) {
	if which == [2]bool{} {
		return
	}
	if path == "" && !which[0] {
		a.Submit = ACL{Everybody: true}
	}
	if path == "" && !which[1] {
		a.Administer = ACL{Everybody: true}
	}
	if q.Access == nil {
		q.Access = map[string]QueueAccess{}
	}
	q.Access[path] = a
}

// submits and administers return the list of a queue for submitting, and the one for administering.
func submits(a QueueAccess) ACL { return a.Submit }

func administers(a QueueAccess) ACL { return a.Administer }
