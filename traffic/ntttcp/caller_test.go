package ntttcp

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/traffic"
)

// script is a receiver that says what it is told to: each step takes one message
// and answers with several, byte by byte, so that messages come in pieces.
func script(t *testing.T, steps ...[]int32) (conn net.Conn, heard <-chan []int32) {
	t.Helper()
	ours, theirs := loopback(t)
	all := make(chan []int32, 1)
	go func() {
		defer theirs.Close()
		var said []int32
		defer func() { all <- said }()
		for _, answers := range steps {
			value, err := readMessage(theirs)
			if err != nil {
				return
			}
			said = append(said, value)
			for _, answer := range answers {
				b := encodeMessage(answer)
				for i := range b {
					if _, err := theirs.Write(b[i : i+1]); err != nil {
						return
					}
				}
			}
		}
	}()
	return ours, all
}

// loopback is a TCP connection with itself: what one end writes waits for the other.
func loopback(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ours, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

func TestCallerSpeaksTheProtocol(t *testing.T) {
	conn, heard := script(t, []int32{notBegun}, []int32{60}, []int32{askRun}, []int32{finished})
	c := &caller{conn: conn}
	if err := c.negotiate(t.Context(), 15); err != nil {
		t.Fatal(err)
	}
	if c.total != 60 {
		t.Errorf("agreed on %d s, want the receiver's 60", c.total)
	}
	if err := c.start(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	c.finish(true)
	want := []int32{askState, 15, askRun, askEnd}
	if got := <-heard; !equalMessages(got, want) {
		t.Errorf("said %v, want %v", got, want)
	}
}

func equalMessages(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestCallerWaitsForTheLastClient(t *testing.T) {
	conn, _ := script(t, []int32{finished}, []int32{5}, []int32{sayWait, askRun})
	c := &caller{conn: conn}
	waited := false
	if err := c.negotiate(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if err := c.start(t.Context(), false, func() { waited = true }); err != nil || !waited {
		t.Errorf("%v, waited: %t", err, waited)
	}
}

// Trap (b): the original answers the last client twice; the second R lies before
// the answer to E.
func TestCallerSkipsTheSecondGo(t *testing.T) {
	conn, heard := script(t, []int32{notBegun}, []int32{5}, []int32{askRun, askRun}, []int32{finished})
	c := &caller{conn: conn}
	if err := c.negotiate(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if err := c.start(t.Context(), true, nil); err != nil {
		t.Fatal(err)
	}
	c.finish(true)
	if got := <-heard; len(got) != 4 || got[3] != askEnd {
		t.Errorf("said %v", got)
	}
}

// TestAUDPSenderSeesItsReceiverGo: no stream of its own ends. What a receiver with -M says meanwhile is not its end.
func TestAUDPSenderSeesItsReceiverGo(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	came := make(chan struct{})
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for _, answer := range []int32{notBegun, 20, askRun} {
			readMessage(conn)
			writeMessage(conn, answer)
		}
		writeMessage(conn, askRun)
		<-came
	}()
	var once sync.Once
	test := Test{
		Role: traffic.Send, Sync: SyncLinux, UDP: true, GoesOn: true, Message: 1000, SendBuffer: -1, ReceiveBuffer: -1, BitsPerSecond: 8e6, Run: 20 * time.Second,
		Threads: []Thread{{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port + 1, CPU: -1, Connections: 1}},
		Observe: func(uint64, time.Duration) { once.Do(func() { close(came) }) },
	}
	report, err := Run(t.Context(), test)
	if err != nil || !report.Cut || report.Early != string(byGone) || report.seconds() > 10 {
		t.Errorf("%v: %+v", err, report)
	}
}

// Trap (c): -L to a receiver without -M gets its last answer again, and an 82 is R.
func TestCallerKnowsAnEcho(t *testing.T) {
	for name, c := range map[string]struct {
		steps [][]int32
		want  string
	}{
		"60 again":        {[][]int32{{notBegun}, {60}, {60}}, "runs without -M"},
		"82 again":        {[][]int32{{notBegun}, {82}, {82}}, "runs without -M"},
		"82, and R twice": {[][]int32{{notBegun}, {82}, {82, 82}, {finished}}, ""},
		"refused":         {[][]int32{{notBegun}, {60}, {askEnd}}, "too many clients"},
		"state answered":  {[][]int32{{notBegun}, {60}, {notBegun}}, "-L"},
		"gone":            {[][]int32{{notBegun}, {60}, {}}, "ended the sync connection"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, _ := script(t, c.steps...)
			call := &caller{conn: conn}
			if err := call.negotiate(t.Context(), 15); err != nil {
				t.Fatal(err)
			}
			err := call.start(t.Context(), true, nil)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestCallerRefusesStrangers(t *testing.T) {
	for name, c := range map[string]struct {
		steps [][]int32
		want  string
	}{
		"busy":     {[][]int32{{running}}, "busy with another test"},
		"no tool":  {[][]int32{{0x48545450}}, "no ntttcp-for-linux receiver"}, // "HTTP"
		"gone":     {[][]int32{{}}, "ended the sync connection"},
		"time < 0": {[][]int32{{notBegun}, {-5}}, "a time of -5 s"},
		"too late": {[][]int32{{notBegun}, {}}, "another sender may have come first"},
	} {
		conn, _ := script(t, c.steps...)
		err := (&caller{conn: conn}).negotiate(t.Context(), 15)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestTokens(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	said := make(chan byte, 1)
	go func() {
		defer theirs.Close()
		var b [1]byte
		io.ReadFull(theirs, b[:])
		said <- b[0]
		theirs.Write([]byte{'X'})
	}()
	if err := swapTokens(ours, time.Now().Add(time.Minute)); err != nil {
		t.Error(err)
	}
	if got := <-said; got != 'X' {
		t.Errorf("the token is %q", got)
	}
	if err := swapTokens(ours, time.Now().Add(time.Minute)); err == nil {
		t.Error("a closed connection gave a token")
	}
}

func TestPorts(t *testing.T) {
	if b := encodePort(5002); b != [4]byte{0x8a, 0x13, 0, 0} {
		t.Errorf("5002 is %x, not 4 bytes little-endian", b)
	}
	for text, want := range map[string]int{"\x8a\x13\x00\x00": 5002, "\x00\x00\x00\x00": 0, "\x00\x00\x01\x00": 0, "\xff\xff\xff\xff": 0} {
		if got, err := readPort(strings.NewReader(text)); got != want || (err == nil) != (want > 0) {
			t.Errorf("%x: %d, %v", text, got, err)
		}
	}
	if _, err := readPort(strings.NewReader("\x8a\x13")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a port: %v", err)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte{0, 0, 0, 'X', 0, 0, 0, 69})
	f.Add([]byte{0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := strings.NewReader(string(b))
		for range len(b)/messageSize + 1 {
			before := r.Len()
			value, err := readMessage(r)
			if err == nil && before-r.Len() != messageSize {
				t.Fatalf("a message took %d bytes", before-r.Len())
			}
			if err == nil && decodeMessage(encodeMessage(value)) != value {
				t.Fatalf("%d does not come back", value)
			}
		}
		if port, err := readPort(strings.NewReader(string(b))); err == nil && (port < 1 || port > maxPort) {
			t.Fatalf("%d taken for a port", port)
		}
	})
}
