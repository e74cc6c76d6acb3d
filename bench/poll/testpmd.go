package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

const (
	testpmdProgram = "dpdk-testpmd"
	testpmdMemory  = 192 // MiB of huge pages
)

// newTestpmd starts DPDK's test program, which carries frames from either socket to the other and looks
// at none.
func newTestpmd(ctx context.Context, dir string) (d *device, err error) {
	p, err := newPlace(dir, testpmdName)
	d = &device{name: testpmdName, place: p, in: p.file("in"), out: p.file("out")}
	if err != nil {
		return d, err
	}
	cmd, err := p.program(ctx, "stdbuf", "-oL", testpmdProgram, fmt.Sprintf("--lcores=0@%d,1@%d", loadCPU, deviceCPU), "--in-memory", "-m", fmt.Sprint(testpmdMemory), "--no-pci", "--no-telemetry",
		"--vdev=net_vhost0,iface="+d.in, "--vdev=net_vhost1,iface="+d.out, "--",
		"-i", "--record-core-cycles", "--forward-mode=io", "--nb-cores=1", "--total-num-mbufs=16384", "--no-mlockall")
	if err != nil {
		return d, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return d, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return d, err
	}
	if err := p.start(cmd); err != nil {
		return d, err
	}
	t := &testpmd{p, in, bufio.NewReader(out)}
	d.pids = []int{cmd.Process.Pid}
	d.meter = t.read
	_, err = t.ask("start", "packet forwarding")
	return d, err
}

type testpmd struct {
	place *place
	in    io.Writer
	out   *bufio.Reader
}

// ask gives a command and waits for a line of the answer.
func (t *testpmd) ask(command, has string) (string, error) {
	if _, err := fmt.Fprintln(t.in, command); err != nil {
		return "", t.place.failure("stdbuf", err)
	}
	for {
		line, err := t.out.ReadString('\n')
		if err != nil {
			return "", t.place.failure("stdbuf", err)
		}
		if strings.Contains(line, has) {
			return line, nil
		}
	}
}

// read: it counts the cycles of what it does with a burst, from before it asks for it on, unless there is
// none (get_start_cycles and get_end_cycles in app/test-pmd/testpmd.h).
func (t *testpmd) read() (r reading, err error) {
	line, err := t.ask("show fwd stats all", "CPU cycles/packet=")
	if err != nil {
		return r, err
	}
	_, rest, _ := strings.Cut(line, "(total cycles=")
	var megahertz float64
	if _, err := fmt.Sscanf(rest, "%d / total io packets=%d) at %g MHz", &r.busy, &r.packets, &megahertz); err != nil {
		return r, fmt.Errorf("testpmd says %q: %w", strings.TrimSpace(line), err)
	}
	r.at = now() * megahertz * 1e6
	return r, nil
}
