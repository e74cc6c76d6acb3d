package datagram

import (
	"testing"
	"time"
)

// TestAClosedPortAloneEndsNothing: a translator of addresses may have given the sender another port, at which the receiver hears nobody until
// it has missed it. That the receiver has ended is the control connection's to say.
func TestAClosedPortAloneEndsNothing(t *testing.T) {
	t.Parallel()
	send, s := senderToAFake(t)
	closeConns(s.conns)
	when := soon()
	time.AfterFunc(time.Until(when.Start)+when.WarmUp+when.Window+tailMost, func() { s.tell(noteDone, nil) })
	end, err := send.Run(t.Context(), when)
	if err != nil || end.Error != "" || end.Packets == 0 {
		t.Errorf("%d left, %v, %s", end.Packets, err, end.Error)
	}
	if end.WindowSeconds < when.Window.Seconds()/2 {
		t.Errorf("the window ended after %g s", end.WindowSeconds)
	}
}

// TestAPortThatStaysClosedEndsAFlow, and one of which that was said now and then does not.
func TestAPortThatStaysClosedEndsAFlow(t *testing.T) {
	s := &sender{batch: &batch{gone: true}, config: Config{GonePatience: goneMost}}
	for name, every := range map[string]time.Duration{"each second": time.Second, "now and then": 2 * goneLately} {
		f, ended := &outflow{}, time.Duration(0)
		for at := time.Second; at < 10*time.Second && ended == 0; at += every {
			if s.goneEnds(f, at.Nanoseconds()) != nil {
				ended = at
			}
		}
		if want := map[bool]time.Duration{true: time.Second + goneMost}[every < goneLately]; ended != want {
			t.Errorf("%s: it ended after %s, want %s", name, ended, want)
		}
	}
	forever := &sender{batch: &batch{gone: true}, config: Config{GoesOn: true}}
	if f := (&outflow{gone: gone{since: 1, last: 1e9}}); forever.goneEnds(f, 2e9) != nil || !f.gone.is(3e9) {
		t.Error("one that goes on for good has ended, or has heard nothing")
	}
}
