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
// request. A value that is larger than partSize has several parts. The first part, its head, is written last. The other
// parts never take the place of parts that the present head names, so a value is whole at any time, whenever the
// process ends: there are two places for parts, and a head says in which one its parts are. The request that writes a
// head deletes the parts of the head before. If the values of one thing are too large for one request, none of their
// bytes are in the heads, so the request that writes all the heads is small.
//
//	ROOT/fence           is written once by each process that takes the values over. Each later request checks its
//	                     version, so a process that was replaced writes nothing, however long its requests took.
//	ROOT/values/00 to 3f hold the values, by a hash of the thing's name, so that no list of names is long
//	     NAME            the head: checksum, number of parts and their place, the first part
//	     NAME,1 ...      further parts in the first place
//	     NAME,1,b ...    further parts in the second place
type Values struct {
	session *Session
	root    string
	version int32            // of the fence, since this one took it
	parts   map[string]parts // of each value, by its name
	unsure  bool             // the last request may have been carried out or not
}

// parts are the parts of a value. The zero parts are of a value that is not there.
type parts struct {
	count  int  // with the head
	second bool // those after the head are in the second place
}

// inSecond is set in a head's number of parts if they are in the second place.
const inSecond = 1 << 31

// encode returns the parts as a head says them.
func (p parts) encode() uint32 {
	if p.second {
		return uint32(p.count) | inSecond
	}
	return uint32(p.count)
}

// partsOf returns the parts that a head says.
func partsOf(head []byte) (p parts, ok bool) {
	if len(head) < headSize {
		return parts{}, false
	}
	said := binary.BigEndian.Uint32(head[crc32.Size:])
	return parts{max(1, int(said&^inSecond)), said&inSecond != 0}, true
}

const (
	folders  = 64        // of values
	partSize = 256 << 10 // bytes of a part
	mostHeld = 512 << 10 // bytes in the heads of one thing's values
	mostSize = 768 << 10 // bytes of a request for several things
	mostOps  = 500       // of a request for several things
	opSize   = 256       // bytes of an operation beside its node's name and its data, with an access list: at most
	readers  = 32        // requests on their way at a time while all is taken over
	headSize = 2 * crc32.Size
	// schema is what the root node says of how values are kept. Since "1" an application's attempts are kept apart.
	// Since "2" parts have two places: an older program would delete those in the second one.
	schema = "3"
)

// Take takes the values below a node over, and returns them by name. From then on no process that took them before can
// write them. owner, the name of this process, is stored in the fence for operators. A value that is damaged is an
// error, which names its node.
func (s *Session) Take(root, owner string) (*Values, map[string][]byte, error) {
	v := &Values{session: s, root: root, parts: map[string]parts{}}
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
	said, stat, err := v.session.conn.Get(v.root)
	if err != nil {
		return fmt.Errorf("read %s: %w", v.root, err)
	}
	switch {
	case len(said) == 0, string(said) == "1", string(said) == "2":
		if _, err := v.session.conn.Set(v.root, []byte(schema), stat.Version); err != nil {
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

// head is the node of a value's head. No name has a comma when it is escaped.
func (v *Values) head(name string) string {
	hash := crc32.ChecksumIEEE([]byte(thing(name)))
	return path.Join(v.folder(int(hash%folders)), url.PathEscape(name))
}

// node is the node of a part of a value; part 0 is the head. second: of a part in the second place.
func (v *Values) node(name string, part int, second bool) string {
	node := v.head(name)
	if part > 0 {
		node += "," + strconv.Itoa(part)
		if second {
			node += ",b"
		}
	}
	return node
}

// readAll reads the values. It deletes parts that no head names, which a crash has left.
func (v *Values) readAll() (map[string][]byte, error) {
	var heads, rests []string // nodes
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
				heads = append(heads, node)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	err = each(heads, func(node string) error {
		name, err := url.PathUnescape(path.Base(node))
		if err != nil {
			return fmt.Errorf("%s in ZooKeeper: %w: delete what no ResourceManager has written", node, err)
		}
		has, value, err := v.read(name)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		found[name], v.parts[name] = value, has
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, v.sweep(rests)
}

// sweep deletes those of the nodes that are parts which no head names.
func (v *Values) sweep(nodes []string) error {
	named := map[string]bool{}
	for name, has := range v.parts {
		for part := 1; part < has.count; part++ {
			named[v.node(name, part, has.second)] = true
		}
	}
	r := request{to: v}
	for _, node := range nodes {
		if named[node] {
			continue
		}
		one := request{to: v}
		one.delete(node)
		if err := r.add(one); err != nil {
			return err
		}
	}
	return r.send()
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
func (v *Values) read(name string) (has parts, value []byte, err error) {
	head, _, err := v.session.conn.Get(v.head(name))
	if err != nil {
		return has, nil, fmt.Errorf("read %s: %w", v.head(name), err)
	}
	damaged := fmt.Errorf("%s in ZooKeeper is damaged: delete it to go on without it", v.head(name))
	has, ok := partsOf(head)
	if !ok {
		return has, nil, damaged
	}
	value = head[headSize:]
	for part := 1; part < has.count; part++ {
		node := v.node(name, part, has.second)
		next, _, err := v.session.conn.Get(node)
		if errors.Is(err, zk.ErrNoNode) {
			return has, nil, damaged
		} else if err != nil {
			return has, nil, fmt.Errorf("read %s: %w", node, err)
		}
		value = append(value, next...)
	}
	if crc32.ChecksumIEEE(value) != binary.BigEndian.Uint32(head) {
		return has, nil, damaged
	}
	return has, value, nil
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
	for len(names) > 0 {
		n := together(names, batch)
		one, err := v.changes(names[:n], batch)
		if err != nil {
			return err
		}
		if err := r.add(one); err != nil {
			return err
		}
		names = names[n:]
	}
	return r.send()
}

// together returns how many of the names, from the first on, one request changes: all those that belong to the thing of
// the first one. If all of them are deleted, it returns mostOps at most.
func together(names []string, batch map[string][]byte) int {
	n, deleted := 0, true
	for n < len(names) && thing(names[n]) == thing(names[0]) {
		deleted = deleted && batch[names[n]] == nil
		n++
	}
	if deleted {
		return min(n, mostOps)
	}
	return n
}

// changes returns the request that changes the values of one thing as batch says: it writes the heads. The parts after
// the heads are sent at once, in requests of their own.
func (v *Values) changes(names []string, batch map[string][]byte) (request, error) {
	r, held, inHead := request{to: v}, 0, partSize
	for _, name := range names {
		held += min(len(batch[name]), partSize)
	}
	if held > mostHeld {
		inHead = 0
	}
	for _, name := range names {
		if batch[name] == nil {
			r.remove(name)
		} else if err := r.write(name, batch[name], inHead); err != nil {
			return r, err
		}
	}
	return r, nil
}

// lookUp finds out which parts of values there are. It first waits until the server has all that the leader has: a
// server that lags would say what was there before the request whose outcome is not known.
func (v *Values) lookUp(names []string) error {
	if _, err := v.session.conn.Sync(v.root); err != nil {
		return fmt.Errorf("wait for the leader of ZooKeeper: %w", err)
	}
	for _, name := range names {
		head, _, err := v.session.conn.Get(v.head(name))
		if errors.Is(err, zk.ErrNoNode) {
			delete(v.parts, name)
			continue
		}
		if err != nil {
			return fmt.Errorf("look for %s: %w", v.head(name), err)
		}
		has, ok := partsOf(head)
		if !ok {
			has = parts{count: 1}
		}
		v.parts[name] = has
	}
	return nil
}

// A request is a number of changes that ZooKeeper carries out together.
type request struct {
	to    *Values
	ops   []any            // requests of the library
	size  int              // upper bound, in bytes
	parts map[string]parts // of each value afterwards, by name
}

// set writes a node, which is there or is not.
func (r *request) set(node string, data []byte, there bool) {
	if there {
		r.ops = append(r.ops, &zk.SetDataRequest{Path: node, Data: data, Version: -1})
	} else {
		r.ops = append(r.ops, &zk.CreateRequest{Path: node, Data: data, Acl: r.to.session.acl})
	}
	r.size += opSize + len(node) + len(data)
}

// delete deletes a node, which is there.
func (r *request) delete(node string) {
	r.ops = append(r.ops, &zk.DeleteRequest{Path: node, Version: -1})
	r.size += opSize + len(node)
}

// add adds the changes of one thing. It sends the changes before them at once, if both together are too large.
func (r *request) add(one request) error {
	if r.size+one.size > mostSize || len(r.ops)+len(one.ops) > mostOps {
		if err := r.send(); err != nil {
			return err
		}
	}
	r.ops, r.size = append(r.ops, one.ops...), r.size+one.size
	for name, has := range one.parts {
		r.have(name, has)
	}
	return nil
}

// remove deletes a value, if it is there.
func (r *request) remove(name string) {
	r.drop(name, 0)
	r.have(name, parts{})
}

// drop deletes the parts that a value has, from number from on.
func (r *request) drop(name string, from int) {
	has := r.to.parts[name]
	for part := from; part < has.count; part++ {
		r.delete(r.to.node(name, part, has.second))
	}
}

// have notes which parts a value has after the request.
func (r *request) have(name string, has parts) {
	if r.parts == nil {
		r.parts = map[string]parts{}
	}
	r.parts[name] = has
}

// write adds a value, with its first inHead bytes in the head. It sends the parts after the head at once, in requests
// of their own, to the place where the present head has none.
func (r *request) write(name string, value []byte, inHead int) error {
	first, rest := value[:min(len(value), inHead)], value[min(len(value), inHead):]
	had, has := r.to.parts[name], parts{count: 1 + (len(rest)+partSize-1)/partSize}
	has.second = has.count > 1 && had.count > 1 && !had.second
	for part := has.count - 1; part > 0; part-- {
		own, node := request{to: r.to}, r.to.node(name, part, has.second)
		there, _, err := r.to.session.conn.Exists(node)
		if err != nil {
			return fmt.Errorf("look for %s: %w", node, err)
		}
		own.set(node, rest[(part-1)*partSize:min(len(rest), part*partSize)], there)
		if err := own.send(); err != nil {
			return err
		}
	}
	head := make([]byte, 0, headSize+len(first))
	head = binary.BigEndian.AppendUint32(head, crc32.ChecksumIEEE(value))
	head = binary.BigEndian.AppendUint32(head, has.encode())
	r.set(r.to.head(name), append(head, first...), had.count > 0)
	r.drop(name, 1)
	r.have(name, has)
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
	for name, has := range r.parts {
		if v.parts[name] = has; has.count == 0 {
			delete(v.parts, name)
		}
	}
	r.ops, r.size, r.parts = nil, 0, nil
	return nil
}
