package kernel

import "fmt"

// The flags of enum vr_fast_flag.
const (
	fastOn = 1 << iota
	fastTCP
	fastHand
)

// setFlags tells the programs whether they hand over tunnel packets that they leave.
func (f *fastPath) setFlags(hands bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active, f.hands = f.on(), hands
	return f.writeFlags()
}

// watch lets all packets go by tc while somebody watches there.
func (f *fastPath) watch(change int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers += change
	return f.writeFlags()
}

func (f *fastPath) writeFlags() error {
	if f.objects.VrFastFlags == nil {
		return nil
	}
	var flags uint32
	if f.watchers == 0 && f.active {
		flags = fastOn
	}
	if f.tcp {
		flags |= fastTCP
	}
	if f.hands {
		flags |= fastHand
	}
	if err := f.objects.VrFastFlags.Put(uint32(0), flags); err != nil {
		return fmt.Errorf("telling the fast path what to do: %w", err)
	}
	return nil
}
