package traffic

import (
	"testing"

	"windtunnel/result"
)

// TestTheKernelSendsHalfAWindowAtOnce over round trips as short as between virtual devices. The figures are of an idle veth pair, whose
// packets of 2 Mbit/s had five segments: a second of it holds 168 or 173 of them.
func TestTheKernelSendsHalfAWindowAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		connection result.Connection
		want       string
	}{
		"a short way":                  {result.Connection{MSS: 1448, CongestionWindow: 10, MinRTTSeconds: 20e-6}, result.RateReached},
		"a long one":                   {result.Connection{MSS: 1448, CongestionWindow: 10, MinRTTSeconds: 20e-3}, result.PathLimited},
		"a full one":                   {result.Connection{MSS: 1448, CongestionWindow: 40, MinRTTSeconds: 20e-6, RTTSeconds: 0.12}, result.PathLimited},
		"a short one that loses some":  {result.Connection{MSS: 1448, CongestionWindow: 40, MinRTTSeconds: 20e-6, Retransmits: 4}, result.PathLimited},
		"a small window":               {result.Connection{MSS: 1448, CongestionWindow: 4, MinRTTSeconds: 20e-6}, result.PathLimited},
		"of which nothing is measured": {result.Connection{MSS: 1448, CongestionWindow: 10}, result.PathLimited},
	} {
		end := result.PairEnd{WindowSeconds: 1, Threads: 1, Bytes: 260640}
		sender := offering(connected(end, c.connection), result.Offered{TargetBitsPerSecond: 2e6, Method: KernelTCP})
		end.Bytes = 243264
		if got := Judge(result.Options{"message": int64(1400)}, sender, end); got.Verdict != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
