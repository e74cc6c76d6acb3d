package core_test

import (
	"testing"

	"windtunnel/vrouter/internal/golden"
)

// TestPlain: ordinary packets are decided by the short way of vr_plain.h, and no others. That it comes to
// what the general way does is TestLibFuzzer's, which decides each frame by both.
func TestPlain(t *testing.T) {
	cases, c := golden.Load(t)
	want := map[string]string{
		"udp into a tunnel": "17", "tcp into a tunnel": "6", "tunnel to the sender": "6", "the label decides, not the address": "17",
		"ip options": "0", "a syn without a size": "0", "ipv6 tcp into a tunnel": "0",
	}
	for i, got := range runHost(t, cases, c, "plain") {
		k := cases[i]
		if forwarded := k.Op == "tunnel" || k.Op == "encap" || k.Op == "decap"; !forwarded && k.At == "fabric" && got != "0" {
			t.Errorf("%s: %s, but it is plain", k.Name, k.Op)
		}
		if protocol, named := want[k.Name]; named && got != protocol {
			t.Errorf("%s: protocol %s, not %s", k.Name, got, protocol)
		}
		delete(want, k.Name)
	}
	for name := range want {
		t.Errorf("no golden frame is called %q", name)
	}
}
