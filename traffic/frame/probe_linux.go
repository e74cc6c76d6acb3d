package frame

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tellingApart is how far apart frames are that tell when they left, so that telling costs next to nothing:
// a part of a window of half a second has hundreds of them.
const tellingApart = 50 * time.Microsecond

const (
	probeFrames   = 64
	probeAsks     = 5
	probePatience = 20 * time.Millisecond
	// What else crosses the path may leave no room for any frame of a burst: the ring of a veth has 256 places
	// (VETH_RING_SIZE), and streams keep it full. What forwards and counts may have to wait for a CPU.
	probesLive     = 3
	probesYielding = 5
	// Where there is no other way to try: what resolves addresses or learns drops the first frames, too.
	probesLast = 20
)

// choose finds the way to the receiver, and picks a method.
func (w *sendWorker) choose(ctx context.Context) error {
	way, err := wayTo(w.session.from, w.session.to.Addr())
	if err != nil {
		return err
	}
	if err := fits(w.load.sizes, w.session.to.Addr().Is6(), way.device.mtu); err != nil {
		return err
	}
	w.device = way.device
	w.header = header{
		source: way.device.address, destination: way.nextHop, from: way.from, to: w.session.to.Addr(),
		port: w.session.to.Port(), session: w.session.number, sizes: w.load.sizes, addresses: w.load.addresses, stamped: true, apart: tellingApart,
	}
	return w.pick(ctx)
}

// pick takes the method that the order or a probe names: live frames if any of them came, else an
// AF_PACKET socket.
func (w *sendWorker) pick(ctx context.Context) error {
	refused := errors.New("method af-packet was asked for")
	if w.load.method != byPacket {
		refused = w.try(ctx, byXDP)
	}
	if refused == nil {
		w.confess()
	}
	if refused == nil || w.load.method == byXDP || ctx.Err() != nil {
		return privileged(refused)
	}
	if err := w.try(ctx, byPacket); err != nil {
		return privileged(fmt.Errorf("%w (before that: %w)", err, refused))
	}
	w.why = privileged(refused).Error()
	return nil
}

// confess says what a live sender does not see.
func (w *sendWorker) confess() {
	if l, is := w.liveSource(); is && l.refusals == nil {
		w.why = strings.TrimPrefix(w.why+"; this kernel does not tell which frames the device refuses, so those count as lost", "; ")
	}
}

// try keeps the sources of a method if its probe comes through.
func (w *sendWorker) try(ctx context.Context, method string) error {
	if method == byXDP && w.device.loopback {
		return errors.New("the loopback device takes no live frames")
	}
	sources, err := newSources(method, w.header, w.load, w.device)
	if err != nil {
		return err
	}
	w.sources, w.method = sources, method
	err = w.probe(ctx)
	if err != nil && w.shutOut(err) {
		err = w.probeOpened(ctx, err)
	}
	if err != nil {
		w.sources = nil
		return errors.Join(err, closeSources(sources))
	}
	return nil
}

// shutOut tells whether live frames may have failed because a veth's other end takes none.
func (w *sendWorker) shutOut(err error) bool {
	l, is := w.liveSource()
	unknown := is && l.refusals == nil && !errors.Is(err, unix.EINVAL)
	return is && w.device.kind == "veth" && (unknown || l.refusesAll())
}

// probeOpened probes again with a veth's other end opened, which it is no longer where that did not help.
func (w *sendWorker) probeOpened(ctx context.Context, shut error) error {
	restore, err := openPeer(w.device)
	if err != nil {
		return fmt.Errorf("%w; %w", shut, err)
	}
	if err := w.probe(ctx); err != nil {
		return errors.Join(err, restore())
	}
	w.opened = restore
	w.why = w.openedWords()
	return nil
}

func (w *sendWorker) openedWords() string {
	return "the other end of " + w.device.name + " has a program at its XDP until this ends: live frames need it; the kernel switches segmentation offload off at " + w.device.name + " meanwhile, for other traffic, too"
}

// probe sends some frames and asks the receiver whether any came.
func (w *sendWorker) probe(ctx context.Context) error {
	times := probesLast
	switch {
	case w.method != byPacket && w.yields:
		times = probesYielding
	case w.method != byPacket:
		times = probesLive
	}
	return w.probeBy(ctx, w.method, times, func() error { return w.sources[0].probe(probeFrames) })
}

// probeBy sends so many times at most, until frames have come or the device has said that it takes none.
func (w *sendWorker) probeBy(ctx context.Context, method string, times int, send func() error) error {
	before, err := w.session.counted(ctx)
	if err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		if err := send(); err != nil {
			return err
		}
		if l, is := w.liveSource(); is && l.refusesAll() {
			return w.silence(method, tries)
		}
		if came, err := w.arrived(ctx, before); err != nil || came {
			return err
		}
		if tries == times {
			return w.silence(method, tries)
		}
	}
}

// liveSource is the first source, if it sends live frames.
func (w *sendWorker) liveSource() (l *live, is bool) {
	if len(w.sources) > 0 {
		l, is = w.sources[0].(*live)
	}
	return l, is
}

// arrived asks until the receiver has counted more frames of a probe than before it.
func (w *sendWorker) arrived(ctx context.Context, before uint64) (bool, error) {
	for range probeAsks {
		count, err := w.session.counted(ctx)
		if err != nil || count > before {
			return err == nil, err
		}
		select {
		case <-time.After(probePatience):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return false, nil
}

// silence says what is known of why no frame came of so many bursts.
func (w *sendWorker) silence(method string, tries int) error {
	says := fmt.Errorf("no frame sent by %s came to the receiver's sink (bursts tried: %d)", methodNames[method], tries)
	l, isLive := w.liveSource()
	switch {
	case isLive && w.device.kind == "veth" && (l.refusals == nil || l.refusesAll()):
		return fmt.Errorf("%w: a veth takes live frames only if its other end has XDP attached natively or GRO on", says)
	case isLive && l.refusal() != nil:
		return fmt.Errorf("%w: %s (%s) refuses them: %w", says, w.device.name, w.device.kind, l.refusal())
	case isLive:
		return fmt.Errorf("%w: %s (%s), or what is behind it, takes no XDP frames or had no room for them", says, w.device.name, w.device.kind)
	case w.device.loopback && !w.session.to.Addr().IsLoopback():
		return fmt.Errorf("%w: %s is this host's own address, to which frames go by %s and not by the interface that has it; send to 127.0.0.1 or ::1, or to a receiver in another network namespace", says, w.session.to.Addr(), w.device.name)
	case w.load.addresses:
		return fmt.Errorf("%w: vary: addresses needs a path that lets foreign source addresses pass; try vary: ports", says)
	}
	return fmt.Errorf("%w: does the path carry UDP from %s to %s in packets of %d bytes, and do they come in by the interface that has %s?",
		says, w.session.from, w.session.to, w.load.sizes.largest()-ethernetSize-fcsSize, w.session.to.Addr())
}

// methodNames are those of result.Offered.Method.
var methodNames = map[string]string{byXDP: "xdp-live-frames", byPacket: byPacket, byPort: byPort, "testpmd": "testpmd", "pktgen": "pktgen", "trex": "trex"}
