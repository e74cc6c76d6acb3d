package frame

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestForeignRefused: what a tool cannot be told is refused by the option's name, before anything runs.
func TestForeignRefused(t *testing.T) {
	for says, load := range map[string]result.Options{
		"": {"generator": "testpmd", "size": 128}, "`size: imix`": {"generator": "testpmd", "size": "imix"},
		"`flows: 7`": {"generator": "testpmd", "flows": int64(7)}, "`packets: ": {"generator": "testpmd", "packets": 1e6},
		"`burst: 3`": {"generator": "testpmd", "burst": int64(3)}, "`vary: ": {"generator": "testpmd", "vary": "addresses"},
		"valid: windtunnel, testpmd": {"generator": "testpm"}, "`flows: 5000`": {"generator": "pktgen", "flows": int64(5000)},
		"so keeps no rate; leave packets out, or the generator": {"generator": "pktgen", "packets": 1e6},
		"`flows: 32769`": {"generator": "trex", "flows": int64(32769)}, "trex cannot be told `packets: ": {"generator": "trex", "packets": 1e6},
		"trex cannot be told `size: 1519`": {"generator": "trex", "size": int64(1519)},
	} {
		program, install, err := Kind{}.Generator(load)
		if says == "" && (err != nil || program != "dpdk-testpmd" || !strings.Contains(install, "dpdk")) || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%v: %q, %q, %v; want %q", load, program, install, err, says)
		}
	}
	for _, role := range []traffic.Role{traffic.Send, traffic.Receive} {
		_, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: role, Load: result.Options{"generator": "testpmd", "packets": 1e6}})
		if err == nil || !strings.Contains(err.Error(), "`packets: ") {
			t.Errorf("a rate that %s is not told: %v", role, err)
		}
	}
	if program, _, err := (Kind{}).Generator(result.Options{"generator": "windtunnel"}); program != "" || err != nil {
		t.Errorf("our own sender is the program %q, %v", program, err)
	}
}

// TestForeignAtPort: testpmd sends at a port for real, through a forwarder, to a tester's sink that its CPU is
// shared with.
func TestForeignAtPort(t *testing.T) {
	program, dir := pollProgram(t), socketFolder(t)
	sockets := []string{dir + "/one", dir + "/two"}
	forwarder(t, "net_vhost0,iface="+sockets[0], "net_vhost1,iface="+sockets[1])
	_, ports := startTester(t, program, dir, []string{"two"}, sockets[1:], "--sleeps")
	to := ports[0]
	from := traffic.Port{Name: "one", Socket: sockets[0], MAC: "02:00:00:00:00:07", NextHop: to.MAC, Address: "192.0.2.7", MTU: 1500}
	for _, size := range []int64{64, 1518} {
		var sent, got result.PairEnd
		// Where others have the CPU, it begins late, or waits for as long as a window: that of the next try is longer.
		for try := 0; try < 6 && (sent.Packets == 0 || got.Packets == 0 || sent.Error != ""); try++ {
			load := result.Options{"generator": "testpmd", "size": size}
			receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: load, Address: to.Address, Port: &to})
			send := prepare(t, traffic.Order{Role: traffic.Send, Load: load, Address: receive.Address(), Port: &from})
			when := soon(500 * time.Millisecond << try) // now that testpmd runs
			when.WarmUp = time.Second                   // in which it begins, also where others have the CPU
			var both sync.WaitGroup
			both.Go(func() { got = runWorker(t, receive, when) })
			both.Go(func() { sent = runWorker(t, send, when) })
			both.Wait()
			if err := errors.Join(send.Close(), receive.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if sent.Error+got.Error != "" || sent.Packets == 0 || got.Packets == 0 {
			t.Fatalf("sent %+v, got %+v", sent, got)
		}
		a, g := got.Arrived, sent.Generator
		if a.Expected < sent.Packets || a.Lost > a.Expected-got.Packets || a.Corrupt != 0 || len(a.Untold) == 0 || got.Bytes != got.Packets*uint64(size) {
			t.Errorf("of %d in the window: %+v, %d bytes", sent.Packets, *a, got.Bytes)
		}
		if g == nil || g.Name != "testpmd" || !strings.HasPrefix(g.Version, "DPDK ") || !strings.Contains(g.Command, "--forward-mode=txonly") {
			t.Errorf("the generator is %+v", g)
		}
		if sent.Offered.Method != "testpmd" || sent.CPUSeconds == 0 {
			t.Errorf("offered %+v, %g s of CPU", *sent.Offered, sent.CPUSeconds)
		}
	}
}

// standIn makes a program that has testpmd's console as a shell script says.
func standIn(t *testing.T, script string) aim {
	t.Helper()
	program := filepath.Join(t.TempDir(), "testpmd")
	text := "#!/bin/sh\n" + `echo "EAL: RTE Version: 'DPDK 1.2.3'"; echo "Checking link statuses..."; echo Done` + "\n" + script
	writeProgram(t, program, text)
	return aim{program: program, cpu: -1, length: 60}
}

// TestForeignConsole: what a console says is read strictly, and one that hangs, dies or babbles is an error that has its words.
func TestForeignConsole(t *testing.T) {
	if _, err := exec.LookPath("stdbuf"); err != nil {
		t.Skip("skip: needs stdbuf (coreutils)")
	}
	const answers = `:
while read -r command rest; do case $command in
start) echo "txonly packet forwarding - ports=1 - cores=1";;
stop) echo "Telling cores to stop..."; echo Done.;;
show) %s;;
esac; done`
	for name, c := range map[string]struct {
		script, says  string
		sent, refused uint64
	}{
		"answers": {fmt.Sprintf(answers, `echo "  TX-packets: 7 TX-dropped: 1 TX-total: 8"; echo "  +++ Accumulated forward statistics for all ports+++"
  echo "  RX-packets: 0 RX-dropped: 0"; echo "  TX-packets: 12 TX-dropped: 3 TX-total: 15"`), "", 12, 3},
		"dies":    {fmt.Sprintf(answers, "echo it hurts; exit 3"), "it ended instead of answering \"show fwd stats all\"; it said: ", 0, 0},
		"babbles": {fmt.Sprintf(answers, `yes | head -c 20000 | tr -d '\n'; echo; sleep 9`), "it ended instead", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := standIn(t, c.script)
			console, err := startConsole(t.Context(), []string{a.program}, nil)
			if err != nil {
				t.Fatal(err)
			}
			d := &testpmd{console: console}
			if err := console.hear("its start", d.begun); err != nil || d.version() != "DPDK 1.2.3" {
				t.Fatalf("version %q, %v", d.version(), err)
			}
			sent, refused, err := d.sent()
			if sent != c.sent || refused != c.refused || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%d, %d, %v; want %+v", sent, refused, err, c)
			}
			if err := console.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// countedDriver sends seven frames a start.
type countedDriver struct {
	driver
	console *console
}

func (d countedDriver) start() error                  { return nil }
func (d countedDriver) stop() error                   { return nil }
func (d countedDriver) sent() (uint64, uint64, error) { return 7, 1, nil }
func (d countedDriver) process() *console             { return d.console }

// TestForeignCounts: what was sent for a probe is none of a trial's, before it begins either, so that counts never fall.
func TestForeignCounts(t *testing.T) {
	console, err := startConsole(t.Context(), []string{standIn(t, "cat").program}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer console.close()
	m := &foreignMover{driver: countedDriver{console: console}, ended: make(chan struct{})}
	for range 2 {
		if err := m.probe(); err != nil {
			t.Fatal(err)
		}
	}
	if sent, refused := m.counts(warmUp, window, after); sent != 0 || refused != 0 || m.total() != 14 {
		t.Errorf("before a trial %d were sent and %d refused, of %d in all", sent, refused, m.total())
	}
	m.release()
	if sent, _ := m.counts(warmUp, window, after); sent != 7 {
		t.Errorf("%d were sent in a trial, not 7", sent)
	}
	m.halt()
	if m.total() != 21 {
		t.Errorf("%d were sent in all", m.total())
	}
}

// TestForeignTardy: a window that began before its generator did is an error that says by how much, and so is an empty one; our own
// senders, which mark what they send in it, are never late.
func TestForeignTardy(t *testing.T) {
	c := &course{when: traffic.Schedule{Start: time.Now().Add(-3 * time.Second), WarmUp: time.Second, Window: 10 * time.Second}}
	if err := tardy(&foreignMover{}, c); err == nil || !strings.Contains(err.Error(), "after its window began") {
		t.Errorf("2 s late: %v", err)
	}
	if err := tardy(&engine{}, c); err != nil {
		t.Errorf("our own: %v", err)
	}
	c.when.WarmUp = time.Minute
	if err := tardy(&foreignMover{}, c); err != nil {
		t.Errorf("before its window: %v", err)
	}
	for wait, says := range map[float64]string{0: "in the window", 0.5: "for 50 % of it"} {
		if err := silent(result.PairEnd{WindowSeconds: 1, Offered: &result.Offered{WaitSeconds: wait}}); !strings.Contains(err.Error(), says) {
			t.Errorf("%g: %v", wait, err)
		}
	}
	if err := silent(result.PairEnd{WindowSeconds: 2, Offered: &result.Offered{TargetPacketsPerSecond: 0.1}}); !strings.Contains(err.Error(), "at 0.1 a second") {
		t.Errorf("at a rate at which none is due: %v", err)
	}
}

// TestForeignSent: a line is a sum, or none.
func TestForeignSent(t *testing.T) {
	for line, want := range map[string]bool{
		"  TX-packets: 12             TX-dropped: 3             TX-total: 15": true, "TX-packets: -1 TX-dropped: 3": false, "TX-packets: 12": false, "": false,
		"RX-packets: 1 RX-dropped: 0": false, "TX-packets: 99999999999999999999 TX-dropped: 0": false,
	} {
		if _, _, found := testpmdSent(line); found != want {
			t.Errorf("%q: %v", line, found)
		}
	}
}

// TestNothingIsReadOfOneThatEnded: its number may be another's.
func TestNothingIsReadOfOneThatEnded(t *testing.T) {
	c := &console{cmd: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}, ended: make(chan struct{})}
	if cpu, _ := c.used(); cpu == 0 {
		t.Error("a program that runs has used nothing")
	}
	close(c.ended)
	if cpu, wait := c.used(); cpu != 0 || wait != 0 {
		t.Errorf("%s and %s are those of another", cpu, wait)
	}
}
