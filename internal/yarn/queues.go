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

// Queues is what a cluster's configuration says of its queues.
type Queues struct {
	Tree    []*sched.QueueSpec     // below the root; nil: one named default
	Stopped []string               // dotted paths below the root that take no new applications
	Rules   []Rule                 // where an application goes; nil: to the queue that it names
	Access  map[string]QueueAccess // by dotted path below the root, of those that have lists; "" is the root
}

// A Rule says where applications go: the first one that names a queue which is there, or may be made, decides.
type Rule struct {
	By     RuleKind
	Create bool   // a queue that is not there is made
	Final  bool   // where it is not, the application is refused, and no later rule is asked
	User   string // of ByDefault: the only user that it is for; "": all
	Queue  string // of ByDefault: its dotted path below the root
}

// RuleKind is what a rule goes by.
type RuleKind uint8

// The kinds of rules.
const (
	BySpecified RuleKind = iota // the queue that the application names, other than default
	ByUser                      // one named after its user
	ByDefault                   // always the same
	ByReject                    // none: the application is refused
)

// Specs returns what the core is told: a cluster whose configuration says nothing has one queue, named default.
func (q Queues) Specs() []*sched.QueueSpec {
	q.withDefaults()
	return q.Tree
}

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
	byName map[string][]string // paths of leaves
}

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

// find returns the path of the leaf that a name stands for: a path, or the last part of one that no other leaf has.
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

// mayCreate reports whether users may make a queue with a path: nothing on the way is a leaf, it is not too deep, and
// every part is a name.
func (t *leafTable) mayCreate(path string) bool {
	if _, there := t.byPath[path]; there || len(path) > mostDepth*(mostName+1) {
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

// A placement is where applications go.
type placement struct {
	Queues
	leaves leafTable
	made   map[string]bool // paths of queues that users have made, and of those above them: the core keeps all
}

// room reports whether a queue that mayCreate is there, or there are not too many for one more.
func (q *placement) room(path string) bool {
	return q.made[path] || len(q.made)+strings.Count(path, ".") < mostMade
}

// make notes that an application goes to a queue, which the core makes where no file says it.
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

// place returns the queue of an application of a user that names a queue, which may have to be made, or says why there
// is none.
func (q *placement) place(user, named string) (string, error) {
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
		case ok && slices.Contains(q.Stopped, found):
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

// What bounds queues.
const (
	mostDepth = 32     // levels below the root
	mostName  = 255    // bytes of a name, of a user's too
	mostMade  = 10_000 // queues that users make, with those above them
)

// nameRule says what wellNamed asks.
const nameRule = "1 to 255 bytes of UTF-8 without control characters"

// wellNamed reports whether a queue or a user may have a name: it goes into logs, pages and metrics.
func wellNamed(name string) bool {
	return name != "" && len(name) <= mostName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, unicode.IsControl)
}

// checkQueue reports, as what it must be, why a queue may not have a name; "": it may.
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

// allows reports whether a user with groups is on a queue's list, or on that of a queue above it. The root's list is
// everybody where no file says one, as in Hadoop, so lists below count only where the root's are said.
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

// said notes what a file says of who may use a queue: submit, administer. A list that it does not say is empty, and the
// root's everybody.
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

func submits(a QueueAccess) ACL { return a.Submit }

func administers(a QueueAccess) ACL { return a.Administer }
