package suites_test

import (
	"math"
	"testing"

	"windtunnel/result"
	"windtunnel/scenario"
)

// figures are the columns of the source's tables, by cell: Mbit/s sent and
// received, CPU % at the sender's and at the receiver's node.
type figures map[string][4]float64

var sourceTables = map[string]figures{
	"contrail-windows": {
		"A": {7375.159, 7375.198, 14.799, 21.161},
		"B": {1592.691, 1592.698, 15.843, 42.278},
		"C": {1956.786, 1948.824, 57.098, 0}, // both ends on node a: one node, one reading
		"D": {658.291, 657.520, 40.992, 48.184},
		"E": {235.852, 235.784, 29.373, 25.064},
		"F": {98.734, 98.732, 34.544, 25.763},
	},
	"contrail-vmq": {
		"A": {7375.159, 7375.198, 14.799, 21.161},
		"B": {1592.691, 1592.698, 15.843, 42.278},
		"C": {2313.072, 2316.991, 36.044, 69.274},
		"D": {2500.388, 2501.5896, 34.294, 76.055},
		"E": {4845.864, 4845.932, 26.034, 63.549},
	},
}

func TestEveryPublishedFigure(t *testing.T) {
	for name, table := range sourceTables {
		for _, c := range load(t, name).Cells {
			want := map[result.Metric]float64{}
			if row, ok := table[c.Name]; ok {
				want[result.SentRate], want[result.ReceivedRate] = row[0], row[1]
				want[result.CPUPercent("a")], want[result.CPUPercent("b")] = row[2], row[3]
			}
			compare(t, name, c, want)
		}
	}
}

// packetTable is the source's: Mpps of all receivers, and the share of 10 GbE that it gives.
var packetTable = map[string]map[string][2]float64{
	"nfv-pps": {"64B-tc-mplsoudp": {0.56, 3}, "64B-poll-mplsoudp": {4.0, 26}, "smartnic-10g": {14.9, 100}, "smartnic-40g": {19.9, 0}},
	"nfv-vms": {"64B-kernel": {0.56, 3}, "64B-poll": {4.0, 26}},
}

func TestEveryPublishedPacketRate(t *testing.T) {
	for name, table := range packetTable {
		comparePackets(t, load(t, name), table)
	}
}

// TestPublishedJumboFigures: all that the source's text has, 4.8 and nearly 9 Gbit/s.
func TestPublishedJumboFigures(t *testing.T) {
	want := map[string]float64{"1500-single-none-half": 4.8e9, "9000-single-none-half": 9e9}
	for _, c := range load(t, "converged-jumbo").Cells {
		if got := c.Published[result.ReceivedRate]; got != want[c.Name] || len(c.Published) > 1 {
			t.Errorf("%s: %v", c.Name, c.Published)
		}
	}
}

func comparePackets(t *testing.T, spec scenario.Spec, table map[string][2]float64) {
	t.Helper()
	found := 0
	for _, c := range spec.Cells {
		row, is := table[c.Name]
		if is {
			found++
		}
		packets, line := c.Published[result.ReceivedPacketRate], c.Published[result.LineShare10G]
		if math.Abs(packets-row[0]*1e6) > 1 || line != row[1] {
			t.Errorf("%s: %g packets/s and %g %%, the source has %v", c.Name, packets, line, row)
		}
		// What a share is of is told nowhere but by its figures: the rate over the line rate of 64 bytes, cut off.
		if line > 0 && math.Floor(math.Min(100, 100*packets/result.LineRate(result.Ethernet10G, 64, 0))) != line {
			t.Errorf("%s: %g packets/s are not %g %% of 10 GbE", c.Name, packets, line)
		}
	}
	if found != len(table) {
		t.Errorf("%s: %d of the source's %d rows", spec.Suite, found, len(table))
	}
}

func compare(t *testing.T, suite string, c scenario.Cell, want map[result.Metric]float64) {
	t.Helper()
	for metric, figure := range want {
		if metric.CPUNode() == "" {
			figure *= 1e6
		}
		got, ok := c.Published[metric]
		if ok != (figure != 0) || got-figure > 1 || figure-got > 1 || metric.CPUNode() != "" && got != figure {
			t.Errorf("%s: %s of %s is %v, the source has %v", suite, metric, c.Name, got, figure)
		}
	}
	if len(c.Published) > len(want) {
		t.Errorf("%s: %s has figures that the source lacks", suite, c.Name)
	}
}

// What the published figures say of the source's own sentences.
func TestSentencesOnPublishedFigures(t *testing.T) {
	want := map[string]map[string]string{
		"contrail-windows": {
			"factor-3-4": "refuted", // its table says 4.63
			"by-design":  "supported", "switch-bottleneck": "supported", "vrouter-50-60": "supported",
			"baseline": "supported", "receiver-pays": "supported",
		},
		"nfv-pps": {
			"kernel-unsuitable": "supported", "dpdk-better": "supported",
			"dpdk-short-of-smartnic": "supported", "smartnic-beyond-10g": "supported",
		},
		"nfv-vms": {"kernel-unsuitable": "supported", "dpdk-better": "supported"},
		"container-published-port": {
			// The source has no server without a container.
			"no-bottleneck-tcp": "unknown", "no-bottleneck-udp": "unknown", "no-bottleneck-highest": "unknown",
			"similar": "supported", "windows-decrease": "supported", "windows-sender": "supported", "hyperkit-tcp": "supported",
			"hyperkit-collapse": "supported", "virtualbox-beats-hyperkit": "supported", "linux-is-best": "supported",
		},
		"converged-jumbo": {
			// The source's text has two figures, at no setting of the rest.
			"jumbo-first": "unknown", "jumbo-helps": "supported", "fewer-cycles": "unknown", "features-do-not-lift": "unknown",
			"no-cpu-no-gain": "unknown", "spread-helps-when-full": "unknown", "send-side": "unknown", "one-core-limits": "unknown",
			"cpu-is-the-limit": "unknown",
		},
		"contrail-vmq": {
			"pairs-double": "refuted", "adapter-bound": "refuted", // by the source itself
			"adapter-cap": "supported", "single-stream-drop": "supported", "receiver-pays": "supported",
			"not-per-adapter": "supported", "overhead": "supported", "eight-cpus": "supported",
			"overhead-per-byte": "unknown", // the source has no such figure
		},
	}
	for name, verdicts := range want {
		spec := load(t, name)
		if len(spec.Hypotheses) != len(verdicts) {
			t.Errorf("%s has %d hypotheses", name, len(spec.Hypotheses))
		}
		for _, h := range spec.Hypotheses {
			if got := judge(spec, h.Holds); got != verdicts[h.ID] {
				t.Errorf("%s: %s is %s, want %s", name, h.ID, got, verdicts[h.ID])
			}
		}
	}
}

func judge(spec scenario.Spec, p result.Predicate) string {
	verdict := "supported"
	for _, c := range p.All {
		over, _ := spec.Cell(c.Ratio.Over)
		under, _ := spec.Cell(c.Ratio.Under)
		x, y := over.Published[c.Ratio.Metric], under.Published[c.Ratio.Metric]
		if x == 0 || y == 0 {
			return "unknown"
		}
		if c.Low != nil && x/y < *c.Low || c.High != nil && x/y > *c.High {
			verdict = "refuted"
		}
	}
	return verdict
}
