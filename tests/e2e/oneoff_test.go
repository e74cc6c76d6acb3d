//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"windtunnel/oneoff"
	"windtunnel/result"
	"windtunnel/traffic"
)

// started is a program that runs in a namespace.
type started struct {
	t    testing.TB
	cmd  *exec.Cmd
	errs bytes.Buffer
	out  *bufio.Reader
}

// start starts one there; it is killed when the test ends, if it still runs.
func (s *stack) start(t testing.TB, program string, args ...string) *started {
	t.Helper()
	p := &started{t: t, cmd: exec.Command(program, args...)}
	p.cmd.Stderr = &p.errs
	p.cmd.Env = append(p.cmd.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	pipe, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(pipe)
	s.do(func() { err = p.cmd.Start() }) // a child begins in its parent thread's namespace
	if err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(2*time.Minute, func() { _ = p.cmd.Process.Kill() })
	t.Cleanup(func() { limit.Stop(); _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	return p
}

func (s *stack) windtunnel(t testing.TB, args ...string) *started {
	t.Helper()
	return s.start(t, filepath.Join(bin, "windtunnel"), args...)
}

// line is the program's next.
func (p *started) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%v ended: %v\n%s%s", p.cmd.Args, err, line, p.errs.String())
	}
	return line
}

// wait reads it to its end.
func (p *started) wait() (out string, code int) {
	var rest bytes.Buffer
	_, _ = rest.ReadFrom(p.out)
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Errorf("%v: %v", p.cmd.Args, err)
	}
	return rest.String(), p.cmd.ProcessState.ExitCode()
}

// outcomeOf is the last object of a sender that ended well.
func (p *started) outcomeOf() (o oneoff.Outcome) {
	out, code := p.wait()
	if code != 0 {
		p.t.Errorf("%v: exit code %d: %s%s", p.cmd.Args, code, out, p.errs.String())
		return o
	}
	return lastObject(p.t, out)
}

func lastObject(t testing.TB, out string) (o oneoff.Outcome) {
	t.Helper()
	out = strings.TrimSpace(out)
	if err := json.Unmarshal([]byte(out[strings.LastIndex(out, "\n")+1:]), &o); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return o
}

// receive starts a receiver in a namespace, and waits until it listens.
func receive(t testing.TB, s *stack, protocols []string, flags ...string) *started {
	t.Helper()
	flags = append([]string{"recv", "--json", "--only", strings.Join(protocols, ",")}, flags...)
	p := s.windtunnel(t, flags...)
	for range protocols {
		if line := p.line(); !strings.Contains(line, `"what":"listening"`) {
			t.Fatalf("the receiver says %s", line)
		}
	}
	return p
}

// TestOneReceiverServesEverybody: all kinds and all protocols, at once.
func TestOneReceiverServesEverybody(t *testing.T) {
	needsRoot(t)
	bed := direct(t)
	receiver := receive(t, bed.to, oneoff.Protocols())
	native := func(args ...string) *started {
		return bed.from.windtunnel(t, append(args, "10.0.0.2", "--json", "--time", "2s", "--warmup", "500ms", "--no-calibrate")...)
	}
	stream := native("send")
	datagram := native("send", "--kind", "datagram", "--rate", "50Mbit/s")
	ping := native("ping", "--rate", "500/s")
	frames := native("frames", "--flows", "10", "--packets", "10k/s")
	iperf3 := bed.from.windtunnel(t, "iperf3", "-c", "10.0.0.2", "-t", "2", "-J")
	ntttcp := bed.from.windtunnel(t, "ntttcp", "--as", "linux", "-s", "10.0.0.2", "-P", "2", "-t", "2")
	for name, p := range map[string]*started{"stream": stream, "datagram": datagram, "ping": ping, "frames": frames} {
		got := p.outcomeOf().Pair
		if got.Receiver.Bytes == 0 || got.Limit == nil || got.Limit.Verdict == "" {
			t.Errorf("%s: received %d bytes, limit %+v", name, got.Receiver.Bytes, got.Limit)
		}
		if name == "ping" && got.Sender.Latencies[result.LatencyIntended].P99 <= 0 {
			t.Errorf("ping has the latencies %v", got.Sender.Latencies)
		}
	}
	if out, code := iperf3.wait(); code != 0 || decodeIperf3(t, []byte(out)).End.Streams[0].Receiver.Bytes == 0 {
		t.Errorf("iperf3: exit code %d: %s%s", code, out, iperf3.errs.String())
	}
	if out, code := ntttcp.wait(); code != 0 {
		t.Errorf("ntttcp: exit code %d: %s%s", code, out, ntttcp.errs.String())
	}
	// A sender may have gone before the receiver has read all that it sent.
	ended := map[string]int{}
	for range 6 {
		ended[receiver.sessionsEnd()]++
	}
	if ended["native"] != 4 || ended["iperf3"] != 1 || ended["ntttcp"] != 1 {
		t.Errorf("sessions ended: %v", ended)
	}
	_ = receiver.cmd.Process.Signal(syscall.SIGINT)
	if out, code := receiver.wait(); code != 130 {
		t.Errorf("the receiver ended with %d after a Ctrl-C: %s%s", code, out, receiver.errs.String())
	}
}

// sessionsEnd waits for a session to end well, and returns its protocol.
func (p *started) sessionsEnd() string {
	p.t.Helper()
	for {
		line := p.line()
		var e traffic.ServerEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatalf("%v: %s", err, line)
		}
		switch e.What {
		case traffic.SessionEnded:
			return e.Protocol
		case traffic.SessionFailed:
			p.t.Fatalf("a session failed: %s", line)
		}
	}
}

// TestManyAtOnce serves as many senders as it was told, each with its own result,
// and one more with a refusal.
func TestManyAtOnce(t *testing.T) {
	needsRoot(t)
	const many = 12
	bed := direct(t)
	receive(t, bed.to, []string{"native"}, "--max-clients", fmt.Sprint(many))
	var senders []*started
	for range many {
		senders = append(senders, bed.from.windtunnel(t, "send", "10.0.0.2", "--json", "--time", "8s", "--warmup", "0s", "--interval", "500ms",
			"--no-calibrate", "--rate", "10Mbit/s"))
	}
	for _, p := range senders {
		p.line() // it is being served
	}
	more := bed.from.windtunnel(t, "send", "10.0.0.2", "--time", "1s", "--no-calibrate")
	if _, code := more.wait(); code != 1 || !strings.Contains(more.errs.String(), "at once, and they are there; try again later") {
		t.Errorf("one more: exit code %d: %s", code, more.errs.String())
	}
	for _, p := range senders {
		if got := p.outcomeOf(); got.Pair.Receiver.Bytes < 2*10e6/8 {
			t.Errorf("got %d bytes of %g", got.Pair.Receiver.Bytes, 8*10e6/8)
		}
	}
}

// TestTakenPorts cost their protocols alone, unless those were asked for.
func TestTakenPorts(t *testing.T) {
	needsRoot(t)
	s := newStack(t)
	receive(t, s, oneoff.Protocols())
	some := s.windtunnel(t, "recv", "--json", "--port", "5299")
	listens, deaf := 0, 0
	for range oneoff.Protocols() {
		switch line := some.line(); {
		case strings.Contains(line, `"what":"listening","protocol":"native"`):
			listens++
		case strings.Contains(line, `"what":"deaf"`) && strings.Contains(line, "in use already"):
			deaf++
		}
	}
	if listens != 1 || deaf != len(oneoff.Protocols())-1 {
		t.Errorf("%d listen, %d do not", listens, deaf)
	}
	for _, flags := range [][]string{{"recv"}, {"recv", "--port", "5298", "--only", "native,iperf3"}} {
		p := s.windtunnel(t, flags...)
		if _, code := p.wait(); code != 1 || !strings.Contains(p.errs.String(), "in use already") {
			t.Errorf("%v: exit code %d: %s", flags, code, p.errs.String())
		}
	}
}

// TestAnyUserMaySendAndReceive what needs no root, and is told what does.
func TestAnyUserMaySendAndReceive(t *testing.T) {
	needsRoot(t)
	program := filepath.Join(t.TempDir(), "windtunnel")
	if err := os.Chmod(filepath.Dir(filepath.Dir(program)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, read(t, filepath.Join(bin, "windtunnel")), 0o755); err != nil {
		t.Fatal(err)
	}
	const nobody = "65534"
	as := []string{"--reuid", nobody, "--regid", nobody, "--clear-groups", program}
	s := newStack(t)
	receiver := s.start(t, "setpriv", append(as, "recv", "--bind", "127.0.0.1", "--json", "--only", "native")...)
	receiver.line()
	for kind, why := range map[string]string{"stream": "", "datagram": "", "ping": "", "frame": "root"} {
		args := []string{"send", "127.0.0.1", "--kind", kind, "--json", "--time", "500ms", "--warmup", "0s", "--no-calibrate"}
		if kind == "stream" || kind == "ping" {
			args = append(args, "--congestion", "reno") // cubic is not for everybody
		}
		p := s.start(t, "setpriv", append(as, args...)...)
		if why == "" {
			if got := p.outcomeOf(); got.Pair.Receiver.Bytes == 0 {
				t.Errorf("%s: nothing was received", kind)
			}
			continue
		}
		if _, code := p.wait(); code != 1 || !strings.Contains(p.errs.String(), why) {
			t.Errorf("%s: exit code %d: %s", kind, code, p.errs.String())
		}
	}
}

// TestSenderInterrupted prints what there is.
func TestSenderInterrupted(t *testing.T) {
	needsRoot(t)
	bed := direct(t)
	receive(t, bed.to, []string{"native"})
	for _, kind := range []string{"stream", "datagram", "ping", "frame"} {
		t.Run(kind, func(t *testing.T) {
			p := bed.from.windtunnel(t, "send", "10.0.0.2", "--kind", kind, "--json", "--interval", "200ms", "--warmup", "0s", "--time", "1min", "--no-calibrate")
			p.line()
			p.line()
			_ = p.cmd.Process.Signal(syscall.SIGINT)
			out, code := p.wait()
			if code != 130 {
				t.Fatalf("exit code %d: %s", code, p.errs.String())
			}
			if got := lastObject(t, out); !got.Interrupted || got.Pair.Sender.Bytes == 0 || got.Pair.Receiver.Bytes == 0 {
				t.Errorf("interrupted %t with %d and %d bytes", got.Interrupted, got.Pair.Sender.Bytes, got.Pair.Receiver.Bytes)
			}
		})
	}
}

// TestReceiverKilled is a failure of its senders, at once.
func TestReceiverKilled(t *testing.T) {
	needsRoot(t)
	for _, kind := range []string{"stream", "datagram", "ping", "frame"} {
		t.Run(kind, func(t *testing.T) {
			bed := direct(t)
			receiver := receive(t, bed.to, []string{"native"})
			p := bed.from.windtunnel(t, "send", "10.0.0.2", "--kind", kind, "--json", "--interval", "200ms", "--warmup", "0s", "--time", "1min", "--no-calibrate")
			p.line()
			_ = receiver.cmd.Process.Kill()
			began := time.Now()
			if _, code := p.wait(); code != 1 {
				t.Errorf("exit code %d: %s", code, p.errs.String())
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took the sender %s to see", took)
			}
		})
	}
}
