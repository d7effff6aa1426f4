package yarn

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// wantsXML reports whether a request asks for XML, and not for JSON before it. Who says nothing gets JSON, as from
// Hadoop.
func wantsXML(r *http.Request) bool {
	accept := strings.ToLower(r.Header.Get("Accept"))
	x, j := strings.Index(accept, "application/xml"), strings.Index(accept, "application/json")
	return x >= 0 && (j < 0 || x < j)
}

// appendXML writes an object of one name as Hadoop does: what it holds are elements, those of a list have the list's
// name each.
func appendXML(b []byte, o object) []byte {
	b = append(b, xml.Header[:len(xml.Header)-1]...)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		b = appendElement(b, name, o[name])
	}
	return b
}

func appendElement(b []byte, name string, v any) []byte {
	switch v := v.(type) {
	case []object:
		for _, one := range v {
			b = appendElement(b, name, one)
		}
		return b
	case object:
		b = append(append(append(b, '<'), name...), '>')
		for _, inner := range slices.Sorted(maps.Keys(v)) {
			b = appendElement(b, inner, v[inner])
		}
	case nil:
		return b
	default:
		if reflect.ValueOf(v).Kind() == reflect.Slice {
			panic(fmt.Sprintf("yarn: %s is a %T: REST has lists of objects", name, v))
		}
		b = append(append(append(b, '<'), name...), '>')
		var text strings.Builder
		xml.EscapeText(&text, []byte(fmt.Sprint(v))) // a Builder never fails
		b = append(b, text.String()...)
	}
	return append(append(append(b, "</"...), name...), '>')
}
