package offload

import (
	"net/netip"
	"strings"
	"testing"

	"windtunnel/vrouter/core"
)

func TestParseFlow(t *testing.T) {
	want := Flow{Port: "a", Protocol: core.ProtocolUDP, Source: netip.MustParseAddr("fd00::3"), From: 40, Destination: netip.MustParseAddr("fd00::4"), To: 53}
	if got, err := ParseFlow("a,udp,[fd00::3]:40,[fd00::4]:53"); err != nil || got != want {
		t.Errorf("%+v: %v", got, err)
	}
	if got, err := ParseFlow("a,icmp,10.0.1.3,10.0.1.4"); err != nil || got.Protocol != core.ProtocolICMP {
		t.Errorf("%+v: %v", got, err)
	}
	for text, why := range map[string]string{
		"a,tcp,10.0.1.3:1":             "with commas between",
		"a,sctp,10.0.1.3:1,10.0.1.4:1": "tcp, udp or icmp",
		"a,tcp,10.0.1.3,10.0.1.4:1":    "no flow such as",
		"a,tcp,10.0.1.3:1,10.0.1.4":    "no flow such as",
		"a,tcp,10.0.1.3:1,[fd00::4]:1": "different families",
		"a,icmp,10.0.1.3:1,10.0.1.4":   "no flow such as",
	} {
		if _, err := ParseFlow(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
