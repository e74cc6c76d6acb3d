package oneoff

import (
	"errors"
	"slices"
	"testing"
	"time"

	"windtunnel/result"
)

// TestStolenWhileAWindowIsOpen: what was taken before does not count, and what was not told is not known.
func TestStolenWhileAWindowIsOpen(t *testing.T) {
	reads := make(chan struct{}, 2)
	told := [][]time.Duration{{time.Hour, time.Second}, {time.Hour + 300*time.Millisecond, time.Second + 200*time.Millisecond}}
	fail := error(nil)
	read := func() ([]time.Duration, error) {
		now := told[0]
		told = slices.Concat(told[1:], told[:1])
		reads <- struct{}{}
		return now, fail
	}
	w := watchStolenBy(read, time.Now(), time.Millisecond)
	<-reads
	for len(w.opened) == 0 {
		time.Sleep(time.Millisecond) // it was read, and is about to be put there
	}
	if got := w.end(); got == nil || *got != (result.Stolen{CPU: 0, Share: 1}) {
		t.Errorf("of a millisecond: %+v", got)
	}
	if got := mostStolen([]time.Duration{0, 0}, []time.Duration{0, 50 * time.Millisecond}, 500*time.Millisecond); got == nil || *got != (result.Stolen{CPU: 1, Share: 0.1}) {
		t.Errorf("of half a second: %+v", got)
	}
	if got := watchStolenBy(read, time.Now().Add(time.Hour), time.Second).end(); got != nil {
		t.Errorf("of a window that never opened: %+v", got)
	}
	fail = errors.New("no such file")
	<-reads // the one of end
	w = watchStolenBy(read, time.Now(), time.Second)
	<-reads
	if got := w.end(); got != nil {
		t.Errorf("of a host that does not tell: %+v", got)
	}
}

// TestTheWorseOfTwoHostsIsNamed: a little that was taken of the one does not hide how much more was of the other.
func TestTheWorseOfTwoHostsIsNamed(t *testing.T) {
	end := func(share float64) result.PairEnd {
		return result.PairEnd{WindowSeconds: 1, Stolen: &result.Stolen{CPU: 2, Share: share}}
	}
	for _, c := range []struct {
		sender, receiver float64
		want             string
	}{
		{0.08, 0.33, "33 % of the receiver's CPU 2 was stolen by the hypervisor"},
		{0.33, 0.08, "33 % of this host's CPU 2 was stolen by the hypervisor"},
		{0.001, 0.33, "33 % of the receiver's CPU 2 was stolen by the hypervisor"},
		{0.001, 0.002, ""},
	} {
		if got := spoiled(result.PairSample{Sender: end(c.sender), Receiver: end(c.receiver)}); got != c.want {
			t.Errorf("of %g and %g: %q, not %q", c.sender, c.receiver, got, c.want)
		}
	}
}
