package traffic

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const aloneVariable = "WINDTUNNEL_TEST_LISTENS_ALONE"

// TestAllAddressesAreThoseOfIPv6Too, where 127.0.0.1 is none of them: in a network namespace of its own.
func TestAllAddressesAreThoseOfIPv6Too(t *testing.T) {
	if os.Getenv(aloneVariable) != "" {
		listensOnIPv6(t)
		return
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	again.Env = append(os.Environ(), aloneVariable+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	var said bytes.Buffer
	again.Stdout = &said
	if err := again.Start(); err != nil {
		t.Skip("skip: no namespaces here:", err)
	}
	if err := again.Wait(); err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
}

func listensOnIPv6(t *testing.T) {
	loopbackWithoutIPv4(t)
	if own, err := net.Listen("tcp6", "[::1]:0"); err != nil {
		t.Skip("skip: no IPv6 here:", err)
	} else {
		own.Close()
	}
	listener, err := Listen(t.Context(), net.ListenConfig{}, "tcp", "", "0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket, err := ListenPacket(t.Context(), net.ListenConfig{}, "udp", "", "0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	conn, err := net.Dial("tcp", net.JoinHostPort("::1", port))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if at := socket.LocalAddr().(*net.UDPAddr); at.IP.To4() != nil {
		t.Fatal("UDP is at", at)
	}
}

func loopbackWithoutIPv4(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
	if err := lo.SetInet4Addr(net.IPv4zero.To4()); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFADDR, lo); err != nil {
		t.Fatal(err)
	}
}

// TestWhoCannotListenIsToldWhatWasAskedFor, which may be held of IPv4 alone.
func TestWhoCannotListenIsToldWhatWasAskedFor(t *testing.T) {
	held, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	_, port, _ := net.SplitHostPort(held.Addr().String())
	packets, err := net.ListenPacket("udp4", "0.0.0.0:"+port)
	if err != nil {
		t.Skip("skip: somebody has that port of UDP:", err)
	}
	defer packets.Close()
	if _, err = Listen(t.Context(), net.ListenConfig{}, "tcp", "", port); err == nil || !strings.HasPrefix(err.Error(), "listen tcp :") {
		t.Error(err)
	}
	if _, err = ListenPacket(t.Context(), net.ListenConfig{}, "udp", "", port); err == nil || !strings.HasPrefix(err.Error(), "listen udp :") {
		t.Error(err)
	}
}
