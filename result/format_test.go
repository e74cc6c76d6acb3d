package result

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// Every field of every record is in FORMAT.md.
func TestFormatIsDocumented(t *testing.T) {
	text, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	for _, record := range []any{Run{}, Cell{}, Search{}, Trial{}, Profile{}, LatencyAt{}, EqualRate{}, End{}} {
		for _, name := range fields(reflect.TypeOf(record), seen) {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%T: the field %s is not documented", record, name)
			}
		}
	}
	for word, m := range metricWords {
		if !strings.Contains(string(text), "| `"+string(m)+"` | `"+word+"` |") {
			t.Errorf("the metric %s (%s) is not documented", m, word)
		}
	}
}

func fields(of reflect.Type, seen map[reflect.Type]bool) []string {
	switch of.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		return fields(of.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if seen[of] || of == reflect.TypeFor[Figure]() { // figures write themselves
		return nil
	}
	seen[of] = true
	var names []string
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
		names = append(names, fields(of.Field(i).Type, seen)...)
	}
	return names
}
