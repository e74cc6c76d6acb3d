package iperf3

import (
	"strings"
	"testing"
	"time"
)

// TestWhatOnlyLinuxHasIsRefusedByItsNumber: a client of iperf3's hears from a server on another system which option it was, and not
// of "an unknown control message".
func TestWhatOnlyLinuxHasIsRefusedByItsNumber(t *testing.T) {
	for number, o := range map[int]socketOptions{
		ErrorBindDevice:     {device: "eth0"},
		ErrorSetMSS:         {mss: 1400},
		ErrorSetCongestion:  {congestion: "reno"},
		ErrorSetTOS:         {tos: 32, datagrams: true},
		ErrorSetPacing:      {fqRate: 1e6},
		ErrorSetUserTimeout: {userTimeout: time.Second},
		ErrorDontFragment:   {dontFragment: true, datagrams: true},
		0:                   {mss: 1400, congestion: "reno", userTimeout: time.Second, datagrams: true, window: 1, reuse: true},
	} {
		err := o.onlyOnLinux("windows")
		if NumberOf(err) != number || (err != nil) != (number != 0) || err != nil && !strings.HasSuffix(err.Error(), "cannot be set on windows here: leave the option out") {
			t.Errorf("%+v: error %d, %v; want %d", o, NumberOf(err), err, number)
		}
	}
}
