//go:build linux

// Package vm runs the virtual machines of a testbed: QEMU, with a kernel of the distribution's and this very
// program as all that is in the guest. Their interfaces are taps of a node's stack or vhost-user sockets; the
// guest's worker speaks over a virtio-serial port, whose other end is a Unix socket here.
//
// A machine has nothing but its process, which the kernel kills with whoever started it, and files in a
// folder that is removed with the lease.
package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"windtunnel/testbed"
)

// Config is what machines need of who runs them.
type Config struct {
	Dir     string                           // for files and sockets, of this cell's alone
	Files   *Files                           // of guests, which all cells share
	QEMU    string                           // the program's file
	Find    func(string) (string, error)     // the file of another program
	Start   func(*exec.Cmd) error            // starts a process in the node's stack
	Note    func(pid int, what string) error // in the journal
	Socket  func(string) string              // writes folders into the path of a data plane's socket
	Console func() Console                   // takes what a guest says
}

// Console keeps the end of what it is written, for messages.
type Console interface {
	io.Writer
	Quoted() string
}

// How long a guest may take to be ready, and QEMU to be gone once it is killed.
const (
	bootWithin     = 30 * time.Second
	emulatedWithin = 120 * time.Second
	goneWithin     = 10 * time.Second
)

// Ready is what a guest's first process says once its worker can be spoken with, and panics how a kernel begins
// its last words.
const (
	Ready  = "windtunnel: this machine is ready"
	panics = "Kernel panic"
)

// Machine is a running one.
type Machine struct {
	VM          testbed.VM
	Accelerator string

	process *exec.Cmd
	passt   []*passt // of its interfaces that have one
	agent   string   // path of the socket
	console *watch
	ended   chan struct{}
	err     error // why it ended, valid once ended is closed
}

// Boot starts a VM of the graph and waits until its worker can be spoken with: by KVM, or, where that does not run
// the guest, emulated. What of it was started before an error is gone when it returns.
func Boot(ctx context.Context, config Config, g testbed.Graph, v testbed.VM) (*Machine, error) {
	accelerator, _ := Accelerator()
	m, err := boot(ctx, config, g, v, accelerator)
	if err != nil && accelerator == KVM && ctx.Err() == nil {
		again, failed := boot(ctx, config, g, v, Emulated)
		if failed == nil {
			return again, nil
		}
		err = errors.Join(err, fmt.Errorf("and emulated: %w", failed))
	}
	if err != nil {
		return nil, fmt.Errorf("the virtual machine %s: %w", v.Name, err)
	}
	return m, nil
}

func boot(ctx context.Context, config Config, g testbed.Graph, v testbed.VM, accelerator string) (*Machine, error) {
	m, err := start(config, g, v, accelerator)
	if err != nil {
		return nil, err
	}
	if err := m.booted(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w%s", err, m.console.Quoted()), m.Close())
	}
	return m, nil
}

func start(config Config, g testbed.Graph, v testbed.VM, accelerator string) (*Machine, error) {
	kernel, err := FindKernel()
	if err != nil {
		return nil, err
	}
	files, err := config.Files.of(kernel)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making its folder: %w", err)
	}
	m := &Machine{VM: v, Accelerator: accelerator, agent: filepath.Join(config.Dir, v.Name+".sock"), ended: make(chan struct{}),
		console: &watch{to: config.Console(), ready: make(chan struct{}), panicked: make(chan struct{})}}
	const longest = 107 // of a socket's path, unix(7)
	if len(m.agent) > longest {
		return nil, fmt.Errorf("the socket %s has %d bytes, %d are possible: give it a shorter name", m.agent, len(m.agent), longest)
	}
	l := launch{vm: v, graph: g, accelerator: accelerator, kernel: kernel.Image, initramfs: files, agent: m.agent, socket: config.Socket}
	if err := m.run(config, l); err != nil {
		return nil, errors.Join(err, m.closePasst())
	}
	go func() {
		defer close(m.ended)
		m.err = m.process.Wait()
	}()
	if err := config.Note(m.process.Process.Pid, "QEMU of the virtual machine "+v.Name); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// run starts QEMU, and before it what stands beside it.
func (m *Machine) run(config Config, l launch) error {
	var sockets []*os.File
	defer func() {
		for _, socket := range sockets { // which QEMU has, once it is started
			socket.Close()
		}
	}()
	for _, nic := range l.vm.NICs {
		if nic.User == nil || nic.User.By != testbed.UserByPasst {
			continue
		}
		inside, _ := l.graph.Attached(nic)
		p, socket, err := startPasst(config, l.vm, *nic.User, inside)
		if err != nil {
			return err
		}
		m.passt, sockets = append(m.passt, p), append(sockets, socket)
	}
	m.process = exec.Command(config.QEMU, l.arguments()...)
	m.process.Dir, m.process.Stdout, m.process.Stderr, m.process.WaitDelay = config.Dir, m.console, m.console, time.Second
	m.process.ExtraFiles = sockets
	if err := config.Start(m.process); err != nil {
		return fmt.Errorf("starting %s: %w", config.QEMU, err)
	}
	return nil
}

func (m *Machine) booted(ctx context.Context) error {
	limit := bootWithin
	if m.Accelerator == Emulated {
		limit = emulatedWithin
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-m.console.ready:
		return m.Alive()
	case <-m.console.panicked:
		return errors.New("its kernel has panicked")
	case <-m.ended:
		return fmt.Errorf("QEMU has ended (%v)", m.err)
	case <-ctx.Done():
		return fmt.Errorf("waiting for it to boot: %w", ctx.Err())
	case <-late.C:
		return fmt.Errorf("it has not booted within %s", limit)
	}
}

// PID is QEMU's process.
func (m *Machine) PID() int { return m.process.Process.Pid }

// Alive returns why a machine is not.
func (m *Machine) Alive() error {
	select {
	case <-m.ended:
		return fmt.Errorf("the virtual machine %s has ended (%v)%s", m.VM.Name, m.err, m.console.Quoted())
	case <-m.console.panicked:
		return fmt.Errorf("the kernel of the virtual machine %s has panicked%s", m.VM.Name, m.console.Quoted())
	default:
	}
	for _, p := range m.passt {
		if err := p.alive(); err != nil {
			return fmt.Errorf("the virtual machine %s: %w", m.VM.Name, err)
		}
	}
	return nil
}

// Passt are the processes of passt's that make the machine's networks.
func (m *Machine) Passt() (pids []int) {
	for _, p := range m.passt {
		pids = append(pids, p.process.Process.Pid)
	}
	return pids
}

// Said is the end of what the guest and QEMU said, for messages.
func (m *Machine) Said() string { return m.console.Quoted() }

// Close kills the machine: nothing that it keeps is wanted.
func (m *Machine) Close() error {
	_ = m.process.Process.Kill() // it may have ended by itself
	var stays error
	select {
	case <-m.ended:
	case <-time.After(goneWithin):
		stays = fmt.Errorf("QEMU of the virtual machine %s (process %d) does not end", m.VM.Name, m.PID())
	}
	return errors.Join(stays, m.closePasst())
}

func (m *Machine) closePasst() (failed error) {
	for _, p := range m.passt {
		failed = errors.Join(failed, p.close())
	}
	return failed
}

// watch passes on what a guest says, and tells once that it is ready, and that its kernel has panicked.
type watch struct {
	to              Console
	ready, panicked chan struct{}

	mu   sync.Mutex
	tail string // what may be the beginning of a text that is looked for
}

// Write fails only where the console does.
func (w *watch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail += string(p)
	for text, told := range map[string]chan struct{}{Ready: w.ready, panics: w.panicked} {
		if !strings.Contains(w.tail, text) {
			continue
		}
		select {
		case <-told:
		default:
			close(told)
		}
	}
	w.tail = w.tail[max(0, len(w.tail)-len(Ready)):]
	return w.to.Write(p)
}

// Quoted is the end of what was said.
func (w *watch) Quoted() string { return w.to.Quoted() }
