// Package sojourn has no code: this file checks the rules of the tree, each with its reason.
package sojourn

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
)

const module = "github.com/sojourn-sched/sojourn/"

// arrows lists what of ours each package may import; what is not listed may import nothing of ours. Packages below
// another's folder share its arrows and may import each other.
var arrows = map[string][]string{
	"sched":        {},
	"theory":       {"priority"},
	"chart":        {},
	"longtest":     {},
	"safefile":     {},
	"boltfile":     {},
	"priority":     {},
	"predict":      {"workload", "sched", "jobhistory", "priority"},
	"spelling":     {},
	"splitmix":     {},
	"jobhistory":   {},
	"model":        {"theory", "sched", "spelling", "splitmix"},
	"policy":       {"theory", "sched", "spelling", "priority"},
	"outlook":      {"sched"},
	"record":       {"sched", "chart", "theory", "workload", "outlook", "spelling"}, // loans are theory's
	"resident":     {},
	"unpack":       {"resident"},
	"workload":     {"sched", "unpack", "jobhistory", "spelling", "splitmix"},
	"joblog":       {"sched"},
	"sim":          {"sched", "workload", "theory", "priority", "spelling"},                     // a sample is theory's
	"mr":           {"sched", "theory", "spelling", "splitmix", "joblog", "safefile", "unpack"}, // no policy or record
	"yarn":         {"sched", "outlook", "safefile", "boltfile", "resident"},
	"availability": {"sched", "workload"},                                       // what a service beside jobs leaves
	"web":          {"record", "theory", "sched", "joblog", "chart", "outlook"}, // loans between queues are theory's
	"submit":       {"sched", "theory", "model", "workload", "mr", "safefile"},  // a cluster runs the jobs
	"run": {"sched", "model", "policy", "record", "workload", "joblog", "sim", "mr", "yarn", "spelling",
		"safefile", "boltfile"},
	"experiment": {"chart", "safefile", "policy", "record", "run", "sim", "theory", "workload"},
	"reproduce": {"predict", "theory", "sched", "chart", "model", "policy", "record", "workload", "sim", "mr",
		"run"},
	"cli": {"theory", "sched", "chart", "spelling", "model", "policy", "record", "workload", "sim", "mr", "yarn", "web",
		"predict", "run", "submit", "experiment", "reproduce", "availability", "joblog", "outlook", "safefile"},
	"cmd": {"cli", "yarn"}, // yarn/load is a program of its own
	// bench replays mixes of real jobs, as reproduce/testbed runs them
	"bench": {"theory", "sched", "model", "policy", "record", "workload", "sim", "mr", "yarn", "reproduce"},
}

// more is what one folder may import beyond its package's arrows.
var more = map[string][]string{
	"policy/policytest":         {"sim", "record", "workload", "model"},
	"yarn/load":                 {"theory"}, // its statistics
	"yarn/internal/zoo/zootest": {"longtest"},
}

// pure packages decide or compute; they must not know what time it is, draw chance that no seed controls, run at once
// with anything, or touch the world, or runs could not be repeated.
var pure = map[string]bool{"sched": true, "policy": true, "model": true, "theory": true,
	"priority": true, "splitmix": true}

// numerics is the one module of others that pure packages use; sched uses none.
const numerics = "gonum.org/v1/gonum/"

var forbiddenImports = []string{"os", "net", "sync", "sync/atomic", "math/rand", "crypto/rand", "context", "syscall",
	"log", "log/slog"}

var forbiddenCalls = map[string]string{
	"time.Now": "reads the clock", "time.Since": "reads the clock", "time.Sleep": "waits", "time.After": "waits",
	"time.NewTimer": "waits", "time.Tick": "waits", "time.NewTicker": "waits", "time.AfterFunc": "waits",
}

// seeded are the functions of math/rand/v2 by which chance begins from a seed.
var seeded = []string{"New", "NewPCG", "NewZipf"}

// Limits on width. They may only become tighter. Methods count whether exported or not; what is embedded from packages
// of ours counts as if it stood in the type itself.
const (
	mostFields     = 25
	mostMethods    = 40
	mostParameters = 4
	mostInterface  = 3
)

type source struct {
	path string // from the root
	pkg  string // first element of the path below the root or internal/
	test bool
	file *ast.File
	text []byte
}

// sources returns the Go files of this module and the positions of their nodes. Tests must not change them: the tree is
// read once.
func sources(t *testing.T) ([]source, *token.FileSet) {
	t.Helper()
	r := readTree()
	if r.err != nil {
		t.Fatal(r.err)
	}
	if len(r.list) < 10 {
		t.Fatalf("found %d Go files: not run from the root of the tree?", len(r.list))
	}
	return r.list, r.set
}

// A tree is what readTree has read.
type tree struct {
	list []source
	set  *token.FileSet
	err  error
}

// readTree parses the Go files of this module, in the order of their paths.
var readTree = sync.OnceValue(func() (r tree) {
	r.set = token.NewFileSet()
	r.err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." &&
			(strings.HasPrefix(d.Name(), ".") ||
				slices.Contains([]string{"testdata", "out", "bin", "dist"}, d.Name())) {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); d.IsDir() && path != "." && err == nil {
			return filepath.SkipDir // a module of its own
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(r.set, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		pkg, _, ok := strings.Cut(strings.TrimPrefix(filepath.ToSlash(path), "internal/"), "/")
		if !ok {
			pkg = ""
		}
		r.list = append(r.list, source{filepath.ToSlash(path), pkg, strings.HasSuffix(path, "_test.go"), file, text})
		return nil
	})
	return r
})

func TestTidyImports(t *testing.T) {
	list, _ := sources(t)
	for _, s := range list {
		if s.pkg == "" {
			continue
		}
		if _, known := arrows[s.pkg]; !known {
			t.Errorf("%s: folder %s is not in the list of packages: say in tidy_test.go what it may import",
				s.path, s.pkg)
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
				t.Errorf("%s imports %s: package %s reads no clock, draws no chance, runs nothing at once and "+
					"does no I/O", s.path, path, s.pkg)
			}
			foreign := strings.Contains(path, ".") && !strings.HasPrefix(path, module)
			if pure[s.pkg] && !s.test && !strings.HasPrefix(s.path, "policy/policytest/") && foreign &&
				(s.pkg == "sched" || !strings.HasPrefix(path, numerics)) {
				t.Errorf("%s imports %s: of other modules sched uses none, and %s gonum alone", s.path, path, s.pkg)
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
		repeatable := pure[s.pkg] || s.pkg == "sim" || s.pkg == "workload" || s.pkg == "outlook"
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				if pure[s.pkg] && !s.test {
					t.Errorf("%s: a goroutine in package %s", set.Position(n.Pos()), s.pkg)
				}
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && repeatable && !s.test {
					if id, ok := sel.X.(*ast.Ident); ok {
						why := forbiddenCalls[id.Name+"."+sel.Sel.Name]
						if id.Name == "rand" && !slices.Contains(seeded, sel.Sel.Name) {
							why = "may draw chance that no seed controls"
						}
						if why != "" {
							t.Errorf("%s: %s.%s %s", set.Position(n.Pos()), id.Name, sel.Sel.Name, why)
						}
					}
				}
			case *ast.SelectorExpr:
				if s.pkg == "policy" && !s.test && !strings.HasPrefix(s.path, "policy/policytest/") &&
					n.Sel.Name == "Payload" {
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

// A shape is a declared type as a reader meets it: how many fields and methods it has itself, and what it embeds.
type shape struct {
	pos      token.Pos
	fields   int
	methods  int
	isFace   bool
	embedded []string // names of types of ours, as dir.Name
}

// shapes collects the types of all files but tests.
func shapes(list []source) map[string]*shape {
	all := map[string]*shape{}
	of := func(name string) *shape {
		if all[name] == nil {
			all[name] = &shape{}
		}
		return all[name]
	}
	for _, s := range list {
		if s.test {
			continue
		}
		dir := filepath.ToSlash(filepath.Dir(s.path))
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if recv := receiver(d); recv != "" {
					of(dir+"."+recv).methods++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					typ, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					sh := of(dir + "." + typ.Name.Name)
					sh.pos = typ.Pos()
					var fields *ast.FieldList
					switch t := typ.Type.(type) {
					case *ast.StructType:
						fields = t.Fields
					case *ast.InterfaceType:
						fields, sh.isFace = t.Methods, true
					default:
						continue
					}
					for _, f := range fields.List {
						switch name := embeddedName(s, dir, f); {
						case name != "":
							sh.embedded = append(sh.embedded, name)
						case sh.isFace:
							sh.methods += max(1, len(f.Names))
						default:
							sh.fields += max(1, len(f.Names))
						}
					}
				}
			}
		}
	}
	return all
}

// receiver returns the name of the type that a method is of; "" of a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) != 1 {
		return ""
	}
	if id, ok := bare(d.Recv.List[0].Type).(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// bare takes pointers and type arguments off a type.
func bare(t ast.Expr) ast.Expr {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		default:
			return t
		}
	}
}

// embeddedName returns the type of ours that a field embeds, as dir.Name; "" where it embeds none.
func embeddedName(s source, dir string, f *ast.Field) string {
	if len(f.Names) > 0 {
		return ""
	}
	switch t := bare(f.Type).(type) {
	case *ast.Ident:
		if types.Universe.Lookup(t.Name) == nil {
			return dir + "." + t.Name
		}
	case *ast.SelectorExpr:
		pkg, _ := t.X.(*ast.Ident)
		for _, im := range s.file.Imports {
			path := strings.Trim(im.Path.Value, `"`)
			ours, ok := strings.CutPrefix(path, module)
			name := filepath.Base(path)
			if im.Name != nil {
				name = im.Name.Name
			}
			if ok && pkg != nil && name == pkg.Name {
				return ours + "." + t.Sel.Name
			}
		}
	}
	return ""
}

// flat returns the numbers of fields and methods of a type, with those of what it embeds in their places.
func flat(name string, all map[string]*shape, under ...string) (fields, methods int) {
	sh := all[name]
	if sh == nil || slices.Contains(under, name) {
		return 0, 0
	}
	fields, methods = sh.fields, sh.methods
	for _, e := range sh.embedded {
		f, m := flat(e, all, append(under, name)...)
		if fields, methods = fields+f, methods+m; !sh.isFace && f == 0 {
			fields++ // of an interface, or of a type that is no struct
		}
	}
	return fields, methods
}

func TestTidyWidth(t *testing.T) {
	list, set := sources(t)
	check := func(pos token.Pos, name, what string, n, most int) {
		if n > most {
			t.Errorf("%s: %s has %d %s, more than %d: it is two things", set.Position(pos), name, n, what, most)
		}
	}
	all := shapes(list)
	for name, sh := range all {
		fields, methods := flat(name, all)
		if sh.isFace {
			check(sh.pos, name, "methods", methods, mostInterface)
			continue
		}
		check(sh.pos, name, "fields", fields, mostFields)
		check(sh.pos, name, "methods", methods, mostMethods)
	}
	for _, s := range list {
		dir := filepath.ToSlash(filepath.Dir(s.path))
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || s.test {
				continue
			}
			name := dir + "." + f.Name.Name
			if recv := receiver(f); recv != "" {
				name = dir + "." + recv + "." + f.Name.Name
			}
			check(f.Pos(), name, "parameters", f.Type.Params.NumFields(), mostParameters)
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
				wellKnown := d.Recv != nil &&
					slices.Contains([]string{"String", "Error", "Unwrap", "Len", "Less", "Swap", "Push", "Pop", "Write",
						"Read", "Close", "Append", "Decode", "Fields"}, d.Name.Name)
				if exported && d.Doc == nil && !wellKnown {
					t.Errorf("%s: %s has no comment", set.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if typ, ok := spec.(*ast.TypeSpec); ok && ast.IsExported(typ.Name.Name) && d.Doc == nil &&
						typ.Doc == nil && typ.Comment == nil {
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

// longName is the variable that tells tests whether they may take long, as code spells it. Only longtest names it.
const longName = `"SOJOURN` + `_LONG"`

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
			if strings.Contains(line, longName) && !strings.HasPrefix(path, "internal/longtest/") {
				t.Errorf("%s:%d: ask internal/longtest whether tests may take long", path, i+1)
			}
		}
	}
}

func TestTidyVet(t *testing.T) { tool(t, "go", "vet", "./...") }

// tools has the programs that check the tree, in a module of its own: users of the packages need none of them.
const tools = "-modfile=tools/go.mod"

func TestTidyStaticcheck(t *testing.T) { tool(t, "go", "tool", tools, "staticcheck", "./...") }

// others are packages whose functions programs outside this tree call.
// A program that owns a key-value store calls mr/store.
var others = []string{"sched", "policy", "policy/policytest", "model", "mr", "mr/jobs", "mr/store", "cli"}

// forTests are packages that tests are written with. Their functions are called by tests alone, and no program may
// import them.
var forTests = []string{"internal/longtest", "internal/reproduce/papertest", "internal/unpack/bomb",
	"internal/yarn/internal/kerberos/kerberostest", "internal/yarn/internal/peer",
	"internal/yarn/internal/proto/prototest", "internal/yarn/internal/recording", "internal/yarn/internal/zoo/zootest",
	"sched/enginetest"}

// TestTidyForTests holds that programs import no package that tests are written with.
func TestTidyForTests(t *testing.T) {
	list, _ := sources(t)
	for _, s := range list {
		if s.test || slices.Contains(forTests, filepath.ToSlash(filepath.Dir(s.path))) {
			continue
		}
		for _, im := range s.file.Imports {
			ours, _ := strings.CutPrefix(strings.Trim(im.Path.Value, `"`), module)
			if slices.Contains(forTests, ours) {
				t.Errorf("%s imports %s, which is for tests", s.path, ours)
			}
		}
	}
}

// TestTidyDeadcode looks for functions that neither a program nor a test calls, and for those that only tests call. It
// compiles all packages and what they import from their sources, which takes most of a minute of processor time.
func TestTidyDeadcode(t *testing.T) {
	if !longtest.On() {
		t.Skip("takes most of a minute: in make lint and make test-long only")
	}
	program := filepath.Join(t.TempDir(), "deadcode")
	tool(t, "go", "-C", "tools", "build", "-o", program, "./deadcode")
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		what, finding, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if dir := filepath.ToSlash(filepath.Dir(finding[:strings.Index(finding, ":")])); what == "dead" {
			t.Errorf("%s is called by no program and no test", finding)
		} else if !slices.Contains(others, dir) && !slices.Contains(forTests, dir) {
			found[dir] = append(found[dir], finding)
		}
	}
	ratchet(t, "unreached", found, nil)
}

// tool runs a program that checks the tree and fails the test with what it prints. The program sees the caller's
// GOFLAGS, so that what it compiles is in the build cache for the tests too.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	var found []string
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "go: downloading ") { // modules that this machine did not have
			found = append(found, line)
		}
	}
	if err != nil || len(found) > 0 {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, strings.Join(found, ""))
	}
}
