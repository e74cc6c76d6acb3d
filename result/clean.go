package result

import (
	"reflect"
	"strings"
	"unicode"
)

// clean replaces what could move a terminal's cursor, change its colours or turn
// the reading direction: control characters (C0, DEL, C1) and the invisible
// format and line separators of Unicode. Line ends become spaces.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return visible(r)
	}, text)
}

// Clean is a stranger's text, fit for a terminal: without control characters and
// what is invisible, on one line.
func Clean(text string) string { return clean(text) }

// CleanLines is Clean of each of a text's lines.
func CleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = clean(line)
	}
	return strings.Join(lines, "\n")
}

// Clean makes every text of an end that a stranger sent fit for a terminal.
func (e *PairEnd) Clean() { cleanAll(e) }

// Clean makes every text of a sample that a stranger sent fit for a terminal.
func (s *NodeSample) Clean() { cleanAll(s) }

// cleanDrawing is clean for drawings, which have lines.
func cleanDrawing(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return visible(r)
	}, text)
}

func visible(r rune) rune {
	if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
		return unicode.ReplacementChar
	}
	return r
}

// cleanAll cleans every string that a record holds, keys too.
func cleanAll(record any) { cleanValue(reflect.ValueOf(record).Elem()) }

func cleanValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(clean(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			cleanField(v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			cleanValue(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			cleanValue(v.Elem())
		}
	case reflect.Map:
		cleanMap(v)
	case reflect.Interface:
		cleanInterface(v)
	}
}

func cleanField(name string, v reflect.Value) {
	if name == "Topology" || name == "Configuration" || name == "Engines" {
		v.SetString(cleanDrawing(v.String()))
		return
	}
	cleanValue(v)
}

func cleanMap(v reflect.Value) {
	if v.Len() == 0 {
		return
	}
	cleaned := reflect.MakeMapWithSize(v.Type(), v.Len())
	for entry := v.MapRange(); entry.Next(); {
		key, value := settable(entry.Key()), settable(entry.Value())
		cleanValue(key)
		cleanValue(value)
		cleaned.SetMapIndex(key, value)
	}
	v.Set(cleaned)
}

// cleanInterface cleans a value of Options: JSON puts any shape there.
func cleanInterface(v reflect.Value) {
	if v.IsNil() {
		return
	}
	inner := settable(v.Elem())
	cleanValue(inner)
	v.Set(inner)
}

func settable(v reflect.Value) reflect.Value {
	held := reflect.New(v.Type()).Elem()
	held.Set(v)
	return held
}
