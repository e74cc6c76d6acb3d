package datagram

import (
	"bytes"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// resting is a connected socket whose messages rest, its sender, and its memory.
func resting(t *testing.T, config Config) (s *socket, q *rest, send func(b []byte), k *intake) {
	t.Helper()
	out, in := ends(t, "udp4", "127.0.0.1")
	t.Cleanup(func() { out.Close() })
	pairUp(in, addressOf(out))
	s = taken(t, in, config)
	k, err := newIntake(config, []*inlet{{socket: s}})
	if err != nil {
		t.Fatal(err)
	}
	q = &k.rest
	q.begin(s, config.Buffer == 0)
	return s, q, func(b []byte) {
		t.Helper()
		if _, err := out.Write(b); err != nil {
			t.Fatal(err)
		}
	}, k
}

// take reads what is there, and returns the messages.
func take(t *testing.T, s *socket, k *intake) (all [][]byte) {
	t.Helper()
	n, errno := k.recvmmsg(uintptr(s.fd), unix.MSG_DONTWAIT|k.rest.flags())
	if errno != 0 {
		return nil
	}
	brought := 0
	for i := range n {
		brought += int(k.headers[i].Length)
		all = append(all, bytes.Clone(k.memory[i*k.size:][:min(int(k.headers[i].Length), k.size)]))
	}
	k.rest.hold(s, n, brought)
	return all
}

// TestWhatRestsIsReadOnce: each message is seen once and in order while many more come than rest, and none is lost or
// seen again when the rest ends; neither one that is empty nor one longer than the memory for it.
func TestWhatRestsIsReadOnce(t *testing.T) {
	s, q, send, k := resting(t, Config{Message: 50000})
	if !q.on {
		t.Skip("skip: needs root, or net.core.rmem_max of 4 MB, for a buffer in which messages can rest")
	}
	message := func(i int) []byte {
		size := 40000
		switch i % 50 {
		case 7:
			size = 8
		case 9:
			size = 60000
		}
		return append(fmt.Appendf(nil, "%08d", i), make([]byte, size-8)...)
	}
	const many = 300
	seen := 0
	look := func() {
		t.Helper()
		for _, b := range take(t, s, k) {
			want := message(seen)
			if want = want[:min(len(want), k.size)]; !bytes.Equal(b, want) {
				t.Fatalf("message %d: %d bytes %.8q instead of %d", seen, len(b), b, len(want))
			}
			seen++
		}
	}
	most := 0
	for i := range many {
		send(message(i))
		if i%3 == 2 {
			look()
		}
		most = max(most, q.bytes)
	}
	if most < restBytes*9/10 || most > restBytes+3*65536 {
		t.Errorf("up to %d bytes rested, wanted are %d", most, restBytes)
	}
	send(message(many)) // not read yet
	q.end(s)
	if q.on || q.messages != 0 || q.bytes != 0 {
		t.Errorf("after the end: %+v", *q)
	}
	look()
	if seen != many+1 {
		t.Errorf("%d of %d messages were seen", seen, many+1)
	}
	if again := take(t, s, k); len(again) != 0 {
		t.Errorf("%d messages were seen again", len(again))
	}
}

// TestAnEmptyMessageRests: the kernel's offset does not pass it by itself.
func TestAnEmptyMessageRests(t *testing.T) {
	s, q, send, k := resting(t, Config{Message: 1400})
	if !q.on {
		t.Skip("skip: needs root, or net.core.rmem_max of 4 MB, for a buffer in which messages can rest")
	}
	for _, b := range [][]byte{[]byte("one"), nil, []byte("two")} {
		send(b)
	}
	if got := take(t, s, k); len(got) != 3 || string(got[0]) != "one" || len(got[1]) != 0 || string(got[2]) != "two" {
		t.Errorf("%q", got)
	}
	if again := take(t, s, k); len(again) != 0 {
		t.Errorf("again %q", again)
	}
}

// TestASmallBufferHasNoRoomToRest: one that was asked for stays as it is.
func TestASmallBufferHasNoRoomToRest(t *testing.T) {
	s, q, send, k := resting(t, Config{Message: 1400, Buffer: 1 << 20})
	if q.on {
		t.Error("messages rest in a buffer of 1 MiB")
	}
	send([]byte("one"))
	if got := take(t, s, k); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestWhenMessagesRest: long ones, to a thread that keeps up.
func TestWhenMessagesRest(t *testing.T) {
	for _, c := range []struct {
		d    doze
		pays bool
	}{
		{doze{came: 1000, bytes: 64400000, calls: 300, full: 10}, true},
		{doze{came: 1000, bytes: 1400000, calls: 300}, false},
		{doze{came: 4800, bytes: 4800 * 64400, calls: 300, full: 300}, false},
	} {
		if got := c.d.pays(); got != c.pays {
			t.Errorf("%+v: %v", c.d, got)
		}
	}
}

// TestRestLeavesRoom whatever memory packets take: that of a short message is many times what it holds.
func TestRestLeavesRoom(t *testing.T) {
	s, q, send, k := resting(t, Config{Message: 100})
	if !q.on {
		t.Skip("skip: needs root, or net.core.rmem_max of 4 MB, for a buffer in which messages can rest")
	}
	const messages = 20_000
	seen := 0
	for range messages {
		send(make([]byte, 100))
		seen += len(take(t, s, k))
	}
	if seen != messages || s.drops() != 0 {
		t.Errorf("%d of %d messages were seen, %d dropped", seen, messages, s.drops())
	}
	q.end(s)
	if room, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF); err != nil || room > 2*floodBuffer {
		t.Errorf("%v: the buffer still has %d bytes", err, room)
	}
}
