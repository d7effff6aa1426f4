package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// read returns the jobs of a text.
func read(t testing.TB, text string, o Options) ([]*sched.JobSpec, error) {
	t.Helper()
	f, err := Read("trace", strings.NewReader(text), o)
	if err != nil {
		return nil, err
	}
	return all(f.Jobs)
}

// mustRead returns the jobs of a text that is right.
func mustRead(t testing.TB, text string, o Options) []*sched.JobSpec {
	t.Helper()
	jobs, err := read(t, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// all returns the jobs of a source.
func all(s Source) (jobs []*sched.JobSpec, err error) {
	for job, err := range s {
		if err != nil {
			return jobs, err
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

// truth returns what really happens in a job.
func truth(job *sched.JobSpec) *Truth { return job.Payload.(*Truth) }

// long says that tests of the large public traces run too. The small ones are in the tree.
var long = os.Getenv("SOJOURN_LONG") != ""

// traces returns the paths of the public traces that match a pattern: those in the tree, and in long tests the others.
func traces(t testing.TB, pattern string) []string {
	t.Helper()
	dirs := []string{filepath.Join("testdata", "traces")}
	if long {
		dirs = append(dirs, filepath.Join("..", "..", "..", "shared", "traces"))
	}
	var paths []string
	seen := map[string]bool{}
	for _, dir := range dirs {
		some, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range some {
			base := filepath.Base(path)
			if !seen[base] && filepath.Ext(path) != ".md" && base != "swim-LICENSE" {
				seen[base] = true
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// content returns a file.
func content(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantError fails unless err says what it should.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v\n want ... %s", err, want)
	}
}
