package report

import (
	"bufio"
	"io"
	"strings"

	"windtunnel/analysis"
)

// writeMarkdown is the report for a page, in GitHub's tables: without pictures, which are files of their own.
func writeMarkdown(w io.Writer, f analysis.Findings, _ Options) error {
	return writeMarkdownOf(w, documentOf(f), false)
}

// markdownFiles is the report with its pictures beside it.
func markdownFiles(f analysis.Findings) ([]File, error) {
	d := documentOf(f)
	var page strings.Builder
	if err := writeMarkdownOf(&page, d, true); err != nil {
		return nil, err
	}
	files := []File{{"report.md", []byte(page.String())}}
	for _, s := range d.sections {
		for _, c := range s.charts {
			files = append(files, File{c.name + ".svg", c.picture.file(c.name, c.heading, c.says)})
		}
	}
	return files, nil
}

func writeMarkdownOf(w io.Writer, d document, pictures bool) error {
	out := markdown{bufio.NewWriter(w)}
	out.line("# "+escape(d.title), "")
	for _, p := range d.intro {
		out.line(escape(p), "")
	}
	for _, s := range d.sections {
		if len(s.charts) == 0 || pictures {
			out.section(s)
		}
	}
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
	for _, c := range s.charts {
		m.chart(c)
	}
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
	for _, t := range s.texts {
		m.verbatim(t)
	}
}

// chart is a picture, what it shows, and its figures, which one opens.
func (m markdown) chart(c illustrated) {
	if c.of != "" {
		m.line("### "+escape(c.of), "")
	}
	m.line("!["+escape(c.heading)+"]("+c.name+".svg)", "", escape(c.says), "")
	for _, note := range c.notes {
		m.line(escape(note), "")
	}
	if c.figures != nil {
		m.line("<details><summary>The figures of this picture</summary>", "")
		figures, left := c.figures.first(mostFigures)
		m.table(figures)
		if left > 0 {
			m.line(moreRows(left), "")
		}
		m.line("</details>", "")
	}
}

func (m markdown) item(i item) {
	text := escape(i.says)
	if i.code {
		text = codeSpan(i.says)
	}
	if i.name != "" {
		text = "**" + escape(i.name) + "** " + text
	}
	m.line("- " + text)
	for _, l := range i.lines {
		indent := "  "
		if l.under {
			indent += "  "
		}
		m.line(indent + "- " + escape(l.says))
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

// verbatim writes a text as indented code, which no text inside can end.
func (m markdown) verbatim(v verbatim) {
	m.line("### "+escape(v.name), "")
	for _, s := range strings.Split(v.text, "\n") {
		m.line(strings.TrimRight("    "+s, " "))
	}
	m.line("")
}

// codeSpan is a text as code: its fence is longer than any within, so that none can end it (CommonMark, section 6.1).
func codeSpan(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if fence == "`" {
		return fence + s + fence
	}
	return fence + " " + s + " " + fence
}

// escape keeps a text from being read as markup.
func escape(s string) string { return escaper.Replace(s) }

var escaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "~", `\~`, "&", "&amp;", "<", "&lt;", ">", "&gt;", "#", `\#`, "[", `\[`, "]", `\]`, "!", `\!`,
)
