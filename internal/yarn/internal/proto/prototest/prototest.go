// Package prototest checks that messages are read as they were written.
package prototest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// RoundTrip checks all, a message of every type of the package in the working directory, with random values: a message
// that was written and read is the same, and is written as the same bytes again. Exported fields are drawn and
// compared; empty lists are equal. fit gets a pointer to each struct that was drawn, nested ones first, and makes it
// one that can travel.
func RoundTrip(t *testing.T, all []proto.Described, fit func(m any)) {
	missing := described(t)
	for _, m := range all {
		typ := reflect.TypeOf(m).Elem()
		delete(missing, typ.Name())
		t.Run(typ.Name(), rapid.MakeCheck(func(t *rapid.T) {
			m := reflect.New(typ)
			draw(t, m.Elem(), fit)
			written := proto.Append(nil, m.Interface().(proto.Described))
			read := reflect.New(typ)
			if err := proto.Decode(written, read.Interface().(proto.Described)); err != nil {
				t.Fatalf("%+v is written as\n%x, which cannot be read: %v", m, written, err)
			}
			if where := differ(m.Elem(), read.Elem(), typ.Name()); where != "" {
				t.Errorf("%s is read otherwise than it was written:\n%+v\n%+v", where, m, read)
			}
			if again := proto.Append(nil, read.Interface().(proto.Described)); !bytes.Equal(again, written) {
				t.Errorf("%+v is written as\n%x, and when that was read as\n%x", m, written, again)
			}
		}))
	}
	if len(missing) > 0 {
		t.Errorf("not checked: %v", slices.Sorted(maps.Keys(missing)))
	}
}

// described returns the names of the types in the working directory that have fields.
func described(t *testing.T) map[string]bool {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if name := file.Name(); !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Name.Name == "Fields" && d.Recv != nil {
				names[d.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name] = true
			}
		}
	}
	return names
}

var raw = reflect.TypeFor[proto.Raw]()

// draw fills v. Bytes are never nil, except those of an encoded message.
func draw(t *rapid.T, v reflect.Value, fit func(any)) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int32:
		v.SetInt(int64(rapid.Int32().Draw(t, "int32")))
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int64"))
	case reflect.Float32:
		v.SetFloat(float64(rapid.Float32().Draw(t, "float")))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem(), fit)
		}
	case reflect.Slice:
		switch {
		case v.Type() == raw:
			v.SetBytes(rapid.SampledFrom([][]byte{nil, {}, {0x08, 1}, {0x9a, 0x06, 1, 'x'}}).Draw(t, "encoded"))
		case v.Type().Elem().Kind() == reflect.Uint8:
			v.SetBytes(append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")...))
		default:
			v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(t, "elements"), 2))
			for i := range v.Len() {
				draw(t, v.Index(i), fit)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				draw(t, v.Field(i), fit)
			}
		}
		fit(v.Addr().Interface())
	default:
		t.Fatalf("%s: nothing is known to draw for it", v.Type())
	}
}

// differ returns where a and b are not the same, as a path of fields that begins with where; "": nowhere.
func differ(a, b reflect.Value, where string) string {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.IsExported() {
				if d := differ(a.Field(i), b.Field(i), where+"."+f.Name); d != "" {
					return d
				}
			}
		}
		return ""
	case reflect.Slice:
		if a.Len() != b.Len() {
			return where
		}
		for i := range a.Len() {
			if d := differ(a.Index(i), b.Index(i), where+"[]"); d != "" {
				return d
			}
		}
		return ""
	case reflect.Pointer:
		if !a.IsNil() && !b.IsNil() {
			return differ(a.Elem(), b.Elem(), where)
		}
		return map[bool]string{false: where}[a.IsNil() == b.IsNil()]
	}
	if a.Interface() != b.Interface() {
		return where
	}
	return ""
}
