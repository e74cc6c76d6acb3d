package poll

import (
	"encoding/binary"
	"fmt"

	"windtunnel/vrouter/core"
)

func read(memory []byte, into any) error {
	if _, err := binary.Decode(memory, binary.LittleEndian, into); err != nil {
		return fmt.Errorf("reading the counters: %w", err)
	}
	return nil
}

// sum reads a record of every core's account and adds them up.
func sum[T any](accounts []account, at int, add func(T)) error {
	for _, a := range accounts {
		var one T
		if err := read(a[at:], &one); err != nil {
			return err
		}
		add(one)
	}
	return nil
}

// Totals are all packets' account.
func (p *Plane) Totals() (t core.Totals, err error) {
	if err := sum(p.image.accounts, totalsAt, t.Add); err != nil {
		return t, err
	}
	t.Add(p.offloaded.Totals())
	return t, nil
}

// record is a vif's place in a list of an account.
func record(from, size int, vif uint32) (int, error) {
	if vif >= core.MaxVifs {
		return 0, fmt.Errorf("there is no vif %d", vif)
	}
	return from + int(vif)*size, nil
}

// VifCount is one vif's account.
func (p *Plane) VifCount(vif uint32) (c core.VifCount, err error) {
	at, err := record(vifsAt, core.SizeVifCount, vif)
	if err != nil {
		return c, err
	}
	if err := sum(p.image.accounts, at, c.Add); err != nil {
		return c, err
	}
	c.Add(p.offloaded.Vif(vif))
	return c, nil
}

// VifDrops are one vif's losses.
func (p *Plane) VifDrops(vif uint32) (d core.VifDrops, err error) {
	at, err := record(lossesAt, core.SizeVifDrops, vif)
	if err != nil {
		return d, err
	}
	if err := sum(p.image.accounts, at, d.Add); err != nil {
		return d, err
	}
	d.Add(p.offloaded.Drops(vif))
	return d, nil
}

// ClearVifCount starts a vif's account anew, for a slot that another port had. No packet is counted
// there meanwhile: the slot has no port yet.
func (p *Plane) ClearVifCount(vif uint32) error {
	count, err := record(vifsAt, core.SizeVifCount, vif)
	if err != nil {
		return err
	}
	losses, err := record(lossesAt, core.SizeVifDrops, vif)
	if err != nil {
		return err
	}
	p.offloaded.Forget(vif)
	for _, a := range p.image.accounts {
		clear(a[count : count+core.SizeVifCount])
		clear(a[losses : losses+core.SizeVifDrops])
	}
	return nil
}
