package traffic

import (
	"net"
	"net/netip"
	"strconv"
)

// BadZone tells what is wrong with the zone (RFC 4007, section 11) of a link-local IPv6 address (RFC 4291, section 2.5.6): each interface
// has such addresses of its own link, and the system says "invalid argument" where it does not know by which to go. "" of all else.
func BadZone(host string) string {
	a, err := netip.ParseAddr(host)
	if err != nil || !a.Is6() || a.Is4In6() || !a.IsLinkLocalUnicast() && !a.IsLinkLocalMulticast() {
		return ""
	}
	if a.Zone() == "" {
		return host + " is an address of one link: say by which interface, as in " + host + "%eth0"
	}
	if _, err := strconv.Atoi(a.Zone()); err == nil { // an index
		return ""
	}
	if _, err := net.InterfaceByName(a.Zone()); err != nil {
		return "there is no interface " + a.Zone() + " here"
	}
	return ""
}
