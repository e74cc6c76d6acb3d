//go:build e2e

package e2e

import (
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/datagram"
)

// likeNIC makes a veth pair cut and join as two NICs on a cable do.
func (b frameBed) likeNIC() {
	for _, s := range []*stack{b.from, b.to} {
		s.run("ethtool -K eth0 tso off gso off tx-udp-segmentation off gro on")
	}
}

// datagrams prepares both ends of a load and runs them. What is to disturb them acts once some have come, and has most of a window for it.
func (b frameBed) datagrams(t testing.TB, address string, load result.Options, disturb func()) (sent, got result.PairEnd) {
	t.Helper()
	prepare := func(at *stack, order traffic.Order) (w traffic.Worker) {
		var err error
		at.do(func() { w, err = datagram.Kind{}.Prepare(t.Context(), order) })
		if err != nil {
			t.Fatalf("preparing to %s: %v", order.Role, err)
		}
		t.Cleanup(func() { w.Close() })
		return w
	}
	receive := prepare(b.to, traffic.Order{Role: traffic.Receive, Load: load, Address: address})
	send := prepare(b.from, traffic.Order{Role: traffic.Send, Load: load, Address: receive.Address()})
	when := briefly
	if disturb != nil {
		when.Window, when.Interval = 2*time.Second, 50*time.Millisecond
	}
	when.Start = time.Now().Add(100 * time.Millisecond)
	var all sync.WaitGroup
	all.Go(func() {
		watched, once := when, sync.Once{}
		watched.Observe = func(i result.Interval) {
			if disturb != nil && i.From >= 0 && i.Packets > 0 {
				once.Do(func() { all.Go(disturb) })
			}
		}
		var err error
		if got, err = receive.Run(t.Context(), watched); err != nil {
			t.Error(err)
		}
	})
	all.Go(func() {
		var err error
		if sent, err = send.Run(t.Context(), when); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	return sent, got
}

// conserve fails unless every datagram of the window was received, lost, or late.
func conserve(t testing.TB, sent, got result.PairEnd) {
	t.Helper()
	if sent.Error != "" || got.Error != "" {
		t.Fatalf("sender %q, receiver %q", sent.Error, got.Error)
	}
	a := got.Arrived
	t.Logf("%s -> %s: sent %.3f Mpps, got %.3f, lost %d, of them at the socket %d, late %d, reordered %d", sent.Offered.Method, a.Method,
		float64(sent.Packets)/sent.WindowSeconds/1e6, float64(got.Packets)/got.WindowSeconds/1e6, a.Lost, a.SocketDrops, a.Late, a.Reordered)
	if a.Expected != sent.Packets || a.Expected != got.Packets+a.Lost+a.Late || got.Packets == 0 {
		t.Errorf("%d datagrams became %d received, %d lost, %d late", sent.Packets, got.Packets, a.Lost, a.Late)
	}
	if a.Corrupt+a.Duplicate+a.Late != 0 {
		t.Errorf("a wire made %d corrupt, %d duplicate and %d late datagrams", a.Corrupt, a.Duplicate, a.Late)
	}
}

func TestDatagramsCrossAWire(t *testing.T) { measured(t, testDatagramsCrossAWire) }

func testDatagramsCrossAWire(t *attempt) {
	needsRoot(t)
	cases := map[string]struct {
		address string
		nic     bool
		load    result.Options
	}{
		"as fast as it goes, memory": {"10.0.0.2", false, result.Options{}},
		"as fast as it goes, NIC":    {"10.0.0.2", true, result.Options{}},
		"one by one":                 {"10.0.0.2", true, result.Options{"segmentation": "off", "aggregation": "off"}},
		"joined on the way":          {"10.0.0.2", true, result.Options{"segmentation": "off"}},
		"a receiver that polls":      {"10.0.0.2", true, result.Options{"segmentation": "off", "poll": "busy"}},
		"64-byte frames":             {"10.0.0.2", true, result.Options{"message": 18}},
		"IPv6":                       {"fd00::2", true, result.Options{"rate": 1e9}},
		"many flows":                 {"10.0.0.2", true, result.Options{"flows": 100, "threads": 2, "packets": 1e5}},
	}
	for name, c := range cases {
		t.Run(name, func(t *attempt) {
			b := direct(t)
			if c.nic {
				b.likeNIC()
			}
			sent, got := b.datagrams(t, c.address, c.load, nil)
			conserve(t, sent, got)
			methods, want := sent.Offered.Method+", "+got.Arrived.Method, "udp-segment, udp-gro"
			if c.load["segmentation"] == "off" {
				want = "sendmmsg, udp-gro"
			}
			if c.load["aggregation"] == "off" {
				want = "sendmmsg, recvmmsg"
			}
			if methods != want || (sent.Offered.Why != "") != (c.load["segmentation"] == "off") {
				t.Errorf("sent and received by %s (%s, %s), not %s", methods, sent.Offered.Why, got.Arrived.Why, want)
			}
			if c.load["segmentation"] != "off" && c.load["packets"] == nil && c.load["rate"] == nil && got.Calls*4 > got.Packets {
				t.Errorf("%d datagrams came in %d messages: nothing joined them", got.Packets, got.Calls)
			}
		})
	}
}

func TestDatagramsFlowBothWays(t *testing.T) { measured(t, testDatagramsFlowBothWays) }

func testDatagramsFlowBothWays(t *attempt) {
	needsRoot(t)
	b := direct(t)
	b.likeNIC()
	sent, got := b.datagrams(t, "10.0.0.2", result.Options{"direction": "both", "rate": 2e8, "flows": 4}, nil)
	conserve(t, sent, got)
	conserve(t, *got.Opposite, *sent.Opposite)
}

// TestDatagramPathRefusesSegments has paths that take no message to be cut: the
// datagrams go one by one, and the result says why.
func TestDatagramPathRefusesSegments(t *testing.T) {
	needsRoot(t)
	for name, line := range map[string]string{
		"a smaller MTU": "ip link set eth0 mtu 1000",
		"no checksums":  "ethtool -K eth0 tx off",
	} {
		t.Run(name, func(t *testing.T) {
			b := direct(t)
			b.from.run(line)
			sent, got := b.datagrams(t, "10.0.0.2", result.Options{"rate": 5e8}, nil)
			conserve(t, sent, got)
			if sent.Offered.Method == "udp-segment" && name == "no checksums" {
				t.Skip("this kernel computes the checksums of what it cuts")
			}
			if sent.Offered.Method != "sendmmsg" || !strings.Contains(sent.Offered.Why, "refused") {
				t.Errorf("sent by %s, because %q", sent.Offered.Method, sent.Offered.Why)
			}
		})
	}
}

// TestDatagramsLoseTheirPath takes the wire away: both ends end, and say so.
func TestDatagramsLoseTheirPath(t *testing.T) {
	needsRoot(t)
	b := direct(t)
	began := time.Now()
	sent, got := b.datagrams(t, "10.0.0.2", result.Options{"rate": 1e8}, func() { b.to.run("ip link set eth0 down") })
	if sent.Error == "" || got.Error == "" {
		t.Errorf("sender %q, receiver %q", sent.Error, got.Error)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s to end", took)
	}
}

// TestATestByHandWaitsForALongQueue: a path of 2 Mbit/s has four seconds of 4 Mbit/s in its queue, and both the last datagrams and the
// receiver's word come behind it. Both ends had failed, the one "silent", the other gone.
func TestATestByHandWaitsForALongQueue(t *testing.T) {
	needsRoot(t)
	for name, c := range map[string]struct {
		args  []string
		carry float64
	}{
		"datagrams": {[]string{"send", "--kind", "datagram", "--rate", "4Mbit/s"}, 2e6 * 1400 / 1442},
		"pings":     {[]string{"ping", "--protocol", "udp", "--rate", "500/s", "--message", "1000B", "--response", "8B"}, 2e6 * 1000 / 1042},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bed, middle := bridged(t)
			middle.run("tc qdisc add dev v2 root tbf rate 2mbit burst 3kb limit 3mb")
			receive(t, bed.to, []string{"native"})
			got := bed.from.windtunnel(t, append(c.args, "10.0.0.2", "--json", "--time", "3s", "--no-calibrate")...).outcomeOf().Pair
			r := got.Receiver
			if r.Bytes == 0 {
				return // said already
			}
			if rate := float64(8*r.Bytes) / r.WindowSeconds; rate < 0.97*c.carry || rate > 1.03*c.carry {
				t.Errorf("received %.0f bit/s in %.3f s, the path carries %.0f", rate, r.WindowSeconds, c.carry)
			}
			if got.Limit == nil || got.Limit.Verdict != result.PathLimited {
				t.Errorf("limit %+v", got.Limit)
			}
			if name == "datagrams" && (r.Packets != got.Sender.Packets || r.Arrived.Lost != 0) {
				t.Errorf("of %d datagrams %d came and %d were lost, though the queue had room for all", got.Sender.Packets, r.Packets, r.Arrived.Lost)
			}
		})
	}
}
