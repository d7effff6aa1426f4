// Command deadcode finds the functions of the packages below the current folder that no program reaches, and those that
// tests do not reach either. It is golang.org/x/tools/cmd/deadcode with and without -test, from one load of the
// packages: loading is most of the time that deadcode takes.
//
// Each finding is a line: "dead" or "tests only", a tab, the position, and the name of the function.
package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/callgraph/rta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

func main() {
	log.SetFlags(0)
	folder, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	initial, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Tests: true}, "./...")
	if err != nil {
		log.Fatal(err)
	}
	if packages.PrintErrors(initial) > 0 {
		os.Exit(1)
	}
	prog, pkgs := ssautil.AllPackages(initial, ssa.InstantiateGenerics)
	declared := functions(initial, prog, folder)
	prog.Build()

	var programs, tests []*ssa.Function
	for _, p := range ssautil.MainPackages(pkgs) {
		start := []*ssa.Function{p.Func("init"), p.Func("main")}
		if strings.HasSuffix(p.Pkg.Path(), ".test") {
			tests = append(tests, start...)
		} else {
			programs = append(programs, start...)
		}
	}
	byPrograms := reached(prog.Fset, programs)
	byTests := reached(prog.Fset, tests)
	var lines []string
	for pos, name := range declared {
		file, err := filepath.Rel(folder, pos.Filename)
		if err != nil {
			log.Fatal(err)
		}
		what := "tests only"
		switch {
		case byPrograms[pos], byTests[pos] && strings.HasSuffix(file, "_test.go"):
			continue
		case !byTests[pos]:
			what = "dead"
		}
		lines = append(lines, fmt.Sprintf("%s\t%s:%d: %s", what, file, pos.Line, name))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}

// functions returns the names of the functions and methods declared in files below the folder, by position: a package
// and its variant for tests declare the same function at the same position.
func functions(initial []*packages.Package, prog *ssa.Program, folder string) map[token.Position]string {
	names := map[token.Position]string{}
	for _, p := range initial {
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !strings.HasPrefix(p.Fset.Position(f.Pos()).Filename, folder+string(filepath.Separator)) {
					continue // the generated main package of a test lies in the build cache
				}
				if f.Name.Name == "_" || marks(p.TypesInfo.Defs[f.Name].(*types.Func), f) {
					continue
				}
				fn := prog.FuncValue(p.TypesInfo.Defs[f.Name].(*types.Func))
				names[p.Fset.Position(fn.Pos())] = fn.RelString(p.Types)
			}
		}
	}
	return names
}

// marks reports whether a method only marks its type as one of an interface: it is unexported, and has no parameters,
// results and statements. No program calls such a method.
func marks(f *types.Func, d *ast.FuncDecl) bool {
	return d.Recv != nil && !f.Exported() && f.Signature().Params().Len() == 0 && f.Signature().Results().Len() == 0 &&
		d.Body != nil && len(d.Body.List) == 0
}

// reached returns the positions of the functions that some roots reach, by rapid type analysis: a call through an
// interface may reach the methods of every type that reachable code makes.
func reached(files *token.FileSet, roots []*ssa.Function) map[token.Position]bool {
	at := map[token.Position]bool{}
	for fn := range rta.Analyze(roots, false).Reachable {
		if fn.Pos().IsValid() {
			at[files.Position(fn.Pos())] = true
		}
	}
	return at
}
