package poll

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
)

const (
	// askTime bounds an answer; DPDK's start is in the first one.
	askTime = 30 * time.Second
	// endTime is how long the process may take to end by itself.
	endTime = 5 * time.Second
	// packetMemory is what EAL gets at most, in MiB: the buffers, those of AF_XDP's ports, and what DPDK
	// needs for itself. What of that is not used takes no memory.
	packetMemory = 1024
)

// process is a running vrouter-poll.
type process struct {
	command *exec.Cmd
	memory  Memory
	waits   time.Duration // for an answer
	control *net.UnixConn
	answers *bufio.Reader
	said    tail
	done    chan struct{} // closed when it has ended
}

// startProcess hands it the tables and one end of a socket. When the other end goes, by whatever end
// of this process, it ends: nobody else can reach or keep it.
func startProcess(options Options, image *image, said *log) (*process, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("making a socket for the poll mode's process: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "control"), os.NewFile(uintptr(ends[1]), "control")
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, fmt.Errorf("making a socket for the poll mode's process: %w", err)
	}
	control := conn.(*net.UnixConn) // as the socket pair is
	memory, err := chooseMemory(hugePages, options.Memory)
	if err != nil {
		control.Close()
		return nil, err
	}
	p := &process{memory: memory, waits: askTime, control: control, answers: bufio.NewReader(control), done: make(chan struct{})}
	p.said.next = said
	p.command = exec.Command(options.Program, arguments(options, memory)...)
	p.command.Stdout, p.command.Stderr = &p.said, &p.said
	p.command.WaitDelay = time.Second                     // whoever has its output open as well does not keep us
	p.command.ExtraFiles = []*os.File{image.file, theirs} // 3 and 4
	// The first keeps EAL from making a folder that it has no use for. libxdp, behind AF_XDP, would pin a
	// program that calls others (a dispatcher), which stays when the process is killed.
	p.command.Env = []string{"RUNTIME_DIRECTORY=/dev/null", "LIBXDP_SKIP_DISPATCHER=1"}
	if err := p.start(); err != nil {
		control.Close()
		return nil, fmt.Errorf("starting the poll mode's process %s: %w; `make poll` builds it", options.Program, err)
	}
	return p, nil
}

// start has the process go on when this one dies, if somebody has stopped it: a stopped one does not see that its
// socket is closed, and would keep its memory. The signal comes with the end of the thread that forks (prctl(2),
// PR_SET_PDEATHSIG): the caller's, whose network namespace the process is to be in. Should it end before this process,
// nothing is woken but what was stopped.
func (p *process) start() error {
	p.command.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGCONT}
	if err := p.command.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.command.Wait() // how it ended is in ProcessState
		p.said.end()
		close(p.done)
	}()
	return nil
}

// arguments: EAL keeps nothing in files (--no-shconf, --no-huge or --in-memory), so nothing is left when the
// process is killed. Its memory is of memfd_create(2), which a switch can be given (virtio-user): of huge
// pages in as few files as a vhost-user message has room for.
func arguments(o Options, memory Memory) []string {
	most := packetMemory
	if o.Pinned { // VFIO takes every page of it (VFIO_IOMMU_MAP_DMA)
		most = hugeMemory
	}
	pages := []string{"--no-huge", "-m", strconv.Itoa(most)}
	if memory == MemoryHuge {
		pages = []string{"--in-memory", "--single-file-segments", "-m", strconv.Itoa(hugeMemory)}
	}
	hands := "0"
	if o.HandOver {
		hands = "1"
	}
	return append([]string{
		"3", "4", strconv.FormatInt(o.Pause.Microseconds(), 10), strconv.FormatInt(o.Patience.Microseconds(), 10), hands,
		"--no-shconf", "--iova-mode=va", "-a", noPCI, "--no-telemetry", "--log-level=5",
		"--lcores", lcores(o.CPUs),
	}, pages...)
}

// noPCI is a list of PCI devices that has none of them: DPDK would take what it can get at the start,
// and ports name theirs later. With --no-pci, it could not. No bus has this number.
const noPCI = "ffff:ff:1f.7"

func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// add opens a port. A tap is the agent's, and the process gets it.
func (p *process) add(at config.Attachment, tap *os.File) error {
	if at.Driver.Listens() {
		if err := clearSocket(at); err != nil {
			return err
		}
	}
	if tap != nil {
		if err := p.hand(tap); err != nil {
			return err
		}
	}
	return p.ask("add %s %s %s %d", vifWord(at.Vif), cmp.Or(at.Driver, config.DriverPacket), at.Interface, at.MTU)
}

// vifWord is how a request calls a vif.
func vifWord(vif uint32) string {
	if vif == hostVif {
		return "host"
	}
	return strconv.Itoa(int(vif))
}

// hand sends an open file, which belongs to the request that follows.
func (p *process) hand(file *os.File) error {
	if err := p.control.SetDeadline(time.Now().Add(p.waits)); err != nil {
		return fmt.Errorf("asking the poll mode's process: %w", err)
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return fmt.Errorf("handing %s to the poll mode's process: %w", file.Name(), err)
	}
	var sent error
	if err := raw.Control(func(fd uintptr) { _, _, sent = p.control.WriteMsgUnix([]byte{' '}, unix.UnixRights(int(fd)), nil) }); err != nil {
		return fmt.Errorf("handing %s to the poll mode's process: %w", file.Name(), err)
	}
	if sent != nil {
		return p.silent(sent)
	}
	return nil
}

// linked tells whether a port's other side is there.
func (p *process) linked(vif uint32) (bool, error) {
	says, err := p.askFor("link %d", vif)
	return says == "ok up", err
}

func (p *process) remove(at config.Attachment) error { return p.ask("remove %s", vifWord(at.Vif)) }

// ask sends a request, and waits until it is done.
func (p *process) ask(format string, args ...any) error {
	_, err := p.askFor(format, args...)
	return err
}

// askFor sends a request and waits for its answer.
func (p *process) askFor(format string, args ...any) (string, error) {
	if err := p.control.SetDeadline(time.Now().Add(p.waits)); err != nil {
		return "", fmt.Errorf("asking the poll mode's process: %w", err)
	}
	if _, err := fmt.Fprintf(p.control, format+"\n", args...); err != nil {
		return "", p.silent(err)
	}
	line, err := p.answers.ReadString('\n')
	if err != nil {
		return "", p.silent(err)
	}
	line = strings.TrimSpace(line)
	if why, failed := strings.CutPrefix(line, "error "); failed {
		return "", fmt.Errorf("%s%s", why, p.said.quote())
	}
	return line, nil
}

// silent is for when there was no answer. A process that has not answered in time is ended: its answer, if it came, would
// be taken for the next request's.
func (p *process) silent(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = p.command.Process.Kill()
		return fmt.Errorf("the poll mode's process has not answered within %v, and was killed", p.waits)
	}
	select {
	case <-p.done:
		return p.failure()
	case <-time.After(endTime):
		return fmt.Errorf("asking the poll mode's process: %w", err)
	}
}

// failure says how the process ended; it has.
func (p *process) failure() error {
	return fmt.Errorf("the poll mode's process ended (%v)%s", p.command.ProcessState, p.said.quote())
}

// close lets the process end, and makes it end if it does not.
func (p *process) close() error {
	p.control.Close()
	select {
	case <-p.done:
	case <-time.After(endTime):
		_ = p.command.Process.Kill()
		<-p.done
		return fmt.Errorf("the poll mode's process did not end within %v, and was killed%s", endTime, p.said.quote())
	}
	return nil
}
