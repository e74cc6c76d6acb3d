package traffic

import (
	"strings"
	"testing"

	"windtunnel/result"
)

// Of datagrams that nobody numbers, as ntttcp's, what was sent and never received was lost all the same: a busy sender of them is not what
// bounded the traffic.
func TestDatagramsWithoutNumbers(t *testing.T) {
	ntttcp := func(end result.PairEnd) result.PairEnd {
		end.Generator = &result.Generator{Name: "ntttcp"}
		return end
	}
	for name, c := range map[string]struct {
		sent, received   float64
		busy             float64 // the receiver's threads
		verdict, because string
	}{
		"half on the way":             {1000, 500, 0.4, result.PathLimited, "50 % of the packets were lost"},
		"half at a busy receiver":     {1000, 500, 0.95, result.ReceiverLimited, "50 % of the packets were lost while the receiver's threads were busy"},
		"a little, at windows' edges": {1000, 970, 0.4, result.GeneratorLimited, "busy 100 %"},
	} {
		got := Judge(nil, ntttcp(offering(packets(c.sent, 1), result.Offered{})), ntttcp(packets(c.received, c.busy)))
		if got.Verdict != c.verdict || !strings.Contains(got.Says, c.because) {
			t.Errorf("%s: %s, %s", name, got.Verdict, got.Says)
		}
	}
	untold := ntttcp(packets(1000, 0.4))
	untold.Packets = 0
	if got := Judge(nil, ntttcp(offering(packets(1000, 1), result.Offered{})), untold); strings.Contains(got.Says, "lost") {
		t.Errorf("a receiver that tells no packets: %s", got.Says)
	}
}
