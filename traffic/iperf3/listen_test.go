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
