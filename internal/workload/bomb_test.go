package workload

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sojourn-sched/sojourn/internal/unpack/bomb"
)

// repeated returns the gzip stream of head, n times each, and tail, without holding the text.
func repeated(head, each string, n int, tail string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, head)
	block := strings.Repeat(each, max(1, (1<<20)/len(each)))
	for left := n * len(each); left > 0; left -= len(block) {
		fmt.Fprint(z, block[:min(left, len(block))])
	}
	fmt.Fprint(z, tail)
	z.Close()
	return b.Bytes()
}

// TestBombs reads small files that stand for more than a machine holds: each is refused in a sentence, in little
// memory.
func TestBombs(t *testing.T) {
	const listed = "jobs:\n- {name: a, maps: {times: &a ["
	far := 1 << 27
	for _, b := range []struct {
		name string
		data func() []byte
		want string
	}{
		// nesting
		{"yaml/flow", text("jobs: " + strings.Repeat("[", 100_000)), "trace:1: is not YAML: exceeded max depth"},
		{"yaml/flow packed", packed("jobs: ", "[", 100_000, ""), "trace:1: is not YAML: exceeded max depth"},
		{"yaml/braces", text("jobs:\n- " + strings.Repeat("{a: ", 100_000)),
			"trace:2: is not YAML: exceeded max depth"},
		{"yaml/dashes", text("jobs:\n" + strings.Repeat("- ", 100_000)), "trace:2: is not YAML: exceeded max depth"},
		{"yaml/question marks", text("jobs:\n- " + strings.Repeat("? ", 100_000)), "trace:2"},
		{"yaml/json", text(strings.Repeat("[", 100_000)), "trace:1: is not YAML: exceeded max depth"},
		{"rumen/nested", text(`{"jobID":` + strings.Repeat("[", 100_000)), "trace:1:10010: jobID: "},
		{"rumen/skipped", text(`{"jobID":"a","x":` + strings.Repeat(`{"x":`, 100_000)), "trace:1:"},
		{"sls/nested", text(`{"job.tasks":[` + strings.Repeat("[", 100_000)), "trace:1:10015: job.tasks: "},
		// aliases
		{"yaml/lists of lists", text(laughter(12)), "are more than 100000 queues"},
		{"yaml/list again and again",
			text(listed + strings.Repeat("1s, ", 200_000) + "]}}\n" +
				strings.Repeat("- {maps: {times: *a}}\n", 10_000)),
			"aliases stand for too many values"},
		{"yaml/anchors kept",
			text("jobs:\n" + strings.Repeat("- {name: a, maps: {times: &a ["+strings.Repeat("1s,", 10_000)+
				"]}}\n", 100)),
			"anchors hold more than 524288 values"},
		// long lines and values
		{"yaml/long line", packed("jobs:\n- {name: ", "a", 20<<20, "}"), "trace:2: is longer than 8 MiB"},
		{"yaml/long job", packed("jobs:\n- name: a\n", "  # a comment\n", 1<<20, ""), "trace:2: what begins here is " +
			"longer than 8 MiB"},
		{"yaml/many values", packed("jobs:\n- {maps: {times: [", "1,", 2<<20, "]}}"), "trace:2: what begins here has " +
			"2097159 values"},
		{"yaml/many keys", packed("jobs:\n- {", "a,", 1<<20, "}"), "trace:2: what begins here has 1048"},
		{"swim/long line", packed("a\t1\t1\t10\t0\t0\nb", "b", far, ""), "trace:2: is longer than 65536 bytes"},
		{"rumen/long value", packed(`{"jobID":"`, "a", far, ""), "trace:1:10: jobID: a value is longer than 2 MiB"},
		{"rumen/many attempts", packed(`{"jobID":"a","mapTasks":[{"attempts":[`, "{},", 1<<20, ""),
			"mapTasks: a value is longer than 2 MiB"},
		{"rumen/spaces", packed(`{"jobID":"a"`, " ", far, ""), "a value is longer than 2 MiB"},
		{"rumen/many tasks", packed(`{"jobID":"a","mapTasks":[`, "{},", 2<<20, ""), "mapTasks: are more than 1048576"},
		{"sls/count", text(`{"am.type":"x","job.count":2147483647,"job.tasks":[{"duration.ms":1}]}`),
			"job.count: 2147483647, must be from 0 to 1000000"},
		// packed
		{"gzip/zeros", packed("", "\x00", far, ""), "is not text"},
		{"gzip/lines", packed("a\t1\t1\t10\t0\t0\n", "\n", far, ""), "read trace: the compressed text " +
			"expands too much"},
		{"gzip/comments", packed("jobs:\n", "# a comment, and nothing else\n", far/30, ""),
			"read trace: the compressed text expands too much"},
		{"zstd/lines", func() []byte {
			return zstandard(t, "a\t1\t1\t10\t0\t0\n"+strings.Repeat("\n", 64<<20))
		}, "read trace: the compressed text expands too much"},
		{"zstd/window", func() []byte {
			return []byte("\x28\xb5\x2f\xfd\x00\xa0\x03\x00\x10\x00")
		}, "the zstd frame asks for too large a window"},
	} {
		t.Run(b.name, func(t *testing.T) {
			bomb.Within(t, func(t *testing.T) {
				_, err := drain(t, b.data())
				wantError(t, err, b.want)
			})
		})
	}
}

// TestClusterBombs does the same with clusters and queues.
func TestClusterBombs(t *testing.T) {
	for _, b := range []struct {
		name string
		data func() []byte
		want string
	}{
		{"flow", text("classes: " + strings.Repeat("[", 100_000)), "cluster:1: is not YAML: exceeded max depth"},
		{"queues", text(laughter(12)), "are more than 100000 queues"},
		{"long", packed("classes:\n", "# a comment\n", 1<<20, ""), "cluster: is longer than 8 MiB: not a cluster"},
		{"zeros", packed("", " ", 1<<27, ""), "cluster: is longer than 8 MiB: not a cluster"},
		{"window", func() []byte {
			return []byte("\x28\xb5\x2f\xfd\x00\xa0\x03\x00\x10\x00")
		}, "the zstd frame asks for too large a window"},
	} {
		t.Run(b.name, func(t *testing.T) {
			bomb.Within(t, func(t *testing.T) {
				_, err := ReadCluster("cluster", bytes.NewReader(b.data()))
				wantError(t, err, b.want)
				_, err = ReadQueues("cluster", bytes.NewReader(b.data()))
				wantError(t, err, b.want)
			})
		})
	}
}

// laughter returns queues whose lists stand for ten times as many queues with each of the levels.
func laughter(levels int) string {
	var b strings.Builder
	b.WriteString("queues:\n- {name: q0, queues: &a0 [{name: x}]}\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "- {name: q%d, queues: &a%d [", i, i)
		for k := range 10 {
			fmt.Fprintf(&b, "{name: n%d, queues: *a%d}, ", k, i-1)
		}
		b.WriteString("]}\n")
	}
	return b.String()
}

func text(s string) func() []byte { return func() []byte { return []byte(s) } }

func packed(head, each string, n int, tail string) func() []byte {
	return func() []byte { return repeated(head, each, n, tail) }
}

func zstandard(t *testing.T, text string) []byte {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll([]byte(text), nil)
}
