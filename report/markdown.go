package report

import (
	"bufio"
	"io"
	"strings"

	"windtunnel/analysis"
)

// writeMarkdown is the report for a page: GitHub's tables, and each cell's topology
// as the plan draws it.
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

// topologies are drawn as indented code, which no text inside can end.
func (m markdown) topologies(f analysis.Findings) {
	heading := "## Topologies"
	for _, c := range f.Cells {
		if strings.TrimSpace(c.Spec.Topology) == "" {
			continue
		}
		if heading != "" {
			m.line(heading, "")
			heading = ""
		}
		m.line("### "+escape(strings.TrimSpace(c.Spec.Name+" "+c.Spec.Says)), "")
		for _, s := range strings.Split(strings.TrimRight(c.Spec.Topology, "\n"), "\n") {
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
