package layout

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named are paths of this repository as the documents write them.
var named = regexp.MustCompile("`((?:agent|analysis|bench|cmd|datapath|docs|measure|report|result|run|scenario|stats|suites|testbed|tests|traffic|vrouter)/[A-Za-z0-9_./-]+)`")

// TestDocumentsNameWhatIsThere follows every path that a document names.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range append(documents, "../../README.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			path := strings.TrimSuffix(match[1], "/")
			if strings.Contains(path, "NAME") || strings.HasPrefix(path, "bench/RESULTS") {
				continue
			}
			if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
				t.Errorf("%s names %s, which is not there", document, path)
			}
		}
	}
}
