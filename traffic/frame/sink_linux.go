package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

// sink counts the frames of one session.
type sink interface {
	// tally reads what has come so far.
	tally() (tally, error)
	// method is how frames are counted, and why not in a better way.
	method() (how, why string)
	close() error
}

// timer is a sink that reads when frames left.
type timer interface {
	// flights are the window's frames that tell it, by how long they were on their way (lagOf).
	flights() ([]uint64, error)
}

// grower is a sink that sees whether frames queued longer and longer.
type grower interface {
	// expect readies it for a window of that length, before that begins.
	expect(window time.Duration) error
	// grown is by how much the shortest time under way grew from the window's beginning to its end.
	grown() (time.Duration, error)
}

// spreader is a sink that counts flow by flow.
type spreader interface {
	// perFlow is how the window's frames are spread over the flows.
	perFlow() (result.PerFlow, error)
}

// renewer is a sink that can count another session, from nothing.
type renewer interface {
	// renew is told of a session that no frame has yet.
	renew(session uint32) error
}

var (
	_ timer   = (*bpfSink)(nil)
	_ grower  = (*bpfSink)(nil)
	_ renewer = (*bpfSink)(nil)

	_ spreader = (*bpfSink)(nil)
)

// bpfSink counts in the kernel, at one hook or two.
type bpfSink struct {
	objects sinkObjects
	hooks   []hook
	how     string
	why     string
	waits   *device // of whose XDP another program has the driver's place; nil: of none
}

// hook is a program that is attached.
type hook interface{ Close() error }

// newSink attaches the sink that an order names. Auto falls back.
func newSink(how string, e expected, d device, cpu int) (sink, error) {
	var refused error
	if how != byPacket {
		s, err := newBPFSink(how, e, d)
		if err == nil {
			return s, nil
		}
		if how != auto {
			return nil, privileged(err)
		}
		refused = err
	}
	s, err := newPacketSink(e, d, cpu)
	switch {
	case err != nil && refused != nil:
		return nil, privileged(fmt.Errorf("%w; %w", refused, err))
	case err != nil:
		return nil, privileged(err)
	case refused != nil:
		s.why = privileged(refused).Error()
	}
	return s, nil
}

func newBPFSink(how string, e expected, d device) (*bpfSink, error) {
	s := &bpfSink{how: how}
	err := s.load(e, d.queues != 1, whole)
	if err == nil {
		err = s.attach(how, e, d)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// How frames lie before XDP: each within a page, or in several pieces, which programs have to say that they know
// (BPF_F_XDP_HAS_FRAGS, Linux 5.18).
const (
	whole    = false
	inPieces = true
)

func (s *bpfSink) load(e expected, shared, pieces bool) error {
	if err := rlimit.RemoveMemlock(); err != nil {
		return fmt.Errorf("lifting the memory lock limit: %w", err)
	}
	spec, err := loadSink()
	if err != nil {
		return fmt.Errorf("reading the BPF programs: %w", err)
	}
	words := wordsPerFlow(e.flows)
	var lengths [mostTurns]uint32
	for i, size := range e.sizes {
		lengths[i] = uint32(size - fcsSize)
	}
	for name, value := range map[string]any{
		"frame_session":        swapped(e.session),
		"frame_flows":          e.flows,
		"frame_words_per_flow": words,
		"frame_lengths":        lengths,
		"frame_turns":          uint32(len(e.sizes)),
		"frame_ipv6":           flag(e.ipv6),
		"frame_shift":          uint32(e.outer.shift()),
		"frame_shared":         flag(shared),
		"frame_timed":          flag(e.timed),
		"frame_pieces":         flag(pieces),
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("setting %s of the BPF programs: %w", name, err)
		}
	}
	if pieces {
		spec.Programs["frame_at_xdp"].Flags |= unix.BPF_F_XDP_HAS_FRAGS
	}
	memory := spec.Maps["frame_flow"]
	memory.MaxEntries, memory.ValueSize = e.flows, 8*(flowWords+words)
	if err := spec.LoadAndAssign(&s.objects, nil); err != nil {
		return fmt.Errorf("loading the BPF programs that count frames: %w", err)
	}
	if e.outer == nil {
		return nil
	}
	if err := s.objects.FrameWorn.Put(uint32(0), e.outer.record()); err != nil {
		return fmt.Errorf("telling the BPF programs what frames wear: %w", err)
	}
	return nil
}

// record is the outer header as frame_outer.h has it.
func (o *outer) record() (r struct {
	Bytes, Mask              [outerMost]byte
	Length, IPv6, UDP, IPSum uint32
}) {
	copy(r.Bytes[:], o.prefix)
	copy(r.Mask[:], o.mask())
	r.Length, r.IPv6, r.UDP, r.IPSum = uint32(len(o.prefix)), flag(o.ipv6), flag(o.udp), o.ipSum()
	return r
}

// swapped is a number as the program reads it out of a packet: in network order.
func swapped(n uint32) uint32 { return n>>24 | n>>8&0xff00 | n<<8&0xff0000 | n<<24 }

// attach takes XDP in the driver and tc beside it, because some paths put frames
// behind the driver's XDP (bpf_redirect_peer). XDP without the driver's help gains
// nothing over tc; it is taken only where it is asked for.
func (s *bpfSink) attach(how string, e expected, d device) error {
	if how == auto || how == byXDP {
		native, err := s.attachNative(e, d)
		if err != nil {
			return err
		}
		if native != nil {
			s.why = whyNotXDP(d, native)
		}
		if how == auto && occupied(native) {
			s.waits = &d
		}
		if how == byXDP && native != nil {
			if err := s.attachXDP(d, link.XDPGenericMode); err != nil {
				return fmt.Errorf("%s; and generic XDP: %w", s.why, err)
			}
			s.why = "generic XDP: " + s.why
		}
	}
	if how == byXDP {
		return nil
	}
	h, err := attachTC(d, s.objects.FrameAtTc)
	if err != nil {
		return fmt.Errorf("attaching the sink to tc at %s: %w", d.name, err)
	}
	s.hooks = append(s.hooks, h)
	return nil
}

// occupied tells whether another program has the driver's XDP: there is room for one, in one mode (dev_xdp_attach in net/core/dev.c).
func occupied(refused error) bool {
	return errors.Is(refused, unix.EBUSY) || errors.Is(refused, unix.EEXIST)
}

// whyNotXDP says why the driver's XDP was not to be had.
func whyNotXDP(d device, err error) string {
	if occupied(err) {
		return fmt.Sprintf("another program is attached at the XDP of %s (`ip link show %s`): %v", d.name, d.name, err)
	}
	return fmt.Sprintf("the driver of %s took no XDP program: %v", d.name, err)
}

// attachNative tries the driver with programs for frames that lie within a page, and then with those for frames in pieces, which
// drivers want at an MTU beyond it (veth_xdp_set in drivers/net/veth.c).
func (s *bpfSink) attachNative(e expected, d device) (refused, err error) {
	refused = s.attachXDP(d, link.XDPDriverMode)
	if refused == nil || occupied(refused) {
		return refused, nil
	}
	if s.reload(e, d, inPieces) == nil && s.attachXDP(d, link.XDPDriverMode) == nil {
		return nil, nil
	}
	return refused, s.reload(e, d, whole)
}

func (s *bpfSink) reload(e expected, d device, pieces bool) error {
	err := s.objects.Close()
	s.objects = sinkObjects{}
	return errors.Join(err, s.load(e, d.queues != 1, pieces))
}

func (s *bpfSink) attachXDP(d device, mode link.XDPAttachFlags) error {
	l, err := link.AttachXDP(link.XDPOptions{Program: s.objects.FrameAtXdp, Interface: d.index, Flags: mode})
	if err != nil {
		return fmt.Errorf("attaching the sink to XDP at %s: %w", d.name, err)
	}
	s.hooks = append(s.hooks, l)
	return nil
}

// takeVacant attaches to the driver's XDP, which a veth's live frames need, when whoever had it has gone. It is called by one goroutine
// at a time, and none is left when the sink is closed.
func (s *bpfSink) takeVacant() {
	if s.waits != nil && s.attachXDP(*s.waits, link.XDPDriverMode) == nil {
		s.waits = nil
	}
}

func (s *bpfSink) tally() (tally, error) {
	var all tally
	for place := range atSocket {
		for phase := range phases {
			var each []sinkFrameTotals
			if err := s.objects.FrameSums.Lookup(uint32(place*phases+phase), &each); err != nil {
				return all, fmt.Errorf("reading the sink's counters: %w", err)
			}
			for _, t := range each {
				all.add(place, phase, totals{
					packets: t.Packets, bytes: t.Bytes, skipped: t.Skipped, reordered: t.Reordered, duplicate: t.Duplicate,
					late: t.Late, corrupt: t.Corrupt, merged: t.Merged,
				})
			}
		}
	}
	return all, nil
}

func (s *bpfSink) flights() ([]uint64, error) {
	sums := make([]uint64, s.objects.FrameFlights.MaxEntries())
	for bucket := range sums {
		var each []uint64
		if err := s.objects.FrameFlights.Lookup(uint32(bucket), &each); err != nil {
			return nil, fmt.Errorf("reading how long frames were on their way: %w", err)
		}
		for _, frames := range each {
			sums[bucket] += frames
		}
	}
	return sums, nil
}

// What the programs remember of a flow, in words of 64 bits: the number after the highest, then these.
const (
	flowWindow = 1 // the window's frames
	flowWords  = 2 // which numbers have come
)

func (s *bpfSink) perFlow() (spread result.PerFlow, err error) {
	memory, err := flowMemory(s.objects.FrameFlow)
	if err != nil {
		return spread, err
	}
	each := int(s.objects.FrameFlow.ValueSize())
	for flow := range s.objects.FrameFlow.MaxEntries() {
		spread.Add(binary.NativeEndian.Uint64(memory[int(flow)*each+8*flowWindow:]))
	}
	return spread, forgo(memory)
}

func (s *bpfSink) expect(window time.Duration) error {
	f := sinkFrameFloor{Shift: partShift(window)}
	for i := range f.Least {
		f.Least[i] = math.MaxInt64
	}
	if err := s.objects.FrameFloors.Put(uint32(0), &f); err != nil {
		return fmt.Errorf("telling the BPF programs how long the window is: %w", err)
	}
	return nil
}

// partShift is the length of a window's parts as a power of two of the unit in which frames tell when they left.
func partShift(window time.Duration) (shift uint64) {
	for window>>leftUnit>>shift >= traffic.FloorParts {
		shift++
	}
	return shift
}

func (s *bpfSink) grown() (time.Duration, error) {
	var f sinkFrameFloor
	if err := s.objects.FrameFloors.Lookup(uint32(0), &f); err != nil {
		return 0, fmt.Errorf("reading the shortest times under way: %w", err)
	}
	used := len(f.Least)
	for used > 0 && f.Least[used-1] == math.MaxInt64 {
		used--
	}
	return time.Duration(traffic.Rise(f.Least[:used]) << leftUnit), nil
}

func (s *bpfSink) method() (how, why string) { return s.how, s.why }

func (s *bpfSink) close() error {
	var failed []error
	for _, h := range s.hooks {
		failed = append(failed, h.Close())
	}
	s.hooks = nil
	if s.objects.FrameAtXdp != nil {
		failed = append(failed, s.objects.Close())
	}
	s.objects = sinkObjects{}
	return errors.Join(failed...)
}

// attachTC uses a link where the kernel has them (tcx, Linux 6.6): it ends with the process.
func attachTC(d device, program *ebpf.Program) (hook, error) {
	l, err := link.AttachTCX(link.TCXOptions{Interface: d.index, Program: program, Attach: ebpf.AttachTCXIngress, Anchor: link.Head()})
	if err == nil {
		return l, nil
	}
	if errors.Is(err, ebpf.ErrNotSupported) {
		return attachClsact(d, program)
	}
	return nil, err
}
