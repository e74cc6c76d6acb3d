//go:build linux

package vm

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// Passt is the program beside QEMU that makes a user-mode network.
const Passt = "passt"

// passt is that of one interface. It speaks with QEMU by a pair of connected sockets, one end each: a socket with a path
// would have to be where its user nobody may reach it, and where the profiles of AppArmor and SELinux let it make one.
// It ends when QEMU's end is closed (its option --fd), which a death of QEMU's is, and so with the node's agent, too.
type passt struct {
	process *exec.Cmd
	said    Console
	ended   chan struct{}
	err     error // why it ended, valid once ended is closed
}

// firstExtra is the descriptor that the first of exec.Cmd's ExtraFiles has.
const firstExtra = 3

// startPasst starts it in the node's stack, and returns it with QEMU's end of its sockets.
func startPasst(config Config, v testbed.VM, u testbed.UserNetwork, inside testbed.Interface) (*passt, *os.File, error) {
	program, err := config.Find(Passt)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; apt-get install passt", err)
	}
	arguments, err := passtArguments(u, inside, firstExtra)
	if err != nil {
		return nil, nil, err
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making the sockets between QEMU and passt: %w", err)
	}
	near, far := os.NewFile(uintptr(ends[0]), "passt's end"), os.NewFile(uintptr(ends[1]), "QEMU's end")
	p := &passt{process: exec.Command(program, arguments...), said: config.Console(), ended: make(chan struct{})}
	p.process.Dir, p.process.Stdout, p.process.Stderr, p.process.WaitDelay = config.Dir, p.said, p.said, time.Second
	p.process.ExtraFiles = []*os.File{near}
	err = config.Start(p.process)
	near.Close()
	if err != nil {
		far.Close()
		return nil, nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.process.Wait()
	}()
	if err := config.Note(p.process.Process.Pid, "passt of the virtual machine "+v.Name); err != nil {
		far.Close()
		return nil, nil, errors.Join(err, p.close())
	}
	return p, far, nil
}

// passtArguments are passt's: the network is what it is told, and not what the node's interface has. Nothing is given by
// DHCP, and no address stands for the node's loopback.
func passtArguments(u testbed.UserNetwork, inside testbed.Interface, fd int) ([]string, error) {
	if len(inside.Addresses) != 1 {
		return nil, fmt.Errorf("passt gives a guest one address, and %s has %d", inside.Device, len(inside.Addresses))
	}
	address, err := netip.ParsePrefix(inside.Addresses[0])
	if err != nil {
		return nil, fmt.Errorf("reading the guest's address: %w", err)
	}
	ports := "none"
	if len(u.Forward) > 0 {
		var all []string
		for _, port := range u.Forward {
			all = append(all, strconv.Itoa(port))
		}
		ports = strings.Join(all, ",")
	}
	return []string{
		"--foreground", "--quiet", "--ipv4-only", "--interface", u.Device,
		"--address", address.Addr().String(), "--netmask", strconv.Itoa(address.Bits()), "--gateway", u.Gateway,
		"--mtu", strconv.Itoa(inside.MTU), "--dns", "none", "--search", "none", "--no-dhcp", "--no-map-gw",
		"--tcp-ports", ports, "--udp-ports", ports, "--fd", strconv.Itoa(fd),
	}, nil
}

// alive returns why it is not.
func (p *passt) alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("its passt has ended (%v)%s", p.err, p.said.Quoted())
	default:
		return nil
	}
}

func (p *passt) close() error {
	_ = p.process.Process.Kill() // it may have ended by itself
	select {
	case <-p.ended:
		return nil
	case <-time.After(goneWithin):
		return fmt.Errorf("passt (process %d) does not end", p.process.Process.Pid)
	}
}
