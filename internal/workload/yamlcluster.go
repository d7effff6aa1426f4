package workload

import (
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sojourn-sched/sojourn/sched"
)

// OpenCluster reads a cluster: the shorthand of ParseCluster where text has a "=" and names no file, else the YAML file
// at that path.
func OpenCluster(text string) (*Cluster, error) {
	f, err := os.Open(text)
	if err != nil {
		if strings.Contains(text, "=") {
			return ParseCluster(text)
		}
		return nil, fmt.Errorf("open cluster: %w (give a YAML file, or nodes=20,map-slots=3,reduce-slots=1)", err)
	}
	defer f.Close()
	return ReadCluster(text, f)
}

// ReadCluster reads a cluster from YAML; errors call it name. Racks and speed are 1 and the network is one of 1 Gbit/s
// a node and 10 Gbit/s a rack where nothing is said.
//
//	classes: [{name: fast, count: 20, racks: 2, speed: 1.5, resources: {memory: 8GiB, vcores: 4}}]
//	network: {node: 1Gbit, rack: 10Gbit}
//	queues: [{name: etl, weight: 2, min: 20%, max: {vcores: 40}, policy: fair, queues: []}]
func ReadCluster(name string, r io.Reader) (*Cluster, error) {
	c, err := readCluster(name, r)
	if err != nil {
		return nil, err
	}
	if err := c.validateGiven(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// readCluster reads a cluster file; any part of it may be missing.
func readCluster(name string, r io.Reader) (*Cluster, error) {
	in, err := open(name, r)
	if err != nil {
		return nil, err
	}
	defer in.close()
	text, err := io.ReadAll(io.LimitReader(in, pieceMax+1))
	if err != nil {
		return nil, in.broken(err)
	}
	if len(text) > pieceMax {
		return nil, in.at(0, 0, "is longer than %d MiB: not a cluster", pieceMax>>20)
	}
	y := &yamlText{in: in}
	root, err := y.parse(text, 1)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Network: DefaultNetwork}
	err = y.fields(root, "classes, network, queues", func(key string, v *yaml.Node) (_ bool, err error) {
		switch key {
		case "classes":
			err = y.items(v, func(v *yaml.Node) error {
				cl, err := y.class(v)
				c.Classes = append(c.Classes, cl)
				return err
			})
		case "network":
			err = y.network(v, &c.Network)
		case "queues":
			c.Queues, err = y.queueList(v, 0)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ReadQueues reads the queues of a cluster file in which nothing else need stand; errors call it name.
func ReadQueues(name string, r io.Reader) ([]*sched.QueueSpec, error) {
	c, err := readCluster(name, r)
	if err != nil {
		return nil, err
	}
	return c.Queues, nil
}

// class reads one class of nodes.
func (y *yamlText) class(n *yaml.Node) (Class, error) {
	cl := Class{Name: "node", Racks: 1, Speed: 1}
	err := y.fields(n, "name, count, racks, speed, resources", func(key string, v *yaml.Node) (_ bool, err error) {
		count := func(s string) (int32, error) { return parseCount(s, MaxNodes) }
		switch key {
		case "name":
			cl.Name, err = y.text(v)
		case "count":
			cl.Count, err = yamlValue(y, v, count)
		case "racks":
			cl.Racks, err = yamlValue(y, v, count)
		case "speed":
			cl.Speed, err = yamlValue(y, v, parseNumber)
		case "resources":
			cl.Resources, err = y.resources(v)
		default:
			return false, nil
		}
		return true, err
	})
	return cl, err
}

// network reads the bandwidths.
func (y *yamlText) network(n *yaml.Node, net *Network) error {
	return y.fields(n, "node, rack", func(key string, v *yaml.Node) (_ bool, err error) {
		switch key {
		case "node":
			net.Node, err = yamlValue(y, v, ParseRate)
		case "rack":
			net.Rack, err = yamlValue(y, v, ParseRate)
		default:
			return false, nil
		}
		return true, err
	})
}
