package frame

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

// cannotBuild is the exit code of scripts/poll.sh where DPDK is missing.
const cannotBuild = 77

// process starts a program of the test, which ends with it, and returns what it says.
func process(t *testing.T, program string, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	said := &bytes.Buffer{}
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"RUNTIME_DIRECTORY=/dev/null"} // else EAL makes a folder
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL, Setpgid: true}
	cmd.Stderr = said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread() // its death is tied to the thread that forks it (PR_SET_PDEATHSIG)
		defer runtime.UnlockOSThread()
		started <- cmd.Start()
		<-ended
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		late := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		defer close(ended)
		if _ = cmd.Wait(); t.Failed() {
			t.Logf("%s said: %s", program, said)
		}
	})
	return cmd, bufio.NewReader(stdout)
}

// forwarder is testpmd, which carries frames from each device to the other. It polls on the first CPU: what is sent by another
// testpmd is so on the second one, in the time that others leave, and here would leave none.
func forwarder(t *testing.T, devices ...string) {
	t.Helper()
	testpmd, err := exec.LookPath("dpdk-testpmd")
	if err != nil {
		t.Skip("skip: needs dpdk-testpmd (Debian's dpdk-dev)")
	}
	args := []string{"-oL", testpmd, "--no-huge", "-m", "128", "--no-pci", "--no-shconf", "--no-telemetry", "--lcores", "0@1,1@0"}
	if cpus() < 2 {
		args[len(args)-1] = "0@0,1@0"
	}
	for _, d := range devices {
		args = append(args, "--vdev", d)
	}
	args = append(args, "--", "--total-num-mbufs=4096", "--no-mlockall", "--forward-mode=io", "--auto-start")
	_, said := process(t, "stdbuf", args...)
	for {
		line, err := said.ReadString('\n')
		if err != nil {
			t.Fatalf("testpmd did not start: %v", err)
		}
		if strings.Contains(line, "Press enter to exit") {
			go io.Copy(io.Discard, said) //nolint:errcheck // until it ends
			return
		}
	}
}

func cpus() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return 1
	}
	return set.Count()
}

// pollProgram builds frame-poll, or skips the test.
func pollProgram(t *testing.T) string {
	t.Helper()
	// A machine that has no compiler, such as scripts/pci.sh makes, brings it along.
	if folder := os.Getenv("POLL_PROGRAMS"); folder != "" {
		return filepath.Join(folder, "frame-poll")
	}
	text, err := exec.Command("bash", "../../scripts/poll.sh").CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == cannotBuild {
		t.Skip("skip: " + strings.TrimSpace(string(text)))
	}
	if err != nil {
		t.Fatalf("building frame-poll: %v\n%s", err, text)
	}
	program, err := filepath.Abs("../../bin/frame-poll")
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// testPorts are two ports of a tester with a forwarder between, or one with the devices given.
func testPorts(t *testing.T, names ...string) (*exec.Cmd, []traffic.Port) {
	t.Helper()
	program, dir := pollProgram(t), socketFolder(t)
	sockets := make([]string, len(names))
	for i, name := range names {
		sockets[i] = dir + "/" + name
	}
	devices := []string{fmt.Sprintf("net_vhost0,iface=%s", sockets[0]), fmt.Sprintf("net_pcap0,tx_pcap=%s/pcap", dir)}
	if len(names) > 1 {
		devices[1] = fmt.Sprintf("net_vhost1,iface=%s", sockets[1])
	}
	forwarder(t, devices...)
	return startTester(t, program, dir, names, sockets)
}

// startTester runs frame-poll with a port at each place.
func startTester(t *testing.T, program, dir string, names, places []string, flags ...string) (*exec.Cmd, []traffic.Port) {
	t.Helper()
	if flags == nil {
		flags = []string{"--shares"}
	}
	args, ports := append(flags, dir+"/tester", "0"), make([]traffic.Port, len(names))
	for i, name := range names {
		p := traffic.Port{Name: name, Tester: dir + "/tester", MAC: fmt.Sprintf("02:00:00:00:00:0%d", i+1),
			NextHop: "02:00:00:00:00:0f", Address: fmt.Sprintf("192.0.2.%d", i+1), MTU: 1500}
		ports[i] = p
		args = append(args, fmt.Sprintf("%s=%s,%s", name, p.MAC, places[i]))
	}
	cmd, said := process(t, program, args...)
	if line, err := said.ReadString('\n'); err != nil || !strings.Contains(line, `"ready":true`) {
		t.Fatalf("frame-poll says %q, %v", line, err)
	}
	return cmd, ports
}

// socketFolder has a short path: a Unix socket's has 107 bytes at most.
func socketFolder(t *testing.T) string {
	dir, err := os.MkdirTemp("", "frame")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// bothEnds runs a pair from one port to another.
func bothEnds(t *testing.T, load result.Options, from, to traffic.Port, when traffic.Schedule) (sent, got result.PairEnd) {
	t.Helper()
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: load, Address: to.Address, Port: &to})
	send := prepare(t, traffic.Order{Role: traffic.Send, Load: load, Address: receive.Address(), Port: &from})
	var both sync.WaitGroup
	both.Go(func() { got = runWorker(t, receive, when) })
	both.Go(func() { sent = runWorker(t, send, when) })
	both.Wait()
	return sent, got
}

// soon is a trial whose window lets testers and forwarder have their turns on CPUs that others poll on, too.
func soon(window time.Duration) traffic.Schedule {
	return traffic.Schedule{Start: time.Now().Add(50 * time.Millisecond), WarmUp: 100 * time.Millisecond, Window: window, Interval: 50 * time.Millisecond}
}

// adds checks that every frame of the window is accounted for.
func adds(t *testing.T, sent, got result.PairEnd) {
	t.Helper()
	if sent.Error+got.Error != "" || got.Packets == 0 || got.Arrived == nil {
		t.Fatalf("sent %+v, got %+v", sent, got)
	}
	a := got.Arrived
	if a.Expected != sent.Packets || got.Packets+a.Lost+a.Late != sent.Packets || a.Corrupt+a.Duplicate+a.Reordered+a.Late != 0 {
		t.Errorf("sent %d, got %d, arrived %+v", sent.Packets, got.Packets, *a)
	}
	if p := a.PerFlow; p == nil || p.Flows != uint64(a.Flows) || p.Came == 0 || p.Fewest*p.Flows > got.Packets || p.Most*p.Flows < got.Packets || (p.Fewest == 0) != (p.Came < p.Flows) {
		t.Errorf("of %d frames by flows %+v", got.Packets, p)
	}
	if a.Method != byPort || sent.Offered.Method != byPort || sent.Cycles == nil || got.Cycles == nil || sent.Cycles.Sending == 0 || got.Cycles.Receiving == 0 {
		t.Errorf("offered %+v, arrived %+v, cycles %+v and %+v", *sent.Offered, *a, sent.Cycles, got.Cycles)
	}
}

// TestAtPorts runs one tester for all, because DPDK takes a second to start.
func TestAtPorts(t *testing.T) {
	_, ports := testPorts(t, "one", "two")
	for _, c := range []struct {
		name string
		ipv6 bool
		load result.Options
	}{
		{"smallest", false, result.Options{}},
		{"largest", false, result.Options{"size": int64(1518)}},
		{"a mix", false, result.Options{"size": "imix", "flows": 5}},
		{"a million flows", false, result.Options{"flows": 1_000_000}},
		{"ipv6 addresses", true, result.Options{"size": int64(84), "flows": 1000, "vary": varyAddresses}},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := ports[0], ports[1]
			if c.ipv6 {
				from.Address, to.Address = "2001:db8::1", "2001:db8::2"
			}
			sent, got := bothEnds(t, c.load, from, to, soon(300*time.Millisecond))
			adds(t, sent, got)
			if len(sent.Intervals) < 3 || len(got.Intervals) < 3 {
				t.Errorf("intervals %+v and %+v", sent.Intervals, got.Intervals)
			}
			t.Logf("%.2f Mpps sent, %.2f %% lost", sent.PerSecond()/1e6, 100*float64(got.Arrived.Lost)/float64(sent.Packets))
		})
	}
	t.Run("rate", func(t *testing.T) { rateIsKept(t, ports) })
	t.Run("both ways", func(t *testing.T) { bothWays(t, ports) })
	t.Run("refused", func(t *testing.T) { refused(t, ports) })
	for name, tunnel := range testTunnels {
		t.Run(name, func(t *testing.T) { worn(t, ports, tunnel) })
	}
	t.Run("worn wrongly", func(t *testing.T) { wornWrongly(t, ports) })
	t.Run("nonsense", func(t *testing.T) { nonsense(t, ports) })
	t.Run("after all", func(t *testing.T) {
		sent, got := bothEnds(t, nil, ports[0], ports[1], soon(300*time.Millisecond))
		adds(t, sent, got)
	})
}

// rateIsKept: and it is told how late frames were. A sender that another program kept from its CPU at either
// end of the window sends what was due in another phase, and says so by its lag, or by a window that ended
// late: then it has to show once more. A rate that is off without either is wrong.
func rateIsKept(t *testing.T, ports []traffic.Port) {
	const rate, within, asked, tries = 20_000.0, 0.1, 200 * time.Millisecond, 5
	for range tries {
		sent, got := bothEnds(t, result.Options{"packets": rate, "flows": 7, "burst": maxBurst}, ports[0], ports[1], soon(asked))
		adds(t, sent, got)
		lag := sent.Offered.Lag
		if lag == nil || lag.Count < sent.Packets {
			t.Fatalf("lag %+v of %d frames", lag, sent.Packets)
		}
		off := math.Abs(sent.PerSecond()/rate - 1)
		if off <= within {
			return
		}
		late := max(lag.Max, sent.WindowSeconds-asked.Seconds())
		if late < within*asked.Seconds() {
			t.Fatalf("%.0f frames a second, asked for %.0f, and none was later than %.3g s", sent.PerSecond(), rate, late)
		}
		t.Logf("%.0f frames a second, asked for %.0f: the sender was %.3g s late", sent.PerSecond(), rate, late)
	}
	t.Skipf("skip: other programs kept the sender from its CPU in each of %d trials", tries)
}

// bothWays: one core sends and counts in both directions.
func bothWays(t *testing.T, ports []traffic.Port) {
	when := soon(300 * time.Millisecond)
	var ways [2][2]result.PairEnd
	var both sync.WaitGroup
	for i := range ways {
		both.Go(func() {
			ways[i][0], ways[i][1] = bothEnds(t, result.Options{"packets": 50_000.0}, ports[i], ports[1-i], when)
		})
	}
	both.Wait()
	for _, way := range ways {
		adds(t, way[0], way[1])
	}
}

// refused: what cannot be at a port, or between two, is said.
func refused(t *testing.T, ports []traffic.Port) {
	atTwo := prepare(t, traffic.Order{Role: traffic.Receive, Port: &ports[1]})
	defer atTwo.Close()
	unknown := ports[0]
	unknown.Name = "three"
	for _, c := range []struct {
		says  string
		order traffic.Order
	}{
		{"somebody else counts", traffic.Order{Role: traffic.Receive, Port: &ports[1]}},
		{"no port of that name", traffic.Order{Role: traffic.Receive, Port: &unknown}},
		{"at most 1518", traffic.Order{Role: traffic.Receive, Port: &ports[0], Load: result.Options{"size": int64(1600)}}},
		{"leave threads at 1", traffic.Order{Role: traffic.Send, Port: &ports[0], Load: result.Options{"threads": 2, "flows": 2}}},
		{"one way only", traffic.Order{Role: traffic.Send, Port: &ports[0], Load: result.Options{"method": byXDP}}},
		{"both ends have to be", traffic.Order{Role: traffic.Send, Port: &ports[0], Address: "192.0.2.2:20000"}},
		{"another size", traffic.Order{Role: traffic.Send, Port: &ports[0], Address: atTwo.Address(), Load: result.Options{"size": int64(100)}}},
	} {
		w, err := Kind{}.Prepare(t.Context(), c.order)
		if err == nil {
			w.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("not refused with %q: %v", c.says, err)
		}
	}
}

// nonsense: no line that a stranger could send ends the tester.
func nonsense(t *testing.T, ports []traffic.Port) {
	for _, text := range []string{
		"", "x", "sink", "sink one", "sink one 1 2 3", "sink one 1 2000000 2 0 60", "sink one 1 1 3 0 60", "sink one 1 1 2 0 59", "sink one 1 1 2 0 60 59", "sink one 1 1 2 0" + strings.Repeat(" 60", 17),
		"sink one 1 1000000 2048 0 60", "sink one 1 1 2 2 60", "sink one 1 1 2 0", "sink nowhere 1 1 2 0 60", "turn one 60 0 0 00", "turn one", "tally one", "sent one", "lag one",
		"phase one 0", "release one", "halt one", "rate one 1 1", "probe one 1",
		"source one 0 0 0 1 0 1 60 0 0", "source one 0 0 0 1 0 1 60 0 0 0", "source one 0 0 0 1 0 1 60 0 0 zz", "source one 0 0 0 1 1 1 60 0 0 00",
		"source one 0 0 0 1 0 1 99999 0 0 00", "source one 0 0 0 1 0 1 -1 0 0 00", "source one 0 0 0 1 0 1 60 99999999999999999999999 0 00",
		"source one 0 0 0 1 0 1 60 0 0 " + strings.Repeat("00", 81), "wear one 0 1 0 " + strings.Repeat("00", 46), "strip one",
		"wear one 0 1 0 " + strings.Repeat("00", 46) + " " + strings.Repeat("ff", 46), "strip one 0 1 0 " + strings.Repeat("00", 41) + " " + strings.Repeat("ff", 41),
		"wear one 0 2 0 " + strings.Repeat("00", 46) + " " + strings.Repeat("ff", 46), "strip one 0 1 0 " + strings.Repeat("00", 89) + " " + strings.Repeat("ff", 89),
	} {
		if answer := say(t, ports[0], text+"\n"); !strings.HasPrefix(answer, "error ") {
			t.Errorf("%q is answered with %q", text, answer)
		}
	}
	for _, text := range []string{strings.Repeat("a", 5000), "sink one\x00 1\n"} {
		if answer := say(t, ports[0], text); answer != "" {
			t.Errorf("not hung up on: %q", answer)
		}
	}
}

// say sends a text to a tester on a connection of its own; the answer is "" if it hangs up.
func say(t *testing.T, p traffic.Port, text string) string {
	t.Helper()
	conn, err := net.Dial("unix", p.Tester)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		return ""
	}
	answer, _ := bufio.NewReader(conn).ReadString('\n')
	return answer
}

// TestPortsTesterDies: both ends say so, and what was counted until then is no result.
func TestPortsTesterDies(t *testing.T) {
	cmd, ports := testPorts(t, "one", "two")
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Port: &ports[1]})
	send := prepare(t, traffic.Order{Role: traffic.Send, Address: receive.Address(), Port: &ports[0]})
	when := soon(5 * time.Second)
	time.AfterFunc(time.Until(when.Start)+300*time.Millisecond, func() { _ = cmd.Process.Kill() })
	var both sync.WaitGroup
	for _, w := range []traffic.Worker{receive, send} {
		both.Go(func() {
			if end, err := w.Run(t.Context(), when); err == nil && end.Error == "" {
				t.Errorf("no error: %+v", end)
			}
		})
	}
	both.Wait()
	if took := time.Since(when.Start); took > 4*time.Second {
		t.Errorf("it took %v to notice", took)
	}
}

// TestPortsFramesAreTheSame: what leaves a port are the very bytes that this package writes elsewhere.
func TestPortsFramesAreTheSame(t *testing.T) {
	_, ports := testPorts(t, "one")
	session := session{number: 0x5e55_0000} // which no frame has where it is not the session's
	for _, l := range []load{
		{sizes: mix{64}, flows: 3}, {sizes: mix{1518}, flows: 70_000}, {sizes: mix{85}, flows: 300_000, addresses: true},
		{sizes: mix{84, 1518, 600}, flows: 5},
	} {
		for _, ends := range [][2]string{{"192.0.2.1", "192.0.2.9"}, {"2001:db8::1", "2001:db8::9"}} {
			session.from, session.to = netip.MustParseAddr(ends[0]), netip.AddrPortFrom(netip.MustParseAddr(ends[1]), firstPort)
			if session.from.Is6() {
				l.sizes[0] = max(l.sizes[0], smallestIPv6)
			}
			sameFrames(t, ports[0], &session, l)
		}
	}
	session.from, session.to = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddrPort("192.0.2.9:20000")
	for _, tunnel := range testTunnels {
		ports[0].Tunnel = &tunnel
		sameFrames(t, ports[0], &session, load{sizes: mix{64, 1400}, flows: 20_001})
	}
}

func sameFrames(t *testing.T, p traffic.Port, s *session, l load) {
	t.Helper()
	s.number++
	h, err := headerAtPort(&sendWorker{load: l, session: s}, p)
	if err != nil {
		t.Fatal(err)
	}
	compareFrames(t, p, h, l)
}

// enough frames have every size of a mix, and go through the forwarder's capture, which writes blocks.
const enough = 2000

// compareFrames lets a port send, and reads what the forwarder wrote down.
func compareFrames(t *testing.T, p traffic.Port, h header, l load) {
	t.Helper()
	tester, err := dialTester(p)
	if err != nil {
		t.Fatal(err)
	}
	defer tester.close()
	m := &portMover{tester: tester}
	stamp, want := newStamp(h)
	if err := m.source(stamp, l); err != nil {
		t.Fatal(err)
	}
	m.setPhase(window)
	m.release()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // a tester may have to wait for its CPU
		if sent, _ := m.counts(window); sent >= enough || m.failure() != nil || time.Now().After(deadline) {
			break
		}
	}
	m.halt()
	sent, _ := m.counts(window)
	if sent == 0 || m.failure() != nil {
		t.Fatalf("%d frames, %v", sent, m.failure())
	}
	frames := captured(t, filepath.Dir(p.Tester)+"/pcap", h, int(sent))
	for i, frame := range frames {
		length := stamp.write(want, number{window, uint32(i) % l.flows, uint64(i) / uint64(l.flows)})
		if !bytes.Equal(frame, want[:length]) {
			t.Fatalf("frame %d of %d is\n%x, not\n%x", i, len(frames), frame, want[:length])
		}
	}
	t.Logf("%d frames of %v bytes are the same", len(frames), l.sizes)
}

// captured reads a session's frames from a file of libpcap's format (its header has 24 bytes, a
// packet's 16), as far as it is written: testpmd writes blocks.
func captured(t *testing.T, path string, h header, most int) (frames [][]byte) {
	t.Helper()
	const header, record, least = 24, 16, 100
	for deadline := time.Now().Add(10 * time.Second); len(frames) < min(most/2, least); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the capture has %d frames of %d", len(frames), most)
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) < header {
			continue
		}
		frames = nil
		for text = text[header:]; len(text) > record; {
			length := record + int(binary.LittleEndian.Uint32(text[8:]))
			if len(text) < length {
				break
			}
			if at := h.outer.shift() + h.udpAt() + udpSize + 2; length > record+at+4 && binary.BigEndian.Uint32(text[record+at:]) == h.session {
				frames = append(frames, text[record:length])
			}
			text = text[length:]
		}
	}
	return frames
}
