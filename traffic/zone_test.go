package traffic

import (
	"net"
	"strings"
	"testing"
)

func TestBadZone(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil || len(all) == 0 {
		t.Fatal("this host has no interface: ", err)
	}
	for host, want := range map[string]string{
		"fe80::1": "as in fe80::1%eth0", "FE80::aa:1": "by which interface", "ff02::1": "by which interface", "fe80::1%nosuch": "no interface nosuch",
		"": "", "host": "", "::1": "", "2001:db8::1": "", "169.254.0.1": "", "::ffff:169.254.0.1": "", "ff0e::1": "", "fe80::1%1": "", "fe80::1%" + all[0].Name: "",
	} {
		if says := BadZone(host); !strings.Contains(says, want) || (want == "") != (says == "") {
			t.Errorf("%q: got %q, want %q", host, says, want)
		}
	}
}
