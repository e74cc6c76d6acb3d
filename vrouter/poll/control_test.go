package poll

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/lab"
)

// startIn starts a process in a network namespace, which ends with the test.
func startIn(t *testing.T, n *lab.Namespace) (p *Plane) {
	t.Helper()
	options := testOptions(t)
	n.Do(func() (err error) {
		p, err = Start(options)
		return err
	})
	t.Cleanup(func() { p.Close() })
	return p
}

// TestNoAnswer: a process that does not answer in time is ended, because its answer would be taken for another's.
func TestNoAnswer(t *testing.T) {
	lab.NeedRoot(t)
	n := lab.NewNamespace(t)
	p := startIn(t, n)
	n.Must("awaiting the first answer", p.process.ask("withdraw"))
	p.mu.Lock() // nobody else asks it, or starts another one
	defer p.mu.Unlock()
	first := p.process
	first.waits = 50 * time.Millisecond
	lab.Stop(t, first.command.Process.Pid)
	if err := first.ask("count"); err == nil || !strings.Contains(err.Error(), "has not answered") {
		t.Errorf("%v", err)
	}
	select {
	case <-first.done:
	case <-time.After(endTime):
		t.Error("it was not ended")
	}
}

// TestControl asks a process for what it cannot do: each line gets one answer, and it goes on.
func TestControl(t *testing.T) {
	lab.NeedRoot(t)
	n := lab.NewNamespace(t)
	p := startIn(t, n)
	for request, says := range map[string]string{
		"":                                     "no such request",
		"   ":                                  "no such request",
		"help":                                 "no such request",
		"add":                                  "a number is missing",
		"add 1":                                "a vif, a kind, a place and an MTU",
		"add 1 af_packet":                      "a vif, a kind, a place and an MTU",
		"add 1 af_packet lo":                   "a vif, a kind, a place and an MTU",
		"add 1 af_packet lo 0 lo":              "a vif, a kind, a place and an MTU",
		"add 1 af_packet lo lo":                "a number is missing",
		"add 1 af_packet lo 65536":             "none, or too large",
		"add -1 af_packet lo 0":                "a number is missing",
		"offers":                               "a number is missing",
		"offers 1":                             "the vif has no port",
		"offers 1 2":                           "take a vif only",
		"rules":                                "there is no file of rules",
		"add 1x af_packet lo 0":                "none, or too large",
		"add 1024 af_packet lo 0":              "none, or too large",
		"add 99999999999999999999 tap lo 0":    "none, or too large",
		"add 1 pcap lo 0":                      "a kind of port that there is not",
		"add 1 af_packet nosuch 0":             "No such device",
		"add 1 af_packet sixteen-letters 0":    "No such device",
		"add 1 af_packet sixteen-letters- 0":   "too long",
		"add 1 af_packet lo,lo 0":              "a character that cannot be in one",
		"add 1 af_xdp lo,lo 0":                 "a character that cannot be in one",
		"add 1 af_xdp nosuch 0":                "DPDK cannot open it",
		"add 1 tap t0 0":                       "no open file of it",
		"add host tap t0 0":                    "no open file of it",
		"add 1 pci 0000:ff:1f.7 0":             "DPDK cannot open it",
		"add 1 pci nonsense 0":                 "DPDK cannot open it",
		"add 1 virtio-client /nonexistent/s 0": "DPDK cannot open it",
		"add 1 virtio-client run/x 0":          "must begin with /",
		"add 1 vhost-server /run/x,client=0 0": "a character that cannot be in one",
		"add 1 vhost-client run/x 0":           "must begin with /",
		"add 1 vhost-server /" + strings.Repeat("x", 107) + " 0": "too long",
		"try host":                     "is not decided",
		"remove host":                  "has no port",
		"remove":                       "a number is missing",
		"remove 1":                     "has no port",
		"remove 0":                     "has no port",
		"remove 1 2":                   "a vif only",
		"link":                         "a number is missing",
		"link 1":                       "has no port",
		"link 1 2":                     "a vif only",
		strings.Repeat("a", 511):       "no such request",
		strings.Repeat("a", 512):       "a line that is too long",
		strings.Repeat("add 1 ", 2000): "a line that is too long",
		"add 1\x00netdev lo":           "a zero byte",
	} {
		if err := p.process.ask("%s", request); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, not %q", request, err, says)
		}
	}
	n.Must("adding a port", p.process.ask("add 1 af_packet lo 0"))
	if err := p.process.ask("add 1 af_packet lo 0"); err == nil || !strings.Contains(err.Error(), "a port already") {
		t.Errorf("a port twice: %v", err)
	}
	n.Must("waiting for a round", p.Quiesce())
	n.Must("removing a port", p.process.ask("remove 1"))
}

// newProcess starts one that nobody supervises.
func newProcess(t *testing.T) *process {
	t.Helper()
	image, err := makeImage(size{16, 16, 64}, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(image.close)
	options := testOptions(t)
	if options.CPUs, err = ChooseCPUs(nil); err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(options, image, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHalfALine: a process whose agent goes in the middle of a request ends.
func TestHalfALine(t *testing.T) {
	p := newProcess(t)
	if _, err := p.control.Write([]byte("add 1 netd")); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	if state := p.command.ProcessState; !state.Success() {
		t.Errorf("the process ended with %v", state)
	}
}

// TestKilledInTheMiddle: what asks a process that is gone says so.
func TestKilledInTheMiddle(t *testing.T) {
	lab.NeedRoot(t)
	p := newProcess(t)
	if err := p.command.Process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := p.add(config.Attachment{Vif: 1, Interface: "lo", Driver: config.DriverPacket}, nil); err == nil || !strings.Contains(err.Error(), "process ended (signal: killed)") {
		t.Errorf("asking it: %v", err)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}

// TestNoProgram: what is missing is named, and how to get it.
func TestNoProgram(t *testing.T) {
	_, err := Start(Options{Program: "/nonexistent/vrouter-poll", Blocks: 16, Hosts: 16})
	if err == nil || !strings.Contains(err.Error(), "make poll") {
		t.Errorf("%v", err)
	}
}
