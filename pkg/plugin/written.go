package plugin

import (
	"encoding/json"
	"reflect"
	"strings"
)

// written is a value as JSON, with those of its fields, too, that JSON leaves out while
// they are empty: a setting can be changed before it has a value.
func written(value any) ([]byte, error) {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if _, itself := value.(json.Marshaler); itself || v.Kind() != reflect.Struct {
		return json.Marshal(value)
	}
	var kept []reflect.StructField
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous || options != "" && !strings.HasPrefix(options, "omit"):
			return json.Marshal(value) // which knows how
		case !field.IsExported() || name == "-":
			continue
		}
		field.Tag = reflect.StructTag(`json:"` + name + `"`)
		kept = append(kept, field)
	}
	whole := reflect.New(reflect.StructOf(kept)).Elem()
	for _, field := range kept {
		whole.FieldByName(field.Name).Set(v.FieldByName(field.Name))
	}
	return json.Marshal(whole.Interface())
}
