package lobby

import (
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic/lobby/filetest"
)

// TestWithoutFiles runs a doorman in a process of its own, whose files are all open: who comes is told, and who comes when there are
// files again is let in.
func TestWithoutFiles(t *testing.T) {
	if !filetest.Alone(t) {
		return
	}
	socket, err := Listen(t.Context(), "127.0.0.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDoorman(socket, 4, 5*time.Second)
	say := func(word string) func([]byte, net.Conn) {
		return func(hello []byte, conn net.Conn) { _, _ = io.WriteString(conn, word+string(hello)); conn.Close() }
	}
	d.Open(1, say("in"), say("no"))
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	giveBack := filetest.Exhaust(t)
	meet := func(fd int) string {
		if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: d.Address().(*net.TCPAddr).Port}); err != nil {
			t.Fatal(err)
		}
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})
		_, _ = unix.Write(fd, []byte("!"))
		b := make([]byte, 8)
		n, err := unix.Read(fd, b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	if got := meet(client); got != "no!" {
		t.Errorf("without files one is told %q", got)
	}
	unix.Close(client)
	giveBack()
	again, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := meet(again); got != "in!" {
		t.Errorf("with files again one is told %q", got)
	}
	d.Shut()
	d.Wait()
}

// TestTheSpareIsKeptWhileNobodyComes: accept(2) fails for want of a file where nobody waits, too, and then anybody could have the spare's.
func TestTheSpareIsKeptWhileNobodyComes(t *testing.T) {
	if !filetest.Alone(t) {
		return
	}
	socket, err := Listen(t.Context(), "127.0.0.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSpare()
	defer filetest.Exhaust(t)()
	socket.SetDeadline(time.Now().Add(2 * time.Second))
	if _, _, err := s.Accept(socket); !NoFiles(err) {
		t.Errorf("it waits for somebody without a file: %v", err)
	}
	if fd, err := unix.Dup(1); err == nil {
		t.Errorf("the spare's place is free: file %d", fd)
	}
}
