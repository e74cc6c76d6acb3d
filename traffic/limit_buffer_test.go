package traffic

import (
	"strings"
	"testing"

	"windtunnel/result"
)

// TestBuffersThatAreTooSmall: the ends fill and drain them in turn, and the path is none of it. The shares are of `send --buffer 4KiB` and
// 16KiB over a veth, which with the kernel's own buffers carries ten times as much, and over paths of 50 Mbit/s and 1 Gbit/s, which they
// fill; the verdict was one or another, as the window was closed for a little more or less than half of the time.
func TestBuffersThatAreTooSmall(t *testing.T) {
	asked := result.Options{"buffer": int64(4096)}
	for name, c := range map[string]struct {
		load             result.Options
		sender, receiver float64 // busy
		buffer, window   int
		rtt              float64 // of an empty one
		rwnd, sndbuf     float64
		want, says       string
	}{
		"smaller than the first window":   {asked, 0.42, 0.49, 8192, 10, 3, 0.47, 0, result.ReceiverLimited, "hold 8192 bytes, where the congestion window would let 14480"},
		"a little more":                   {asked, 0.42, 0.49, 8192, 10, 3, 0.52, 0, result.ReceiverLimited, "make them larger"},
		"a receiver that is full":         {asked, 0.42, 0.95, 8192, 10, 3, 0.47, 0, result.ReceiverLimited, "busy 95 %"},
		"smaller than the present window": {asked, 0.48, 0.47, 32768, 47, 4, 0.33, 0.15, result.ReceiverLimited, "make them larger"},
		"the sender's":                    {asked, 0.48, 0.47, 32768, 47, 4, 0.15, 0.33, result.GeneratorLimited, "make them larger"},
		"a long path":                     {asked, 0.01, 0.01, 32768, 47, 1.01, 0.33, 0.49, result.GeneratorLimited, "make them larger"},
		"a path that is full":             {asked, 0.01, 0.01, 32768, 31, 700, 0.32, 0.39, result.PathLimited, ""},
		"buffers that hold more":          {asked, 0.42, 0.49, 131072, 82, 4, 0.1, 0.1, result.PathLimited, ""},
		"those of the kernel":             {nil, 0.42, 0.49, 8192, 10, 3, 0.47, 0, result.PathLimited, ""},
	} {
		one := result.Connection{
			BusySeconds: 2 * 0.9, RwndLimitedSeconds: 2 * c.rwnd, SndbufLimitedSeconds: 2 * c.sndbuf,
			RTTSeconds: c.rtt * 1e-5, MinRTTSeconds: 1e-5, MSS: 1448, CongestionWindow: c.window, SendBufferBytes: c.buffer, ReceiveBufferBytes: c.buffer,
		}
		got := Judge(c.load, connected(bulk(1000, c.sender), one), connected(bulk(1000, c.receiver), one))
		if got.Verdict != c.want || !strings.Contains(got.Says, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestSmallBuffersBeforeAFullPath: larger ones bring nothing. The figures are of a path of 50 Mbit/s, over which `send --buffer 4KiB`
// had what `send` has, and was receiver-limited.
func TestSmallBuffersBeforeAFullPath(t *testing.T) {
	asked := result.Options{"buffer": int64(4096)}
	of := func(many int, c result.Connection) (all []result.Connection) {
		for range many {
			all = append(all, c)
		}
		return all
	}
	full := result.Connection{BusySeconds: 2 * 0.98, RwndLimitedSeconds: 2 * 0.96, RTTSeconds: 511e-6, MinRTTSeconds: 5e-6, MSS: 1448,
		CongestionWindow: 10, SendBufferBytes: 8192, ReceiveBufferBytes: 8192}
	with := func(change func(*result.Connection)) result.Connection {
		c := full
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		load     result.Options
		megabits float64
		one      result.Connection
		many     int
		still    float64 // of the receiver
		want     string
	}{
		"the whole of it":              {asked, 46.3, full, 1, 0, result.PathLimited},
		"by four connections":          {asked, 47.8, with(func(c *result.Connection) { c.RTTSeconds = 1937e-6 }), 4, 0, result.PathLimited},
		"the sender's":                 {asked, 46.3, with(func(c *result.Connection) { c.RwndLimitedSeconds, c.SndbufLimitedSeconds = 0, 1.9 }), 1, 0, result.PathLimited},
		"of a receiver that was away":  {asked, 46.3, full, 1, 1, result.ReceiverLimited},
		"a small part of it":           {asked, 4.6, full, 1, 0, result.ReceiverLimited},
		"trips that are not the usual": {asked, 2000, with(func(c *result.Connection) { c.RTTSeconds = 5.7e-3 }), 1, 0, result.ReceiverLimited},
		"of an empty path":             {asked, 46.3, with(func(c *result.Connection) { c.MinRTTSeconds = 500e-6 }), 1, 0, result.ReceiverLimited},
		"of large segments":            {asked, 46.3, with(func(c *result.Connection) { c.MSS = 8948 }), 1, 0, result.ReceiverLimited},
		"nobody asked for them":        {nil, 46.3, full, 1, 0, result.ReceiverLimited},
	} {
		sender, receiver := bulk(c.megabits, 0.02), bulk(c.megabits, 0.06)
		sender.Connections, receiver.Connections, receiver.StoodSeconds = of(c.many, c.one), of(c.many, c.one), c.still
		if got := Judge(c.load, sender, receiver); got.Verdict != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
