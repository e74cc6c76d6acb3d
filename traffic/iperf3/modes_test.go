package iperf3

import (
	"errors"
	"math"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestModes runs every mode between both own ends: both must tell the same story.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
	}{
		{"tcp", func(*Options) {}},
		{"tcp reverse", func(o *Options) { o.Reverse = true }},
		{"tcp bidirectional", func(o *Options) { o.Bidirectional = true }},
		{"tcp 4 streams", func(o *Options) { o.Parallel = 4 }},
		{"tcp bidirectional 3 streams", func(o *Options) { o.Bidirectional, o.Parallel = true, 3 }},
		{"tcp omit", func(o *Options) { o.Omit = time.Second }},
		{"tcp options", func(o *Options) {
			o.NoDelay, o.Window, o.TOS, o.Length, o.RepeatingPayload = true, 256<<10, 0x10, 1390, true
		}},
		{"tcp paced", func(o *Options) { o.BitsPerSecond = 50e6 }},
		{"tcp at a rate beyond every path", func(o *Options) { o.BitsPerSecond, o.Blocks, o.Duration = 500e9, 100, 0 }},
		{"udp", func(o *Options) { o.Protocol, o.BitsPerSecond = UDP, 20e6 }},
		{"udp 64 bit", func(o *Options) { o.Protocol, o.BitsPerSecond, o.Counters64Bit = UDP, 20e6, true }},
		{"udp reverse", func(o *Options) { o.Protocol, o.BitsPerSecond, o.Reverse = UDP, 20e6, true }},
		{"udp bidirectional 3 streams", func(o *Options) { o.Protocol, o.BitsPerSecond, o.Bidirectional, o.Parallel = UDP, 5e6, true, 3 }},
		{"udp 8 streams", func(o *Options) { o.Protocol, o.BitsPerSecond, o.Parallel = UDP, 2e6, 8 }},
		{"udp omit", func(o *Options) { o.Protocol, o.BitsPerSecond, o.Omit = UDP, 20e6, 200*time.Millisecond }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, ServerOptions{Interval: 100 * time.Millisecond})
			o := h.options()
			c.change(&o)
			client, err := run(t, o)
			if err != nil {
				t.Fatal(err)
			}
			mine, theirs := client.end(t), h.session(t, 1).end(t)
			compare(t, o, mine, theirs)
			if err := h.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// compare wants both ends' figures of each stream to be the same, from either side.
func compare(t *testing.T, o Options, mine, theirs End) {
	t.Helper()
	want := max(1, o.Parallel)
	if o.Bidirectional {
		want *= 2
	}
	if len(mine.Streams) != want || len(theirs.Streams) != want {
		t.Fatalf("%d and %d streams; want %d", len(mine.Streams), len(theirs.Streams), want)
	}
	for i, a := range mine.Streams {
		b := theirs.Streams[i]
		if a.ID != streamID(i) || b.ID != a.ID || a.Sender == b.Sender {
			t.Errorf("stream %d: ids %d and %d, senders %v and %v", i, a.ID, b.ID, a.Sender, b.Sender)
		}
		if a.Sent.Bytes != b.Sent.Bytes || a.Received.Bytes != b.Received.Bytes || a.Sent.Retransmits != b.Sent.Retransmits {
			t.Errorf("stream %d: the ends disagree: %+v and %+v", a.ID, a, b)
		}
		if a.Received.Bytes == 0 || a.Received.Seconds <= 0 || a.Received.BitsPerSecond <= 0 {
			t.Errorf("stream %d: nothing came: %+v", a.ID, a)
		}
		if a.UDP != nil && (a.UDP.Lost != b.UDP.Lost || a.UDP.SentPackets != b.UDP.SentPackets || math.Abs(a.UDP.JitterSeconds-b.UDP.JitterSeconds) > 1e-9) {
			t.Errorf("stream %d: the ends disagree: %+v and %+v", a.ID, a.UDP, b.UDP)
		}
	}
	if mine.Partial || theirs.Partial || mine.Remote != theirs.Local || mine.Local != theirs.Remote {
		t.Errorf("CPU %+v %+v and %+v %+v", mine.Local, mine.Remote, theirs.Local, theirs.Remote)
	}
}

// TestIntervals wants the intervals to add up to the whole, what is omitted apart.
func TestIntervals(t *testing.T) {
	for _, protocol := range []Protocol{TCP, UDP} {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			h := serve(t, ServerOptions{Interval: 100 * time.Millisecond})
			o := h.options()
			o.Protocol, o.Omit, o.BitsPerSecond = protocol, time.Second, 40e6
			client, err := run(t, o)
			if err != nil {
				t.Fatal(err)
			}
			checkIntervals(t, client, client.end(t).Streams[0].Sent)
			server := h.session(t, 1)
			checkIntervals(t, server, server.end(t).Streams[0].Received)
		})
	}
}

func checkIntervals(t *testing.T, r *record, whole Sum) {
	t.Helper()
	var sum uint64
	omitted, end := 0, 0.0
	for _, v := range r.intervals {
		if v.Omitted {
			omitted++
			continue
		}
		if v.Start != end {
			t.Errorf("an interval begins at %g, the last one ended at %g", v.Start, end)
		}
		end = v.End
		sum += v.Streams[0].Bytes
	}
	if omitted == 0 || len(r.intervals)-omitted < 2 {
		t.Errorf("%d omitted intervals, %d others", omitted, len(r.intervals)-omitted)
	}
	if left := whole.Bytes - sum; left > whole.Bytes/4 { // less than a tenth of an interval is no line
		t.Errorf("the intervals hold %d bytes, the whole %d", sum, whole.Bytes)
	}
}

// TestOneInterval: without intervals (-i 0) the whole is one.
func TestOneInterval(t *testing.T) {
	t.Parallel()
	h := serve(t, ServerOptions{})
	o := h.options()
	o.Interval, o.Omit = -1, time.Second
	r, err := run(t, o)
	if err != nil {
		t.Fatal(err)
	}
	sent := r.end(t).Streams[0].Sent
	if len(r.intervals) != 1 || r.intervals[0].Omitted || r.intervals[0].Streams[0].Bytes != sent.Bytes || r.intervals[0].Start != 0 {
		t.Errorf("%+v; want one of %d bytes", r.intervals, sent.Bytes)
	}
}

// TestBuffersAreTheEngines: what is told are the buffers while traffic runs.
func TestBuffersAreTheEngines(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a system that tells")
	}
	t.Parallel()
	usual := factsOf(loopbackUDP(t))
	h := serve(t, ServerOptions{})
	for _, window := range []int{0, 100_000} {
		o := h.options()
		o.Protocol, o.BitsPerSecond, o.Window = UDP, 1e6, window
		r, err := run(t, o)
		if err != nil {
			t.Fatal(err)
		}
		r.end(t)
		send, receive := r.starts[0].SendBufferActual, r.starts[0].ReceiveBufferActual
		if window == 0 && (send == usual.sendBuffer || receive == usual.receiveBuffer) || window > 0 && (send != 2*window || receive != 2*window) {
			t.Errorf("for a window of %d: %d and %d; a socket has %+v", window, send, receive, usual)
		}
	}
}

// TestMultipath takes MPTCP where the client asks for it, and TCP else.
func TestMultipath(t *testing.T) {
	if on, err := os.ReadFile("/proc/sys/net/mptcp/enabled"); err != nil || strings.TrimSpace(string(on)) != "1" {
		t.Skip("needs a kernel with net.mptcp.enabled=1")
	}
	h := serve(t, ServerOptions{SendTimeout: 5 * time.Second})
	for _, asked := range []bool{false, true} {
		var dialer net.Dialer
		dialer.SetMultipathTCP(asked)
		conn, err := dialer.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(h.port)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if got, err := conn.(*net.TCPConn).MultipathTCP(); err != nil || got != asked {
			t.Errorf("asked for MPTCP %t, got %t, %v", asked, got, err)
		}
		o := h.options()
		o.MultipathTCP, o.Bidirectional, o.SendTimeout = asked, true, 5*time.Second
		r, err := run(t, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.end(t).Streams {
			if s.Sent.Bytes == 0 || s.Received.Bytes == 0 {
				t.Errorf("MPTCP %t: %+v", asked, s)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	const bytes, blocks = 4 << 20, 37
	for _, c := range []struct {
		name   string
		change func(*Options)
		exact  uint64 // 0: at least the limit
		least  uint64
	}{
		{"bytes", func(o *Options) { o.Bytes = bytes }, bytes, bytes},
		{"blocks", func(o *Options) { o.Blocks = blocks }, blocks << 17, blocks << 17},
		{"bytes in no whole blocks", func(o *Options) { o.Bytes = 1_000_000 }, 8 << 17, 8 << 17},
		{"bytes in no whole blocks, reverse", func(o *Options) { o.Bytes, o.Reverse = 1_000_000, true }, 8 << 17, 8 << 17},
		{"bytes of 4 streams", func(o *Options) { o.Bytes, o.Parallel = 32*bytes, 4 }, 0, 32 * bytes},
		{"bytes reverse", func(o *Options) { o.Bytes, o.Reverse = bytes, true }, 0, bytes},
		{"blocks reverse", func(o *Options) { o.Blocks, o.Reverse = blocks, true }, 0, blocks << 17},
		{"bytes bidirectional", func(o *Options) { o.Bytes, o.Bidirectional = 32*bytes, true }, 0, 32 * bytes},
		{"bytes omit", func(o *Options) { o.Bytes, o.Omit = 32*bytes, 100*time.Millisecond }, 32 * bytes, 32 * bytes},
		{"blocks of 2 streams omit", func(o *Options) { o.Blocks, o.Parallel, o.Omit = 32*blocks, 2, 100*time.Millisecond }, 32 * blocks << 17, 32 * blocks << 17},
		{"udp bytes", func(o *Options) { o.Protocol, o.Bytes, o.Length, o.BitsPerSecond = UDP, 1<<20, 1024, 100e6 }, 1 << 20, 1 << 20},
		{"udp blocks", func(o *Options) { o.Protocol, o.Blocks, o.Length, o.BitsPerSecond = UDP, 1000, 1000, 100e6 }, 1000 * 1000, 1000 * 1000},
		{"udp blocks omit", func(o *Options) {
			o.Protocol, o.Blocks, o.Length, o.BitsPerSecond, o.Omit = UDP, 1000, 1000, 50e6, 100*time.Millisecond
		}, 1000 * 1000, 1000 * 1000},
		{"udp blocks reverse", func(o *Options) {
			o.Protocol, o.Blocks, o.Length, o.BitsPerSecond, o.Reverse = UDP, 1000, 1000, 50e6, true
		}, 0, 1000 * 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, ServerOptions{})
			o := h.options()
			o.Duration = 0
			c.change(&o)
			client, err := run(t, o)
			if err != nil {
				t.Fatal(err)
			}
			e := client.end(t)
			var sent, received uint64
			for _, s := range e.Streams {
				sent += s.Sent.Bytes
				received += s.Received.Bytes
			}
			if c.exact != 0 && (sent != c.exact || o.Protocol != UDP && o.Omit == 0 && received != c.exact) {
				t.Errorf("%d bytes sent and %d received; want %d", sent, received, c.exact)
			}
			least := c.least
			if o.Protocol == UDP { // a busy machine may lose some
				least /= 2
			}
			if sent < c.least || o.Omit == 0 && received < least {
				t.Errorf("%d bytes sent, %d received; want at least %d", sent, received, least)
			}
			compare(t, o, e, h.session(t, 1).end(t))
		})
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.Host = "" },
		func(o *Options) { o.Protocol = "sctp" },
		func(o *Options) { o.Bytes = 1 },
		func(o *Options) { o.Reverse, o.Bidirectional = true, true },
		func(o *Options) { o.Username = "somebody" },
		func(o *Options) { o.Parallel = 129 },
		func(o *Options) { o.Length = 2 << 20 },
		func(o *Options) { o.Protocol, o.Length = UDP, 15 },
		func(o *Options) { o.BitsPerSecond = math.NaN() },
		func(o *Options) { o.Burst = 1001 },
		func(o *Options) { o.ClientPort = 65536 },
	} {
		o := Options{Host: "127.0.0.1", Port: 1, Duration: time.Second}
		change(&o)
		r, err := run(t, o)
		if err == nil || !errors.Is(r.failure(t), err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
