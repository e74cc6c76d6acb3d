package main

import (
	"strings"
	"testing"
)

// TestNoBytesAreNoBound: a receiver that lets nobody send is not one that lets everybody send without a bound.
func TestNoBytesAreNoBound(t *testing.T) {
	flags := recvFlags{port: 5210, maxTime: "10s"}
	for asked, want := range map[string]uint64{"": 0, "1kB": 1000} {
		flags.maxBytes = asked
		if config, err := flags.config(); err != nil || config.Server.MaxBytes != want {
			t.Errorf("%q: %d bytes, %v", asked, config.Server.MaxBytes, err)
		}
	}
	flags.maxBytes = "0B"
	if _, err := flags.config(); err == nil || !strings.Contains(err.Error(), "leave it away for no bound") {
		t.Errorf("%v", err)
	}
}
