package yarn

import (
	"errors"
	"iter"
	"log/slog"
	"os/user"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// Access says who may do what. The owner of an application and the administrators may always see and change it.
type Access struct {
	// Lists says whether the access lists of queues and applications apply (yarn.acl.enable). If not, every user may
	// submit to every queue and see every application.
	Lists bool
	// Admins administer the cluster (yarn.admin.acl), besides the user that this process runs as.
	Admins ACL
	// Groups returns the groups of a user; nil: those of the operating system. A call may take a while. Answers are
	// kept for a few minutes.
	Groups func(user string) ([]string, error)
	// Superusers may act for others.
	Superusers Superusers
	// Reread reads Admins, Superusers and MostPriority again; nil: they do not change.
	Reread func() (Refreshed, error)
	// Audit logs each operation of a user as a line; nil: Config.Log does.
	Audit *slog.Logger
}

// An ACL says who may do something: everybody, or users by name and members of groups. The zero ACL is empty.
type ACL struct {
	Everybody     bool
	Users, Groups []string
}

// with returns the list with one more user.
func (a ACL) with(user string) ACL {
	a.Users = append([]string{user}, a.Users...)
	return a
}

// has reports whether a user, or one of the groups of the user, is on the list.
func (a ACL) has(user string, groups []string) bool {
	return a.Everybody || slices.Contains(a.Users, user) ||
		slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(a.Groups, g) })
}

// parseACL reads an access list in Hadoop's form: users, a space, groups. Names are separated by commas. "*" as users
// or as groups means everybody. A text that begins with a space has groups only. Names of groups may contain spaces, as
// in directories.
func parseACL(text string) ACL {
	users, groups, everybody := splitACL(text)
	if everybody {
		return ACL{Everybody: true}
	}
	return ACL{Users: slices.Collect(namesIn(users)), Groups: slices.Collect(namesIn(groups))}
}

// splitACL splits an access list in Hadoop's form into its users and its groups. everybody: it means everybody.
func splitACL(text string) (users, groups string, everybody bool) {
	users, groups, _ = strings.Cut(text, " ")
	return users, groups, strings.TrimSpace(users) == "*" || strings.TrimSpace(groups) == "*"
}

// namesIn yields the names of a list of users or groups.
func namesIn(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range strings.FieldsFuncSeq(list, separates) {
			if name = strings.TrimSpace(name); name != "" && !yield(name) {
				return
			}
		}
	}
}

// separates reports whether r stands between two names of a list.
func separates(r rune) bool { return r == ',' || r == '\n' }

// isNamed reports whether name is one of the names that namesIn yields of list. It looks only at the parts of the list
// in which the text of the name is: most lists have none, and a search for a text takes a hundredth of the time that
// reading all names takes. O(length of list).
func isNamed(list, name string) bool {
	for name != "" {
		at := strings.Index(list, name)
		if at < 0 {
			return false
		}
		start, end := at, at
		for start > 0 && !separates(rune(list[start-1])) {
			start--
		}
		for end < len(list) && !separates(rune(list[end])) {
			end++
		}
		if strings.TrimSpace(list[start:end]) == name {
			return true
		}
		list = list[min(end+1, len(list)):]
	}
	return false
}

// An accessList is an access list of an application, in the form that parseACL reads. It is kept as its user wrote it,
// and read at each use: parsed lists of many short names take ten times as much memory.
type accessList string

// has reports whether a user, or one of the groups of the user, is on the list. O(length of the list) for the user and
// for each group.
func (l accessList) has(user string, groups []string) bool {
	users, named, everybody := splitACL(string(l))
	return everybody || isNamed(users, user) ||
		slices.ContainsFunc(groups, func(g string) bool { return isNamed(named, g) })
}

// A QueueAccess says who may submit to a queue and to the queues below it, and who may administer them. Administrators
// may also submit.
type QueueAccess struct{ Submit, Administer ACL }

// Superusers are the users who may act for other users, by name (hadoop.proxyuser.NAME.hosts, .users and .groups), such
// as Oozie's or Livy's.
type Superusers map[string]Superuser

// A Superuser says for which users a superuser may act, and from which hosts.
type Superuser struct {
	For   ACL
	Hosts []string // addresses, ranges of addresses as 10.0.0.0/8, or names; * is everywhere
}

// A Refreshed is the part of the configuration that operators' refresh commands read again.
type Refreshed struct {
	Admins       ACL
	Superusers   Superusers
	MostPriority int32
	Nodes        map[string]wire.Resource // sizes of nodes by host:port
}

// mostAccess is the greatest length of an application's access lists, in bytes. The application is remembered with
// them.
const mostAccess = 16 << 10

// accessOf reads the access lists with which an application was submitted: who may view it, and who may modify it. It
// returns them by type, and their length in bytes. It stops reading when that is above mostAccess.
func accessOf(lists []wire.ACL) (access map[int32]accessList, length int) {
	for _, l := range lists {
		if length += len(l.Users); length > mostAccess {
			break
		}
		if l.Type != wire.ViewApp && l.Type != wire.ModifyApp {
			continue
		}
		if access == nil {
			access = map[int32]accessList{}
		}
		access[l.Type] = accessList(l.Users)
	}
	return access, length
}

// Limits of the cache of groups.
const (
	groupsKept = 5 * time.Minute // how long an answer is kept, as by Hadoop's default
	mostUsers  = 100_000         // users whose groups are kept
)

// A groupTable caches the groups of users. Many goroutines may use it. Callers' goroutines ask the operating system
// outside of turns, so that the owner of the state never waits for it.
type groupTable struct {
	log *logbook
	ask func(user string) ([]string, error)

	wanted atomic.Bool // groups matter: a list names one, or may
	mu     sync.Mutex
	known  map[string]membership // by user
}

// A membership is the groups of a user, and until when they need not be asked for again.
type membership struct {
	groups []string
	until  time.Time
}

// newGroupTable returns an empty cache.
func newGroupTable(a *Access, log *logbook) *groupTable {
	t := &groupTable{log: log, ask: a.Groups, known: map[string]membership{}}
	t.wanted.Store(a.Lists || len(a.Admins.Groups) > 0)
	return t
}

// of returns the cached groups of a user.
func (t *groupTable) of(user string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[user].groups
}

// learn asks for the groups of a user if they are not cached, or too old. After an error the user keeps the groups of
// before.
func (t *groupTable) learn(user string, now time.Time) error {
	if !wellNamed(user) {
		return nil
	}
	t.mu.Lock()
	had := t.known[user]
	t.mu.Unlock()
	if now.Before(had.until) {
		return nil
	}
	groups, err := t.ask(user)
	if err != nil {
		groups = had.groups
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= mostUsers {
		clear(t.known) // they can be asked again
	}
	t.known[user] = membership{groups, now.Add(groupsKept)}
	return err
}

// meet learns the groups of a calling user, if groups matter for what users may do. It may wait for the operating
// system, so it is called outside of turns.
func (t *groupTable) meet(user string) {
	if t.wanted.Load() {
		t.lookUp(user)
	}
}

// lookUp learns the groups of a user whether or not groups matter for others. Like meet it may wait.
func (t *groupTable) lookUp(user string) {
	if err := t.learn(user, time.Now()); err != nil {
		t.log.refused("groups not known", "user", cut(user, mostName), "why", err)
	}
}

// forget drops the cached groups of all users, so that the next look-up asks again.
func (t *groupTable) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.known)
}

// systemGroups returns the groups of a user by the operating system. A user that the system does not know has none.
func systemGroups(name string) (groups []string, err error) {
	u, err := user.Lookup(name)
	if errors.As(err, new(user.UnknownUserError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	for _, id := range ids {
		if g, err := user.LookupGroupId(id); err == nil {
			groups = append(groups, g.Name)
		}
	}
	return groups, err
}

// staticGroups returns a function that returns the groups of a user: those that text names, as in "ana=etl,ops;bo=;"
// (hadoop.user.group.static.mapping.overrides), and for all other users what otherwise returns. It returns false if
// text cannot be read.
func staticGroups(text string, otherwise func(string) ([]string, error)) (func(string) ([]string, error), bool) {
	said := map[string][]string{}
	for one := range strings.SplitSeq(text, ";") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		name, groups, ok := strings.Cut(one, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, false
		}
		said[name] = parseACL(" " + groups).Groups
	}
	return func(user string) ([]string, error) {
		if groups, ok := said[user]; ok {
			return groups, nil
		}
		return otherwise(user)
	}, true
}
