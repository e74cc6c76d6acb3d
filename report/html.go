package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"windtunnel/analysis"
)

// pageStyle is the look of a page; it follows that of the pictures, whose colours it shares.
//
//go:embed style/page.css
var pageStyle string

// A page is under 2 MB whatever the run file holds: rows and texts are bounded, and where that is still too much, whole
// sections are left out.
const (
	mostPage    = 1_800_000 // bytes of all sections
	mostTable   = 250       // rows
	mostFigures = 500       // rows of a picture's table
	mostItems   = 250
	mostLines   = 40 // under an item
	mostTexts   = 40
	mostLetters = 40_000 // of one verbatim text
)

// writeHTML is the report as one page that needs nothing else: no script, no request, no other file.
func writeHTML(w io.Writer, f analysis.Findings, _ Options) error {
	var p page
	p.whole(documentOf(f))
	_, err := w.Write(p.Bytes())
	return err
}

// page is a page under way. There are no attributes of style, so that the policy can name the one style sheet by its
// hash and forbid all else (CSP level 3, section 2.3.1).
type page struct{ markup }

func (p *page) whole(d document) {
	style := pictureStyle + pageStyle
	hash := sha256.Sum256([]byte(style))
	d.sections = fewer(d.sections)
	p.WriteString("<!DOCTYPE html>\n")
	p.open("html", "lang", "en", "dir", "ltr")
	p.open("head")
	p.empty("meta", "charset", "utf-8")
	p.empty("meta", "http-equiv", "Content-Security-Policy", "content",
		"default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'; base-uri 'none'; form-action 'none'")
	p.empty("meta", "name", "referrer", "content", "no-referrer")
	p.empty("meta", "name", "viewport", "content", "width=device-width, initial-scale=1")
	p.element("title", bounded(d.title, mostCell))
	p.WriteString("\n<style>" + style + "</style>")
	p.close("head")
	p.open("body")
	p.element("a", "Skip to the answer", "class", "skip", "href", "#section-1")
	p.open("header")
	p.element("h1", d.title)
	p.close("header")
	p.open("main")
	for i, part := range fitting(d.sections) {
		p.Write(part)
		if i == 0 { // the answer comes first, then what was measured for it
			p.about(d)
		}
	}
	p.close("main")
	p.close("body")
	p.close("html")
	p.WriteByte('\n')
}

// about is what was run, and what else there is to read.
func (p *page) about(d document) {
	for _, text := range d.intro {
		p.element("p", text, "class", "note")
	}
	p.contents(d)
	p.WriteByte('\n')
}

// contents is the list of the sections.
func (p *page) contents(d document) {
	p.open("nav", "aria-label", "Contents")
	p.open("ul")
	for i, s := range d.sections {
		p.open("li")
		p.element("a", s.heading, "href", "#"+sectionID(i))
		p.close("li")
	}
	p.close("ul")
	p.close("nav")
}

func sectionID(i int) string { return fmt.Sprintf("section-%d", i+1) }

// fewer are the sections without those in the middle, where they are very many: a mesh has one for each cell.
func fewer(all []section) []section {
	const first, last = 60, 40
	if len(all) <= first+last {
		return all
	}
	left := section{heading: "And more", notes: []string{fmt.Sprintf("%d sections are left out here. %s", len(all)-first-last, elsewhere)}}
	return slices.Concat(all[:first], []section{left}, all[len(all)-last:])
}

// fitting writes the sections; if they are too much for a page, the largest are left out.
func fitting(sections []section) [][]byte {
	parts, total := make([][]byte, len(sections)), 0
	write := func(i int, s section) {
		var one page
		one.section(sectionID(i), s)
		total += one.Len() - len(parts[i])
		parts[i] = one.Bytes()
	}
	for i, s := range sections {
		write(i, s)
	}
	for range sections {
		if total <= mostPage {
			break
		}
		largest := 0
		for i := range parts {
			if len(parts[i]) > len(parts[largest]) {
				largest = i
			}
		}
		write(largest, section{heading: sections[largest].heading, notes: []string{"Left out, so that this page stays under 2 MB. " + elsewhere}})
	}
	return parts
}

// elsewhere is where all is that a page leaves out.
const elsewhere = "The run's records, run.jsonl, have all of it."

func moreRows(n int) string { return fmt.Sprintf("%d more rows are left out here. %s", n, elsewhere) }

func (p *page) section(id string, s section) {
	p.open("section", "id", id, "aria-labelledby", id+"-heading")
	p.element("h2", s.heading, "id", id+"-heading")
	for _, c := range s.charts {
		p.chart(c)
	}
	if s.table != nil {
		p.table(s.heading, *s.table, mostTable)
	}
	p.items(s.items)
	for _, note := range s.notes[:min(len(s.notes), mostItems)] {
		p.element("p", note, "class", "note")
	}
	for i, v := range s.texts {
		if i == mostTexts {
			p.element("p", fmt.Sprintf("%d more are left out here. %s", len(s.texts)-i, elsewhere), "class", "note")
			break
		}
		p.verbatim(v)
	}
	p.close("section")
	p.WriteByte('\n')
}

// chart is a picture, what it shows, and its figures for those who want numbers or do not see it.
func (p *page) chart(c illustrated) {
	p.open("figure")
	if c.of != "" {
		p.element("h3", bounded(c.of, mostCell))
	}
	p.open("div", "class", "scroll", "role", "group", "tabindex", "0", "aria-label", c.heading+": picture")
	p.WriteString("\n" + c.picture.svg(c.name, c.heading, c.says))
	p.close("div")
	p.element("figcaption", c.says)
	for _, note := range c.notes {
		p.element("p", note, "class", "note")
	}
	if len(c.tree) > 0 {
		p.open("details", "class", "tree")
		p.element("summary", "The calls of this picture, to be opened one by one")
		p.tree(c.tree)
		p.close("details")
	}
	if c.figures != nil {
		p.open("details")
		p.element("summary", "The figures of this picture")
		p.table(c.heading+": figures", *c.figures, mostFigures)
		p.close("details")
	}
	p.close("figure")
}

// items is a list of statements, the names in a column of their own.
func (p *page) items(items []item) {
	if len(items) == 0 {
		return
	}
	p.open("ul", "class", "items")
	for i, one := range items {
		if i == mostItems {
			p.element("li", fmt.Sprintf("%d more are left out here. %s", len(items)-i, elsewhere))
			break
		}
		p.item(one)
	}
	p.close("ul")
}

func (p *page) item(i item) {
	p.open("li")
	if i.name != "" {
		p.element("b", bounded(i.name, mostCell))
		p.text(" ")
	}
	if i.code {
		p.element("code", i.says)
	} else {
		p.element("span", i.says, "class", moodClasses[i.mood])
	}
	if len(i.lines) > 0 {
		p.open("ul")
		for n, l := range i.lines {
			if n == mostLines {
				p.element("li", fmt.Sprintf("%d more", len(i.lines)-n))
				break
			}
			class := moodClasses[l.mood]
			if l.under {
				class += " under"
			}
			p.element("li", l.says, "class", class)
		}
		p.close("ul")
	}
	p.close("li")
	p.WriteByte('\n')
}

var moodClasses = map[mood]string{plain: "plain", good: "good", bad: "bad", unsure: "unsure"}

// verbatim keeps the lines of a text.
func (p *page) verbatim(v verbatim) {
	p.element("h3", bounded(v.name, mostCell))
	p.open("div", "class", "scroll", "role", "group", "tabindex", "0", "aria-label", bounded(v.name, mostCell)+": text")
	p.open("pre")
	for _, line := range strings.SplitAfter(bounded(v.text, mostLetters), "\n") {
		text, ended := strings.CutSuffix(line, "\n")
		p.text(text)
		if ended {
			p.WriteByte('\n')
		}
	}
	p.close("pre")
	p.close("div")
}

// table writes columns of one group under a common heading; the first column names the row.
func (p *page) table(caption string, t table, most int) {
	t, left := t.first(most)
	p.open("div", "class", "scroll", "role", "group", "tabindex", "0", "aria-label", caption+": table")
	p.open("table")
	p.element("caption", caption)
	p.head(t)
	p.open("tbody")
	for _, row := range t.rows {
		p.row(t, row)
	}
	p.close("tbody")
	p.close("table")
	p.close("div")
	if left > 0 {
		p.element("p", moreRows(left), "class", "note")
	}
}

func (p *page) head(t table) {
	p.open("thead")
	groups, grouped := t.groups(), false
	for _, g := range groups {
		grouped = grouped || g.name != ""
	}
	p.open("tr")
	for _, g := range groups {
		switch {
		case g.name != "":
			p.element("th", bounded(g.name, mostCell), "scope", "colgroup", "class", "group", "colspan", fmt.Sprint(g.to-g.from))
		case grouped:
			p.names(t, g, "2")
		default:
			p.names(t, g, "1")
		}
	}
	p.close("tr")
	if grouped {
		p.open("tr")
		for _, g := range groups {
			if g.name != "" {
				p.names(t, g, "1")
			}
		}
		p.close("tr")
	}
	p.close("thead")
}

// names are the headings of a group's columns.
func (p *page) names(t table, g group, rows string) {
	for i, c := range t.columns[g.from:g.to] {
		class := columnClass(c)
		if g.name != "" && i == 0 {
			class += " first"
		}
		p.element("th", bounded(c.name, mostCell), "scope", "col", "class", class, "rowspan", rows)
	}
}

// shortName is up to where a row's name stays on one line.
const shortName = 24

func (p *page) row(t table, cells []string) {
	p.open("tr")
	for i, c := range t.columns {
		class := columnClass(c)
		if c.group != "" && (i == 0 || t.columns[i-1].group != c.group) {
			class += " first"
		}
		if i == 0 {
			if utf8.RuneCountInString(cells[i]) <= shortName {
				class += " short"
			}
			p.element("th", bounded(cells[i], mostCell), "scope", "row", "class", class)
			continue
		}
		p.element("td", cells[i], "class", class)
	}
	p.close("tr")
	p.WriteByte('\n')
}

func columnClass(c column) string {
	if c.text {
		return "words"
	}
	return "number"
}
