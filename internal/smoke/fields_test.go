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
			for i := range t.NumField() {
				name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
				names = append(names, name)
				visit(t.Field(i).Type)
			}
		}
	}
	visit(reflect.TypeOf(v))
	return names
}
