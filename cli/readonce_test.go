package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// bytesRead returns how many bytes this process has read so far, of files and of all else.
func bytesRead(t *testing.T) (n int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the kernel does not say how much a process reads")
	}
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	if _, err := fmt.Sscanf(string(text), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A workload is read once, however many policies, seeds, loads and bars there are: its bytes are counted. An experiment
// reads it once more, because it tells by its content whether it has changed. What is kept changes no result.
func TestWorkloadIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "job%d\t%d\t10\t%d\t%d\t1000000\n", i, 10*i, 1e8*(1+i*7%10), 1e7*(i%3))
		text.WriteString(strings.Repeat("# what a reader passes over\n", 4000)) // 112,000 bytes
	}
	size := text.Len()
	trace, sweep := filepath.Join(dir, "jobs.tsv"), filepath.Join(dir, "sweep.yaml")
	for path, content := range map[string]string{trace: text.String(), sweep: `
policies: [fifo, fair, srpt]
workloads: [jobs.tsv]
loads: [1, 2]
clusters: ["nodes=4,map-slots=2,reduce-slots=1"]
seeds: 2
`} {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sim := []string{"sim", "--trace", trace, "--cluster", "nodes=4,map-slots=2,reduce-slots=1", "--policy"}
	for name, c := range map[string]struct {
		args []string
		most int // times that the workload is read
	}{
		"policies":   {append(sim, "fifo,fair,srpt,las"), 1},
		"seeds":      {append(sim, "fifo,fair", "--seeds", "3"), 1},
		"a bar":      {append(sim, "fifo", "--progress", "always"), 1},
		"experiment": {[]string{"experiment", sweep, "--output", filepath.Join(dir, "out")}, 2},
	} {
		before := bytesRead(t)
		must(t, c.args...)
		// Each opening of the file reads its beginning, by which the format is told.
		if n := bytesRead(t) - before; n < size || n > c.most*size+size/2 {
			t.Errorf("%s: %d bytes are read of a workload of %d, want it read %d times at most", name, n, size, c.most)
		}
	}
	all := must(t, append(sim, "fifo,fair,srpt,las")...)
	for _, policy := range []string{"fifo", "fair", "srpt", "las"} {
		alone := strings.Split(must(t, append(sim, policy)...), "\n")
		row := strings.Fields(alone[3])
		found := false
		for line := range strings.Lines(all) {
			line = strings.ReplaceAll(line, "*", "") // of the best of several
			fields := strings.Fields(line)
			found = found || len(fields) >= len(row) && strings.Join(fields[:len(row)], " ") == strings.Join(row, " ")
		}
		if !found || row[0] != policy {
			t.Errorf("%s alone comes to %v, among others to\n%s", policy, row, all)
		}
	}
}
