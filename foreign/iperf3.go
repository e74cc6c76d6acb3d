package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"windtunnel/result"
)

const iperf3Tool = "iperf3"

// iperf3File is what is read of iperf3's JSON (-J): iperf_api.c writes `start`, `intervals` and `end`. Client and
// server write the same shape, and each knows its own end's bytes; what the other counted comes at the end of a test, and only
// to the client.
type iperf3File struct {
	Start struct {
		Version   string                     `json:"version"`
		System    string                     `json:"system_info"`
		Cookie    string                     `json:"cookie"`
		Timestamp struct{ Timesecs float64 } `json:"timestamp"`
		Client    *iperf3Host                `json:"connecting_to"`
		Server    *iperf3Host                `json:"accepted_connection"`
		Connected []iperf3Socket             `json:"connected"`
		Test      json.RawMessage            `json:"test_start"`
		Buffer    float64                    `json:"sock_bufsize"`
	} `json:"start"`
	Intervals []iperf3Interval `json:"intervals"`
	End       iperf3End        `json:"end"`
	Error     string           `json:"error"`
	Event     string           `json:"event"` // of --json-stream, which is another format
}

type iperf3Host struct {
	Host string `json:"host"`
}

type iperf3Socket struct {
	Local  string `json:"local_host"`
	Remote string `json:"remote_host"`
}

type iperf3Test struct {
	Protocol string  `json:"protocol"`
	Streams  float64 `json:"num_streams"`
	Block    float64 `json:"blksize"`
	Reverse  float64 `json:"reverse"`
	Both     float64 `json:"bidir"`
	TOS      float64 `json:"tos"`
	Rate     float64 `json:"target_bitrate"`
}

type iperf3Interval struct {
	Sum     *iperf3Sum `json:"sum"`
	Reverse *iperf3Sum `json:"sum_bidir_reverse"`
}

type iperf3Sum struct {
	Start       float64  `json:"start"`
	Seconds     float64  `json:"seconds"`
	Bytes       float64  `json:"bytes"`
	Retransmits *float64 `json:"retransmits"`
	Jitter      float64  `json:"jitter_ms"`
	Lost        lost     `json:"lost_packets"`
	Packets     float64  `json:"packets"`
	Omitted     bool     `json:"omitted"`
}

// lost is a difference, below zero where what was taken for lost came late. iperf3 3.12 prints such a one as a number of 64 bits without
// a sign, 3.21 with it. What is no number is NaN.
type lost float64

func (l *lost) UnmarshalJSON(text []byte) error {
	if wrapped, err := strconv.ParseUint(string(text), 10, 64); err == nil {
		*l = lost(int64(wrapped))
		return nil
	}
	if json.Unmarshal(text, (*float64)(l)) != nil { // within refuses it, by its name
		*l = lost(math.NaN())
	}
	return nil
}

type iperf3End struct {
	Sum             *iperf3Sum `json:"sum"`
	Sent            *iperf3Sum `json:"sum_sent"`
	Received        *iperf3Sum `json:"sum_received"`
	SentReverse     *iperf3Sum `json:"sum_sent_bidir_reverse"`
	ReceivedReverse *iperf3Sum `json:"sum_received_bidir_reverse"`
	CPU             struct {
		Host   float64 `json:"host_total"`
		Remote float64 `json:"remote_total"`
	} `json:"cpu_utilization_percent"`
	SenderTCP   string `json:"sender_tcp_congestion"`
	ReceiverTCP string `json:"receiver_tcp_congestion"`
}

// iperf3Tests reads one test after another: a server writes those of all its clients.
func iperf3Tests(text, name string) ([]test, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	var all []test
	for {
		var f iperf3File
		from := decoder.InputOffset()
		err := decoder.Decode(&f)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if says, ok := result.Misfit([]byte(text[from:]), err); ok {
			return nil, fmt.Errorf("not as iperf3 -J writes it: %s; was the file edited?", says)
		}
		if err != nil {
			return nil, fmt.Errorf("not JSON as iperf3 -J writes it, after %d bytes (is it whole?): %w", decoder.InputOffset(), err)
		}
		if f.Event != "" {
			return nil, errors.New("this is iperf3's --json-stream: import what -J writes")
		}
		if len(f.Start.Test) == 0 && f.Error != "" && len(all) > 0 { // a server that was stopped while it waited
			last := &all[len(all)-1]
			last.doubts = append(last.doubts, result.Doubt{Kind: "stopped", Says: "behind it " + f.failure()})
			continue
		}
		t, err := f.test(name)
		if err != nil {
			return nil, err
		}
		if all = append(all, t); len(all) > maxTests {
			return nil, fmt.Errorf("more than %d tests", maxTests)
		}
	}
}

func (f iperf3File) test(name string) (test, error) {
	t := test{file: name, tool: iperf3Tool, version: strings.TrimPrefix(result.Clean(f.Start.Version), "iperf "),
		started: time.Unix(int64(math.Max(0, math.Min(f.Start.Timestamp.Timesecs, 1e11))), 0), failed: f.failure(), key: f.Start.Cookie}
	var asked iperf3Test
	if len(f.Start.Test) == 0 {
		if t.failed != "" {
			return t, errors.New(t.failed)
		}
		return t, errors.New("it has no `start.test_start`: is it iperf3's?")
	}
	if err := json.Unmarshal(f.Start.Test, &asked); err != nil {
		says, _ := result.Misfit(f.Start.Test, err)
		return t, fmt.Errorf("its `start.test_start` is not as iperf3 writes it: %s; was the file edited?", says)
	}
	if f.End.SentReverse != nil || f.End.ReceivedReverse != nil { // before 3.15 `test_start` does not tell it
		asked.Both = 1
	}
	t.command = "iperf3's test_start: " + strings.Join(strings.Fields(string(f.Start.Test)), " ")
	if err := t.asked(asked, f); err != nil {
		return t, err
	}
	client := f.Start.Server == nil
	t.a.own, t.b.own = client, !client
	f.hosts(&t, client)
	if err := f.ends(&t, asked, client); err != nil {
		return t, err
	}
	f.intervals(&t, asked, client)
	return t, nil
}

func (f iperf3File) failure() string {
	if f.Error == "" {
		return ""
	}
	return "iperf3 says: " + result.Clip(result.Clean(f.Error))
}

// asked notes the load by the names that our own kinds have for it.
func (t *test) asked(a iperf3Test, f iperf3File) error {
	for what, v := range map[string]float64{"num_streams": a.Streams, "blksize": a.Block, "tos": a.TOS} {
		if err := within(what, v, 1e9); err != nil {
			return err
		}
	}
	if err := within("target_bitrate", a.Rate, mostBytes); err != nil {
		return err
	}
	t.load = result.Options{"message": int64(a.Block), "direction": "forward"}
	switch strings.ToUpper(a.Protocol) {
	case "TCP":
		t.kind = "stream"
		t.load["streams"] = int64(a.Streams)
		if tcp := result.Clean(f.End.SenderTCP); tcp != "" {
			t.load["congestion"] = tcp
		}
		if a.Rate > 0 {
			t.load["rate"] = a.Rate
		}
	case "UDP":
		t.kind = "datagram"
		t.load["flows"] = int64(a.Streams)
		if a.Rate > 0 { // of one flow; a datagram's is of all
			t.load["rate"] = a.Rate * math.Max(1, a.Streams)
		}
	default:
		return fmt.Errorf("its protocol is %q: only TCP and UDP are read", result.Clip(result.Clean(a.Protocol)))
	}
	if a.Reverse > 0 {
		t.load["direction"] = "reverse"
	}
	if a.Both > 0 {
		t.load["direction"] = "both"
	}
	if f.Start.Buffer > 0 && f.Start.Buffer < mostBytes {
		t.load["buffer"] = int64(f.Start.Buffer)
	}
	if a.TOS > 0 {
		t.load["dscp"] = int64(a.TOS) >> 2
	}
	return nil
}

func (f iperf3File) hosts(t *test, client bool) {
	local, remote := &t.a, &t.b
	if !client {
		local, remote = remote, local
	}
	local.system = result.Clip(result.Clean(f.Start.System))
	if len(f.Start.Connected) > 0 {
		local.host, remote.host = result.Clip(result.Clean(f.Start.Connected[0].Local)), result.Clip(result.Clean(f.Start.Connected[0].Remote))
	}
}

// ends reads what either end sent and took. Forward is from the client to the server.
func (f iperf3File) ends(t *test, a iperf3Test, client bool) error {
	sent, received := f.End.Sent, f.End.Received
	if t.kind == "datagram" && received == nil && f.End.Sum != nil { // before 3.2: one sum, of what was sent and of what became of it
		sent, received = f.End.Sum, f.End.Sum.arrived(a.Block)
	}
	var err error
	give := func(e *end, sum *iperf3Sum, receives bool, local bool) {
		if err == nil && sum.known(local) {
			err = t.take(e, sum, receives, a)
		}
	}
	forward, backward := [2]*end{&t.a, &t.b}, [2]*end{&t.b, &t.a}
	ways := []struct {
		ends           [2]*end
		sent, received *iperf3Sum
	}{{forward, sent, received}}
	if a.Reverse > 0 {
		ways[0].ends = backward
	}
	for _, w := range ways {
		give(w.ends[0], w.sent, false, client == (w.ends[0] == &t.a))
		give(w.ends[1], w.received, true, client == (w.ends[1] == &t.a))
	}
	if a.Both > 0 && err == nil {
		err = f.opposites(t, a, client)
	}
	if err != nil {
		return err
	}
	local, remote := &t.a, &t.b
	if !client {
		local, remote = remote, local
	}
	local.busy(f.End.CPU.Host)
	if client {
		remote.busy(f.End.CPU.Remote)
	}
	if t.window = math.Max(t.a.sample.WindowSeconds, t.b.sample.WindowSeconds); t.window <= 0 && t.failed == "" {
		return errors.New("its `end` has neither sum_sent nor sum_received: did the test end?")
	}
	f.connections(t, a)
	return nil
}

// known reports whether an end counted: of the far end iperf3 writes zeros where it was not told.
func (s *iperf3Sum) known(local bool) bool {
	return s != nil && (s.Bytes > 0 || local && s.Seconds > 0)
}

// arrived is what the older sum says of the receiver: every datagram has the same length.
func (s *iperf3Sum) arrived(block float64) *iperf3Sum {
	r := *s
	r.Bytes = math.Max(0, s.Packets-float64(s.Lost)) * block
	return &r
}

// opposites reads the other direction of a load that flows both ways.
func (f iperf3File) opposites(t *test, a iperf3Test, client bool) error {
	for _, o := range []struct {
		end      *end
		sum      *iperf3Sum
		receives bool
		local    bool
	}{{&t.b, f.End.SentReverse, false, !client}, {&t.a, f.End.ReceivedReverse, true, client}} {
		if !o.sum.known(o.local) || !o.end.told {
			continue
		}
		other := end{}
		if err := t.take(&other, o.sum, o.receives, a); err != nil {
			return err
		}
		o.end.sample.Opposite = &other.sample
	}
	return nil
}

// take makes an end's record of a sum.
func (t *test) take(e *end, s *iperf3Sum, receives bool, a iperf3Test) error {
	sample, err := s.sample(t.kind, receives, a)
	if err != nil {
		return err
	}
	e.told, e.sample = true, sample
	if !receives {
		e.sample.Offered = &result.Offered{TargetBitsPerSecond: t.target()}
	}
	return nil
}

// target is what all streams were asked for together, in bits per second.
func (t test) target() float64 {
	if t.kind == "stream" {
		return t.load.Float("rate") * math.Max(1, t.load.Float("streams"))
	}
	return t.load.Float("rate")
}

func (s iperf3Sum) sample(kind string, receives bool, a iperf3Test) (result.PairEnd, error) {
	for _, c := range []struct {
		what    string
		v, most float64
	}{{"a time", s.Seconds, mostSeconds}, {"bytes", s.Bytes, mostBytes}, {"packets", s.Packets, mostPackets}, {"a jitter", s.Jitter, 1e9}, {"lost packets", math.Abs(float64(s.Lost)), mostPackets}} {
		if err := within(c.what, c.v, c.most); err != nil {
			return result.PairEnd{}, err
		}
	}
	e := result.PairEnd{WindowSeconds: s.Seconds, Bytes: uint64(s.Bytes)}
	if kind != "datagram" || a.Block <= 0 {
		return e, nil
	}
	e.Packets = uint64(s.Bytes / a.Block)
	if receives {
		lost := uint64(max(0, s.Lost)) // below zero: duplicates
		e.Arrived = &result.Arrived{Expected: e.Packets + lost, Lost: lost, Jitter: s.Jitter / 1e3, Flows: int(a.Streams),
			Untold: []result.Metric{result.LatePackets, result.Reordered, result.Duplicates, result.Corrupt}}
	}
	return e, nil
}

// busy notes the CPU time of iperf3's own process, which it tells in percent of one CPU.
func (e *end) busy(percent float64) {
	if e.told && percent > 0 && percent < 1e6 {
		e.sample.CPUSeconds = percent / 100 * e.sample.WindowSeconds
	}
}

// connections has the retransmits of all of a sender's streams in one: the rest of TCP_INFO iperf3 does not tell.
func (f iperf3File) connections(t *test, a iperf3Test) {
	sender := &t.a
	if a.Reverse > 0 {
		sender = &t.b
	}
	if s := f.End.Sent; t.kind == "stream" && sender.told && s != nil && s.Retransmits != nil && *s.Retransmits >= 0 && *s.Retransmits < mostPackets {
		sender.sample.Connections = []result.Connection{{Congestion: result.Clip(result.Clean(f.End.SenderTCP)), Retransmits: uint64(*s.Retransmits)}}
	}
}

// intervals are those of the file's own end in the forward direction, without what was omitted.
func (f iperf3File) intervals(t *test, a iperf3Test, client bool) {
	e := &t.a
	if !client {
		e = &t.b
	}
	if !e.told || len(f.Intervals) > maxIntervals {
		if len(f.Intervals) > maxIntervals {
			t.doubts = append(t.doubts, result.Doubt{Kind: "intervals", Says: fmt.Sprintf("more than %d intervals: they are left out", maxIntervals)})
		}
		return
	}
	at := 0.0
	for _, i := range f.Intervals {
		if i.Sum == nil || i.Sum.Omitted {
			continue
		}
		s, err := i.Sum.sample(t.kind, true, a)
		if err != nil {
			t.doubts = append(t.doubts, result.Doubt{Kind: "intervals", Says: "intervals are left out: " + err.Error()})
			e.sample.Intervals = nil
			return
		}
		one := result.Interval{From: at, To: at + s.WindowSeconds, Bytes: s.Bytes, Packets: s.Packets}
		if s.Arrived != nil {
			one.Lost = s.Arrived.Lost
			takeBack(e.sample.Intervals, uint64(max(0, -i.Sum.Lost)))
		}
		if r := i.Sum.Retransmits; r != nil && *r >= 0 && *r < mostPackets {
			one.Retransmits = uint64(*r)
		}
		at = one.To
		e.sample.Intervals = append(e.sample.Intervals, one)
	}
}

// takeBack takes so many that came late off the intervals which had them for lost, the last of them first.
func takeBack(intervals []result.Interval, late uint64) {
	for i := len(intervals) - 1; i >= 0 && late > 0; i-- {
		some := min(late, intervals[i].Lost)
		intervals[i].Lost -= some
		late -= some
	}
}
