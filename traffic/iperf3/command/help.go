package command

import (
	"fmt"
	"strings"
)

const helpHead = `Usage: windtunnel iperf3 -s [flags]
       windtunnel iperf3 -c HOST [flags]

Speaks iperf3's protocol with iperf3's flags and output, with any iperf3 since 3.1
at the other end.

  windtunnel iperf3 -s                          be a server on port 5201
  windtunnel iperf3 -c 192.0.2.1                10 s of TCP to it
  windtunnel iperf3 -c 192.0.2.1 -R -P 4        4 streams from it
  windtunnel iperf3 -c 192.0.2.1 -u -b 2G       UDP at 2 Gbit/s
  windtunnel iperf3 -c 192.0.2.1 -J > test.json the result for a program

Sizes and counts take K, M, G, T for powers of 1024; rates, of 1000.
`

// help lists the flags by whom they are for.
func help() string {
	var b strings.Builder
	b.WriteString(helpHead)
	for _, part := range []struct {
		title string
		flags []*flag
	}{
		{"Server or client", bothFlags()}, {"Output", outputFlags()}, {"Server", serverFlags()},
		{"Client", clientFlags()}, {"Client's streams", shapeFlags()},
	} {
		fmt.Fprintf(&b, "\n%s:\n", part.title)
		for _, f := range part.flags {
			b.WriteString(helpLine(f))
		}
	}
	b.WriteString("\nNot here:\n")
	for _, f := range refusedFlags() {
		b.WriteString(helpEntry(f, f.refuses))
	}
	return b.String()
}

func helpLine(f *flag) string {
	return helpEntry(f, f.says)
}

const (
	helpColumn = 34 // where what a flag does begins
	helpWidth  = 100
)

func helpEntry(f *flag, says string) string {
	short := "    "
	if f.short != 0 {
		short = "-" + string(f.short) + ", "
	}
	value := ""
	switch {
	case f.optional:
		value = "[=" + f.takes + "]"
	case f.takes != "":
		value = " " + f.takes
	}
	line := "  " + short + "--" + f.long + value
	for _, piece := range wrapped(says, helpWidth-helpColumn) {
		if len(line) > helpColumn-2 {
			line += "\n"
		}
		at := len(line) - strings.LastIndexByte(line, '\n') - 1
		line += strings.Repeat(" ", max(helpColumn-at, 0)) + piece
	}
	return line + "\n"
}

func wrapped(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
