package generator

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// task is one trial's work, as both ends are told it.
type task struct {
	kind           string
	load           result.Options
	host           string // the receiver's IP
	port           int    // the first of ports() that are the receiver's
	warmUp, window time.Duration
}

// newTask takes over what an order says.
func newTask(order traffic.Order) (task, error) {
	t := task{kind: order.Kind, load: order.Load, warmUp: seconds(order.WarmUpSeconds), window: seconds(order.WindowSeconds)}
	if t.window <= 0 || t.warmUp < 0 {
		return t, fmt.Errorf("a program of others has to be told how long to run when it is started: the order has a warm-up of %s and a window of %s", t.warmUp, t.window)
	}
	if order.Role == traffic.Receive {
		t.host = order.Address
		if at, err := netip.ParseAddrPort(order.Address); err == nil {
			t.host, t.port = at.Addr().String(), int(at.Port())
		}
		return t, nil
	}
	at, err := netip.ParseAddrPort(order.Address)
	if err != nil {
		return t, fmt.Errorf("the receiver's address %q: %w", order.Address, err)
	}
	t.host, t.port = at.Addr().String(), int(at.Port())
	return t, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// whole is how long the program runs: tools count in whole seconds.
func (t task) whole() int { return int(math.Ceil((t.warmUp + t.window).Seconds() - 1e-6)) }

// streams are the load's connections or flows, at least one.
func (t task) streams() int {
	return max(1, int(t.load.Int("streams")), int(t.load.Int("flows")))
}

// ports is how many consecutive ports the receiver needs: one to agree on a test, and one
// for each stream.
func (t task) ports() int { return 1 + t.streams() }

func (t task) address() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

// control and data are the ports of a tool that has them apart.
func (t task) control() string { return strconv.Itoa(t.port) }
func (t task) data() string    { return strconv.Itoa(t.port + 1) }

// bitsPerSecond is what all streams are to send together, of payload; 0: as fast as it goes.
func (t task) bitsPerSecond() float64 {
	rate := t.load.Float("rate")
	switch t.kind {
	case "stream":
		return rate * float64(t.streams())
	case "datagram":
		if packets := t.load.Float("packets") * 8 * float64(t.load.Int("message")); packets > 0 && (rate == 0 || packets < rate) {
			return packets
		}
		return rate
	}
	return 0
}

// offered is what a sender was asked for; nil: as fast as it goes.
func (t task) offered() *result.Offered {
	o := result.Offered{TargetBitsPerSecond: t.bitsPerSecond()}
	switch t.kind {
	case "datagram":
		o.TargetPacketsPerSecond = o.TargetBitsPerSecond / 8 / float64(t.load.Int("message"))
	case "ping":
		o.TargetPacketsPerSecond = t.load.Float("rate")
	}
	return &o
}
