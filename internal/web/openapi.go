package web

import (
	"reflect"
	"strings"
)

// OpenAPI returns the description of the REST interface in the format of OpenAPI 3.1, made from the types of its
// answers.
func OpenAPI() map[string]any {
	d := describer{schemas: map[string]any{}}
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
		"openapi":    "3.1.0",
		"info":       map[string]any{"title": "Sojourn", "version": "1"},
		"paths":      paths,
		"components": map[string]any{"schemas": d.schemas},
	}
}

// A describer collects the schemas of types.
type describer struct{ schemas map[string]any }

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
		properties[name] = d.schema(f.Type)
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}
