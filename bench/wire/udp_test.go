package wire

import "testing"

func TestParseUDP(t *testing.T) {
	c, err := parseUDP("Ip: Forwarding\nIp: 1\nUdp: InDatagrams NoPorts InErrors\nUdp: 42 7 5\nUdpLite: InDatagrams\nUdpLite: 1\n")
	if err != nil || c != (udpCounters{42, 5}) {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, bad := range []string{
		"", "Udp:\nUdp:\n", "Udp: InDatagrams InErrors\n", "Udp: InErrors\nUdp: 1\n", "Udp: InDatagrams InErrors\nUdp: 1\n", "Udp: InDatagrams InErrors\nUdp: x 1\n",
	} {
		if _, err := parseUDP(bad); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}
