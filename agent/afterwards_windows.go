package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/windows"
)

// removing is a line of cmd.exe that waits until its input ends, and then tries for half a minute to remove a folder.
// There is no other way to wait between tries that needs no console.
const removing = `/d /q /c set /p ended= & for /l %%i in (1,1,30) do (rmdir /s /q %[1]s 2>nul & if exist %[1]s (ping -n 2 127.0.0.1 >nul) else (exit))`

// removeWithUs has the folder of an entry removed once this process has ended, for Windows removes no program that runs. What
// removes it has one end of a pipe, and this process the other, which Windows closes also if it is killed. End lets go of it.
//
// sshd puts what a session starts into a job, and ends that with the session; it lets processes leave it (session.c of
// Microsoft's OpenSSH, JOB_OBJECT_LIMIT_BREAKAWAY_OK).
func removeWithUs(dir string) (end func() error, err error) {
	if !isBrought(dir) {
		return nil, errNotBrought(dir)
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding what was brought: %w", err)
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return nil, fmt.Errorf("finding cmd.exe: %w", err)
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	start := func(flags uint32) error {
		cmd := exec.Command(filepath.Join(system, "cmd.exe"))
		cmd.Stdin = theirs
		cmd.Dir = filepath.Dir(whole) // so that the line has none but the folder's own name, which is an entry's
		cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: "cmd.exe " + fmt.Sprintf(removing, filepath.Base(whole)), CreationFlags: flags, HideWindow: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		return cmd.Process.Release()
	}
	err = start(windows.CREATE_BREAKAWAY_FROM_JOB | windows.CREATE_NO_WINDOW)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) { // a job that nothing leaves
		err = start(windows.CREATE_NO_WINDOW)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting what removes %s: %w", dir, err), ours.Close())
	}
	return ours.Close, nil
}
