package oneoff

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
	"windtunnel/traffic/lobby/filetest"
)

// TestAReceiverWithoutFilesSaysSo in a process of its own, whose files are all open.
func TestAReceiverWithoutFilesSaysSo(t *testing.T) {
	if !filetest.Alone(t) {
		return
	}
	config, _ := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 1})
	ask := caller(t, config.Port)
	again := caller(t, config.Port)
	giveBack := filetest.Exhaust(t)
	if got := ask(goodHello); !bytes.Contains(got, []byte("no more files")) {
		t.Errorf("without files one is told %q", got)
	}
	giveBack()
	if got := again(goodHello + "\n" + goodOrder); !bytes.Contains(got, []byte(`"ready"`)) {
		t.Errorf("with files again one is told %q", got)
	}
}

// caller has a socket at once, and connects it to say something, all that the other end says then being returned.
func caller(t *testing.T, port int) func(says string) []byte {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	return func(says string) (heard []byte) {
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 3})
		if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		_, _ = unix.Write(fd, []byte(says+"\n"))
		b := make([]byte, 4096)
		for lines := 0; lines < 2; {
			n, err := unix.Read(fd, b)
			if n <= 0 || err != nil {
				return heard
			}
			heard = append(heard, b[:n]...)
			lines += bytes.Count(b[:n], []byte("\n"))
		}
		return heard
	}
}
