package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// messageCause is smaller messages, each of which TCP takes by itself.
func messageCause(c contrast) []Cause {
	size := c.two(func(_ Cell, t result.Trial) (float64, bool) {
		bytes, calls := 0.0, 0.0
		for _, p := range t.Pairs {
			for _, e := range p.Senders() {
				bytes, calls = bytes+float64(e.Bytes), calls+float64(e.Calls)
			}
		}
		return bytes / math.Max(calls, 1), calls > 0
	})
	ratio, differs := size.ratio()
	worse, better := c.worse.Spec.Load["message"], c.better.Spec.Load["message"]
	if !differs || ratio >= 1 || !c.sameLoad() || fmt.Sprint(worse) == fmt.Sprint(better) {
		return nil
	}
	return []Cause{{Factor: "message-size", Share: notKnown(), end: atSender, rank: rank{dearer, -math.Log(ratio)},
		Says: "the sender hands over less at a time: " + c.compared("%.0f bytes", size)}}
}
