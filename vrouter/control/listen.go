package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Listen makes the socket, for its owner only. A file there that nobody listens at is what a killed
// vRouter left.
func Listen(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("%s is there and no socket; name another, or remove it", path)
		}
		if err := removeLeft(path); err != nil {
			return nil, err
		}
	}
	old := unix.Umask(0o177)
	listener, err := net.Listen("unix", path)
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("making the socket %s: %w", path, err)
	}
	return listener, nil
}

// removeLeft removes a socket that nobody listens at, which is what ECONNREFUSED says and nothing else
// does: one who is busy, for example, gives EAGAIN (unix_stream_connect in net/unix/af_unix.c).
func removeLeft(path string) error {
	conn, err := net.DialTimeout("unix", path, requestTime)
	switch {
	case err == nil:
		conn.Close()
		return fmt.Errorf("somebody serves %s already; name another socket", path)
	case !errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("finding out whether somebody serves %s: %w; name another socket, or remove it", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing the socket that an earlier vRouter left: %w", err)
	}
	return nil
}

// acceptAgain is how long to wait for what a client needs to be taken in.
const acceptAgain = 50 * time.Millisecond

// accept takes a client in. That one has gone, or that there is no room for its file descriptor now, is
// no fault of the socket (accept(2)): the next one may fare better.
func accept(ctx context.Context, listener net.Listener) (net.Conn, error) {
	for {
		conn, err := listener.Accept()
		switch {
		case errors.Is(err, unix.ECONNABORTED):
			continue
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
		default:
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(acceptAgain):
		}
	}
}
