package iperf3

import (
	"testing"
	"time"
)

// TestRates lets what belongs together leave whole, as iperf3's receivers count
// whole blocks alone: the first at once, each further one when the rate has paid for
// those before it. A thread that had no CPU when its last was due sends fewer: that is tried again, and more is an error at once.
func TestRates(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		unit   uint64 // bytes that leave at once
		units  uint64 // in 600 ms
	}{
		"blocks of TCP":           {func(o *Options) { o.BitsPerSecond, o.Length = 1e6, 128<<10 }, 128 << 10, 1},
		"small blocks of TCP":     {func(o *Options) { o.BitsPerSecond, o.Length = 400e3, 20_000 }, 20_000, 2},
		"bursts of TCP":           {func(o *Options) { o.BitsPerSecond, o.Length, o.Burst = 800e3, 10_000, 4 }, 40_000, 2},
		"bursts of UDP":           {func(o *Options) { o.Protocol, o.BitsPerSecond, o.Length, o.Burst = UDP, 400e3, 1000, 20 }, 20_000, 2},
		"bursts beyond one call":  {func(o *Options) { o.Protocol, o.BitsPerSecond, o.Length, o.Burst = UDP, 6e6, 1000, 300 }, 300_000, 2},
		"bursts of TCP, reversed": {func(o *Options) { o.BitsPerSecond, o.Length, o.Burst, o.Reverse = 800e3, 10_000, 4, true }, 40_000, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := c.unit * c.units
			for try := 1; ; try++ {
				h := serve(t, ServerOptions{})
				o := h.options()
				o.Duration, o.Parallel = 600*time.Millisecond, 2
				c.change(&o)
				r, err := run(t, o)
				if err != nil {
					t.Fatal(err)
				}
				least := want
				for _, s := range r.end(t).Streams {
					least = min(least, s.Sent.Bytes)
					if s.Sent.Bytes > want || s.Received.Bytes != s.Sent.Bytes {
						t.Errorf("sent %d, received %d bytes; want %d times %d", s.Sent.Bytes, s.Received.Bytes, c.units, c.unit)
					}
				}
				if least == want {
					return
				}
				if try == 5 {
					t.Fatalf("sent %d bytes; want %d times %d", least, c.units, c.unit)
				}
			}
		})
	}
}
