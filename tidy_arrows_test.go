package sojourn

import (
	"cmp"
	"go/ast"
	"path/filepath"
	"slices"
	"testing"
)

// Limits on the arrows between the files of a package. An arrow from file a to file b means that a names something that
// b declares. The files are put in an order in which few arrows point up: read from the last file to the first, the
// names of all other arrows are declared before they are used.
const (
	manyFiles  = 50 // a package with fewer is understood as a whole
	mostUpward = 7  // percent of the arrows
)

// TestTidyArrows counts upward arrows. Names are matched by spelling. A method counts where only one file of the
// package declares a method or a field of that name.
func TestTidyArrows(t *testing.T) {
	list, _ := sources(t)
	files := map[string][]source{}
	for _, s := range list {
		if dir := filepath.ToSlash(filepath.Dir(s.path)); !s.test {
			files[dir] = append(files[dir], s)
		}
	}
	for _, dir := range sortedKeys(files) {
		if len(files[dir]) < manyFiles {
			continue
		}
		arrows := arrowsOf(files[dir])
		all, up := 0, []string{}
		order := fewestUpward(arrows)
		for i, a := range order {
			for j, b := range order {
				if arrows[a][b] {
					if all++; j < i {
						up = append(up, filepath.Base(files[dir][a].path)+" → "+filepath.Base(files[dir][b].path))
					}
				}
			}
		}
		t.Logf("%s: %d of %d arrows between %d files point up", dir, len(up), all, len(files[dir]))
		if 100*len(up) > mostUpward*all {
			t.Errorf("%s: %d of %d arrows between files point up, more than %d %%: %v",
				dir, len(up), all, mostUpward, up)
		}
	}
}

// arrowsOf returns which file names what which other file declares.
func arrowsOf(files []source) [][]bool {
	const several = -1
	tops, members := map[string]int{}, map[string]int{}
	declare := func(in map[string]int, name string, file int) {
		if was, ok := in[name]; ok && was != file {
			file = several
		}
		in[name] = file
	}
	for i, s := range files {
		for name := range s.file.Scope.Objects {
			declare(tops, name, i)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					declare(members, n.Name.Name, i)
				}
			case *ast.StructType:
				for _, f := range n.Fields.List {
					for _, name := range f.Names {
						declare(members, name.Name, several)
					}
				}
			}
			return true
		})
	}
	arrows := make([][]bool, len(files))
	for i, s := range files {
		arrows[i] = make([]bool, len(files))
		point := func(at map[string]int, name string) {
			if to, ok := at[name]; ok && to != several && to != i {
				arrows[i][to] = true
			}
		}
		for _, id := range s.file.Unresolved {
			point(tops, id.Name)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				point(members, sel.Sel.Name)
			}
			return true
		})
	}
	return arrows
}

// fewestUpward returns an order of the files in which few arrows point up. It takes the file first that has the most
// arrows out less those in, among the files that are left, and then moves single files as long as that makes fewer.
func fewestUpward(arrows [][]bool) (order []int) {
	left := make([]int, len(arrows))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		excess := func(a int) (n int) {
			for _, b := range left {
				if arrows[a][b] {
					n++
				}
				if arrows[b][a] {
					n--
				}
			}
			return n
		}
		first := slices.MaxFunc(left, func(a, b int) int { return cmp.Compare(excess(a), excess(b)) })
		order = append(order, first)
		left = slices.DeleteFunc(left, func(a int) bool { return a == first })
	}
	for moved := true; moved; {
		moved = false
		for file := range arrows {
			at := slices.Index(order, file)
			order = slices.Delete(order, at, at+1)
			best, gain := at, 0
			sum := make([]int, len(order)+1) // by place: upward arrows of the file there
			for _, other := range order {
				if arrows[other][file] {
					sum[0]++
				}
			}
			for i, other := range order {
				sum[i+1] = sum[i]
				if arrows[file][other] { // the other is above now
					sum[i+1]++
				}
				if arrows[other][file] {
					sum[i+1]--
				}
			}
			for place := range sum {
				if g := sum[at] - sum[place]; g > gain {
					best, gain = place, g
				}
			}
			order = slices.Insert(order, best, file)
			moved = moved || gain > 0
		}
	}
	return order
}
