package foreign

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"windtunnel/result"
)

// What real tools wrote stands where their protocols and their output are tested.
const (
	iperf3Files = "../traffic/generator/testdata"
	ntttcpFiles = "../traffic/ntttcp/command/testdata/golden"
)

func fileOf(t testing.TB, folder, name string) File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return File{Name: name, Text: text, Changed: time.Unix(1_700_000_000, 0)}
}

func imported(t *testing.T, o Options, files ...File) result.File {
	t.Helper()
	f, err := Import(files, o)
	if err != nil {
		t.Fatal(err)
	}
	return throughFile(t, f)
}

// throughFile writes the records and reads them back, as every later command does.
func throughFile(t testing.TB, f result.File) result.File {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := result.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	errs := []error{w.Run(f.Run)}
	for _, c := range f.Cells {
		errs = append(errs, w.Cell(c))
	}
	for _, trial := range f.Trials {
		errs = append(errs, w.Trial(trial))
	}
	for _, err := range append(errs, w.End(*f.End), w.Close()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	read, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// value is a metric of the only trial, or why there is none.
func value(f result.File, m result.Metric) string {
	v, err := f.Cells[0].Value(f.Trials[0], m)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.5g", v)
}

func TestIperf3(t *testing.T) {
	missing := "no file tells of the end"
	for name, want := range map[string]struct {
		files []string
		kind  string
		says  map[result.Metric]string
	}{
		"TCP, by the client": {[]string{"iperf3-tcp-client.json"}, "stream", map[result.Metric]string{
			result.SentRate: "3.9969e+07", result.ReceivedRate: "3.9883e+07", result.Retransmits: "0", result.CPUPercent("a"): "node a was not sampled"}},
		"TCP, by the server": {[]string{"iperf3-tcp-server.json"}, "stream", map[result.Metric]string{result.SentRate: missing, result.ReceivedRate: "3.9883e+07"}},
		"UDP, by the client": {[]string{"iperf3-udp-client.json"}, "datagram", map[result.Metric]string{
			result.SentRate: "1.1196e+07", result.ReceivedPacketRate: "997.92", result.Loss: "0", result.Jitter: "8.5632e-06", result.Reordered: "the generator does not tell it"}},
		"UDP, by both": {[]string{"iperf3-udp-server.json", "iperf3-udp-client.json"}, "datagram", map[result.Metric]string{result.SentRate: "1.1196e+07", result.ReceivedPacketRate: "997.92"}},
	} {
		var files []File
		for _, file := range want.files {
			files = append(files, fileOf(t, iperf3Files, file))
		}
		f := imported(t, Options{}, files...)
		if len(f.Cells) != 1 || len(f.Trials) != 1 || f.Cells[0].Traffic != want.kind || f.Run.Foreign != "iperf3 3.12" {
			t.Errorf("%s: %d cells, %d trials, %+v", name, len(f.Cells), len(f.Trials), f.Run)
			continue
		}
		for m, figure := range want.says {
			if got := value(f, m); !strings.Contains(got, figure) {
				t.Errorf("%s: %s is %s, want %s", name, m, got, figure)
			}
		}
	}
}

// A test's two files are one trial of it, in which each end is told by its own.
func TestTwoFilesOfOneTest(t *testing.T) {
	f := imported(t, Options{}, fileOf(t, iperf3Files, "iperf3-tcp-client.json"), fileOf(t, iperf3Files, "iperf3-tcp-server.json"))
	p := f.Trials[0].Pairs[0]
	if len(p.Sender.Intervals) < 9 || len(p.Receiver.Intervals) < 9 || p.Sender.Generator.Name != "iperf3" || !(p.Sender.CPUSeconds > 0 && p.Receiver.CPUSeconds > 0) {
		t.Errorf("%d and %d intervals, %g and %g s of CPU", len(p.Sender.Intervals), len(p.Receiver.Intervals), p.Sender.CPUSeconds, p.Receiver.CPUSeconds)
	}
	if load := f.Cells[0].Load; load.Int("message") != 1400 || load.Float("rate") != 4e7 || load.Text("congestion") != "bbr" {
		t.Errorf("load %v", load)
	}
}

func TestTrialsOfOneCell(t *testing.T) {
	client := fileOf(t, iperf3Files, "iperf3-tcp-client.json")
	again := client
	again.Name, again.Text = "again.json", []byte(strings.Replace(string(client.Text), "eqblf", "xxxxx", 1))
	f := imported(t, Options{Cell: "A", Suite: "mine"}, client, again)
	if len(f.Cells) != 1 || len(f.Trials) != 2 || f.Trials[1].Block != 2 || f.Run.Suite != "mine" || f.Cells[0].Name != "A" {
		t.Errorf("%+v", f.Cells)
	}
	if _, err := Import([]File{client, fileOf(t, iperf3Files, "iperf3-udp-client.json")}, Options{Cell: "A"}); err == nil || !strings.Contains(err.Error(), "cells of their own") {
		t.Errorf("TCP and UDP in one cell: %v", err)
	}
	other := again
	other.Text = []byte(strings.Replace(string(again.Text), `"num_streams":	1`, `"num_streams":	2`, 1))
	if _, err := Import([]File{client, other}, Options{Cell: "A"}); err == nil || !strings.Contains(err.Error(), "streams") {
		t.Errorf("other streams in one cell: %v", err)
	}
}

// A server's file has the tests of all its clients, and files of one name may lie in two folders: cells are apart where loads
// or files are.
func TestCellsOfFiles(t *testing.T) {
	text := func(streams int) string {
		return fmt.Sprintf(`{"start":{"accepted_connection":{},"test_start":{"protocol":"TCP","num_streams":%d,"blksize":1}},"end":{"sum_received":{"seconds":1,"bytes":9}}}`, streams)
	}
	f := imported(t, Options{}, File{Name: "one/x.json", Text: []byte(text(1) + text(2) + text(1))}, File{Name: "two/x.json", Text: []byte(text(1))})
	var got []string
	for _, trial := range f.Trials {
		got = append(got, fmt.Sprintf("%s %d", trial.Cell, trial.Block))
	}
	if strings.Join(got, ", ") != "x 1, x-2 1, x 2, x-3 1" {
		t.Error(got)
	}
}

// What flows back, or both ways, is counted at the right ends.
func TestDirectionsOfIperf3(t *testing.T) {
	const sums = `"sum_sent":{"seconds":2,"bytes":2000,"retransmits":7},"sum_received":{"seconds":2,"bytes":1000}`
	const back = `,"sum_sent_bidir_reverse":{"seconds":2,"bytes":8000},"sum_received_bidir_reverse":{"seconds":2,"bytes":4000}`
	text := func(direction, sums string) File {
		return File{Name: "x.json", Text: []byte(`{"start":{"version":"iperf 3.9","connecting_to":{"host":"h"},"test_start":{"protocol":"TCP","num_streams":1,"blksize":10` + direction + `}},"end":{` + sums + `}}`)}
	}
	reverse := imported(t, Options{}, text(`,"reverse":1`, sums))
	if p := reverse.Trials[0].Pairs[0]; p.Sender.Bytes != 1000 || p.Receiver.Bytes != 2000 || value(reverse, result.ReceivedRate) != "4000" || value(reverse, result.SentRate) != "8000" || value(reverse, result.Retransmits) != "7" {
		t.Errorf("reverse: %+v", p)
	}
	for _, said := range []string{`,"bidir":1`, ""} { // 3.12 does not say so at the start
		both := imported(t, Options{}, text(said, sums+back))
		if value(both, result.ReceivedRate) != "20000" || value(both, result.SentRate) != "40000" || both.Cells[0].Load.Text("direction") != "both" {
			t.Errorf("both ways: received %s, sent %s", value(both, result.ReceivedRate), value(both, result.SentRate))
		}
	}
	server := text(`,"bidir":1`, `"sum_received":{"seconds":2,"bytes":1000},"sum_sent_bidir_reverse":{"seconds":2,"bytes":8000}`)
	server.Text = []byte(strings.Replace(string(server.Text), "connecting_to", "accepted_connection", 1))
	if half := imported(t, Options{}, server); !strings.Contains(value(half, result.ReceivedRate), "in part") {
		t.Errorf("a server alone, both ways: received %s", value(half, result.ReceivedRate))
	}
}

// Before 3.2 a UDP test had one sum.
func TestOldUDP(t *testing.T) {
	f := imported(t, Options{}, File{Name: "old.json", Text: []byte(`{"start":{"version":"iperf 3.1.3","connecting_to":{},"test_start":{"protocol":"UDP","num_streams":1,"blksize":100}},
		"end":{"sum":{"seconds":10,"bytes":100000,"packets":1000,"lost_packets":50,"jitter_ms":0.5}}}`)})
	if value(f, result.Loss) != "5" || value(f, result.ReceivedPacketRate) != "95" || value(f, result.SentRate) != "80000" {
		t.Errorf("loss %s, received %s/s, sent %s", value(f, result.Loss), value(f, result.ReceivedPacketRate), value(f, result.SentRate))
	}
}

func TestNTttcp(t *testing.T) {
	f := imported(t, Options{}, fileOf(t, ntttcpFiles, "windows-sender.xml"))
	if value(f, result.SentRate) != "5.3333e+09" || value(f, result.CPUPercent("a")) != "46.667" || !strings.Contains(value(f, result.ReceivedRate), "no file tells") {
		t.Errorf("Windows: sent %s, CPU %s, received %s", value(f, result.SentRate), value(f, result.CPUPercent("a")), value(f, result.ReceivedRate))
	}
	if f.Cells[0].Load.Int("message") != 131072 || f.Run.Nodes[0].Fingerprint["foreign.host"] != "bench-<1>" || !strings.Contains(f.Cells[0].Configuration, "run_time 15000") {
		t.Errorf("Windows: %v %v %s", f.Cells[0].Load, f.Run.Nodes[0].Fingerprint, f.Cells[0].Configuration)
	}
	sender := fileOf(t, ntttcpFiles, "linux-sender.xml") // as long as the receiver's: the goldens are of several tests
	sender.Text = []byte(strings.Replace(string(sender.Text), "<run_time>15<", "<run_time>60<", 1))
	linux := imported(t, Options{}, sender, fileOf(t, ntttcpFiles, "linux-receiver.xml"))
	if len(linux.Trials) != 1 || value(linux, result.ReceivedRate) != "5.3333e+09" || value(linux, result.CPUPercent("b")) != "80" {
		t.Errorf("Linux: %d trials, received %s, CPU %s", len(linux.Trials), value(linux, result.ReceivedRate), value(linux, result.CPUPercent("b")))
	}
	samples := imported(t, Options{}, fileOf(t, ntttcpFiles, "windows-samples.xml"))
	if len(samples.Cells) != 1 || len(samples.Trials) < 2 {
		t.Errorf("samples: %d cells, %d trials", len(samples.Cells), len(samples.Trials))
	}
	if udp := imported(t, Options{}, fileOf(t, ntttcpFiles, "linux-udp.xml")); udp.Cells[0].Traffic != "datagram" {
		t.Errorf("UDP: %s", udp.Cells[0].Traffic)
	}
}

// Windows' shells redirect as UTF-16.
func TestUTF16(t *testing.T) {
	f := fileOf(t, ntttcpFiles, "windows-sender.xml")
	wide := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(string(f.Text))) {
		wide = append(wide, byte(unit), byte(unit>>8))
	}
	f.Text = wide
	if got := imported(t, Options{}, f); value(got, result.SentRate) != "5.3333e+09" {
		t.Error(value(got, result.SentRate))
	}
}

func TestWhatIsRefused(t *testing.T) {
	sender := string(fileOf(t, ntttcpFiles, "windows-sender.xml").Text)
	client := string(fileOf(t, iperf3Files, "iperf3-tcp-client.json").Text)
	for text, want := range map[string]string{
		"":                     "empty",
		"PK\x03\x04":           "neither JSON of iperf3",
		"{}":                   "test_start",
		`{"event":"start"}`:    "--json-stream",
		client[:len(client)/2]: "is it whole?",
		sender[:len(sender)/2]: "is it whole?",
		client + strings.Replace(client, `"sum_sent":	{`, `"sum_sent": {"bytes": "many",`, 1): `end.sum_sent.bytes is the text "many", and must be a number`,
		`{"start":{"test_start":{"protocol":7}}}`:                                             "`start.test_start` is not as iperf3 writes it: protocol is 7, and must be a text",
		"<html></html>":       "<html> is none of NTttcp's",
		"<samples></samples>": "no test in it",
		"<!DOCTYPE a [<!ENTITY b \"c\">]><ntttcps>&b;</ntttcps>":                                                     "not XML",
		`{"error":"unable to connect"}`:                                                                              "unable to connect",
		`{"start":{"test_start":{"protocol":"SCTP"}}}`:                                                               "only TCP and UDP",
		`{"start":{"test_start":{"protocol":"TCP","num_streams":1e300}}}`:                                            "cannot be",
		`{"start":{"connecting_to":{},"test_start":{"protocol":"TCP"}},"end":{}}`:                                    "did the test end?",
		`{"start":{"connecting_to":{},"test_start":{"protocol":"TCP"}},"end":{"sum_sent":{"seconds":-1,"bytes":5}}}`: "cannot be",
		strings.Replace(sender, `<throughput metric="mbps">5333.333`, `<throughput metric="mbps">9999.999`, 1):       "contradict",
		strings.Replace(sender, `<total_bytes metric="MB">`, `<total_bytes metric="GB">`, 1):                         `is in "GB"`,
		strings.Replace(sender, `<realtime metric="s">15.000000`, `<realtime metric="s">soon`, 1):                    "no number",
	} {
		_, err := Import([]File{{Name: "f", Text: []byte(text)}}, Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f: ") {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	if _, err := Import([]File{{Name: "f", Text: make([]byte, MaxFile+1)}}, Options{}); err == nil || !strings.Contains(err.Error(), "longer than 32 MiB") {
		t.Error(err)
	}
}

// A server that was stopped while it waited says so in a test of its own, which costs those before it nothing.
func TestServerThatWasStopped(t *testing.T) {
	server := string(fileOf(t, iperf3Files, "iperf3-tcp-server.json").Text)
	f := imported(t, Options{}, File{Name: "x", Text: []byte(server + `{"start":{"connected":[]},"intervals":[],"end":{},"error":"interrupt - the server has terminated"}`)})
	if len(f.Trials) != 1 || f.Trials[0].Excluded != "" || len(f.Cells[0].Doubts) != 1 || !strings.Contains(f.Cells[0].Doubts[0].Says, "interrupt") {
		t.Errorf("%+v", f.Cells[0].Doubts)
	}
}

// A test that failed is a trial that does not count, with what the tool said.
func TestFailedTest(t *testing.T) {
	f := imported(t, Options{}, File{Name: "x", Text: []byte(`{"start":{"connecting_to":{},"test_start":{"protocol":"TCP","num_streams":1}},"end":{},"error":"interrupt - \u001b[2Jthe client has terminated"}`)})
	if why := f.Trials[0].Excluded; !strings.HasPrefix(why, "iperf3 says: interrupt") || strings.Contains(why, "\x1b") {
		t.Errorf("%q", why)
	}
}

// Whatever a file holds, it is refused or becomes a run that can be written, read, and whose figures are numbers.
func FuzzImport(f *testing.F) {
	for _, text := range []string{ // short ones: the fuzzer takes a minute to make a whole file shorter
		`{"start":{"version":"iperf 3.9","cookie":"c","connecting_to":{"host":"h"},"test_start":{"protocol":"TCP","num_streams":1,"blksize":10,"bidir":1,"tos":4}},` +
			`"intervals":[{"sum":{"seconds":1,"bytes":9,"retransmits":1}}],"end":{"sum_sent":{"seconds":2,"bytes":20,"retransmits":7},"sum_received":{"seconds":2,"bytes":10},` +
			`"sum_sent_bidir_reverse":{"seconds":2,"bytes":8},"sum_received_bidir_reverse":{"seconds":2,"bytes":4},"cpu_utilization_percent":{"host_total":3}}}`,
		`{"start":{"accepted_connection":{},"test_start":{"protocol":"UDP","num_streams":2,"blksize":10}},"end":{"sum":{"seconds":1,"bytes":90,"packets":9,"lost_packets":1,"jitter_ms":1}}}{"error":"x"}`,
		`<samples><ntttcps version="5"><parameters><udp>False</udp></parameters><total_bytes metric="MB">1</total_bytes><realtime metric="s">1</realtime>` +
			`<throughput metric="mbps">8.389</throughput><cpu metric="%">5</cpu><num_processors>2</num_processors></ntttcps></samples>`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		run, err := Import([]File{{Name: "f", Text: text}}, Options{})
		if err != nil {
			return
		}
		for _, trial := range run.Trials {
			cell, ok := result.FindCell(run.Cells, trial.Cell)
			if !ok {
				t.Fatalf("a trial of cell %q, which is not there", trial.Cell)
			}
			for _, m := range []result.Metric{result.ReceivedRate, result.SentRate, result.Loss, result.CPUPercent("a"), result.Retransmits} {
				if v, err := cell.Value(trial, m); err == nil && (math.IsNaN(v) || math.IsInf(v, 0) || v < 0) {
					t.Fatalf("%s is %g", m, v)
				}
			}
		}
	})
}
