package traffic

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCutBuffersAreRefused(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const size = 50_000
	if err := SetBuffers(fd, size, size); err != nil {
		t.Fatal(err)
	}
	if err := CheckBuffers(fd, size, size); err != nil {
		t.Error(err)
	}
	if err := CheckBuffers(fd, 0, 0); err != nil {
		t.Error(err)
	}
	if err := CheckBuffers(fd, size+1, 0); err == nil || !strings.Contains(err.Error(), "raise net.core.wmem_max") {
		t.Errorf("a send buffer that is smaller: %v", err)
	}
	if err := CheckBuffers(fd, 0, size+1); err == nil || !strings.Contains(err.Error(), "of a receive buffer of 50001 bytes the system gives 50000") {
		t.Errorf("a receive buffer that is smaller: %v", err)
	}
}

// TestTheLargestBufferCanBeHad: of 1 GiB, which loads may ask for, the kernel gives a byte less, whoever asks.
func TestTheLargestBufferCanBeHad(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const size = 1 << 30
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, size) != nil {
		t.Skip("only root has it")
	}
	if err := CheckBuffers(fd, size, 0); err != nil {
		t.Error(err)
	}
}
