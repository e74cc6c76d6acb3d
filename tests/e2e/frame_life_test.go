//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/frame"
)

// TestFramesWithoutAnEnd: each end says so when the other goes away.
func TestFramesWithoutAnEnd(t *testing.T) {
	needsRoot(t)
	for _, gone := range []traffic.Role{traffic.Send, traffic.Receive} {
		t.Run(string(gone), func(t *testing.T) {
			bed := direct(t)
			load := result.Options{"packets": 5000.0}
			receive := bed.prepare(t, bed.to, traffic.Order{Role: traffic.Receive, Load: load, Address: "10.0.0.2"})
			send := bed.prepare(t, bed.from, traffic.Order{Role: traffic.Send, Load: load, Address: receive.Address()})
			when := traffic.Schedule{Start: time.Now().Add(100 * time.Millisecond), Window: 2 * time.Second, Interval: 50 * time.Millisecond}
			stays, goes := send, receive
			if gone == traffic.Send {
				stays, goes = receive, send
			}
			other := make(chan struct{})
			go func() { defer close(other); goes.Run(t.Context(), when) }()
			var once sync.Once
			watched := when
			watched.Observe = func(i result.Interval) {
				if i.Packets > 0 {
					once.Do(func() { go goes.Close() })
				}
			}
			end, err := stays.Run(t.Context(), watched)
			if gone == traffic.Send && (err != nil || !strings.Contains(end.Error, "went away") || end.Packets == 0) {
				t.Errorf("got %v and %+v", err, end)
			}
			if gone == traffic.Receive && (err != nil || !strings.Contains(end.Error, "receiver") || end.Packets == 0) {
				t.Errorf("got %v and %+v", err, end)
			}
			<-other
		})
	}
}

// frameObjects are the programs and maps of this load on the whole host, by name.
func frameObjects() (names []string) {
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if err != nil {
			break
		}
		id = next
		if p, err := ebpf.NewProgramFromID(id); err == nil {
			names = append(names, p.String())
			p.Close()
		}
	}
	for id := ebpf.MapID(0); ; {
		next, err := ebpf.MapGetNextID(id)
		if err != nil {
			break
		}
		id = next
		if m, err := ebpf.NewMapFromID(id); err == nil {
			names = append(names, m.String())
			m.Close()
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return !strings.Contains(n, "frame_") })
}

// TestFramesLeaveNothing looks for programs and maps of this load on the whole host,
// at the interface, and for descriptors of this process.
func TestFramesLeaveNothing(t *testing.T) {
	needsRoot(t)
	bed := direct(t)
	bed.frames(t, "10.0.0.2", result.Options{}, briefly) // the runtime's own descriptors are there now
	descriptors := countDescriptors(t)
	features := bed.to.output("ethtool -k eth0; ip -d link; tc qdisc; tc filter show dev eth0 ingress")
	for _, load := range []result.Options{
		{"flows": 10, "threads": 2}, {"sink": "tc"}, {"sink": "af-packet", "method": "af-packet"}, {"method": "af-packet", "sink": "xdp"},
	} {
		bed.frames(t, "10.0.0.2", load, briefly)
		receive := bed.prepare(t, bed.to, traffic.Order{Role: traffic.Receive, Load: load, Address: "10.0.0.2"})
		receive.Close() // without a sender, without a run
	}
	receive := bed.prepare(t, bed.to, traffic.Order{Role: traffic.Receive, Address: "10.0.0.2"})
	if len(frameObjects()) == 0 {
		t.Error("nothing is found of a receiver that stands")
	}
	receive.Close()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left, n := frameObjects(), countDescriptors(t)
		if len(left) == 0 && n <= descriptors {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors, %d before; %v", n, descriptors, left)
		}
	}
	if now := bed.to.output("ethtool -k eth0; ip -d link; tc qdisc; tc filter show dev eth0 ingress"); now != features {
		t.Errorf("the interface is not as it was:\n%s\nbefore:\n%s", now, features)
	}
}

func countDescriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestFramesChild is no test but the process that another test kills.
func TestFramesChild(t *testing.T) {
	address := os.Getenv(asChild)
	if address == "" {
		t.Skip("skip: it is the child of TestFramesDieWithTheirProcess")
	}
	if _, err := (frame.Kind{}).Prepare(t.Context(), traffic.Order{Role: traffic.Receive, Address: address}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("counting")
	select {}
}

// TestFramesDieWithTheirProcess: a receiver that is killed by force leaves no
// program, map or link.
func TestFramesDieWithTheirProcess(t *testing.T) {
	needsRoot(t)
	bed := direct(t)
	child := exec.Command(os.Args[0], "-test.run", "^TestFramesChild$")
	child.Env = append(os.Environ(), asChild+"=10.0.0.2")
	out, err := child.StdoutPipe()
	if err == nil {
		bed.to.do(func() { err = child.Start() })
	}
	if err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len("counting"))
	if _, err := io.ReadFull(out, said); err != nil || string(said) != "counting" {
		t.Errorf("the child said %q, %v", said, err)
	}
	if links := bed.to.output("ip -d link show eth0"); !strings.Contains(links, "xdp") {
		t.Errorf("no XDP program stands at the child's interface:\n%s", links)
	}
	child.Process.Kill()
	child.Wait()
	for deadline := time.Now().Add(5 * time.Second); len(frameObjects()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("left: %v", frameObjects())
		}
	}
	if links := bed.to.output("ip -d link show eth0"); strings.Contains(links, "xdp") {
		t.Errorf("an XDP program is left:\n%s", links)
	}
}
