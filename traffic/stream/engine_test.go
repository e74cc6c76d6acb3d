package stream

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"windtunnel/traffic"
)

// connected is so many connections over loopback, both ends of each.
func connected(t *testing.T, n int) (near, far []*net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for range n {
		near = append(near, dial(t, ln.Addr().String()).(*net.TCPConn))
		conn, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		far = append(far, conn.(*net.TCPConn))
	}
	return near, far
}

func newTestEngine(t *testing.T, flows []Flow, c Config) *Engine {
	t.Helper()
	e, err := NewEngine(flows, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func awaitDone(t *testing.T, e *Engine) {
	t.Helper()
	select {
	case <-e.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the engine goes on after 10 s")
	}
}

func TestLimitsAreExact(t *testing.T) {
	cases := map[string]struct {
		config Config
		want   uint64
	}{
		"bytes":            {Config{LimitBytes: 1_000_001, Threads: 2}, 1_000_001},
		"messages":         {Config{Message: 1390, LimitCalls: 1000}, 1_390_000},
		"less than one":    {Config{LimitBytes: 5}, 5},
		"not whole ones":   {Config{Message: 1390, LimitBytes: 1_000_001, Threads: 2}, 1_000_001},
		"the lower of two": {Config{Message: 100, LimitCalls: 7, LimitBytes: 10_000}, 700},
		"each":             {Config{Message: 1390, LimitCalls: 200, LimitEach: true}, 3 * 278_000},
		"each, by threads": {Config{Message: 1390, LimitBytes: 1001, LimitEach: true, Threads: 3}, 3 * 1001},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			near, far := connected(t, 3)
			into := newTestEngine(t, flowsOf(far, traffic.Receive), Config{})
			from := newTestEngine(t, flowsOf(near, traffic.Send), c.config)
			into.Start()
			from.Start()
			awaitDone(t, from)
			if from.Err() != nil || sumBytes(from) != c.want {
				t.Errorf("sent %d bytes, want %d: %v", sumBytes(from), c.want, from.Err())
			}
			from.Close()
			awaitDone(t, into)
			if into.Err() != nil || sumBytes(into) != c.want {
				t.Errorf("received %d bytes, want %d: %v", sumBytes(into), c.want, into.Err())
			}
			for i, f := range into.Snapshot().Flows {
				if c.config.LimitEach && f.Bytes != c.want/3 {
					t.Errorf("flow %d brought %d bytes, want %d of each", i, f.Bytes, c.want/3)
				}
			}
		})
	}
}

// TestALimitOverSeveralFlowsEndsWithWholeMessages, whatever parts of them their sockets take at a time.
func TestALimitOverSeveralFlowsEndsWithWholeMessages(t *testing.T) {
	const message, messages, flows = 1 << 20, 5, 4
	near, far := connected(t, flows)
	for i := range near {
		near[i].SetWriteBuffer(32 << 10)
		far[i].SetReadBuffer(32 << 10)
	}
	from := newTestEngine(t, flowsOf(near, traffic.Send), Config{Message: message, LimitCalls: messages, Threads: 1})
	into := newTestEngine(t, flowsOf(far, traffic.Receive), Config{})
	from.Start()
	into.Start()
	awaitDone(t, from)
	sum := uint64(0)
	for i, f := range from.Snapshot().Flows {
		sum += f.Bytes
		if f.Bytes%message > 0 || f.Err != nil {
			t.Errorf("flow %d sent %g messages, %v", i, float64(f.Bytes)/message, f.Err)
		}
	}
	if sum != message*messages {
		t.Errorf("sent %g messages, want %d", float64(sum)/message, messages)
	}
}

func sumBytes(e *Engine) (sum uint64) {
	for _, f := range e.Snapshot().Flows {
		sum += f.Bytes
	}
	return sum
}

// TestWhatIsSentArrives reads every way of copying with a reader of its own.
func TestWhatIsSentArrives(t *testing.T) {
	payload := []byte("0123456789abcdefghijklmnopqrstuvwxyz-")
	cases := map[string]Config{
		CopyPlain:                 {Message: 100_000, LimitCalls: 20},
		CopyZero:                  {Message: 100_000, LimitCalls: 20, Copy: CopyZero},
		CopySendfile:              {Message: 100_000, LimitCalls: 20, Copy: CopySendfile},
		CopySplice:                {Message: 100_000, LimitCalls: 20, Copy: CopySplice},
		"splice, a page at most":  {Message: 1390, LimitCalls: 1000, Copy: CopySplice},
		"several messages a call": {Message: 1390, LimitCalls: 1000},
		"small, without a copy":   {Message: 1390, LimitCalls: 1000, Copy: CopyZero},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.Payload = payload
			if err := c.filled().check(); err != nil {
				t.Skip(err)
			}
			near, far := connected(t, 1)
			e := newTestEngine(t, flowsOf(near, traffic.Send), c)
			e.Start()
			got := make([]byte, int(c.LimitCalls)*c.Message)
			far[0].SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.ReadFull(far[0], got); err != nil {
				t.Fatal(err)
			}
			want := bytes.Repeat(payload, c.Message/len(payload)+1)[:c.Message]
			for i := 0; i < len(got); i += c.Message {
				if !bytes.Equal(got[i:i+c.Message], want) {
					t.Fatalf("message %d is not what was to be sent", i/c.Message)
				}
			}
			awaitDone(t, e)
			if calls := e.Snapshot().Flows[0].Calls; calls != c.LimitCalls {
				t.Errorf("counted %d messages, want %d", calls, c.LimitCalls)
			}
		})
	}
}

func TestFlowsFailAlone(t *testing.T) {
	near, far := connected(t, 2)
	e := newTestEngine(t, flowsOf(near, traffic.Send), Config{Message: 1000})
	arrived := make(chan int64)
	go func() {
		far[0].SetLinger(0)
		far[0].Close()
		n, _ := io.CopyN(io.Discard, far[1], 10<<20)
		arrived <- n
		io.Copy(io.Discard, far[1])
	}()
	e.Start()
	if n := <-arrived; n != 10<<20 {
		t.Fatalf("%d bytes arrived beside a flow that broke: %v", n, e.Err())
	}
	flows := e.Snapshot().Flows
	if flows[0].Err == nil || !flows[0].Ended || flows[1].Err != nil || flows[1].Ended || e.Err() == nil {
		t.Errorf("got %+v and %v", flows, e.Err())
	}
}

func TestFailTogether(t *testing.T) {
	near, far := connected(t, 2)
	e := newTestEngine(t, []Flow{{near[0], traffic.Send}, {near[1], traffic.Receive}}, Config{FailTogether: true})
	far[1].SetLinger(0)
	far[1].Close()
	go io.Copy(io.Discard, far[0])
	e.Start()
	awaitDone(t, e)
	if e.Err() == nil {
		t.Error("the engine ended without a reason")
	}
}

func TestHaltKeepsTheSockets(t *testing.T) {
	near, far := connected(t, 2)
	e := newTestEngine(t, []Flow{{near[0], traffic.Send}, {near[1], traffic.Receive}}, Config{})
	go io.Copy(io.Discard, far[0])
	e.Start()
	e.Halt()
	before := sumBytes(e)
	if _, err := far[1].Write(make([]byte, 1000)); err != nil {
		t.Error("the receiving socket was closed: ", err)
	}
	if after := sumBytes(e); after != before {
		t.Errorf("%d bytes moved after the halt", after-before)
	}
}

// TestBucketNeverOvershoots checks the whole of a run, which no noise can make
// faster.
func TestBucketNeverOvershoots(t *testing.T) {
	const rate, burst = 80e6, 20_000 // bit/s; bytes
	near, far := connected(t, 2)
	c := Config{Message: 1000, BitsPerSecond: rate, Pacing: PaceBucket, Burst: burst, LimitBytes: 2_000_000}
	into := newTestEngine(t, flowsOf(far, traffic.Receive), Config{})
	from := newTestEngine(t, flowsOf(near, traffic.Send), c)
	into.Start()
	began := time.Now()
	from.Start()
	awaitDone(t, from)
	took := time.Since(began).Seconds()
	if most := 2 * (rate/8*took + burst); float64(sumBytes(from)) > most {
		t.Errorf("sent %d bytes in %g s, at most %g were allowed", sumBytes(from), took, most)
	}
	if from.pacing.method != methodBucket || from.pacing.burst != burst {
		t.Errorf("paced by %+v", from.pacing)
	}
}
