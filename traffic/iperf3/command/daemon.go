package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// daemonFlags is what a daemon's parent gives it: the descriptor on which it
// waits to hear that the daemon listens. A Go program cannot fork; so -D starts
// the program again, without a terminal, and ends when that one listens.
func daemonFlags() []*flag {
	return []*flag{{long: "daemon-tells", takes: "DESCRIPTOR", role: ofServer,
		set: func(s *settings, v string) error { s.told = v; return nil }}}
}

const listening = "listening"

// tellParent passes on that the daemon listens, or why it does not.
func tellParent(descriptor, text string) {
	number, err := strconv.Atoi(descriptor)
	if err != nil {
		return
	}
	pipe := os.NewFile(uintptr(number), "parent")
	if pipe == nil {
		return
	}
	_, _ = io.WriteString(pipe, text) // a parent that did not wait does not care
	_ = pipe.Close()
}

// hearDaemon waits for what a daemon says when it has started.
func hearDaemon(from io.Reader) error {
	const longest = 4096
	said, err := io.ReadAll(io.LimitReader(from, longest))
	switch text := strings.TrimSpace(string(said)); {
	case text == listening:
		return nil
	case text != "":
		return errors.New(text)
	case err != nil:
		return fmt.Errorf("waiting for the daemon: %w", err)
	}
	return errors.New("the daemon ended before it listened: start it without -D to see why")
}
