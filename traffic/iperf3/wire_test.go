package iperf3

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// sent is what a control connection puts on the wire.
func sent(t *testing.T, write func(*control) error) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	c := newControl(context.Background(), a)
	defer c.release()
	failed := make(chan error, 1)
	go func() { failed <- write(c); a.Close() }()
	var got bytes.Buffer
	got.ReadFrom(b)
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return got.Bytes()
}

// received lets a control connection read what stands on the wire.
func received[T any](t *testing.T, wire []byte, read func(*control) (T, error)) (T, error) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	go func() { b.Write(wire); b.Close() }()
	c := newControl(context.Background(), a)
	defer c.release()
	return read(c)
}

// TestGoldenMessages are messages of iperf3 3.21, byte for byte.
func TestGoldenMessages(t *testing.T) {
	test, err := Options{Host: "h"}.test()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		message any
		prefix  []byte
		body    string
	}{
		{"parameters", newParams(test, Options{}), []byte{0, 0, 0, 0x7c},
			`{"tcp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":1,"len":131072,"pacing_timer":1000,"client_version":"3.21"}`},
		{"results", results{CPUTotal: 1.5, CPUUser: 0.5, CPUSystem: 1, HasRetransmits: 1, Streams: []streamResult{{ID: 1, Bytes: 1048576, EndTime: 10}}}, []byte{0, 0, 0, 0xf4},
			`{"cpu_util_total":1.5,"cpu_util_user":0.5,"cpu_util_system":1,"sender_has_retransmits":1,"streams":[{"id":1,"bytes":1048576,"retransmits":0,"jitter":0,"errors":0,"omitted_errors":0,"packets":0,"omitted_packets":0,"start_time":0,"end_time":10}]}`},
	} {
		got := sent(t, func(k *control) error { return k.sendJSON(c.message) })
		if want := append(c.prefix, c.body...); !bytes.Equal(got, want) {
			t.Errorf("%s: % x %s\nwant % x %s", c.name, got[:4], got[4:], want[:4], want[4:])
		}
	}
}

// TestReadsGolden reads the golden results, whose 10.0 Go writes as 10.
func TestReadsGolden(t *testing.T) {
	body := `{"cpu_util_total":1.5,"cpu_util_user":0.5,"cpu_util_system":1,"sender_has_retransmits":1,"streams":[{"id":1,"bytes":1048576,"retransmits":0,"jitter":0,"errors":0,"omitted_errors":0,"packets":0,"omitted_packets":0,"start_time":0,"end_time":10.0}]}`
	if len(body) != 0xf6 {
		t.Fatalf("the vector has %d bytes", len(body))
	}
	wire := append([]byte{0, 0, 0, 0xf6}, body...)
	got, err := received(t, wire, func(k *control) ([]byte, error) { return k.receiveJSON(maxResults, time.Second) })
	if err != nil {
		t.Fatal(err)
	}
	r, err := readResults(got, map[int]bool{1: true})
	if err != nil || r.Streams[0].Bytes != 1048576 || r.Streams[0].EndTime != 10 || !r.Streams[0].tellsOmitted {
		t.Errorf("%+v, %v", r, err)
	}
	// iperf3 3.12 writes -1 so, and tells no omitted part.
	old := strings.Replace(strings.Replace(body, `"retransmits":0`, `"retransmits":1.8446744073709552e+19`, 1), `"omitted_errors":0,"packets":0,"omitted_packets":0`, `"packets":0`, 1)
	if r, err = readResults([]byte(old), map[int]bool{1: true}); err != nil || r.Streams[0].Retransmits != -1 || r.Streams[0].tellsOmitted {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestStatesOnTheWire(t *testing.T) {
	for s, want := range map[state]byte{testStart: 1, testRunning: 2, testEnd: 4, paramExchange: 9, createStreams: 10, serverTerminate: 11,
		clientTerminate: 12, exchangeResults: 13, displayResults: 14, iperfDone: 16, accessDenied: 0xff, serverErrorState: 0xfe} {
		if got := sent(t, func(k *control) error { return k.sendState(s) }); !bytes.Equal(got, []byte{want}) {
			t.Errorf("%s is % x, want %x", s, got, want)
		}
	}
	got := sent(t, func(k *control) error { return k.sendError(ErrorAuth, 13) })
	if want := []byte{0xfe, 0, 0, 0, 142, 0, 0, 0, 13}; !bytes.Equal(got, want) {
		t.Errorf("an error is % x, want % x", got, want)
	}
	_, err := received(t, want(9, got), func(k *control) (any, error) { return nil, k.expect(createStreams, time.Second) })
	var refused *ServerError
	if !asServerError(err, &refused) || refused.Number != 142 || refused.Errno != 13 {
		t.Errorf("it reads as %v", err)
	}
}

func want(n int, b []byte) []byte { return b[:n] }

func asServerError(err error, to **ServerError) bool {
	e, ok := err.(*ServerError)
	*to = e
	return ok
}

// TestLengthsThatLie announces more than comes, or than is taken.
func TestLengthsThatLie(t *testing.T) {
	for _, wire := range [][]byte{
		{0xff, 0xff, 0xff, 0xff, '{', '}'},
		{0, 0, 0x20, 1, '{', '}'},
		{0, 0, 0, 3, '{', '}'},
		{0, 0, 0, 0},
		{0, 0, 0},
	} {
		if got, err := received(t, wire, func(k *control) ([]byte, error) { return k.receiveJSON(maxParameters, time.Second) }); err == nil {
			t.Errorf("% x was taken: %q", wire, got)
		}
	}
}

const plainParams = `{"tcp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":1,"len":131072,"client_version":"3.12"}`

// TestParameters changes one field of a client's message at a time.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		field string // name:value; "-name" takes it out
		ok    bool
	}{
		{`"x":1`, true}, {`"extra_data":"\u0000é"`, true}, {`"unheard":{"of":[1]}`, true},
		{`"tcp":1`, true}, {`"tcp":"yes"`, false}, {`"tcp":null`, false}, {`"tcp":false`, false}, {`"udp":true`, false}, {`"sctp":true`, false},
		{`"time":"10"`, false}, {`"time":1e300`, false}, {`"time":-1`, false}, {`"time":86401`, false}, {`"time":3.7`, true}, {`"time":0`, true}, {`"time":[]`, false},
		{`"omit":600`, true}, {`"omit":601`, false}, {`"num":9223372036854775807`, true}, {`"num":9223372036854775808`, false}, {`"num":-5`, false},
		{`"parallel":0`, false}, {`"parallel":128`, true}, {`"parallel":129`, false}, {`"parallel":true`, false},
		{`"len":0`, false}, {`"len":1048576`, true}, {`"len":1048577`, false}, {`"len":4294967296`, false},
		{`"MSS":32768`, false}, {`"window":536870912`, true}, {`"window":536870913`, false}, {`"burst":1001`, false}, {`"TOS":256`, false},
		{`"bandwidth":1e18`, true}, {`"bandwidth":-1`, false}, {`"fqrate":"1"`, false}, {`"server_affinity":1025`, false},
		{`"congestion":"reno"`, true}, {`"congestion":"0123456789abcdef"`, false}, {`"congestion":5`, false}, {`"title":7`, false}, {`"authtoken":{}`, false},
		{`"get_server_output":1`, true}, {`"get_server_output":true`, true}, {`"get_server_output":"1"`, false},
		{`"reverse":true,"bidirectional":true`, false},
	} {
		body := strings.TrimSuffix(plainParams, "}") + "," + c.field + "}" // of two of a name the last counts
		if _, err := readParams([]byte(body)); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.field, err)
		}
	}
	for _, body := range []string{"", "null", "[]", "1", `"x"`, "{", "{}", `{"tcp":true}`, strings.Repeat("[", 8000), `{"udp":true,"len":15}`, `{"udp":true,"len":65508}`} {
		if _, err := readParams([]byte(body)); err == nil {
			t.Errorf("%.30q was taken as parameters", body)
		}
	}
	p, err := readParams([]byte(`{"udp":true,"time":5,"udp_counters_64bit":1,"gso":1}`))
	if err != nil || p.test(0).Length != DefaultUDPLength || !p.test(0).Counters64Bit || !p.test(0).GSO {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestParametersRoundTrip reads what this end writes.
func TestParametersRoundTrip(t *testing.T) {
	o := Options{
		Host: "h", Protocol: UDP, Duration: 1500 * time.Millisecond, Omit: 2 * time.Second, Parallel: 7, Bidirectional: true, Length: 1400,
		BitsPerSecond: 3e9, Burst: 10, FQRate: 4e9, Window: 1 << 20, MSS: 1000, NoDelay: true, TOS: 184, Congestion: "reno",
		DontFragment: true, ZeroCopy: true, SkipReceiveCopy: true, Counters64Bit: true, RepeatingPayload: true, GSO: true, GRO: true,
		Title: "t", ExtraData: "e", GetServerOutput: true, ServerAffinity: 3,
	}
	asked, err := o.test()
	if err != nil {
		t.Fatal(err)
	}
	body, _ := json.Marshal(newParams(asked, o))
	p, err := readParams(body)
	if err != nil {
		t.Fatal(err)
	}
	heard := p.test(asked.Interval)
	asked.Duration = 2 * time.Second // on the wire in whole seconds
	if heard != asked || *p.ServerAffinity != 2 {
		t.Errorf("heard %+v\nasked %+v", heard, asked)
	}
}

func TestResultsThatLie(t *testing.T) {
	const stream = `{"id":1,"bytes":5,"retransmits":0,"jitter":0,"errors":0,"packets":0}`
	const top = `{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":1,"sender_has_retransmits":0,"streams":[%]}`
	for _, c := range []struct {
		streams string
		ok      bool
	}{
		{stream, true}, {"", false}, {stream + "," + stream, false}, {strings.Replace(stream, `"id":1`, `"id":2`, 1), false},
		{strings.Replace(stream, `"bytes":5`, `"bytes":"5"`, 1), false}, {strings.Replace(stream, `"bytes":5`, `"bytes":-5`, 1), false},
		{strings.Replace(stream, `"bytes":5,`, ``, 1), false}, {strings.Replace(stream, `}`, `,"omitted_errors":1}`, 1), false},
		{strings.Replace(stream, `"jitter":0`, `"jitter":-1`, 1), false}, {"7", false}, {"null", false},
		{strings.Replace(stream, `"jitter":0`, `"jitter":1e300`, 1), false}, {strings.Replace(stream, `}`, `,"end_time":1e-300}`, 1), false},
		{strings.Replace(stream, `}`, `,"omitted_errors":0,"omitted_packets":1}`, 1), false}, {strings.Replace(stream, `}`, `,"start_time":2,"end_time":1}`, 1), false},
	} {
		if _, err := readResults([]byte(strings.Replace(top, "%", c.streams, 1)), map[int]bool{1: true}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.streams, err)
		}
	}
}

func TestCookies(t *testing.T) {
	a, b := newCookie(), newCookie()
	if a == b || a.check() != nil || len(a.String()) != 36 || strings.Trim(a.String(), cookieAlphabet) != "" {
		t.Errorf("cookies %q and %q", a, b)
	}
	for _, c := range []cookie{{}, cookie(bytes.Repeat([]byte("a"), cookieSize)), cookie(append(bytes.Repeat([]byte{1}, 36), 0))} {
		if c.check() == nil {
			t.Errorf("%q was taken as a cookie", c[:])
		}
	}
}

func TestStreamIDs(t *testing.T) {
	for i, want := range []int{1, 3, 4, 5, 6} {
		if got := streamID(i); got != want {
			t.Errorf("stream %d has the id %d, want %d", i, got, want)
		}
	}
}

func TestGreetings(t *testing.T) {
	for hello, reply := range map[string]string{
		"9876": "6789", "6789": "9876", "\x15\xcd\x5b\x07": "\xb1\x68\xde\x3a", "\x07\x5b\xcd\x15": "\x3a\xde\x68\xb1",
	} {
		if got, ok := replyTo([]byte(hello)); !ok || string(got) != reply {
			t.Errorf("%q is answered with %q", hello, got)
		}
	}
	for _, data := range []string{"", "987", "98765", "0000", strings.Repeat("9876", 4)} {
		if _, ok := replyTo([]byte(data)); ok {
			t.Errorf("%q was taken for a greeting", data)
		}
	}
}

// TestHeaders puts numbers where iperf3 has them.
func TestHeaders(t *testing.T) {
	var b [wideHeader]byte
	stamp := stampOf(7*second+654321000+999, 1<<33+5)
	header{wide: true}.Put(b[:], stamp)
	if want := []byte{0, 0, 0, 7, 0, 9, 0xfb, 0xf1, 0, 0, 0, 2, 0, 0, 0, 5}; !bytes.Equal(b[:], want) {
		t.Errorf("% x, want % x", b, want)
	}
	if got, ok := (header{wide: true}).Get(b[:]); !ok || got.Seq != stamp.Seq || got.Sent != stamp.Sent-999 {
		t.Errorf("%+v, %v", got, ok)
	}
	header{}.Put(b[:], stampOf(0, 9))
	if binary.BigEndian.Uint32(b[8:]) != 9 {
		t.Errorf("% x", b)
	}
	for _, c := range []struct {
		h header
		b []byte
	}{{header{}, b[:11]}, {header{wide: true}, b[:15]}, {header{}, make([]byte, 12)}, {header{}, []byte{0, 0, 0, 1, 0, 0x0f, 0x42, 0x40, 0, 0, 0, 1}}} {
		if s, ok := c.h.Get(c.b); ok {
			t.Errorf("% x was read as %+v", c.b, s)
		}
	}
}

// lateConn takes its time to wake who reads, as a busy machine does.
type lateConn struct{ *net.TCPConn }

func (c lateConn) SetReadDeadline(until time.Time) error {
	if until.Before(time.Now()) {
		time.Sleep(20 * time.Millisecond)
	}
	return c.TCPConn.SetReadDeadline(until)
}

// TestPartingOutlastsTheInterrupt: the end of the context, which wakes readers, must not
// end the wait for the peer's close, or its streams break before it has read why.
func TestPartingOutlastsTheInterrupt(t *testing.T) {
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	peer, err := net.DialTCP("tcp", nil, ln.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ln.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := newControl(ctx, lateConn{conn})
	cancel()
	var gone atomic.Bool
	time.AfterFunc(60*time.Millisecond, func() {
		gone.Store(true)
		peer.Close()
	})
	c.closeInOrder()
	if !gone.Load() {
		t.Error("it did not wait for the peer")
	}
}
