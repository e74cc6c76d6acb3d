package main

import (
	"io"
	"os"

	"windtunnel/oneoff"
	"windtunnel/report"
)

// look is how a report is written to out: in colour only on a terminal; as wide as that.
func look(out io.Writer) report.Options {
	columns, terminal := terminalColumns(out)
	if !terminal {
		return report.Options{}
	}
	return report.Options{Color: colored(), Width: columns}
}

// screen is how a measurement is shown while it goes on.
func screen(out io.Writer) oneoff.Screen {
	terminal := isTerminal(out)
	return oneoff.Screen{Terminal: terminal, Color: terminal && colored()}
}

// colored tells whether a terminal is to have escapes: not where NO_COLOR asks for none (no-color.org), nor one that knows none (terminfo's "dumb").
func colored() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

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
