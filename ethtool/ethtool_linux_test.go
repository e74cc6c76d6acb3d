package ethtool

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func opened(t *testing.T) *Socket {
	t.Helper()
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// deep asks from so many calls below: a stack that grows meanwhile moves what is on it.
func deep(calls int, ask func()) {
	var frame [64]byte
	if calls > 0 {
		deep(calls-1, ask)
		frame[calls%len(frame)]++
		return
	}
	ask()
}

// TestStacksThatMove: whatever part of a call makes a stack grow, the kernel reads and writes what was asked.
func TestStacksThatMove(t *testing.T) {
	s := opened(t)
	want, err := s.Features("lo")
	if err != nil || !want["loopback"] || len(want) < 30 {
		t.Fatalf("lo: %v %v", want, err)
	}
	for calls := range 200 {
		done := make(chan struct{})
		go func() { // a stack of its own, as small as they begin
			defer close(done)
			deep(calls, func() {
				if have, err := s.Features("lo"); err != nil || !maps.Equal(have, want) {
					t.Errorf("%d calls below: %v, %d features", calls, err, len(have))
				}
			})
		}()
		<-done
	}
}

func TestWhatADeviceDoesNotSay(t *testing.T) {
	s := opened(t)
	if c, err := s.Channels("lo"); err == nil {
		t.Errorf("lo has channels: %+v", c)
	}
	for what, ask := range map[string]func() error{
		"channels are set":  func() error { return s.SetChannels("lo", Channels{Combined: 1}) },
		"table":             func() error { _, err := s.Indirection("lo"); return err },
		"table is set":      func() error { return s.SetIndirection("lo", []uint32{0, 0}) },
		"rules":             func() error { _, err := s.Rules("lo"); return err },
		"rule's queue":      func() error { _, err := s.RuleQueue("lo", 0); return err },
		"rule is added":     func() error { return s.AddRule("lo", Rule{MAC: make([]byte, 6)}, 0) },
		"rule is taken off": func() error { return s.DropRule("lo", 0) },
	} {
		if err := ask(); !errors.Is(err, unix.EOPNOTSUPP) && !(os.Geteuid() != 0 && errors.Is(err, unix.EPERM)) {
			t.Errorf("lo's %s: %v", what, err)
		}
	}
	if counters, err := s.Stats("lo"); len(counters) > 0 {
		t.Errorf("lo's driver counts: %v %v", counters, err)
	}
	for _, name := range []string{"", strings.Repeat("x", 16)} {
		if _, err := s.Features(name); err == nil || !strings.Contains(err.Error(), "cannot be an interface") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := s.Features("no-such-device"); err == nil {
		t.Error("a device that does not exist has features")
	}
	if err := s.Change("lo", map[string]bool{"no-such-feature": true}); err == nil || !strings.Contains(err.Error(), "no-such-feature") {
		t.Errorf("changing a feature that does not exist: %v", err)
	}
}
