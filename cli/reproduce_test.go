package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce"
)

// A paper leaves nothing behind when none of its parts can be run, and the error names the flag that is missing. A page
// that would lose parts stays, with the same error.
func TestReproduceLacking(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "pages")
	status, out, errs := sojourn(t, "reproduce", "gittins", "--output", folder)
	if status != statusUsage || out != "" || !strings.Contains(errs, "no part of gittins can be run: ") ||
		!strings.Contains(errs, "--trace") {
		t.Errorf("exit status %d, want 2; %q; %s", status, errs, out)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("a folder was made")
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, flag := range map[string]string{"gittins": "--trace", "fspy": "--trace", "mrorder": "--trace-2010"} {
		page := filepath.Join(folder, name+".md")
		if err := os.WriteFile(page, []byte("kept\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		status, _, errs := sojourn(t, "reproduce", name, "--output", folder)
		if text, err := os.ReadFile(page); status != statusUsage || !strings.Contains(errs, flag) || err != nil ||
			string(text) != "kept\n" {
			t.Errorf("%s: exit status %d, %q; the page is %q, %v", name, status, errs, text, err)
		}
	}
}

// Without a name the papers are listed.
func TestReproduceList(t *testing.T) {
	text := must(t, "reproduce")
	var doc []struct{ Name, Title string }
	if err := json.Unmarshal([]byte(must(t, "reproduce", "--json")), &doc); err != nil ||
		len(doc) != len(reproduce.Names()) {
		t.Fatalf("%d papers of %d: %v", len(doc), len(reproduce.Names()), err)
	}
	for _, p := range doc {
		if !strings.Contains(text, p.Name) || !strings.Contains(text, p.Title) || p.Title == "" {
			t.Errorf("%+v is not in\n%s", p, text)
		}
	}
	if status, _, errs := sojourn(t, "reproduce", "a", "b"); status != statusUsage ||
		!strings.Contains(errs, "one name at most") {
		t.Errorf("two names: exit status %d, %q", status, errs)
	}
}
