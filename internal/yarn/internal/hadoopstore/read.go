package hadoopstore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/safefile"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// The names of folders and files.
const (
	rootName      = "FSRMStateRoot"
	versionName   = "RMVersionNode"
	epochName     = "EpochNode"
	appsName      = "RMAppRoot"
	keysFolder    = "AMRMTokenSecretManagerRoot"
	keysName      = "AMRMTokenSecretManagerNode"
	usersFolder   = "RMDTSecretManagerRoot"
	keyPrefix     = "DelegationKey_"
	tokenPrefix   = "RMDelegationToken_"
	lastPrefix    = "RMDTSequenceNumber_"
	appPrefix     = "application_"
	attemptPrefix = "appattempt_"
)

// major and minor are the version that is written. Stores of the same major version are read. While a store is written
// in the place of another one, unfinished is its major version.
const major, minor, unfinished = 1, 3, 0

// mostFile bounds a file. Hadoop's ResourceManager takes no message that is longer.
const mostFile = 128 << 20

// mostAttempts bounds the numbers of attempts.
const mostAttempts = 1 << 16

// Root returns the folder of a store: dir itself or the one in it, as yarn.resourcemanager.fs.state-store.uri has it.
func Root(dir string) string {
	if filepath.Base(dir) == rootName {
		return dir
	}
	return filepath.Join(dir, rootName)
}

// Apps returns the folder of applications of a store.
func Apps(dir string) string { return filepath.Join(Root(dir), appsName) }

// Read reads the store in a folder, in the form of yarn.resourcemanager.fs.state-store.uri: the folder that has
// FSRMStateRoot in it, or that one. Nothing is changed: what Hadoop would remove or rename is read as if it had. Errors
// name the file.
func Read(dir string) (*State, error) {
	r := &reader{from: folder(Root(dir))}
	err := r.begin("the folder of yarn.resourcemanager.fs.state-store.uri, or a copy of it")
	if err == nil {
		_, err = r.message(path.Join(keysFolder, keysName), &r.state.Keys)
	}
	if err == nil {
		err = r.each(usersFolder, r.user)
	}
	if err == nil {
		err = r.each(appsName, func(at, name string) error { return r.app(path.Join(at, name), at, name) })
	}
	return r.end(err)
}

// A source is what a store is in: files by their paths below it.
type source interface {
	// list returns the names below a folder. A folder that is missing is empty.
	list(path string) ([]string, error)
	// read returns what is in a file, or an error that is fs.ErrNotExist.
	read(path string) ([]byte, error)
	// name names a file in errors.
	name(path string) string
}

// A reader reads a state.
type reader struct {
	from  source
	state State
}

// begin reads version and epoch. If there is no version, the error says that the source must be what.
func (r *reader) begin(what string) error {
	var v version
	if there, err := r.message(versionName, &v); err != nil {
		return err
	} else if !there {
		return fmt.Errorf("%s: has no %s: must be %s", r.from.name(""), versionName, what)
	}
	if v.Major == unfinished {
		return fmt.Errorf("%s: the store is not whole: `sojourn rm hand-over` was cut short: run it again",
			r.from.name(versionName))
	}
	if v.Major != major {
		return fmt.Errorf("%s: version %d.%d, must be %d.x", r.from.name(versionName), v.Major, v.Minor, major)
	}
	var e epoch
	if _, err := r.message(epochName, &e); err != nil {
		return err
	}
	if r.state.Epoch = e.Epoch; e.Epoch < 0 || e.Epoch >= 1<<(63-wire.EpochShift) {
		return fmt.Errorf("%s: epoch %d, must be from 0 to %d", r.from.name(epochName), e.Epoch,
			1<<(63-wire.EpochShift)-1)
	}
	return nil
}

// end returns the state, in order.
func (r *reader) end(err error) (*State, error) {
	if err != nil {
		return nil, err
	}
	s := &r.state
	s.Apps = lastOnly(s.Apps, func(a *App) wire.ApplicationID { return a.Submission.ID })
	s.Tokens = lastOnly(s.Tokens, func(t *DelegationToken) string { return string(t.Identifier) })
	slices.SortStableFunc(s.Apps, func(a, b App) int {
		x, y := a.Submission.ID, b.Submission.ID
		return cmp.Or(cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(x.Timestamp, y.Timestamp),
			cmp.Compare(x.ID, y.ID))
	})
	slices.SortFunc(s.Users, func(a, b DelegationKey) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Tokens, func(a, b DelegationToken) int { return bytes.Compare(a.Identifier, b.Identifier) })
	return s, nil
}

// lastOnly returns a list with the last of the elements that have the same key, each where the first one was. It reuses
// the memory of list. In ZooKeeper an application or a token may be both under its whole name and under a split one:
// Hadoop reads all places in the order of reader.split, and the last one counts.
func lastOnly[E any, K comparable](list []E, key func(*E) K) []E {
	at, kept := map[K]int{}, list[:0]
	for i := range list {
		k := key(&list[i])
		if n, again := at[k]; again {
			kept[n] = list[i]
			continue
		}
		at[k] = len(kept)
		kept = append(kept, list[i])
	}
	return kept
}

// each calls do for what is in a folder, with its path and its name.
func (r *reader) each(folder string, do func(path, name string) error) error {
	names, err := r.from.list(folder)
	for i := 0; i < len(names) && err == nil; i++ {
		err = do(path.Join(folder, names[i]), names[i])
	}
	return err
}

// app reads the application of that name from a file, and its attempts from a folder. If the file is missing, there is
// no application: Hadoop had just begun to write it, or to remove it.
func (r *reader) app(file, folder, name string) error {
	if !strings.HasPrefix(name, appPrefix) {
		return nil
	}
	app := App{}
	if there, err := r.message(file, &app.Application); err != nil || !there {
		return err
	}
	if id := app.Submission.ID.String(); id != name {
		return fmt.Errorf("%s: is of %s", r.from.name(file), id)
	}
	if app.User == "" {
		return fmt.Errorf("%s: has no user", r.from.name(file))
	}
	err := r.each(folder, func(at, name string) error {
		if !strings.HasPrefix(name, attemptPrefix) {
			return nil
		}
		var a Attempt
		if err := r.listed(at, &a); err != nil {
			return err
		}
		if a.ID.String() != name || a.ID.App != app.Submission.ID {
			return fmt.Errorf("%s: is of %s", r.from.name(at), a.ID)
		}
		app.Attempts = append(app.Attempts, a)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(app.Attempts, func(a, b Attempt) int { return cmp.Compare(a.ID.Attempt, b.ID.Attempt) })
	for i := range app.Attempts {
		if number := app.Attempts[i].ID.Attempt; number < 1 || number > mostAttempts {
			return fmt.Errorf("%s: %s: attempts must be within 1 and %d", r.from.name(folder), app.Attempts[i].ID,
				mostAttempts)
		}
	}
	if app.State != 0 {
		app.Submission.DropLaunchExceptACLs()
	}
	r.state.Apps = append(r.state.Apps, app)
	return nil
}

// user reads a key of delegation tokens, a delegation token, or the number of the last one, as the name says.
func (r *reader) user(at, name string) error {
	s := &r.state
	prefix, digits, _ := strings.Cut(name, "_")
	switch prefix += "_"; prefix {
	case lastPrefix, keyPrefix, tokenPrefix:
	default:
		return nil
	}
	number, err := strconv.ParseInt(digits, 10, 32) // names in ZooKeeper that are split may begin with zeros
	if err != nil {
		return fmt.Errorf("%s: does not end with a number of 32 bits: remove it, and run this again", r.from.name(at))
	}
	switch prefix {
	case lastPrefix:
		s.Last = max(s.Last, int32(number))
	case keyPrefix:
		text, err := r.content(at)
		if err != nil {
			return err
		}
		key, err := readKey(text)
		if err != nil {
			return fmt.Errorf("%s: %w", r.from.name(at), err)
		}
		if int64(key.ID) != number {
			return fmt.Errorf("%s: is of key %d", r.from.name(at), key.ID)
		}
		s.Users = append(s.Users, key)
	case tokenPrefix:
		var one DelegationToken
		if err := r.listed(at, &one); err != nil {
			return err
		}
		id, err := one.ID()
		if err != nil {
			return fmt.Errorf("%s: %w", r.from.name(at), err)
		}
		if int64(id.Sequence) != number {
			return fmt.Errorf("%s: is of token %d", r.from.name(at), id.Sequence)
		}
		s.Tokens = append(s.Tokens, one)
		s.Last = max(s.Last, id.Sequence)
	}
	return nil
}

// message reads a message from a file, and reports whether the file is there.
func (r *reader) message(at string, m proto.Described) (there bool, err error) {
	text, err := r.from.read(at)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, r.decode(at, text, m)
}

// listed reads a message from a file that must be there, and must not be empty.
func (r *reader) listed(at string, m proto.Described) error {
	text, err := r.content(at)
	if err != nil {
		return err
	}
	return r.decode(at, text, m)
}

// decode decodes the message that is the text of a file.
func (r *reader) decode(at string, text []byte, m proto.Described) error {
	if err := proto.Decode(text, m); err != nil {
		return fmt.Errorf("%s: %w", r.from.name(at), err)
	}
	return nil
}

// content reads a file that must be there, and must not be empty.
func (r *reader) content(at string) ([]byte, error) {
	text, err := r.from.read(at)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return nil, fmt.Errorf("%s: is empty: remove it, and run this again", r.from.name(at))
	}
	return text, err
}

// readKey reads a DelegationKey: the ID, the expiry, and the key after its length.
func readKey(b []byte) (key DelegationKey, err error) {
	var all [3]int64
	for i := range all {
		v, n, err := token.ReadVInt(b)
		if err != nil {
			return key, err
		}
		all[i], b = v, b[n:]
	}
	id, expires, length := all[0], all[1], all[2]
	if id != int64(int32(id)) || length < 0 || length != int64(len(b)) {
		return key, fmt.Errorf("key %d has %d bytes, and %d follow", id, length, len(b))
	}
	return DelegationKey{wire.MasterKey{ID: int32(id), Key: slices.Clone(b)}, expires}, nil
}

// A folder is a store in files.
type folder string

func (f folder) name(at string) string { return filepath.Join(string(f), filepath.FromSlash(at)) }

// list returns the names of files as Hadoop would have them after a start, in order: NAME for NAME.new, and nothing for
// NAME.tmp and checksums.
func (f folder) list(at string) (names []string, err error) {
	entries, err := os.ReadDir(f.name(at))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".tmp") {
			names = append(names, strings.TrimSuffix(name, ".new"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// read reads a file, or the one that was to replace it.
func (f folder) read(at string) ([]byte, error) {
	name := f.name(at)
	if _, err := os.Stat(name + ".new"); err == nil {
		name += ".new"
	}
	return safefile.Read(name, mostFile)
}
