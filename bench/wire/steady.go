package wire

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

// Steady lets one of our loads run between the nodes for at most so long, and what is given, once it runs steadily. The load ends
// with that; what it counted itself is lost.
func (w *Wire) Steady(ctx context.Context, most time.Duration, kind string, load result.Options, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, most+15*time.Second)
	defer cancel()
	receiver, sender, err := w.pair(ctx, kind, load)
	if err != nil {
		return err
	}
	defer receiver.Stop()
	defer sender.Stop()
	if err := begin(most, receiver, sender); err != nil {
		return err
	}
	if err := Wait(ctx, startsIn+WarmUp); err != nil {
		return err
	}
	return do(ctx)
}

const (
	// startsIn is after how long a load's ends start together.
	startsIn = 100 * time.Millisecond
	// lead is by how much their window begins before what is measured: little, as that is looked at for disturbances alone.
	lead = 100 * time.Millisecond
)

// pair prepares both ends of a load.
func (w *Wire) pair(ctx context.Context, kind string, load result.Options) (receiver, sender *Worker, err error) {
	receiver, err = StartWorker(ctx, B, w.Nice, traffic.Order{Role: traffic.Receive, Kind: kind, Load: load})
	if err != nil {
		return nil, nil, err
	}
	sender, err = StartWorker(ctx, A, w.Nice, traffic.Order{Role: traffic.Send, Kind: kind, Load: load, Address: receiver.Address})
	if err != nil {
		receiver.Stop()
		return nil, nil, err
	}
	return receiver, sender, nil
}

// begin has a load's ends run for its warm-up, and a window around what is measured.
func begin(window time.Duration, ends ...*Worker) error {
	when := schedule{InSeconds: startsIn.Seconds(), WarmUpSeconds: (WarmUp - lead).Seconds(), WindowSeconds: (lead + window + Margin).Seconds()}
	for _, p := range ends {
		if err := json.NewEncoder(p.in).Encode(when); err != nil {
			return err
		}
	}
	return nil
}

// Count is what the calling thread's namespace has received at a moment of CLOCK_MONOTONIC.
type Count struct {
	At   time.Duration
	TCP  uint64 // payload, in bytes, of all sockets that stand
	UDP  uint64 // datagrams handed to sockets
	Took time.Duration
}

// Received counts now. At is the middle of the reading, which took so long.
func Received() (Count, error) {
	var c Count
	began, err := clock()
	if err != nil {
		return c, err
	}
	udp, err := readUDP()
	if err != nil {
		return c, err
	}
	sockets, err := netlink.SocketDiagTCPInfo(unix.AF_INET)
	if err != nil {
		return c, err
	}
	ended, err := clock()
	for _, s := range sockets {
		if s.TCPInfo != nil {
			c.TCP += s.TCPInfo.Bytes_received
		}
	}
	c.At, c.Took, c.UDP = (began+ended)/2, ended-began, udp.datagrams
	return c, err
}

func clock() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, errors.Join(errors.New("reading the clock"), err)
	}
	return time.Duration(now.Nano()), nil
}
