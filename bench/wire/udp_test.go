package wire

import "testing"

func TestParseUDP(t *testing.T) {
	n, err := parseUDP("Ip: Forwarding\nIp: 1\nUdp: InDatagrams NoPorts\nUdp: 42 7\nUdpLite: InDatagrams\nUdpLite: 1\n")
	if err != nil || n != 42 {
		t.Errorf("got %d, %v", n, err)
	}
	for _, bad := range []string{"", "Udp: InDatagrams\n", "Udp: NoPorts\nUdp: 1\n", "Udp: InDatagrams\nUdp: x\n"} {
		if _, err := parseUDP(bad); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}
