package cli

import (
	"math"
	"path/filepath"
	"testing"
)

// The least limit of a process's control groups counts, whichever of them has it.
func TestGroupMemory(t *testing.T) {
	root := t.TempDir()
	for path, limit := range map[string]string{
		"slurm/memory.max":                          "max\n",
		"slurm/job_1/memory.max":                    "3000\n",
		"slurm/job_1/step_0/memory.max":             "5000\n",
		"free/memory.max":                           "max\n",
		"memory/old/memory.limit_in_bytes":          "2000\n",
		"memory/memory.limit_in_bytes":              "9223372036854771712\n",
		"memory/torn/memory.limit_in_bytes":         "",
		"slurm/job_2/memory.max":                    "4000\n",
		"cpu/slurm/job_1/memory.limit_in_bytes":     "1\n",
		"memory/slurm/job_1/memory.max":             "1\n",
		"memory/escape/memory.limit_in_bytes":       "6000\n",
		"slurm/job_1/step_0/memory.limit_in_bytes":  "1\n",
		"memory/old/below/memory.limit_in_bytes":    "7000\n",
		"memory/old/below/me/memory.limit_in_bytes": "8000\n",
	} {
		writeTo(t, filepath.Join(root, path), limit)
	}
	for groups, want := range map[string]int64{
		"":                               math.MaxInt64,
		"0::/\n":                         math.MaxInt64,
		"0::/free\n":                     math.MaxInt64,
		"0::/slurm/job_1/step_0\n":       3000,
		"0::/slurm/job_2/gone\n":         4000,
		"0::/not/mounted/here\n":         math.MaxInt64,
		"4:memory:/old/below/me\n0::/\n": 2000,
		"4:hugetlb,memory:/old\n0::/slurm/job_1\n": 2000,
		"1:cpu:/slurm/job_1\n":                     math.MaxInt64,
		"4:memory:/torn\n":                         9223372036854771712,
		"4:memory:/../../escape\n":                 6000,
		"no group\n":                               math.MaxInt64,
	} {
		if got := groupMemory(root, groups); got != want {
			t.Errorf("%q: %d bytes, want %d", groups, got, want)
		}
	}
}
