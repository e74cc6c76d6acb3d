package report

import (
	"bufio"
	"io"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// writeMarkdown is the report for a page: GitHub's tables, each cell's topology as
// the plan draws it, and what its path runs.
func writeMarkdown(w io.Writer, f analysis.Findings, _ Options) error {
	out := markdown{bufio.NewWriter(w)}
	d := documentOf(f)
	out.line("# "+escape(d.title), "")
	for _, p := range d.intro {
		out.line(escape(p), "")
	}
	for _, s := range d.sections {
		out.section(s)
	}
	out.topologies(f)
	out.configurations(f)
	return out.Flush()
}

type markdown struct{ *bufio.Writer }

func (m markdown) line(lines ...string) {
	for _, s := range lines {
		m.WriteString(s)
		m.WriteByte('\n')
	}
}

func (m markdown) section(s section) {
	m.line("## "+s.heading, "")
	if s.table != nil {
		m.table(*s.table)
	}
	for _, i := range s.items {
		m.item(i)
	}
	if len(s.items) > 0 {
		m.line("")
	}
	for _, note := range s.notes {
		m.line(escape(note), "")
	}
}

func (m markdown) item(i item) {
	text := escape(i.says)
	if i.code {
		text = "`" + i.says + "`"
	}
	if i.name != "" {
		text = "**" + escape(i.name) + "** " + text
	}
	m.line("- " + text)
	for _, l := range i.lines {
		m.line("  - " + escape(l.says))
	}
}

func (m markdown) table(t table) {
	var names, rules []string
	for _, c := range t.columns {
		names = append(names, escape(strings.TrimSpace(c.group+" "+c.name)))
		rules = append(rules, map[bool]string{true: "---", false: "---:"}[c.text])
	}
	m.row(names)
	m.row(rules)
	for _, r := range t.rows {
		var cells []string
		for _, c := range r {
			cells = append(cells, escape(c))
		}
		m.row(cells)
	}
	m.line("")
}

func (m markdown) row(cells []string) { m.line("| " + strings.Join(cells, " | ") + " |") }

// topologies are the drawings of the cells.
func (m markdown) topologies(f analysis.Findings) {
	m.drawn("## Topologies", f, func(c result.Cell) string { return c.Topology })
}

// configurations are what the cells' paths ran, in full: a peer is compared as it was
// configured, and a reader may know better.
func (m markdown) configurations(f analysis.Findings) {
	m.drawn("## Configurations", f, func(c result.Cell) string { return c.Configuration })
	m.drawn("## Container engines", f, func(c result.Cell) string { return c.Engines })
}

// drawn writes a text of each cell that has one as indented code, which no text inside
// can end.
func (m markdown) drawn(heading string, f analysis.Findings, of func(result.Cell) string) {
	for _, c := range f.Cells {
		text := of(c.Spec)
		if strings.TrimSpace(text) == "" {
			continue
		}
		if heading != "" {
			m.line(heading, "")
			heading = ""
		}
		m.line("### "+escape(strings.TrimSpace(c.Spec.Name+" "+c.Spec.Says)), "")
		for _, s := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			m.line(strings.TrimRight("    "+s, " "))
		}
		m.line("")
	}
}

// escape keeps a text from being read as markup.
func escape(s string) string { return escaper.Replace(s) }

var escaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "<", "&lt;", ">", "&gt;", "#", `\#`, "[", `\[`, "]", `\]`, "!", `\!`,
)
