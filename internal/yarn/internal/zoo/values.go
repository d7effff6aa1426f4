package zoo

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/store"
)

// Values are named values below a node. They are a store.Keeper. ZooKeeper takes requests of 1 MiB at most, so a batch
// is written in several requests. All values of one thing, whose names are alike after their first slash, are in one
// request. A value that is larger than partSize has several parts, and the first part is written last.
//
//	ROOT/fence           is written once by each process that takes the values over. Each later request checks its
//	                     version, so a process that was replaced writes nothing, however long its requests took.
//	ROOT/values/00 to 3f hold the values, by a hash of the thing's name, so that no list of names is long
//	     NAME            checksum, number of parts, the first part
//	     NAME,1 ...      further parts
type Values struct {
	session *Session
	root    string
	version int32          // of the fence, since this one took it
	parts   map[string]int // that each value has, by its name
	unsure  bool           // the last request may have been carried out or not
}

const (
	folders  = 64        // of values
	partSize = 256 << 10 // bytes of a part; a request has at most three times as many
	mostOps  = 500       // of a request
	readers  = 32        // requests on their way at a time while all is taken over
	headSize = 2 * crc32.Size
	schema   = "2" // what the root node says of how values are kept; since "1" an application's attempts are kept apart
)

// Take takes the values below a node over, and returns them by name. From then on no process that took them before can
// write them. owner, the name of this process, is stored in the fence for operators. A value that is damaged is an
// error, which names its node.
func (s *Session) Take(root, owner string) (*Values, map[string][]byte, error) {
	v := &Values{session: s, root: root, parts: map[string]int{}}
	if err := each(v.folders(), s.makeAll); err != nil {
		return nil, nil, err
	}
	if err := v.checkSchema(); err != nil {
		return nil, nil, err
	}
	if err := s.makeAll(v.fence()); err != nil {
		return nil, nil, err
	}
	stat, err := s.conn.Set(v.fence(), []byte(owner), -1)
	if err != nil {
		return nil, nil, fmt.Errorf("take %s over: %w", root, err)
	}
	v.version = stat.Version
	found, err := v.readAll()
	return v, found, err
}

// checkSchema refuses values of a newer program. Values of an older one can be read, and get this program's schema.
func (v *Values) checkSchema() error {
	said, _, err := v.session.conn.Get(v.root)
	if err != nil {
		return fmt.Errorf("read %s: %w", v.root, err)
	}
	switch {
	case len(said) == 0, string(said) == "1":
		if _, err := v.session.conn.Set(v.root, []byte(schema), -1); err != nil {
			return fmt.Errorf("write %s: %w", v.root, err)
		}
	case string(said) != schema:
		return fmt.Errorf("%s in ZooKeeper: has schema %.20q, and this program knows %s: start the newer program",
			v.root, said, schema)
	}
	return nil
}

func (v *Values) fence() string       { return path.Join(v.root, "fence") }
func (v *Values) folder(i int) string { return path.Join(v.root, "values", fmt.Sprintf("%02x", i)) }

// folders returns the nodes below which values are.
func (v *Values) folders() (all []string) {
	for i := range folders {
		all = append(all, v.folder(i))
	}
	return all
}

// thing is what a value belongs to.
func thing(name string) string {
	_, rest, found := strings.Cut(name, "/")
	if !found {
		return name
	}
	return rest
}

// node is where a part of a value is; part 0 is the first. No name has a comma when it is escaped.
func (v *Values) node(name string, part int) string {
	hash := crc32.ChecksumIEEE([]byte(thing(name)))
	node := path.Join(v.folder(int(hash%folders)), url.PathEscape(name))
	if part > 0 {
		node += "," + strconv.Itoa(part)
	}
	return node
}

// readAll reads the values. Parts without a first one, which a crash has left, are deleted.
func (v *Values) readAll() (map[string][]byte, error) {
	var firsts, rests []string // nodes
	var mu sync.Mutex
	err := each(v.folders(), func(folder string) error {
		names, _, err := v.session.conn.Children(folder)
		if err != nil {
			return fmt.Errorf("list %s: %w", folder, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, name := range names {
			if node := path.Join(folder, name); strings.Contains(name, ",") {
				rests = append(rests, node)
			} else {
				firsts = append(firsts, node)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	err = each(firsts, func(node string) error {
		name, err := url.PathUnescape(path.Base(node))
		if err != nil {
			return fmt.Errorf("%s in ZooKeeper: %w: delete what no ResourceManager has written", node, err)
		}
		parts, value, err := v.read(name)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		found[name], v.parts[name] = value, parts
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, each(rests, func(node string) error {
		escaped, number, _ := strings.Cut(path.Base(node), ",")
		name, err := url.PathUnescape(escaped)
		part, odd := strconv.Atoi(number)
		if err == nil && odd == nil && part < v.parts[name] {
			return nil
		}
		if err := v.session.conn.Delete(node, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return fmt.Errorf("delete %s: %w", node, err)
		}
		return nil
	})
}

// each calls do for every node, by readers goroutines, and returns the first error of each goroutine.
func each(nodes []string, do func(node string) error) error {
	work, errs := make(chan string), make([]error, readers)
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() {
			for node := range work {
				errs[i] = cmp.Or(errs[i], do(node))
			}
		})
	}
	for _, node := range nodes {
		work <- node
	}
	close(work)
	all.Wait()
	return errors.Join(errs...)
}

// read reads one value.
func (v *Values) read(name string) (parts int, value []byte, err error) {
	first, _, err := v.session.conn.Get(v.node(name, 0))
	if err != nil {
		return 0, nil, fmt.Errorf("read %s: %w", v.node(name, 0), err)
	}
	damaged := fmt.Errorf("%s in ZooKeeper is damaged: delete it to go on without it", v.node(name, 0))
	if len(first) < headSize {
		return 0, nil, damaged
	}
	sum, more := binary.BigEndian.Uint32(first), binary.BigEndian.Uint32(first[crc32.Size:])
	value, parts = first[headSize:], 1
	for ; parts < int(more); parts++ {
		next, _, err := v.session.conn.Get(v.node(name, parts))
		if errors.Is(err, zk.ErrNoNode) {
			return 0, nil, damaged
		} else if err != nil {
			return 0, nil, fmt.Errorf("read %s: %w", v.node(name, parts), err)
		}
		value = append(value, next...)
	}
	if crc32.ChecksumIEEE(value) != sum {
		return 0, nil, damaged
	}
	return parts, value, nil
}

// Close does nothing: the session is its owner's to close.
func (v *Values) Close() error { return nil }

// Commit implements store.Keeper. If the outcome of the last request is not known, it first looks up which parts of the
// values there are.
func (v *Values) Commit(batch map[string][]byte) error {
	names := slices.SortedFunc(maps.Keys(batch), func(a, b string) int {
		return cmp.Or(cmp.Compare(thing(a), thing(b)), cmp.Compare(a, b))
	})
	if v.unsure {
		if err := v.lookUp(names); err != nil {
			return err
		}
		v.unsure = false
	}
	r := request{to: v}
	for i, name := range names {
		if i > 0 && thing(name) != thing(names[i-1]) && (r.size > partSize || len(r.ops) > mostOps) {
			if err := r.send(); err != nil {
				return err
			}
		}
		if batch[name] == nil {
			r.remove(name, 0)
		} else if err := r.write(name, batch[name]); err != nil {
			return err
		}
	}
	return r.send()
}

// lookUp finds out which parts of values there are.
func (v *Values) lookUp(names []string) error {
	for _, name := range names {
		parts := 0
		for {
			there, _, err := v.session.conn.Exists(v.node(name, parts))
			if err != nil {
				return fmt.Errorf("look for %s: %w", v.node(name, parts), err)
			}
			if !there {
				break
			}
			parts++
		}
		v.parts[name] = parts
	}
	return nil
}

// A request is a number of changes that ZooKeeper carries out together.
type request struct {
	to    *Values
	ops   []any          // requests of the library
	size  int            // of values, in bytes
	parts map[string]int // how many parts each value has afterwards, by name
}

// set writes a part of a value, which is there or is not.
func (r *request) set(name string, part int, data []byte, there bool) {
	if node := r.to.node(name, part); there {
		r.ops = append(r.ops, &zk.SetDataRequest{Path: node, Data: data, Version: -1})
	} else {
		r.ops = append(r.ops, &zk.CreateRequest{Path: node, Data: data, Acl: r.to.session.acl})
	}
	r.size += len(data)
}

// remove deletes the parts of a value from number from on, in order.
func (r *request) remove(name string, from int) {
	for part := from; part < r.to.parts[name]; part++ {
		r.ops = append(r.ops, &zk.DeleteRequest{Path: r.to.node(name, part), Version: -1})
	}
	r.have(name, from)
}

// have notes how many parts a value has after the request.
func (r *request) have(name string, parts int) {
	if r.parts == nil {
		r.parts = map[string]int{}
	}
	r.parts[name] = parts
}

// write adds a value. It sends the parts of a large value after the first in requests of their own, at once.
func (r *request) write(name string, value []byte) error {
	parts := max(1, (len(value)+partSize-1)/partSize)
	for part := parts - 1; part > 0; part-- {
		own := request{to: r.to}
		there, _, err := r.to.session.conn.Exists(r.to.node(name, part))
		if err != nil {
			return fmt.Errorf("look for %s: %w", r.to.node(name, part), err)
		}
		own.set(name, part, value[part*partSize:min(len(value), (part+1)*partSize)], there)
		if err := own.send(); err != nil {
			return err
		}
	}
	head := make([]byte, 0, headSize+min(len(value), partSize))
	head = binary.BigEndian.AppendUint32(head, crc32.ChecksumIEEE(value))
	head = binary.BigEndian.AppendUint32(head, uint32(parts))
	r.set(name, 0, append(head, value[:min(len(value), partSize)]...), r.to.parts[name] > 0)
	r.remove(name, parts)
	return nil
}

// send sends the request. The error is store.ErrTaken if another process has taken the values over.
func (r *request) send() error {
	if len(r.ops) == 0 {
		return nil
	}
	v := r.to
	v.unsure = true
	ops := append([]any{&zk.CheckVersionRequest{Path: v.fence(), Version: v.version}}, r.ops...)
	results, err := v.session.conn.Multi(ops...)
	if len(results) > 0 && errors.Is(results[0].Error, zk.ErrBadVersion) || errors.Is(err, zk.ErrBadVersion) {
		return fmt.Errorf("%s: %w", v.fence(), store.ErrTaken)
	}
	for _, one := range results {
		err = cmp.Or(err, one.Error)
	}
	if err != nil {
		return fmt.Errorf("write to %s: %w", v.root, err)
	}
	v.unsure = false
	for name, parts := range r.parts {
		if v.parts[name] = parts; parts == 0 {
			delete(v.parts, name)
		}
	}
	r.ops, r.size, r.parts = nil, 0, nil
	return nil
}
