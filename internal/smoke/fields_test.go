package smoke

import (
	"reflect"
	"strings"
)

// fieldsOf are the names of all fields that a value has in JSON, those of its parts
// included.
func fieldsOf(v any) (names []string) {
	seen := map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice:
			visit(t.Elem())
		case reflect.Struct:
			if seen[t] || t.PkgPath() == "time" {
				return
			}
			seen[t] = true
			for field := range t.Fields() {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				names = append(names, name)
				visit(field.Type)
			}
		}
	}
	visit(reflect.TypeOf(v))
	return names
}
