package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Error is what is wrong with a configuration, and where. Line and Column count from 1 and are 0
// where there is no text.
type Error struct {
	File         string
	Line, Column int
	Path         string // such as ports[1].label
	Message      string
}

func (e *Error) Error() string {
	where := ""
	if e.File != "" {
		where = e.File + ":"
	}
	if e.Line > 0 {
		where += fmt.Sprintf("%d:%d:", e.Line, e.Column)
	}
	if where != "" {
		where += " "
	}
	if e.Path != "" {
		where += e.Path + ": "
	}
	return where + e.Message
}

// MaxBytes is the largest configuration text that Parse reads.
const MaxBytes = 8 << 20

// Parse reads a configuration and validates it. File is only for errors, which are of type *Error.
func Parse(data []byte, file string) (Config, error) {
	var c Config
	if len(data) > MaxBytes {
		return c, &Error{File: file, Message: fmt.Sprintf("larger than %d bytes", MaxBytes)}
	}
	root, err := parseTree(data)
	if err == nil {
		err = decode(root, reflect.ValueOf(&c).Elem())
	}
	if err == nil {
		_, wrong := c.check()
		err = root.locate(wrong)
	}
	if err != nil {
		err.File = file
		if err.Line == 0 {
			err.Line, err.Column = position(data, err.Column)
		}
		return Config{}, err
	}
	return c, nil
}

// position turns a byte offset into a line and a column, in characters, from 1.
func position(data []byte, offset int) (line, column int) {
	before := string(data[:min(offset, len(data))])
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, len([]rune(before[start:])) + 1
}

// locate fills in where in the text an error's path is: the longest part of it that is there.
func (n *node) locate(e *Error) *Error {
	if e == nil {
		return nil
	}
	e.Column = n.offset
	at := n
	for _, step := range strings.FieldsFunc(e.Path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if at = at.step(step); at == nil {
			break
		}
		e.Column = at.offset
	}
	return e
}

func (n *node) step(name string) *node {
	if i, err := strconv.Atoi(name); err == nil && n.kind == kindArray && i < len(n.items) {
		return n.items[i].value
	}
	for _, item := range n.items {
		if n.kind == kindObject && item.key == name {
			return item.value
		}
	}
	return nil
}

func (n *node) fail(format string, args ...any) *Error {
	return &Error{Path: n.path, Column: n.offset, Message: fmt.Sprintf(format, args...)}
}

// decode fills v from the text's tree, strictly: an unknown or missing key is an error.
func decode(n *node, v reflect.Value) *Error {
	switch into := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return decodeText(n, into)
	case interface{ decodeTree(*node) *Error }:
		return into.decodeTree(n)
	}
	switch v.Kind() {
	case reflect.Struct:
		return decodeStruct(n, v)
	case reflect.Slice:
		return decodeSlice(n, v)
	case reflect.String:
		if n.kind != kindString {
			return n.fail("must be text, not %s", n.kind)
		}
		v.SetString(n.text)
	case reflect.Int, reflect.Uint32:
		return decodeNumber(n, v)
	case reflect.Pointer: // to tell what is left out from false
		v.Set(reflect.New(v.Type().Elem()))
		return decode(n, v.Elem())
	case reflect.Bool:
		if n.kind != kindOther {
			return n.fail("must be true or false, not %s", n.kind)
		}
		v.SetBool(n.text == "true")
	}
	return nil
}

func decodeText(n *node, into encoding.TextUnmarshaler) *Error {
	if n.kind != kindString || n.text == "" {
		return n.fail("must be an address as text")
	}
	if err := into.UnmarshalText([]byte(n.text)); err != nil {
		return n.fail("%v", err)
	}
	return nil
}

func decodeNumber(n *node, v reflect.Value) *Error {
	number, err := strconv.ParseUint(n.text, 10, 32)
	if n.kind != kindNumber || err != nil || number > math.MaxInt32 {
		return n.fail("must be a whole number from 0 to %d", math.MaxInt32)
	}
	if v.Kind() == reflect.Int {
		v.SetInt(int64(number))
	} else {
		v.SetUint(number)
	}
	return nil
}

func decodeSlice(n *node, v reflect.Value) *Error {
	if n.kind == kindNull { // what encoding/json writes for an empty list
		return nil
	}
	if n.kind != kindArray {
		return n.fail("must be a list, not %s", n.kind)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		if err := decode(item.value, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func decodeStruct(n *node, v reflect.Value) *Error {
	if n.kind != kindObject {
		return n.fail("must be an object, not %s", n.kind)
	}
	fields, required := fieldsOf(v.Type())
	for _, item := range n.items {
		i, ok := fields[item.key]
		if !ok {
			words := make([]string, 0, len(fields))
			for word := range fields {
				words = append(words, word)
			}
			return &Error{Path: n.path, Column: item.offset, Message: fmt.Sprintf("unknown key %q%s", item.key, nearest(item.key, words))}
		}
		delete(required, item.key)
		if err := decode(item.value, v.Field(i)); err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(required) {
		return n.fail("the key %q is missing", name)
	}
	return nil
}

// fieldsOf gives a record's keys, and those that must be there. Lists may be left out.
func fieldsOf(t reflect.Type) (fields map[string]int, required map[string]bool) {
	fields, required = make(map[string]int), make(map[string]bool)
	for i := range t.NumField() {
		name, option, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = i
		if option == "" && t.Field(i).Type.Kind() != reflect.Slice {
			required[name] = true
		}
	}
	return fields, required
}
