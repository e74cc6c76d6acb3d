//go:build unix

package command

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// startPatience is how long a daemon may take until it listens.
const startPatience = 10 * time.Second

// background starts this program again with the same arguments, in a session of
// its own and without a terminal, and returns when it listens.
func background(args []string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("unable to become a daemon: %w", err)
	}
	hear, tell, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("unable to become a daemon: %w", err)
	}
	defer hear.Close()
	const first = "3" // the first of exec.Cmd.ExtraFiles
	daemon := exec.Command(program, append([]string{"iperf3", "--daemon-tells", first}, args...)...)
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	daemon.ExtraFiles = []*os.File{tell}
	err = daemon.Start()
	_ = tell.Close()
	if err != nil {
		return fmt.Errorf("unable to become a daemon: %w", err)
	}
	if err := hear.SetReadDeadline(time.Now().Add(startPatience)); err != nil {
		return fmt.Errorf("unable to wait for the daemon: %w", err)
	}
	if err := hearDaemon(hear); err != nil {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
		return fmt.Errorf("unable to become a daemon: %w", err)
	}
	return daemon.Process.Release()
}

// lives tells whether there is a process of this number.
func lives(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}
