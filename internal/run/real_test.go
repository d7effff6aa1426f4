package run

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
)

// TestInputsOfOtherJobs: an input that another job of the run writes is read where that job writes it, and is found
// when its reader arrives. Other inputs stay as they are.
func TestInputsOfOtherJobs(t *testing.T) {
	m := &Machine{Output: func(dir string) string { return filepath.Join(dir, "fair") }}
	for _, c := range []struct {
		input, want string
		late        bool
	}{
		{"out/words", "out/words/fair", true},
		{"./out/../out/words/", "out/words/fair", true},
		{"out/words/part-r-00000", "out/words/fair/part-r-00000", true},
		{"out/words/part-*", "out/words/fair/part-*", true},
		{"out/words2", "out/words2", false},
		{"out/word", "out/word", false},
		{"in", "in", false},
		{"out/mine", "out/mine", false}, // its own
		{"out/*.txt", "out/*.txt", false},
		{"out/w*", "out/w*", true},
		{"**/*.txt", "**/*.txt", true},
		{"out", "out", true},
		{"-", "-", false},
		{"pebble:out/words", "pebble:out/words", false},
		{"{a,out/words}", "{a,out/words}", true},
	} {
		list := []RealJob{{Program: workload.Program{Input: []string{"first", c.input}, Output: "out/mine"}},
			{Program: workload.Program{Input: []string{"in"}, Output: "out/words"}}}
		if got, late := m.inputs(list, 0); !slices.Equal(got, []string{"first", c.want}) || late != c.late {
			t.Errorf("%s: %q, late %v; want %s, %v", c.input, got, late, c.want, c.late)
		}
	}
	m.Output = func(dir string) string { return dir }
	list := []RealJob{{Program: workload.Program{Input: []string{"./out/words/"}, Output: "out/mine"}},
		{Program: workload.Program{Input: []string{"in"}, Output: "out/words"}}}
	if got, late := m.inputs(list, 0); !slices.Equal(got, []string{"./out/words/"}) || !late {
		t.Errorf("without folders of policies: %q, late %v", got, late)
	}
}
