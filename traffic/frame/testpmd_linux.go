package frame

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// testpmd is DPDK's test program in its mode txonly, driven by its console (DPDK's "Testpmd Application User Guide").
type testpmd struct {
	console *console
	release string
}

// eal are EAL's arguments for a program that sends at a vhost-user socket: nothing of its memory is in files. The
// numbers are its names for its main core and the one that sends.
func (a aim) eal(main, sends int, device string, more ...string) []string {
	cores := fmt.Sprintf("%d,%d", main, sends)
	if a.cpu >= 0 {
		cores = fmt.Sprintf("%d@%d,%d@%d", main, a.cpu, sends, a.cpu)
	}
	args := []string{"--lcores=" + cores, "--no-huge", "-m", "256", "--no-shconf", "--no-pci", "-v"}
	return append(append(args, more...), "--vdev="+device, "--")
}

// device is the program's side of the socket.
func (a aim) device() string {
	return fmt.Sprintf("net_virtio_user0,path=%s,mac=%s,queues=1,queue_size=1024,mrg_rxbuf=0,in_order=1", a.socket, a.mac)
}

func newTestpmd(ctx context.Context, a aim) (driver, error) {
	args := append([]string{"stdbuf", "-oL", a.program}, a.eal(0, 1, a.device(), "--no-telemetry")...)
	args = append(args, "--interactive", "--forward-mode=txonly", "--nb-cores=1", "--total-num-mbufs=16384", "--mbuf-size=4224", // a frame of any port in one buffer
		"--no-mlockall", "--no-flush-rx",
		"--txd=1024", "--burst=64", fmt.Sprintf("--txpkts=%d", a.length), "--eth-peer=0,"+a.hop,
		fmt.Sprintf("--tx-ip=%s,%s", a.from, a.to), fmt.Sprintf("--tx-udp=%d,%d", a.fromPort, a.toPort))
	c, err := startConsole(ctx, args, []string{"RUNTIME_DIRECTORY=/dev/null"}) // else EAL makes a folder
	if err != nil {
		return nil, err
	}
	t := &testpmd{console: c}
	if err := c.hear("its start", t.begun); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return t, nil
}

// begun hears the version, which EAL says first, and that the port has been started.
func (t *testpmd) begun(line string) bool {
	if _, version, found := strings.Cut(line, "RTE Version: "); found {
		t.release = strings.Trim(strings.TrimSpace(version), "'")
	}
	return strings.TrimSpace(line) == "Done"
}

func (t *testpmd) start() error {
	if err := t.console.ask("start", func(line string) bool { return strings.Contains(line, "packet forwarding - ") }); err != nil {
		return err
	}
	return t.console.schedule(unix.SCHED_IDLE)
}

func (t *testpmd) stop() error {
	// It waits for the thread that polls, which on a busy machine might get no CPU to hear of it.
	if err := t.console.schedule(unix.SCHED_NORMAL); err != nil {
		return err
	}
	return t.console.ask("stop", func(line string) bool { return strings.TrimSpace(line) == "Done." })
}

// sent reads the sums behind those of each port; a start begins them anew.
func (t *testpmd) sent() (sent, refused uint64, err error) {
	all, found := false, false
	asked := t.console.ask("show fwd stats all", func(line string) bool {
		all = all || strings.Contains(line, "Accumulated forward statistics")
		if all && !found {
			sent, refused, found = testpmdSent(line)
		}
		return found
	})
	return sent, refused, asked
}

// testpmdSent reads "TX-packets: 12 TX-dropped: 3 TX-total: 15".
func testpmdSent(line string) (sent, refused uint64, found bool) {
	words := strings.Fields(line)
	if len(words) < 4 || words[0] != "TX-packets:" || words[2] != "TX-dropped:" {
		return 0, 0, false
	}
	sent, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	refused, err = strconv.ParseUint(words[3], 10, 64)
	return sent, refused, err == nil
}

func (t *testpmd) version() string { return t.release }

func (t *testpmd) process() *console { return t.console }

func (t *testpmd) close() error { return t.console.close() }
