package stream

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

func TestCopiesAndDiscard(t *testing.T) {
	cases := map[string]result.Options{
		"zero copy, one stream":    {"copy": "zerocopy", "discard": true},
		"zero copy, many streams":  {"copy": "zerocopy", "streams": 5, "message": 20_000},
		"zero copy, few bytes":     {"copy": "zerocopy", "message": 100, "nodelay": true},
		"sendfile, one stream":     {"copy": "sendfile", "discard": true, "message": 3 << 20},
		"sendfile, many streams":   {"copy": "sendfile", "streams": 5, "threads": 2},
		"splice, one stream":       {"copy": "splice", "discard": true},
		"splice, the longest":      {"copy": "splice", "message": 1 << 20},
		"splice, few bytes":        {"copy": "splice", "message": 100, "nodelay": true},
		"splice, many streams":     {"copy": "splice", "streams": 5, "threads": 2, "message": 100_000},
		"bucket, splice, many":     {"copy": "splice", "rate": 50e6, "pacing": "bucket", "streams": 3},
		"discard, many streams":    {"discard": true, "streams": 5},
		"bucket, zero copy":        {"copy": "zerocopy", "rate": 200e6, "pacing": "bucket"},
		"bucket, sendfile, many":   {"copy": "sendfile", "rate": 50e6, "pacing": "bucket", "streams": 3},
		"kernel pacing, both ways": {"rate": 200e6, "pacing": "kernel", "direction": "both"},
	}
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			send, receive, s, _ := runWell(t, o, soon)
			checkMoved(t, send, receive)
			checkZeroCopy(t, o.Text("copy"), s.end)
		})
	}
}

// checkZeroCopy knows that loopback copies after all (msg_zerocopy.rst, "Loopback").
func checkZeroCopy(t *testing.T, copying string, sender result.PairEnd) {
	t.Helper()
	z := sender.ZeroCopy
	switch {
	case copying == "" && z != nil, copying != "" && z == nil:
		t.Errorf("with copy %q the sender says %+v", copying, z)
	case copying == CopyZero && (z.Completed == 0 || z.Copied != z.Completed || z.Method != "msg-zerocopy"):
		t.Errorf("zero copy over loopback: %+v", z)
	case copying != CopyZero && z != nil && z.Method != copying:
		t.Errorf("%s: %+v", copying, z)
	}
}

// TestPacingSaysWho checks that a rate holds as an upper bound, which noise cannot
// break: what is buffered ahead and the burst come on top.
func TestPacingSaysWho(t *testing.T) {
	for asked, method := range map[string]string{"auto": "kernel-", "kernel": "kernel-", "bucket": "token-bucket"} {
		t.Run(asked, func(t *testing.T) {
			const rate = 100e6
			o := result.Options{"rate": rate, "pacing": asked, "message": 10_000}
			when := soon()
			when.Window = 300 * time.Millisecond
			_, receive, s, _ := runWell(t, o, func() traffic.Schedule {
				when.Start = soon().Start
				return when
			})
			offered := s.end.Offered
			if offered.TargetBitsPerSecond != rate || !strings.HasPrefix(offered.Method, method) || offered.BurstPackets == 0 {
				t.Errorf("got %+v", offered)
			}
			allowed := rate/8*(when.WarmUp+when.Window+tail).Seconds() + 1e6
			if moved := float64(receive.moved[traffic.Receive]); moved > 1.5*allowed || moved < 0.05*allowed {
				t.Errorf("%g bytes arrived, about %g were allowed", moved, allowed)
			}
		})
	}
}

// TestTheBurstIsOfAllStreams, as the target is: each has a bucket of its own.
func TestTheBurstIsOfAllStreams(t *testing.T) {
	burst := map[int]int{}
	for _, streams := range []int{1, 3} {
		_, _, s, _ := runWell(t, result.Options{"rate": 30e6, "pacing": PaceBucket, "streams": streams}, soon)
		if burst[streams] = s.end.Offered.BurstPackets; s.end.Offered.TargetBitsPerSecond != 30e6*float64(streams) {
			t.Errorf("%d streams: %+v", streams, s.end.Offered)
		}
	}
	// A part of a packet counts as one, once.
	if one, three := burst[1], burst[3]; three <= 3*one-3 || three > 3*one {
		t.Errorf("the burst of one stream is %d packets, of three %d", one, three)
	}
}

// TestSlowRatesComeInPieces: whole messages would wait for seconds, counted and not sent.
func TestSlowRatesComeInPieces(t *testing.T) {
	const rate = 1e6
	near, far := connected(t, 2)
	into := newTestEngine(t, flowsOf(far, traffic.Receive), Config{})
	from := newTestEngine(t, flowsOf(near, traffic.Send), Config{BitsPerSecond: rate})
	into.Start()
	began := time.Now()
	from.Start()
	time.Sleep(300 * time.Millisecond)
	from.Halt()
	most := 2 * rate / 8 * (time.Since(began).Seconds() + bucketSeconds)
	if sent := sumBytes(from); from.pacing.method != methodBucket || sent == 0 || float64(sent) > most+2*segment {
		t.Errorf("sent %d bytes, at most %g were allowed, by %+v", sent, most, from.pacing)
	}
}

// TestSlowFlowsHoldNobodyUp collects garbage, which stops the world, while a flow
// trickles that is never silent for as long as a thread's patience.
func TestSlowFlowsHoldNobodyUp(t *testing.T) {
	near, far := connected(t, 3)
	e := newTestEngine(t, flowsOf(near, traffic.Receive), Config{Threads: 2})
	e.Start()
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for _, conn := range far {
		writers.Go(func() {
			for tick := time.NewTicker(2 * time.Millisecond); ; {
				select {
				case <-tick.C:
					conn.Write(make([]byte, 100))
				case <-stop:
					return
				}
			}
		})
	}
	best := time.Hour
	for range 5 {
		began := time.Now()
		runtime.GC()
		best = min(best, time.Since(began))
	}
	close(stop)
	writers.Wait()
	if best > 300*time.Millisecond {
		t.Errorf("stopping the world took %s at least", best)
	}
}

func TestSocketOptionsReachTheSocket(t *testing.T) {
	o := result.Options{"mss": 1000, "dscp": 46, "buffer": 100_000}
	for _, address := range []string{"127.0.0.1", "::1"} {
		o["congestion"] = congestion
		w, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Receive, Load: o, Address: address})
		if err != nil && address == "::1" {
			t.Skip("this machine has no IPv6 loopback: ", err)
		} else if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		send := prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: w.Address()})
		if mark := markOf(t, send); mark != 46<<2 {
			t.Errorf("%s: packets are marked %#x", address, mark)
		}
		s, r := runBoth(t.Context(), send, w.(*worker), ample())
		if s.err != nil || r.err != nil {
			t.Fatal(s.err, r.err)
		}
		c := s.end.Connections[0]
		if c.MSS > 1000 || c.MSS < 900 || c.SendBufferBytes != 200_000 { // the kernel doubles it
			t.Errorf("%s: %+v", address, c)
		}
	}
}

func markOf(t *testing.T, w *worker) (mark int) {
	t.Helper()
	raw, err := w.conns[0].SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		mark, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS)
		if strings.HasPrefix(w.conns[0].RemoteAddr().String(), "[") {
			mark, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_TCLASS)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

// FuzzCompletion gives the reader of the error queue any control message.
func FuzzCompletion(f *testing.F) {
	f.Add([]byte{}, uint32(3))
	f.Add(completionOf(0, 2, 0), uint32(3))
	f.Add(completionOf(7, 3, 1), uint32(1))
	f.Fuzz(func(t *testing.T, control []byte, open uint32) {
		z := newZeroCopy()
		z.open = open
		z.header.SetControllen(copy(z.control[:], control))
		z.note()
		if done := z.completed.Load(); done+uint64(z.open) != uint64(open) || z.copied.Load() > done {
			t.Errorf("%d of %d calls done, %d open, %d copied", done, open, z.open, z.copied.Load())
		}
	})
}

// completionOf is the control message of a range of calls.
func completionOf(from, to uint32, code uint8) []byte {
	said := unix.SockExtendedErr{Origin: unix.SO_EE_ORIGIN_ZEROCOPY, Code: code, Info: from, Data: to}
	head := make([]byte, unsafe.Sizeof(unix.Cmsghdr{}))
	return append(head, unsafe.Slice((*byte)(unsafe.Pointer(&said)), unsafe.Sizeof(said))...)
}

func TestCompletionsAreCounted(t *testing.T) {
	z := newZeroCopy()
	z.open = 10
	for _, control := range [][]byte{completionOf(0, 3, 0), completionOf(4, 4, unix.SO_EE_CODE_ZEROCOPY_COPIED)} {
		z.header.SetControllen(copy(z.control[:], control))
		z.note()
	}
	if z.open != 5 || z.completed.Load() != 5 || z.copied.Load() != 1 {
		t.Errorf("open %d, completed %d, copied %d", z.open, z.completed.Load(), z.copied.Load())
	}
}

// TestAFallenRateLeavesNothingBehind: what comes after a fast time, and is less
// than the receiver waits for, is read all the same.
func TestAFallenRateLeavesNothingBehind(t *testing.T) {
	for _, gentle := range []bool{false, true} {
		near, far := connected(t, 1)
		e := newTestEngine(t, flowsOf(near, traffic.Receive), Config{})
		thread, err := newThread(e, traffic.Receive, e.of(traffic.Receive))
		if err != nil {
			t.Fatal(err)
		}
		defer thread.close()
		thread.gentle = gentle
		if thread.lowWater(time.Millisecond, 1<<20); thread.water < 100_000 {
			t.Fatalf("waits for %d bytes at 1 GB/s", thread.water)
		}
		if _, err := far[0].Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := thread.burst(&traffic.Stop{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := thread.moved(); got != 100 {
			t.Errorf("gentle %v: got %d of 100 bytes", gentle, got)
		}
	}
}

// TestAPromptReceiverWaitsForAnything where another one waits for enough: what comes last is read when it comes.
func TestAPromptReceiverWaitsForAnything(t *testing.T) {
	for _, prompt := range []bool{false, true} {
		near, _ := connected(t, 1)
		e := newTestEngine(t, flowsOf(near, traffic.Receive), Config{Message: 1390, Prompt: prompt}) // of small messages, whatever the CPU
		thread, err := newThread(e, traffic.Receive, e.of(traffic.Receive))
		if err != nil {
			t.Fatal(err)
		}
		defer thread.close()
		if thread.wait(time.Millisecond, 50_000); thread.water > 1 == prompt {
			t.Errorf("prompt %v: waits for %d bytes at 50 MB/s", prompt, thread.water)
		}
	}
}

// TestAReceiverWaitsWhereItsStackWorks: on another CPU it is woken for whatever comes.
func TestAReceiverWaitsWhereItsStackWorks(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil || allowed.Count() < 2 {
		t.Skipf("skip: needs two CPUs: %d, %v", allowed.Count(), err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < 2; cpu++ {
		if allowed.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	near, far := connected(t, 1)
	e := newTestEngine(t, flowsOf(near, traffic.Receive), Config{})
	thread, err := newThread(e, traffic.Receive, e.of(traffic.Receive))
	if err != nil {
		t.Fatal(err)
	}
	defer thread.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with its binding
		for i, cpu := range cpus {
			if err := traffic.PinThread(cpu); err != nil {
				t.Error(err)
				return
			}
			if i == 0 { // what is read has been handed over
				if _, err := far[0].Write(make([]byte, 100)); err != nil {
					t.Error(err)
				}
				for n := 0; n <= 0; {
					n, _ = unix.Read(int(thread.flows[0].fd), make([]byte, 100))
				}
			}
			thread.wait(time.Millisecond, 1<<20)
			if waits := thread.water > 1; waits != (i == 0) {
				t.Errorf("on CPU %d, of what came on CPU %d: waits for %d bytes at 1 GB/s", cpu, cpus[0], thread.water)
			}
		}
	}()
	<-done
}

// TestAReceiverTakesWhatItWaitsFor in one call where that is more than usual, unless it was told how much to read.
func TestAReceiverTakesWhatItWaitsFor(t *testing.T) {
	for _, c := range []struct {
		config Config
		moved  uint64 // bytes in 1 ms
		want   uintptr
	}{
		{Config{}, 400_000, 128 << 10},
		{Config{}, 1_000_000, 200_000},
		{Config{}, 4_000_000, 256 << 10},
		{Config{Prompt: true}, 4_000_000, 128 << 10},
		{Config{Receive: 64 << 10}, 4_000_000, 64 << 10},
		{Config{Receive: 1 << 20}, 400_000, 1 << 20},
		{Config{Discard: true}, 400_000, discardSize},
	} {
		near, _ := connected(t, 1)
		c.config.Message = 1390 // small ones are waited for on whatever CPU, and do not let it doze at such rates
		e := newTestEngine(t, flowsOf(near, traffic.Receive), c.config)
		thread, err := newThread(e, traffic.Receive, e.of(traffic.Receive))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			thread.wait(time.Millisecond, c.moved)
		}
		if thread.call != c.want {
			t.Errorf("%+v at %d bytes a ms: reads %d at once", c.config, c.moved, thread.call)
		}
		thread.close()
	}
}

// TestAReceiverOfManyTakesTheUsual, as others wait for their turn.
func TestAReceiverOfManyTakesTheUsual(t *testing.T) {
	near, _ := connected(t, 2)
	e := newTestEngine(t, flowsOf(near, traffic.Receive), Config{Message: 128 << 10})
	thread, err := newThread(e, traffic.Receive, e.of(traffic.Receive))
	if err != nil {
		t.Fatal(err)
	}
	defer thread.close()
	if thread.buffer.size != receiveBufferSize {
		t.Errorf("reads %d bytes at once", thread.buffer.size)
	}
}
