package generator

import (
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/datagram"
	"windtunnel/traffic/ping"
	"windtunnel/traffic/stream"
)

var kinds = map[string]traffic.Kind{"stream": stream.Kind{}, "datagram": datagram.Kind{}, "ping": ping.Kind{}}

// TestWhatToolsCannotExpressIsRefusedByName fills each load as a suite would.
func TestWhatToolsCannotExpressIsRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		kind string
		load result.Options
		want string // in the error; "": none
	}{
		"nothing else":       {"stream", result.Options{"generator": "iperf3"}, ""},
		"our own":            {"stream", result.Options{"generator": "windtunnel", "discard": true}, ""},
		"none":               {"stream", result.Options{"discard": true}, ""},
		"told":               {"stream", result.Options{"generator": "iperf3", "streams": 4, "nodelay": true, "copy": "sendfile", "mss": 1000}, ""},
		"discard":            {"stream", result.Options{"generator": "iperf3", "discard": true}, "`discard: true` of stream"},
		"another copy":       {"stream", result.Options{"generator": "iperf3", "copy": "zerocopy"}, "`copy: "},
		"threads":            {"stream", result.Options{"generator": "iperf3", "threads": 2, "streams": 2}, "`threads: 2`"},
		"direction":          {"stream", result.Options{"generator": "nuttcp", "direction": "both"}, "`direction: both`"},
		"too many":           {"stream", result.Options{"generator": "iperf3", "streams": 200}, "at most 128"},
		"a long message":     {"stream", result.Options{"generator": "iperf3", "message": 1<<20 + 1}, "at most 1MiB, not 1048577B"},
		"the longest":        {"stream", result.Options{"generator": "iperf3", "message": 1 << 20, "buffer": 512 << 20}, ""},
		"a large buffer":     {"datagram", result.Options{"generator": "iperf3", "buffer": 600 << 20}, "at most 512MiB, not 600MiB"},
		"long requests":      {"ping", result.Options{"generator": "sockperf", "message": 65508, "protocol": "tcp"}, "at most 65507 bytes, over TCP too"},
		"longest requests":   {"ping", result.Options{"generator": "sockperf", "message": 65507}, ""},
		"a rate of ntttcp":   {"stream", result.Options{"generator": "ntttcp", "rate": 1e6}, "`rate: "},
		"congestion":         {"stream", result.Options{"generator": "nuttcp", "congestion": "reno"}, ""},
		"offload":            {"datagram", result.Options{"generator": "iperf3", "segmentation": "off", "verify": "header"}, ""},
		"flows of nuttcp":    {"datagram", result.Options{"generator": "nuttcp", "flows": 2}, "`flows: 2`"},
		"burst":              {"datagram", result.Options{"generator": "iperf3", "packets": 1000.0, "burst": 3}, "`burst: 3`"},
		"less than a bit":    {"datagram", result.Options{"generator": "iperf3", "rate": 1.0, "flows": 128}, "whole bits a second"},
		"half a datagram":    {"datagram", result.Options{"generator": "iperf3", "packets": 0.01, "message": 20, "flows": 4}, "whole bits a second"},
		"a bit":              {"datagram", result.Options{"generator": "iperf3", "rate": 128.0, "flows": 128}, ""},
		"another kind":       {"ping", result.Options{"generator": "iperf3"}, "no load of kind ping"},
		"requests":           {"ping", result.Options{"generator": "sockperf", "message": 64}, ""},
		"requests at a rate": {"ping", result.Options{"generator": "sockperf", "message": 64, "rate": 1000.0, "protocol": "udp"}, ""},
		"short requests":     {"ping", result.Options{"generator": "sockperf", "message": 1}, "at least 14 bytes"},
		"no size":            {"ping", result.Options{"generator": "sockperf"}, "at least 14 bytes"},
		"long answers":       {"ping", result.Options{"generator": "sockperf", "message": 64, "response": 1000}, "leave `response` out"},
		"parts of requests":  {"ping", result.Options{"generator": "sockperf", "message": 64, "rate": 0.5}, "whole messages"},
	} {
		options := kinds[c.kind].Options()
		full, err := result.Fill(options, Own(c.load))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		full[option] = c.load[option]
		err = Check(c.kind, append(options, Options(c.kind)...), full)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestEveryOptionThatAToolTakesIsOne of its kind.
func TestEveryOptionThatAToolTakesIsOne(t *testing.T) {
	for kind, k := range kinds {
		known := map[string]bool{}
		for _, o := range k.Options() {
			known[o.Name] = true
		}
		for _, tool := range tools() {
			a, _ := tool.able(kind)
			for _, name := range a.takes {
				if !known[name] {
					t.Errorf("%s takes %s, which %s does not have", tool.name(), name, kind)
				}
			}
			for name := range a.does {
				if !known[name] {
					t.Errorf("%s does %s, which %s does not have", tool.name(), name, kind)
				}
			}
		}
	}
}

func TestCommands(t *testing.T) {
	for name, c := range map[string]struct {
		tool tool
		task task
		want string
	}{
		"iperf3 TCP": {iperf3{}, task{kind: "stream", load: result.Options{"message": int64(1390), "streams": int64(2), "nodelay": true, "congestion": "cubic", "rate": 1e6}},
			"iperf3 -c h -p 7 -t 3 -i 0.1 -J -l 1390 -P 2 -b 1000000 -N -C cubic"},
		"iperf3 UDP": {iperf3{}, task{kind: "datagram", load: result.Options{"message": int64(1400), "flows": int64(2), "packets": 1000.0, "rate": 1e9, "dscp": int64(0)}},
			"iperf3 -c h -p 7 -t 3 -i 0.1 -J -l 1400 -P 2 -u -b 5600000 --dscp 0"},
		"nuttcp UDP":   {nuttcp{}, task{kind: "datagram", load: result.Options{"message": int64(1400)}}, "nuttcp -t -v -fparse -P7 -p8 -T3 -i0.1 -l1400 -u -fxmitstats -Ru h"},
		"nuttcp TCP":   {nuttcp{}, task{kind: "stream", load: result.Options{"message": int64(1400), "streams": int64(3), "rate": 1e6}}, "nuttcp -t -v -fparse -P7 -p8 -T3 -i0.1 -l1400 -N3 -R3000 h"},
		"ntttcp":       {ntttcp{}, task{kind: "stream", load: result.Options{"message": int64(1400), "nodelay": true}}, "ntttcp -s -m 1,*,h -p 8 -W 1 -t 2 -j /dev/fd/3 -n 1 -l 1 -b 1400 --no-delay"},
		"sockperf":     {sockperf{}, task{kind: "ping", load: result.Options{"message": int64(64), "protocol": "tcp"}}, "sockperf ping-pong -i h -p 7 -m 64 -t 13 --full-rtt --full-log /dev/fd/3 --tcp"},
		"sockperf mps": {sockperf{}, task{kind: "ping", load: result.Options{"message": int64(64), "rate": 1000.0}}, "sockperf under-load -i h -p 7 -m 64 -t 13 --full-rtt --full-log /dev/fd/3 --mps 1000 --reply-every 1"},
	} {
		c.task.host, c.task.port, c.task.warmUp, c.task.window = "h", 7, seconds(1), seconds(2)
		if got := line(c.tool.client(c.task)); got != c.want {
			t.Errorf("%s:\n%s\n%s", name, got, c.want)
		}
	}
}
