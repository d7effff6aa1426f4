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

// traces returns the paths of the public traces that match a pattern.
func traces(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "traces", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no trace is called %s: %v", pattern, err)
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
