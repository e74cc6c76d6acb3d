package traffic

import (
	"testing"

	"windtunnel/result"
)

// TestAFullPathOfManyRequests: while a thread that asks for more at once waits for a CPU, the path has the rest of them to carry. The shares
// are of pings beside four loops, 64 at a time, of 190 Mbit/s of answers over a path of 200. So it is of one answer of many packets.
func TestAFullPathOfManyRequests(t *testing.T) {
	for name, c := range map[string]struct {
		load result.Options
		want string
	}{
		"of a flow":           {result.Options{"depth": int64(64)}, result.PathLimited},
		"of flows":            {result.Options{"flows": int64(64)}, result.PathLimited},
		"in many packets":     {result.Options{"response": int64(1 << 20)}, result.PathLimited},
		"one after the other": {result.Options{"depth": int64(1), "flows": int64(1)}, result.GeneratorLimited},
	} {
		sender := offering(packets(1.45, 0.12), result.Offered{WaitSeconds: 2 * 0.51})
		sender = connected(sender, result.Connection{BusySeconds: 2 * 0.77}) // of the requests, which are short
		sender.Latencies = map[string]result.Histogram{result.LatencyActual: {Count: 1}}
		if got := Judge(c.load, sender, packets(1.45, 0.01)); got.Verdict != c.want {
			t.Errorf("the sender beside them, %s: %+v", name, got)
		}
		sender.Offered.WaitSeconds = 0
		receiver := kept(packets(1.45, 0.12), result.Wait{Seconds: 2 * 0.51})
		if got := Judge(c.load, sender, receiver); (got.Verdict == result.PathLimited) != (c.want == result.PathLimited) {
			t.Errorf("the receiver beside them, %s: %+v", name, got)
		}
	}
}

// TestAClosedWindowIsNotTheSenders: it had handed over enough all the time, whatever it waited for.
func TestAClosedWindowIsNotTheSenders(t *testing.T) {
	for receiverWait, want := range map[float64]string{0.50: result.ReceiverLimited, 0.20: result.PathLimited} {
		sender := offering(connected(bulk(900, 0.05), result.Connection{BusySeconds: 2 * 0.99, RwndLimitedSeconds: 2 * 0.26}), result.Offered{WaitSeconds: 2 * 0.55})
		if got := Judge(nil, sender, kept(bulk(900, 0.05), result.Wait{Seconds: 2 * receiverWait})); got.Verdict != want {
			t.Errorf("a receiver that waits %g: %+v", receiverWait, got)
		}
	}
}
