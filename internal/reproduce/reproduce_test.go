package reproduce

import (
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
)

// Every paper is written as the page needs it: claims name their place and, where they differ, an explanation.
func TestPapers(t *testing.T) {
	for _, name := range Names() {
		p, err := Find(name)
		if err != nil || p.Name != name || p.Title == "" || p.Source == "" || p.About == "" {
			t.Errorf("%s: %v", name, err)
		}
		var files []string
		for _, part := range p.Parts {
			if part.Title == "" || part.How == "" || part.Trials < 1 || part.Trial == nil {
				t.Errorf("%s: part %q is not complete", name, part.Title)
			}
			for _, c := range part.Charts {
				if slices.Contains(files, c.File) || !strings.HasPrefix(c.File, name) {
					t.Errorf("%s: picture %q is there twice, or not named after its paper", name, c.File)
				}
				files = append(files, c.File)
			}
			for _, c := range part.Claims {
				if c.Where == "" || c.Says == "" || c.Figure == "" || strings.ContainsAny(c.Says+c.Why, "|\n") {
					t.Errorf("%s: %s: claim %+v is not complete, or breaks its table", name, part.Title, c)
				}
				if !c.Own && c.Agrees == (paper.Range{}) {
					t.Errorf("%s: %s: nothing could contradict the claim %q", name, part.Title, c.Says)
				}
			}
		}
	}
	if _, err := Find("unknown"); err == nil || !strings.Contains(err.Error(), "mrorder") {
		t.Errorf("an unknown paper: %v", err)
	}
}
