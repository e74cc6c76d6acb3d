package poll

import (
	"encoding/hex"
	"testing"

	"windtunnel/vrouter/internal/golden"
)

// TestAccountsOfTheLastFrame: the accounts agree right after a frame has come out, whose core writes them down when it
// has sent it.
func TestAccountsOfTheLastFrame(t *testing.T) {
	cases, c := golden.Load(t)
	b := newBed(t, c)
	for _, k := range cases {
		if k.At == "fabric" || want(k) != "forwarded" || k.GSO != 0 || len(k.Copies) != 0 {
			continue
		}
		in, err := hex.DecodeString(k.In)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			b.send[k.At](in)
			b.received(t)
			b.vifsAddUp(t)
		}
		return
	}
	t.Fatal("no case of what a vif sends")
}
