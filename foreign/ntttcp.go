package foreign

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"windtunnel/result"
)

const ntttcpTool = "NTttcp"

// ntttcpEnd is what is read of one end's XML, of NTttcp for Windows (-xml) or for Linux (-x). Numbers are texts, because
// either tool also writes "NA".
type ntttcpEnd struct {
	XMLName    xml.Name
	Computer   string         `xml:"computername,attr"`
	Version    string         `xml:"version,attr"`
	Parameters ntttcpSettings `xml:"parameters"`
	Threads    []struct{}     `xml:"thread"`
	Bytes      ntttcpFigure   `xml:"total_bytes"`
	Time       ntttcpFigure   `xml:"realtime"`
	Rates      []ntttcpFigure `xml:"throughput"`
	CPU        *ntttcpFigure  `xml:"cpu"`            // Windows
	Processors string         `xml:"num_processors"` // Windows
	Busy       *ntttcpFigure  `xml:"cpu_busy_all"`   // Linux
	Cores      string         `xml:"cpu_cores"`      // Linux
	Length     string         `xml:"bufferLen"`
	Conns      string         `xml:"conns_tested"` // Linux, of the sender
	System     string         `xml:"os"`
}

type ntttcpFigure struct {
	Metric string `xml:"metric,attr"`
	Value  string `xml:",chardata"`
}

type ntttcpSettings struct {
	Port string `xml:"port"`
	UDP  string `xml:"udp"`
	Time string `xml:"run_time"`
	All  string `xml:",innerxml"`
}

// ntttcpTests reads the ends that a file tells of: one, or with -sam several in <samples>.
func ntttcpTests(text string, f File) ([]test, error) {
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it is UTF-8 by now
	var all []test
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && len(all) > 0 {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not XML as NTttcp writes it (is it whole?): %w", noMore(err))
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local == "samples" {
			continue
		}
		if name := start.Name.Local; name != "ntttcps" && name != "ntttcpr" {
			return nil, fmt.Errorf("its element <%s> is none of NTttcp's: those are <ntttcps> and <ntttcpr>", result.Clip(result.Clean(name)))
		}
		var e ntttcpEnd
		if err := decoder.DecodeElement(&e, &start); err != nil {
			return nil, fmt.Errorf("not XML as NTttcp writes it (is it whole?): %w", err)
		}
		t, err := e.test(f)
		if err != nil {
			return nil, err
		}
		if all = append(all, t); len(all) > maxTests {
			return nil, fmt.Errorf("more than %d tests", maxTests)
		}
	}
}

// noMore says that there was nothing, rather than that it ended.
func noMore(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("there is no test in it")
	}
	return err
}

func (e ntttcpEnd) test(f File) (test, error) {
	t := test{file: f.Name, tool: ntttcpTool, version: result.Clip(result.Clean(e.Version)), started: f.Changed, kind: "stream", load: result.Options{"direction": "forward"}}
	t.doubts = []result.Doubt{{Kind: "time", Says: "NTttcp does not write when it ran: the time is that of the file"}}
	if e.Parameters.UDP == "True" {
		t.kind = "datagram"
	}
	seconds, err := e.Time.in("realtime", "s", mostSeconds)
	if err != nil {
		return t, err
	}
	bytes, err := e.bytes(seconds)
	if err != nil {
		return t, err
	}
	t.window = seconds
	if length, ok := count(e.Length); ok && length > 0 {
		t.load["message"] = length
	}
	one := end{told: true, own: true, host: result.Clip(result.Clean(e.Computer)), system: result.Clip(result.Clean(e.System)),
		sample: result.PairEnd{WindowSeconds: seconds, Bytes: bytes, Threads: len(e.Threads)}}
	if one.node, err = e.node(seconds); err != nil {
		return t, err
	}
	if e.XMLName.Local == "ntttcps" {
		if n, ok := count(e.Conns); ok && n > 0 {
			t.load["streams"] = n
		}
		one.sample.Offered = &result.Offered{}
		t.a = one
	} else {
		t.b = one
	}
	t.key = fmt.Sprintf("port %s, udp %s, time %s", e.Parameters.Port, e.Parameters.UDP, e.Parameters.Time)
	t.command = "NTttcp's parameters on " + one.host + ":" + e.Parameters.words()
	if one.node != nil {
		t.doubts = append(t.doubts, result.Doubt{Kind: "cpu-mean", Says: "NTttcp tells one figure for all CPUs of a machine: that of each CPU is their mean"})
	}
	return t, nil
}

// bytes are those of the test. A MB is 2^20 bytes for Windows' tool and 10^6 for later ones of Linux', and none says so: the
// rate in 10^6 bits a second, which both mean alike, tells which.
func (e ntttcpEnd) bytes(seconds float64) (uint64, error) {
	megabytes, err := e.Bytes.in("total_bytes", "MB", mostBytes/1e6)
	if err != nil {
		return 0, err
	}
	for _, r := range e.Rates {
		if r.Metric != "mbps" {
			continue
		}
		rate, err := r.in("throughput", "mbps", mostBytes)
		if err != nil {
			return 0, err
		}
		const rounding = 0.001 // of the rate's three decimals, as a figure in mbps
		for _, size := range []float64{1 << 20, 1e6} {
			if told := rate * 1e6 / 8 * seconds; math.Abs(megabytes*size-told) <= 0.01*told+rounding*1e6/8*seconds {
				return uint64(math.Round(megabytes * size)), nil
			}
		}
		return 0, fmt.Errorf("its figures contradict each other: %g MB in %g s are not %g Mbit/s", megabytes, seconds, rate)
	}
	return 0, errors.New("it has no throughput in mbps, which tells how large its megabytes are")
}

// in reads a figure in the unit in which it has to be.
func (f ntttcpFigure) in(what, metric string, most float64) (float64, error) {
	if f.Metric != metric {
		return 0, fmt.Errorf("its %s is in %q, not in %s", what, result.Clip(result.Clean(f.Metric)), metric)
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(f.Value), 64)
	if err != nil {
		return 0, fmt.Errorf("its %s is %q, which is no number", what, result.Clip(result.Clean(f.Value)))
	}
	return v, within("its "+what, v, most)
}

func count(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil && n >= 0 && n < 1e9
}

// mostCPUs bounds what a file says of a machine.
const mostCPUs = 4096

// node is the machine's CPU time: the tool tells the share of all CPUs together.
func (e ntttcpEnd) node(seconds float64) (*result.NodeSample, error) {
	busy, number := e.CPU, e.Processors
	if busy == nil {
		busy, number = e.Busy, e.Cores
	}
	cpus, ok := count(number)
	if busy == nil || !ok || cpus == 0 || cpus > mostCPUs || seconds <= 0 {
		return nil, nil
	}
	percent, err := busy.in("CPU use", "%", 101) // rounding
	if err != nil {
		return nil, err
	}
	n := result.NodeSample{WindowSeconds: seconds, CPUSource: ntttcpTool}
	for cpu := range int(cpus) {
		n.CPUs = append(n.CPUs, result.CPUSample{CPU: cpu, Busy: math.Min(percent, 100) / 100 * seconds})
	}
	return &n, nil
}

// words are the settings as the file has them, a line each, without the marks of XML.
func (s ntttcpSettings) words() string {
	const most = 200
	decoder := xml.NewDecoder(strings.NewReader(s.All))
	var text strings.Builder
	name, lines := "", 0
	for lines < most {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		switch token := token.(type) {
		case xml.StartElement:
			name = token.Name.Local
		case xml.CharData:
			if value := strings.TrimSpace(string(token)); name != "" && value != "" {
				fmt.Fprintf(&text, "\n  %s %s", result.Clip(result.Clean(name)), result.Clip(result.Clean(value)))
				lines++
			}
		case xml.EndElement:
			name = ""
		}
	}
	return text.String()
}
