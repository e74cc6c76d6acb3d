package command

import (
	"io"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPacketsThatCameAreNoAggregates: what comes in segments of 1000 bytes is joined on its way up the stack.
func TestPacketsThatCameAreNoAggregates(t *testing.T) {
	const segment, bytes = 1000, 20e6
	for address, v6 := range map[string]bool{"127.0.0.1:0": false, "[::1]:0": true} {
		cut := func(_, _ string, raw syscall.RawConn) error {
			return raw.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, segment) })
		}
		config := net.ListenConfig{Control: cut}
		l, err := config.Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Skipf("skip: %v", err)
		}
		before := readCounters(watched{v6: v6})
		go func() {
			defer l.Close()
			if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
				conn.Write(make([]byte, bytes))
				conn.Close()
			}
		}()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Error(err)
		}
		conn.Close()
		after := readCounters(watched{v6: v6})
		if got := after.since(before).tcp.received; got < bytes/segment && len(after.missing) == 0 {
			t.Errorf("%s: %d packets came, want at least %d", address, got, int(bytes/segment))
		}
	}
}
