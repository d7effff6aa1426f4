package hadoopstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sojourn-sched/sojourn/internal/safefile"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
)

// Write writes a store into a folder, for Hadoop's ResourceManager to start from: all of it or nothing. A store that is
// there stays beside it, under the name that Write returns; "": there was none. After Write has returned, the store
// survives a power cut. Where the file system cannot exchange folders and the process is killed at the end, there may
// be no store: call Write again.
func Write(dir string, s *State) (before string, err error) {
	root := Root(dir)
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(filepath.Dir(root), ".sojourn-")
	if err != nil {
		return "", err
	}
	err = s.write(made)
	if err == nil {
		err = syncTree(made)
	}
	if err == nil {
		err = safefile.MoveFolder(made, root, true)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(made))
	}
	for i := 1; ; i++ {
		before = fmt.Sprintf("%s.before-%d", root, i)
		if _, err := os.Lstat(before); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	switch err := os.Rename(made, before); { // the name of what was there, by now
	case errors.Is(err, fs.ErrNotExist):
		before = ""
	case err != nil:
		return "", err
	}
	return before, safefile.Sync(filepath.Dir(root))
}

// syncTree waits until a folder and all that is in it would survive a power cut.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = safefile.Sync(path)
		}
		return err
	})
}

// write writes the files of the store into a folder.
func (s *State) write(root string) error {
	files := map[string][]byte{
		versionName: proto.Append(nil, &version{major, minor}),
		epochName:   proto.Append(nil, &epoch{s.Epoch}),
		filepath.Join(usersFolder, lastPrefix+fmt.Sprint(s.Last)): {},
	}
	if s.Keys.Current != nil {
		files[filepath.Join(keysFolder, keysName)] = s.Keys.Append(nil)
	}
	for i := range s.Users {
		files[filepath.Join(usersFolder, keyPrefix+fmt.Sprint(s.Users[i].ID))] = appendKey(nil, &s.Users[i])
	}
	for i := range s.Tokens {
		one := &s.Tokens[i]
		id, err := one.ID()
		if err != nil {
			return fmt.Errorf("delegation token %x: %w", one.Identifier, err)
		}
		files[filepath.Join(usersFolder, tokenPrefix+fmt.Sprint(id.Sequence))] = one.Append(nil)
	}
	for i := range s.Apps {
		app := &s.Apps[i]
		name := app.Submission.ID.String()
		files[filepath.Join(appsName, name, name)] = app.Append(nil)
		for k := range app.Attempts {
			a := &app.Attempts[k]
			files[filepath.Join(appsName, name, a.ID.String())] = a.Append(nil)
		}
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// appendKey is the inverse of readKey.
func appendKey(b []byte, key *DelegationKey) []byte {
	for _, v := range []int64{int64(key.ID), key.Expires, int64(len(key.Key))} {
		b = token.AppendVInt(b, v)
	}
	return append(b, key.Key...)
}
