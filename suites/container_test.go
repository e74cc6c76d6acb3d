package suites_test

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/suites"
)

const containerSuite = "container-published-port"

// iperfEnd is one end's row of the source: what it printed, 0 where it has no such row or column.
type iperfEnd struct {
	seconds, bytes, megabits, jitterMs float64
	lost, datagrams                    int
	percent                            float64 // as printed, rounded
}

// The bytes that iperf3 prints are binary.
const (
	mebi = 1 << 20
	gibi = 1 << 30
)

// iperfRows is every figure of the source's results, sender and receiver.
var iperfRows = map[string][2]iperfEnd{
	"tcp-published":     {{10.00, 2.25 * gibi, 1930, 0, 0, 0, 0}, {10.00, 2.25 * gibi, 1930, 0, 0, 0, 0}},
	"udp-published":     {{10.00, 2.03 * gibi, 1750, 0.001, 0, 1558358, 0}, {10.04, 2.03 * gibi, 1740, 0.001, 0, 1558358, 0}},
	"windows-tcp":       {{10.00, 636 * mebi, 533, 0, 0, 0, 0}, {10.00, 635 * mebi, 533, 0, 0, 0, 0}},
	"windows-udp-500M":  {{}, {10.04, 311 * mebi, 259, 0.063, 1944, 234533, 0.83}},
	"hyperkit-tcp":      {{10.00, 783 * mebi, 657, 0, 0, 0, 0}, {10.05, 782 * mebi, 653, 0, 0, 0, 0}},
	"hyperkit-udp-700M": {{10.00, 704 * mebi, 590, 0, 0, 527011, 0}, {10.04, 73.0 * mebi, 61.0, 0.196, 465750, 520391, 90}},
	"hyperkit-udp-100M": {{10.00, 119 * mebi, 100, 0, 0, 89279, 0}, {10.05, 116 * mebi, 97.0, 0.121, 2202, 89243, 2.5}},
	"hyperkit-udp-200M": {{10.00, 238 * mebi, 200, 0, 0, 178559, 0}, {10.07, 137 * mebi, 114, 0.168, 75085, 177875, 42}},
	"virtualbox-tcp":    {{10.00, 1.13 * gibi, 974, 0, 0, 0, 0}, {10.01, 1.13 * gibi, 972, 0, 0, 0, 0}},
	"virtualbox-udp-1G": {{10.00, 1.16 * gibi, 1000, 0, 0, 892826, 0}, {10.01, 1.11 * gibi, 956, 0.017, 38594, 892750, 4.3}},
}

func TestEveryPublishedRowOfIperf3(t *testing.T) {
	spec := load(t, containerSuite)
	found := 0
	for _, c := range spec.Cells {
		row, is := iperfRows[c.Name]
		if !is {
			if len(c.Published) > 0 {
				t.Errorf("%s has figures that the source lacks", c.Name)
			}
			continue
		}
		found++
		want := map[result.Metric]float64{result.ReceivedRate: row[1].megabits * 1e6}
		if row[0].megabits > 0 {
			want[result.SentRate] = row[0].megabits * 1e6
		}
		if row[1].datagrams > 0 {
			want[result.Loss], want[result.Jitter] = row[1].percent, row[1].jitterMs/1e3
		}
		if c.Name == "tcp-published" {
			want[result.Retransmits] = 0 // only Linux printed them
		}
		for m, v := range want {
			if got, ok := c.Published[m]; !ok || math.Abs(got-v) > 1e-9*v {
				t.Errorf("%s: %s is %g (%t), the source has %g", c.Name, m, got, ok, v)
			}
		}
		if len(c.Published) != len(want) {
			t.Errorf("%s: %v, the source has %v", c.Name, c.Published, want)
		}
	}
	if found != len(iperfRows) {
		t.Errorf("%d of the source's %d rows", found, len(iperfRows))
	}
}

// TestPublishedRowsAgreeWithThemselves: a rate is its bytes by its seconds, a loss its datagrams.
func TestPublishedRowsAgreeWithThemselves(t *testing.T) {
	const rounded = 0.006 // three digits of the bytes, three of the rate
	for name, row := range iperfRows {
		for end, r := range row {
			if r.seconds == 0 {
				continue
			}
			if rate := 8 * r.bytes / r.seconds / 1e6; math.Abs(rate/r.megabits-1) > rounded {
				t.Errorf("%s, end %d: %g bytes in %g s are %g Mbit/s, not %g", name, end, r.bytes, r.seconds, rate, r.megabits)
			}
			if share := 100 * float64(r.lost) / float64(max(1, r.datagrams)); math.Abs(share-r.percent) > 0.6 {
				t.Errorf("%s, end %d: %d of %d are %g %%, not %g", name, end, r.lost, r.datagrams, share, r.percent)
			}
		}
	}
}

// TestTheRestOfTheRowsIsInTheSuite: seconds, bytes and datagrams are no metrics, and stand in its text.
func TestTheRestOfTheRowsIsInTheSuite(t *testing.T) {
	text, err := suites.Text(containerSuite)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(strings.TrimPrefix(line, "#")); strings.HasPrefix(line, "#   ") && len(fields) == 7 {
			rows[fields[0]] = fields[1:]
		}
	}
	for name, row := range iperfRows {
		var want []string
		for _, r := range row {
			want = append(want, r.columns()...)
		}
		if got := rows[name]; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// columns are an end's seconds, bytes and datagrams, as the suite writes them.
func (r iperfEnd) columns() []string {
	if r.seconds == 0 {
		return []string{"-", "-", "-"}
	}
	size := strconv.FormatFloat(r.bytes/gibi, 'f', 2, 64) + "GiB"
	if r.bytes < gibi {
		digits := 0
		if r.bytes < 100*mebi {
			digits = 1
		}
		size = strconv.FormatFloat(r.bytes/mebi, 'f', digits, 64) + "MiB"
	}
	lost := "-"
	if r.datagrams > 0 {
		lost = strconv.Itoa(r.lost) + "/" + strconv.Itoa(r.datagrams)
	}
	return []string{strconv.FormatFloat(r.seconds, 'f', 2, 64), size, lost}
}

// TestContainerSuite: each load on each place, the source's rates and its message.
func TestContainerSuite(t *testing.T) {
	spec := load(t, containerSuite)
	for _, name := range []string{"host", "namespace", "published", "proxy", "macvlan"} {
		for _, load := range []string{"tcp", "udp", "find"} {
			c, ok := spec.Cell(load + "-" + name)
			if !ok || c.Load["message"] != int64(1400) || (load == "find") != (c.Find != nil) || (load == "tcp") != (c.Traffic == "stream") {
				t.Errorf("%s-%s: %+v", load, name, c)
			}
		}
	}
	rates := map[string]float64{"udp-100M": 100e6, "udp-200M": 200e6, "udp-500M": 500e6, "udp-700M": 700e6, "udp-1G": 1e9, "udp-published": 2e9,
		"windows-udp-500M": 500e6, "hyperkit-udp-700M": 700e6, "hyperkit-udp-100M": 100e6, "hyperkit-udp-200M": 200e6, "virtualbox-udp-1G": 1e9}
	for name, rate := range rates {
		if c, ok := spec.Cell(name); !ok || c.Load["rate"] != rate || c.Path != "published-port" {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestContainerInVMSuite: the figures are those of the source's rows that its systems have, and what is in a machine needs KVM.
func TestContainerInVMSuite(t *testing.T) {
	all := load(t, containerSuite)
	rows := map[string]string{"tcp-docker": "tcp-published", "tcp-toolbox": "windows-tcp", "tcp-desktop": "hyperkit-tcp",
		"udp-toolbox": "windows-udp-500M", "udp-desktop-700M": "hyperkit-udp-700M"}
	for _, c := range load(t, "container-in-vm").Cells {
		row, _ := all.Cell(rows[c.Name])
		if !maps.Equal(c.Published, row.Published) || c.Load["rate"] != row.Load["rate"] && rows[c.Name] != "" {
			t.Errorf("%s has %v, the source %v", c.Name, c.Published, row.Published)
		}
		inMachine := c.Pairs[0].To.VM != ""
		if inMachine != slices.Contains(c.Requires.Features, "kvm") || inMachine == (c.Path == "published-port") {
			t.Errorf("%s by the path %s needs %v", c.Name, c.Path, c.Requires.Features)
		}
	}
}
