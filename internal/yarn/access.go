package yarn

import (
	"errors"
	"log/slog"
	"os/user"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// Access says who may do what. Who an application belongs to and who administers the cluster may always see and change
// it.
type Access struct {
	// Lists is whether the access lists of queues and of applications count (yarn.acl.enable). Where they do not,
	// everybody may submit to every queue and see every application.
	Lists bool
	// Admins administer the cluster (yarn.admin.acl), beside the user that this process runs as.
	Admins ACL
	// Groups tells the groups of a user; nil: those of the operating system. It may take a while, and is asked again
	// when its answer is a few minutes old.
	Groups func(user string) ([]string, error)
	// Superusers may act for others.
	Superusers Superusers
	// Reread reads Admins, Superusers and MostPriority anew; nil: they do not change.
	Reread func() (Refreshed, error)
	// Audit logs what users do, a line each; nil: Config.Log does.
	Audit *slog.Logger
}

// with returns the list with one more user.
func (a ACL) with(user string) ACL {
	a.Users = append([]string{user}, a.Users...)
	return a
}

// An ACL says who may do something: everybody, or users by name and members of groups. The zero ACL is empty.
type ACL struct {
	Everybody     bool
	Users, Groups []string
}

// parseACL reads Hadoop's form: users, a space, groups, either separated by commas; * in the place of either is
// everybody. What begins with a space is groups alone. Names of groups may have spaces in them, as those of directories
// do.
func parseACL(text string) (a ACL) {
	users, groups, _ := strings.Cut(text, " ")
	if strings.TrimSpace(users) == "*" || strings.TrimSpace(groups) == "*" {
		return ACL{Everybody: true}
	}
	names := func(list string) (names []string) {
		for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == '\n' }) {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
		return names
	}
	return ACL{Users: names(users), Groups: names(groups)}
}

// A QueueAccess is who may use a queue and those below it. Who administers a queue may submit to it, too.
type QueueAccess struct{ Submit, Administer ACL }

// mostAccess bounds the access lists of an application, in bytes: they are kept as long as it is told of.
const mostAccess = 16 << 10

// accessOf reads the lists that an application was submitted with, of what there are lists of, and returns how long
// they are.
func accessOf(lists []wire.ACL) (access map[int32]ACL, length int) {
	for _, l := range lists {
		if length += len(l.Users); length > mostAccess {
			break
		}
		if l.Type != wire.ViewApp && l.Type != wire.ModifyApp {
			continue
		}
		if access == nil {
			access = map[int32]ACL{}
		}
		access[l.Type] = parseACL(l.Users)
	}
	return access, length
}

// How long groups are believed, by Hadoop's default, and of how many users.
const (
	groupsKept = 5 * time.Minute
	mostUsers  = 100_000
)

// A groupTable knows the groups of users. Many goroutines may use it: one that asks the system is not the owner,
// which waits for no answer.
type groupTable struct {
	log *logbook
	ask func(user string) ([]string, error)

	wanted atomic.Bool // a list names a group, or may
	mu     sync.Mutex
	known  map[string]membership
}

type membership struct {
	groups []string
	until  time.Time
}

func newGroupTable(a *Access, log *logbook) *groupTable {
	t := &groupTable{log: log, ask: a.Groups, known: map[string]membership{}}
	t.wanted.Store(a.Lists || len(a.Admins.Groups) > 0)
	return t
}

// of returns the groups of a user as far as they are known.
func (t *groupTable) of(user string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[user].groups
}

// learn asks for the groups of a user where they are not known, or not believed any more. Who cannot be asked about has
// those that he had.
func (t *groupTable) learn(user string, now time.Time) error {
	if !t.wanted.Load() || !wellNamed(user) {
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
		clear(t.known) // all can be asked again
	}
	t.known[user] = membership{groups, now.Add(groupsKept)}
	return err
}

// meet learns the groups of a calling user. It may wait for the operating system, so it is called outside of turns.
func (t *groupTable) meet(user string) {
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

// systemGroups tells the groups that the operating system has of a user; a user that it does not know is in none.
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

// staticGroups tells the groups of the users that a property names (hadoop.user.group.static.mapping.overrides):
// ana=etl,ops;bo=;, and asks otherwise for those of others.
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
