package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// loader is frame-load: it has a port at either socket of every device.
type loader struct {
	place *place
	in    io.WriteCloser
	out   *bufio.Reader
	pids  []int
	ports map[*device]int // the first of its two
}

const (
	loadMemory = 256 // MiB of huge pages
	loadName   = "frame-load"
)

// frames are what is sent: at the byte at, a random one of so many numbers (load/load.c).
type frames struct {
	template []byte
	at       int
	count    int
	step     uint32
	mask     uint32
}

// startLoader starts it once all devices have their sockets.
func startLoader(ctx context.Context, dir, program string, devices []*device) (*loader, error) {
	p, err := newPlace(dir, "load")
	l := &loader{place: p, ports: map[*device]int{}}
	if err != nil {
		return l, err
	}
	args := []string{program, fmt.Sprintf("--lcores=0@%d", loadCPU), "--in-memory", "--single-file-segments", "-m", fmt.Sprint(loadMemory), "--no-pci", "--no-telemetry", "--iova-mode=va"}
	for _, d := range devices {
		l.ports[d] = 2 * len(l.ports)
		for i, socket := range []string{d.in, d.out} {
			args = append(args, fmt.Sprintf("--vdev=net_virtio_user%d,path=%s,queues=1,queue_size=1024,mrg_rxbuf=0,in_order=1", l.ports[d]+i, socket))
		}
	}
	cmd, err := p.program(ctx, args...)
	if err != nil {
		return l, err
	}
	if l.in, err = cmd.StdinPipe(); err != nil {
		return l, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return l, err
	}
	l.out = bufio.NewReader(out)
	if err := p.start(cmd); err != nil {
		return l, err
	}
	l.pids = []int{cmd.Process.Pid}
	for line := ""; line != "ready\n"; {
		if line, err = l.out.ReadString('\n'); err != nil {
			return l, p.failure(loadName, err)
		}
	}
	return l, nil
}

// sample is what one trial of a device showed: of the window, the busy cycles of each packet that the
// device took, and the packets a second that came out.
type sample struct {
	cycles float64
	busy   float64 // share of its cycles
	rate   float64
	sent   float64 // a second
	stages stages
}

func (s sample) String() string {
	return fmt.Sprintf("%.1f busy cycles a packet, %.0f %% busy, %.3f Mpps sent, %.3f Mpps got", s.cycles, 100*s.busy, s.sent/1e6, s.rate/1e6)
}

// The warm-up of a trial, and how long before the window's end the device's account is read for the second time: it
// has to be within.
const (
	warmUp = 150 * time.Millisecond
	margin = 30 * time.Millisecond
)

// trial lets a device forward, and then stand still again. It is made anew while others have the CPUs.
func (l *loader) trial(d *device, f frames, window time.Duration) (sample, error) {
	return undisturbed(func() (sample, error) { return l.once(d, f, window) })
}

func (l *loader) once(d *device, f frames, window time.Duration) (s sample, err error) {
	if err := d.resume(); err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, d.halt()) }()
	if _, err := fmt.Fprintf(l.in, "run %d %d %d %d %d %d %d %d %s\n", l.ports[d], l.ports[d]+1, warmUp.Milliseconds(), window.Milliseconds(),
		f.at, f.count, f.step, f.mask, hex.EncodeToString(f.template)); err != nil {
		return s, l.place.failure(loadName, err)
	}
	time.Sleep(warmUp)
	waits := func() map[string]time.Duration {
		return map[string]time.Duration{loadName: waited("/proc", l.pids), d.name: waited("/proc", d.pids)}
	}
	before := waits()
	from, err := d.meter()
	if err != nil {
		return s, err
	}
	time.Sleep(window - margin)
	to, err := d.meter()
	if err != nil {
		return s, err
	}
	after := waits()
	line, err := l.out.ReadString('\n')
	if err != nil {
		return s, l.place.failure(loadName, err)
	}
	for name := range after {
		after[name] -= before[name]
	}
	s, err = s.of(d, to.less(from), strings.TrimSpace(line))
	if others := disturbance(window, after); others != nil {
		return s, others // whatever it came to
	}
	return s, err
}

// of reads the sender's answer beside the device's account.
func (s sample) of(d *device, account reading, answer string) (sample, error) {
	var sent, got, ns float64
	if _, err := fmt.Sscanf(answer, "ok %g %g %g", &sent, &got, &ns); err != nil {
		return s, fmt.Errorf("%s answers %q", loadName, answer)
	}
	if got == 0 || account.packets == 0 {
		return s, fmt.Errorf("%s: no frame came through; %d were sent", d.name, int(sent))
	}
	return sample{cycles: float64(account.busy) / float64(account.packets), busy: float64(account.busy) / account.at,
		rate: got * 1e9 / ns, sent: sent * 1e9 / ns, stages: account.stages}, nil
}
