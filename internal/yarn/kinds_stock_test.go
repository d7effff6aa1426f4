package yarn

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// TestStockGPUs runs distributed shell, whose containers ask for a GPU each, on a stock NodeManager that has two by its
// configuration: two of the three run, then the third.
func TestStockGPUs(t *testing.T) {
	whole(t)
	s := newStock(t)
	const has = "yarn.nodemanager.resource-type."
	s.more = map[string]string{has + gpuKind: "2", has + "disk": "8Gi"}
	kinds := map[string]string{kindsName: gpuKind + ",disk", kindsName + ".disk.units": "Mi"}
	for _, conf := range []string{"conf", "conf-node0"} {
		s.writeXML(s.dir+"/"+conf+"/"+kindsFile, kinds)
	}
	s.serveVerb("fifo")
	s.addNodes(1)
	node := func() wire.NodeReport {
		var r wire.NodesResponse
		if err := s.call("getClusterNodes", &wire.NodesRequest{}, &r); err != nil || len(r.Reports) != 1 {
			t.Fatalf("nodes: %+v, %v", r, err)
		}
		return r.Reports[0]
	}
	if got, want := node().Capacity.Others, gpus(2)+disk("Mi", 8192); got != want {
		t.Errorf("the node has %q, want %q", got, want)
	}
	shell := func(resources, command string) (string, error) {
		return s.try(shellClient, "-jar", s.shellJar(), "-shell_command", command, "-num_containers", "3",
			"-master_memory", "256", "-container_resources", resources)
	}
	s.part("three containers of a GPU", func(s *stock) {
		ctx, cancel := context.WithCancel(context.Background())
		most := make(chan int64)
		go func() {
			n := int64(0)
			for ctx.Err() == nil {
				for a := range node().Used.Others.All() {
					if a.Kind == gpuKind {
						n = max(n, a.Value)
					}
				}
				time.Sleep(200 * time.Millisecond)
			}
			most <- n
		}()
		out, err := shell("memory-mb=256,vcores=1,yarn.io/gpu=1,disk=1Gi", "sleep 3")
		cancel()
		if n := <-most; err != nil || !strings.Contains(out, "Application completed successfully") || n != 2 {
			s.t.Errorf("%d GPUs were used at once, want 2; distributed shell: %v\n%s", n, err, out)
		}
		if used := node().Used.Others; used != "" {
			s.t.Errorf("after the end %q is used", used)
		}
	})
}
