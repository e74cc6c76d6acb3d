package stream

import (
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// zeroCopied is a sender's socket by which one call without a copy has left, all of whose completions wait to be read.
func zeroCopied(t *testing.T) *flow {
	t.Helper()
	near, far := connected(t, 1)
	f, err := takeOver(Flow{near[0], traffic.Send}, Config{Copy: CopyZero})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.close(); far[0].Close() })
	if err := unix.Sendto(int(f.fd), []byte("x"), unix.MSG_ZEROCOPY, nil); err != nil {
		t.Fatal(err)
	}
	f.zero.open = 1
	if _, err := io.ReadFull(far[0], make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	ready := []unix.PollFd{{Fd: int32(f.fd)}}
	if n, err := unix.Poll(ready, 10_000); n != 1 {
		t.Fatalf("no completion has come: %v", err)
	}
	return f
}

// TestCompletionsMakeRoom: that the last of them has been read is no sign that the kernel allows no call at all.
func TestCompletionsMakeRoom(t *testing.T) {
	f := zeroCopied(t)
	if err := f.zero.settle(f.fd, true); err != nil || f.zero.open != 0 {
		t.Errorf("%v with %d calls left", err, f.zero.open)
	}
	for _, word := range []string{"ulimit -l", "net.core.optmem_max", "messages", "streams"} {
		if err := f.zero.settle(f.fd, true); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("the kernel takes no call though none is left: %v, want a word of %q", err, word)
		}
	}
}
