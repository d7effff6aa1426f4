package run

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/record"
)

// A header whose cluster cannot be read is an error wherever the cluster is needed, and not a cluster of nodes of
// speed 1. A record without a cluster is none: its engine was told of no cluster.
func TestClusterOfHeader(t *testing.T) {
	const sound = `{"classes":[{"name":"c","count":1,"racks":1,"speed":2,"resources":{"vcores":1}}]}`
	for text, says := range map[string]string{
		"":                                       "",
		`null`:                                   "",
		`[]`:                                     "header, cluster: json: cannot unmarshal array",
		sound:                                    "",
		`{"classes":[{"name":"c","speed":"2"}]}`: "header, cluster: json: cannot unmarshal string",
	} {
		h := record.Header{Engine: Simulator.Name, Policy: "fifo", Payload: Payload.Name,
			Cluster: json.RawMessage(text)}
		path := filepath.Join(t.TempDir(), "run.rec")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := record.NewWriter(f, h, record.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		_, asked := Recorded(&h)
		_, listed := PastJobs(path, nil, nil, nil)
		for what, err := range map[string]error{"figures": asked, "jobs": listed} {
			if (err != nil) != (says != "") ||
				err != nil && (!errors.Is(err, record.ErrFormat) || !strings.Contains(err.Error(), says)) {
				t.Errorf("cluster %s, %s: error %v, want one that says %q", text, what, err, says)
			}
		}
		if listed != nil && !strings.Contains(listed.Error(), path) {
			t.Errorf("%v: the file is not named", listed)
		}
	}
}
