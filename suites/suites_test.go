package suites_test

import (
	"slices"
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/scenario"
	"windtunnel/suites"
)

// vocabulary is what the shipped suites may rely on. The real one, which run
// puts together, has at least these words.
func vocabulary() scenario.Vocabulary {
	return scenario.Vocabulary{
		Paths: map[string][]result.Option{
			"wire":   nil,
			"bridge": nil,
			"team": {
				{Name: "members", Type: result.Count, Min: 2, Max: 8, Default: int64(2)},
				{Name: "pull", Type: result.Switch, Default: false},
				{Name: "by", Type: result.Word, Words: []string{"auto", "route", "bond"}, Default: "auto"},
			},
			"vxlan": {{Name: "vni", Type: result.Count, Min: 1, Max: 1<<24 - 1, Default: int64(1)}},
			"vrouter": {
				{Name: "encapsulation", Type: result.Word, Words: []string{"mplsoudp", "vxlan", "none"}, Default: "mplsoudp"},
				{Name: "mode", Type: result.Word, Words: []string{"kernel", "poll"}, Default: "kernel"},
				{Name: "fast", Type: result.Word, Words: []string{"auto", "off", "on"}, Default: "auto"},
				{Name: "far", Type: result.Word, Words: []string{"vrouter", "tester"}, Default: "vrouter"},
			},
			"published-port": {
				{Name: "proxy", Type: result.Switch, Default: true},
				{Name: "connect", Type: result.Word, Words: []string{"address", "loopback"}},
			},
			"user-network":      {{Name: "by", Type: result.Word, Words: []string{"qemu", "passt"}, Default: "qemu"}},
			"vm-published-port": {{Name: "network", Type: result.Word, Words: []string{"host-only", "qemu"}, Default: "host-only"}},
			"host-network":      nil,
			"macvlan":           nil,
			"redirect":          nil,
			"testpmd":           nil,
			"ovs-dpdk":          {{Name: "encapsulation", Type: result.Word, Words: []string{"none", "vxlan"}, Default: "none"}},
			"ovs": {
				{Name: "encapsulation", Type: result.Word, Words: []string{"none", "vxlan"}, Default: "none"},
				{Name: "tso", Type: result.Switch, Default: false},
			},
		},
		Kinds: map[string][]result.Option{
			"stream": {
				{Name: "message", Type: result.Size, Min: 1, Max: 64 << 20, Default: int64(128 << 10)},
				{Name: "streams", Type: result.Count, Min: 1, Max: 1024, Default: int64(1)},
				{Name: "threads", Type: result.Count, Min: 1, Max: 1024, Default: int64(1)},
				{Name: "nodelay", Type: result.Switch, Default: false},
				{Name: "buffer", Type: result.Size, Min: 1},
				{Name: "direction", Type: result.Word, Words: []string{"forward", "reverse", "both"}, Default: "forward"},
				{Name: "congestion", Type: result.Word, Default: "cubic"},
				{Name: "generator", Type: result.Word, Words: []string{"windtunnel", "iperf3", "ntttcp", "nuttcp", "sockperf"}},
			},
			"datagram": {
				{Name: "message", Type: result.Size, Min: 1, Max: 65507, Default: int64(1400)},
				{Name: "segmentation", Type: result.Word, Words: []string{"auto", "off"}, Default: "auto"},
				{Name: "aggregation", Type: result.Word, Words: []string{"auto", "off"}, Default: "auto"},
				{Name: "rate", Type: result.BitRate},
				{Name: "packets", Type: result.PacketRate},
				{Name: "generator", Type: result.Word, Words: []string{"windtunnel", "iperf3", "ntttcp", "nuttcp", "sockperf"}},
			},
			"ping": {
				{Name: "rate", Type: result.PacketRate},
				{Name: "message", Type: result.Size, Min: 1, Max: 1 << 20},
				{Name: "protocol", Type: result.Word, Words: []string{"tcp", "udp"}, Default: "tcp"},
				{Name: "reads", Type: result.Count, Min: 0, Max: 100},
				{Name: "depth", Type: result.Count, Min: 1, Max: 4096, Default: int64(1)},
				{Name: "generator", Type: result.Word, Words: []string{"windtunnel", "iperf3", "ntttcp", "nuttcp", "sockperf"}},
			},
			"frame": {
				{Name: "size", Type: result.Size, Words: []string{"imix"}, Min: 64, Max: 9018, Default: int64(64)},
				{Name: "flows", Type: result.Count, Min: 1, Max: 1_000_000, Default: int64(1)},
				{Name: "generator", Type: result.Word, Words: []string{"windtunnel", "testpmd", "pktgen", "trex"}},
			},
		},
		Features: []string{"smartnic", "desktop-engine", "kvm"},
	}
}

func load(t *testing.T, name string) scenario.Spec {
	t.Helper()
	text, err := suites.Text(name)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := scenario.Parse(text, name+".yaml", vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestEveryShippedSuiteLoads(t *testing.T) {
	for _, name := range suites.List() {
		spec := load(t, name)
		if spec.Suite != name {
			t.Errorf("%s.yaml calls itself %s", name, spec.Suite)
		}
		if spec.Asks == "" {
			t.Errorf("%s asks nothing", name)
		}
		for _, c := range spec.Cells {
			if c.Says == "" {
				t.Errorf("%s: the cell %s says nothing", name, c.Name)
			}
		}
	}
}

func TestUnknownSuiteNamesTheKnown(t *testing.T) {
	_, err := suites.Text("overlai")
	if err == nil || !strings.Contains(err.Error(), strings.Join(suites.List(), ", ")) {
		t.Errorf("got %v", err)
	}
}

func TestCellsAreTheSources(t *testing.T) {
	want := map[string][]string{
		"contrail-windows": {"A", "B", "C", "D", "E", "F", "D-flat", "D-vxlan"},
		"contrail-vmq":     {"A", "B", "C", "D", "E"},
		"wire-aa":          {"one", "other"},
		"overlay": {"as-found-bridge", "as-found-flat", "as-found-mplsoudp", "as-found-vxlan",
			"off-bridge", "off-flat", "off-mplsoudp", "off-vxlan"},
	}
	for name, cells := range want {
		if got := load(t, name).CellNames(); !slices.Equal(got, cells) {
			t.Errorf("%s has the cells %v, want %v", name, got, cells)
		}
	}
}
