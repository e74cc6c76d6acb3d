package report

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"windtunnel/analysis"
	"windtunnel/result"
)

// Whatever a run file holds that can be read, every format reports it, and pages and pictures are well-formed.
func FuzzReport(f *testing.F) {
	whole, err := os.ReadFile(filepath.Join(runFolder(f, oneBlock()), result.FileName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"record":"run","format":1,"ratios":[{"over":"A","under":"B"}],"hypotheses":[{"holds":{"all":[{"ratio":{}}]}}],"nodes":[{"name":"a"}]}
{"record":"cell","cell":"A","pairs":[{"from":{"node":"a"},"to":{"node":"b"}}],"published":{"received_bits_per_second":1e308}}
{"record":"cell","cell":"B","published":{"received_bits_per_second":1e-308}}
{"record":"trial","cell":"A","block":1,"pairs":[{"receiver":{"window_seconds":1e-300,"bytes":18446744073709551615}}],"nodes":{"a":{"window_seconds":1e-300,"cpus":[{"busy":1e308},{"busy":1e308}]}}}
{"record":"trial","cell":"B","block":1,"pairs":[{},{}],"nodes":{"b":{"window_seconds":-1,"cpus":[{"cpu":-1}]}}}
`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := result.Decode(bytes.NewReader(text))
		if err != nil {
			return
		}
		findings := analysis.Of(file)
		for _, format := range Formats() {
			if err := Write(format.Name, &bytes.Buffer{}, findings, Options{Color: true}); err != nil {
				t.Fatal(err)
			}
		}
		elements(t, pageOf(t, &maker{file}))
		files, err := Files("md", findings, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, picture := range files[1:] {
			elements(t, string(picture.Content))
		}
	})
}
