package oneoff

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestACutMeasurementHasNoVerdict: its figures are those of what cut it short, too.
func TestACutMeasurementHasNoVerdict(t *testing.T) {
	whole := result.PairSample{
		Sender:   result.PairEnd{WindowSeconds: 1, Bytes: 1e9, Threads: 1, CPUSeconds: 0.2},
		Receiver: result.PairEnd{WindowSeconds: 1, Bytes: 1e9, Threads: 1, CPUSeconds: 0.2},
	}
	cut := whole
	cut.Receiver.Error = "it reached its bound"
	for name, c := range map[string]struct {
		pair   result.PairSample
		failed error
		none   bool
	}{
		"whole": {whole, nil, false}, "an end says so": {cut, nil, true}, "it failed": {whole, errors.New("the receiver went away"), true},
	} {
		if v := (Outcome{Load: result.Options{}, Pair: c.pair}).verdict(c.failed); (v.Verdict == "") != c.none || v.Says == "" {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestAnInterruptedMeasurementHasNoVerdict, and no received rate of a window that ended later, as the end's word took its time.
func TestAnInterruptedMeasurementHasNoVerdict(t *testing.T) {
	o := Outcome{Kind: "datagram", Interrupted: true, Window: 10, Load: result.Options{}, Pair: result.PairSample{
		Sender:   result.PairEnd{WindowSeconds: 1, Bytes: 12.5e6, Packets: 9000, Threads: 1},
		Receiver: result.PairEnd{WindowSeconds: 1.04, Bytes: 12.5e6, Packets: 9000, Threads: 1},
	}}
	if v := o.verdict(nil); v.Verdict != "" {
		t.Errorf("%+v", v)
	}
	asked := o
	asked.Pair.Receiver.Error = "the peer ended its flows early" // as a ping's says of one that was interrupted
	if v := asked.verdict(nil); v.Verdict != "" || !strings.Contains(v.Says, "cut short") {
		t.Errorf("%+v", v)
	}
	var text strings.Builder
	summarise(&text, o)
	if !strings.Contains(text.String(), "12500000 bytes, 9000 packets: this end's word took 40.00 ms to end its window, so no rate") || !strings.Contains(text.String(), "100.0 Mbit/s") {
		t.Error(text.String())
	}
	o.Pair.Receiver.WindowSeconds = 1.005
	text.Reset()
	if summarise(&text, o); strings.Contains(text.String(), "so no rate") {
		t.Error(text.String())
	}
}

// TestACutWindowIsNoCalibration: it may be of the time in which buffers fill.
func TestACutWindowIsNoCalibration(t *testing.T) {
	kind, err := KindByName("stream")
	if err != nil {
		t.Fatal(err)
	}
	config := SendConfig{Load: result.Options{}, Calibrations: traffic.Calibrations{Path: filepath.Join(t.TempDir(), "c.json")}}
	for _, cut := range []bool{true, false} {
		sender := result.PairEnd{WindowSeconds: 0.001, Bytes: 1e9}
		config.noteCalibration(kind, &sender, 1e9, cut)
		if _, kept := config.Calibrations.Get(config.generator(kind)); kept == cut {
			t.Errorf("cut %t, kept %t", cut, kept)
		}
	}
}

// TestFramesByAPacketSocketAreNotCalibrated: what was measured are live frames. A socket's reached 5 % of those, and were told to be busy
// with the path's work for the rest.
func TestFramesByAPacketSocketAreNotCalibrated(t *testing.T) {
	kind, err := KindByName("frame")
	if err != nil {
		t.Fatal(err)
	}
	config := SendConfig{Load: result.Options{}, Calibrations: traffic.Calibrations{Path: filepath.Join(t.TempDir(), "c.json")}}
	for method, want := range map[string]float64{"af-packet": 0, "xdp-live-frames": 20e6} {
		sender := result.PairEnd{WindowSeconds: 1, Threads: 1, CPUSeconds: 1, Packets: 1e6, Bytes: 64e6, Offered: &result.Offered{Method: method}}
		config.noteCalibration(kind, &sender, 20e6, false)
		if got := sender.Offered.CalibratedPerSecond; got != want {
			t.Errorf("%s: %g frames/s without a path, want %g", method, got, want)
		}
	}
}

// TestALatencyOfSurvivorsIsNotTold: what has no answer took longer than all others.
func TestALatencyOfSurvivorsIsNotTold(t *testing.T) {
	r := result.NewRecorder()
	r.RecordMany(1_000_000, 985)
	if text := distribution(r.Histogram(), 15, 1000); !strings.Contains(text, "90 % 1.000 ms, 99 % not known, 99.9 % not known, max 1.000 ms (985)") {
		t.Error(text)
	}
	if text := distribution(r.Histogram(), 0, 985); strings.Contains(text, "not known") {
		t.Error(text)
	}
	var text strings.Builder
	summarise(&text, Outcome{Kind: "ping", Load: result.Options{}, Pair: result.PairSample{
		Sender:   result.PairEnd{WindowSeconds: 1, Latencies: map[string]result.Histogram{result.LatencyActual: {}}},
		Receiver: result.PairEnd{WindowSeconds: 1}}})
	if !strings.Contains(text.String(), "not known: no request was answered") {
		t.Error(text.String())
	}
}

// TestNoRateOfAnInstant: not in a summary, nor in a receiver's line, which tells both directions.
func TestNoRateOfAnInstant(t *testing.T) {
	end := result.PairEnd{WindowSeconds: 0.0002, Bytes: 1000, Packets: 1, Error: "context canceled"}
	if text := moved(end, end.Packets, packetRate); text != "1000 bytes in 0.2 ms, which is too short for a rate (context canceled)" {
		t.Errorf("a summary says %q", text)
	}
	both := result.PairEnd{WindowSeconds: 1, Opposite: &result.PairEnd{WindowSeconds: 1, Bytes: 125e6}}
	if text := cameIn(both, false); text != "0.000 bit/s for 1.0 s, back 1.000 Gbit/s" {
		t.Errorf("a receiver says %q", text)
	}
	if both.Opposite.WindowSeconds = 0.001; strings.Contains(cameIn(both, false), "back") {
		t.Errorf("a receiver says %q", cameIn(both, false))
	}
}

// TestACPUThatIsNotThereIsRefused before anything listens or is measured.
func TestACPUThatIsNotThereIsRefused(t *testing.T) {
	const none = 1 << 12
	recv := RecvConfig{Server: traffic.ServerConfig{MaxClients: 1, CPUs: []int{0, none}}}
	if err := recv.Check(); err == nil || !strings.Contains(err.Error(), "no CPU 4096") {
		t.Errorf("a receiver takes it: %v", err)
	}
	if _, err := (SendConfig{Host: "h", Kind: "stream", Window: 1e9, CPUs: []int{none}}).Check(); err == nil || !strings.Contains(err.Error(), "no CPU 4096") {
		t.Errorf("a sender takes it: %v", err)
	}
	recv.Server.CPUs = []int{0}
	if err := recv.Check(); err != nil {
		t.Error(err)
	}
}

// TestAFastSenderStaysNearTheBoundOfBytes, which is looked at more often the smaller it is; the intervals are as asked for all the same.
func TestAFastSenderStaysNearTheBoundOfBytes(t *testing.T) {
	for _, c := range []struct {
		bytes                  uint64
		window, interval, want time.Duration
	}{
		{20e6, time.Minute, 0, 10 * time.Millisecond},
		{20e6, time.Minute, time.Second, 10 * time.Millisecond},
		{20e6, time.Minute, 5 * time.Millisecond, 5 * time.Millisecond},
		{1e12, time.Minute, time.Second, byteWatch},
		{20e6, 1000 * time.Hour, 0, byteWatch}, // or the worker would remember 360 million of them
		{0, time.Minute, time.Second, time.Second},
	} {
		s := &session{server: &native{config: traffic.ServerConfig{MaxBytes: c.bytes}}, times: times{window: c.window, interval: c.interval}}
		if when, _ := s.schedule(time.Now(), nil, nil); when.Interval != c.want {
			t.Errorf("%d bytes, %s, %s: looked at every %s instead of %s", c.bytes, c.window, c.interval, when.Interval, c.want)
		}
	}
}
