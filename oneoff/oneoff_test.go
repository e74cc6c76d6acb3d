package oneoff

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// plain is a load that any user may run: cubic is not for everybody.
var plain = result.Options{"congestion": "reno", "message": int64(32 << 10)}

// events collects what a receiver tells.
type events struct {
	mu   sync.Mutex
	all  []traffic.ServerEvent
	more chan struct{} // closed, and made anew, by every event
}

func (e *events) take(one traffic.ServerEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, one)
	close(e.more)
	e.more = make(chan struct{})
}

// await waits for an event of a kind, so many.
func (e *events) await(t *testing.T, what string, many int) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		e.mu.Lock()
		more := e.more
		e.mu.Unlock()
		if e.count(what) >= many {
			return
		}
		select {
		case <-more:
		case <-limit:
			t.Fatalf("waited for %d times %q, heard %+v", many, what, e.all)
		}
	}
}

func (e *events) count(what string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, one := range e.all {
		if one.What == what {
			n++
		}
	}
	return n
}

// receiver is one that serves on loopback until the test ends, and how to send
// to it.
func receiver(t *testing.T, n Native, config traffic.ServerConfig) (SendConfig, *events) {
	t.Helper()
	heard := &events{more: make(chan struct{})}
	ready := make(chan string, 1)
	n.Port = -1
	if config.Host == "" {
		config.Host = "127.0.0.1"
	}
	config.Ready = func(addresses []string) { ready <- addresses[0] }
	config.Event = heard.take
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Serve(ctx, config) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the receiver ended with %v", err)
		}
	})
	select {
	case address := <-ready:
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		number, _ := strconv.Atoi(port)
		return SendConfig{Host: host, Port: number, Kind: "stream", Load: plain, Window: 300 * time.Millisecond, Interval: 100 * time.Millisecond}, heard
	case err := <-ended:
		ended <- nil
		t.Fatalf("the receiver does not listen: %v", err)
	}
	return SendConfig{}, nil
}

func within(t *testing.T, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func TestSend(t *testing.T) {
	config, heard := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 2})
	config.WarmUp = 100 * time.Millisecond
	var intervals []Paired
	got, err := Send(within(t, 30*time.Second), config, Show{Interval: func(p Paired) { intervals = append(intervals, p) }})
	if err != nil {
		t.Fatal(err)
	}
	if got.Pair.Sender.Bytes == 0 || got.Pair.Receiver.Bytes == 0 {
		t.Errorf("the ends counted %d and %d bytes", got.Pair.Sender.Bytes, got.Pair.Receiver.Bytes)
	}
	if got.Load.Int("streams") != 1 || got.Load.Text("congestion") != "reno" {
		t.Errorf("the load %v lacks a default, or what was given", got.Load)
	}
	if got.Pair.Limit == nil || got.Pair.Limit.Verdict == "" {
		t.Errorf("no verdict: %+v", got.Pair.Limit)
	}
	heard.await(t, traffic.SessionBegan, 1)
	heard.await(t, traffic.SessionEnded, 1)
	if len(intervals) == 0 {
		t.Error("no intervals were shown")
	}
	for i := 1; i < len(intervals); i++ {
		if intervals[i].From <= intervals[i-1].From {
			t.Errorf("intervals are out of order: %v after %v", intervals[i], intervals[i-1])
		}
	}
}

func TestSendOverIPv6(t *testing.T) {
	config, _ := receiver(t, Native{}, traffic.ServerConfig{Host: "::1", MaxClients: 1})
	got, err := Send(within(t, 30*time.Second), config, Show{})
	if err != nil || got.Pair.Receiver.Bytes == 0 {
		t.Errorf("got %d bytes, %v", got.Pair.Receiver.Bytes, err)
	}
}

// TestManySenders serves them side by side, each with its own result. All share
// this process, and a rate that leaves them CPUs.
func TestManySenders(t *testing.T) {
	const many = 8
	config, heard := receiver(t, Native{}, traffic.ServerConfig{MaxClients: many})
	config.Window, config.Load = time.Second, result.Options{"congestion": "reno", "message": int64(32 << 10), "rate": 20e6}
	var senders sync.WaitGroup
	for range many {
		senders.Go(func() {
			got, err := Send(within(t, time.Minute), config, Show{})
			if err != nil || got.Pair.Receiver.Bytes == 0 {
				t.Errorf("got %d bytes, %v", got.Pair.Receiver.Bytes, err)
			}
		})
	}
	senders.Wait()
	if n := heard.count(traffic.SessionBegan); n != many {
		t.Errorf("%d sessions began, want %d", n, many)
	}
}

func TestDataPorts(t *testing.T) {
	taken := nobodysPort(t)
	port := taken.LocalAddr().(*net.UDPAddr).Port
	taken.Close()
	free, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
	if err != nil {
		t.Fatal(err)
	}
	config, _ := receiver(t, Native{DataPorts: PortRange{port, port}}, traffic.ServerConfig{MaxClients: 2})
	if _, err := Send(within(t, 30*time.Second), config, Show{}); err == nil || !strings.Contains(err.Error(), "are in use") {
		t.Errorf("with the only data port taken: %v", err)
	}
	free.Close()
	if _, err := Send(within(t, 30*time.Second), config, Show{}); err != nil {
		t.Errorf("with it free: %v", err)
	}
}

// TestDataPortsOfDatagrams: a firewall lets TCP and UDP of the range through, so a number whose UDP is taken is none of it.
func TestDataPortsOfDatagrams(t *testing.T) {
	taken := nobodysPort(t)
	port := taken.LocalAddr().(*net.UDPAddr).Port
	config, _ := receiver(t, Native{DataPorts: PortRange{port, port}}, traffic.ServerConfig{MaxClients: 2})
	config.Kind, config.Load, config.Window = "datagram", result.Options{"packets": 1000.0}, time.Second
	if _, err := Send(within(t, 30*time.Second), config, Show{}); err == nil || !strings.Contains(err.Error(), "are in use") {
		t.Errorf("with the only port's UDP taken: %v", err)
	}
	taken.Close()
	if _, err := Send(within(t, 30*time.Second), config, Show{}); err != nil {
		t.Errorf("with it free: %v", err)
	}
}

// nobodysPort is a UDP socket at a port that no other program is given unasked, as those from 32768 on are (ip_local_port_range, ip(7);
// on Windows and macOS from 49152): once the socket is closed the port is free.
func nobodysPort(t *testing.T) *net.UDPConn {
	t.Helper()
	const first, many = 16384, 16384
	for i := range many {
		socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: first + (os.Getpid()+i)%many})
		if err == nil {
			return socket
		}
	}
	t.Fatal("no port is free")
	return nil
}

func TestPortInUse(t *testing.T) {
	config, _ := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 1})
	err := Native{Port: config.Port}.Serve(within(t, 10*time.Second), traffic.ServerConfig{Host: "127.0.0.1"})
	if err == nil || !strings.Contains(err.Error(), "is in use already") {
		t.Errorf("got %v", err)
	}
}

// TestInterrupted keeps what there is of a measurement that is cut short.
func TestInterrupted(t *testing.T) {
	config, heard := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 1})
	config.Window = time.Minute
	ctx, cancel := context.WithCancel(within(t, time.Minute))
	defer cancel()
	got, err := Send(ctx, config, Show{Interval: func(p Paired) {
		if p.From > 0 {
			cancel()
		}
	}})
	if err != nil || !got.Interrupted {
		t.Fatalf("got %+v, %v", got, err)
	}
	if got.Pair.Sender.Bytes == 0 || got.Pair.Receiver.Bytes == 0 {
		t.Errorf("the ends counted %d and %d bytes", got.Pair.Sender.Bytes, got.Pair.Receiver.Bytes)
	}
	heard.await(t, traffic.SessionEnded, 1) // a Ctrl-C is no failure
}

// TestReceiverStops tells its senders.
func TestReceiverStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- Native{Port: -1}.Serve(ctx, traffic.ServerConfig{Host: "127.0.0.1", Ready: func(a []string) { ready <- a[0] },
			Event: func(e traffic.ServerEvent) {
				if e.What == traffic.SessionInterval {
					cancel()
				}
			}})
	}()
	_, port, _ := net.SplitHostPort(<-ready)
	number, _ := strconv.Atoi(port)
	_, err := Send(within(t, time.Minute), SendConfig{Host: "127.0.0.1", Port: number, Kind: "stream", Load: plain,
		Window: 30 * time.Second, Interval: 100 * time.Millisecond}, Show{})
	if err == nil || !strings.Contains(err.Error(), errClosing.Error()) {
		t.Errorf("the sender got %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the receiver got %v", err)
	}
}
