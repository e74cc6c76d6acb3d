package frame

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// terminal is a pseudoterminal (pty(7)), for a program that paints its words and takes commands from a terminal only.
type terminal struct {
	keys *os.File // where is typed, and read what it paints
	name string   // of its other side
}

// The screen's size: no line that is painted or typed is broken.
const screenRows, screenColumns = 60, 200

// startTerminal is startConsole for such a program. What it says as an error is no part of the screen.
func startTerminal(ctx context.Context, args, environment []string) (*console, *terminal, error) {
	c, err := newConsole(ctx, args, environment)
	if err != nil {
		return nil, nil, err
	}
	t, screen, err := openTerminal()
	if err != nil {
		return nil, nil, err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, t.keys.Close(), screen.Close())
	}
	c.in, c.enter = t.keys, "\r"
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = screen, screen, writer
	if err := c.start(voice{t.keys, screen, painted}, voice{reader, writer, painted}); err != nil {
		return nil, nil, err
	}
	return c, t, nil
}

// openTerminal makes one that takes what is typed as it is, and echoes nothing.
func openTerminal() (t *terminal, screen *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a terminal: %w", err)
	}
	t = &terminal{keys: os.NewFile(uintptr(fd), "/dev/ptmx")}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		t.name = fmt.Sprintf("/dev/pts/%d", number)
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		screen, err = t.open()
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("making a terminal: %w", err), t.keys.Close())
	}
	side := int(screen.Fd())
	settings, err := unix.IoctlGetTermios(side, unix.TCGETS)
	if err == nil {
		settings.Iflag &^= unix.ICRNL
		settings.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
		err = errors.Join(unix.IoctlSetTermios(side, unix.TCSETS, settings),
			unix.IoctlSetWinsize(side, unix.TIOCSWINSZ, &unix.Winsize{Row: screenRows, Col: screenColumns}))
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("setting a terminal up: %w", err), t.keys.Close(), screen.Close())
	}
	return t, screen, nil
}

// open is by the terminal's other end, and not by its name, which is somebody else's once that end is closed
// (TIOCGPTPEER of ioctl_tty(2)).
func (t *terminal) open() (screen *os.File, err error) {
	conn, err := t.keys.SyscallConn()
	if err != nil {
		return nil, err
	}
	closed := conn.Control(func(fd uintptr) {
		side, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.TIOCGPTPEER, uintptr(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC))
		if errno != 0 {
			err = errno
			return
		}
		screen = os.NewFile(side, t.name)
	})
	return screen, errors.Join(closed, err)
}

// hold lets nothing more be painted, so that whoever paints sleeps (TCOOFF of ioctl_tty(2)), as Ctrl-S does for a person.
func (t *terminal) hold() error { return t.flow(unix.TCOOFF) }

// resume ends that.
func (t *terminal) resume() error { return t.flow(unix.TCOON) }

func (t *terminal) flow(action int) error {
	screen, err := t.open()
	if err == nil {
		err = errors.Join(unix.IoctlSetInt(int(screen.Fd()), unix.TCXONC, action), screen.Close())
	}
	if err != nil {
		return fmt.Errorf("holding or resuming what is painted: %w", err)
	}
	return nil
}

// painted splits at ends of lines and where the cursor is sent elsewhere, and leaves out the sequences that send it (ECMA-48,
// 5.4: ESC [, parameters and intermediate bytes from 0x20 to 0x3f, one final byte; DEC's ESC 7 and ESC 8), and what is blank.
func painted(data []byte, atEnd bool) (advance int, token []byte, err error) {
	for advance < len(data) {
		text, length := piece(data[advance:], atEnd)
		if length == 0 {
			return advance, nil, nil // it goes on in what comes next
		}
		advance += length
		if strings.TrimSpace(string(text)) != "" {
			return advance, text, nil
		}
	}
	return advance, nil, nil
}

// piece is the text up to what ends it, and the length of both, 0 if that is not all there.
func piece(data []byte, atEnd bool) (text []byte, length int) {
	end := bytes.IndexAny(data, "\r\n\x1b")
	switch {
	case end < 0 && atEnd:
		return data, len(data)
	case end < 0:
		return nil, 0
	case data[end] != '\x1b':
		return data[:end], end + 1
	}
	length = sequence(data[end:])
	switch {
	case length > 0:
		return data[:end], end + length
	case atEnd:
		return data[:end], len(data)
	}
	return nil, 0
}

// sequence is the length of the one that data begin with, 0 if it is not whole.
func sequence(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	if data[1] != '[' {
		return 2
	}
	for i, b := range data[2:] {
		if b < 0x20 || b > 0x3f {
			return i + 3
		}
	}
	return 0
}
