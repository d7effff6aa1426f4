package cli

import (
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var snake = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// keysOf calls each with the keys of all objects in a value.
func keysOf(v any, each func(key string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			each(k)
			keysOf(inner, each)
		}
	case []any:
		for _, inner := range v {
			keysOf(inner, each)
		}
	}
}

// All keys of documents are in snake case, those too that name kinds of resources and metrics: one spelling a quantity.
func TestKeysOfDocuments(t *testing.T) {
	dir := t.TempDir()
	jobs := writeFile(t, "jobs.yaml", "jobs:\n"+
		"  - {name: a, deadline: 30s, maps: {count: 4, time: 10s}, reduces: {count: 1, time: 5s}}\n"+
		"  - {name: b, submit: 1s, deadline: 20s, maps: {count: 4, time: 10s}}\n")
	a, b := filepath.Join(dir, "a.rec"), filepath.Join(dir, "b.rec")
	var docs []string
	for path, policy := range map[string]string{a: "flex:metric=max-lateness", b: "fifo"} {
		docs = append(docs, must(t, "sim", "--trace", jobs, "--cluster", "nodes=1,map-slots=2,reduce-slots=1", "--json",
			"--record", path, "--policy", policy))
	}
	for _, args := range [][]string{
		{"record", "summary", a, "--json"}, {"record", "diff", a, b, "--json"}, {"record", "events", a, "--json"},
		{"record", "explain", b, "2", "--at", "12s", "--json"}, {"record", "fairness", a, "--json"},
		{"workload", "show", jobs, "--json"}, {"fluid", "--trace", jobs, "--json"}, {"policies", "--json"},
		{"jobs", "--json"},
	} {
		docs = append(docs, must(t, args...))
	}
	seen := map[string]bool{}
	for _, doc := range docs {
		for d := json.NewDecoder(strings.NewReader(doc)); ; {
			var v any
			if err := d.Decode(&v); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v: %s", err, doc)
			}
			keysOf(v, func(key string) {
				if seen[key] = true; !snake.MatchString(key) {
					t.Errorf("key %q is not in snake case: %.200s", key, doc)
				}
			})
		}
	}
	for _, key := range []string{"map_slots", "max_lateness_s", "avg_stretch", "sojourn_s", "since_s", "at_s",
		"input_bytes", "last_submit_s"} {
		if !seen[key] {
			t.Errorf("no document has the key %s", key)
		}
	}
}
