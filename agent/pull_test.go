//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"windtunnel/testbed"
)

// A pulled cable is plugged in again whatever becomes of the trial, and the times are those at which it was.
func TestCablesComeBack(t *testing.T) {
	for _, cut := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var did []bool
		c := cable{"wire", "nic0", testbed.Pull{From: 0.25, To: 0.75}, func(down bool) error {
			did = append(did, down)
			if cut {
				cancel()
			}
			return nil
		}}
		p := pullAll(ctx, []cable{c}, time.Now(), 200*time.Millisecond)
		if fmt.Sprint(did) != "[true false]" || p.err != nil || len(p.all) != 1 {
			t.Fatalf("cut %v: %v, %+v", cut, did, p)
		}
		if one := p.all[0]; one.From < 0.05 || one.Device != "nic0" || !cut && one.To < 0.15 || cut && one.To < one.From {
			t.Errorf("cut %v: %+v", cut, one)
		}
	}
}

func TestCableThatCannotBePulled(t *testing.T) {
	no := errors.New("no such device")
	p := pullAll(t.Context(), []cable{{at: testbed.Pull{To: 0.1}, set: func(bool) error { return no }}}, time.Now(), time.Millisecond)
	if !errors.Is(p.err, no) {
		t.Error(p.err)
	}
}
