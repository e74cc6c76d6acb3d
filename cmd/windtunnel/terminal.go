package main

import (
	"io"
	"os"

	"windtunnel/report"
)

// look is how a report is written to out: in colour only on a terminal, and not
// where NO_COLOR asks for none (no-color.org); as wide as the terminal.
func look(out io.Writer) report.Options {
	columns, terminal := terminalColumns(out)
	if !terminal {
		return report.Options{}
	}
	return report.Options{Color: os.Getenv("NO_COLOR") == "", Width: columns}
}

// isTerminal reports whether a person looks at out.
func isTerminal(out io.Writer) bool {
	_, terminal := terminalColumns(out)
	return terminal
}

// terminalColumns is how wide the terminal is, 0 where it does not say, and
// whether out is one.
func terminalColumns(out io.Writer) (columns int, terminal bool) {
	file, ok := out.(*os.File)
	if !ok {
		return 0, false
	}
	return columnsOf(file)
}
