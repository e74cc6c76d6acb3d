package frame

import (
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// tunnelled are two ports with a tunnel between them, the second one's ends and numbers exchanged.
func tunnelled(ports []traffic.Port, tunnel result.Tunnel) (one, two traffic.Port) {
	one, two = ports[0], ports[1]
	back := tunnel
	back.From, back.To, back.Sends, back.Receives = tunnel.To, tunnel.From, tunnel.Receives, tunnel.Sends
	one.Tunnel, two.Tunnel = &tunnel, &back
	one.NextHop, two.NextHop = two.MAC, one.MAC
	return one, two
}

// worn: frames that wear a tunnel's header are counted where one is expected. A sender that had no CPU in the
// window, which is as short as an absence is long, sent nothing and says so: then it tries again.
func worn(t *testing.T, ports []traffic.Port, tunnel result.Tunnel) {
	const tries = 5
	one, two := tunnelled(ports, tunnel)
	for range tries {
		sent, got := bothEnds(t, result.Options{"flows": 20_000}, one, two, soon(300*time.Millisecond))
		if sent.Packets == 0 && sent.CPUSeconds == 0 {
			t.Logf("the sender had no CPU for a window of %.3g s: %s", sent.WindowSeconds, sent.Error)
			continue
		}
		adds(t, sent, got)
		return
	}
	t.Skipf("skip: other programs kept the sender from its CPU in each of %d trials", tries)
}

// wornWrongly: no frame counts that wears anything else, or nothing, or wears where nothing should be.
func wornWrongly(t *testing.T, ports []traffic.Port) {
	for name, tunnel := range testTunnels {
		for what, change := range map[string]func(*traffic.Port){
			"another number":    func(p *traffic.Port) { p.Tunnel.Sends++ },
			"from another":      func(p *traffic.Port) { p.Tunnel.From += "0" },
			"to another":        func(p *traffic.Port) { p.Tunnel.To += "1" },
			"from another MAC":  func(p *traffic.Port) { p.MAC = "02:00:00:00:00:77" },
			"another inner MAC": func(p *traffic.Port) { p.Tunnel.Inner = "00:00:5e:00:01:01" },
			"another tunnel":    func(p *traffic.Port) { p.Tunnel.Encapsulation = other(p.Tunnel.Encapsulation) },
			"nothing":           func(p *traffic.Port) { p.Tunnel = nil },
		} {
			one, two := tunnelled(ports, tunnel)
			change(&one)
			if what == "another inner MAC" && tunnel.Inner == "" {
				continue
			}
			notCounted(t, name+", "+what, one, two)
		}
		one, two := tunnelled(ports, tunnel)
		two.Tunnel = nil
		notCounted(t, name+", not expected", one, two)
	}
}

func other(encapsulation string) string {
	if encapsulation == "mplsoudp" {
		return "mplsogre"
	}
	return "mplsoudp"
}

// notCounted sends a probe, which must not come to be counted.
func notCounted(t *testing.T, what string, from, to traffic.Port) {
	t.Helper()
	w := prepare(t, traffic.Order{Role: traffic.Receive, Port: &to}).(*receiveWorker)
	defer w.Close()
	l, err := parseLoad(nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := traffic.ParseMeeting(w.Address())
	if err != nil {
		t.Fatal(err)
	}
	ip, err := l.checkPort(from)
	if err != nil {
		t.Fatal(err)
	}
	s, err := joinAtPort(t.Context(), l, ip, m)
	if err != nil {
		t.Fatal(err)
	}
	defer s.control.Close()
	h, err := headerAtPort(&sendWorker{load: l, session: s}, from)
	if err != nil {
		t.Fatal(err)
	}
	source, err := dialTester(from)
	if err != nil {
		t.Fatal(err)
	}
	defer source.close()
	mover := &portMover{tester: source}
	stamp, _ := newStamp(h)
	if err := mover.source(stamp, l); err != nil {
		t.Fatal(err)
	}
	if _, err := source.ask("probe", probeFrames); err != nil {
		t.Fatal(err)
	}
	await(t, what, w.sink)
}

// await looks until a probe's frames have come, of which none may count.
func await(t *testing.T, what string, s sink) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		numbers, err := s.(*portSink).tester.ask("tally")
		if err != nil || len(numbers) != clockNumbers+phases*portTotals+portRest {
			t.Fatalf("%s: %v, %v", what, numbers, err)
		}
		counted := numbers[clockNumbers+probing*portTotals]
		corrupt := numbers[clockNumbers+probing*portTotals+5]
		foreign := numbers[clockNumbers+phases*portTotals]
		if counted != 0 {
			t.Errorf("%s: %d frames count", what, counted)
			return
		}
		if corrupt+foreign >= probeFrames {
			if elsewhere := strings.HasSuffix(what, "nothing") || strings.HasSuffix(what, "not expected") || strings.HasSuffix(what, "another tunnel"); !elsewhere && corrupt == 0 {
				t.Errorf("%s: no frame is said to be damaged", what)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: only %d frames came", what, corrupt+foreign)
			return
		}
	}
}
