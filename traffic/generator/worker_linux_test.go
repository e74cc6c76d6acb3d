package generator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// order is one for a window of a second on loopback, after one of warm-up.
func order(kind string, load result.Options) traffic.Order {
	return traffic.Order{Role: traffic.Receive, Kind: kind, Load: load, Address: "127.0.0.1", WarmUpSeconds: 1, WindowSeconds: 1}
}

// TestRealPrograms runs what is installed, both ends on loopback.
func TestRealPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		kind string
		load result.Options
	}{
		"iperf3 TCP":   {"stream", result.Options{"generator": "iperf3", "message": int64(1400), "rate": 50e6, "congestion": "reno"}},
		"iperf3 UDP":   {"datagram", result.Options{"generator": "iperf3", "message": int64(1400), "rate": 10e6}},
		"nuttcp TCP":   {"stream", result.Options{"generator": "nuttcp", "message": int64(1400), "rate": 50e6, "congestion": "reno"}},
		"nuttcp UDP":   {"datagram", result.Options{"generator": "nuttcp", "message": int64(1400), "rate": 10e6}},
		"ntttcp TCP":   {"stream", result.Options{"generator": "ntttcp", "message": int64(64 << 10), "streams": int64(2), "congestion": "reno"}},
		"sockperf TCP": {"ping", result.Options{"generator": "sockperf", "message": int64(64), "protocol": "tcp", "rate": 1000.0, "congestion": "reno"}},
		"sockperf UDP": {"ping", result.Options{"generator": "sockperf", "message": int64(64), "protocol": "udp", "rate": 1000.0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if program, install := Program(c.load); installed(program) != nil {
				t.Skipf("no %s here: %s", program, install)
			}
			sender, receiver := runPair(t, order(c.kind, c.load))
			took := receiver.WindowSeconds
			if sender.Told != nil {
				took = sender.Told.WindowSeconds
			}
			if took < 0.9 || took > 1.1 || sender.Bytes == 0 || sender.WindowSeconds < 0.9 || sender.WindowSeconds > 1.1 {
				t.Errorf("sender %+v, receiver %+v", sender, receiver)
			}
			if rate, _ := sender.Rate(); c.load.Float("rate") > 1e6 && rate > 1.2*c.load.Float("rate") {
				t.Errorf("it sent %g Mbit/s, and was to send %g", rate/1e6, c.load.Float("rate")/1e6)
			}
			if g := sender.Generator; g == nil || g.Version == "" || !strings.Contains(g.Command, "127.0.0.1") || receiver.Generator == nil {
				t.Errorf("generators %+v, %+v", sender.Generator, receiver.Generator)
			}
			if want := c.load.Text("congestion"); want != "" {
				if len(sender.Connections) == 0 || sender.Connections[0].Congestion != want || sender.Connections[0].SegmentsOut == 0 {
					t.Errorf("connections %+v, want %s", sender.Connections, want)
				}
			}
			if sender.CPUSeconds <= 0 || sender.Threads == 0 && sender.CPUSeconds > 0.02 {
				t.Errorf("%g s of CPU time by %d threads", sender.CPUSeconds, sender.Threads)
			}
		})
	}
}

func installed(program string) error { _, err := exec.LookPath(program); return err }

// runPair runs both ends of a pair. On a machine that is too busy to look in time, a trial
// does not count, and is repeated, as the conductor does it.
func runPair(t *testing.T, o traffic.Order) (sender, receiver result.PairEnd) {
	t.Helper()
	var err error
	for range 5 {
		if sender, receiver, err = tryPair(t, o); err == nil {
			return sender, receiver
		}
		t.Log(err)
	}
	t.Fatal(err)
	return sender, receiver
}

func tryPair(t *testing.T, o traffic.Order) (sender, receiver result.PairEnd, err error) {
	t.Helper()
	to, err := Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	o.Role, o.Address = traffic.Send, to.Address()
	from, err := Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	var failed [2]error
	var both sync.WaitGroup
	when := traffic.Schedule{Start: time.Now().Add(20 * time.Millisecond), WarmUp: seconds(o.WarmUpSeconds), Window: seconds(o.WindowSeconds)}
	both.Go(func() { receiver, failed[1] = to.Run(t.Context(), when) })
	both.Go(func() { sender, failed[0] = from.Run(t.Context(), when) })
	both.Wait()
	return sender, receiver, errors.Join(failed[:]...)
}

// fake puts a script in the place of every other iperf3.
func fake(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "iperf3"), []byte("#!/bin/bash\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// TestBadProgramsAreErrors: a program that dies, hangs, or prints garbage or too much is an
// error that says which and what it said, and is gone afterwards.
func TestBadProgramsAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"dies":     {"echo no route for me >&2; exit 3", "it said: no route for me"},
		"garbage":  {"sleep 0.6; echo '{}x'", "not its JSON"},
		"no sums":  {`sleep 0.6; echo '{"intervals":[{}]}'`, "it has no sum"},
		"says why": {`sleep 0.6; echo '{"error":"the server is busy"}'`, "the server is busy"},
		"floods":   {"exec cat /dev/zero", "was cut off"},
		"hangs":    {"echo $$ > $0.pid; (" + nap(777) + "; true) & " + nap(776), "had not ended"},
	} {
		t.Run(name, func(t *testing.T) {
			fake(t, c.script)
			o := order("stream", result.Options{"generator": "iperf3", "message": int64(1400)})
			o.Role, o.Address, o.WarmUpSeconds, o.WindowSeconds = traffic.Send, "127.0.0.1:20000", 0.1, 0.2
			w, err := Prepare(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			when := traffic.Schedule{Start: time.Now(), WarmUp: seconds(o.WarmUpSeconds), Window: seconds(o.WindowSeconds)}
			_, err = w.Run(t.Context(), when)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "iperf3 -c 127.0.0.1") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if name == "hangs" {
				gone(t, nap(777))
				gone(t, nap(776))
			}
		})
	}
}

// nap is a command that takes so many seconds, and that no other process on this machine runs.
func nap(seconds int) string { return fmt.Sprintf("sleep %d.%d", seconds, os.Getpid()) }

// gone looks for a command that should have ended.
func gone(t *testing.T, command string) {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if line := strings.ReplaceAll(string(text), "\x00", " "); strings.HasPrefix(line, command) {
			t.Errorf("%s still runs: %s", file, line)
		}
	}
}

func TestServersThatDoNotListenAreErrors(t *testing.T) {
	fake(t, "echo the address is not mine; exit 1")
	_, err := Prepare(t.Context(), order("stream", result.Options{"generator": "iperf3", "message": int64(1400)}))
	if err == nil || !strings.Contains(err.Error(), "before it listened") || !strings.Contains(err.Error(), "the address is not mine") {
		t.Errorf("got %v", err)
	}
	fake(t, "exec "+nap(775))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = Prepare(ctx, order("stream", result.Options{"generator": "iperf3", "message": int64(1400)}))
	if err == nil || !strings.Contains(err.Error(), "does not listen") {
		t.Errorf("got %v", err)
	}
	gone(t, nap(775))
}

func TestCloseEndsTheProgram(t *testing.T) {
	fake(t, "exec "+nap(774))
	o := order("stream", result.Options{"generator": "iperf3", "message": int64(1400)})
	o.Role, o.Address = traffic.Send, "127.0.0.1:20000"
	w, err := Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := w.Run(t.Context(), traffic.Schedule{Start: time.Now(), WarmUp: time.Second, Window: time.Second})
		done <- err
	}()
	for w.(*worker).process() == nil {
		time.Sleep(time.Millisecond)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("the run ended well")
	}
	gone(t, nap(774))
}

func TestOrdersThatCannotBeKept(t *testing.T) {
	for name, change := range map[string]func(*traffic.Order){
		"no times":     func(o *traffic.Order) { o.WindowSeconds = 0 },
		"no such tool": func(o *traffic.Order) { o.Load = result.Options{"generator": "netcat"} },
		"no port":      func(o *traffic.Order) { o.Role, o.Address = traffic.Send, "127.0.0.1" },
		"parts of seconds": func(o *traffic.Order) {
			o.Load, o.WindowSeconds = result.Options{"generator": "ntttcp", "message": int64(1)}, 1.5
		},
	} {
		o := order("stream", result.Options{"generator": "iperf3", "message": int64(1400)})
		change(&o)
		if w, err := Prepare(t.Context(), o); err == nil {
			w.Close()
			t.Errorf("%s: it was prepared", name)
		}
	}
}

func TestPortsInARow(t *testing.T) {
	one := task{host: "127.0.0.1", load: result.Options{"streams": int64(7)}}
	port, err := freePorts(one)
	if err != nil || port < firstPort || port+one.ports() > lastPort {
		t.Errorf("port %d, %v", port, err)
	}
	if err := allFree("192.0.2.1", port, 1); err == nil {
		t.Error("an address of others has free ports")
	}
}
