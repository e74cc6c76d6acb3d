package iperf3

import (
	"strings"
	"testing"
)

// TestAnAddressOfAnotherHostIsNoTakenPort: 192.0.2.1 is nobody's (RFC 5737).
func TestAnAddressOfAnotherHostIsNoTakenPort(t *testing.T) {
	err := Serve(t.Context(), ServerOptions{Host: "192.0.2.1", Port: -1}, nil)
	if err == nil || !strings.Contains(err.Error(), "is 192.0.2.1 an address of this host?") || strings.Contains(err.Error(), "port if") {
		t.Errorf("%v", err)
	}
}

// TestANameOrFamilyThatIsWrongIsNoTakenPort: "no name" is one that nobody is asked for, as it has a space.
func TestANameOrFamilyThatIsWrongIsNoTakenPort(t *testing.T) {
	for says, o := range map[string]ServerOptions{
		"is no name its name?": {Host: "no name", Port: -1},
		"127.0.0.1 has none of the family that -4 or -6 asks for": {Host: "127.0.0.1", Family: 6, Port: -1},
		"fe80::1%": {Host: "fe80::1", Port: -1},
	} {
		if err := Serve(t.Context(), o, nil); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "port if") {
			t.Errorf("%v", err)
		}
	}
}
