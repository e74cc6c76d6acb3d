package foreign

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// A server's file may hold thousands of tests, each of a load of its own: what it takes grows with their number, and not with its
// third power.
func TestManyLoadsInOneFile(t *testing.T) {
	const tests = 4000
	var text strings.Builder
	for n := range tests {
		fmt.Fprintf(&text, `{"start":{"accepted_connection":{},"cookie":"c%d","test_start":{"protocol":"TCP","num_streams":1,"blksize":%d}},"end":{"sum_received":{"seconds":1,"bytes":9}}}`, n%7, n+1)
	}
	began := time.Now()
	f, err := Import([]File{{Name: "x.json", Text: []byte(text.String())}}, Options{})
	if err != nil || len(f.Cells) != tests || f.Cells[tests-1].Name != fmt.Sprintf("x-%d", tests) {
		t.Fatalf("%d cells, %v", len(f.Cells), err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

// NTttcp's receiver is of the sender before it, also where the receiver of an earlier sender of the same settings is missing.
func TestReceiverFollowsItsSender(t *testing.T) {
	sender := fileOf(t, ntttcpFiles, "linux-sender.xml")
	sender.Text = []byte(strings.Replace(string(sender.Text), "<run_time>15<", "<run_time>60<", 1))
	alone := sender
	alone.Name = "alone.xml"
	f := imported(t, Options{}, alone, sender, fileOf(t, ntttcpFiles, "linux-receiver.xml"))
	if len(f.Trials) != 2 {
		t.Fatalf("%d trials", len(f.Trials))
	}
	if v, err := f.Cells[1].Value(f.Trials[1], result.ReceivedRate); err != nil {
		t.Errorf("the second sender's test has no received rate: %g, %v", v, err)
	}
}

// What came late after all iperf3 takes back in a later interval, by a number below zero, which 3.12 prints as one of 64 bits without
// a sign: the intervals lose together what the test lost.
func TestLostThatCameAfterAll(t *testing.T) {
	const intervals = `{"sum":{"seconds":1,"bytes":800,"packets":10,"lost_packets":2}},{"sum":{"seconds":1,"bytes":1200,"packets":11,"lost_packets":18446744073709551615}},
		{"sum":{"seconds":1,"bytes":1000,"packets":10,"lost_packets":0}}`
	f := imported(t, Options{}, File{Name: "x.json", Text: []byte(`{"start":{"version":"iperf 3.12","accepted_connection":{},"test_start":{"protocol":"UDP","num_streams":1,"blksize":100}},
		"intervals":[` + intervals + `],"end":{"sum_received":{"seconds":3,"bytes":3000,"packets":31,"lost_packets":1}}}`)})
	var lost, packets uint64
	for _, i := range f.Trials[0].Pairs[0].Receiver.Intervals {
		lost, packets = lost+i.Lost, packets+i.Packets
	}
	if end := f.Trials[0].Pairs[0].Receiver; lost != end.Arrived.Lost || packets != end.Packets || len(end.Intervals) != 3 {
		t.Errorf("%d of %d packets lost in %d intervals, %d of %d in all; %v", lost, packets, len(end.Intervals), end.Arrived.Lost, end.Packets, f.Cells[0].Doubts)
	}
}
