package generator

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"windtunnel/result"
)

// nuttcp prints at its client what both ends did. Of a TCP connection it tells what was
// received in each interval, and what was sent over the whole run only: sent are then the
// bytes that the kernel saw acknowledged.
type nuttcp struct{}

func (nuttcp) name() string    { return "nuttcp" }
func (nuttcp) install() string { return "Debian has it as nuttcp: apt-get install nuttcp" }

// nuttcpStreams is how many it makes at once (MAXSTREAM in its source).
const nuttcpStreams = 128

func (nuttcp) able(kind string) (ability, bool) {
	switch kind {
	case "stream":
		return ability{
			takes: []string{"message", "streams", "nodelay", "rate", "dscp"}, does: map[string][]string{"pacing": {"bucket"}}, kernel: true,
			check: func(load result.Options) error {
				if n := load.Int("streams"); n > nuttcpStreams {
					return fmt.Errorf("nuttcp makes at most %d streams, not %d", nuttcpStreams, n)
				}
				return nil
			},
		}, true
	case "datagram":
		return ability{
			takes: []string{"message", "rate", "packets", "dscp"},
			does:  map[string][]string{"segmentation": {"off"}, "aggregation": {"off"}, "verify": {"header"}, "priority": {"kept"}},
		}, true
	}
	return ability{}, false
}

func (nuttcp) server(t task) []string {
	return []string{"nuttcp", "-1", "--nofork", "-P" + t.control()}
}

func (nuttcp) client(t task) []string {
	args := []string{"nuttcp", "-t", "-v", "-fparse", "-P" + t.control(), "-p" + t.data(), "-T" + strconv.Itoa(t.whole()), "-i" + spanLength,
		"-l" + strconv.FormatInt(t.load.Int("message"), 10)}
	add := func(when bool, more ...string) {
		if when {
			args = append(args, more...)
		}
	}
	add(t.streams() > 1, "-N"+strconv.Itoa(t.streams()))
	add(t.load.Bool("nodelay"), "-D")
	add(t.load["dscp"] != nil, "-c"+strconv.FormatInt(t.load.Int("dscp"), 10))
	add(t.kind == "datagram", "-u", "-fxmitstats")
	if bits := t.bitsPerSecond(); bits > 0 {
		const kilo = 1000
		args = append(args, "-R"+strconv.FormatFloat(math.Max(1, math.Round(bits/kilo)), 'f', 0, 64))
	} else {
		add(t.kind == "datagram", "-Ru")
	}
	return append(args, t.host)
}

func (nuttcp) read(t task, receives bool, said output) (result.PairEnd, error) {
	if receives { // its client tells
		return result.PairEnd{}, nil
	}
	var spans []span
	for _, line := range lines(said.out) {
		if !strings.HasPrefix(line, "megabytes=") && !strings.HasPrefix(strings.TrimSpace(line), "megabytes=") {
			continue
		}
		words := pairs(line)
		if words["real_sec"] == "" { // of the whole run
			continue
		}
		s, err := nuttcpSpan(words, t)
		if err != nil {
			return result.PairEnd{}, fmt.Errorf("its line %.80q: %w", line, err)
		}
		spans = append(spans, s)
	}
	all, from, err := lastSpan(spans, t.window.Seconds())
	if err != nil {
		return result.PairEnd{}, err
	}
	told := result.PairEnd{WindowSeconds: all.seconds, Bytes: all.bytes, Packets: all.packets, Intervals: intervals(spans[from:], t)}
	end := result.PairEnd{Told: &told}
	if t.kind == "datagram" {
		end.WindowSeconds, end.Bytes = all.seconds, all.sent
		end.Packets = all.sent / uint64(max(1, t.load.Int("message")))
		told.Arrived = &result.Arrived{
			Expected: all.packets + uint64(all.lost), Lost: uint64(all.lost), Flows: 1,
			Untold: []result.Metric{result.LatePackets, result.Reordered, result.Duplicates, result.Corrupt, result.Jitter},
		}
	}
	return end, nil
}

// nuttcpSpan reads an interval. Its time has two digits; the rate beside it has seven, so
// the time is taken from that. A megabyte is 2^20 bytes, a megabit 10^6 bits.
func nuttcpSpan(words map[string]string, t task) (span, error) {
	megabytes, err := number(words["megabytes"])
	if err != nil {
		return span{}, err
	}
	took, err := number(words["real_sec"])
	if err != nil {
		return span{}, err
	}
	rate, err := number(words["rate_Mbps"])
	if err != nil {
		return span{}, err
	}
	s := span{seconds: took, bytes: uint64(math.Round(megabytes * (1 << 20)))}
	if rate > 0 && megabytes > 0 {
		s.seconds = megabytes * (1 << 20) * 8 / (rate * 1e6)
	}
	if math.Abs(s.seconds-took) > 0.02 {
		return span{}, fmt.Errorf("%g s is not the %g s of its rate", took, s.seconds)
	}
	if t.kind != "datagram" {
		return s, nil
	}
	return s.datagrams(words, t)
}

// datagrams adds what an interval of UDP has more.
func (s span) datagrams(words map[string]string, t task) (span, error) {
	packets, err := number(words["pkt"])
	if err != nil {
		return span{}, fmt.Errorf("it names no packets: %w", err)
	}
	lost, err := number(words["drop"])
	if err != nil {
		return span{}, fmt.Errorf("it names no drops: %w", err)
	}
	sent, err := number(words["tx_megabytes"])
	if err != nil {
		return span{}, fmt.Errorf("it does not tell what was sent: %w", err)
	}
	if lost > packets {
		return span{}, errors.New("it lost more than there was")
	}
	s.packets, s.lost = uint64(packets-lost), int64(lost)
	s.bytes = s.packets * uint64(max(1, t.load.Int("message")))
	s.sent = uint64(math.Round(sent * (1 << 20)))
	return s, nil
}

var nuttcpVersion = regexp.MustCompile(`nuttcp-[tr]: v([0-9][0-9a-z.]*)`)

func (nuttcp) version(said output) string {
	if found := nuttcpVersion.FindStringSubmatch(said.out); found != nil {
		return found[1]
	}
	return ""
}

// told reports whether the window has been told of: after UDP, nuttcp waits for two seconds.
func (n nuttcp) told(t task, said output) bool {
	_, err := n.read(t, false, said)
	return t.kind == "datagram" && err == nil
}

// stays is long enough for a client to have told what its server knows.
func (nuttcp) stays(bool) time.Duration { return endPatience }
