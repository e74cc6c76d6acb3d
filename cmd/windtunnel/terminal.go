package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"windtunnel/report"
	"windtunnel/run"
)

// look is how a report is written to out: in colour only on a terminal, and not
// where NO_COLOR asks for none (no-color.org); as wide as the terminal.
func look(out io.Writer) report.Options {
	if !run.IsTerminal(out) {
		return report.Options{}
	}
	o := report.Options{Color: os.Getenv("NO_COLOR") == ""}
	if size, err := unix.IoctlGetWinsize(int(out.(*os.File).Fd()), unix.TIOCGWINSZ); err == nil {
		o.Width = int(size.Col)
	}
	return o
}
