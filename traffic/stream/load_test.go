package stream

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

func TestOptionsMustGoTogether(t *testing.T) {
	cases := map[string]struct {
		load result.Options
		says string
	}{
		"burst without a rate":   {result.Options{"burst": 1000}, "set rate"},
		"pacing without a rate":  {result.Options{"pacing": "bucket"}, "set rate"},
		"a long message":         {result.Options{"rate": 200e3, "pacing": "kernel"}, "a message of at most 10000 bytes, or pacing bucket"},
		"the kernel's burst":     {result.Options{"rate": 1e9, "pacing": "kernel", "burst": 1000}, "leave burst out"},
		"rate too low":           {result.Options{"rate": 1000.0}, "too small"},
		"no such copy":           {result.Options{"copy": "magic"}, "unknown word `magic`"},
		"splice, too long":       {result.Options{"copy": "splice", "message": 2 << 20}, "ask for copy sendfile"},
		"no such direction":      {result.Options{"direction": "sideways"}, "unknown word `sideways`"},
		"no such pacing":         {result.Options{"rate": 1e9, "pacing": "wish"}, "unknown word `wish`"},
		"a codepoint of 7 bits":  {result.Options{"dscp": 64}, "too large"},
		"a segment of 40 bytes":  {result.Options{"mss": 40}, "too small"},
		"threads of both halves": {result.Options{"direction": "both", "threads": 2}, "set streams"},
	}
	for name, c := range cases {
		if _, err := parseLoad(c.load); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want a word of %q", name, err, c.says)
		}
	}
	if _, err := parseLoad(result.Options{"pacing": "auto", "copy": "plain", "direction": "forward"}); err != nil {
		t.Errorf("the defaults, spelt out: %v", err)
	}
}

// TestASinkWithoutCPUSlowsNoCalibration: where other programs have its CPU, the senders sleep before a full socket. What they reach by
// themselves is what they did before that, or a path that they fill would be taken for their own limit, for as long as it is kept.
func TestASinkWithoutCPUSlowsNoCalibration(t *testing.T) {
	l, err := parseLoad(result.Options{"congestion": congestion, "message": 128 << 10})
	if err != nil {
		t.Fatal(err)
	}
	senders, receivers, err := loopback(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer closeConns(receivers)
	e, err := NewEngine(flowsOf(senders, traffic.Send), l.config)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const reads = calibrationWarmUp + calibrationSample
	receivers[0].SetReadDeadline(time.Now().Add(reads))
	taken := make(chan int64, 1)
	go func() {
		n, _ := io.Copy(io.Discard, receivers[0])
		taken <- n
	}()
	e.Start()
	perSecond, err := e.ownRate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if read := float64(<-taken) / reads.Seconds(); perSecond < read/2 {
		t.Errorf("the sink took %.3g bytes a second while it could, and the senders were told to reach %.3g", read, perSecond)
	}
}

func TestCalibrate(t *testing.T) {
	load := result.Options{"congestion": congestion, "streams": 2, "rate": 1e6, "direction": "both"}
	perSecond, err := Kind{}.Calibrate(t.Context(), load, nil)
	if err != nil || perSecond < 1e6 { // far over the load's rate, which is left out
		t.Errorf("got %g bytes a second, %v", perSecond, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := (Kind{}).Calibrate(ctx, load, nil); err == nil {
		t.Error("a calibration outlived its context")
	}
}
