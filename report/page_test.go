package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"windtunnel/analysis"
	"windtunnel/result"
)

// mostBytes is what a page may be at most.
const mostBytes = 2_000_000

func pageOf(t testing.TB, m *maker) string {
	t.Helper()
	var got bytes.Buffer
	if err := Write("html", &got, analysis.Of(m.file), Options{}); err != nil {
		t.Fatal(err)
	}
	return got.String()
}

// Every golden of Markdown's pictures is a file as a repository would hold it.
func TestMarkdownWithPictures(t *testing.T) {
	files, err := Files("md", analysis.Of(normal().file), Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("testdata", "normal.md.d")
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		if *update {
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(name, f.Content, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(f.Content)); d != "" {
			t.Errorf("%s (-want +got, -update writes it anew):\n%s", name, d)
		}
	}
	for _, name := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(string(files[0].Content), -1) {
		if _, err := os.Stat(filepath.Join(dir, name[1])); err != nil {
			t.Errorf("the page shows %s, which is not beside it", name[1])
		}
	}
}

// hostile puts a text into every place of a run that a report could print.
func hostile(text string) *maker {
	m := otherKinds()
	r := &m.file.Run
	r.Suite, r.Asks, r.Source, r.ID, r.StartedAt, r.Version, r.Wire = text, text, text, text, text, text, text
	r.Command, r.Assumed = []string{"windtunnel", text}, map[string]string{text: text}
	r.Doubts = append(r.Doubts, result.Doubt{Kind: text, Says: text})
	for i := range r.Nodes {
		r.Nodes[i].Host = text
		r.Nodes[i].Fingerprint = result.Fingerprint{text: text}
	}
	for i := range r.Hypotheses {
		r.Hypotheses[i].ID, r.Hypotheses[i].Says, r.Hypotheses[i].Holds.Text = text, text, text
	}
	for i := range m.file.Cells {
		c := &m.file.Cells[i]
		c.Says, c.Path, c.Topology, c.Configuration, c.Engines = text, text, text, text, text
		c.Doubts = append(c.Doubts, result.Doubt{Cell: c.Name, Kind: text, Says: text})
		c.Pairs[0].From.Container = text
	}
	for i := range m.file.Trials {
		t := &m.file.Trials[i]
		for name, node := range t.Nodes {
			node.Links = append(node.Links, result.LinkSample{Place: text, Device: text, RxDropped: 1})
			node.Switches = append(node.Switches, result.SwitchSample{Switch: text, Received: 2, Drops: map[string]uint64{text: 1}})
			t.Nodes[name] = node
		}
		t.Pairs[0].Limit = &result.Limit{Verdict: result.PathLimited, Says: text}
	}
	m.file.Trials[0].Excluded = text
	return m
}

var attacks = []string{
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</style><script>alert(1)</script>", "</title></desc></svg><script>alert(1)</script>",
	"]]><script>alert(1)</script>", "-->", "&lt;script&gt;", "javascript:alert(1)", "' onmouseover='alert(1)", "\u202eevil\u2066", "\x00\x1b[31m\uffff\ufffe", "\xff\xfe", "`</code><script>",
}

// Whatever a run file says, a page has only the elements that this package writes, is well-formed, and asks for nothing.
func TestHostileTextsStayTexts(t *testing.T) {
	known := elements(t, pageOf(t, hostile("harmless")))
	for _, attack := range attacks {
		page := pageOf(t, hostile(attack))
		if d := cmp.Diff(known, elements(t, page)); d != "" {
			t.Errorf("%q changed the elements:\n%s", attack, d)
		}
		files, err := Files("md", analysis.Of(hostile(attack).file), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files[1:] {
			elements(t, string(f.Content))
			if !regexp.MustCompile(`^[a-z0-9-]+\.svg$`).MatchString(f.Name) {
				t.Errorf("a file's name is %q", f.Name)
			}
		}
	}
}

// In Markdown an entity is a character, also an invisible one, and a pair of tildes strikes out.
func TestMarkdownHasNoEntitiesOfOthers(t *testing.T) {
	var page strings.Builder
	if err := Write("md", &page, analysis.Of(hostile("&rlm;evil ~~not~~").file), Options{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(page.String()) {
		code := strings.HasPrefix(line, "    ") || strings.Contains(line, "`") // where neither means anything
		if !code && (strings.Contains(line, "&rlm;") || strings.Contains(line, "~~")) {
			t.Fatal(line)
		}
	}
}

// elements counts the elements of a page with their attributes' names; it fails the test on what is not well-formed, and
// on attributes that could run or fetch anything.
func elements(t *testing.T, page string) map[string]int {
	t.Helper()
	count := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(page, "<!DOCTYPE html>\n")))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		shape := start.Name.Local
		for _, a := range start.Attr {
			shape += " " + a.Name.Local
			if forbidden(start, a) {
				t.Errorf("<%s %s=%q>", start.Name.Local, a.Name.Local, a.Value)
			}
		}
		if shape != "title" { // a label that was cut has one
			count[shape]++
		}
		if start.Name.Local == "script" {
			t.Error("a script")
		}
	}
}

func forbidden(e xml.StartElement, a xml.Attr) bool {
	name := a.Name.Local
	return strings.HasPrefix(name, "on") || name == "src" || name == "style" || name == "href" && !strings.HasPrefix(a.Value, "#")
}

// The colours' text is in the page as it is, so it must end no element.
func TestStylesHaveNoMarkup(t *testing.T) {
	for _, style := range []string{pageStyle, pictureStyle} {
		for _, bad := range []string{"<", "url(", "@import", "&"} {
			if strings.Contains(style, bad) {
				t.Errorf("a style has %q", bad)
			}
		}
	}
}

// A run of ten thousand cells, the most that a reader takes, with long texts, is a page that a browser opens.
func TestPagesAreBounded(t *testing.T) {
	long := strings.Repeat("<&\"", 3000)
	m := newRun()
	for i := range 10_000 {
		name := fmt.Sprintf("cell %d %s", i, long[:200])
		m.cell(result.Cell{Name: name, Says: long[:200], Path: "wire", Pairs: onNodes, Topology: long, Configuration: long})
		m.file.Run.Doubts = append(m.file.Run.Doubts, result.Doubt{Cell: name, Kind: "long", Says: fmt.Sprint(i, long[:500])})
	}
	for i := range 1000 {
		m.file.Run.Ratios = append(m.file.Run.Ratios, result.Ratio{Over: m.file.Cells[i].Name, Under: m.file.Cells[i+1].Name})
	}
	for _, c := range m.file.Cells[:2000] {
		m.file.Trials = append(m.file.Trials, result.Trial{Cell: c.Name, Block: 1, WindowSeconds: 1, Excluded: long[:300]})
	}
	page := pageOf(t, m)
	if len(page) > mostBytes {
		t.Errorf("a page of %d bytes", len(page))
	}
	if !strings.Contains(page, "left out") {
		t.Error("it does not say that something is left out")
	}
	if !strings.Contains(page, "To repeat it") || !strings.HasSuffix(page, "</html>\n") {
		t.Error("it is not whole")
	}
	elements(t, page)
}

// Text, Markdown and HTML say the same of a run: every sentence of the text report is in the others.
func TestFormatsSayTheSame(t *testing.T) {
	for name, m := range map[string]*maker{"normal": normal(), "kinds": otherKinds(), "one-block": oneBlock(), "failed": failedCell()} {
		page := pageOf(t, m)
		for _, s := range documentOf(analysis.Of(m.file)).sections {
			for _, i := range s.items {
				if !strings.Contains(page, escaped(i.says, mostText)) {
					t.Errorf("%s: the page does not say %q", name, i.says)
				}
			}
			for _, note := range s.notes {
				if !strings.Contains(page, escaped(note, mostText)) {
					t.Errorf("%s: the page does not say %q", name, note)
				}
			}
		}
	}
}

// Every plot has a name that is a file's, a place that some report has, and figures for those who do not see it.
func TestPlots(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range plots {
		if seen[p.name] || !regexp.MustCompile(`^[a-z-]+$`).MatchString(p.name) {
			t.Errorf("the plot's name %q is no name of its own", p.name)
		}
		seen[p.name] = true
		place, drawn := false, false
		for _, m := range []*maker{normal(), otherKinds(), searched(), mesh(), severalPairs(), layered()} {
			f := analysis.Of(m.file)
			place = place || hasHeading(documentOf(f).sections, p.after)
			for _, c := range p.draw(f) {
				drawn = true
				if c.says == "" || c.picture == nil || c.figures == nil || len(c.figures.rows) == 0 {
					t.Errorf("%s: a chart lacks its sentence, its picture or its figures", p.name)
				}
				if c.picture.height <= 0 || c.picture.height > 4000 {
					t.Errorf("%s: a picture %g high", p.name, c.picture.height)
				}
			}
		}
		if !place || !drawn {
			t.Errorf("%s: no report here has the section %q (%v) or the plot (%v)", p.name, p.after, place, drawn)
		}
	}
}
