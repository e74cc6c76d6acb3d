package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"windtunnel/result"
)

// The tools that --as names.
const (
	asWindows = "windows"
	asLinux   = "linux"
)

// line is a command line read as one tool's.
type line struct {
	windows *windowsFlags // or
	linux   *linuxFlags
}

// errHelp asks for the help.
var errHelp = errors.New("help")

// read takes --as out of a command line and reads the rest as that tool's, or as
// the one that would take it.
func read(args []string) (line, error) {
	as, rest, err := takeAs(args)
	if err != nil {
		return line{}, err
	}
	if len(rest) == 0 || slices.Contains(rest, "--help") {
		return line{}, errHelp
	}
	switch as {
	case asWindows:
		w, err := parseWindows(rest)
		return line{windows: w}, err
	case asLinux:
		l, err := parseLinux(rest)
		if err == nil && l.usage {
			err = errHelp
		}
		return line{linux: l}, err
	}
	return infer(rest)
}

// takeAs finds --as TOOL or --as=TOOL.
func takeAs(args []string) (as string, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		value, joined := strings.CutPrefix(args[i], "--as=")
		switch {
		case args[i] == "--as" && i+1 < len(args):
			i++
			value = args[i]
		case args[i] == "--as":
			return "", nil, fmt.Errorf("--as needs a value: windows or linux")
		case !joined:
			rest = append(rest, args[i])
			continue
		}
		if value != asWindows && value != asLinux {
			return "", nil, fmt.Errorf("--as %s: it is windows or linux%s", value, nearestTool(value))
		}
		as = value
	}
	return as, rest, nil
}

func nearestTool(word string) string {
	if near, ok := result.Nearest(word, []string{asWindows, asLinux}); ok {
		return "; the nearest is " + near
	}
	return ""
}

// infer reads a command line as both tools' and takes the one that can. What both
// can would be two different tests, so it is refused with both readings.
func infer(args []string) (line, error) {
	w, notWindows := parseWindows(args)
	l, notLinux := parseLinux(args)
	if name, found := windowsWord(args); found {
		notLinux = fmt.Errorf("%s is a flag of NTttcp for Windows", name)
	}
	switch {
	case notWindows == nil && notLinux == nil:
		return line{}, ambiguous(args, w, l)
	case notWindows == nil:
		return line{windows: w}, nil
	case notLinux == nil && l.usage:
		return line{}, errHelp
	case notLinux == nil:
		return line{linux: l}, nil
	}
	return line{}, fmt.Errorf("neither tool takes this command line:\n  as NTttcp for Windows (--as windows): %w\n  as ntttcp-for-linux (--as linux):     %w", notWindows, notLinux)
}

// windowsWord finds a flag of several letters that only Windows' tool has, though
// getopt could take it for letters of the other: -xml for -x with the file "ml".
func windowsWord(args []string) (string, bool) {
	flags := newWindowsFlags().table()
	for _, arg := range args {
		if f, ok := find(flags, arg); ok && len(f.name) > len("-x") {
			return f.name, true
		}
	}
	return "", false
}

// ambiguous spells both readings out.
func ambiguous(args []string, w *windowsFlags, l *linuxFlags) error {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s` is a command line of both tools, and they mean other things by it:\n", strings.Join(args, " "))
	fmt.Fprintf(&b, "  --as windows: %s\n", w.says())
	fmt.Fprintf(&b, "  --as linux:   %s\n", l.says())
	b.WriteString("add --as windows or --as linux; the other end must be the same tool")
	return errors.New(b.String())
}

// says is what the command line comes to as NTttcp for Windows.
func (w *windowsFlags) says() string {
	end, where := "receive", "on"
	if w.send {
		end, where = "send", "to"
	}
	var hosts []string
	for _, m := range w.mappings {
		hosts = append(hosts, fmt.Sprintf("%s by %s", m.host, plural(m.threads, "thread")))
	}
	s := fmt.Sprintf("%s %s %s from port %d on, buffers of %d bytes", end, where, strings.Join(hosts, ", "), w.port, w.bufferLength())
	if w.async {
		s += fmt.Sprintf(", %d outstanding", w.outstanding)
	}
	if w.runSeconds > 0 {
		s += fmt.Sprintf(", for %d s", w.runSeconds)
	} else {
		s += fmt.Sprintf(", %d of them for each thread", w.bufferCount())
	}
	if w.noSync {
		return s + ", without token connections"
	}
	return s + ", started by token connections 1000 ports above"
}

// says is what the command line comes to as ntttcp-for-linux.
func (l *linuxFlags) says() string {
	s := "receive on " + plural(l.ports, "port")
	if l.send {
		s = fmt.Sprintf("send to %s, %s with %s of %s", l.host, plural(l.ports, "port"), plural(l.threads, "thread"), plural(l.conns, "connection"))
	}
	s += fmt.Sprintf(" from port %d on, buffers of %d bytes, for %d s", l.port, l.messageLength(), l.run)
	if l.local != "" {
		s += ", from the address " + l.local
	}
	if l.noSync {
		return s + ", without sync"
	}
	return s + fmt.Sprintf(", started by the sync connection to port %d", l.port-1)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
