package generator

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// kill ends a program, and with it its process group, which is its own. The number of one
// that has ended may be another's by now.
func kill(p *os.Process) error {
	if err := p.Kill(); err != nil {
		return err
	}
	if err := unix.Kill(-p.Pid, unix.SIGKILL); err != nil && err != unix.ESRCH {
		return err
	}
	return nil
}

// confine readies a command and the calling thread, which will fork it: the program runs on
// the CPUs, and ends with the thread. With the right to it, it has process numbers of its
// own (pid_namespaces(7)), so that whatever it forks ends with it, too.
func confine(cmd *exec.Cmd, cpus []int) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
	}
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("keeping to CPUs %v: %w", cpus, err)
	}
	return nil
}
