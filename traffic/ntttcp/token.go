package ntttcp

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// NTttcp for Windows (ntttcp.c): for each data port a token port above it, and as
// many connections at most, so that the two ranges do not meet.
const (
	tokenOffset    = 1000
	maxWindowsSync = tokenOffset - 1
	token          = 'X'
	portSize       = 4
	maxPort        = 65535
)

// swapTokens is both ends' half of a token connection: send a byte, take a byte.
// The original does not look at what it gets, so neither does this.
func swapTokens(conn net.Conn, until time.Time) error {
	conn.SetDeadline(until)
	if err := giveToken(conn); err != nil {
		return err
	}
	return takeToken(conn)
}

func giveToken(conn net.Conn) error {
	if _, err := conn.Write([]byte{token}); err != nil {
		return fmt.Errorf("sending the token to %s: %w", conn.RemoteAddr(), err)
	}
	return nil
}

func takeToken(conn net.Conn) error {
	var b [1]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return fmt.Errorf("waiting for the token of %s: %w", conn.RemoteAddr(), err)
	}
	return nil
}

// readPort takes a data port from a receiver with -sp: a C long as Windows has
// it, 4 bytes, little-endian.
func readPort(r io.Reader) (int, error) {
	var b [portSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	return decodePort(b)
}

func decodePort(b [portSize]byte) (int, error) {
	port := binary.LittleEndian.Uint32(b[:])
	if port == 0 || port > maxPort {
		return 0, fmt.Errorf("%d is no port; does the receiver run with -sp?", port)
	}
	return int(port), nil
}

func encodePort(port int) [portSize]byte {
	var b [portSize]byte
	binary.LittleEndian.PutUint32(b[:], uint32(port))
	return b
}
