package agent

import (
	"strings"
	"testing"

	"windtunnel/result"
)

// TestLoadsThatDoNotFit are refused before anything is made, by their generator's or
// their kind's own word.
func TestLoadsThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		kind string
		load result.Options
		says string // "": it fits
	}{
		{"stream", result.Options{"streams": int64(4), "threads": int64(4)}, ""},
		{"stream", result.Options{"streams": int64(1), "threads": int64(4)}, "4 threads for 1 streams"},
		{"datagram", result.Options{"flows": int64(1), "threads": int64(2)}, "2 threads for 1 flows"},
		{"frame", result.Options{"flows": int64(1), "threads": int64(2)}, "2 threads for 1 flows"},
		{"ping", result.Options{"depth": int64(4), "rate": 100.0}, "depth is of a closed loop"},
		{"stream", result.Options{"generator": "iperf3", "streams": int64(2)}, ""},
		{"nosuch", result.Options{}, ""},
	} {
		err := CheckLoad(c.kind, c.load)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %v: %v, want %q", c.kind, c.load, err, c.says)
		}
	}
}
