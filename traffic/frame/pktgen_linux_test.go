package frame

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

// pretendEnv lets this program stand in for Pktgen-DPDK: its value says in which way.
const pretendEnv = "FRAME_TEST_PKTGEN"

func TestMain(m *testing.M) {
	if way := os.Getenv(pretendEnv); way != "" {
		os.Exit((&pretender{way: way}).run())
	}
	if way := os.Getenv(trexEnv); way != "" {
		os.Exit((&trexServer{way: way}).run(os.Args))
	}
	os.Exit(m.Run())
}

// pretender has a terminal, a thread that would send, and DPDK's telemetry.
type pretender struct {
	way           string
	sending, sent atomic.Uint64
}

func (p *pretender) run() int {
	switch p.way {
	case "dies":
		fmt.Fprintln(os.Stderr, "EAL: no memory")
		return 3
	case "silent":
		select {}
	}
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err != nil {
		return 4 // as the real one without a terminal
	}
	if err := p.serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The main thread alone is called as the program is; the others' policies are left as they are.
	_ = os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", os.Getpid()), []byte("pktgen"), 0)
	named := make(chan struct{})
	go p.send("dpdk-worker1", named)
	<-named // as EAL's are before anything is said
	fmt.Println("*** Copyright(c) <2010-2023>, Intel Corporation. All rights reserved.")
	fmt.Println("*** Pktgen  created by: Keith Wiles -- >>> Powered by <<<")
	fmt.Print("\x1b[2J\x1b[3;1H  Ports 0-0 of 1\x1b[1;9H Pktgen 24.07.1  Powered by DPDK 22.11.11 (pid:7) ", strings.Repeat("\x1b[4;1H           0", 1000))
	go func() {
		for range time.Tick(20 * time.Millisecond) {
			fmt.Print("\x1b7\x1b[5;1H\x1b[0m     <UP-200000-FD>    \x1b8")
		}
	}()
	return p.obey()
}

// send is a thread with the name that the program gives its own.
func (p *pretender) send(name string, named chan<- struct{}) {
	runtime.LockOSThread()
	text := append([]byte(name), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&text[0])), 0, 0, 0)
	close(named)
	for {
		for began := time.Now(); time.Since(began) < 200*time.Microsecond; { // it polls
		}
		time.Sleep(time.Millisecond)
		p.sent.Add(64 * p.sending.Load())
	}
}

// obey repeats what is typed, as a terminal's program does, and does some of it.
func (p *pretender) obey() int {
	lines := bufio.NewScanner(os.Stdin)
	lines.Split(painted)
	for lines.Scan() {
		fmt.Printf("\rPktgen:/> %s\n", lines.Text())
		words := strings.Fields(lines.Text())
		switch {
		case p.way == "mute":
		case p.way == "stranger" && words[0] == "set":
			fmt.Printf("Set command is invalid:\n  Invalid line: <%s >\n", lines.Text())
		case words[0] == "echo":
			fmt.Printf("\x1b[5;1H%s      0\n", strings.Join(words[1:], " ")) // in the middle of what is painted
		case lines.Text() == "start 0":
			p.sending.Store(1)
			if p.way == "falls" {
				go func() {
					time.Sleep(20 * time.Millisecond)
					os.Exit(5)
				}()
			}
		case lines.Text() == "stop 0" && p.way != "endless":
			p.sending.Store(0)
		}
	}
	return 0
}

func (p *pretender) serve() error {
	folder := filepath.Join(os.Getenv("RUNTIME_DIRECTORY"), "dpdk", pktgenPrefix)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	listener, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: filepath.Join(folder, "dpdk_telemetry.v2"), Net: "unixpacket"})
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, `{"version":"DPDK 22.11.11","pid":7,"max_output_len":16384}`)
			for command := make([]byte, 100); ; {
				n, err := conn.Read(command)
				if err != nil {
					break
				}
				p.answer(conn, string(command[:n]))
			}
		}
	}()
	return nil
}

func (p *pretender) answer(conn net.Conn, command string) {
	sent := 1000 + p.sent.Load()
	switch p.way {
	case "untold":
		fmt.Fprintf(conn, `{"%s":null}`, command)
		return
	case "babbles":
		fmt.Fprint(conn, strings.Repeat("x", 20000))
		return
	case "deaf":
		return
	case "still":
		sent = 1000
	case "backwards":
		sent = 1<<40 - p.sent.Add(1)
	}
	fmt.Fprintf(conn, `{"/ethdev/stats":{"ipackets":1,"opackets":%d,"ibytes":64,"obytes":0,"imissed":0,"ierrors":0,"oerrors":0,"rx_nombuf":0}}`, sent)
}

// pretended is an aim at a stand-in.
func pretended(t *testing.T, way string) aim {
	t.Helper()
	return standingIn(t, pretendEnv, way)
}

// writeProgram makes a program that can be run at once: a child that another test begins meanwhile would have it open for
// writing until it becomes its own program, and the kernel runs no such file (ETXTBSY).
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}

func standingIn(t *testing.T, environment, way string) aim {
	t.Helper()
	dir := socketFolder(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "pktgen")
	writeProgram(t, program, "#!/bin/sh\n"+environment+"="+way+" exec "+self+" \"$@\"\n")
	return aim{program: program, socket: filepath.Join(dir, "port"), cpu: -1, length: 60, flows: 1, mac: "02:00:00:00:00:07", hop: "02:00:00:00:00:08",
		from: netip.MustParseAddr("192.0.2.7"), to: netip.MustParseAddr("192.0.2.8"), fromPort: 1024, toPort: 7041}
}

// TestPktgen: it is told what to send and when, its frames are counted by DPDK at any instant and once it has stopped, and
// nothing of it is left.
func TestPktgen(t *testing.T) {
	a := pretended(t, "answers")
	d, err := newPktgen(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if d.version() != "Pktgen 24.07.1, DPDK 22.11.11" || !strings.Contains(d.process().line(), "--file-prefix=p --vdev=net_virtio_user0,path="+a.socket) {
		t.Errorf("%s: %s", d.version(), d.process().line())
	}
	for range 2 { // a start begins anew
		if err := d.start(); err != nil {
			t.Fatal(err)
		}
		last := uint64(0)
		for began := time.Now(); last == 0 && time.Since(began) < consolePatience; {
			if last, _, err = d.sent(); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.stop(); err != nil {
			t.Fatal(err)
		}
		first, refused, err := d.sent()
		again, _, _ := d.sent()
		if err != nil || first < last || first == 0 || first%64 != 0 || again != first || refused != 0 {
			t.Errorf("%d, then %d while it stands, %d refused, %v; %d before", first, again, refused, err, last)
		}
	}
	closes(t, d, a)
}

// closes shows that a driver ends, its program too, and leaves nothing.
func closes(t *testing.T, d driver, a aim) {
	t.Helper()
	if err := d.close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Dir(a.socket) + "/g*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if c := d.process(); c != nil {
		select {
		case <-c.ended: // it may be waited for yet
		default:
			t.Error("its process is left")
		}
	}
}

// TestPktgenFails: one that dies, hangs, babbles, does not obey or counts nonsense is an error that says so, in time, and leaves nothing.
func TestPktgenFails(t *testing.T) {
	const patience = 4 * time.Second // in which a program starts, also where others have the CPU
	for way, says := range map[string]string{
		"dies": "it said: EAL: no memory", "silent": `did not answer "its start" within`, "untold": "no opackets", "babbles": "DPDK's telemetry says",
		"deaf": "waiting for DPDK's counters", "mute": "it did not answer", "stranger": "it does not know a command: Invalid line: <set 0", "backwards": "it counts",
		"falls": "", "still": "it sent no frame within", "endless": "it did not come to rest after it was told to stop",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			a := pretended(t, way)
			p := &pktgen{folder: filepath.Join(filepath.Dir(a.socket), "g")}
			if err := os.Mkdir(p.folder, 0o700); err != nil {
				t.Fatal(err)
			}
			err := p.begin(t.Context(), a, failing(way, patience))
			if p.console != nil {
				p.console.patience = patience
			}
			for began := time.Now(); err == nil && time.Since(began) < consolePatience; {
				if err = errors.Join(p.start(), p.stop()); err == nil {
					_, _, err = p.sent()
				}
			}
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want %q", err, says)
			}
			closes(t, p, a)
		})
	}
}

// failing is how long an answer is waited for: of one that fails at the begin, not long.
func failing(way string, short time.Duration) time.Duration {
	if slices.Contains([]string{"silent", "untold", "babbles", "mute", "deaf"}, way) {
		return short
	}
	return consolePatience
}

// TestPktgenGivenUp: who no longer wants it does not wait for it, whatever it is at.
func TestPktgenGivenUp(t *testing.T) {
	for way, says := range map[string]string{"silent": "in the time that it has", "untold": "did not tell", "mute": "in the time that it has", "endless": ""} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			a, began := pretended(t, way), time.Now()
			d, err := newPktgen(ctx, a)
			if err == nil {
				err = errors.Join(d.start(), d.stop(), d.close())
			}
			if err == nil || !strings.Contains(err.Error(), says) || ctx.Err() == nil || time.Since(began) > consolePatience {
				t.Errorf("after %s: %v, want %q", time.Since(began), err, says)
			}
			if left, _ := filepath.Glob(filepath.Dir(a.socket) + "/g*"); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// TestPktgenOrders: sizes have the FCS, an address its prefix, the rate is all of the wire, and flows are a range of source
// ports, as Pktgen's documentation has them.
func TestPktgenOrders(t *testing.T) {
	a := pretended(t, "answers")
	a.flows = 100
	orders := strings.Join(pktgenOrders(a), "; ")
	for _, want := range []string{
		"set 0 size 64;", "set 0 src ip 192.0.2.7/32; set 0 dst ip 192.0.2.8;", "set 0 sport 1024; set 0 dport 7041", "set 0 dst mac 02:00:00:00:00:08;", "set 0 count 0;",
		"set 0 burst 64; set 0 rate 100;", "range 0 src port 1024 1024 1123 1;", "range 0 dst port 7041 7041 7041 0;", "range 0 size 64 64 64 0; enable 0 range",
	} {
		if !strings.Contains(orders, want) {
			t.Errorf("%q is not in %s", want, orders)
		}
	}
	a.flows = 1
	if orders := strings.Join(pktgenOrders(a), "; "); strings.Contains(orders, "range") {
		t.Error(orders)
	}
	for cpu, want := range map[int][]string{
		-1: {"--lcores=0,1", "--main-lcore=0", "1.0"}, 0: {"--lcores=0@0,1@0", "--main-lcore=0", "1.0"},
		5: {"--lcores=5@5,4@5", "--main-lcore=5", "4.0"}, 200: {"--lcores=0@200,1@200", "--main-lcore=0", "1.0"},
	} {
		a.cpu = cpu
		arguments := pktgenArguments(a)
		for _, word := range want {
			if !slices.Contains(arguments, word) {
				t.Errorf("CPU %d: %q is not in %q", cpu, word, arguments)
			}
		}
	}
}

// TestPainted: what moves the cursor or colours is left out, wherever it is cut.
func TestPainted(t *testing.T) {
	const screen = "one\r\n\x1b[2J\x1b[3;1H  two \x1b7\x1b[1;31mthree\x1b[0m\x1b8   \nfour"
	for cut := range screen {
		lines := bufio.NewScanner(&parts{screen[:cut], screen[cut:]})
		lines.Split(painted)
		var got []string
		for lines.Scan() {
			got = append(got, strings.TrimSpace(lines.Text()))
		}
		if want := []string{"one", "two", "three", "four"}; !slices.Equal(got, want) {
			t.Fatalf("cut at %d: %q", cut, got)
		}
	}
}

// parts are read one by one.
type parts []string

func (p *parts) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	*p = (*p)[1:]
	return n, nil
}

// TestPktgenAtPort: Pktgen-DPDK sends at a port for real, where it is installed, through a forwarder to a tester's sink: frames
// of the size and the flows that were asked for, as many as it says.
func TestPktgenAtPort(t *testing.T) {
	if _, err := exec.LookPath("pktgen"); err != nil {
		t.Skip("skip: needs pktgen (Pktgen-DPDK, which Debian does not have)")
	}
	foreignAtPort(t, "pktgen", "Pktgen ", []result.Options{{"size": int64(64)}, {"size": int64(1518), "flows": int64(50)}, {"size": int64(128), "flows": int64(4096)}})
}

// foreignAtPort has a program of others send at a port, through a forwarder, to a tester's sink.
func foreignAtPort(t *testing.T, generator, release string, loads []result.Options) {
	t.Helper()
	program, dir := pollProgram(t), socketFolder(t)
	sockets := []string{dir + "/one", dir + "/two"}
	forwarder(t, "net_vhost0,iface="+sockets[0], "net_vhost1,iface="+sockets[1])
	_, ports := startTester(t, program, dir, []string{"two"}, sockets[1:], "--sleeps")
	to := ports[0]
	from := traffic.Port{Name: "one", Socket: sockets[0], MAC: "02:00:00:00:00:07", NextHop: to.MAC, Address: "192.0.2.7", MTU: 1500}
	for _, load := range loads {
		load["generator"] = generator
		var sent, got result.PairEnd
		for try := 0; try < 5 && (sent.Packets == 0 || got.Packets == 0 || sent.Error != ""); try++ { // where others have the CPU, it waits, or begins late
			receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: load, Address: to.Address, Port: &to})
			send := prepare(t, traffic.Order{Role: traffic.Send, Load: load, Address: receive.Address(), Port: &from})
			when := soon(500 * time.Millisecond)
			when.WarmUp = time.Second // in which it begins, also where others have the CPU
			var both sync.WaitGroup
			both.Go(func() { got = runWorker(t, receive, when) })
			both.Go(func() { sent = runWorker(t, send, when) })
			both.Wait()
		}
		if sent.Error+got.Error != "" || sent.Packets == 0 || got.Packets == 0 {
			t.Fatalf("%v: sent %+v, got %+v", load, sent, got)
		}
		a, g := got.Arrived, sent.Generator
		if a.Expected < sent.Packets || a.Lost > a.Expected || a.Corrupt != 0 || got.Bytes != got.Packets*uint64(load.Int("size")) || g == nil || g.Name != generator || !strings.HasPrefix(g.Version, release) {
			t.Errorf("%v: %+v, %d bytes, %+v", load, *a, got.Bytes, g)
		}
		if flows := max(1, int(load.Int("flows"))); a.Flows > flows || a.Expected > 1<<15 && a.Flows != flows {
			t.Errorf("%v: %d flows came", load, a.Flows)
		}
		rate := float64(sent.Packets) / sent.WindowSeconds
		t.Logf("%v: %g/s sent, %d of %d came in all, %d flows, %g s of CPU, %s", load, rate, a.Expected-a.Lost, a.Expected, a.Flows, sent.CPUSeconds, g.Version)
	}
}
