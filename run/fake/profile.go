package fake

import (
	"math"

	"windtunnel/result"
)

// profileOf is what sampling would have seen of a node whose CPU was as busy as that: half of the time in TCP, the
// other half copying for it.
func profileOf(s result.NodeSample) *result.Profile {
	const period = 0.001
	p := &result.Profile{
		WindowSeconds: s.WindowSeconds, PeriodSeconds: period, CPUs: []int{0},
		Names: []string{"do_idle", "default_idle_call", "tcp_sendmsg", "_copy_from_iter"},
	}
	all := int32(math.Round(s.WindowSeconds / period))
	busy := min(all, int32(math.Round(s.CPUs[0].Busy/period)))
	p.Taken = uint64(all)
	p.Tasks = []result.ProfileTask{
		{Name: "windtunnel", Whose: result.OfCell, Frames: []result.ProfileFrame{{-1, 2, busy / 2}, {0, 3, busy - busy/2}}},
		{Name: "idle", Whose: result.OfIdle, Frames: []result.ProfileFrame{{-1, 0, 0}, {0, 1, all - busy}}},
	}
	return p
}
