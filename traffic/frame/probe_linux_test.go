package frame

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"windtunnel/traffic"
)

// fakeTester agrees to everything, and counts the probes that it is asked for.
func fakeTester(t *testing.T) (path string, probes *atomic.Uint64) {
	t.Helper()
	path, probes = filepath.Join(socketFolder(t), "tester"), &atomic.Uint64{}
	socket, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { socket.Close(); <-ended })
	go func() {
		defer close(ended)
		conn, err := socket.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for lines := bufio.NewScanner(conn); lines.Scan(); fmt.Fprintln(conn, "ok") {
			if strings.HasPrefix(lines.Text(), "probe ") {
				probes.Add(1)
			}
		}
	}()
	return path, probes
}

// TestPortsProbeIsSentAgain: a switch that has first to find out where the receiver is, or whose port
// is not ready, drops the first frames.
func TestPortsProbeIsSentAgain(t *testing.T) {
	path, probes := fakeTester(t)
	ln := testListener(t)
	ln.probed = func() (uint64, error) { return probes.Load() / 3, nil }
	w := &sendWorker{load: load{sizes: mix{64}, flows: 1}, session: joinTo(t, ln)}
	w.session.from = w.session.to.Addr()
	m, err := newPortMover(t.Context(), w, traffic.Port{Name: "one", Tester: path, MAC: "02:00:00:00:00:01", NextHop: "02:00:00:00:00:02"})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.tester.close(); err != nil {
		t.Error(err)
	}
	if n := probes.Load(); n != 3 {
		t.Errorf("%d probes, where the first frames come of the third", n)
	}
}

// probed is a source that is only probed.
type probed struct {
	source
	times *atomic.Uint64
}

func (p probed) probe(int) error { p.times.Add(1); return nil }

// TestACrowdedPathIsProbedAgain: streams that keep a ring on the way full leave no room for a burst; it is no proof that the path
// carries no frames.
func TestACrowdedPathIsProbedAgain(t *testing.T) {
	for method, comes := range map[string]uint64{byPacket: 9, byXDP: 3} {
		var times atomic.Uint64
		ln := testListener(t)
		ln.probed = func() (uint64, error) { return times.Load() / comes, nil }
		w := &sendWorker{load: load{sizes: mix{64}, flows: 1}, session: joinTo(t, ln), sources: []source{probed{times: &times}}, method: method}
		if err := w.probe(t.Context()); err != nil || times.Load() != comes {
			t.Errorf("%s: %d probes, where frames come of number %d: %v", method, times.Load(), comes, err)
		}
	}
}

// TestADeviceThatTakesNoFramesIsNotProbedAgain: where another method is to be tried, nobody waits for what cannot come.
func TestADeviceThatTakesNoFramesIsNotProbedAgain(t *testing.T) {
	ln := testListener(t)
	var l live
	l.record = &sendFrameSender{Error: -int32(syscall.ENXIO)}
	w := &sendWorker{load: load{sizes: mix{64}, flows: 1}, session: joinTo(t, ln), sources: []source{&l}, device: device{name: "one", kind: "veth"}}
	probes := 0
	err := w.probeBy(t.Context(), byXDP, probesLive, func() error { probes++; return nil })
	if err == nil || !strings.Contains(err.Error(), "GRO on") || probes != 1 {
		t.Errorf("%d probes: %v", probes, err)
	}
}

// TestSilenceHasItsReason: frames to this host's own address go by the loopback device, where the sink of the interface that has it sees
// none; and TCP comes to an address by any interface, but the sink stands at that of the address.
func TestSilenceHasItsReason(t *testing.T) {
	for says, device := range map[string]device{"this host's own": {name: "lo", loopback: true}, "the interface that has 10.0.0.2": {name: "one", kind: "veth"}} {
		w := &sendWorker{load: load{sizes: mix{64}, flows: 1}, device: device, method: byPacket,
			session: &session{from: netip.MustParseAddr("10.0.0.2"), to: netip.MustParseAddrPort("10.0.0.2:5000")}}
		if err := w.silence(byPacket, probesLast); !strings.Contains(err.Error(), says) {
			t.Errorf("by %s: %v", device.name, err)
		}
	}
}
