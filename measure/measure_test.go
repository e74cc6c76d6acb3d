package measure

import (
	"errors"
	"math"
	"net"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/result"
)

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRecordedStat(t *testing.T) {
	s, err := parseStat(recorded(t, "stat-6.18"))
	if err != nil {
		t.Fatal(err)
	}
	want := tickRow{27873, 0, 7292, 202658, 58, 0, 2785, 35}
	if s.cpus[0] != want || len(s.cpus) != 2 || s.interrupts != 2988234 || s.switches != 3867969 {
		t.Errorf("got %+v", s)
	}
	if got := split(0, tickRow{}, want); got.Steal != 0.35 || math.Abs(got.Idle-2027.16) > 1e-9 || got.Softirq != 27.85 {
		t.Errorf("split %+v", got)
	}
}

func TestRecordedSoftnet(t *testing.T) {
	rows, err := parseSoftnet(recorded(t, "softnet-6.18"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rows[1], (softnetRow{0x0372e6ad, 0x16cd, 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	wrapped := map[int]softnetRow{1: {processed: 5}}
	old := map[int]softnetRow{1: {processed: ^uint32(0) - 4}}
	got, err := softnetBetween(read(old, nil), read(wrapped, nil), []int{1})
	if err != nil || got.Processed != 10 {
		t.Errorf("a wrapped counter gave %+v, %v", got, err)
	}
	if _, err := softnetBetween(read(old, nil), read(wrapped, nil), []int{0}); err == nil {
		t.Error("a CPU that is not there counted something")
	}
	short, err := parseSoftnet([]byte("00000001 00000002 00000003\n00000004 00000005 00000006\n"))
	if err != nil || short[1].dropped != 5 {
		t.Errorf("lines without a CPU: %+v, %v", short, err)
	}
}

func TestRecordedStack(t *testing.T) {
	counters := map[string]uint64{}
	for _, name := range []string{"snmp-6.18", "netstat-6.18"} {
		if err := parseSNMP(recorded(t, name), counters); err != nil {
			t.Fatal(err)
		}
	}
	parseSNMP6(recorded(t, "snmp6-6.18"), counters)
	for _, name := range []string{"Ip.InReceives", "Ip.OutTransmits", "IpExt.InOctets", "Tcp.RetransSegs", "TcpExt.ListenDrops", "Ip6InReceives", "Ip6OutTransmits"} {
		if _, ok := counters[name]; !ok {
			t.Errorf("%s was not read", name)
		}
	}
	later := map[string]uint64{}
	for name, n := range counters {
		later[name] = n + 1
	}
	s, err := stackBetween("a", stackReading{counters: read(counters, nil)}, stackReading{counters: read(later, nil)})
	if err != nil || s.InPackets != 2 || s.OutPackets != 2 || s.TCPRetransmit != 1 || s.InCsumErrors != 3 {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, err := stackBetween("a", stackReading{counters: read(later, nil)}, stackReading{counters: read(counters, nil)}); !errors.Is(err, errReset) {
		t.Errorf("counters that went back: %v", err)
	}
}

func TestRecordedDevices(t *testing.T) {
	rows, err := parseDevices(recorded(t, "dev-6.18"))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 || rows["eth0"].rxBytes == 0 || rows["eth0"].txPackets == 0 || rows["eth0"].txBytes == rows["eth0"].rxBytes {
		t.Errorf("got %+v", rows)
	}
	l := Link{Place: "a", Device: "veth9", Role: result.RoleWire}
	if _, err := linkBetween(l, stackReading{devices: read(rows, nil)}, stackReading{devices: read(rows, nil)}); err == nil {
		t.Error("an interface that is not there counted something")
	}
}

func TestRecordedInterruptsAndMemory(t *testing.T) {
	all, err := parseInterrupts(recorded(t, "interrupts-6.18"), []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	one, err := parseInterrupts(recorded(t, "interrupts-6.18"), []int{1})
	if err != nil || one == 0 || one >= all {
		t.Errorf("CPU 1 had %d of %d interrupts, %v", one, all, err)
	}
	if _, err := parseInterrupts(recorded(t, "interrupts-6.18"), []int{7}); err == nil {
		t.Error("a CPU that is not there had interrupts")
	}
	if used, err := parseMemory(recorded(t, "meminfo-6.18")); err != nil || used < 1<<28 || used > 1<<35 {
		t.Errorf("%d bytes in use, %v", used, err)
	}
}

func TestRecordedTimerList(t *testing.T) {
	r, err := parseIdle(recorded(t, "timer_list-6.18"), -1)
	if err != nil || len(r.cpus) != 2 || r.at == 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	for cpu, idle := range r.cpus {
		if idle <= 0 || idle > r.at {
			t.Errorf("CPU %d was idle for %s of %s", cpu, idle, r.at)
		}
	}
	if _, err := parseIdle([]byte("now at 5 nsecs\ncpu: 0\n  .nohz           : 0\n"), -1); err == nil {
		t.Error("a kernel whose tick never stops has an idle clock")
	}
}

func TestIdleClockOfARow(t *testing.T) {
	row := idleRow{entry: 900 * time.Millisecond, sleep: 500 * time.Millisecond, iowait: 100 * time.Millisecond}
	stopped := row
	stopped.stopped = true
	young := row
	young.entry = 998 * time.Millisecond
	cases := map[string]struct {
		row  idleRow
		here bool
		want time.Duration
	}{
		"idle without a tick":     {stopped, false, 700 * time.Millisecond},
		"busy for long":           {row, false, 600 * time.Millisecond},
		"idle since the tick":     {young, false, 602 * time.Millisecond},
		"the reader's own CPU":    {young, true, 600 * time.Millisecond},
		"went idle after the now": {idleRow{entry: 2 * time.Second, sleep: time.Second}, false, time.Second},
	}
	for name, c := range cases {
		if got := c.row.idle(time.Second, c.here); got != c.want {
			t.Errorf("%s: idle for %s, want %s", name, got, c.want)
		}
	}
}

func TestVRouterAnswer(t *testing.T) {
	const text = `{"ok":true,"stats":{"received":{"packets":%},"forwarded":{"packets":7,"bytes":1},"passed":{"packets":2},"answered":{"packets":1},"dropped":{"packets":4},"drops":{"no_route":4},"new":1}}`
	before, err := parseVRouter([]byte(strings.ReplaceAll(text, "%", "14")))
	if err != nil || before.sent != 10 {
		t.Fatalf("got %+v, %v", before, err)
	}
	after, _ := parseVRouter([]byte(strings.ReplaceAll(text, "%", "20")))
	after.drops = map[string]uint64{"no_route": 4, "bad_label": 6}
	s, err := switchBetween("v", read(before, nil), read(after, nil))
	if err != nil || s.Received != 6 || s.Drops["bad_label"] != 6 || len(s.Drops) != 1 {
		t.Errorf("got %+v, %v", s, err)
	}
	for _, bad := range []string{"", "{}", `{"error":"no such table","ok":false}`, `{"stats":7}`} {
		if _, err := parseVRouter([]byte(bad)); err == nil {
			t.Errorf("%q is an answer", bad)
		}
	}
}

// TestVRouterCores: what cores that poll spent between two answers, all of them together.
func TestVRouterCores(t *testing.T) {
	of := func(text string) reading[switchReading] {
		cores, err := parseCores([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return reading[switchReading]{value: switchReading{polling: cores}}
	}
	before := of(`{"ok":true,"status":{"poll":{"cores":[{"cpu":1,"busy_cycles":5,"idle_cycles":9,"hertz":3000,"timed_packets":10,"stage_cycles":{"receive":100,"send":7}},{"cpu":2,"busy_cycles":1,"idle_cycles":0,"hertz":3000}]}}}`)
	after := of(`{"ok":true,"status":{"poll":{"cores":[{"cpu":1,"busy_cycles":15,"idle_cycles":10,"hertz":3000,"timed_packets":14,"stage_cycles":{"receive":300,"send":7}},{"cpu":2,"busy_cycles":4,"idle_cycles":6,"hertz":3000}]}}}`)
	s, err := switchBetween("v", before, after)
	want := &result.Polling{Cores: 2, Busy: 13, Idle: 7, Hertz: 3000, Timed: 4, Stages: map[string]uint64{"receive": 200}}
	if err != nil || !reflect.DeepEqual(s.Polling, want) {
		t.Errorf("%+v, %v", s.Polling, err)
	}
	if _, err := switchBetween("v", after, before); err == nil {
		t.Error("a process that was started anew counts on")
	}
	for _, bad := range []string{"", "{}", `{"ok":true,"status":{"mode":"kernel"}}`, `{"status":{"poll":{"cores":[]}}}`, `{"status":{"poll":{"cores":[{"busy_cycles":-1}]}}}`} {
		if _, err := parseCores([]byte(bad)); err == nil {
			t.Errorf("%q has cores", bad)
		}
	}
}

func TestMissingIsNeverZero(t *testing.T) {
	n, err := NewNode(Config{
		CPUs:     []int{4095},
		Stacks:   []Stack{{Place: "a", Do: func(do func() error) error { return do() }}},
		Links:    []Link{{Place: "a", Device: "nosuch", Role: result.RoleWire}},
		Switches: []Switch{{Name: "v", Kind: "vrouter", Socket: "/nosuch"}, {Name: "w", Kind: "nosuch"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	before, _ := n.Read()
	after, _ := n.Read()
	s := Difference(before, after)
	for _, probe := range []string{"cpu", "softnet", "link a/nosuch", "switch v", "switch w", "context-switches", "interrupts"} {
		if s.Missing[probe] == "" {
			t.Errorf("%s is not missing: %v", probe, s.Missing)
		}
	}
	if len(s.CPUs) != 0 || len(s.Links) != 0 || s.Switches[0].Error == "" {
		t.Errorf("something was made up: %+v", s)
	}
}

func TestNodeRefuses(t *testing.T) {
	for name, c := range map[string]Config{
		"no CPUs":                {},
		"a link without a stack": {CPUs: []int{0}, Links: []Link{{Place: "b", Device: "lo"}}},
		"a stack that is gone":   {CPUs: []int{0}, Stacks: []Stack{{Place: "a", Do: func(func() error) error { return os.ErrNotExist }}}},
	} {
		if _, err := NewNode(c); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// TestBusyTimeOfASpinner runs a duty cycle on one CPU. Other programs may use it
// too, so the bounds are the spinner's own CPU time and /proc/stat's idle time.
func TestBusyTimeOfASpinner(t *testing.T) {
	cpu := currentCPU()
	if cpu < 0 {
		t.Skip("the kernel does not say where a thread runs")
	}
	n, err := NewNode(Config{CPUs: []int{cpu}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	spun := make(chan time.Duration)
	before, err := n.Read()
	if err != nil {
		t.Fatal(err)
	}
	go func() { spun <- spin(cpu, 600*time.Millisecond) }()
	used := <-spun
	after, err := n.Read()
	if err != nil {
		t.Fatal(err)
	}
	s := Difference(before, after)
	if len(s.CPUs) != 1 {
		t.Fatalf("no CPU time: %v", s.Missing)
	}
	busy, ticks := s.CPUs[0].Busy, s.WindowSeconds-s.CPUs[0].Idle
	t.Logf("%s: busy %.4f s of %.4f, spun %.4f, /proc/stat %.4f", s.CPUSource, busy, s.WindowSeconds, used.Seconds(), ticks)
	// A CPU that ceased to be idle less than a tick before it was read counts as idle since (idleRow.idle).
	if busy < (used - longestTick - time.Millisecond).Seconds() {
		t.Errorf("busy for %.4f s, but one thread alone ran for %.4f", busy, used.Seconds())
	}
	if s.CPUSource == SourceIdleClock && (busy < ticks-0.04 || busy > ticks+0.04) {
		t.Errorf("busy for %.4f s, /proc/stat says %.4f", busy, ticks)
	}
}

// spin is busy for 3 ms of every 10 on the CPU and returns its own CPU time.
func spin(cpu int, whole time.Duration) time.Duration {
	runtime.LockOSThread() // the thread ends with its binding
	var set unix.CPUSet
	set.Set(cpu)
	unix.SchedSetaffinity(0, &set)
	var before, after unix.Timespec // the thread may have worked for other goroutines
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &before)
	for began := time.Now(); time.Since(began) < whole; time.Sleep(7 * time.Millisecond) {
		for turn := time.Now(); time.Since(turn) < 3*time.Millisecond; {
		}
	}
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &after)
	return time.Duration(after.Nano() - before.Nano())
}

func TestHardwareCycles(t *testing.T) {
	p, err := openCycles([]int{0})
	if err != nil {
		t.Skip("no reference cycles to count here:", err)
	}
	defer p.close()
	at := time.Now()
	before := p.read()[0].busy
	spin(0, 100*time.Millisecond)
	if busy := p.read()[0].busy - before; busy < 0.02 || busy > time.Since(at).Seconds()*1.01 {
		t.Errorf("busy for %g s of %s", busy, time.Since(at))
	}
}

func TestIdleClockIsReadable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("/proc/timer_list is root's")
	}
	f := openProc("/proc/timer_list")
	defer f.close()
	if _, err := readIdle(f); err != nil {
		t.Skip("no idle clock here:", err)
	}
}

func TestFingerprint(t *testing.T) {
	root := fstest.MapFS{
		"proc/cpuinfo":                                    {Data: []byte("processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: Fast 1\nstepping\t: 1\nmicrocode\t: 0x1\nflags\t\t: fpu avx2 pcid\n\nprocessor\t: 1\nmodel name\t: Fast 1\n")},
		"proc/sys/kernel/osrelease":                       {Data: []byte("6.1.0\n")},
		"boot/config-6.1.0":                               {Data: []byte("# x\nCONFIG_HZ=250\n")},
		"proc/sys/net/ipv4/tcp_rmem":                      {Data: []byte("4096\t131072\t6291456\n")},
		"sys/devices/system/cpu/vulnerabilities/meltdown": {Data: []byte("Not affected\n")},
		"etc/os-release":                                  {Data: []byte("PRETTY_NAME=\"Debian GNU/Linux 12\"\n")},
	}
	got := fingerprintOf(root)
	want := result.Fingerprint{
		"cpu.count": "2", "cpu.model": "Fast 1", "cpu.generation": "family 26, model 2", "cpu.microcode": "0x1", "cpu.flags": "avx2 pcid",
		"kernel.release": "6.1.0", "kernel.hz": "250", "sysctl.net.ipv4.tcp_rmem": "4096 131072 6291456",
		"cpu.mitigation.meltdown": "Not affected", "os.name": "Debian GNU/Linux 12",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("absent things are there: %v", got)
	}
}

// TestACPUWithoutANameHasAGeneration, as on arm64.
func TestACPUWithoutANameHasAGeneration(t *testing.T) {
	print := fingerprintOf(fstest.MapFS{"proc/cpuinfo": {Data: []byte("processor\t: 0\nFeatures\t: aes\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n")}})
	if got := print["cpu.generation"]; got != "implementer 0x41, part 0xd0c" {
		t.Errorf("it is %q", got)
	}
	if _, has := print["cpu.model"]; has {
		t.Error("it has a model's name")
	}
}

// TestSoftirqsAreBusy floods another CPU with packets by receive packet steering.
// The tick's samples saw two thirds of that work when this was written, and
// cpuidle's times took half of it for idleness.
func TestSoftirqsAreBusy(t *testing.T) {
	if os.Geteuid() != 0 || runtime.NumCPU() < 2 {
		t.Skip("needs root and two CPUs")
	}
	folder := t.TempDir()
	ready, stop, done := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		conn, err := steerLoopback(folder, "2")
		ready <- err
		if err == nil {
			flood(conn, stop)
		}
	}()
	if err := <-ready; err != nil {
		close(stop)
		t.Skip("no steered loopback here:", err)
	}
	n, err := NewNode(Config{CPUs: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	before, _ := n.Read()
	time.Sleep(400 * time.Millisecond) // the window
	after, _ := n.Read()
	close(stop)
	<-done
	s := Difference(before, after)
	c := s.CPUs[0]
	t.Logf("%s: busy %.3f s of %.3f; /proc/stat: softirq %.2f, not idle %.2f", s.CPUSource, c.Busy, s.WindowSeconds, c.Softirq, s.WindowSeconds-c.Idle)
	if s.Softnet.Processed == 0 {
		t.Error("no packet was steered")
	}
	if s.CPUSource == SourceIdleClock && math.Abs(c.Busy-(s.WindowSeconds-c.Idle)) > 0.04 {
		t.Error("the idle clock and /proc/stat's idle time differ")
	}
}

// steerLoopback gives the calling thread a network namespace whose loopback's
// packets are received by the CPUs of a mask, and a socket there. Nothing is left
// of it, or of the mount in the folder, when the thread ends and the socket is closed.
func steerLoopback(folder, mask string) (*net.UDPConn, error) {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		return nil, err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, err
	}
	if err := unix.Mount("sysfs", folder, "sysfs", 0, ""); err != nil {
		return nil, err
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return nil, err
	}
	if err := os.WriteFile(folder+"/class/net/lo/queues/rx-0/rps_cpus", []byte(mask), 0o644); err != nil {
		return nil, err
	}
	return net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
}

// underWay is less than a CPU's queue of packets holds (net.core.netdev_max_backlog, 1000). It is the whole
// machine's: where it is full, the packets of other programs are dropped as well.
const underWay = 256

// flood sends small datagrams to itself on CPU 0, so many at once, until it is to stop.
func flood(to *net.UDPConn, stop <-chan struct{}) {
	defer to.Close()
	var first unix.CPUSet
	first.Set(0)
	unix.SchedSetaffinity(0, &first)
	datagram, came := make([]byte, 100), make([]byte, 100)
	for sent := 0; ; {
		select {
		case <-stop:
			return
		default:
		}
		if sent < underWay {
			to.WriteTo(datagram, to.LocalAddr())
			sent++
			continue
		}
		to.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := to.Read(came); err != nil {
			sent = 0 // all of them are lost
		} else {
			sent--
		}
	}
}

func BenchmarkRead(b *testing.B) {
	n, err := NewNode(Config{
		CPUs:   []int{0},
		Stacks: []Stack{{Place: "a", Do: func(do func() error) error { return do() }}},
		Links:  []Link{{Place: "a", Device: "lo", Role: result.RoleEndpoint}},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	for b.Loop() {
		if _, err := n.Read(); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParsers(f *testing.F) {
	for _, name := range []string{"stat-6.18", "softnet-6.18", "snmp-6.18", "dev-6.18", "interrupts-6.18", "timer_list-6.18", "meminfo-6.18"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		parseStat(b)
		parseSoftnet(b)
		parseSNMP(b, map[string]uint64{})
		parseSNMP6(b, map[string]uint64{})
		parseDevices(b)
		parseInterrupts(b, []int{0, 1})
		parseIdle(b, 0)
		parseMemory(b)
		parseVRouter(b)
	})
}
