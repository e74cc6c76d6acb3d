package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// columnsOf asks for the screen buffer, which only a console has.
func columnsOf(file *os.File) (columns int, terminal bool) {
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(windows.Handle(file.Fd()), &info); err != nil {
		return 0, false
	}
	return int(info.Window.Right-info.Window.Left) + 1, true
}
