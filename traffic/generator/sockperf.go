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

// sockperf is Mellanox's. Its client writes when each request left and when its answer came
// (--full-log); its server tells nothing.
type sockperf struct{}

func (sockperf) name() string    { return "sockperf" }
func (sockperf) install() string { return "Debian has it as sockperf: apt-get install sockperf" }

// sockperfSpare is how much longer than the trial it may run, in seconds: it is started
// before, and ended by a signal.
const sockperfSpare = 10

// A message has room for sockperf's own header at least, in bytes, and is no longer than a datagram: over TCP its server hangs up on
// whoever sends a longer one.
const (
	leastSockperf = 14
	mostSockperf  = 65507
)

func (sockperf) able(kind string) (ability, bool) {
	if kind != "ping" {
		return ability{}, false
	}
	return ability{takes: []string{"protocol", "message", "response", "rate"}, kernel: true, check: sockperfTakes}, true
}

func sockperfTakes(load result.Options) error {
	message, response, rate := load.Int("message"), load.Int("response"), load.Float("rate")
	switch {
	case message < leastSockperf:
		return fmt.Errorf("a message of sockperf has at least %d bytes, its header: say `message: %dB` or more", leastSockperf, leastSockperf)
	case message > mostSockperf:
		return fmt.Errorf("a message of sockperf has at most %d bytes, over TCP too: say `message: %dB` or less", mostSockperf, mostSockperf)
	case response != 0 && response != message:
		return fmt.Errorf("sockperf answers with as many bytes as it was asked with: leave `response` out")
	case rate != math.Trunc(rate):
		return fmt.Errorf("sockperf sends whole messages per second, not %g", rate)
	}
	return nil
}

func (sockperf) server(t task) []string {
	args := []string{"sockperf", "server", "-i", t.host, "-p", t.control()}
	if t.load.Text("protocol") == "tcp" {
		args = append(args, "--tcp")
	}
	return args
}

func (sockperf) client(t task) []string {
	mode := "ping-pong"
	if t.load.Float("rate") > 0 {
		mode = "under-load"
	}
	args := []string{"sockperf", mode, "-i", t.host, "-p", t.control(), "-m", strconv.FormatInt(t.load.Int("message"), 10),
		"-t", strconv.Itoa(t.whole() + sockperfSpare), "--full-rtt", "--full-log", logFile}
	if t.load.Text("protocol") == "tcp" {
		args = append(args, "--tcp")
	}
	if rate := t.load.Float("rate"); rate > 0 {
		args = append(args, "--mps", strconv.FormatFloat(rate, 'f', 0, 64), "--reply-every", "1")
	}
	return args
}

// exchange is a request that was answered, in nanoseconds of sockperf's clock.
type exchange struct{ sent, answered int64 }

func (s sockperf) read(t task, receives bool, said output) (result.PairEnd, error) {
	if receives { // its client tells
		return result.PairEnd{}, nil
	}
	all, err := sockperfLog(said.log)
	if err != nil {
		return result.PairEnd{}, err
	}
	window := t.window.Nanoseconds()
	last, first := all[0].sent, all[0].sent
	for _, e := range all {
		last, first = max(last, e.sent), min(first, e.sent)
	}
	if last-first < window*9/10 {
		return result.PairEnd{}, fmt.Errorf("its log has %.2f s of its run, less than the window of %s", float64(last-first)/1e9, t.window)
	}
	window = min(window, last-first)
	times, n := result.NewRecorder(), uint64(0)
	for _, e := range all {
		if e.sent > last-window {
			times.Record(e.answered - e.sent)
			n++
		}
	}
	took := float64(window) / 1e9
	message := uint64(t.load.Int("message"))
	told := result.PairEnd{WindowSeconds: took, Packets: n, Bytes: n * message}
	end := told
	end.Told = &told
	end.Latencies = map[string]result.Histogram{result.LatencyActual: times.Histogram()}
	end.Arrived, err = sockperfArrived(said.out, n)
	return end, err
}

// sockperfLog reads the lines "number, sent, received, round trip" behind their heading.
func sockperfLog(text string) ([]exchange, error) {
	_, body, found := strings.Cut(text, "packet, txTime(sec), rxTime(sec), rtt(usec)\n")
	if !found {
		return nil, errors.New("its log has no list of requests")
	}
	var all []exchange
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "---") {
			break
		}
		e, err := exchangeOf(line)
		if err != nil {
			return nil, fmt.Errorf("its log's line %.80q: %w", line, err)
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, errors.New("its log lists no request that was answered")
	}
	return all, nil
}

func exchangeOf(line string) (exchange, error) {
	fields := strings.Split(strings.TrimSpace(line), ", ")
	if len(fields) != 4 {
		return exchange{}, errors.New("it has not four fields")
	}
	sent, err := nanoseconds(fields[1])
	if err != nil {
		return exchange{}, err
	}
	answered, err := nanoseconds(fields[2])
	if err != nil {
		return exchange{}, err
	}
	if answered < sent {
		return exchange{}, errors.New("it was answered before it was sent")
	}
	return exchange{sent, answered}, nil
}

// nanoseconds reads "2.638696807".
func nanoseconds(text string) (int64, error) {
	whole, part, ok := strings.Cut(text, ".")
	s, err := strconv.ParseUint(whole, 10, 32)
	if !ok || err != nil || len(part) != 9 {
		return 0, fmt.Errorf("%.40q is no time", text)
	}
	ns, err := strconv.ParseUint(part, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no time", text)
	}
	return int64(s)*1e9 + int64(ns), nil
}

var sockperfLosses = regexp.MustCompile(`dropped messages = (\d{1,15}); # duplicated messages = (\d{1,15}); # out-of-order messages = (\d{1,15})`)

// sockperfArrived is what became of the window's requests. The sum is over a little more
// than the window: none in it is none in the window, and of some the window's part is untold.
func sockperfArrived(text string, answered uint64) (*result.Arrived, error) {
	found := sockperfLosses.FindStringSubmatch(text)
	if found == nil {
		return nil, errors.New("it does not tell how many messages it lost")
	}
	a := result.Arrived{Expected: answered, Flows: 1, Untold: []result.Metric{result.LatePackets, result.Corrupt, result.Jitter}}
	for i, metric := range []result.Metric{result.Loss, result.Duplicates, result.Reordered} {
		if strings.Trim(found[i+1], "0") != "" {
			a.Untold = append(a.Untold, metric)
		}
	}
	return &a, nil
}

var sockperfVersion = regexp.MustCompile(`version #([0-9][0-9.]*)`)

func (sockperf) version(said output) string {
	if found := sockperfVersion.FindStringSubmatch(said.out); found != nil {
		return found[1]
	}
	return ""
}

// begun looks for what it says after two seconds of preparation.
func (sockperf) begun(said output) bool { return strings.Contains(said.out, "Starting test...") }

// stays ends a client when the window is over, which then writes its log, and a server
// after that.
func (sockperf) stays(receives bool) time.Duration {
	if receives {
		return 500 * time.Millisecond
	}
	return 100 * time.Millisecond
}
