package offload

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"windtunnel/vrouter/core"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGoldenTexts: what a port's rules look like, in each form.
func TestGoldenTexts(t *testing.T) {
	exact := []Flow{
		flow("sender", core.ProtocolTCP, "10.0.1.3:40000", "10.0.1.4:5201"),
		flow("sender", core.ProtocolUDP, "10.0.1.3:40000", "10.0.1.5:53"), // one of several ways
		flow("sender", core.ProtocolTCP, "[fd00:1::3]:40000", "[fd00:1::4]:5201"),
		flow("sender", core.ProtocolUDP, "10.0.1.3:40000", "10.0.1.4:4789"),
		flow("sender", core.ProtocolTCP, "10.0.1.9:40000", "10.0.1.4:5201"),
		flow("sender", core.ProtocolTCP, "10.0.1.3:40000", "10.0.1.254:5201"),
		flow("guarded", core.ProtocolTCP, "10.0.2.4:40000", "10.7.0.1:443"),
		flow("guarded", core.ProtocolTCP, "10.0.2.4:40000", "10.7.0.1:80"),
		flow("guarded", core.ProtocolTCP, "10.0.2.4:8080", "10.7.0.1:80"), // an answer
	}
	cases := []struct {
		name, only string
		target     Target
		flows      []Flow
		write      func(Plan, io.Writer) error
	}{
		{"sender.testpmd", "sender", RTEFlow, exact, Plan.Testpmd},
		{"wide.testpmd", "wide", RTEFlow, nil, Plan.Testpmd},
		{"fabric.testpmd", "fabric", RTEFlow, nil, Plan.Testpmd},
		{"sender.tc", "sender", Flower, exact, Plan.Flower},
		{"wide.tc", "wide", Flower, nil, Plan.Flower},
		{"fabric.tc", "fabric", Flower, nil, Plan.Flower},
		{"guarded.testpmd", "guarded", RTEFlow, exact, Plan.Testpmd},
		{"guarded.json", "guarded", RTEFlow, exact, func(p Plan, out io.Writer) error {
			e := json.NewEncoder(out)
			e.SetIndent("", " ")
			return e.Encode(p)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, o := smallNode(t, c.target)
			o.Only, o.Flows = c.only, c.flows
			var got bytes.Buffer
			if err := c.write(Translate(m, o), &got); err != nil {
				t.Fatal(err)
			}
			goldenText(t, c.name, got.Bytes())
		})
	}
}

// goldenText compares an output with testdata/<name>.golden.
func goldenText(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (go test -update writes it anew):\n%s", path, diff)
	}
}
