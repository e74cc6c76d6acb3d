package generator

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

func recorded(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// half is a trial of half a second of what was recorded for one.
func half(kind string, message int64) task {
	return task{kind: kind, load: result.Options{"message": message}, host: "127.0.0.1", port: 5999, window: time.Second / 2}
}

// TestToolsAreRead reads what each tool printed, on loopback, of a known load.
func TestToolsAreRead(t *testing.T) {
	iperf3Of := func(name string) output { return output{out: recorded(t, name)} }
	for name, c := range map[string]struct {
		tool     tool
		task     task
		receives bool
		said     output
		rate     float64 // Mbit/s of payload; 0: not told
		told     float64 // of the receiver, by the sender
		lost     bool
		version  string
	}{
		"iperf3 sends TCP":    {iperf3{}, half("stream", 1400), false, iperf3Of("iperf3-tcp-client.json"), 40, 0, false, "3.12"},
		"iperf3 receives TCP": {iperf3{}, half("stream", 1400), true, iperf3Of("iperf3-tcp-server.json"), 40, 0, false, "3.12"},
		"iperf3 sends UDP":    {iperf3{}, half("datagram", 1400), false, iperf3Of("iperf3-udp-client.json"), 11.2, 0, false, "3.12"},
		"iperf3 receives UDP": {iperf3{}, half("datagram", 1400), true, iperf3Of("iperf3-udp-server.json"), 11.2, 0, false, "3.12"},
		"nuttcp sends TCP":    {nuttcp{}, half("stream", 1400), false, output{out: recorded(t, "nuttcp-tcp.txt")}, 0, 40, false, "6.1.2"},
		"nuttcp sends UDP":    {nuttcp{}, half("datagram", 1400), false, output{out: recorded(t, "nuttcp-udp.txt")}, 509.4, 407.4, true, "6.1.2"},
		"nuttcp's server":     {nuttcp{}, half("datagram", 1400), true, output{}, 0, 0, false, ""},
		"sockperf asks":       {sockperf{}, half("ping", 64), false, output{out: recorded(t, "sockperf.txt"), log: recorded(t, "sockperf.log")}, 0.0512, 0.0512, false, "3.7"},
		"sockperf's server":   {sockperf{}, half("ping", 64), true, output{}, 0, 0, false, ""},
		"ntttcp sends TCP":    {ntttcp{}, half("stream", 131072), false, output{out: recorded(t, "ntttcp-sender.txt"), log: recorded(t, "ntttcp-sender.json")}, ntttcpRate, 0, false, "1.4.3"},
		"ntttcp receives TCP": {ntttcp{}, half("stream", 131072), true, output{log: recorded(t, "ntttcp-receiver.json")}, ntttcpRate, 0, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			end, err := c.tool.read(c.task, c.receives, c.said)
			if err != nil {
				t.Fatal(err)
			}
			check(t, "its", end, c.rate)
			if end.Told != nil {
				check(t, "the receiver's", *end.Told, c.told)
			} else if c.told != 0 {
				t.Error("it tells nothing of the receiver")
			}
			arrived := end.Arrived
			if end.Told != nil && end.Told.Arrived != nil {
				arrived = end.Told.Arrived
			}
			if lost := arrived != nil && arrived.Lost > 0; lost != c.lost {
				t.Errorf("arrived %+v", arrived)
			}
			if got := c.tool.version(c.said); got != c.version {
				t.Errorf("version %q, want %q", got, c.version)
			}
		})
	}
}

// TestWhatComesLateWasNotLost: iperf3 takes it back in a later interval, 3.12 without a sign.
func TestWhatComesLateWasNotLost(t *testing.T) {
	interval := func(lost string) string {
		return `{"sum":{"seconds":0.25,"bytes":100000,"packets":500,"lost_packets":` + lost + `,"jitter_ms":0,"sender":false}}`
	}
	for name, c := range map[string]struct {
		intervals []string
		lost      []uint64 // in the window, the last half second
		fails     bool
	}{
		"with a sign":           {[]string{"20", "-20"}, []uint64{0, 0}, false},
		"without":               {[]string{"20", "18446744073709551596"}, []uint64{0, 0}, false},
		"some of it":            {[]string{"20", "-5"}, []uint64{15, 0}, false},
		"of two before":         {[]string{"7", "20", "-25"}, []uint64{0, 0}, false},
		"of before the window":  {[]string{"20", "3", "-8"}, []uint64{0, 0}, false},
		"more than was missing": {[]string{"2", "-5"}, []uint64{0, 0}, false},
		"none at all":           {[]string{"0", "null"}, []uint64{0, 0}, false},
		"impossible":            {[]string{"0", "9000000000000000"}, nil, true},
		"no number":             {[]string{"0", `"x"`}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			var all []string
			for _, lost := range c.intervals {
				all = append(all, interval(lost))
			}
			end, err := iperf3{}.read(half("datagram", 200), true, output{out: `{"start":{"version":"iperf 3.12"},"intervals":[` + strings.Join(all, ",") + `]}`})
			if (err != nil) != c.fails {
				t.Fatal(err)
			}
			if c.fails {
				return
			}
			if sum := c.lost[0] + c.lost[1]; end.Arrived.Lost != sum || end.Arrived.Expected != 1000+sum {
				t.Errorf("%+v", *end.Arrived)
			}
			for i, lost := range c.lost {
				if end.Intervals[i].Lost != lost {
					t.Errorf("interval %d lost %d, want %d", i, end.Intervals[i].Lost, lost)
				}
			}
		})
	}
}

// ntttcpRate is what the recorded run printed, in Mbit/s.
const ntttcpRate = -1

func check(t *testing.T, whose string, end result.PairEnd, want float64) {
	t.Helper()
	if want == 0 {
		if end.WindowSeconds != 0 || end.Bytes != 0 {
			t.Errorf("%s: %d bytes in %g s that nobody told", whose, end.Bytes, end.WindowSeconds)
		}
		return
	}
	rate, err := end.Rate()
	if err != nil {
		t.Fatal(err)
	}
	if rate /= 1e6; want > 0 && math.Abs(rate/want-1) > 0.02 {
		t.Errorf("%s rate is %g Mbit/s, want %g", whose, rate, want)
	}
	if want > 0 && math.Abs(end.WindowSeconds-0.5) > 0.1 || rate <= 0 {
		t.Errorf("%s window has %g s, %g Mbit/s", whose, end.WindowSeconds, rate)
	}
}

// TestNothingIsMadeUp gives each tool what is cut off, of the other end, of nobody, or
// impossible, and wants an error, never a figure.
func TestNothingIsMadeUp(t *testing.T) {
	client, server := recorded(t, "iperf3-udp-client.json"), recorded(t, "iperf3-udp-server.json")
	lines, log := recorded(t, "nuttcp-udp.txt"), recorded(t, "sockperf.log")
	printed, ntttcpSaid := recorded(t, "sockperf.txt"), recorded(t, "ntttcp-sender.json")
	long := half("datagram", 1400)
	long.window = 5 * time.Second
	longAsk := half("ping", 64)
	longAsk.window = 5 * time.Second
	for name, c := range map[string]struct {
		tool tool
		task task
		said output
	}{
		"iperf3: nothing":       {iperf3{}, half("datagram", 1400), output{}},
		"iperf3: cut off":       {iperf3{}, half("datagram", 1400), output{out: client[:len(client)/2]}},
		"iperf3: the other end": {iperf3{}, half("datagram", 1400), output{out: server}},
		"iperf3: too short":     {iperf3{}, long, output{out: client}},
		"iperf3: an error":      {iperf3{}, half("datagram", 1400), output{out: `{"error":"unable to connect"}`}},
		"iperf3: below zero":    {iperf3{}, half("datagram", 1400), output{out: strings.ReplaceAll(client, `"bytes":	`, `"bytes":	-`)}},
		"iperf3: no sums":       {iperf3{}, half("datagram", 1400), output{out: strings.ReplaceAll(client, `"sum"`, `"some"`)}},
		"nuttcp: nothing":       {nuttcp{}, half("datagram", 1400), output{out: "\n\n"}},
		"nuttcp: too short":     {nuttcp{}, long, output{out: lines}},
		"nuttcp: no word":       {nuttcp{}, half("datagram", 1400), output{out: strings.ReplaceAll(lines, "pkt=", "kpt=")}},
		"nuttcp: times differ":  {nuttcp{}, half("datagram", 1400), output{out: strings.ReplaceAll(lines, "real_sec=0", "real_sec=1")}},
		"nuttcp: below zero":    {nuttcp{}, half("datagram", 1400), output{out: strings.ReplaceAll(lines, "drop=", "drop=-")}},
		"sockperf: nothing":     {sockperf{}, half("ping", 64), output{}},
		"sockperf: no log":      {sockperf{}, half("ping", 64), output{out: printed}},
		"sockperf: cut off":     {sockperf{}, half("ping", 64), output{out: printed, log: log[:len(log)*2/3]}},
		"sockperf: too short":   {sockperf{}, longAsk, output{out: printed, log: log}},
		"sockperf: no losses":   {sockperf{}, half("ping", 64), output{log: log}},
		"ntttcp: nothing":       {ntttcp{}, half("stream", 1400), output{}},
		"ntttcp: the other end": {ntttcp{}, half("stream", 1400), output{log: recorded(t, "ntttcp-receiver.json")}},
		"ntttcp: another unit":  {ntttcp{}, half("stream", 1400), output{log: strings.ReplaceAll(ntttcpSaid, `"MB"`, `"GB"`)}},
		"ntttcp: no number":     {ntttcp{}, half("stream", 1400), output{log: strings.ReplaceAll(ntttcpSaid, `"value" : "`, `"value" : "x`)}},
	} {
		if end, err := c.tool.read(c.task, false, c.said); err == nil {
			t.Errorf("%s: it was read as %d bytes in %g s", name, end.Bytes, end.WindowSeconds)
		}
	}
}

// TestUntoldIsNotZero: what a tool does not tell has no figure.
func TestUntoldIsNotZero(t *testing.T) {
	end, err := iperf3{}.read(half("datagram", 1400), true, output{out: recorded(t, "iperf3-udp-server.json")})
	if err != nil {
		t.Fatal(err)
	}
	trial := result.Trial{Pairs: []result.PairSample{{Sender: end, Receiver: end}}}
	if v, err := (result.Cell{}).Value(trial, result.Loss); err != nil || v != 0 {
		t.Errorf("loss %g, %v", v, err)
	}
	for _, m := range []result.Metric{result.Duplicates, result.Corrupt, result.LatePackets, result.Reordered} {
		if v, err := (result.Cell{}).Value(trial, m); err == nil {
			t.Errorf("%s is %g, which iperf3 does not tell", m, v)
		}
	}
	lossy := strings.Replace(recorded(t, "sockperf.txt"), "dropped messages = 0", "dropped messages = 7", 1)
	end, err = sockperf{}.read(half("ping", 64), false, output{out: lossy, log: recorded(t, "sockperf.log")})
	if err != nil {
		t.Fatal(err)
	}
	trial.Pairs[0].Sender, trial.Pairs[0].Receiver = end, *end.Told
	if v, err := (result.Cell{}).Value(trial, result.Loss); err == nil {
		t.Errorf("loss %g, of which nobody knows whether it was in the window", v)
	}
}

// FuzzRead reads any output of any tool without a crash, and no impossible figure.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"iperf3-tcp-client.json", "iperf3-udp-server.json", "nuttcp-tcp.txt", "nuttcp-udp.txt", "sockperf.txt", "sockperf.log", "ntttcp-sender.json"} {
		f.Add(recorded(f, name), recorded(f, "sockperf.log"), true)
	}
	f.Add(recorded(f, "sockperf.txt"), recorded(f, "ntttcp-receiver.json"), false)
	f.Fuzz(func(t *testing.T, out, log string, receives bool) {
		said := output{out: out, log: log}
		for _, tool := range tools() {
			for _, kind := range []string{"stream", "datagram", "ping"} {
				if _, able := tool.able(kind); !able {
					continue
				}
				tool.version(said)
				end, err := tool.read(half(kind, 64), receives, said)
				if err != nil {
					continue
				}
				if w := end.WindowSeconds; !(w >= 0) || math.IsInf(w, 0) || end.Bytes > 1<<63 {
					t.Errorf("%s: %d bytes in %g s", tool.name(), end.Bytes, w)
				}
			}
		}
	})
}
