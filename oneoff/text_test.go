package oneoff

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// example is an outcome that has a figure of every sort.
func example() Outcome {
	sender := result.PairEnd{
		WindowSeconds: 10, Bytes: 1.25e9, Packets: 1e6, CPUSeconds: 9, Threads: 1,
		Offered:     &result.Offered{Lag: &result.Histogram{Count: 5, P50: 1e-6, Max: 2e-3}, Method: "sendmmsg", Why: "the path refused udp-segment"},
		ZeroCopy:    &result.ZeroCopy{Method: "msg-zerocopy", Completed: 200, Copied: 50},
		Connections: []result.Connection{{Congestion: "cubic", MSS: 1448, RTTSeconds: 1e-4, Retransmits: 3}, {RTTSeconds: 3e-4, Retransmits: 4}},
		Latencies:   map[string]result.Histogram{result.LatencyIntended: {Count: 5, P99: 0.1}, result.LatencyActual: {Count: 5, P99: 0.002}},
		Frames:      &result.Frames{Size: 64, WireSize: 84, CountedAt: "af-packet eth0", Flows: 2},
	}
	receiver := result.PairEnd{WindowSeconds: 10, Bytes: 1.2e9, Packets: 960000, CPUSeconds: 5, Threads: 2,
		Arrived: &result.Arrived{Expected: 1000000, Lost: 39000, Late: 1000, Reordered: 3, Duplicate: 4, Corrupt: 5, SocketDrops: 6, Jitter: 7e-6, Method: "recvmmsg"}}
	limit := result.Limit{Verdict: result.PathLimited, Says: "because"}
	return Outcome{Kind: "datagram", Host: "h", Load: result.Options{"message": int64(1250), "rate": 1e9}, WarmUp: 1, Window: 10,
		Pair: result.PairSample{Sender: sender, Receiver: receiver, Limit: &limit}}
}

func TestSummary(t *testing.T) {
	var out bytes.Buffer
	if err := NewText(&out, &bytes.Buffer{}, Screen{}, nil).Outcome(example(), nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"datagram to h, 10 s after 1 s of warm-up\n",
		"message 1250B, rate 1Gbit/s\n",
		" 1.000 Gbit/s, 100.0 k/s\n",
		" 960.0 Mbit/s, 96.00 k/s\n",
		"1000000 expected, 39000 lost (3.90 %), 1000 late, 3 reordered, 4 duplicate, 5 corrupt\n",
		"6 of the lost in the receiving socket's buffer\n",
		" 7.000 us (RFC 3550)\n",
		"of 64 bytes with FCS, 84 on the wire with preamble and gap, 2 flows, sent, counted at af-packet eth0\n",
		"latency from the intended time ",
		"99 % 100.0 ms,",
		"latency from the actual time ",
		"99 % 2.000 ms,",
		"max 2.000 ms (5)\n",
		"7 retransmits, RTT 200.0 us, MSS 1448, cubic\n",
		"msg-zerocopy: 25 % of 200 sends were copied after all\n",
		"sender 1, 90 % busy; receiver 2, 25 % busy\n",
		"sendmmsg (the path refused udp-segment)\n",
		" recvmmsg\n",
		"path-limited: because\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, out.String())
		}
	}
}

// TestRequestsThatHadNoAnswerWereSent: half of them had one.
func TestRequestsThatHadNoAnswerWereSent(t *testing.T) {
	within := uint64(151)
	sender := result.PairEnd{
		WindowSeconds: 3, Bytes: 2400, Packets: 151, Threads: 1, Offered: &result.Offered{},
		Arrived: &result.Arrived{Expected: 300, Lost: 149, Within: &within}, Latencies: map[string]result.Histogram{result.LatencyActual: {Count: 151}},
	}
	o := Outcome{Kind: "ping", Host: "h", Window: 3, Pair: result.PairSample{Sender: sender, Receiver: result.PairEnd{WindowSeconds: 3, Bytes: 1208, Packets: 151}}}
	var out bytes.Buffer
	summarise(&out, o)
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"sent 6.400 kbit/s, 100.0 /s ", "received 3.221 kbit/s, 50.33 /s ", "answered 50.33 /s ", "requests 300 expected, 149 lost (50 %), 0 late, 0 duplicate"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q: %s", want, out.String())
		}
	}
}

// TestALossThatIsNotKnownIsNotTold, neither by a summary nor by a receiver's line.
func TestALossThatIsNotKnownIsNotTold(t *testing.T) {
	end := result.PairEnd{WindowSeconds: 3, Bytes: 1208, Packets: 151, Arrived: &result.Arrived{Expected: 151, Untold: []result.Metric{result.Loss}, Why: "the sender did not say"}}
	var out bytes.Buffer
	summarise(&out, Outcome{Kind: "datagram", Load: result.Options{}, Pair: result.PairSample{Sender: result.PairEnd{WindowSeconds: 3}, Receiver: end}})
	if text := out.String(); strings.Contains(text, "0 lost") || !strings.Contains(text, "151 came in time, 0 late, 0 reordered, 0 duplicate, 0 corrupt; what was lost is not known: the sender did not say") {
		t.Error(text)
	}
	if text := cameIn(end, false); strings.Contains(text, "0 %") || !strings.HasSuffix(text, ", what was lost is not known: the sender did not say") {
		t.Error(text)
	}
}

// filled is a kind's load with its defaults, as a measurement has it.
func filled(t *testing.T, name string, given result.Options) result.Options {
	t.Helper()
	kind, err := KindByName(name)
	if err != nil {
		t.Fatal(err)
	}
	load, err := complete(kind, given)
	if err != nil {
		t.Fatal(err)
	}
	return load
}

func TestARateThatWasNotAnsweredIsADoubt(t *testing.T) {
	within := uint64(10)
	sender := result.PairEnd{WindowSeconds: 1, Packets: 5, Offered: &result.Offered{TargetPacketsPerSecond: 100},
		Arrived:   &result.Arrived{Expected: 100, Lost: 95, Behind: 95, Within: &within},
		Latencies: map[string]result.Histogram{result.LatencyActual: {Count: 100}}}
	var out strings.Builder
	summarise(&out, Outcome{Kind: "ping", Load: result.Options{}, Pair: result.PairSample{Sender: sender, Receiver: result.PairEnd{WindowSeconds: 1}}})
	if !regexp.MustCompile(`doubt +the rate was not kept: answers came until the end, and were behind by 95 requests`).MatchString(out.String()) {
		t.Error(out.String())
	}
	out.Reset()
	summarise(&out, Outcome{Kind: "ping", Load: result.Options{}, Pair: result.PairSample{Sender: sender, Limit: &result.Limit{Verdict: result.RateReached}}})
	if text := out.String(); strings.Contains(text, "not kept") || !strings.Contains(text, "behind by 95 requests") {
		t.Errorf("of a rate that was kept: %s", text)
	}
}

func TestAWayThatWasGoneIsADoubt(t *testing.T) {
	sender := result.PairEnd{WindowSeconds: 1, Packets: 5, Offered: &result.Offered{AwaySeconds: 0.3, AwayWhy: "network is unreachable"}}
	var out strings.Builder
	summarise(&out, Outcome{Kind: "datagram", Load: result.Options{}, Pair: result.PairSample{Sender: sender, Receiver: result.PairEnd{WindowSeconds: 1}}})
	if !regexp.MustCompile(`doubt +for 300.0 ms the sender's system had no way to the receiver \(network is unreachable\)`).MatchString(out.String()) {
		t.Error(out.String())
	}
}

// TestColumnsAreTheKinds: what a line has is known before the first interval, which may be one in
// which nothing came yet, or in which an end told nothing.
func TestColumnsAreTheKinds(t *testing.T) {
	heads := map[string]string{
		"stream": "sent received retransmits", "ping": "requests median 99 %",
		"datagram": "sent received packets sent received lost", "frame": "sent received packets sent received lost",
	}
	quiet := result.Interval{To: 1}
	for _, kind := range Kinds() {
		load := filled(t, kind, nil)
		for _, direction := range []string{"forward", "reverse", "both"} {
			want := "from to " + heads[kind]
			if load.Text("direction") == "" && direction != "forward" {
				continue
			} else if direction != "forward" {
				load["direction"] = direction
			}
			if direction == "both" {
				want += " sent back received back"
			}
			for name, first := range map[string]Paired{
				"nothing came": {To: 1, Sender: &quiet, Receiver: &quiet}, "the sender alone": {To: 1, Sender: &quiet}, "the receiver alone": {To: 1, Receiver: &quiet},
			} {
				var progress bytes.Buffer
				NewText(&bytes.Buffer{}, &progress, Screen{}, load).Interval(first)
				head, _, _ := strings.Cut(progress.String(), "\n")
				if got := strings.Join(strings.Fields(head), " "); got != want {
					t.Errorf("%s, %s, %s: the columns are %q, want %q", kind, direction, name, got, want)
				}
			}
		}
	}
}

// TestIntervalLines are plain where nobody looks, and have the columns of their kind.
func TestIntervalLines(t *testing.T) {
	stream := Paired{From: -1, To: 0, Sender: &result.Interval{From: -1, Bytes: 125e6, Retransmits: 3}}
	packets := Paired{To: 1, Sender: &result.Interval{To: 1, Bytes: 1e6, Packets: 1000}, Receiver: &result.Interval{To: 1, Bytes: 5e5, Packets: 450, Lost: 100}}
	held := Paired{From: 2, To: 3, Sender: &result.Interval{From: 2, To: 3, Bytes: 1e6, Packets: 1000}, Receiver: &result.Interval{From: 2.7, To: 3, Bytes: 3e6, Packets: 3000}}
	short := Paired{From: 2, To: 3, Sender: &result.Interval{From: 2.0, To: 3, Packets: 1000}, Receiver: &result.Interval{From: 2.9999, To: 3, Packets: 3000, Lost: 7}}
	file, terminal, plain := Screen{}, Screen{Terminal: true, Color: true}, Screen{Terminal: true}
	requests := Paired{To: 1, Sender: &result.Interval{To: 1, Packets: 1000, LatencyP50: 1e-4, LatencyP99: 5e-3}}
	for name, c := range map[string]struct {
		kind     string
		interval Paired
		screen   Screen
		want     []string
	}{
		"stream":   {"stream", stream, file, []string{"retransmits\n", "-1.0   0.0    1.000 Gbit/s               -               3  warm-up\n"}},
		"terminal": {"stream", stream, terminal, []string{"\x1b[2m", "\x1b[0m\n"}},
		"no color": {"stream", stream, plain, []string{"               3  warm-up\n"}},
		"packets":  {"datagram", packets, terminal, []string{"1.000 kpps       450.0 pps             100\n"}},
		"held up":  {"datagram", held, file, []string{"1.000 kpps      10.00 kpps               0  (received from 2.7 to 3.0)\n"}},
		"no time":  {"datagram", short, terminal, []string{"1.000 kpps               -               7  (received from 3.0 to 3.0)\n"}},
		"requests": {"ping", requests, file, []string{"requests          median            99 %\n", "1.000 k/s        100.0 us        5.000 ms\n"}},
	} {
		var progress bytes.Buffer
		NewText(&bytes.Buffer{}, &progress, c.screen, filled(t, c.kind, nil)).Interval(c.interval)
		for _, want := range c.want {
			if !strings.Contains(progress.String(), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, progress.String())
			}
		}
		if !c.screen.Color && strings.Contains(progress.String(), "\x1b") {
			t.Errorf("%s has escapes where nobody wants them", name)
		}
	}
}

// TestAStalledSecondHasNoLatency: where no answer came there is none, and 0 would be the best of all.
func TestAStalledSecondHasNoLatency(t *testing.T) {
	var progress bytes.Buffer
	text := NewText(&bytes.Buffer{}, &progress, Screen{}, filled(t, "ping", nil))
	text.Interval(Paired{To: 1, Sender: &result.Interval{To: 1, Packets: 1000, LatencyP50: 1e-4, LatencyP99: 5e-3}})
	text.Interval(Paired{From: 1, To: 2, Sender: &result.Interval{From: 1, To: 2, Lost: 3}})
	if want := "1.0   2.0        0.000 /s               -               -\n"; !strings.Contains(progress.String(), want) {
		t.Errorf("lacks %q:\n%s", want, progress.String())
	}
}

// TestTimesOfIntervalsAreAsFine as their length: those of 0.25 s ended at 0.2, 0.5 and 0.8.
func TestTimesOfIntervalsAreAsFine(t *testing.T) {
	for every, want := range map[time.Duration]string{
		time.Second: "  0.2   0.5    ", 0: "  0.2   0.5    ", 250 * time.Millisecond: "  0.25   0.50    ",
		125 * time.Millisecond: "  0.250   0.500    ",
	} {
		var progress bytes.Buffer
		text := NewText(&bytes.Buffer{}, &progress, Screen{}, filled(t, "stream", nil))
		text.Every(every)
		text.Interval(Paired{From: 0.25, To: 0.5001, Sender: &result.Interval{From: 0.25, To: 0.5001, Bytes: 1}})
		head, line, _ := strings.Cut(progress.String(), "\n")
		if !strings.Contains(progress.String(), want) || len(head) != len(line)-1 {
			t.Errorf("every %s lacks %q:\n%s", every, want, progress.String())
		}
	}
}

func TestBackwardsSwapsTheColumns(t *testing.T) {
	var progress bytes.Buffer
	NewText(&bytes.Buffer{}, &progress, Screen{}, result.Options{"direction": "reverse"}).Interval(Paired{To: 1,
		Sender: &result.Interval{To: 1, Bytes: 125}, Receiver: &result.Interval{To: 1, Bytes: 250}})
	if !strings.Contains(progress.String(), "2.000 kbit/s    1.000 kbit/s") {
		t.Error(progress.String())
	}
}

func TestBothDirectionsHaveColumns(t *testing.T) {
	var progress bytes.Buffer
	NewText(&bytes.Buffer{}, &progress, Screen{}, result.Options{"direction": "both"}).Interval(Paired{To: 1,
		Sender: &result.Interval{To: 1, Bytes: 500, BackBytes: 125}, Receiver: &result.Interval{To: 1, Bytes: 375, BackBytes: 250}})
	for _, want := range []string{"sent back   received back\n", "4.000 kbit/s    3.000 kbit/s               0    2.000 kbit/s    1.000 kbit/s\n"} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("lacks %q:\n%s", want, progress.String())
		}
	}
}

// TestJSONLines are one object each, the last with everything.
func TestJSONLines(t *testing.T) {
	var out bytes.Buffer
	j := NewJSON(&out, &bytes.Buffer{})
	j.Say("for people")
	j.Interval(Paired{To: 1, Sender: &result.Interval{To: 1, Bytes: 5}})
	if err := j.Outcome(example(), errors.New("an end failed")); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("got %d lines: %s", len(lines), out.String())
	}
	var last struct {
		What, Error string
		Outcome
	}
	if err := json.Unmarshal([]byte(lines[1]), &last); err != nil || last.What != "result" || last.Error != "an end failed" || last.Pair.Receiver.Packets != 960000 {
		t.Errorf("%v: %+v", err, last)
	}
	if !strings.HasPrefix(lines[0], `{"what":"interval","from":0,"to":1,"sender":`) {
		t.Error(lines[0])
	}
	broken := NewJSON(brokenWriter{}, &bytes.Buffer{})
	broken.Interval(Paired{})
	if err := broken.Outcome(example(), nil); err == nil || strings.Count(err.Error(), "disk full") != 1 {
		t.Errorf("output that cannot be written, twice: %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }
