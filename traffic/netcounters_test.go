package traffic

import "testing"

func TestNetCounters(t *testing.T) {
	v := NetTable("Tcp: RtoMin OutSegs RetransSegs\nTcp: -1 17 3\nUdp: InDatagrams\nUdp: 9 10\nTcpExt: A\n")
	if v["Tcp.OutSegs"] != 17 || v["Tcp.RetransSegs"] != 3 || v["Udp.InDatagrams"] != 9 || len(v) != 3 {
		t.Errorf("%v", v)
	}
	if c := NetColumns("Udp6InDatagrams \t 12\nx y z\nbad -1\n"); c["Udp6InDatagrams"] != 12 || len(c) != 1 {
		t.Errorf("%v", c)
	}
}
