package command

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	goflag "flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/traffic/ntttcp"
)

var update = goflag.Bool("update", false, "write the goldens anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmpDiff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", name, diff)
	}
}

// normal is a window of 15 s: 2 threads, 10 GB; by UDP in datagrams of 1400 bytes.
var normal = ntttcp.Outcome{
	Seconds: 15, Bytes: 10e9, Calls: 76294, Packets: 7142858, Connections: 2, RTT: 412 * time.Microsecond,
	Threads: []ntttcp.ThreadOutcome{{Bytes: 6e9, Calls: 45777}, {Bytes: 4e9, Calls: 30517}},
}

var normalUsage = usage{seconds: 15, counters: counters{
	process: 12 * time.Second, mhz: 2600,
	cpu:        cpuTime{cpus: 2, user: 300, system: 900, idle: 1500, iowait: 100, softirq: 200, total: 3000},
	interrupts: 150000, softirqs: 300000, device: 7500, nicSent: 70000, nicReceived: 5000,
	tcp:       tcpCounters{sent: 160000, received: 120000, retransmitted: 30, failed: 1, lost: 3, syn: 1, fast: 15, slowStart: 6, retryFail: 2},
	udpErrors: 12,
}}

func windowsCase(t *testing.T, args string, o ntttcp.Outcome, u usage) windowsResult {
	t.Helper()
	w, err := parseWindows(strings.Fields(args))
	if err != nil {
		t.Fatal(err)
	}
	return windowsResult{w, o, u, "bench-<1>"}
}

func linuxCase(t *testing.T, args string, o ntttcp.Outcome, u usage) linuxResult {
	t.Helper()
	l, err := parseLinux(strings.Fields(args))
	if err != nil {
		t.Fatal(err)
	}
	return linuxResult{l, o, u, "bench", `Linux "bench" 6.18`}
}

func TestWindowsText(t *testing.T) {
	for name, c := range map[string]windowsResult{
		"sender":   windowsCase(t, "-s -m 2,*,a -l 128k -a 2 -t 15", normal, normalUsage),
		"receiver": windowsCase(t, "-r -m 2,*,a -rb 2M -t 15 -hpt", normal, normalUsage),
		"udp":      windowsCase(t, "-s -m 2,*,a -u -l 1400 -t 15", normal, normalUsage),
		"uro":      windowsCase(t, "-r -m 2,*,a -u -uro -l 1400 -t 15", normal, normalUsage),
		"zero":     windowsCase(t, "-r -m 1,*,a -t 15", ntttcp.Outcome{Threads: make([]ntttcp.ThreadOutcome, 1)}, usage{}),
	} {
		var out bytes.Buffer
		if err := c.writeText(&out); err != nil {
			t.Fatal(err)
		}
		golden(t, "windows-"+name+".txt", out.String())
	}
}

func TestWindowsXML(t *testing.T) {
	sender := windowsCase(t, "-s -m 2,*,a -l 128k -a 2 -t 15 -xml", normal, normalUsage)
	receiver := windowsCase(t, "-r -m 2,*,a -rb 2M -hpt -n 20k", normal, normalUsage)
	sampled := windowsCase(t, "-r -m 2,*,a -t 15 -sam 5 -xml -hpt", normal, normalUsage)
	for name, results := range map[string][]windowsResult{
		"sender": {sender}, "receiver": {receiver}, "samples": {sampled, sampled},
	} {
		text := windowsXML(results)
		wellFormed(t, text)
		golden(t, "windows-"+name+".xml", text)
	}
}

func TestLinuxOutput(t *testing.T) {
	for name, c := range map[string]linuxResult{
		"sender":   linuxCase(t, "-s 10.0.0.1 -P 2 -n 1 -V --show-tcp-retrans --show-nic-packets eth0 --show-dev-interrupts mlx4 -t 15", normal, normalUsage),
		"receiver": linuxCase(t, "-r -P 2", normal, normalUsage),
		"udp":      linuxCase(t, "-s 10.0.0.1 -P 2 -n 1 -u -b 1400", normal, normalUsage),
		"zero":     linuxCase(t, "-r -P 1", ntttcp.Outcome{Threads: make([]ntttcp.ThreadOutcome, 1)}, usage{}),
	} {
		golden(t, "linux-"+name+".txt", strings.Join(c.lines(), "\n")+"\n")
		text := c.xml()
		wellFormed(t, text)
		golden(t, "linux-"+name+".xml", text)
		text, err := c.json()
		if err != nil || !json.Valid([]byte(text)) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		golden(t, "linux-"+name+".json", text)
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
}

func TestHelp(t *testing.T) { golden(t, "help.txt", help()) }

// Units differ: the same bytes are fewer MB on Windows.
func TestUnitsAreEachToolsOwn(t *testing.T) {
	o := ntttcp.Outcome{Seconds: 1, Bytes: 1 << 20, Threads: make([]ntttcp.ThreadOutcome, 1)}
	if text := windowsXML([]windowsResult{windowsCase(t, "-r -m 1,*,a -t 1", o, usage{})}); !strings.Contains(text, `<total_bytes metric="MB">1.000000<`) {
		t.Error(text)
	}
	if text := linuxCase(t, "-r -P 1", o, usage{}).xml(); !strings.Contains(text, `<total_bytes metric="MB">1.048576<`) {
		t.Error(text)
	}
}

func TestThroughputTakesTheLargestUnit(t *testing.T) {
	for bytes, want := range map[uint64]string{0: "0.00bps", 100: "800.00bps", 125000: "1000.00Kbps", 125001: "1.00Mbps", 1 << 40: "8796.09Gbps"} {
		if got := throughput(bytes, 1); got != want {
			t.Errorf("%d bytes in a second: %s, want %s", bytes, got, want)
		}
	}
	if got := throughput(5, 0); got != "0.00bps" {
		t.Errorf("in no time: %s", got)
	}
}
