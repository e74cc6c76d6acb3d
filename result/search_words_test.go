package result

import "testing"

// TestFormatLoad has no tail of a binary fraction, and five digits.
func TestFormatLoad(t *testing.T) {
	for _, c := range []struct {
		unit string
		load float64
		want string
	}{
		{PacketsPerSecond, 8367.7, "8.3677k packets/s"},
		{PacketsPerSecond, 8461.499999, "8.4615k packets/s"},
		{PacketsPerSecond, 61.127, "61.127 packets/s"},
		{PacketsPerSecond, 1174123, "1.1741M packets/s"},
		{PacketsPerSecond, 0, "0 packets/s"},
		{PacketsPerSecond, 999.9999, "1000 packets/s"},
		{BitsPerSecond, 975_191_234, "975.19Mbit/s"},
		{BitsPerSecond, 123.456, "123.46bit/s"},
		{BitsPerSecond, 1.4e13, "14Tbit/s"},
	} {
		if got := FormatLoad(c.unit, c.load); got != c.want {
			t.Errorf("%g %s is written %q, not %q", c.load, c.unit, got, c.want)
		}
	}
}

// TestATrialLostALittleIsNotNone, nor is nearly all of it all: a goal of no loss is missed by one packet.
func TestATrialLostALittleIsNotNone(t *testing.T) {
	for _, c := range []struct {
		lost float64
		want string
	}{
		{0, "0 % lost"}, {1e-6, "< 0.001 % lost"}, {6e-6, "0.001 % lost"}, {1e-4, "0.01 % lost"}, {0.12345, "12.345 % lost"},
		{0.99999, "99.999 % lost"}, {1 - 1e-6, "> 99.999 % lost"}, {1, "100 % lost"},
	} {
		trial := SearchTrial{Load: 1e6, EffectiveSeconds: 1, LossRatio: c.lost}
		if got, want := trial.Words(PacketsPerSecond), " 1.00 s at 1M packets/s: "+c.want; got != want {
			t.Errorf("%g is written %q, not %q", c.lost, got, want)
		}
	}
}

// TestWhatAQueueTookIsAShareOfWhatWasSent, as what was lost is, of which it is a part: one is not the other's share.
func TestWhatAQueueTookIsAShareOfWhatWasSent(t *testing.T) {
	trial := SearchTrial{Load: 1e6, EffectiveSeconds: 1, Sent: 1000, Received: 980, Queued: 60, LossRatio: 0.08, Short: 0.1}
	const want = " 1.00 s at 1M packets/s: 8 % lost (6 % in a queue that grew) of what was sent; the generator fell 10 % short"
	if got := trial.Words(PacketsPerSecond); got != want {
		t.Errorf("it is written %q", got)
	}
}
