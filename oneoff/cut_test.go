package oneoff

import (
	"errors"
	"strings"
	"testing"

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
		if v := verdict(result.Options{}, c.pair, c.failed); (v.Verdict == "") != c.none || v.Says == "" {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestNoRateOfAnInstant: not in a summary, nor in a receiver's line, which tells both directions.
func TestNoRateOfAnInstant(t *testing.T) {
	end := result.PairEnd{WindowSeconds: 0.0002, Bytes: 1000, Packets: 1, Error: "context canceled"}
	if text := moved(end, packetRate); text != "1000 bytes in 0.2 ms, which is too short for a rate (context canceled)" {
		t.Errorf("a summary says %q", text)
	}
	both := result.PairEnd{WindowSeconds: 1, Opposite: &result.PairEnd{WindowSeconds: 1, Bytes: 125e6}}
	if text := cameIn(both); text != "0.000 bit/s for 1.0 s, back 1.000 Gbit/s" {
		t.Errorf("a receiver says %q", text)
	}
	if both.Opposite.WindowSeconds = 0.001; strings.Contains(cameIn(both), "back") {
		t.Errorf("a receiver says %q", cameIn(both))
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
