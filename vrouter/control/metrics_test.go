package control

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A metric family, as a strict reader of the text format 0.0.4 finds it.
type family struct {
	help, kind string
	samples    map[string]float64 // by labels, as they are written
}

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)`)
)

// parse reads the format strictly: help and type once before the samples, samples of a family
// together and each once, labels well formed, a line feed at the end.
func parse(text string) (map[string]*family, error) {
	families := make(map[string]*family)
	if !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("no line feed at the end")
	}
	current := ""
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		word := strings.SplitN(line, " ", 4)
		switch {
		case strings.HasPrefix(line, "# HELP "):
			if current = word[2]; families[current] != nil || !metricName.MatchString(current) || len(word) < 4 {
				return nil, fmt.Errorf("line %d: a second or wrong HELP: %s", i+1, line)
			}
			families[current] = &family{help: word[3], samples: make(map[string]float64)}
		case strings.HasPrefix(line, "# TYPE "):
			if word[2] != current || families[current].kind != "" || word[3] != "counter" && word[3] != "gauge" {
				return nil, fmt.Errorf("line %d: a wrong TYPE: %s", i+1, line)
			}
			families[current].kind = word[3]
		default:
			if err := sample(families[current], current, line); err != nil {
				return nil, fmt.Errorf("line %d: %w: %s", i+1, err, line)
			}
		}
	}
	return families, nil
}

func sample(f *family, current, line string) error {
	m := sampleLine.FindStringSubmatch(line)
	if m == nil || f == nil || f.kind == "" || m[1] != current {
		return fmt.Errorf("no sample of the family %q", current)
	}
	for rest := m[3]; rest != ""; {
		pair := labelPair.FindString(rest)
		if pair == "" {
			return fmt.Errorf("wrong labels at %q", rest)
		}
		rest = rest[len(pair):]
	}
	value, err := strconv.ParseFloat(m[4], 64)
	if _, twice := f.samples[m[3]]; twice || err != nil {
		return fmt.Errorf("a second sample, or %w", err)
	}
	f.samples[m[3]] = value
	return nil
}

func sampleStats() Stats {
	count := func(n uint64) Count { return Count{n, 2 * n, 100 * n} }
	port := Traffic{
		Rx: count(20), Forwarded: count(12), Answered: count(3), Dropped: count(5), Drops: map[string]uint64{"no_route": 5},
		Tx: count(8), Lost: count(1), Losses: map[string]uint64{"ecn": 1},
	}
	return Stats{
		Received: count(30), ReceivedVif: count(20), ReceivedFabric: count(10), Forwarded: count(20), Passed: count(1), Answered: count(3), Dropped: count(6),
		Drops: map[string]uint64{"no_route": 5, "ecn": 1}, Fast: FastStats{4, 2}, Networks: []NetworkStats{{"network1", 1, 4, port}}, Vifs: []VifStats{{"sender", "network1", port}},
	}
}

func TestMetrics(t *testing.T) {
	var out strings.Builder
	status := Status{Name: "a \"b\" \\ \n", Fabric: "wire0", Address: "10.0.0.1", Address6: "fd00:f::1", Problem: "p", Networks: 1, Applied: time.UnixMilli(1500), Unresolved: []string{"10.0.0.9"}}
	status.Poll = &Poll{PID: 7, Restarts: 2, Cores: []Core{{CPU: 3, Busy: 10, Idle: 20, Packets: 5, Handed: 3, Missed: 4}}, StageCycles: map[string]float64{"move": 12.5}}
	status.Offload = &Offloaded{Rules: 8, Forwarded: Count{7, 7, 700}, Dropped: Count{2, 2, 200}, Settled: true, Refused: []OffloadReason{{"full", 3}, {"no", 1}},
		Ports: []OffloadPort{{Port: "fabric", Why: "no switch"}, {Port: "sender", Takes: true, Rules: 8, Received: Count{9, 9, 900}}}}
	if err := WriteMetrics(&out, status, sampleStats()); err != nil {
		t.Fatal(err)
	}
	families, err := parse(out.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for name, f := range families {
		if !strings.HasPrefix(name, "vrouter_") || (f.kind == "counter") != strings.HasSuffix(name, "_total") {
			t.Errorf("%s is a %s", name, f.kind)
		}
	}
	for name, want := range map[string]map[string]float64{
		"vrouter_info":                                    {`name="a \"b\" \\ \n",fabric="wire0",address="10.0.0.1",address6="fd00:f::1"`: 1},
		"vrouter_unresolved_tunnels":                      {"": 1},
		"vrouter_problem":                                 {"": 1},
		"vrouter_poll_process_up":                         {"": 1},
		"vrouter_poll_restarts_total":                     {"": 2},
		"vrouter_poll_cycles_total":                       {`cpu="3",state="busy"`: 10, `cpu="3",state="idle"`: 20},
		"vrouter_poll_packets_total":                      {`cpu="3"`: 5},
		"vrouter_poll_missed_packets_total":               {`cpu="3"`: 4},
		"vrouter_poll_handed_packets_total":               {`cpu="3"`: 3},
		"vrouter_offload_rules":                           {`state="taken"`: 8, `state="refused"`: 4},
		"vrouter_offload_settled":                         {"": 1},
		"vrouter_offload_packets_total":                   {`outcome="forwarded"`: 7, `outcome="dropped"`: 2},
		"vrouter_offload_bytes_total":                     {`outcome="forwarded"`: 700, `outcome="dropped"`: 200},
		"vrouter_offload_port_takes":                      {`port="fabric"`: 0, `port="sender"`: 1},
		"vrouter_offload_port_rules":                      {`port="fabric"`: 0, `port="sender"`: 8},
		"vrouter_offload_port_received_packets_total":     {`port="fabric"`: 0, `port="sender"`: 9},
		"vrouter_poll_stage_cycles_per_packet":            {`stage="move"`: 12.5},
		"vrouter_configuration_applied_timestamp_seconds": {"": 1.5},
		"vrouter_received_segments_total":                 {`from="port"`: 40, `from="fabric"`: 20},
		"vrouter_fast_packets_total":                      {`from="port"`: 4, `from="fabric"`: 2},
		"vrouter_bytes_total":                             {`outcome="passed"`: 100, `outcome="dropped"`: 600},
		"vrouter_dropped_packets_total":                   {`reason="no_route"`: 5, `reason="vlan"`: 0},
		"vrouter_network_packets_total":                   {`network="network1",outcome="forwarded"`: 12},
		"vrouter_network_dropped_packets_total":           {`network="network1",direction="to",reason="ecn"`: 1},
		"vrouter_port_delivered_packets_total":            {`network="network1",port="sender"`: 8},
	} {
		for labels, value := range want {
			if got, there := families[name].samples[labels]; !there || got != value {
				t.Errorf("%s{%s} is %v, not %v: %v", name, labels, got, value, families[name])
			}
		}
	}
	for _, unit := range []string{"packets", "segments", "bytes"} {
		for _, of := range []string{"", "network_", "port_"} {
			if a, b := total(families["vrouter_"+of+"received_"+unit+"_total"]), total(families["vrouter_"+of+unit+"_total"]); a != b || a == 0 {
				t.Errorf("%s%s: %v were received, %v became of them", of, unit, a, b)
			}
		}
	}
}

func total(f *family) (sum float64) {
	for _, value := range f.samples {
		sum += value
	}
	return sum
}

// TestParseIsStrict: the reader above refuses what a lenient one would not.
func TestParseIsStrict(t *testing.T) {
	for _, text := range []string{
		"a 1\n", "# HELP a b\n# TYPE a counter\na 1", "# HELP a b\n# TYPE a counter\nb 1\n", "# HELP a b\n# TYPE a counter\na{x=\"1} 1\n",
		"# HELP a b\n# TYPE a counter\na 1\na 2\n", "# HELP a b\n# TYPE a counter\n# HELP a b\n", "# HELP a b\n# TYPE a counter\na x\n",
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestListenMetrics(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:9475": "to other machines", "10.0.0.1:9475": "to other machines", "[::]:9475": "to other machines",
		"localhost:9475": "is no address for metrics", "9475": "is no address for metrics",
	} {
		if _, err := ListenMetrics(address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	listener, err := ListenMetrics("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
}
