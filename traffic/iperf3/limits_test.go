package iperf3

import (
	"errors"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"
)

func TestServerLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		server ServerOptions
		change func(*Options)
		number int // of the error; 0: terminated
	}{
		{"asks for too long", ServerOptions{MaxTime: time.Second}, func(o *Options) { o.Duration = 2 * time.Second }, ErrorMaxDuration},
		{"does not say how long", ServerOptions{MaxTime: time.Minute, TimedOnly: true}, func(o *Options) { o.Duration, o.Bytes = 0, 1<<20 }, ErrorMaxDuration},
		{"asks for a CPU that is not there", ServerOptions{}, func(o *Options) { o.ServerAffinity = 1001 }, ErrorAffinity},
		{"asks for too much", ServerOptions{MaxRate: 1e6}, func(o *Options) { o.BitsPerSecond, o.Parallel = 6e5, 2 }, ErrorTotalRate},
		{"sends too fast", ServerOptions{MaxRate: 1e6, RateAverage: 300 * time.Millisecond}, func(o *Options) { o.Duration = 5 * time.Second }, ErrorTotalRate},
		{"asks for too many bytes", ServerOptions{MaxBytes: 1 << 10}, func(o *Options) { o.Duration, o.Bytes = 0, 1<<20 }, 0},
		{"asks for too many blocks", ServerOptions{MaxBytes: 1 << 10}, func(o *Options) { o.Duration, o.Blocks, o.Length = 0, 2, 1000 }, 0},
		{"sends too much", ServerOptions{MaxBytes: 64 << 20}, func(o *Options) { o.Duration = 5 * time.Second }, 0},
		{"receives too much", ServerOptions{MaxBytes: 64 << 20}, func(o *Options) { o.Duration, o.Reverse = 5*time.Second, true }, 0},
		{"lasts too long", ServerOptions{MaxTime: 300 * time.Millisecond}, func(o *Options) { o.Duration, o.Bytes, o.BitsPerSecond = 0, 1<<40, 1e6 }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serve(t, c.server)
			o := h.options()
			c.change(&o)
			since := time.Now()
			r, err := run(t, o)
			var refused *ServerError
			if errors.As(err, &refused) && refused.Number != c.number || refused == nil && (c.number != 0 || !errors.Is(err, ErrServerTerminated)) {
				t.Errorf("%v; want error %d", err, c.number)
			}
			began := len(r.starts) > 0
			if asked := o.Bytes+o.Blocks > 0 && c.server.MaxBytes > 0; asked && began {
				t.Error("it began")
			} else if !asked && c.number == 0 && (len(r.ends) != 1 || !r.ends[0].Partial || r.ends[0].Streams[0].Sent.Bytes+r.ends[0].Streams[0].Received.Bytes == 0) {
				t.Errorf("what there was is not told: %+v", r.ends)
			}
			if took := time.Since(since); took > 4*time.Second {
				t.Errorf("it took %s", took)
			}
			h.session(t, 1).failure(t)
		})
	}
}

// TestACPUThatIsNotThere is refused with the system's reason, as by iperf3's server.
func TestACPUThatIsNotThere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("errnos are told as Linux numbers them")
	}
	h := serve(t, ServerOptions{})
	o := h.options()
	o.ServerAffinity = 1001
	_, err := run(t, o)
	var refused *ServerError
	if !errors.As(err, &refused) || *refused != (ServerError{ErrorAffinity, int(syscall.EINVAL)}) {
		t.Errorf("%v", err)
	}
}

// TestLateEnd: a client whose test lasts as long as it may is not cut short because
// its end is under way.
func TestLateEnd(t *testing.T) {
	t.Parallel()
	h := serve(t, ServerOptions{MaxTime: time.Second})
	r := h.rude(t)
	r.say(`{"tcp":true,"time":1,"len":1024}`)
	r.expect(createStreams, 5*time.Second)
	r.stream()
	r.expect(testStart, 5*time.Second)
	if err := r.expect(testRunning, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond) // the latency
	r.sendState(testEnd)
	if err := r.expect(exchangeResults, 5*time.Second); err != nil {
		t.Error(err)
	}
}

// TestSlowSender: a server that sends seldom waits for nothing that should come.
func TestSlowSender(t *testing.T) {
	t.Parallel()
	h := serve(t, ServerOptions{ReceiveTimeout: 100 * time.Millisecond, StallTimeout: time.Second})
	o := h.options()
	o.Duration, o.Reverse, o.Length, o.BitsPerSecond = 900*time.Millisecond, true, 50_000, 1e6
	r, err := run(t, o)
	if err != nil {
		t.Fatal(err)
	}
	r.end(t)
}

// TestSilentConnections do not keep others out, however many they are, nor fill the
// log.
func TestSilentConnections(t *testing.T) {
	h := serve(t, ServerOptions{})
	var silent []net.Conn
	for range mostUnknown + 10 {
		silent = append(silent, h.dial(t))
	}
	h.alive(t)
	for _, c := range silent {
		c.Close()
	}
	h.stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.refused) > 2 {
		t.Errorf("%d lines tell of them, such as %v", len(h.refused), h.refused[1])
	}
}

// TestAServerEndsAtTheLimit of what it sends by itself, as iperf3's does: a client's word comes only when more has left.
func TestAServerEndsAtTheLimit(t *testing.T) {
	h := serve(t, ServerOptions{})
	for number, c := range []struct {
		bytes, blocks uint64
		parallel      int
	}{{1 << 20, 0, 1}, {0, 10, 1}, {1 << 20, 0, 4}} {
		o := h.options()
		o.Reverse, o.Duration, o.Bytes, o.Blocks, o.Length, o.Parallel = true, 0, c.bytes, c.blocks, 1<<17, c.parallel
		r, err := run(t, o)
		if err != nil {
			t.Fatal(err)
		}
		want := max(c.bytes, c.blocks<<17)
		for name, end := range map[string]End{"client": r.end(t), "server": h.session(t, uint64(number+1)).end(t)} {
			var sent, received uint64
			for _, s := range end.Streams {
				sent, received = sent+s.Sent.Bytes, received+s.Received.Bytes
			}
			if sent != want || received != want {
				t.Errorf("%+v: by the %s %d bytes were sent and %d received, want %d", c, name, sent, received, want)
			}
		}
	}
}

// TestBothEndsCountTheSameBehindAnOmission: a sender that minds the limit has sent that when what is omitted ends, so that the
// path is empty where both ends begin to count. Whoever receives does not take it for one that is silent: it rests for 0.9 s and more.
func TestBothEndsCountTheSameBehindAnOmission(t *testing.T) {
	const bytes = 4 << 20
	for name, change := range map[string]func(*Options){
		"bytes":               func(o *Options) { o.Bytes = bytes },
		"blocks of 2 streams": func(o *Options) { o.Blocks, o.Parallel = bytes>>17, 2 },
		"in bursts":           func(o *Options) { o.Bytes, o.BitsPerSecond, o.Burst = bytes, 400e6, 4 },
		"of datagrams":        func(o *Options) { o.Protocol, o.Bytes, o.Length, o.BitsPerSecond, o.Burst = UDP, 64<<10, 1024, 50e6, 2 },
		"reverse":             func(o *Options) { o.Bytes, o.Reverse, o.ReceiveTimeout = bytes, true, 600*time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, ServerOptions{ReceiveTimeout: 600 * time.Millisecond, StallTimeout: 600 * time.Millisecond})
			o := h.options()
			o.Duration, o.Omit = 0, time.Second
			change(&o)
			client, err := run(t, o)
			if err != nil {
				t.Fatal(err)
			}
			var omitted, sent, received uint64
			sender := client
			if o.Reverse {
				sender = h.session(t, 1)
			}
			for _, v := range sender.intervals {
				for _, s := range v.Streams {
					omitted += s.Bytes * uint64(one(v.Omitted))
				}
			}
			for _, s := range client.end(t).Streams {
				sent, received = sent+s.Sent.Bytes, received+s.Received.Bytes
			}
			limit := max(o.Bytes, o.Blocks<<17)
			if omitted != limit || sent != limit || o.Protocol != UDP && received != limit {
				t.Errorf("%d bytes omitted, %d sent, %d received; the limit is %d", omitted, sent, received, limit)
			}
		})
	}
}

// TestAServerOfDatagramsEndsAtTheLimit where its client says that it waits for none that was lost.
func TestAServerOfDatagramsEndsAtTheLimit(t *testing.T) {
	for name, c := range map[string]struct {
		omit   time.Duration
		length int
	}{"at once": {0, 1000}, "omitting": {time.Second, 1000}, "of a length that its connection tells": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, ServerOptions{})
			o := h.options()
			o.Protocol, o.Reverse, o.Duration, o.Omit, o.Blocks, o.Length = UDP, true, 0, c.omit, 100, c.length
			client, err := run(t, o)
			if err != nil {
				t.Fatal(err)
			}
			for who, end := range map[string]End{"client": client.end(t), "server": h.session(t, 1).end(t)} {
				if sent := end.Streams[0].UDP.SentPackets; sent != 100 {
					t.Errorf("by the %s %d datagrams were sent; want 100", who, sent)
				}
			}
		})
	}
}

// TestNeitherDirectionGoesOverTheLimit: the test ends when one has come to it, and what the other one has is no more. Behind
// what is omitted both ends count from where the server goes on.
func TestNeitherDirectionGoesOverTheLimit(t *testing.T) {
	const bytes = 4 << 20
	for name, change := range map[string]func(*Options){
		"bytes":               func(o *Options) { o.Bytes = bytes },
		"blocks of 2 streams": func(o *Options) { o.Blocks, o.Parallel = bytes>>17, 2 },
		"omitting":            func(o *Options) { o.Bytes, o.Omit = bytes, time.Second },
		"omitting, datagrams": func(o *Options) {
			o.Protocol, o.Length, o.Bytes, o.Omit, o.BitsPerSecond, o.Burst = UDP, 1024, bytes, time.Second, 200e6, 4
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, ServerOptions{})
			o := h.options()
			o.Duration, o.Bidirectional = 0, true
			change(&o)
			client, err := run(t, o)
			if err != nil {
				t.Fatal(err)
			}
			var sent, received [2]uint64
			for i, s := range client.end(t).Streams {
				way := i / max(1, o.Parallel)
				sent[way] += s.Sent.Bytes
				received[way] += s.Received.Bytes
				if o.Protocol != UDP && s.Received.Bytes > s.Sent.Bytes {
					t.Errorf("stream %d: %d bytes sent and %d received", s.ID, s.Sent.Bytes, s.Received.Bytes)
				}
			}
			if max(sent[0], sent[1]) != bytes || o.Protocol != UDP && max(received[0], received[1]) != bytes {
				t.Errorf("%d bytes sent, %d received; the limit is %d", sent, received, bytes)
			}
			for _, v := range client.intervals {
				if s := v.Streams[0]; v.Omitted && o.Protocol != UDP && s.TCP == nil {
					t.Errorf("the state of what was sent is missing: %+v", v)
				}
			}
		})
	}
}

// TestWhoMindsALimit: senders of several blocks in a row, as iperf3's.
func TestWhoMindsALimit(t *testing.T) {
	for name, c := range map[string]struct {
		test Test
		want uint64
	}{
		"bytes":            {Test{Length: 1000, Omit: time.Second, Bytes: 1500}, 2000},
		"blocks":           {Test{Length: 1000, Omit: time.Second, Blocks: 3}, 3000},
		"bursts":           {Test{Length: 1000, Omit: time.Second, Blocks: 3, BitsPerSecond: 1e6, Burst: 2}, 3000},
		"paced":            {Test{Length: 1000, Omit: time.Second, Blocks: 3, BitsPerSecond: 1e6}, 0},
		"bursts of one":    {Test{Length: 1000, Omit: time.Second, Blocks: 3, Burst: 1}, 0},
		"nothing omitted":  {Test{Length: 1000, Blocks: 3}, 0},
		"ends by its time": {Test{Length: 1000, Omit: time.Second, Duration: time.Second}, 0},
	} {
		if got := c.test.first(); got != c.want {
			t.Errorf("%s: it stops at %d bytes of what is omitted, want %d", name, got, c.want)
		}
	}
}

// TestWhoHasALimit: an end of what it sends; a server not of datagrams that it alone sends, which may be lost, nor where something is omitted
// without a pause behind it, as it ends at each end in its own time.
func TestWhoHasALimit(t *testing.T) {
	for name, c := range map[string]struct {
		test           Test
		client, server bool
	}{
		"TCP":             {Test{Protocol: TCP}, true, false},
		"UDP":             {Test{Protocol: UDP}, true, false},
		"TCP back":        {Test{Protocol: TCP, Reverse: true}, false, true},
		"UDP back":        {Test{Protocol: UDP, Reverse: true}, false, false},
		"UDP, ends quiet": {Test{Protocol: UDP, Reverse: true, EndsQuiet: true}, false, true},
		"both ways":       {Test{Protocol: TCP, Bidirectional: true}, true, true},
		"UDP both ways":   {Test{Protocol: UDP, Bidirectional: true}, true, true},
		"omitting, both":  {Test{Protocol: TCP, Omit: time.Second, Bidirectional: true, BitsPerSecond: 1e6}, true, false},
		"omitting":        {Test{Protocol: TCP, Omit: time.Second}, true, false},
		"omitting, back":  {Test{Protocol: TCP, Omit: time.Second, Reverse: true, BitsPerSecond: 1e6}, false, false},
		"pausing, back":   {Test{Protocol: TCP, Omit: time.Second, Reverse: true}, false, true},
		"without a limit": {Test{Protocol: TCP, Duration: time.Second}, false, false},
	} {
		if c.test.Duration == 0 {
			c.test.Bytes = 1 << 20
		}
		if client, server := c.test.limits(false).bytes > 0, c.test.limits(true).bytes > 0; client != c.client || server != c.server {
			t.Errorf("%s: the client has a limit: %v, the server: %v", name, client, server)
		}
	}
}

// TestASmallBoundOfBytesIsLookedAtOften, as a fast client is soon far beyond it.
func TestASmallBoundOfBytesIsLookedAtOften(t *testing.T) {
	for bytes, want := range map[uint64]time.Duration{0: guardPeriod, 20e6: 10 * time.Millisecond, 1e15: guardPeriod} {
		if g := (guard{maxBytes: bytes}); g.period() != want {
			t.Errorf("%d bytes: every %s instead of %s", bytes, g.period(), want)
		}
	}
}
