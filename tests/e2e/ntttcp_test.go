//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/ntttcp"
)

// tool is one end of a test with ntttcp-for-linux: the tool itself or ours.
type tool []string

// realTool is the peer, ours the program.
func realTool(t testing.TB) tool {
	t.Helper()
	path, err := exec.LookPath("ntttcp")
	if err != nil {
		t.Skip("ntttcp-for-linux is not on the PATH")
	}
	return tool{path}
}

func oursTool() tool { return tool{filepath.Join(bin, "windtunnel"), "ntttcp", "--as", "linux"} }

// ntttcpEnd is a running end.
type ntttcpEnd struct {
	cmd      *exec.Cmd
	mu       sync.Mutex
	out      bytes.Buffer
	ready    chan struct{} // closed when it says that its threads are there
	isReady  bool
	finished chan error
	gone     chan struct{} // closed when it has ended
}

func (e *ntttcpEnd) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out.Write(b)
	if !e.isReady && strings.Contains(e.out.String(), "threads created") {
		e.isReady = true
		close(e.ready)
	}
	return len(b), nil
}

func (e *ntttcpEnd) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.out.String()
}

// start runs a tool until the test ends.
func (k tool) start(t testing.TB, args ...string) *ntttcpEnd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	e := &ntttcpEnd{ready: make(chan struct{}), finished: make(chan error, 1), gone: make(chan struct{})}
	e.cmd = exec.CommandContext(ctx, k[0], append(append([]string(nil), k[1:]...), args...)...)
	e.cmd.Dir, e.cmd.Stdout, e.cmd.Stderr = t.TempDir(), e, e
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		e.finished <- e.cmd.Wait()
		close(e.gone)
	}()
	t.Cleanup(func() {
		cancel()
		<-e.gone
	})
	return e
}

// awaits returns when the tool has said something.
func (e *ntttcpEnd) awaits(t testing.TB, words string) {
	t.Helper()
	for !strings.Contains(e.text(), words) {
		select {
		case <-e.gone:
			t.Fatalf("%v ended and has not said %q:\n%s", e.cmd.Args, words, e.text())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// receive is start for a receiver: it returns when the tool listens on all of its ports, of which a sender may try any first.
func (k tool) receive(t testing.TB, port int, args ...string) *ntttcpEnd {
	t.Helper()
	e := k.start(t, append(append([]string{"-r"}, args...), "-p", strconv.Itoa(port))...)
	select {
	case <-e.ready:
	case <-time.After(20 * time.Second):
		t.Fatalf("no receiver:\n%s", e.text())
	}
	threads := 1
	if at := slices.Index(args, "-P"); at >= 0 {
		threads, _ = strconv.Atoi(args[at+1])
	}
	for n := range threads {
		listening(t, port+n)
	}
	if !slices.Contains(args, "-N") {
		listening(t, port-1) // where both agree on the test
	}
	return e
}

// listening waits until a TCP or UDP port is taken: the tool says that its threads
// are there before they listen.
func listening(t testing.TB, port int) {
	t.Helper()
	want := strings.ToUpper(":" + strconv.FormatInt(int64(port), 16) + " ")
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
			if text, err := os.ReadFile("/proc/thread-self/net/" + table); err == nil && strings.Contains(string(text), want) {
				return
			}
		}
	}
	t.Fatalf("nobody listens on %d", port)
}

func (e *ntttcpEnd) wait(t testing.TB) {
	t.Helper()
	if err := <-e.finished; err != nil {
		t.Fatalf("%v: %v\n%s", e.cmd.Args, err, e.text())
	}
}

var totalBytes = regexp.MustCompile(`total bytes\t:(\d+)`)

func (e *ntttcpEnd) bytes(t testing.TB) float64 {
	t.Helper()
	found := totalBytes.FindStringSubmatch(e.text())
	if found == nil {
		t.Fatalf("%v: no total:\n%s", e.cmd.Args, e.text())
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// agree compares both ends: their windows begin and end a little apart.
func agree(t testing.TB, sent, received float64) {
	t.Helper()
	if sent == 0 || received < 0.8*sent || received > 1.25*sent {
		t.Errorf("sent %g bytes, received %g", sent, received)
	}
}

// ntttcpPort is a first data port with room for the others behind it, below the
// ports that systems give to connections by themselves.
func ntttcpPort(t testing.TB) int {
	t.Helper()
	for port := 11000 + int(time.Now().UnixNano()/1000%15000); port < 31000; port += 20 {
		free := true
		for n := port - 1; n < port+8 && free; n++ {
			free = portFree(t, n) && portFree(t, n+1000)
		}
		if free {
			return port
		}
	}
	t.Fatal("no free ports")
	return 0
}

// TestNtttcpForLinux has the tool itself at the other end, in both roles.
func TestNtttcpForLinux(t *testing.T) {
	real := realTool(t)
	for name, c := range map[string]struct {
		host          string
		send, receive []string
	}{
		"tcp":     {"127.0.0.1", []string{"-P", "2", "-n", "2", "-l", "2", "-t", "2"}, []string{"-P", "2", "-t", "2"}},
		"no sync": {"127.0.0.1", []string{"-P", "2", "-n", "1", "-N", "-t", "2"}, []string{"-P", "2", "-N", "-t", "2"}},
		"ipv6":    {"::1", []string{"-P", "1", "-n", "1", "-6", "-t", "2"}, []string{"-P", "1", "-6", "-t", "2"}},
		"udp":     {"127.0.0.1", []string{"-P", "1", "-n", "1", "-u", "-b", "1K", "-B", "50M", "-t", "2"}, []string{"-P", "1", "-u", "-t", "2"}},
		"longer":  {"127.0.0.1", []string{"-P", "1", "-n", "1", "-t", "2"}, []string{"-P", "1", "-W", "1", "-t", "3"}},
	} {
		for direction, ends := range map[string][2]tool{"ours to theirs": {oursTool(), real}, "theirs to ours": {real, oursTool()}} {
			t.Run(name+" "+direction, func(t *testing.T) {
				port := ntttcpPort(t)
				r := ends[1].receive(t, port, append([]string{c.host}, c.receive...)...)
				s := ends[0].start(t, append([]string{"-s", c.host, "-p", strconv.Itoa(port)}, c.send...)...)
				s.wait(t)
				r.wait(t)
				if name == "longer" { // their windows differ
					return
				}
				agree(t, s.bytes(t), r.bytes(t))
			})
		}
	}
}

// TestNtttcpSendersTogether has two senders of each tool at a receiver with -M,
// the last one with -L, whichever tool it is.
func TestNtttcpSendersTogether(t *testing.T) {
	real := realTool(t)
	for name, ends := range map[string]struct{ receiver, last tool }{
		"their receiver, our last": {real, oursTool()}, "our receiver, their last": {oursTool(), real}, "our receiver, our last": {oursTool(), oursTool()},
	} {
		t.Run(name, func(t *testing.T) {
			port := ntttcpPort(t)
			r := ends.receiver.receive(t, port, "127.0.0.1", "-P", "1", "-M", "-t", "2")
			args := []string{"-s", "127.0.0.1", "-P", "1", "-n", "1", "-t", "2", "-p", strconv.Itoa(port)}
			var all []*ntttcpEnd
			for _, k := range []tool{real, oursTool()} {
				s := k.start(t, args...)
				s.awaits(t, "waiting for the last client")
				all = append(all, s)
			}
			all = append(all, ends.last.start(t, append(args, "-L")...))
			sent := 0.0
			for _, s := range all {
				s.wait(t)
				sent += s.bytes(t)
			}
			r.wait(t)
			agree(t, sent, r.bytes(t))
		})
	}
}

// TestNtttcpLastWithoutMany: the tool without -M repeats its last answer to -L.
func TestNtttcpLastWithoutMany(t *testing.T) {
	port := ntttcpPort(t)
	realTool(t).receive(t, port, "127.0.0.1", "-P", "1", "-t", "2")
	s := oursTool().start(t, "-s", "127.0.0.1", "-P", "1", "-n", "1", "-t", "2", "-L", "-p", strconv.Itoa(port))
	if err := <-s.finished; err == nil || !strings.Contains(s.text(), "start it with -M, or leave -L away") {
		t.Errorf("%v\n%s", err, s.text())
	}
}

// TestTheSourceDocumentsNtttcpLines runs what the source document ran, for less long. Either end waits for the other one.
func TestTheSourceDocumentsNtttcpLines(t *testing.T) {
	besideOthers(t)
	for name, lines := range map[string][2]string{
		"throughput":     {"-s -m 1,*,127.0.0.81 -l 128k -t 2", "-r -m 1,*,127.0.0.81 -rb 2M -t 2"},
		"asynchronous":   {"-s -m 1,*,127.0.0.82 -l 128k -a 2 -t 2", "-r -m 1,*,127.0.0.82 -rb 2M -a 16 -t 2"},
		"small messages": {"-s -m 1,*,127.0.0.83 -l 1390 -t 2 -ndl", "-r -m 1,*,127.0.0.83 -rb 2M -t 2 -ndl"},
	} {
		t.Run(name, func(t *testing.T) {
			var ends [2]outcome
			var both sync.WaitGroup
			for i, line := range lines {
				both.Go(func() { ends[i] = windtunnel(t, time.Minute, append([]string{"ntttcp"}, strings.Fields(line)...)...) })
			}
			both.Wait()
			for i, end := range ends {
				if end.code != 0 || !strings.Contains(end.out, "Packets Sent Packets Received Retransmits Errors Avg. CPU %") {
					t.Errorf("%s: exit code %d\n%s%s", lines[i], end.code, end.out, end.err)
				}
			}
		})
	}
}

// TestNtttcpInterrupt: the tool's sender is interrupted and says E; our receiver
// ends with it.
func TestNtttcpInterrupt(t *testing.T) {
	real := realTool(t)
	port := ntttcpPort(t)
	r := oursTool().receive(t, port, "127.0.0.1", "-P", "1", "-t", "50")
	s := real.start(t, "-s", "127.0.0.1", "-P", "1", "-n", "1", "-t", "50", "-p", strconv.Itoa(port))
	s.awaits(t, "Real-time")
	began := time.Now()
	s.cmd.Process.Signal(os.Interrupt)
	r.wait(t)
	if took := time.Since(began); took > 10*time.Second || r.bytes(t) == 0 {
		t.Errorf("the receiver ended after %s:\n%s", took, r.text())
	}
}

// TestNtttcpSaysThatItStoodStill: an end whose program is stopped for a while knows it, and that this was the limit.
func TestNtttcpSaysThatItStoodStill(t *testing.T) {
	besideOthers(t)
	for _, stopped := range []traffic.Role{traffic.Send, traffic.Receive} {
		port := ntttcpPort(t)
		r := oursTool().receive(t, port, "127.0.0.1", "-P", "1", "-t", "3")
		s := oursTool().start(t, "-s", "127.0.0.1", "-P", "1", "-n", "1", "-t", "3", "-p", strconv.Itoa(port))
		s.awaits(t, "Real-time")
		end, says := s, result.GeneratorLimited
		if stopped == traffic.Receive {
			end, says = r, result.ReceiverLimited
		}
		end.cmd.Process.Signal(unix.SIGSTOP)
		time.Sleep(time.Second)
		end.cmd.Process.Signal(unix.SIGCONT)
		s.wait(t)
		r.wait(t)
		if text := end.text(); !strings.Contains(text, "note: "+says) || !strings.Contains(text, "stood still for") {
			t.Errorf("%s, stopped for a second of three:\n%s", stopped, text)
		}
	}
}

// TestNtttcpServerTakesMany has several of the tool's senders at our server at once.
func TestNtttcpServerTakesMany(t *testing.T) {
	real := realTool(t)
	const clients = 4
	port := ntttcpPort(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended, ready, done := make(chan traffic.ServerEvent, clients), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- ntttcp.Server{Base: port, Count: 2}.Serve(ctx, traffic.ServerConfig{
			Host: "127.0.0.1", Ready: func([]string) { close(ready) },
			Event: func(e traffic.ServerEvent) {
				if e.What == traffic.SessionEnded || e.What == traffic.SessionFailed {
					ended <- e
				}
			},
		})
	}()
	<-ready
	var all []*ntttcpEnd
	for range clients {
		all = append(all, real.start(t, "-s", "127.0.0.1", "-P", "2", "-n", "1", "-t", "2", "-p", strconv.Itoa(port)))
	}
	sent, received := 0.0, 0.0
	for _, s := range all {
		s.wait(t)
		sent += s.bytes(t)
	}
	for range clients {
		e := <-ended
		if e.What != traffic.SessionEnded || e.End.Bytes == 0 {
			t.Errorf("%+v", e)
		}
		received += float64(e.End.Bytes)
	}
	agree(t, sent, received)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// ntttcpUnderWine has the Windows program receive as NTttcp for Windows, by
// Windows' own calls and counters.
func ntttcpUnderWine(w *wine) {
	t := w.t
	port := strconv.Itoa(ntttcpPort(t))
	ctx, cancel := context.WithTimeout(context.Background(), wineRun)
	defer cancel()
	both := []string{"-m", "2,*,127.0.0.1", "-t", "2", "-p", port}
	receiver := w.command(ctx, append([]string{w.program, "ntttcp", "-r", "-rb", "1M", "-cd", "1"}, both...)...)
	var out, errs bytes.Buffer
	receiver.Stdout, receiver.Stderr = &out, &errs
	if err := receiver.Start(); err != nil {
		t.Fatal(err)
	}
	port16, _ := strconv.Atoi(port)
	listening(t, port16)
	sender := windtunnel(t, wineRun, append([]string{"ntttcp", "-s", "-ndl", "-l", "64k", "-thr", "20000", "-wu", "0"}, both...)...)
	if err := receiver.Wait(); failed(err) || sender.code != 0 {
		t.Fatalf("%v\n%s%s\nsender %d\n%s%s", err, &out, &errs, sender.code, sender.out, sender.err)
	}
	megabytes := regexp.MustCompile(`Throughput\(MB/s\)\s+[= ]+\s+([\d.]+)`)
	sent, received := megabytes.FindStringSubmatch(sender.out), megabytes.FindStringSubmatch(out.String())
	if sent == nil || received == nil {
		t.Fatalf("no totals:\n%s\n%s", sender.out, &out)
	}
	s, _ := strconv.ParseFloat(sent[1], 64)
	r, _ := strconv.ParseFloat(received[1], 64)
	agree(t, s, r)
	t.Logf("%s%s", &out, &errs)
}

// TestNtttcpTimesThatLookLikeLetters: the tool's receiver answers a proposed 69 s
// as if it were E, with its state; ours takes it for the time.
func TestNtttcpTimesThatLookLikeLetters(t *testing.T) {
	for name, c := range map[string]struct {
		receiver tool
		want     int32
	}{"theirs": {realTool(t), 11}, "ours": {oursTool(), 69}} {
		t.Run(name, func(t *testing.T) {
			port := ntttcpPort(t)
			c.receiver.receive(t, port, "127.0.0.1", "-P", "1", "-t", "2")
			conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port-1)))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(10 * time.Second))
			var state, total int32
			for _, step := range []struct {
				say    int32
				answer *int32
			}{{'X', &state}, {69, &total}} {
				if err := binary.Write(conn, binary.BigEndian, step.say); err != nil {
					t.Fatal(err)
				}
				if err := binary.Read(conn, binary.BigEndian, step.answer); err != nil {
					t.Fatal(err)
				}
			}
			if state != 11 || total != c.want {
				t.Errorf("state %d, answer to 69: %d, want %d", state, total, c.want)
			}
		})
	}
}
