package command

import (
	"strings"
	"testing"
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/ntttcp"
)

// The command lines of the document "Contrail Windows Performance Testing".
var published = []string{
	"-s -m 1,*,172.16.0.12 -l 128k -t 15",
	"-r -m 1,*,172.16.0.12 -rb 2M -t 15",
	"-s -m 1,*,172.16.0.22 -l 128k -a 2 -t 15",
	"-r -m 1,*,172.16.0.22 -rb 2M -a 16 -t 15",
	"-s -m 1,*,172.16.0.22 -l 1390 -t 15 -ndl",
	"-r -m 1,*,172.16.0.22 -rb 2M -t 15 -ndl",
}

func TestPublishedCommandLines(t *testing.T) {
	for _, text := range published {
		got, err := read(strings.Fields(text))
		if err != nil || got.windows == nil {
			t.Errorf("%s: %+v, %v", text, got, err)
			continue
		}
		test := got.windows.test()
		want := ntttcp.Test{
			Role: traffic.Receive, Sync: ntttcp.SyncWindows, Exact: true, Message: 64 << 10,
			SendBuffer: -1, ReceiveBuffer: 2 << 20, Run: 15 * time.Second, Wait: 10 * time.Minute,
			NoDelay: strings.Contains(text, "-ndl"),
		}
		if strings.HasPrefix(text, "-s") {
			want.Role, want.ReceiveBuffer, want.Message = traffic.Send, -1, 128<<10
		}
		if strings.Contains(text, "1390") {
			want.Message = 1390
		}
		if strings.Contains(text, "-a 2") {
			want.SendBuffer = 2 * 128 << 10
		}
		host := strings.Split(strings.Fields(text)[2], ",")[2]
		want.Threads = []ntttcp.Thread{{Host: host, Port: 5001, CPU: -1, Connections: 1}}
		equal(t, text, test, want)
	}
}

func TestToolFollowsFromFlags(t *testing.T) {
	for text, want := range map[string]string{
		"-r":           asLinux,
		"-s 192.0.2.1": asLinux,
		"-s192.0.2.1":  asLinux,
		"-s 192.0.2.1 -P 64 -n 16 -l 10 -f25001 -V": asLinux,
		"-r -m 8,0,192.0.2.1 --show-tcp-retrans":    asLinux,
		"-s -m 8,*,192.0.2.1 -n 16 -W 1":            asLinux,
		"-s -m 8,*,192.0.2.1 -N -t 10":              asLinux,
		"-s -m 8,*,192.0.2.1 -a 192.0.2.2":          asLinux,
		"-s -m 1,*,192.0.2.1 -x out.xml":            asLinux,
		"-s -m 4,0,192.0.2.1 2,*,192.0.2.2 -t 5":    asWindows,
		"-s -m 1,*,192.0.2.1 -l 64k":                asWindows,
		"-r -m 1,*,192.0.2.1 -xml":                  asWindows,
		"-S -M 1,*,192.0.2.1 -NS -T 5":              asWindows,
		"-s -m 1,*,192.0.2.1 -a -t 5":               asWindows,
		"--as windows -s -m 1,*,192.0.2.1 -t 5":     asWindows,
		"-s -m 1,*,192.0.2.1 -t 5 --as=linux":       asLinux,
		"-s -m 1,*,192.0.2.1 -n 20k":                asWindows,
	} {
		got, err := read(strings.Fields(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if (got.windows != nil) != (want == asWindows) {
			t.Errorf("%s: not %s", text, want)
		}
	}
}

func TestAmbiguousIsRefusedWithBothReadings(t *testing.T) {
	for text, wants := range map[string][]string{
		"-s -m 1,*,192.0.2.1 -t 15":      {"token connections", "port 5000"},
		"-s -m 2,*,192.0.2.1 -l 10":      {"buffers of 10 bytes", "10 connections"},
		"-s -m 2,*,192.0.2.1 -n 10":      {"10 of them for each thread", "10 threads"},
		"-s -m 2,*,192.0.2.1 -P 8":       {"from port 8 on", "8 ports"},
		"-r -m 2,*,192.0.2.1 -p 6000 -u": {"from port 6000", "port 5999"},
	} {
		_, err := read(strings.Fields(text))
		if err == nil {
			t.Errorf("%s was taken", text)
			continue
		}
		for _, want := range append(wants, "--as windows", "--as linux") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nsays nothing of %q", text, err, want)
			}
		}
	}
}

func TestRefusedCommandLines(t *testing.T) {
	for text, want := range map[string]string{
		"--as":                                      "needs a value",
		"--as lin -r":                               "nearest is linux",
		"--as windows -s -t 5":                      "-m is missing",
		"--as windows -s -r -m 1,*,a":               "either -s or -r",
		"--as windows -s -m 0,*,a":                  "whole number",
		"--as windows -s -m 1,*":                    "a mapping is",
		"--as windows -s -m 1,*,a -m 1,*,b":         "comes twice",
		"--as windows -s -m 1,*,a -w":               "-w needs -a",
		"--as windows -s -m 1,*,a -a 64":            "at most 63",
		"--as windows -s -m 1,*,a -lm":              "windtunnel ping",
		"--as windows -s -m 1,*,a -l":               "needs a value",
		"--as windows -s -m 1,*,a -l 999999999999G": "no size",
		"--as windows -s -m 1,*,::1":                "add -6",
		"--as windows -s -m 1,*,a -u -l 64k":        "65507",
		"--as windows -s -m 1,*,a -ps 2":            "from 5 on",
		"--as windows -s -m 1,*,a -q":               "no flag of NTttcp for Windows",
		"--as linux -s a -r":                        "this end is one of them",
		"--as linux -s a -M":                        "-M is the receiver's",
		"--as linux -r a -L":                        "-L is the sender's",
		"--as linux -s a -b 1T":                     "positive number",
		"--as linux -s a -P 513":                    "at most 512",
		"--as linux -s a -P 512 -n 25600":           "connections: at most",
		"--as linux -s a stray":                     "belongs to no flag",
		"--as linux -s a --no-delay=1":              "takes no value",
		"--as linux -r -D":                          "background",
		"--as linux -s 1.2.3.4 -6":                  "leave -6 away",
		"--as linux -s ::1 -a 1.2.3.4 -6":           "-a: 1.2.3.4 is an IPv4 address; leave -6 away",
		"--as linux -s 1.2.3.4 -a ::1":              "-a: ::1 is an IPv6 address; add -6",
		"--as windows -s -m 1,*,1.2.3.4 -nic ::1":   "-nic: ::1 is an IPv6 address; add -6",
		"--as linux -s -W 1073741824 -t 1073741824": "at most 2147483647 s",
		"--as linux -s a -u --no-delay":             "TCP's",
		"--as linux -s 10.0.0.2:5001":               "write 10.0.0.2 and -p 5001",
		"--as linux -s [::1] -6":                    "write ::1 without brackets",
		"--as windows -s -m 1,*,[::1]:5001 -6":      "write ::1 and -p 5001",
		"-s -m 1,*,a -ndl -Q":                       "neither tool",
		"--as linux -r -t 2000000000":               "2000000000 is more than 1073741824",
		"--as linux -r -t 99999999999999999999":     "99999999999999999999 is more than 1073741824",
		"--as linux -r -t -99999999999999999999":    "no whole number from 0 on",
		"--as linux -s a -B 2000000G":               "more than 1000 T",
		"--as windows -s -m 1,*,a -n 5 -t 64000M":   "64000M seconds are more than 1073741824",
		"--as windows -s -m 1,*,a -sb 4096M":        "4096M is more than 2147483647",
		"--as windows -r -m 1,*,a -rb 2048M":        "2048M is more than 2147483647",
	} {
		if _, err := read(strings.Fields(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func equal(t *testing.T, name string, got, want any) {
	t.Helper()
	if diff := cmpDiff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
