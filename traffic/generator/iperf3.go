package generator

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"windtunnel/result"
)

// iperf3 is esnet's. Each of its ends prints a JSON of its own (-J) with what it counted in
// each interval.
type iperf3 struct{}

func (iperf3) name() string    { return "iperf3" }
func (iperf3) install() string { return "Debian has it as iperf3: apt-get install iperf3" }

const (
	// iperf3Streams is how many it makes at once, iperf3Block how many bytes of TCP it hands over at once, and iperf3Buffer the
	// largest buffer that it asks for (MAX_STREAMS, MAX_BLOCKSIZE and MAX_TCP_BUFFER in iperf.h).
	iperf3Streams = 128
	iperf3Block   = 1 << 20
	iperf3Buffer  = 512 << 20
)

func (iperf3) able(kind string) (ability, bool) {
	check := func(load result.Options) error {
		if n := (task{load: load}).streams(); n > iperf3Streams {
			return fmt.Errorf("iperf3 makes at most %d streams, not %d", iperf3Streams, n)
		}
		if message := load.Int("message"); message > iperf3Block {
			return fmt.Errorf("a message of iperf3 has at most %s, not %s", result.FormatSize(iperf3Block), result.FormatSize(message))
		}
		if buffer := load.Int("buffer"); buffer > iperf3Buffer {
			return fmt.Errorf("a buffer of iperf3 has at most %s, not %s", result.FormatSize(iperf3Buffer), result.FormatSize(buffer))
		}
		if t := (task{kind: kind, load: load}); t.bitsPerSecond() > 0 && perStream(t) == 0 { // which it takes for no rate
			return fmt.Errorf("iperf3 keeps whole bits a second of each of its streams, and of %d each has %.2g: ask for a higher rate", t.streams(), t.bitsPerSecond()/float64(t.streams()))
		}
		return nil
	}
	switch kind {
	case "stream":
		return ability{
			takes: []string{"message", "streams", "nodelay", "rate", "buffer", "congestion", "mss", "dscp"},
			does:  map[string][]string{"copy": {"sendfile"}, "pacing": {"bucket"}},
			check: check,
		}, true
	case "datagram": // one datagram a call, and it looks at headers only
		return ability{
			takes: []string{"message", "rate", "packets", "flows", "buffer", "dscp"},
			does:  map[string][]string{"segmentation": {"off"}, "aggregation": {"off"}, "verify": {"header"}, "priority": {"kept"}},
			check: check,
		}, true
	}
	return ability{}, false
}

func (iperf3) server(t task) []string {
	return []string{"iperf3", "-s", "-1", "-p", t.control(), "-B", t.host, "-i", spanLength, "-J"}
}

func (iperf3) client(t task) []string {
	args := []string{"iperf3", "-c", t.host, "-p", t.control(), "-t", strconv.Itoa(t.whole()), "-i", spanLength, "-J",
		"-l", strconv.FormatInt(t.load.Int("message"), 10), "-P", strconv.Itoa(t.streams())}
	add := func(when bool, more ...string) {
		if when {
			args = append(args, more...)
		}
	}
	rate := strconv.FormatFloat(perStream(t), 'f', 0, 64)
	add(t.kind == "datagram", "-u", "-b", rate)
	add(t.kind == "stream" && t.bitsPerSecond() > 0, "-b", rate)
	add(t.load.Bool("nodelay"), "-N")
	add(t.load.Text("copy") == "sendfile", "-Z")
	add(t.load.Int("buffer") > 0, "-w", strconv.FormatInt(t.load.Int("buffer"), 10))
	add(t.kind == "stream" && t.load.Text("congestion") != "", "-C", t.load.Text("congestion"))
	add(t.load.Int("mss") > 0, "-M", strconv.FormatInt(t.load.Int("mss"), 10))
	add(t.load["dscp"] != nil, "--dscp", strconv.FormatInt(t.load.Int("dscp"), 10))
	return args
}

// perStream is the rate that iperf3 is told, of each stream, in whole bits a second; 0: as fast as it goes.
func perStream(t task) float64 { return math.Round(t.bitsPerSecond() / float64(t.streams())) }

// iperf3JSON is what is read of its output.
type iperf3JSON struct {
	Start struct {
		Version string `json:"version"`
	} `json:"start"`
	Intervals []struct {
		Sum *iperf3Sum `json:"sum"`
	} `json:"intervals"`
	Error string `json:"error"`
}

// iperf3Sum is an interval of all streams. Of UDP, a receiver's packets are those that it
// expected.
type iperf3Sum struct {
	Seconds float64 `json:"seconds"`
	Bytes   float64 `json:"bytes"`
	Packets float64 `json:"packets"`
	Lost    lost    `json:"lost_packets"`
	Jitter  float64 `json:"jitter_ms"`
	Sender  *bool   `json:"sender"`
}

// lost is a difference, below zero where what was taken for lost came late. iperf3 3.12 prints such a one as a number
// of 64 bits without a sign, 3.21 with it.
type lost int64

func (l *lost) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if wrapped, err := strconv.ParseUint(string(text), 10, 64); err == nil {
		*l = lost(wrapped)
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(math.Abs(v) < 1e15) {
		return fmt.Errorf("%.40q is no number of packets", text)
	}
	*l = lost(v)
	return nil
}

func (iperf3) read(t task, receives bool, said output) (result.PairEnd, error) {
	var printed iperf3JSON
	if err := json.Unmarshal([]byte(said.out), &printed); err != nil {
		return result.PairEnd{}, fmt.Errorf("what it printed is not its JSON: %w", err)
	}
	if printed.Error != "" {
		return result.PairEnd{}, fmt.Errorf("it says: %.200s", printed.Error)
	}
	var spans []span
	for i, interval := range printed.Intervals {
		s, err := interval.Sum.span(receives, t)
		if err != nil {
			return result.PairEnd{}, fmt.Errorf("interval %d: %w", i, err)
		}
		spans = append(spans, s)
	}
	takeBack(spans)
	all, from, err := lastSpan(spans, t.window.Seconds())
	if err != nil {
		return result.PairEnd{}, err
	}
	end := result.PairEnd{WindowSeconds: all.seconds, Bytes: all.bytes, Packets: all.packets, Intervals: intervals(spans[from:], t)}
	if receives && t.kind == "datagram" {
		end.Arrived = &result.Arrived{
			Expected: all.packets + uint64(all.lost), Lost: uint64(all.lost), Jitter: all.jitter, Flows: t.streams(),
			Untold: []result.Metric{result.LatePackets, result.Reordered, result.Duplicates, result.Corrupt},
		}
	}
	return end, nil
}

// span checks an interval. Datagrams are counted by their bytes, which both ends count.
func (s *iperf3Sum) span(receives bool, t task) (span, error) {
	switch {
	case s == nil || s.Sender == nil:
		return span{}, errors.New("it has no sum")
	case *s.Sender == receives:
		return span{}, errors.New("it is the other end's")
	case !(s.Seconds >= 0 && s.Seconds < 1e6) || !(s.Bytes >= 0 && s.Bytes < 1e18) || !(s.Jitter >= 0 && s.Jitter < 1e9):
		return span{}, fmt.Errorf("%g bytes in %g s, with a jitter of %g ms, are impossible", s.Bytes, s.Seconds, s.Jitter)
	case !(s.Packets >= 0 && s.Packets < 1e15 && math.Abs(float64(s.Lost)) < 1e15):
		return span{}, fmt.Errorf("%g packets with %d lost are impossible", s.Packets, s.Lost)
	}
	one := span{seconds: s.Seconds, bytes: uint64(s.Bytes), jitter: s.Jitter / 1e3}
	if t.kind == "datagram" {
		one.packets = one.bytes / uint64(max(1, t.load.Int("message")))
		one.lost = int64(s.Lost)
	}
	return one, nil
}

// takeBack takes what came late off the spans before, which had it for lost, the last of them first.
func takeBack(spans []span) {
	for i := range spans {
		late := -min(0, spans[i].lost)
		spans[i].lost += late
		for j := i - 1; j >= 0 && late > 0; j-- {
			some := min(late, spans[j].lost)
			spans[j].lost -= some
			late -= some
		}
	}
}

// intervals are the window's, as the tool cut it.
func intervals(spans []span, t task) []result.Interval {
	var all []result.Interval
	at := 0.0
	for _, s := range spans {
		all = append(all, result.Interval{From: at, To: at + s.seconds, Bytes: s.bytes, Packets: s.packets, Lost: uint64(s.lost)})
		at += s.seconds
	}
	return all
}

func (iperf3) version(said output) string {
	var printed iperf3JSON
	if json.Unmarshal([]byte(said.out), &printed) != nil {
		return ""
	}
	return strings.TrimPrefix(printed.Start.Version, "iperf ")
}
