package result

import (
	"strings"
	"testing"
)

// TestMisfitsAreNamed: who edited a figure is told which one it is, what is expected and what to do, in no word of Go's.
func TestMisfitsAreNamed(t *testing.T) {
	before := runLine + "\n" + cellLine + "\n"
	trial := func(more string) string {
		return before + `{"record":"trial","cell":"A","block":1,` + more + "}\n" + endLine + "\n"
	}
	for name, c := range map[string]struct{ text, says string }{
		"a text for a number":      {trial(`"window_seconds":"1 s"`), `line 3: window_seconds is the text "1 s", and must be a number under 1.8e308; the file was changed`},
		"in lists of objects":      {trial(`"pairs":[{},{"sender":{"window_seconds":1,"bytes":"many"}}]`), `line 3: pairs[1].sender.bytes is the text "many", and must be a whole number from 0 on, of at most 64 bits`},
		"below zero":               {trial(`"pairs":[{"receiver":{"bytes":-5}}]`), "pairs[0].receiver.bytes is -5, and must be a whole number from 0 on"},
		"a fraction":               {trial(`"block":1.5`), "block is 1.5, and must be a whole number of at most 64 bits"},
		"beyond all numbers":       {trial(`"window_seconds":1e400`), "window_seconds is 1e400, and must be a number"},
		"a list for an object":     {trial(`"nodes":[1]`), "line 3: nodes is a list, and must be an object"},
		"an object for a list":     {trial(`"pairs":{"a":1}`), "line 3: pairs is an object, and must be a list"},
		"a truth for a text":       {runLine + "\n" + `{"record":"cell","cell":true}`, "line 2: cell is true, and must be a text"},
		"a hostile name":           {trial(`"nodes":{"a\u001b[31m":{"window_seconds":"x"}}`), "line 3: nodes.a\ufffd[31m.window_seconds is"},
		"in a figure":              {before + `{"record":"search","cell":"A","goals":[{}],"found":[{"rate":{"mean":"x","n":3}}]}`, `line 3: in a figure: mean is the text "x", and must be a number`},
		"a number alone":           {before + "5\n", "line 3: not a record: the whole is 5, and must be an object"},
		"a bracket too many":       {trial(`"pairs":[]]`), `line 3: not a record: no JSON from byte 50 on, at "]}"; the file was changed`},
		"breaks off":               {before + `{"record":"trial",` + "\n" + endLine + "\n", "line 3: not a record: the line breaks off after 18 bytes; the file was changed"},
		"breaks off at once":       {`{"record":"run","form` + "\n", "line 1: not a record: the line breaks off after 21 bytes"},
		"another file":             {"root:x:0:0:root:/root:/bin/bash\n", `line 1: not a record but "root:x:0:0:root:/root:/b...": this is no run file`},
		"another file, of control": {"\x1b[31m\n", `line 1: not a record but "\x1b[31m": this is no run file`},
	} {
		_, err := Decode(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
