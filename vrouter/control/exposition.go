package control

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// An exposition writes Prometheus' text format, version 0.0.4: each metric's help and type once,
// before its samples.
type exposition struct {
	out strings.Builder
}

// family begins a metric. Kind is "counter" or "gauge".
func (e *exposition) family(name, kind, help string) {
	fmt.Fprintf(&e.out, "# HELP %s %s\n# TYPE %s %s\n", name, helpEscapes.Replace(help), name, kind)
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// sample writes a value; labels are names and values in turn.
func (e *exposition) sample(name string, value float64, labels ...string) {
	e.out.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		e.out.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		fmt.Fprintf(&e.out, `%s="%s"`, labels[i], labelEscapes.Replace(labels[i+1]))
	}
	if len(labels) > 1 {
		e.out.WriteString("}")
	}
	e.out.WriteString(" " + strconv.FormatFloat(value, 'f', -1, 64) + "\n")
}

// A labelled is a count with its labels.
type labelled struct {
	count  Count
	labels []string
}

// units are the three in which everything is counted.
var units = []struct {
	name string
	of   func(Count) uint64
}{
	{"packets", func(c Count) uint64 { return c.Packets }},
	{"segments", func(c Count) uint64 { return c.Segments }},
	{"bytes", func(c Count) uint64 { return c.Bytes }},
}

// counters writes a metric in each unit: format has a verb for the unit.
func (e *exposition) counters(format, help string, rows []labelled) {
	for _, unit := range units {
		name := fmt.Sprintf(format, unit.name)
		e.family(name, "counter", fmt.Sprintf(help, strings.ToUpper(unit.name[:1])+unit.name[1:]))
		for _, row := range rows {
			e.sample(name, float64(unit.of(row.count)), row.labels...)
		}
	}
}

// packets writes a metric that is counted in packets only, by label.
func (e *exposition) packets(name, help, label string, rows []labelledReasons) {
	e.family(name, "counter", help)
	for _, row := range rows {
		for _, reason := range sortedReasons(row.packets) {
			e.sample(name, float64(row.packets[reason]), append(row.labels[:len(row.labels):len(row.labels)], label, reason)...)
		}
	}
}

type labelledReasons struct {
	packets map[string]uint64
	labels  []string
}

func (e *exposition) gauge(name, help string, value float64) {
	e.family(name, "gauge", help)
	e.sample(name, value)
}

func (e *exposition) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, e.out.String())
	return err
}
