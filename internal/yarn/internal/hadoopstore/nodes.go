package hadoopstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// The store in ZooKeeper, of ZKRMStateStore, has the same messages in nodes:
//
//	ZKRMStateRoot/RMVersionNode, EpochNode
//	ZKRMStateRoot/RMAppRoot/application_1_0001                            an application
//	ZKRMStateRoot/RMAppRoot/application_1_0001/appattempt_1_0001_000001   one of its attempts
//	ZKRMStateRoot/RMAppRoot/HIERARCHIES/2/application_1_00/01             an application, split 2 before its end
//	ZKRMStateRoot/AMRMTokenSecretManagerRoot                              keys of ApplicationMasters' tokens
//	ZKRMStateRoot/RMDTSecretManagerRoot/RMDTMasterKeysRoot/DelegationKey_7
//	ZKRMStateRoot/RMDTSecretManagerRoot/RMDelegationTokensRoot/RMDelegationToken_3
//	ZKRMStateRoot/RMDTSecretManagerRoot/RMDelegationTokensRoot/1/RMDelegationToken_000/3
//	ZKRMStateRoot/RMDTSecretManagerRoot/RMDTSequentialNumber              four bytes
const (
	nodesRoot     = "ZKRMStateRoot"
	splitApps     = "HIERARCHIES"
	userKeys      = "RMDTMasterKeysRoot"
	userTokens    = "RMDelegationTokensRoot"
	lastNode      = "RMDTSequentialNumber"
	mostSplit     = 4 // characters at the end of a name that are a node of their own
	lastNodeBytes = 4
	minorOfNodes  = 5             // of the version that is written
	mostNode      = 1<<20 - 1<<10 // bytes in a node, as ZooKeeper and Hadoop have it by default
)

// Nodes are nodes of ZooKeeper, for reading. Errors for nodes that are missing are fs.ErrNotExist.
type Nodes interface {
	Children(name string) ([]string, error)
	Get(name string) ([]byte, error)
}

// ReadNodes reads the store in ZooKeeper below a node, that of yarn.resourcemanager.zk-state-store.parent-path. Errors
// name the node.
func ReadNodes(nodes Nodes, parent string) (*State, error) {
	r := &reader{from: tree{nodes, path.Join(parent, nodesRoot)}}
	err := r.begin("where Hadoop's ResourceManager keeps its state, below " +
		"yarn.resourcemanager.zk-state-store.parent-path")
	if err == nil {
		_, err = r.message(keysFolder, &r.state.Keys)
	}
	if err == nil {
		err = r.each(path.Join(usersFolder, userKeys), r.user)
	}
	if err == nil {
		err = r.split(path.Join(usersFolder, userTokens), path.Join(usersFolder, userTokens), r.user)
	}
	if err == nil {
		err = r.last()
	}
	if err == nil {
		err = r.split(appsName, path.Join(appsName, splitApps),
			func(at, name string) error { return r.app(at, at, name) })
	}
	return r.end(err)
}

// A NodeWriter writes nodes of ZooKeeper.
type NodeWriter interface {
	// Put makes a node, and those above it that are missing. A node that is there gets another text.
	Put(name string, text []byte) error
	// Clear removes all nodes below a node, if it is there, but for one of its children.
	Clear(name, but string) error
}

// WriteNodes writes a store into ZooKeeper, for Hadoop's ResourceManager to start from, in the place of the one that is
// there. It may be called again if it fails. Meanwhile the version is one that Hadoop refuses: without any, Hadoop
// would start from a part of a store.
func WriteNodes(nodes NodeWriter, parent string, s *State) error {
	root := path.Join(parent, nodesRoot)
	type node struct {
		at   string
		text []byte
	}
	list := []node{}
	put := func(text []byte, at ...string) {
		list = append(list, node{path.Join(append([]string{root}, at...)...), text})
	}
	if s.Keys.Current != nil {
		put(s.Keys.Append(nil), keysFolder)
	}
	for i := range s.Users {
		put(appendKey(nil, &s.Users[i]), usersFolder, userKeys, fmt.Sprint(keyPrefix, s.Users[i].ID))
	}
	for i := range s.Tokens {
		id, err := s.Tokens[i].ID()
		if err != nil {
			return fmt.Errorf("delegation token %x: %w", s.Tokens[i].Identifier, err)
		}
		put(s.Tokens[i].Append(nil), usersFolder, userTokens, fmt.Sprint(tokenPrefix, id.Sequence))
	}
	put(binary.BigEndian.AppendUint32(nil, uint32(s.Last)), usersFolder, lastNode)
	for i := range s.Apps {
		app := &s.Apps[i]
		name := app.Submission.ID.String()
		put(app.Append(nil), appsName, name)
		for k := range app.Attempts {
			put(app.Attempts[k].Append(nil), appsName, name, app.Attempts[k].ID.String())
		}
	}
	put(proto.Append(nil, &epoch{s.Epoch}), epochName)
	put(proto.Append(nil, &version{major, minorOfNodes}), versionName)
	for _, n := range list {
		if len(n.text) > mostNode {
			return fmt.Errorf("ZooKeeper, %s: would have %d bytes, may have %d: end what is so large, or hand over to "+
				"a store in files", n.at, len(n.text), mostNode)
		}
	}
	err := nodes.Put(path.Join(root, versionName), proto.Append(nil, &version{Major: unfinished}))
	if err == nil {
		err = nodes.Clear(root, versionName)
	}
	for i := 0; i < len(list) && err == nil; i++ {
		err = nodes.Put(list[i].at, list[i].text)
	}
	return err
}

// split calls do for the nodes in whole, which have their whole names, and for the nodes below parts/1 to parts/4,
// where 1 to 4 characters at the end of a name are a node of their own.
func (r *reader) split(whole, parts string, do func(path, name string) error) error {
	err := r.each(whole, do)
	for i := 1; i <= mostSplit && err == nil; i++ {
		err = r.each(path.Join(parts, fmt.Sprint(i)), func(at, first string) error {
			return r.each(at, func(at, rest string) error { return do(at, first+rest) })
		})
	}
	return err
}

// last reads the number of the last delegation token.
func (r *reader) last() error {
	at := path.Join(usersFolder, lastNode)
	text, err := r.from.read(at)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(text) == 0:
	case err != nil:
		return err
	case len(text) != lastNodeBytes:
		return fmt.Errorf("%s: has %d bytes, must have %d", r.from.name(at), len(text), lastNodeBytes)
	default:
		r.state.Last = max(r.state.Last, int32(binary.BigEndian.Uint32(text)))
	}
	return nil
}

// A tree is a store in ZooKeeper.
type tree struct {
	nodes Nodes
	root  string
}

func (t tree) name(at string) string { return "ZooKeeper, " + path.Join(t.root, at) }

func (t tree) list(at string) ([]string, error) {
	names, err := t.nodes.Children(path.Join(t.root, at))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

func (t tree) read(at string) ([]byte, error) {
	text, err := t.nodes.Get(path.Join(t.root, at))
	if err == nil && len(text) == 0 && !strings.HasSuffix(at, lastNode) {
		return nil, fs.ErrNotExist // a node that was made, and has nothing in it yet
	}
	return text, err
}
