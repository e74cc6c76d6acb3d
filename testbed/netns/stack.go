package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Stack is a network stack of its own: an anonymous network namespace, held by
// one OS thread of this process that does nothing else. Nothing outside names
// it, so it lives exactly as long as the thread: when the process dies, by
// whatever signal, the kernel takes the stack and its links away.
type Stack struct {
	place string
	sysfs string
	tid   int
	work  chan func()
	quit  chan struct{}
	ended chan struct{}
}

// errStackClosed answers work for a stack that is gone.
var errStackClosed = errors.New("the network stack is closed: place the graph again")

// NewStack makes a stack; its mounts lie at mountpoint/sys. The caller closes it.
func NewStack(place, mountpoint string) (*Stack, error) {
	return holdStack(place, mountpoint, func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unsharing namespaces (root is needed): %w", err)
		}
		return nil
	})
}

// JoinStack returns the stack of a network namespace that somebody else made, and holds it. The
// caller closes it.
func JoinStack(place, mountpoint, path string) (*Stack, error) {
	return holdStack(place, mountpoint, func() error {
		there, err := netns.GetFromPath(path)
		if err != nil {
			return fmt.Errorf("opening its network namespace: %w", err)
		}
		return errors.Join(netns.Set(there), there.Close())
	})
}

// holdStack starts the thread of a stack, which enter brings into its network namespace.
func holdStack(place, mountpoint string, enter func() error) (*Stack, error) {
	s := &Stack{
		place: place, sysfs: mountpoint + "/sys",
		work: make(chan func()), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	if err := os.MkdirAll(s.sysfs, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder for sysfs of %s: %w", place, err)
	}
	ready := make(chan error)
	go s.hold(enter, ready)
	if err := <-ready; err != nil {
		<-s.ended
		return nil, fmt.Errorf("making the network stack of %s: %w", place, err)
	}
	return s, nil
}

// hold is the stack's thread. It never unlocks, so that the runtime ends the
// thread with the goroutine rather than give a changed thread to others.
func (s *Stack) hold(enter func() error, ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The process's first thread cannot end before the process does
		// and would keep the namespaces; another goroutine gets another.
		done := make(chan struct{})
		go func() { defer close(done); s.hold(enter, ready) }()
		<-done
		runtime.UnlockOSThread()
		return
	}
	defer close(s.ended)
	s.tid = unix.Gettid()
	err := enter()
	if err == nil {
		err = mounts(s.sysfs)
	}
	ready <- err
	if err != nil {
		return
	}
	for {
		select {
		case do := <-s.work:
			do()
		case <-s.quit:
			return
		}
	}
}

// mounts gives the calling thread a mount namespace of its own, with a view of its network
// namespace at sysfs, and a BPF file system in which pins die with it.
func mounts(sysfs string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unsharing namespaces (root is needed): %w", err)
	}
	// Slaves rather than private: nothing gets out, but what the host unmounts
	// goes here too, or a running testbed would keep its disks busy.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("cutting mounts off from the host's: %w", err)
	}
	if err := unix.Mount("sysfs", sysfs, "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting sysfs on %s: %w", sysfs, err)
	}
	// Best effort: a kernel without BPF has no such folder, and only the
	// paths that need BPF miss it.
	_ = unix.Mount("bpf", bpffs, "bpf", 0, "mode=0700")
	return nil
}

const bpffs = "/sys/fs/bpf"

// Place is the node's or container's name.
func (s *Stack) Place() string { return s.place }

// Path names the stack's network namespace for other processes; it is valid
// while the stack lives.
func (s *Stack) Path() string {
	return fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), s.tid)
}

// Sysfs is where the stack's sysfs is mounted, as seen from within Do and from
// processes that Start started: their /sys shows the host's devices.
func (s *Stack) Sysfs() string { return s.sysfs }

// Do runs f on the stack's thread: sockets that f opens, and namespaced files
// that it reads, are the stack's. Calls are served one after the other; f must
// not call Do of the same stack.
func (s *Stack) Do(f func() error) error {
	result := make(chan error, 1)
	select {
	case s.work <- func() { result <- f() }:
		return <-result
	case <-s.ended:
		return fmt.Errorf("in %s: %w", s.place, errStackClosed)
	}
}

// Start starts cmd in the stack, on its node's CPUs. The kernel kills it when
// the stack ends or this process dies; the caller waits for it.
func (s *Stack) Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// Of the thread, not of the process: see prctl(2), PR_SET_PDEATHSIG.
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return s.Do(cmd.Start)
}

// pin brings the stack's thread, and so whatever it starts, to the CPUs.
func (s *Stack) pin(cpus []int) error {
	return s.Do(func() error { return pinThread(0, cpus) })
}

// Close ends the stack and waits until the kernel has let the thread go. It is
// called once.
func (s *Stack) Close() error {
	close(s.quit)
	<-s.ended
	task := fmt.Sprintf("/proc/self/task/%d", s.tid)
	return await(context.Background(), 2*time.Second, func() error {
		if _, err := os.Stat(task); err == nil {
			return fmt.Errorf("the thread of %s does not end", s.place)
		}
		return nil
	})
}
