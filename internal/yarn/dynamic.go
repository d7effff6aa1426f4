package yarn

import (
	"errors"
	"net"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// dynamicFile is the file of a cluster's folder with sizes of nodes, which are taken instead of those that nodes say:
//
//	yarn.resource.dynamic.nodes = n1:45454,n2:45454     host and port of NodeManagers
//	yarn.resource.dynamic.n1:45454.memory = 16384       MiB; 8192 where nothing is said, as in Hadoop
//	yarn.resource.dynamic.n1:45454.vcores = 16          8 where nothing is said
const dynamicFile = "dynamic-resources.xml"

// Where dynamicFile names a node and not its size, Hadoop takes the defaults of NodeManagers.
const dynamicMemory, dynamicCores = 8192, 8

// nodeSizes reads dynamicFile of a folder: sizes by host:port. A folder without the file says nothing.
func nodeSizes(dir string) (sizes map[string]wire.Resource, err error) {
	const prefix = "yarn.resource.dynamic."
	p, _, err := readProperties(dir, dynamicFile)
	if err != nil {
		return nil, err
	}
	for node := range strings.SplitSeq(p.text(prefix+"nodes", ""), ",") {
		if node = strings.TrimSpace(node); node == "" {
			continue
		}
		if _, port, err := net.SplitHostPort(node); err != nil || port == "" {
			p.fail(prefix+"nodes", "hosts with ports, separated by commas, such as n1:45454")
			continue
		}
		memory, said := p.number(prefix+node+".memory", span{0, mostNodeMemory})
		if !said {
			memory = dynamicMemory
		}
		cores, said := p.number(prefix+node+".vcores", span{0, mostNodeCores})
		if !said {
			cores = dynamicCores
		}
		if over := p.text(prefix+node+".overcommittimeout", "-1"); over != "-1" {
			p.fail(prefix+node+".overcommittimeout", "-1: what runs on a node that shrinks ends by itself")
		}
		if sizes == nil {
			sizes = map[string]wire.Resource{}
		}
		sizes[node] = wire.Resource{Memory: memory, VCores: int32(cores)}
	}
	return sizes, errors.Join(p.wrong...)
}

// sizeOf returns the size that dynamicFile says for a node, else what the node says. Of other kinds than memory and
// cores it is always what the node says.
func (t *nodeTable) sizeOf(id wire.NodeID, said wire.Resource) wire.Resource {
	if size, set := t.sizes[id.String()]; set {
		size.Others = said.Others
		return size
	}
	return said
}

// refreshSizes takes in the sizes of nodes. Nodes that are here have them at once, and are told with their next
// heartbeat; what runs where it does not fit any more ends by itself.
func (o admin) refreshSizes(r Refreshed) {
	o.m.nodes.sizes = r.Nodes
	for _, n := range o.m.nodes.list {
		if to := o.m.nodes.sizeOf(n.id, n.capacity); n.here() && to != n.capacity {
			n.sizes.own = &to
			n.resize(to)
			o.m.log.Info("node resized", "node", n.name, "memory", to.Memory, "vcores", to.VCores)
		}
	}
}
