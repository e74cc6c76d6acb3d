package traffic

import (
	"net/netip"
	"testing"
)

func TestMeetingsAreReadAsWritten(t *testing.T) {
	for _, m := range []Meeting{
		{At: netip.MustParseAddrPort("172.16.0.22:20000"), Socket: "/run/x/meet-1"},
		{At: netip.MustParseAddrPort("[fd00::1]:20000"), Socket: "/run/x/carry-1", Carried: true},
	} {
		if got, err := ParseMeeting(m.String()); got != m || err != nil {
			t.Errorf("%s: %+v, %v", m, got, err)
		}
	}
	for _, text := range []string{"", "172.16.0.22:20000", "172.16.0.22:20000@", "172.16.0.22:20000@carried:", "172.16.0.22@/x", "@/x"} {
		if got, err := ParseMeeting(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
