package result

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// repair is what somebody can do about a line that does not fit: this program wrote none such.
const repair = "the file was changed after it was written: put back what stood there, or leave the line out"

// misfit is a line that is no JSON, or has a value of another kind than its field's.
type misfit struct {
	says  string
	cause error
}

func (m misfit) Error() string { return m.says }
func (m misfit) Unwrap() error { return m.cause }

// misfitOf says which field of a line does not fit and what is expected there, in place of the decoder's words, which
// speak of Go's types.
func misfitOf(line []byte, cause error) error {
	var text *json.SyntaxError
	var told misfit
	if errors.As(cause, &told) { // by the type of a part of the line
		return cause
	}
	if says, ok := Misfit(line, cause); ok {
		return misfit{says + "; " + repair, cause}
	}
	switch {
	case errors.As(cause, &text) && text.Offset >= int64(len(line)):
		return misfit{fmt.Sprintf("the line breaks off after %d bytes; %s", len(line), repair), cause}
	case errors.As(cause, &text):
		return misfit{fmt.Sprintf("no JSON from byte %d on, at %s; %s", text.Offset, quoted(line, text.Offset), repair), cause}
	}
	return cause
}

// Misfit says which value of a JSON text is of another kind than its field's, and what is expected there, of an error by
// [json.Unmarshal] of that text; false of any other error.
func Misfit(text []byte, cause error) (says string, ok bool) {
	var kind *json.UnmarshalTypeError
	if !errors.As(cause, &kind) {
		return "", false
	}
	field, found := valueAt(text, kind.Offset)
	if field == "" {
		field = "the whole"
	}
	return fmt.Sprintf("%s is %s, and must be %s", field, found, wanted(kind.Type)), true
}

// notRecord is of a line of which not even the kind can be read: the first one is probably of another file.
func notRecord(line []byte, begun bool, cause error) error {
	if !begun && !bytes.HasPrefix(line, []byte("{")) {
		return misfit{fmt.Sprintf("not a record but %s: this is no run file (name a run's folder, or the %s in it)", quoted(line, 0), FileName), cause}
	}
	return fmt.Errorf("not a record: %w", misfitOf(line, cause))
}

// quoted are the characters of a line from a byte's place on, counted from 1 as the decoder counts them, so many as a person reads.
func quoted(line []byte, offset int64) string {
	const enough = 24
	from := min(max(offset-1, 0), int64(len(line)))
	rest := line[from:]
	if len(rest) > enough {
		return strconv.QuoteToASCII(string(rest[:enough]) + "...")
	}
	return strconv.QuoteToASCII(string(rest))
}

// valueAt is the path of the value of a line that ends or, if it holds others, begins right before an offset, as in
// pairs[0].receiver.bytes, and what it is. The offset is a [json.UnmarshalTypeError]'s.
func valueAt(line []byte, offset int64) (path, found string) {
	tokens := json.NewDecoder(bytes.NewReader(line))
	tokens.UseNumber()
	var stack []level
	for {
		token, err := tokens.Token()
		if err != nil {
			return "", "something else"
		}
		delimiter, _ := token.(json.Delim)
		if delimiter == '}' || delimiter == ']' {
			stack = stack[:len(stack)-1]
			continue
		}
		if n := len(stack); n > 0 && stack[n-1].takes(token) {
			continue
		}
		if tokens.InputOffset() >= offset {
			return pathOf(stack), kindOfToken(token)
		}
		if delimiter != 0 {
			stack = append(stack, level{list: delimiter == '[', index: -1})
		}
	}
}

// level is a list or an object that a value lies in, and its place there.
type level struct {
	list  bool
	index int
	key   string
	named bool // the next token is the key's value
}

// takes tells whether a token is an object's key, and counts the values of a list.
func (l *level) takes(token json.Token) (key bool) {
	if l.list {
		l.index++
		return false
	}
	if l.named = !l.named; l.named {
		l.key, _ = token.(string)
	}
	return l.named
}

// pathOf writes places as a person finds them in a file. Names are a stranger's.
func pathOf(stack []level) string {
	const enough = 160
	var path strings.Builder
	for _, l := range stack {
		switch {
		case l.list:
			fmt.Fprintf(&path, "[%d]", l.index)
		case path.Len() > 0:
			path.WriteString("." + Clip(clean(l.key)))
		default:
			path.WriteString(Clip(clean(l.key)))
		}
		if path.Len() > enough {
			return path.String() + "..."
		}
	}
	return path.String()
}

func kindOfToken(token json.Token) string {
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return "a list"
		}
		return "an object"
	case string:
		return "the text " + strconv.QuoteToASCII(Clip(t))
	case json.Number:
		return Clip(t.String())
	case bool:
		return strconv.FormatBool(t)
	}
	return "null"
}

// wanted says in JSON's words what a field of a type holds.
func wanted(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a text"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of at most %d bits", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 on, of at most %d bits", t.Bits())
	case reflect.Float32, reflect.Float64:
		return "a number under 1.8e308"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}
