package reproduce

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The pages in the tree are of the experiments that the code has.
func TestPagesOfTree(t *testing.T) {
	for name, p := range All() {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reproduction", name+".md"))
		if err != nil {
			t.Errorf("%s has no page: %v; make it by `sojourn reproduce %s`", name, err, name)
			continue
		}
		for _, part := range p.Parts {
			if !strings.Contains(string(page), "\n## "+part.Title+"\n") {
				t.Errorf("the page of %s has no section %q: make it anew by `sojourn reproduce %s`", name,
					part.Title, name)
			}
			for _, c := range part.Claims {
				if row := "| " + c.Where + " | " + c.Says + " | "; !strings.Contains(string(page), row) {
					t.Errorf("the page of %s lacks a row of %q: %s", name, part.Title, row)
				}
			}
		}
	}
}
