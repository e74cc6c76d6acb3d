package command

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// pretty writes a value as iperf3 does with -J: tabs, a tab after each colon, an
// array's items on the line of its bracket.
func pretty(value any) string {
	var b strings.Builder
	printer{&b, true}.value(value, 0)
	return b.String()
}

// compact writes a value on one line without spaces, as --json-stream does.
func compact(value any) string {
	var b strings.Builder
	printer{&b, false}.value(value, 0)
	return b.String()
}

type printer struct {
	*strings.Builder
	pretty bool
}

func (p printer) value(value any, depth int) {
	switch v := value.(type) {
	case *object:
		p.object(v, depth)
	case []any:
		p.array(v, depth)
	case nil:
		p.WriteString("null")
	case bool:
		p.WriteString(strconv.FormatBool(v))
	case string:
		p.text(v)
	case float64:
		p.WriteString(number(v))
	case json.Number:
		p.WriteString(v.String())
	case int, int64, uint64, uint32:
		fmt.Fprint(p, v)
	default:
		panic(fmt.Sprintf("no way to print a %T as JSON", v))
	}
}

func (p printer) object(o *object, depth int) {
	p.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			p.WriteByte(',')
		}
		p.line(depth + 1)
		p.text(m.name)
		p.WriteByte(':')
		if p.pretty {
			p.WriteByte('\t')
		}
		p.value(m.value, depth+1)
	}
	p.line(depth)
	p.WriteByte('}')
}

func (p printer) array(items []any, depth int) {
	p.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			p.WriteByte(',')
			if p.pretty {
				p.WriteByte(' ')
			}
		}
		p.value(item, depth+1)
	}
	p.WriteByte(']')
}

func (p printer) line(depth int) {
	if p.pretty {
		p.WriteByte('\n')
		for range depth {
			p.WriteByte('\t')
		}
	}
}

// text writes a string with only the escapes that JSON needs: encoding/json would
// turn < and & into \u003c and \u0026.
func (p printer) text(s string) {
	var quoted strings.Builder
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string into a Builder cannot fail
	p.WriteString(strings.TrimSuffix(quoted.String(), "\n"))
}

// number writes whole numbers without a point, others with 15 digits, or 17 where
// 15 do not give the same number back: what cJSON makes of a double. JSON knows
// no infinity; there it is null.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "null"
	}
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatInt(int64(v), 10)
	}
	short := fmt.Sprintf("%.15g", v)
	if back, err := strconv.ParseFloat(short, 64); err == nil && back == v {
		return short
	}
	return fmt.Sprintf("%.17g", v)
}
