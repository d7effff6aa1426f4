package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	tokens "go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var describe = flag.Bool("describe", false, "write openapi.json anew")

// TestOpenAPI holds the document that is served to the types and routes, and these to having a description each.
func TestOpenAPI(t *testing.T) {
	d := newDescriber(t)
	text, err := json.MarshalIndent(d.openAPI(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	const path = "openapi.json"
	if *describe {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	said, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(said, text) {
		t.Errorf("%s is not what the types say: go test ./internal/web -run OpenAPI -describe", path)
	}
	for _, name := range d.silent {
		t.Errorf("%s has no comment that says what it is", name)
	}
	for _, r := range routes {
		for _, p := range strings.Split(r.path, "/") {
			name, ok := strings.CutPrefix(p, "{")
			if !ok {
				continue
			}
			described := false
			for _, q := range r.params {
				described = described || q.name+"}" == name
			}
			if !described {
				t.Errorf("%s does not describe %s", r.path, p)
			}
		}
	}
}

// A describer makes the description of the REST interface in the format of OpenAPI 3.1: schemas from the types of its
// answers, and words from their comments.
type describer struct {
	t       *testing.T
	schemas map[string]any
	read    map[string]bool   // packages whose comments are known
	words   map[string]string // what a type, or a member of it, is
	silent  []string          // members without a comment
}

func newDescriber(t *testing.T) *describer {
	return &describer{t: t, schemas: map[string]any{}, read: map[string]bool{}, words: map[string]string{}}
}

func (d *describer) openAPI() map[string]any {
	paths := map[string]any{}
	for _, r := range routes {
		p, _ := paths[prefix+r.path].(map[string]any)
		if p == nil {
			p = map[string]any{}
			paths[prefix+r.path] = p
		}
		p[strings.ToLower(r.method)] = d.operation(&r)
	}
	paths[prefix+"/changes"] = map[string]any{"get": map[string]any{
		"summary": "Server-sent events: the versions of all runs, whenever one changes.",
		"responses": map[string]any{"200": map[string]any{"description": "a stream of {\"versions\":[...]}",
			"content": map[string]any{"text/event-stream": map[string]any{}}}},
	}}
	return map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": "Sojourn", "version": "1", "description": "What the page shows, for scripts. " +
			"Times are in seconds since the run began where their names end in _s; amounts are in the units of their " +
			"kind of resource: MiB of memory, whole vcores and slots. Within a version members are added, and never " +
			"change their meaning.\n\n" + d.terms()},
		"paths":      paths,
		"components": map[string]any{"schemas": d.schemas},
	}
}

// terms returns what the words of the page mean, a line each, from the page itself.
func (d *describer) terms() string {
	text, err := files.ReadFile("static/terms.js")
	if err != nil {
		d.t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "export const terms = {")
	list, _, _ = strings.Cut(list, "};")
	var lines []string
	for _, m := range regexp.MustCompile(`(?m)^  "([^"]*)": "([^"]*)",$`).FindAllStringSubmatch(list, -1) {
		lines = append(lines, "- "+m[1]+": "+m[2])
	}
	for _, word := range []string{"sojourn time", "wait", "idle", "slowdown", "share", "demand", "owed", "lent"} {
		if !strings.Contains(strings.Join(lines, "\n"), "- "+word+": ") {
			d.t.Errorf("the page does not say what %q means", word)
		}
	}
	return strings.Join(lines, "\n")
}

func (d *describer) operation(r *route) map[string]any {
	content := func(v any) map[string]any {
		return map[string]any{"application/json": map[string]any{"schema": d.schema(reflect.TypeOf(v))}}
	}
	op := map[string]any{
		"summary": r.about,
		"responses": map[string]any{
			"200":     map[string]any{"description": "the answer", "content": content(r.answer)},
			"default": map[string]any{"description": "why there is none", "content": content(Problem{})},
		},
	}
	var params []any
	for _, p := range r.params {
		where := "query"
		if strings.Contains(r.path, "{"+p.name+"}") {
			where = "path"
		}
		params = append(params, map[string]any{"name": p.name, "in": where, "required": where == "path",
			"description": p.about, "schema": map[string]any{"type": p.kind}})
	}
	if r.body != nil {
		op["requestBody"] = map[string]any{"required": true, "content": content(r.body)}
		params = append(params, map[string]any{"name": "X-Sojourn-Token", "in": "header", "required": true,
			"description": "the token of " + prefix + "/session", "schema": map[string]any{"type": "string"}})
	}
	if params != nil {
		op["parameters"] = params
	}
	return op
}

// schema describes a type. A struct becomes a schema of its own, to which others point.
func (d *describer) schema(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": d.schema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Interface:
		return map[string]any{}
	case reflect.Struct:
		if _, ok := d.schemas[t.Name()]; !ok {
			d.schemas[t.Name()] = nil // it may contain itself
			d.schemas[t.Name()] = d.members(t)
		}
		return map[string]any{"$ref": "#/components/schemas/" + t.Name()}
	default:
		return map[string]any{"type": "integer"}
	}
}

// members describes the members of a struct as JSON has them.
func (d *describer) members(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		owner := t
		if up := f.Index[:len(f.Index)-1]; len(up) > 0 {
			owner = t.FieldByIndex(up).Type
		}
		s := d.schema(f.Type)
		if about := d.about(owner, f.Name); about != "" {
			s["description"] = about
		} else {
			d.silent = append(d.silent, owner.Name()+"."+f.Name)
		}
		properties[name] = s
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "required": required}
	if about := d.about(t, ""); about != "" {
		s["description"] = about
	}
	return s
}

// about returns the comment of a type, or of a field of it.
func (d *describer) about(t reflect.Type, field string) string {
	if !d.read[t.PkgPath()] {
		d.read[t.PkgPath()] = true
		d.readPackage(t.PkgPath())
	}
	return d.words[t.PkgPath()+"."+t.Name()+"."+field]
}

// module is the path that those of all packages begin with.
const module = "github.com/sojourn-sched/sojourn/"

// readPackage reads the comments of the types of a package.
func (d *describer) readPackage(path string) {
	d.t.Helper()
	dir := filepath.Join("..", "..", filepath.FromSlash(strings.TrimPrefix(path, module)))
	list, err := os.ReadDir(dir)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range list {
		if filepath.Ext(e.Name()) != ".go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(tokens.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != tokens.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				d.readType(path, g, spec.(*ast.TypeSpec))
			}
		}
	}
}

func (d *describer) readType(path string, g *ast.GenDecl, spec *ast.TypeSpec) {
	of := path + "." + spec.Name.Name + "."
	d.words[of] = sentence(spec.Doc, g.Doc)
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			d.words[of+name.Name] = sentence(f.Doc, f.Comment)
		}
	}
}

// sentence returns the first of some comments, in one line.
func sentence(comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if c != nil {
			return strings.Join(strings.Fields(c.Text()), " ")
		}
	}
	return ""
}
