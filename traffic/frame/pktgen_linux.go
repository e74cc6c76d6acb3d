package frame

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// pktgen is Pktgen-DPDK, driven by the commands that people type at its terminal (its documentation's "Runtime Options
// and Commands"). What its screen shows of its counters is up to a second old, so DPDK in it is asked for them.
//
// Two of its threads poll besides the one that sends: one looks for keys, one at the clock, to paint the screen. As
// nobody needs them but for a command, nothing may be painted else: both wait for that, and take nothing of the CPU that
// may also be the sink's.
//
// It is never told a rate. It sends a burst, and the next one so many cycles after it came to that (pktgen_main_rxtx_loop of
// its app/pktgen.c): by what it comes late, for want of a CPU or because its port was full, the rate is lower, for good.
type pktgen struct {
	console  *console
	terminal *terminal
	folder   string // its own, with DPDK's socket
	counters *telemetry
	release  string
	answers  int    // that were asked for
	begun    uint64 // frames that were sent before the last start
	latest   uint64 // the last count
}

const (
	pktgenPrefix = "p" // of DPDK's socket in the folder
	// pktgenCores is how many cores DPDK has names for (RTE_MAX_LCORE of Debian's).
	pktgenCores = 128
	// pktgenRest is for how long of its CPU time a sender that was stopped sends nothing, before that is believed; it goes
	// round thousands of times in that.
	pktgenRest = time.Millisecond
	pktgenLook = 5 * time.Millisecond
	// pktgenBurst is how many frames it hands to its port at once, as testpmd does.
	pktgenBurst = 64
	// pktgenFirst is for how long its first frame is waited for.
	pktgenFirst = 2 * time.Second
	// pktgenNice is the niceness of its threads where they do not stand back: on a busy machine it would else take many seconds
	// to begin, and to hear what it is told. It works for less than a second for that.
	pktgenNice = -10
)

func newPktgen(ctx context.Context, a aim) (driver, error) {
	folder, err := os.MkdirTemp(filepath.Dir(a.socket), "g") // goes with the data plane's folder, if not before
	if err != nil {
		return nil, fmt.Errorf("making a folder for DPDK's socket: %w", err)
	}
	p := &pktgen{folder: folder}
	if err := p.begin(ctx, a, consolePatience); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// begin is over once the program has its orders, counts, and knows its port's speed, without which it sends nothing.
func (p *pktgen) begin(ctx context.Context, a aim, patience time.Duration) error {
	socket, err := telemetrySocket(p.folder, pktgenPrefix)
	if err != nil {
		return err
	}
	p.console, p.terminal, err = startTerminal(ctx, pktgenArguments(a), []string{"RUNTIME_DIRECTORY=" + p.folder, "TERM=vt100"})
	if err != nil {
		return err
	}
	p.console.patience = patience
	_ = unix.Setpriority(unix.PRIO_PROCESS, p.console.cmd.Process.Pid, pktgenNice) // else it only takes longer
	if err := p.console.hear("its start", p.named); err != nil {
		return err
	}
	if err := p.console.schedule(unix.SCHED_IDLE); err != nil { // it polls from now on
		return err
	}
	if p.counters, err = awaitTelemetry(ctx, socket, p.console.ended, patience); err != nil {
		return p.console.failure(err)
	}
	if err := p.console.hear("its port's speed", linked); err != nil {
		return err
	}
	return p.command(pktgenOrders(a)...)
}

// pktgenArguments name the main core as its CPU is numbered, because Pktgen pins the thread that paints to the CPU of
// that number.
func pktgenArguments(a aim) []string {
	main, sends := 0, 1
	if a.cpu >= 0 && a.cpu < pktgenCores {
		main, sends = a.cpu, a.cpu^1
	}
	device := fmt.Sprintf("%s,speed=%d", a.device(), pktgenWire)
	args := append([]string{a.program}, a.eal(main, sends, device, fmt.Sprintf("--main-lcore=%d", main), "--file-prefix="+pktgenPrefix)...)
	return append(args, "-m", fmt.Sprintf("%d.0", sends))
}

// named hears its name and version, which stand at the top of the screen.
func (p *pktgen) named(line string) bool {
	_, rest, found := strings.Cut(line, "Pktgen")
	if !found {
		return false
	}
	for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }) {
		if strings.Count(word, ".") == 2 {
			p.release = "Pktgen " + word
			return true
		}
	}
	return false
}

// linked hears the state of the port: "<UP-200000-FD>".
func linked(line string) bool {
	return strings.Contains(line, fmt.Sprintf("<UP-%d-", pktgenWire))
}

// pktgenOrders are the commands that say what to send until it is stopped. Sizes are with FCS.
func pktgenOrders(a aim) []string {
	size := a.length + fcsSize
	orders := []string{
		"set 0 count 0", fmt.Sprintf("set 0 size %d", size), fmt.Sprintf("set 0 burst %d", pktgenBurst), "set 0 rate 100",
		"set 0 type ipv4", "set 0 proto udp", "set 0 src mac " + a.mac, "set 0 dst mac " + a.hop,
		fmt.Sprintf("set 0 src ip %s/32", a.from), fmt.Sprintf("set 0 dst ip %s", a.to),
		fmt.Sprintf("set 0 sport %d", a.fromPort), fmt.Sprintf("set 0 dport %d", a.toPort),
	}
	if a.flows > 1 {
		orders = append(orders, pktgenRange(a, size)...)
	}
	return orders
}

// pktgenRange are those of several flows: of each field the first value, the least, the highest, and the step.
func pktgenRange(a aim, size int) []string {
	return []string{
		"range 0 type ipv4", "range 0 proto udp", "range 0 src mac start " + a.mac, "range 0 dst mac start " + a.hop,
		fmt.Sprintf("range 0 src ip %s %s %s 0.0.0.0", a.from, a.from, a.from), fmt.Sprintf("range 0 dst ip %s %s %s 0.0.0.0", a.to, a.to, a.to),
		fmt.Sprintf("range 0 src port %d %d %d 1", a.fromPort, a.fromPort, int(a.fromPort)+a.flows-1),
		fmt.Sprintf("range 0 dst port %d %d %d 0", a.toPort, a.toPort, a.toPort),
		fmt.Sprintf("range 0 size %d %d %d 0", size, size, size), "enable 0 range",
	}
}

// command types commands, and waits until they were done. Before and after that nothing may be painted: whoever would, waits.
func (p *pktgen) command(commands ...string) error {
	if err := errors.Join(p.yield(unix.SCHED_NORMAL), p.terminal.resume()); err != nil {
		return p.console.failure(err)
	}
	err := p.typed(commands...)
	// What is left of its turn, the thread that paints spends at the clock; the one that reads keys paints a prompt.
	if err = errors.Join(err, p.yield(unix.SCHED_IDLE), p.terminal.hold(), p.console.tell("")); err != nil {
		return p.console.failure(err)
	}
	return nil
}

// typed is over when commands were done: it answers none of them, but an echo that comes after them. Its word and the space behind
// it are written at once, among whatever the other thread paints at that moment.
func (p *pktgen) typed(commands ...string) error {
	p.answers++
	answer, refused := fmt.Sprintf("done-%d", p.answers), ""
	err := p.console.ask(strings.Join(append(commands, "echo "+answer), p.console.enter), func(line string) bool {
		if strings.Contains(line, "Invalid line") {
			refused = strings.TrimSpace(line)
		}
		return refused != "" || strings.Contains(line, answer+" ")
	})
	if err == nil && refused != "" {
		err = p.console.failure(fmt.Errorf("it does not know a command: %s", refused))
	}
	return err
}

// start is over once a frame was sent. Until then the one that sends runs as others do: it writes all of its frames first.
func (p *pktgen) start() (err error) {
	if p.begun, err = p.count(); err != nil {
		return err
	}
	if err := errors.Join(p.console.schedule(unix.SCHED_NORMAL), p.command("start 0")); err != nil {
		return err
	}
	for began, now := time.Now(), p.begun; now == p.begun; time.Sleep(pktgenLook) {
		if time.Since(began) > pktgenFirst || p.console.overdue() {
			return p.console.failure(fmt.Errorf("it sent no frame within %s of being told to", time.Since(began).Round(time.Millisecond)))
		}
		if now, err = p.count(); err != nil {
			return err
		}
	}
	return p.console.schedule(unix.SCHED_IDLE)
}

// yield is for the thread that paints, which has no name of its own.
func (p *pktgen) yield(policy uint32) error {
	var main string
	var others []thread
	for _, t := range p.console.threads() {
		if t.id == p.console.cmd.Process.Pid {
			main = t.name
		}
	}
	for _, t := range p.console.threads() {
		if t.name == main && t.id != p.console.cmd.Process.Pid {
			others = append(others, t)
		}
	}
	return scheduled(others, policy)
}

// stop is over when nothing has been sent for a while.
func (p *pktgen) stop() error {
	// On a busy machine it might get no CPU to see that it is to stop.
	if err := errors.Join(p.console.schedule(unix.SCHED_NORMAL), p.command("stop 0")); err != nil {
		return err
	}
	before, then := p.latest, time.Duration(0)
	for began := time.Now(); time.Since(began) < p.console.patience && !p.console.overdue(); time.Sleep(pktgenLook) {
		now, err := p.count()
		if err != nil {
			return err
		}
		cpu, _ := p.console.used()
		switch {
		case now != before || then == 0:
			before, then = now, cpu
		case cpu-then >= pktgenRest:
			return p.console.schedule(unix.SCHED_IDLE)
		}
	}
	return p.console.failure(errors.New("it did not come to rest after it was told to stop"))
}

// count is of all frames that it ever sent.
func (p *pktgen) count() (uint64, error) {
	now, err := p.counters.transmitted()
	if err == nil && now < p.latest {
		err = fmt.Errorf("it counts %d frames, after %d", now, p.latest)
	}
	if err != nil {
		return 0, p.console.failure(err)
	}
	p.latest = now
	return now, nil
}

// sent: what the port does not take it offers again until it does, so none is turned away.
func (p *pktgen) sent() (sent, refused uint64, err error) {
	now, err := p.count()
	return now - min(now, p.begun), 0, err
}

func (p *pktgen) version() string { return p.release + ", " + p.counters.release }

func (p *pktgen) process() *console { return p.console }

// close ends it, and takes its folder away. It has nothing else that would be left.
func (p *pktgen) close() (err error) {
	if p.counters != nil {
		err = p.counters.close()
	}
	if p.console != nil {
		err = errors.Join(err, p.console.kill())
	}
	return errors.Join(err, os.RemoveAll(p.folder))
}
