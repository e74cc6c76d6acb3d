package command

import (
	"os"

	"golang.org/x/sys/windows"
)

// silence lets a console no longer show what is typed.
func silence(console *os.File) (restore func(), err error) {
	handle := windows.Handle(console.Fd())
	var before uint32
	if err := windows.GetConsoleMode(handle, &before); err != nil {
		return nil, err
	}
	if err := windows.SetConsoleMode(handle, before&^windows.ENABLE_ECHO_INPUT); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(handle, before) }, nil
}
