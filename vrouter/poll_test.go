package vrouter_test

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
	"windtunnel/vrouter/kernel"
)

// pollBed is a bed that runs, whose node a forwards in poll mode, with such flags, and node b in kernel
// mode.
func pollBed(t *testing.T, encapsulation config.Encapsulation, flags ...string) *bed {
	t.Helper()
	b := newBed(t, encapsulation).poll()
	b.a.mode = append(b.a.mode, flags...)
	b.run("--lease")
	return b
}

// poll turns node a over to poll mode.
func (b *bed) poll() *bed {
	t := b.a.t
	t.Helper()
	if !kernel.HaveTCX() {
		t.Skip("skip: needs tcx (Linux 6.6)")
	}
	b.a.mode = []string{"--mode", "poll", "--poll-pause", "50us", "--poll-program", lab.PollProgram(t)}
	return b
}

// inModes runs a test in both modes. It turns the beds that it makes over to the one that it is for.
func inModes(t *testing.T, test func(t *testing.T, mode func(*bed) *bed)) {
	t.Run("kernel", func(t *testing.T) { test(t, func(b *bed) *bed { return b }) })
	t.Run("poll", func(t *testing.T) { test(t, (*bed).poll) })
}

func (n *node) pollPID() int {
	n.t.Helper()
	if p := ask[control.Status](n, "status").Poll; p != nil {
		return p.PID
	}
	return 0
}

// exists tells whether a process is there, and not only waited for.
func exists(pid int) bool { return unix.Kill(pid, 0) == nil }

// TestPollForward: the poll mode and the kernel mode understand each other, whatever the checksums'
// state is; what arrives is what was sent; every packet is accounted for; and at the end, nothing is left.
func TestPollForward(t *testing.T) {
	for _, encapsulation := range encapsulations {
		t.Run(string(encapsulation), func(t *testing.T) {
			b := pollBed(t, encapsulation)
			b.a.routes()
			forwards(t, b, innerMTU(encapsulation), false)
			if s := b.a.addsUp(); s.Dropped.Packets != 0 || s.Answered.Packets == 0 {
				t.Errorf("node a's account: %+v", s)
			}
			b.b.addsUp()
			if told, sent := b.a.counted("Icmp:", "OutDestUnreachs"), b.a.counted("Ip:", "ForwDatagrams"); told != "0" || sent != "0" {
				t.Errorf("the host's own stack has told other nodes %s times that nobody listens, and forwarded %s packets itself", told, sent)
			}
			pid := b.a.pollPID()
			b.a.end()
			b.b.end()
			if exists(pid) {
				t.Errorf("process %d of the poll mode is still there", pid)
			}
		})
	}
}

// routes makes the host's own stack a router, which believes that all networks are behind the other node.
func (n *node) routes() {
	n.Do(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644) })
	n.Route("wire0", "0.0.0.0/0", "10.0.0.2")
}

// counted is a counter of the host's own stack (/proc/net/snmp), which has one line of names and one of
// values for each protocol.
func (n *node) counted(protocol, counter string) (count string) {
	n.t.Helper()
	n.Do(func() error {
		text, err := os.ReadFile("/proc/thread-self/net/snmp")
		if err != nil {
			return err
		}
		var names []string
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); fields[0] == protocol && names == nil {
				names = fields
			} else if fields[0] == protocol {
				for i, name := range names {
					if name == counter {
						count = fields[i]
					}
				}
			}
		}
		return nil
	})
	return count
}

// TestPollMTU: what does not fit the tunnel is answered, as in kernel mode.
func TestPollMTU(t *testing.T) {
	b := pollBed(t, config.MPLSoUDP)
	const fits = 1468 - 28
	if err := ping(b.a1, b.b1.address, fits); err != nil {
		t.Errorf("the largest that fits: %v", err)
	}
	var big tooBig
	if err := ping(b.a1, b.b1.address, fits+1); !errors.As(err, &big) || big.mtu != 1468 {
		t.Errorf("one byte more: %v, not an answer with the MTU", err)
	}
	b.a.addsUp()
}

// TestPollProcessDies: a process that was killed is started anew with its tables and counters.
func TestPollProcessDies(t *testing.T) {
	b := pollBed(t, config.VXLAN)
	tcp(t, b.a1, b.b1, 1<<20)
	before, pid := b.a.addsUp(), b.a.pollPID()
	b.a.Must("killing the process", unix.Kill(pid, unix.SIGKILL))
	lab.Await(t, "there is another process", func() bool {
		now := b.a.pollPID()
		return now != 0 && now != pid
	})
	for to, from := range map[netip.Addr]*container{b.b1.address: b.a1, b.a1.address: b.b1} {
		if err := ping(from, to, 56); err != nil {
			t.Error(err)
		}
	}
	tcp(t, b.a1, b.b1, 1<<20)
	if s := b.a.addsUp(); s.Received.Packets <= before.Received.Packets {
		t.Errorf("%d packets were received in all, %d before", s.Received.Packets, before.Received.Packets)
	}
	if s := ask[control.Status](b.a, "status"); s.Poll.Restarts != 1 || s.Problem != "" {
		t.Errorf("%d restarts, problem %q", s.Poll.Restarts, s.Problem)
	}
}

// TestPollMissed: what comes while an interface's queue is full is told.
func TestPollMissed(t *testing.T) {
	const sent = 2000 // more than there is room for
	b := pollBed(t, config.MPLSoUDP)
	if err := ping(b.a1, b.b1.address, 56); err != nil { // neighbours know each other
		t.Fatal(err)
	}
	missed := func() (packets uint64) {
		for _, c := range ask[control.Status](b.a, "status").Poll.Cores {
			packets += c.Missed
		}
		return packets
	}
	seen := func() uint64 { return b.a.vif("a1").Rx.Packets + missed() }
	before, pid, from := seen(), b.a.pollPID(), udpSocket(t, b.a1, 0)
	lab.Stop(t, pid)
	for range sent {
		from.WriteToUDPAddrPort([]byte("more"), netip.AddrPortFrom(b.b1.address, 9))
	}
	b.a.Must("letting it go on", unix.Kill(pid, unix.SIGCONT))
	lab.Await(t, "all that was sent was received or missed", func() bool { return seen() >= before+sent })
	if missed() == 0 {
		t.Error("nothing was missed")
	}
}

// TestPollKilled: when the agent is killed, the process ends, and the interfaces are the host's again. The next
// one takes them, as a service manager would have it.
func TestPollKilled(t *testing.T) {
	b := pollBed(t, config.MPLSoUDP)
	pid, held := b.a.pollPID(), b.a.held()
	if !exists(pid) || alive(held) == 0 {
		t.Fatalf("before: process %d, and %d BPF objects", pid, alive(held))
	}
	b.a.signal(syscall.SIGKILL)
	lab.Await(t, "the process has ended", func() bool { return !exists(pid) })
	lab.Await(t, "the BPF objects are gone", func() bool { return alive(held) == 0 })
	b.a.run("--lease")
	lab.Await(t, "the other node is found again", b.a.resolved)
	if err := ping(b.b1, b.a1.address, 56); err != nil {
		t.Errorf("with the next vRouter: %v", err)
	}
}

// TestPollStopped: a process that somebody has stopped ends with its vRouter, too, however that ends.
func TestPollStopped(t *testing.T) {
	b := pollBed(t, config.MPLSoUDP)
	pid := b.a.pollPID()
	lab.Stop(t, pid)
	b.a.signal(syscall.SIGKILL)
	lab.Await(t, "the process has ended", func() bool { return !exists(pid) })
}

// TestPollPortsComeAndGo: ports are taken and given back while packets flow, and an interface that
// was deleted and made again is found.
func TestPollPortsComeAndGo(t *testing.T) {
	b := pollBed(t, config.MPLSoUDP)
	second := b.a.config.Ports[1]
	b.a.config.Ports = b.a.config.Ports[:1]
	b.a.Must("taking a port away", b.a.apply())
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Errorf("the other port: %v", err)
	}
	b.a.config.Ports = append(b.a.config.Ports, second)
	b.a.Must("bringing it back", b.a.apply())
	if err := ping(b.a2, b.b1.address, 56); err != nil {
		t.Errorf("the port that is back: %v", err)
	}
	b.a.Delete(second.Interface)
	lab.Await(t, "the port is missing", func() bool { return len(ask[control.Status](b.a, "status").Missing) == 1 })
	lab.Veth(b.a.Namespace, second.Interface, b.a2.Namespace, "eth0", containerMTU, second.MAC.String())
	b.a2.Address("eth0", b.a2.address.String()+"/24")
	lab.Await(t, "the port is back", func() bool { return ping(b.a2, b.b1.address, 56) == nil })
	b.a.addsUp()
}

// TestPollRouteChurn: thousands of routes change a second beside a TCP stream, which loses nothing.
func TestPollRouteChurn(t *testing.T) {
	b := pollBed(t, config.MPLSoUDP)
	gre := b.a.config.Routes[0].Via
	gre.Encapsulation = config.MPLSoGRE
	s := startStream(t, b.a1, b.b1)
	random, begin, done := rand.New(rand.NewPCG(1, 2)), time.Now(), 0
	for time.Since(begin) < 2*time.Second {
		changes := churnChanges(random, b.a.config.Routes[0], gre)
		if err := b.a.changeRoutes(changes); err != nil {
			t.Fatalf("after %d changes: %v", done, err)
		}
		done += len(changes)
		time.Sleep(time.Until(begin.Add(time.Duration(done) * time.Second / churnRate)))
	}
	s.end(t, anyLoss)
	for reason := range b.a.addsUp().Drops {
		if reason != "tx_full" { // what the wire or a container is too slow for
			t.Errorf("dropped as %s", reason)
		}
	}
}

// TestPollRefusals: what poll mode cannot do is refused before anything is changed, at the start and
// later.
func TestPollRefusals(t *testing.T) {
	b := pollBed(t, config.MPLSoUDP)
	good := b.a.config
	for says, change := range map[string]func(*config.Config){
		"receives everything by itself": func(c *config.Config) { c.Fabric.Receive = config.ReceiveXDP },
		"one path only":                 func(c *config.Config) { c.Fabric.Fast = config.FastOn },
	} {
		b.a.config = good
		change(&b.a.config)
		err := b.a.apply()
		if err == nil || !errors.As(err, new(control.Refused)) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
		if text, code := b.a.second(); code != 2 || !strings.Contains(text, says) {
			t.Errorf("%s: exit code %d at the start, %s", says, code, text)
		}
	}
	b.a.config = good
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Errorf("after the refusals: %v", err)
	}
}

// second tries to start another vRouter in poll mode, with the configuration as it is.
func (n *node) second(flags ...string) (text string, code int) {
	n.t.Helper()
	return n.runs(append([]string{"--socket", filepath.Join(n.folder, "second"), "--mode", "poll", "--poll-program", lab.PollProgram(n.t)}, flags...)...)
}

// runs starts a vRouter that is to end by itself, with the configuration as it is.
func (n *node) runs(flags ...string) (text string, code int) {
	n.t.Helper()
	run := vrouterCommand(n.t, append([]string{"run", "--lease", "--config", n.write()}, flags...)...)
	n.Do(func() error {
		out, _ := run.CombinedOutput()
		text = string(out)
		return nil
	})
	return text, run.ProcessState.ExitCode()
}

// TestPollTenantsDoNotReachTheHost: the host's own stack neither hears nor answers a container,
// though it has an address that the container asks for, on a socket that all packets reach.
func TestPollTenantsDoNotReachTheHost(t *testing.T) {
	b := pollBed(t, config.MPLSoUDP)
	b.a.Address("v-a1", "10.0.1.77/24")
	b.a.Must("asking", ignoreTimeout(ping(b.a1, netip.MustParseAddr("10.0.1.77"), 56)))
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Error(err)
	}
	if drops := b.a.addsUp().Drops; drops["no_route"] == 0 {
		t.Errorf("what the container sent to the host's address was not dropped as no_route: %v", drops)
	}
}

// ignoreTimeout wants no answer.
func ignoreTimeout(err error) error {
	switch {
	case err == nil:
		return errors.New("there was an answer")
	case errors.Is(err, unix.EAGAIN):
		return nil
	}
	return err
}
