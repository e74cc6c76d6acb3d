package system

import (
	"encoding/binary"
	"errors"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestBetween(t *testing.T) {
	began := time.Now()
	links := []Link{{Place: "b", Device: "if7", Index: 7, Role: result.RoleWire}, {Place: "b", Device: "if9", Index: 9, Role: result.RoleEndpoint}}
	before := Reading{at: began, times: []Times{{Idle: time.Hour, User: time.Minute, Kernel: 3 * time.Second}, {Idle: time.Hour}},
		links: []Counters{{RxBytes: 10, TxPackets: 4}, {}}, linkErrs: []error{nil, errors.New("gone")}}
	after := Reading{at: began.Add(2 * time.Second), memory: 1 << 30, times: []Times{
		{Idle: time.Hour + 500*time.Millisecond, User: time.Minute + time.Second, Kernel: 3300 * time.Millisecond, Deferred: 150 * time.Millisecond, Interrupt: 50 * time.Millisecond},
		{Idle: time.Hour + 2010*time.Millisecond}}, // a tick more than the window
		links: []Counters{{RxBytes: 1010, TxPackets: 9}, {}}, linkErrs: []error{nil, nil}}
	s := Between(before, after, links, "b")
	if !near(s.WindowSeconds, 2) || s.CPUSource != Source || len(s.CPUs) != 2 || s.MemoryBytes != 1<<30 {
		t.Fatalf("%+v", s)
	}
	if c := s.CPUs[0]; !near(c.Busy, 1.5) || !near(c.User, 1) || !near(c.System, 0.3) || !near(c.Softirq, 0.15) || !near(c.IRQ, 0.05) {
		t.Errorf("the first CPU: %+v", c)
	}
	if c := s.CPUs[1]; c.CPU != 1 || c.Busy != 0 || !near(c.Idle, 2) {
		t.Errorf("an idle CPU: %+v", c)
	}
	if len(s.Links) != 1 || s.Links[0].RxBytes != 1000 || s.Links[0].TxPackets != 5 || s.Links[0].Role != result.RoleWire || s.Links[0].Place != "b" {
		t.Errorf("the links: %+v", s.Links)
	}
	for _, probe := range []string{"link b/if9", "stack b", "softnet", "interrupts", "context-switches", "kernel-threads"} {
		if s.Missing[probe] == "" {
			t.Errorf("no reason why %s is missing: %v", probe, s.Missing)
		}
	}
}

// TestWhatCannotBeReadHasItsReason, and is no zero.
func TestWhatCannotBeReadHasItsReason(t *testing.T) {
	one := []Link{{Place: "b", Device: "en0", Index: 1}}
	good := Reading{at: time.Now(), times: []Times{{}}, links: []Counters{{RxBytes: 5}}, linkErrs: []error{nil}}
	for name, c := range map[string]struct {
		change  func(*Reading)
		missing string
	}{
		"no times":          {func(r *Reading) { r.timesErr = errors.New("refused") }, "cpu"},
		"a CPU came":        {func(r *Reading) { r.times = make([]Times, 2) }, "cpu"},
		"no memory":         {func(r *Reading) { r.memoryErr = errors.New("refused") }, "memory"},
		"counters backward": {func(r *Reading) { r.links = []Counters{{}} }, "link b/en0"},
	} {
		after := good
		after.at = good.at.Add(time.Second)
		c.change(&after)
		s := Between(good, after, one, "b")
		if s.Missing[c.missing] == "" || c.missing == "cpu" && (len(s.CPUs) > 0 || s.CPUSource != "") {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestDevice(t *testing.T) {
	for name, want := range map[string]string{"en0": "en0", "Ethernet": "Ethernet", "Ethernet 2": "if12", "vEthernet (WSL (Hyper-V firewall))": "if12",
		"": "if12", "Netzwerkkarte-ü": "if12", "a/b": "if12", "..": "if12", strings.Repeat("x", 16): "if12"} {
		if got := Device(net.Interface{Index: 12, Name: name}); got != want {
			t.Errorf("%q is called %q", name, got)
		}
	}
}

// message is one of macOS' about an interface.
func message(kind byte, index uint16, values map[int]uint64) []byte {
	m := make([]byte, 160)
	binary.LittleEndian.PutUint16(m, uint16(len(m)))
	m[messageType] = kind
	binary.LittleEndian.PutUint16(m[messageIndex:], index)
	for at, v := range values {
		binary.LittleEndian.PutUint64(m[at:], v)
	}
	return m
}

func TestInterfacesOfMacOS(t *testing.T) {
	const address = 0x0c // RTM_NEWADDR
	short := []byte{20, 0, 5, address, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0}
	list := append(message(interfaceInfo2, 1, map[int]uint64{dataRxBytes: 1}), short...)
	list = append(list, message(interfaceInfo2, 4, map[int]uint64{dataRxBytes: 1 << 40, dataTxBytes: 7, dataRxPackets: 3, dataTxPackets: 2, dataSpeed: 1e9})...)
	c, err := linkIn(list, 4)
	if err != nil || c != (Counters{RxBytes: 1 << 40, TxBytes: 7, RxPackets: 3, TxPackets: 2, BitsPerSecond: 1e9}) {
		t.Errorf("%+v, %v", c, err)
	}
	for name, bad := range map[string][]byte{"none": nil, "another": message(interfaceInfo2, 9, nil), "a length of nothing": {0, 0, 0, 0, 0}, "a length too long": {255, 0, 0, 0, 0}, "cut off": list[:200]} {
		if _, err := linkIn(bad, 4); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
