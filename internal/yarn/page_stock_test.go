package yarn

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStockPage lets a browser look at the page of `sojourn rm` while stock Hadoop counts words on one NodeManager.
// What the browser must find is in internal/web.
func TestStockPage(t *testing.T) {
	whole(t)
	s := newStock(t)
	const look = "TestStockHadoopInBrowser"
	looker := filepath.Join(s.dir, "web.test")
	if out, err := exec.Command("go", "test", "-c", "-o", looker, "../web").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.choosePorts()
	s.writeScheduler("0.5")
	s.serveVerb("capacity", "--record", filepath.Join(s.dir, "rm.rec"))
	s.addNodes(1)
	cmd := exec.CommandContext(t.Context(), looker, "-test.v", "-test.run", look, "-page", "http://"+s.at.Web,
		fmt.Sprint("-rewrite=", *rewrite))
	cmd.Dir = "../web"
	ended := make(chan string, 1)
	go func() {
		out, err := cmd.CombinedOutput()
		if err != nil {
			out = append(out, err.Error()...)
		}
		ended <- string(out)
	}()
	s.wordCount(2, 1)
	switch out := <-ended; {
	case strings.Contains(out, "--- SKIP: "+look):
		t.Skip(out)
	case !strings.Contains(out, "--- PASS: "+look):
		t.Error(out)
	}
}
