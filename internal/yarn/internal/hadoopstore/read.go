package hadoopstore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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

// major and minor are the version that is written. Stores of the same major version are read.
const major, minor = 1, 3

// mostFile bounds a file. Hadoop's ResourceManager takes no message that is longer.
const mostFile = 128 << 20

// Root returns the folder of a store: dir itself or the one in it, as yarn.resourcemanager.fs.state-store.uri has it.
func Root(dir string) string {
	if filepath.Base(dir) == rootName {
		return dir
	}
	return filepath.Join(dir, rootName)
}

// Read reads the store in a folder, in the form of yarn.resourcemanager.fs.state-store.uri: the folder that has
// FSRMStateRoot in it, or that one. Nothing is changed: what Hadoop would remove or rename is read as if it had. Errors
// name the file.
func Read(dir string) (*State, error) {
	root := Root(dir)
	v, s := version{}, &State{}
	if there, err := readMessage(filepath.Join(root, versionName), &v); err != nil {
		return nil, err
	} else if !there {
		return nil, fmt.Errorf("%s: has no %s: must be the folder of yarn.resourcemanager.fs.state-store.uri, "+
			"or a copy of it", root, versionName)
	}
	if v.Major != major {
		return nil, fmt.Errorf("%s: version %d.%d, must be %d.x", filepath.Join(root, versionName), v.Major, v.Minor,
			major)
	}
	var e epoch
	if _, err := readMessage(filepath.Join(root, epochName), &e); err != nil {
		return nil, err
	}
	if s.Epoch = e.Epoch; e.Epoch < 0 || e.Epoch >= 1<<(63-wire.EpochShift) {
		return nil, fmt.Errorf("%s: epoch %d, must be from 0 to %d", filepath.Join(root, epochName), e.Epoch,
			1<<(63-wire.EpochShift)-1)
	}
	if _, err := readMessage(filepath.Join(root, keysFolder, keysName), &s.Keys); err != nil {
		return nil, err
	}
	return s, errors.Join(s.readUsers(filepath.Join(root, usersFolder)), s.readApps(filepath.Join(root, appsName)))
}

// readApps reads the applications and their attempts.
func (s *State) readApps(dir string) error {
	folders, err := list(dir)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if !strings.HasPrefix(folder, appPrefix) {
			continue
		}
		app, err := readApp(filepath.Join(dir, folder), folder)
		if err != nil {
			return err
		}
		if app != nil {
			s.Apps = append(s.Apps, *app)
		}
	}
	slices.SortStableFunc(s.Apps, func(a, b App) int {
		x, y := a.Submission.ID, b.Submission.ID
		return cmp.Or(cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(x.Timestamp, y.Timestamp),
			cmp.Compare(x.ID, y.ID))
	})
	return nil
}

// readApp reads the folder of an application; nil: there is nothing of it in the folder, because Hadoop had just begun
// to write or to remove it.
func readApp(dir, name string) (*App, error) {
	app := &App{}
	path := filepath.Join(dir, name)
	there, err := readMessage(path, &app.Application)
	if err != nil || !there {
		return nil, err
	}
	if id := app.Submission.ID.String(); id != name {
		return nil, fmt.Errorf("%s: is of %s", path, id)
	}
	if app.User == "" {
		return nil, fmt.Errorf("%s: has no user", path)
	}
	files, err := list(dir)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if !strings.HasPrefix(file, attemptPrefix) {
			continue
		}
		var a Attempt
		path := filepath.Join(dir, file)
		if _, err := readMessage(path, &a); err != nil {
			return nil, err
		}
		if a.ID.String() != file || a.ID.App != app.Submission.ID {
			return nil, fmt.Errorf("%s: is of %s", path, a.ID)
		}
		app.Attempts = append(app.Attempts, a)
	}
	slices.SortFunc(app.Attempts, func(a, b Attempt) int { return cmp.Compare(a.ID.Attempt, b.ID.Attempt) })
	for i, a := range app.Attempts {
		if want := int32(i + 1); a.ID.Attempt != want {
			return nil, fmt.Errorf("%s: attempt %d is missing, and there is %s", dir, want, a.ID)
		}
	}
	return app, nil
}

// readUsers reads the keys and the delegation tokens of users.
func (s *State) readUsers(dir string) error {
	files, err := list(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		path := filepath.Join(dir, file)
		switch {
		case strings.HasPrefix(file, lastPrefix):
			last, err := strconv.ParseInt(strings.TrimPrefix(file, lastPrefix), 10, 32)
			if err != nil {
				return fmt.Errorf("%s: does not end with a number of 32 bits", path)
			}
			s.Last = max(s.Last, int32(last))
		case strings.HasPrefix(file, keyPrefix):
			text, err := read(path)
			if err != nil {
				return err
			}
			key, err := readKey(text)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if file != keyPrefix+fmt.Sprint(key.ID) {
				return fmt.Errorf("%s: is of key %d", path, key.ID)
			}
			s.Users = append(s.Users, key)
		case strings.HasPrefix(file, tokenPrefix):
			var one DelegationToken
			if _, err := readMessage(path, &one); err != nil {
				return err
			}
			id, err := one.ID()
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if file != tokenPrefix+fmt.Sprint(id.Sequence) {
				return fmt.Errorf("%s: is of token %d", path, id.Sequence)
			}
			s.Tokens = append(s.Tokens, one)
			s.Last = max(s.Last, id.Sequence)
		}
	}
	slices.SortFunc(s.Users, func(a, b DelegationKey) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Tokens, func(a, b DelegationToken) int { return bytes.Compare(a.Identifier, b.Identifier) })
	return nil
}

// readKey reads a DelegationKey: ID, expiry and the key after its length, or -1.
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

// list returns the names of files in a folder as Hadoop would have them after a start, in order: NAME for NAME.new, and
// nothing for NAME.tmp and checksums. A folder that is missing is empty.
func list(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
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

// readMessage reads a message from a file, and reports whether the file is there.
func readMessage(path string, m proto.Described) (there bool, err error) {
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := proto.Decode(text, m); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

// read reads a file, or the one that was to replace it.
func read(path string) ([]byte, error) {
	newer := path + ".new"
	if _, err := os.Stat(newer); err == nil {
		path = newer
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostFile {
		return nil, fmt.Errorf("%s: must be a file of up to %d MiB", path, mostFile>>20)
	}
	return os.ReadFile(path)
}
