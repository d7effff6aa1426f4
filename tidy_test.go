// Package sojourn has no code: this file checks the rules of the tree, each with its reason.
package sojourn

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sojourn-sched/sojourn/"

// arrows lists what of ours each package may import; what is not listed may import nothing of ours. Packages below
// another's folder share its arrows and may import each other.
var arrows = map[string][]string{
	"sched":    {},
	"theory":   {},
	"chart":    {},
	"predict":  {"workload", "sched"},
	"spelling": {},
	"model":    {"theory", "sched", "spelling"},
	"policy":   {"theory", "sched", "spelling"},
	"record":   {"sched", "chart", "workload"}, // a past run is a workload
	"unpack":   {},
	"workload": {"sched", "unpack"},
	"sim": {
		"sched",
		"workload",
		"theory",
	}, // jobs come with their truth, which is workload's; what a probe samples is theory's
	"mr":        {"sched", "theory", "spelling"}, // an engine: no policy, no record, no other engine
	"yarn":      {"sched"},
	"web":       {"record", "sched"},
	"run":       {"sched", "model", "policy", "record", "workload", "sim", "mr", "yarn"},
	"reproduce": {"theory", "sched", "chart", "model", "policy", "record", "workload", "sim", "mr", "run"},
	"cli": {
		"theory",
		"sched",
		"chart",
		"spelling",
		"model",
		"policy",
		"record",
		"workload",
		"sim",
		"mr",
		"yarn",
		"web",
		"predict", "run",
		"reproduce",
	},
	"cmd": {
		"cli",
		"yarn",
	}, // yarn/load is a program of its own
	"bench": {
		"theory",
		"sched",
		"model",
		"policy",
		"record",
		"workload",
		"sim",
		"mr",
		"yarn",
		"reproduce",
	}, // whose mixes of real jobs it replays
}

// more is what one folder may import beyond its package's arrows.
var more = map[string][]string{
	"policy/policytest": {"sim", "record", "workload", "model"},
	"yarn/load":         {"theory"}, // its statistics
}

// pure packages decide or compute; they must not know what time it is, draw chance that no seed controls, run at once
// with anything, or touch the world, or runs could not be repeated.
var pure = map[string]bool{"sched": true, "policy": true, "model": true, "theory": true}

var forbiddenImports = []string{
	"os",
	"net",
	"sync",
	"sync/atomic",
	"math/rand",
	"crypto/rand",
	"context",
	"syscall",
	"runtime",
	"log",
	"log/slog",
}

var forbiddenCalls = map[string]string{
	"time.Now": "reads the clock", "time.Since": "reads the clock", "time.Sleep": "waits", "time.After": "waits", "time.NewTimer": "waits",
	"time.Tick": "waits", "time.NewTicker": "waits", "time.AfterFunc": "waits",
}

// Limits on width. They may only become tighter.
const (
	mostFields     = 20
	mostMethods    = 25
	mostParameters = 4
	mostInterface  = 3
)

// wide lists what is wider, and why it stays so.
var wide = map[string]string{
	"mr/internal/order.sorter.scatter": "the inner step of a sort: what, where to, counted how, and how deep",
	"sched.View":                       "every question that a policy may ask of a cluster; none of them changes anything",
}

type source struct {
	path string // from the root
	pkg  string // first element of the path below the root or internal/
	test bool
	file *ast.File
	text []byte
}

func sources(t *testing.T) (list []source, set *token.FileSet) {
	t.Helper()
	set = token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "out" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		pkg, _, ok := strings.Cut(strings.TrimPrefix(filepath.ToSlash(path), "internal/"), "/")
		if !ok {
			pkg = ""
		}
		list = append(list, source{filepath.ToSlash(path), pkg, strings.HasSuffix(path, "_test.go"), file, text})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("found %d Go files: not run from the root of the tree?", len(list))
	}
	return list, set
}

func TestTidyImports(t *testing.T) {
	list, _ := sources(t)
	for _, s := range list {
		if s.pkg == "" {
			continue
		}
		if _, known := arrows[s.pkg]; !known {
			t.Errorf(
				"%s: folder %s is not in the list of packages: say in tidy_test.go what it may import",
				s.path,
				s.pkg,
			)
		}
		allowed := append(
			slices.Clone(arrows[s.pkg]),
			more[strings.TrimPrefix(filepath.ToSlash(filepath.Dir(s.path)), "internal/")]...)
		for _, im := range s.file.Imports {
			path := strings.Trim(im.Path.Value, `"`)
			if ours, ok := strings.CutPrefix(path, module); ok && !s.test {
				if to, _, _ := strings.Cut(strings.TrimPrefix(ours, "internal/"), "/"); to != s.pkg &&
					!slices.Contains(allowed, to) {
					t.Errorf("%s imports %s: %s may import only %v", s.path, ours, s.pkg, allowed)
				}
			}
			if pure[s.pkg] && !s.test && !strings.HasPrefix(s.path, "policy/policytest/") &&
				slices.Contains(forbiddenImports, path) {
				t.Errorf(
					"%s imports %s: package %s reads no clock, draws no chance, runs nothing at once and does no I/O",
					s.path,
					path,
					s.pkg,
				)
			}
			if path == "math/rand" {
				t.Errorf("%s imports math/rand: use math/rand/v2 with a seed", s.path)
			}
		}
	}
}

func TestTidyPurity(t *testing.T) {
	list, set := sources(t)
	for _, s := range list {
		clock := pure[s.pkg] || s.pkg == "sim" || s.pkg == "workload"
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				if pure[s.pkg] && !s.test {
					t.Errorf("%s: a goroutine in package %s", set.Position(n.Pos()), s.pkg)
				}
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && clock && !s.test {
					if id, ok := sel.X.(*ast.Ident); ok {
						if why := forbiddenCalls[id.Name+"."+sel.Sel.Name]; why != "" {
							t.Errorf("%s: %s.%s %s", set.Position(n.Pos()), id.Name, sel.Sel.Name, why)
						}
					}
				}
			case *ast.SelectorExpr:
				if s.pkg == "policy" && !s.test && !strings.HasPrefix(s.path, "policy/policytest/") && n.Sel.Name == "Payload" {
					t.Errorf("%s: a policy looks at Payload, which is the engine's own", set.Position(n.Pos()))
				}
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: init(): registries are map literals", set.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

func TestTidyWidth(t *testing.T) {
	list, set := sources(t)
	methods := map[string]int{}
	used := map[string]bool{}
	tooWide := func(pos token.Pos, name string, n, most int, what string) {
		if n <= most {
			return
		}
		if _, ok := wide[name]; ok {
			used[name] = true
			return
		}
		t.Errorf("%s: %s has %d %s, more than %d: it is two things", set.Position(pos), name, n, what, most)
	}
	for _, s := range list {
		if s.test {
			continue
		}
		dir := filepath.ToSlash(filepath.Dir(s.path))
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				name := dir + "." + n.Name.Name
				switch typ := n.Type.(type) {
				case *ast.StructType:
					tooWide(n.Pos(), name, typ.Fields.NumFields(), mostFields, "fields")
				case *ast.InterfaceType:
					tooWide(n.Pos(), name, typ.Methods.NumFields(), mostInterface, "methods")
				}
			case *ast.FuncDecl:
				name := dir + "." + n.Name.Name
				if n.Recv != nil && len(n.Recv.List) == 1 {
					recv := n.Recv.List[0].Type
					if star, ok := recv.(*ast.StarExpr); ok {
						recv = star.X
					}
					if ix, ok := recv.(*ast.IndexExpr); ok {
						recv = ix.X
					}
					if id, ok := recv.(*ast.Ident); ok {
						if ast.IsExported(n.Name.Name) {
							methods[dir+"."+id.Name]++
						}
						name = dir + "." + id.Name + "." + n.Name.Name
					}
				}
				tooWide(n.Pos(), name, n.Type.Params.NumFields(), mostParameters, "parameters")
			}
			return true
		})
	}
	for name, n := range methods {
		if _, ok := wide[name]; n > mostMethods && !ok {
			t.Errorf("%s has %d exported methods, more than %d: it is two things", name, n, mostMethods)
		} else if n > mostMethods {
			used[name] = true
		}
	}
	for name := range wide {
		if !used[name] {
			t.Errorf("%s is listed as wide and is not any more: take it off the list", name)
		}
	}
}

func TestTidyDocumented(t *testing.T) {
	list, set := sources(t)
	for _, s := range list {
		if s.test || s.file.Name.Name == "main" {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				exported := ast.IsExported(d.Name.Name)
				if d.Recv != nil {
					for id := range identsOf(d.Recv) {
						exported = exported && ast.IsExported(id)
					}
				}
				wellKnown := d.Recv != nil && slices.Contains([]string{"String", "Error", "Unwrap", "Len", "Less", "Swap", "Push", "Pop", "Write", "Read", "Close", "Append", "Decode", "Fields"}, d.Name.Name)
				if exported && d.Doc == nil && !wellKnown {
					t.Errorf("%s: %s has no comment", set.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if typ, ok := spec.(*ast.TypeSpec); ok && ast.IsExported(typ.Name.Name) && d.Doc == nil && typ.Doc == nil && typ.Comment == nil {
						t.Errorf("%s: type %s has no comment", set.Position(typ.Pos()), typ.Name.Name)
					}
				}
			}
		}
	}
}

func identsOf(fields *ast.FieldList) map[string]bool {
	names := map[string]bool{}
	for _, f := range fields.List {
		typ := f.Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		if ix, ok := typ.(*ast.IndexExpr); ok {
			typ = ix.X
		}
		if id, ok := typ.(*ast.Ident); ok {
			names[id.Name] = true
		}
	}
	return names
}

func TestTidyFormat(t *testing.T) {
	list, _ := sources(t)
	for _, s := range list {
		if out, err := format.Source(s.text); err != nil || !bytes.Equal(out, s.text) {
			t.Errorf("%s is not formatted: gofmt -w %s", s.path, s.path)
		}
	}
}

// leftovers are words that a finished tree does not have; they are spelled apart so that this file has none.
var leftovers = []string{"TO" + "DO", "FIX" + "ME", "XX" + "X:", "HA" + "CK:"}

func TestTidyLeftovers(t *testing.T) {
	out, err := exec.Command("git", "ls-files").Output()
	if err != nil {
		t.Skip("not a git checkout")
	}
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		switch filepath.Ext(path) {
		case ".go", ".md", ".sh", ".yaml", ".yml", "":
		default:
			continue
		}
		if strings.Contains(path, "testdata/") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue // removed and not yet committed
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, word := range leftovers {
				if strings.Contains(line, word) {
					t.Errorf("%s:%d: %s left behind", path, i+1, word)
				}
			}
		}
	}
}

func TestTidyVet(t *testing.T) { tool(t, "go", "vet", "./...") }

func TestTidyStaticcheck(t *testing.T) {
	if testing.Short() {
		t.Skip("staticcheck takes a minute: not with -short")
	}
	tool(t, "go", "tool", "staticcheck", "./...")
}

func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", fmt.Sprint(name, " ", strings.Join(args, " ")), err, out)
	}
}
