package yarn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/sojourn-sched/sojourn/internal/safefile"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/hadoopstore"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/store"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/zoo"
)

// How the state of Hadoop's ResourceManager becomes this one's, and the other way round, while neither runs. The state
// that is made is the one that an earlier life of the next ResourceManager would have left. So that ResourceManager
// starts as after a restart: nodes register again with what they run, and ApplicationMasters go on, because the next
// ResourceManager knows the key that signed their tokens.

// TakeOver makes a state to start from out of the store of Hadoop's ResourceManager. It does not change that store. The
// state goes to a file, or with config.Kept.HA to ZooKeeper, where no ResourceManager may be active. There must be no
// state yet. Applications that run must be in one of the configured queues, or in one that users may create.
func TakeOver(ctx context.Context, from HadoopStore, config Config, file string) (moved Moved, err error) {
	to, err := config.home(ctx, file)
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	found, err := to.read()
	if err != nil {
		return moved, err
	}
	if found[nameKeys] != nil {
		return moved, fmt.Errorf("%s: holds the state of a ResourceManager: move it away", to.name)
	}
	s, err := from.read(ctx, config.Log)
	if err != nil {
		return moved, err
	}
	p, moved, err := fromHadoop(s, config.Queues, config.Sizes.withDefaults())
	if err != nil {
		return moved, err
	}
	moved.To = to.name
	values := p.values()
	for name := range found { // what was cut short
		if values[name] == nil {
			values[name] = nil
		}
	}
	return moved, to.write(values)
}

// HandOver makes the store of Hadoop's ResourceManager out of the state, which it reads where TakeOver would put it.
// Then it puts the state away, so that no ResourceManager starts from it. A store that is in the folder already stays
// beside the new one; a store in ZooKeeper is replaced. If HandOver is cut short, it may be called again.
func HandOver(ctx context.Context, to HadoopStore, config Config, file string) (moved Moved, err error) {
	from, err := config.home(ctx, file)
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	values, err := from.read()
	if err != nil {
		return moved, err
	}
	p, err := readPast(values)
	if err == nil {
		err = p.whole()
	}
	if err != nil {
		return moved, fmt.Errorf("%s: %w", from.name, err)
	}
	if p.keys == nil {
		return moved, fmt.Errorf("%s: holds no state of a ResourceManager", from.name)
	}
	s, moved := p.toHadoop()
	moved.To = to.name()
	if moved.Before, err = to.write(ctx, config.Log, s); err != nil {
		return moved, err
	}
	moved.Aside, err = from.retire(values)
	return moved, err
}

// dialPatience is how long place waits for the answer of a ResourceManager that should have ended.
const dialPatience = 2 * time.Second

// zooPatience is how long a whole call waits for ZooKeeper, and for the lock of a ResourceManager that has just ended.
const zooPatience = 30 * time.Second

func (h HadoopStore) name() string {
	if h.ZooKeeper == nil {
		return h.Folder
	}
	return "ZooKeeper, " + h.Parent
}

// read reads the state of Hadoop's ResourceManager.
func (h HadoopStore) read(ctx context.Context, log *slog.Logger) (s *hadoopstore.State, err error) {
	if h.ZooKeeper == nil {
		return hadoopstore.Read(h.Folder)
	}
	err = h.with(ctx, log, func(nodes *zoo.Session) (err error) {
		s, err = hadoopstore.ReadNodes(nodes, h.Parent)
		return err
	})
	return s, err
}

// write writes the state of Hadoop's ResourceManager. before is where the store is now that was there; "": there was
// none, or it was replaced.
func (h HadoopStore) write(ctx context.Context, log *slog.Logger, s *hadoopstore.State) (before string, err error) {
	if h.ZooKeeper == nil {
		return hadoopstore.Write(h.Folder, s)
	}
	return "", h.with(ctx, log, func(nodes *zoo.Session) error { return hadoopstore.WriteNodes(nodes, h.Parent, s) })
}

// with calls do in a session with ZooKeeper.
func (h HadoopStore) with(ctx context.Context, log *slog.Logger, do func(*zoo.Session) error) error {
	ctx, cancel := context.WithTimeout(ctx, zooPatience)
	defer cancel()
	servers := zoo.Servers{Addresses: h.ZooKeeper, Timeout: usualSession, User: h.User, Log: log}
	session, err := zoo.Connect(ctx, servers)
	if err != nil {
		return err
	}
	defer session.Close()
	return do(session)
}

// A home is where this ResourceManager's state is while none runs.
type home struct {
	wholeState
	name  string
	close func() error
}

// A wholeState is a state that is read and written as a whole.
type wholeState interface {
	read() (map[string][]byte, error)
	write(values map[string][]byte) error                      // nil: to be deleted
	retire(values map[string][]byte) (aside string, err error) // aside: where it is now; "": it is deleted
}

// home returns where the state is: in a file, or in ZooKeeper. In ZooKeeper it takes the lock. A ResourceManager that
// answers operators, Hadoop's or this project's, is an error.
func (c *Config) home(ctx context.Context, file string) (*home, error) {
	if at := c.Addresses.Admin; at != "" {
		if conn, err := (&net.Dialer{Timeout: dialPatience}).DialContext(ctx, "tcp", at); err == nil {
			return nil, errors.Join(fmt.Errorf("a ResourceManager runs: operators are answered at %s "+
				"(yarn.resourcemanager.admin.address): stop it first", at), conn.Close())
		}
	}
	h := c.Kept.HA
	if h == nil {
		f := &inFile{path: file}
		return &home{f, file, f.close}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, zooPatience)
	defer cancel()
	session, err := zoo.Connect(ctx, zoo.Servers{Addresses: h.ZooKeeper, Timeout: h.Timeout, User: h.User, Log: c.Log})
	if err != nil {
		return nil, err
	}
	own, active := wire.ActiveManager{Cluster: h.Cluster, ID: h.ID}, wire.ActiveManager{}
	lease, err := session.Acquire(ctx, h.Lock, own.Append(nil), func(holder []byte) {
		_ = active.Decode(holder) // what cannot be read has no ID
	})
	if errors.Is(err, context.DeadlineExceeded) && active.ID != "" {
		err = fmt.Errorf("ResourceManager %s is active: stop all of them first", active.ID)
	}
	if err != nil {
		session.Close()
		return nil, err
	}
	return &home{
		&inNodes{session: session, root: h.State, owner: h.ID},
		"ZooKeeper, " + h.State,
		func() error { lease.Release(); return nil },
	}, nil
}

// An inFile is a state in a file. From the first use to close no ResourceManager can open it.
type inFile struct {
	path  string
	store *store.Store // nil: not opened; its Close says why it cannot be written
}

func (f *inFile) open() (found map[string][]byte, err error) {
	opened, err := store.Open(f.path, func(error) {})
	if err != nil {
		return nil, err
	}
	f.store = opened.Store
	if opened.Aside != "" {
		return nil, errors.Join(fmt.Errorf("%s was damaged, and is now %s: %w", f.path, opened.Aside, opened.Damage),
			f.close(), os.Remove(f.path))
	}
	return opened.Values, nil
}

func (f *inFile) close() (err error) {
	if f.store != nil {
		err = f.store.Close()
		f.store = nil
	}
	return err
}

// read returns nothing if there is no file.
func (f *inFile) read() (map[string][]byte, error) {
	if _, err := os.Lstat(f.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f.open()
}

// write makes the file, if there is none. All values are there, or none are.
func (f *inFile) write(values map[string][]byte) error {
	if f.store == nil {
		if _, err := f.open(); err != nil {
			return err
		}
	}
	f.store.Put(values)
	if err := f.close(); err != nil {
		return errors.Join(err, os.Remove(f.path))
	}
	return nil
}

func (f *inFile) retire(map[string][]byte) (aside string, err error) {
	aside = fmt.Sprintf("%s.handed-over-%d", f.path, time.Now().UnixNano())
	if err := os.Rename(f.path, aside); err != nil {
		return aside, err
	}
	return aside, safefile.Sync(filepath.Dir(f.path))
}

// An inNodes is a state in ZooKeeper.
type inNodes struct {
	session     *zoo.Session
	root, owner string
	to          *zoo.Values // set by read
}

func (n *inNodes) read() (found map[string][]byte, err error) {
	n.to, found, err = n.session.Take(n.root, n.owner)
	return found, err
}

// write writes life and keys last. No ResourceManager starts from a state without keys, and take-over may replace it.
func (n *inNodes) write(values map[string][]byte) error {
	rest, last := map[string][]byte{}, map[string][]byte{}
	for name, value := range values {
		if name == nameKeys || name == nameLife {
			last[name] = value
		} else {
			rest[name] = value
		}
	}
	if err := n.to.Commit(rest); err != nil {
		return err
	}
	return n.to.Commit(last)
}

// retire deletes life and keys first.
func (n *inNodes) retire(values map[string][]byte) (aside string, err error) {
	if err := n.to.Commit(map[string][]byte{nameKeys: nil, nameLife: nil}); err != nil {
		return "", err
	}
	rest := map[string][]byte{}
	for name := range values {
		if name != nameKeys && name != nameLife {
			rest[name] = nil
		}
	}
	return "", n.to.Commit(rest)
}
