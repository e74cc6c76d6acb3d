package control

import (
	"cmp"
	"fmt"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/kernel"
)

// How much of an interface's traffic XDP forwards, at most.
const (
	FastBoth = "both"
	fastIn   = "in"  // what comes in here only
	fastNone = "off" // nothing
)

// Fast is what XDP forwards of an interface without tc.
type Fast struct {
	Way    string `json:"way"`    // one of the above
	Why    string `json:"why"`    // it is not more, or is so much
	Taken  uint64 `json:"taken"`  // packets that XDP forwarded
	Passed uint64 `json:"passed"` // packets that it saw and left to tc
}

// setFast brings the interfaces to what the configuration wants and the machine can.
func (a *Agent) setFast(to wish) (err error) {
	flows := make(map[uint32]bool)
	w := kernel.FastWish{Fabric: to.facts.FabricIfindex, On: to.config.Fabric.Fast, Ports: make(map[uint32]config.Fast)}
	slots := view{to.config, to.image}.slots()
	for _, p := range to.config.Ports {
		if vif, ok := to.image.Vifs[slots[config.ID(p.Name)]]; ok {
			w.Ports[vif.Ifindex] = p.Fast
			if p.Flow.Policy != "" {
				w.Ports[vif.Ifindex], flows[vif.Ifindex] = config.FastOff, true
			}
		}
	}
	a.fast, err = a.kernel.SetFast(w)
	for ifindex := range flows {
		a.fast[ifindex] = kernel.Fast{Why: "its flows are at tc"}
	}
	if err != nil {
		return err
	}
	a.inDevice, err = a.kernel.SetHardware(to.config.Offload == config.OffloadAuto, to.facts.FabricIfindex, a.fast)
	return err
}

// fastRow is an interface's, and its counters: those of a vif, or of the fabric for 0.
func (a *Agent) fastRow(ifindex, vif uint32) (Fast, error) {
	f := a.fast[ifindex]
	row := Fast{Way: fastNone, Why: f.Why}
	if a.kernel == nil {
		row.Why = inPollMode
		return row, nil
	}
	switch {
	case f.From && f.To:
		row.Way = FastBoth
	case f.From:
		row.Way = fastIn
	}
	count, err := a.kernel.FastCount(vif)
	row.Taken, row.Passed = count.Taken, count.Left
	return row, err
}

// FastStats are the packets that the fast path forwarded, by where they came from.
type FastStats struct {
	Ports  uint64 `json:"ports"`
	Fabric uint64 `json:"fabric"`
}

func (a *Agent) fastStats() (FastStats, error) {
	if a.kernel == nil {
		return FastStats{}, nil
	}
	fabric, err := a.kernel.FastCount(0)
	s := FastStats{Fabric: fabric.Taken}
	for slot := range a.image.Vifs {
		if err != nil {
			break
		}
		var count kernel.FastCount
		count, err = a.kernel.FastCount(slot)
		s.Ports += count.Taken
	}
	return s, err
}

// slow says what is not as fast as it was asked for in so many words, and why.
func (a *Agent) slow() (effects []string) {
	if a.kernel == nil {
		return nil
	}
	say := func(who string, want config.Fast, ifindex uint32) {
		f := a.fast[ifindex]
		if cmp.Or(want, config.FastOff) != config.FastOff && !(f.From && f.To) {
			effects = append(effects, fmt.Sprintf("%s: not all by the fast path: %s", who, f.Why))
		}
	}
	say("the fabric", a.config.Fabric.Fast, a.facts.FabricIfindex)
	slots := a.view().slots()
	for _, p := range a.config.Ports {
		if vif, ok := a.image.Vifs[slots[config.ID(p.Name)]]; ok {
			say("port "+p.Name, p.Fast, vif.Ifindex)
		}
	}
	return effects
}
