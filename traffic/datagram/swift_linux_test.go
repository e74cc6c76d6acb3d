package datagram

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// TestOnlySwiftCallsAreRaw: a thread whose calls take long, or bring nothing, makes calls that the Go runtime knows of.
func TestOnlySwiftCallsAreRaw(t *testing.T) {
	const each = 20 * time.Microsecond
	var s swift
	now := int64(1e9)
	calls := func(n int, took time.Duration) {
		for range n {
			now += took.Nanoseconds()
			s.ended(now)
		}
	}
	expect := func(when string, is bool) {
		t.Helper()
		if s.is != is || s.isRaw(0) != is {
			t.Errorf("%s: swift %v, want %v", when, s.is, is)
		}
		if !s.isRaw(unix.MSG_DONTWAIT) {
			t.Errorf("%s: a call that does not wait is not raw", when)
		}
	}
	expect("at first", false)
	calls(1, each) // which ends the time before the first call
	s.waited(now)
	calls(10, each)
	expect("before a burst's time is over", false)
	calls(int(burstNS/each.Nanoseconds()), each)
	expect("after a burst of short calls", true)
	calls(1, 50*time.Millisecond)
	expect("after a call of 50 ms", false)
	calls(2*int(burstNS/each.Nanoseconds()), each)
	expect("after short calls again", true)
	s.waited(now)
	expect("after one that brought nothing", false)
	calls(50, 2*traffic.SwiftCall)
	expect("of calls that take too long", false)
}

// TestASenderWaitsForRoom: a call that finds the socket full waits for what it sends, as it did not at first.
func TestASenderWaitsForRoom(t *testing.T) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	full := 0
	for ; err == nil; full++ {
		err = unix.Sendto(ends[0], make([]byte, 100), unix.MSG_DONTWAIT, nil)
	}
	if err != unix.EAGAIN || full < 2 {
		t.Fatalf("%d datagrams, then %v", full, err)
	}
	b := newBatch(Config{Message: 100}, []*outflow{{socket: &socket{}}})
	messages := b.layOut(&outflow{}, 0, 1)
	sent := make(chan int)
	go func() {
		n, errno := sendmmsg(uintptr(ends[0]), b.headers[:messages])
		if errno != 0 {
			t.Error(errno)
		}
		sent <- n
	}()
	buffer := make([]byte, 200)
	for range full { // the last of which is the one that waited
		if n, err := unix.Read(ends[1], buffer); n != 100 || err != nil {
			t.Fatal(n, err)
		}
	}
	if n := <-sent; n != 1 {
		t.Errorf("%d messages were sent", n)
	}
}
