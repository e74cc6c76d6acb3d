package measure

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// What Open vSwitch 3.1 with DPDK says of a port at a vhost-user socket, which has no counters, and of one of a
// packet socket, at an instant in which so many packets have come.
func threadsText(packets, upcalls, failed, busy, idle uint64) string {
	return fmt.Sprintf(`pmd thread numa_id 0 core_id 0:
  packets received: %d
  packet recirculations: 0
  avg. datapath passes per packet: 1.00
  emc hits: 7
  megaflow hits: 63
  avg. subtable lookups per megaflow hit: 1.00
  miss with success upcall: %d
  miss with failed upcall: %d
  avg. packets per output batch: 1.00
  idle cycles: %d (99.99%%)
  processing cycles: %d (0.01%%)
  avg cycles per packet: 279567671.09 (18451466292/66)
main thread:
  packets received: 4
  miss with success upcall: 1
  avg. packets per output batch: 0.00
`, packets, upcalls, failed, idle, busy)
}

func portsText(lost, dropped uint64) string {
	return fmt.Sprintf(`netdev@ovs-netdev:
  lookups: hit:63 missed:3 lost:%d
  flows: 3
  port 0: ovs-netdev (tap)
    RX packets:0 errors:0 dropped:9 overruns:0 frame:0
    TX packets:0 errors:0 dropped:0 aborted:0 carrier:0
    collisions:0
    RX bytes:0  TX bytes:0
  port 1: port-0 (dpdkvhostuser: configured_rx_queues=1, mtu=1450)
, could not retrieve stats (Protocol error)  port 4: nic0 (dpdk: configured_rx_queues=1, mtu=1500)
    RX packets:2 errors:0 dropped:0 overruns:? frame:?
    TX packets:1 errors:? dropped:%d aborted:? carrier:?
    collisions:?
    RX bytes:84  TX bytes:42
  port 5: v-one (system)
    RX packets:2 errors:5 dropped:5 overruns:0 frame:0
`, lost, dropped)
}

// openVSwitch answers on a control socket as its daemon does, what has the method's name.
func openVSwitch(t *testing.T, answers map[string]string) string {
	t.Helper()
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "ctl"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { socket.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			conn, err := socket.Accept()
			if err != nil {
				return
			}
			var question struct{ ID, Method string }
			for questions := json.NewDecoder(conn); questions.Decode(&question) == nil; {
				answer, known := answers[question.Method]
				reply := map[string]any{"id": question.ID, "result": answer, "error": nil}
				if !known {
					reply = map[string]any{"id": question.ID, "result": nil, "error": "unknown command"}
				}
				text, _ := json.Marshal(reply)
				conn.Write(text) // no line's end
			}
			conn.Close()
		}
	}()
	return socket.Addr().String()
}

func TestOpenVSwitchCounts(t *testing.T) {
	at := func(seconds float64, threads, ports string) reading[switchReading] {
		r, err := readOpenVSwitch(openVSwitch(t, map[string]string{"dpif-netdev/pmd-stats-show": threads, "dpctl/show": ports}))
		r.at = time.Unix(0, 0).Add(time.Duration(seconds * float64(time.Second)))
		return read(r, err)
	}
	s, err := switchBetween("ovs-a", at(1, threadsText(66, 3, 0, 1000, 1e9), portsText(0, 0)), at(3, threadsText(166, 5, 2, 2e9, 3e9-1000), portsText(1, 8)))
	if err != nil {
		t.Fatal(err)
	}
	if want := (result.Polling{Cores: 1, Busy: 2e9 - 1000, Idle: 2e9 - 1000, Hertz: 2e9 - 1000}); s.Polling == nil || !reflect.DeepEqual(*s.Polling, want) {
		t.Errorf("%+v, not %+v", s.Polling, want)
	}
	if want := map[string]uint64{"failed upcalls": 2, "lost upcalls": 1, "nic0 tx dropped": 8}; !maps.Equal(s.Drops, want) {
		t.Errorf("drops %v, not %v", s.Drops, want)
	}
	if want := map[string]uint64{"packets": 100, "upcalls": 2}; !maps.Equal(s.Counts, want) {
		t.Errorf("counts %v, not %v", s.Counts, want)
	}
}

func TestOpenVSwitchCannotBeRead(t *testing.T) {
	for says, answers := range map[string]map[string]string{
		"does not answer dpif-netdev/pmd-stats-show": nil,
		"tells of no thread":                         {"dpif-netdev/pmd-stats-show": "", "dpctl/show": ""},
		"does not answer dpctl/show":                 {"dpif-netdev/pmd-stats-show": threadsText(1, 1, 1, 1, 1)},
	} {
		if _, err := readSwitch(Switch{Name: "ovs-a", Kind: "openvswitch", Socket: openVSwitch(t, answers)}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, not %q", err, says)
		}
	}
	if _, err := readSwitch(Switch{Kind: "openvswitch", Socket: "/nosuch"}); err == nil {
		t.Error("a socket that is not there is read")
	}
}
