package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"windtunnel/traffic/iperf3"
)

// Keys come from files, and functions do not compare.
var (
	noKeys  = cmpopts.IgnoreFields(iperf3.Options{}, "PublicKey")
	noFuncs = cmpopts.IgnoreFields(iperf3.ServerOptions{}, "PrivateKey", "Ready", "Refused")
)

func parsed(t *testing.T, line string) *settings {
	t.Helper()
	s, warnings, err := parse(strings.Fields(line))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%s: %v %v", line, err, warnings)
	}
	return s
}

// TestClientFlags holds what people type, the source documents' command line first.
func TestClientFlags(t *testing.T) {
	for line, want := range map[string]iperf3.Options{
		"-c 192.0.2.1 -i 1 -t 10 -u -b 2Gb --length 1400": {Protocol: iperf3.UDP, Interval: time.Second, Duration: 10 * time.Second, BitsPerSecond: 2e9, Length: 1400},
		"-uRc 192.0.2.1":                                            {Protocol: iperf3.UDP, Reverse: true, BitsPerSecond: 1 << 20},
		"-uc192.0.2.1 -b2G/10 -l16":                                 {Protocol: iperf3.UDP, BitsPerSecond: 2e9, Burst: 10, Length: 16},
		"--client=192.0.2.1 --udp --bandwidth 0":                    {Protocol: iperf3.UDP},
		"-c 192.0.2.1 -t 0 -i 0":                                    {Duration: -1, Interval: -1},
		"-c 192.0.2.1 -n 1G -P 128 -O 600s":                         {Bytes: 1 << 30, Parallel: 128, Omit: 600 * time.Second},
		"-c 192.0.2.1 -k 10K -w 4M -M 1400 -N -Z --skip-rx-copy":    {Blocks: 10240, Window: 4 << 20, MSS: 1400, NoDelay: true, ZeroCopy: true, SkipReceiveCopy: true},
		"-c 192.0.2.1 -S 0x34":                                      {TOS: 52},
		"-c 192.0.2.1 -S 064":                                       {TOS: 52},
		"-c 192.0.2.1 --dscp EF":                                    {TOS: 0xb8},
		"-c 192.0.2.1 --dscp 46":                                    {TOS: 0xb8},
		"-c 192.0.2.1 -A 1,3 -C cubic --cport 4000":                 {CPUs: []int{1}, ServerAffinity: 4, Congestion: "cubic", ClientPort: 4000},
		"-c 192.0.2.1%eth1 -B 192.0.2.9 -p 5300 -4":                 {BindDevice: "eth1", Bind: "192.0.2.9", Port: 5300, Family: 4},
		"-c 192.0.2.1 -B 192.0.2.9%eth2 -m":                         {BindDevice: "eth2", Bind: "192.0.2.9", MultipathTCP: true},
		"-c 192.0.2.1 --bidir --rcv-timeout 200 --snd-timeout 5000": {Bidirectional: true, ReceiveTimeout: 200 * time.Millisecond, SendTimeout: 5 * time.Second},
		"-c 192.0.2.1 --cntl-ka=10/2/3 --connect-timeout 500":       {KeepAlive: iperf3.KeepAlive{On: true, Idle: 10 * time.Second, Interval: 2 * time.Second, Count: 3}, ConnectTimeout: 500 * time.Millisecond},
		"-c 192.0.2.1 --cntl-ka":                                    {KeepAlive: iperf3.KeepAlive{On: true}},
		"-c 192.0.2.1 --cntl-ka=/5/":                                {KeepAlive: iperf3.KeepAlive{On: true, Interval: 5 * time.Second}},
		"-c 192.0.2.1 --fq-rate 10m --pacing-timer 500":             {FQRate: 1e7, PacingTimer: 500},
		"-c 192.0.2.1 -u --gsro --udp-counters-64bit --repeating-payload --dont-fragment": {
			Protocol: iperf3.UDP, BitsPerSecond: 1 << 20, GSO: true, GRO: true, Counters64Bit: true, RepeatingPayload: true, DontFragment: true},
		"-c 192.0.2.1 -T name --extra-data more --get-server": {Title: "name", ExtraData: "more", GetServerOutput: true},
		"-c 192.0.2.1 --use-pkcs1-padding":                    {PKCS1Padding: true},
	} {
		want.Host = "192.0.2.1"
		if d := cmp.Diff(want, parsed(t, line).client, noKeys); d != "" {
			t.Errorf("%s (-want +got):\n%s", line, d)
		}
	}
	if s := parsed(t, "-c fe80::1%eth0 -6"); s.client.Host != "fe80::1%eth0" || s.client.BindDevice != "" || s.client.Family != 6 {
		t.Errorf("a link-local address lost its zone: %+v", s.client)
	}
}

func TestServerFlags(t *testing.T) {
	for line, want := range map[string]iperf3.ServerOptions{
		"-s":                    {},
		"-s1p 5300":             {OneOff: true, Port: 5300},
		"-sD --idle-timeout 30": {IdleTimeout: 30 * time.Second},
		"-s --server-bitrate-limit 100M/10 --server-max-duration 60":                       {MaxRate: 1e8, RateAverage: 10 * time.Second, MaxTime: time.Minute, TimedOnly: true},
		"-s -B ::1 -i 0.5 -A 1 --rcv-timeout 1000":                                         {Host: "::1", Interval: 500 * time.Millisecond, CPUs: []int{1}, ReceiveTimeout: time.Second},
		"-s --rsa-private-key-path k --authorized-users-path u --time-skew-threshold 3600": {Skew: time.Hour},
	} {
		if d := cmp.Diff(want, parsed(t, line).server, noFuncs); d != "" {
			t.Errorf("%s (-want +got):\n%s", line, d)
		}
	}
}

func TestOutputFlags(t *testing.T) {
	s := parsed(t, "-s -fM -V --logfile f --timestamps -I pid -d")
	if d := cmp.Diff(output{format: 'M', verbose: true, logfile: "f", stamped: true, stampAs: ctimeStamp, debug: debugIntervals}, s.output, cmp.AllowUnexported(output{})); d != "" || s.pidfile != "pid" {
		t.Errorf("pidfile %q, (-want +got):\n%s", s.pidfile, d)
	}
	s = parsed(t, "-c h --json-stream --json-stream-full-output --plain --timestamps=%H --debug=2")
	if d := cmp.Diff(output{format: 'a', json: true, stream: true, full: true, plain: true, stamped: true, stampAs: "%H", debug: debugAsked}, s.output, cmp.AllowUnexported(output{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestRefusals look for what a person needs to go on.
func TestRefusals(t *testing.T) {
	for line, wants := range map[string]string{
		"":                                   "-c) or server (-s)",
		"-s -c h":                            "cannot be both server and client",
		"-c h -s":                            "cannot be both server and client",
		"-c h -R --bidir":                    "cannot be both reverse and bidirectional",
		"-c h -t 5 -n 1M":                    "only one test end condition",
		"-c h -n 5 -k 1":                     "only one test end condition",
		"-c h -D":                            "server only",
		"-s -u":                              "client only",
		"-s -R":                              "client only",
		"-s -A 1,2":                          "client only",
		"-s -m":                              "the client decides",
		"-c h --rcv-timeout 500":             "only in receiving mode",
		"-c h --username me":                 "rsa-public-key-path",
		"-s --authorized-users-path f":       "rsa-private-key-path",
		"-c h -u -l 15":                      "minimum = 16",
		"-c h -u -l 65508":                   "maximum = 65507",
		"-c h -l 2M":                         "maximum = 1048576",
		"-c h -w 1G":                         "maximum = 536870912",
		"-c h -M 40000":                      "32767",
		"-c h -P 129":                        "1 to 128",
		"-c h -P 0":                          "1 to 128",
		"-c h -b 1M/1001":                    "maximum = 1000",
		"-c h -b 1X":                         "the suffix is K, M, G or T",
		"-c h -t 86401":                      "86400",
		"-c h -t 1m":                         "seconds",
		"-c h -t 0.5":                        "whole number",
		"-c h -O 601":                        "600",
		"-c h -i 0.05":                       "min = 0.1",
		"-c h -i 61":                         "max = 60",
		"-c h -S 256":                        "0 to 255",
		"-c h --dscp 64":                     "0 to 63",
		"-c h -f x":                          "[kmgtKMGT]",
		"-p 0":                               "1 to 65535",
		"-c h --cntl-ka=5/5/5":               "Keepalive period",
		"-c h --cntl-ka=1/2/3/4":             "IDLE/INTERVAL/COUNT",
		"-c h --sctp":                        "TCP (without it) and UDP (-u)",
		"-c h -F file":                       "-n SIZE",
		"-c h -L 5":                          "--dscp",
		"-c h -X a":                          "-B",
		"-c h --nstreams 3":                  "-P",
		"-c h --bidr":                        "did you mean --bidir?",
		"-c h -bidir":                        "did you mean --bidir?",
		"-c h --json-s":                      "ambiguous: --json-stream, --json-stream-full-output",
		"-c h --udp=1":                       "takes no value",
		"-c h --time":                        "--time SECONDS",
		"-c":                                 "-c HOST",
		"-c h -q":                            "unrecognized option '-q'",
		"-c h -u -m":                         "is for TCP",
		"-c h --debug=5":                     "0 to 4",
		"-c h -A x":                          "0 to 1024",
		"-s --server-bitrate-limit 1M/0.01":  "average data",
		"-c h --timestamps=%Q":               "strftime",
		"-s --idle-timeout 0":                "1 to 86400",
		"-c h --rcv-timeout 99 -R":           "100 to",
		"-c h --pacing-timer 0":              "microseconds",
		"-c h --connect-timeout 99999999999": "milliseconds",
	} {
		_, _, err := parse(strings.Fields(line))
		if err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%q: %v; want %q in it", line, err, wants)
		}
	}
}

func TestWarnings(t *testing.T) {
	for line, wants := range map[string]string{
		"-c h stray":                   "'stray' belongs to no option",
		"-c h -J -f m":                 "-f has no effect",
		"-c h --no-fq-socket-pacing":   "--fq-rate 0",
		"-c h --json-stream-full -J":   "without --json-stream",
		"-c h -- -R":                   "'-R' belongs to no option",
		"-c h --json-stream -f k more": "-f has no effect",
	} {
		_, warnings, err := parse(strings.Fields(line))
		if err != nil || !strings.Contains(strings.Join(warnings, "\n"), wants) {
			t.Errorf("%q: %v, %v; want %q in it", line, warnings, err, wants)
		}
	}
}

// TestEveryFlagHasAPlace keeps the table whole: names once, each flag either set
// or refused with a reason, and in the help.
func TestEveryFlagHasAPlace(t *testing.T) {
	names := map[string]bool{}
	text := help()
	for _, f := range allFlags() {
		for _, name := range append(f.longs(), string(f.short)) {
			if name != "\x00" && names[name] {
				t.Errorf("%s is there twice", name)
			}
			names[name] = true
		}
		if (f.set == nil) == (f.refuses == "") {
			t.Errorf("%s must be either set or refused", f.name())
		}
		if !strings.Contains(text, "--"+f.long) {
			t.Errorf("%s is not in the help", f.name())
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > helpWidth+1 {
			t.Errorf("a line of %d columns in the help: %s", len(line), line)
		}
	}
}

// iperf3sFlags are the long names of iperf 3.21 (its manual page and --help).
const iperf3sFlags = `port format interval pidfile file affinity bind bind-dev verbose json json-stream json-stream-full-output logfile
forceflush timestamps rcv-timeout snd-timeout cntl-ka mptcp debug version help server daemon one-off server-bitrate-limit idle-timeout
server-max-duration rsa-private-key-path authorized-users-path time-skew-threshold use-pkcs1-padding client sctp xbind nstreams udp
connect-timeout bitrate bandwidth pacing-timer fq-rate no-fq-socket-pacing time bytes blockcount length cport parallel reverse bidir window
congestion linux-congestion set-mss no-delay version4 version6 tos dscp flowlabel zerocopy skip-rx-copy omit title extra-data
get-server-output udp-counters-64bit gsro repeating-payload dont-fragment username rsa-public-key-path`

func TestKnowsIperf3sFlags(t *testing.T) {
	for name := range strings.FieldsSeq(iperf3sFlags) {
		if f, full, err := findLong(name, allFlags()); err != nil || full != name {
			t.Errorf("--%s: %v, %v", name, f, err)
		}
	}
	for _, short := range []byte("pfiD1VJvscubtnklPRwBMN46SLZOFATCdImhX") {
		if findShort(short, allFlags()) == nil {
			t.Errorf("there is no -%c", short)
		}
	}
}

func TestHelpAndVersionEndAtOnce(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"--help"}, {"-v"}, {"-c", "h", "--version"}} {
		var out, errs bytes.Buffer
		if code := Run(t.Context(), args, nil, &out, &errs, nil); code != exitDone || out.Len() == 0 || errs.Len() > 0 {
			t.Errorf("%v: exit %d, %d bytes, %s", args, code, out.Len(), errs.String())
		}
	}
	var errs bytes.Buffer
	if code := Run(t.Context(), []string{"-x"}, nil, &errs, &errs, nil); code != exitFailed || !strings.Contains(errs.String(), "iperf3: parameter error - ") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"-c h -u -b 2Gb", "-s --cntl-ka=1/2/3", "--json=", "-\xff", "--", "-c h%d%e", "--=x", "-A 1,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s, _, err := parse(strings.Split(line, " "))
		if err == nil && s.role == ofBoth && !s.help && !s.version {
			t.Errorf("%q has no role", line)
		}
	})
}
