//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pages are goldens of the package that writes them: what users get. With PAGES_SOAK they are all, wide and narrow in either light.
func pages(t testing.TB) (names []string) {
	t.Helper()
	if os.Getenv("PAGES_SOAK") == "" {
		return []string{"normal", "kinds", "long-names", "nothing-usable", "mesh"}
	}
	files, err := filepath.Glob("../../report/testdata/*.html")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".html"))
	}
	return names
}

// screen is what a page is looked at on.
type screen struct {
	width  int
	scheme string
}

func screens() []screen {
	if os.Getenv("PAGES_SOAK") == "" {
		return []screen{{1200, "light"}, {400, "dark"}}
	}
	return []screen{{1280, "light"}, {1280, "dark"}, {400, "light"}, {400, "dark"}}
}

func pageFile(t testing.TB, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("../../report/testdata", name+".html"))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPagesOpen opens reports in a browser, wide and narrow, light and dark: they ask for nothing, the browser complains of
// nothing, no label is cut off or lies on another, and nothing makes the page wider than the screen.
func TestPagesOpen(t *testing.T) {
	besideOthers(t)
	b := needsBrowser(t)
	for _, name := range pages(t) {
		file := pageFile(t, name)
		for _, screen := range screens() {
			requests, complaints := b.open(file, screen.width, screen.scheme)
			if len(requests) != 1 || requests[0] != "file://"+file {
				t.Errorf("%s asks for %v", name, requests)
			}
			if len(complaints) > 0 {
				t.Errorf("%s: %s", name, strings.Join(complaints, "\n"))
			}
			var bad []string
			b.evaluate(&bad, lookForClippedLabels)
			if len(bad) > 0 {
				t.Errorf("%s at %d px, %s: %s", name, screen.width, screen.scheme, strings.Join(bad, "\n"))
			}
		}
	}
}

// TestBadPagesAreFound plants what the tests of pages look for, so that their silence means something.
func TestBadPagesAreFound(t *testing.T) {
	besideOthers(t)
	b := needsBrowser(t)
	file := filepath.Join(t.TempDir(), "bad.html")
	bad := `<!DOCTYPE html><html><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><img src="gone.png"><script>1</script>
		<p style="width:2000px">wide</p><svg viewBox="0 0 100 50" width="100" height="50"><text x="90" y="20">outside</text><text x="88" y="20">upon it</text></svg></html>`
	if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	_, complaints := b.open(file, 400, "light")
	if len(complaints) < 3 { // the image, the script, the style
		t.Errorf("the browser complains of %q", complaints)
	}
	var unfit []string
	b.evaluate(&unfit, lookForClippedLabels)
	if found := strings.Join(unfit, "\n"); !strings.Contains(found, "leaves its picture") || !strings.Contains(found, "lies on") {
		t.Errorf("found %q", found)
	}
	if axe, err := os.ReadFile(axeFile); err == nil {
		if found := b.accessible(string(axe)); len(found) == 0 {
			t.Error("axe-core finds nothing in a page without language, title and alternatives")
		}
	}
}

// lookForClippedLabels lists what does not fit: labels that leave their picture or meet another one, and a page wider than the screen.
const lookForClippedLabels = `(() => {
	const bad = [];
	if (document.documentElement.scrollWidth > innerWidth) bad.push("the page is " + document.documentElement.scrollWidth + " px wide");
	for (const svg of document.querySelectorAll("svg")) {
		const room = svg.viewBox.baseVal, boxes = [];
		for (const text of svg.querySelectorAll("text")) {
			const b = text.getBBox(), says = text.firstChild ? text.firstChild.data : "";
			if (b.width === 0) continue;
			if (b.x < 0 || b.y < 0 || b.x + b.width > room.width || b.y + b.height > room.height) bad.push("'" + says + "' leaves its picture");
			for (const [o, other] of boxes)
				if (b.x < o.x + o.width && o.x < b.x + b.width && b.y + 3 < o.y + o.height && o.y + 3 < b.y + b.height) bad.push("'" + says + "' lies on '" + other + "'");
			boxes.push([b, says]);
		}
	}
	return bad.slice(0, 20);
})()`

// TestPagesAreForEverybody asks axe-core, which finds what keeps people with a screen reader, a keyboard or weak eyes from a
// page, and walks through one by the tabulator key.
func TestPagesAreForEverybody(t *testing.T) {
	besideOthers(t)
	axe, err := os.ReadFile(axeFile)
	if err != nil {
		t.Skip("needs axe-core (make peers, with npm)")
	}
	b := needsBrowser(t)
	type page struct{ name, scheme string }
	looked := []page{{"normal", "light"}, {"normal", "dark"}, {"kinds", "light"}, {"layers", "dark"}}
	if os.Getenv("PAGES_SOAK") != "" {
		looked = nil
		for _, name := range pages(t) {
			looked = append(looked, page{name, "light"}, page{name, "dark"})
		}
	}
	for _, page := range looked {
		b.open(pageFile(t, page.name), 1000, page.scheme)
		for _, found := range b.accessible(string(axe)) {
			t.Errorf("%s, %s: %s", page.name, page.scheme, found)
		}
	}
}

const axeFile = "../../bin/axe-core/axe.min.js"

// accessible lists what axe-core finds serious in the page that is open.
func (b *browser) accessible(axe string) []string {
	b.t.Helper()
	b.evaluate(nil, axe+";0")
	var found []string
	b.evaluate(&found, `axe.run({resultTypes: ["violations"]}).then(r => r.violations.filter(v => v.impact === "serious" || v.impact === "critical").
		map(v => v.id + " (" + v.impact + "): " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html).join(" ")))`)
	return found
}

// TestPagesByKeyboard reaches everything that can be followed, opened or scrolled, and nothing twice.
func TestPagesByKeyboard(t *testing.T) {
	besideOthers(t)
	b := needsBrowser(t)
	b.open(pageFile(t, "normal"), 1000, "light")
	var stops int
	b.evaluate(&stops, `document.querySelectorAll("a[href], summary, details[open] [tabindex], [tabindex]:not(details [tabindex])").length`)
	const tab = 9
	b.evaluate(nil, `window.reached = new Set(); 0`)
	var first string
	for i := range stops {
		b.press("Tab", tab)
		if i == 0 {
			b.evaluate(&first, `document.activeElement.textContent`)
		}
		b.evaluate(nil, `window.reached.add(document.activeElement); 0`)
	}
	var reached int
	b.evaluate(&reached, `window.reached.size`)
	if stops < 10 || reached != stops || first != "Skip to the answer" {
		t.Errorf("the keyboard reached %d of %d places, the first is %q", reached, stops, first)
	}
	var opened bool
	b.evaluate(nil, `document.querySelector("summary").focus(); 0`)
	b.enter()
	b.evaluate(&opened, `document.querySelector("details").open`)
	if !opened {
		t.Error("the figures of a picture do not open by the Enter key")
	}
	b.open(pageFile(t, "layers"), 1000, "light")
	b.evaluate(nil, `document.querySelector("details.tree > summary").focus(); 0`)
	for range 3 { // the tree, a program, what that called
		b.enter()
		b.press("Tab", tab)
	}
	var deep int
	b.evaluate(&deep, `document.querySelectorAll("details.tree details[open]").length`)
	if deep != 2 {
		t.Errorf("of a flame graph's calls %d are open by keys: want two", deep)
	}
}

// enter presses the Enter key.
func (b *browser) enter() {
	b.t.Helper()
	const enter = 13
	b.ask(nil, "Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": enter, "text": "\r"})
	b.ask(nil, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": enter})
}
