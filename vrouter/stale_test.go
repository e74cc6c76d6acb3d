package vrouter_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// TestStaleRoutes: routes that a client set outlive the daemon's death and restart, and are stale until
// they are set again or swept.
func TestStaleRoutes(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.a.privateBPF()
	b.a.config.Name = fmt.Sprintf("stale-%d", unix.Getpid())
	route := b.a.config.Routes[0]
	b.a.config.Routes = nil
	b.run2("", "--lease")
	second := route
	second.Prefix = b.b.config.Networks[0].Subnet
	set := []config.Change{{Network: route.Network, Prefix: route.Prefix, Via: &route.Via}, {Network: second.Network, Prefix: second.Prefix, Via: &second.Via}}
	if err := b.a.changeRoutes(set); err != nil {
		t.Fatal(err)
	}
	lab.Await(t, "the tunnel is resolved", b.a.resolved)
	reaches := func(when string) {
		t.Helper()
		if err := ping(b.a1, b.b1.address, 56); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	stale := func(want int) {
		t.Helper()
		rows := 0
		for _, r := range ask[[]control.Route](b.a, "rt") {
			if r.Stale {
				rows++
			}
		}
		if s := ask[control.Status](b.a, "status"); s.Stale != want || rows != want {
			t.Errorf("%d routes are stale, %d of them listed, not %d", s.Stale, rows, want)
		}
	}
	reaches("before")
	stale(0)
	b.a.signal(syscall.SIGKILL)
	reaches("with no process")
	b.a.run()
	reaches("after the restart")
	stale(2)
	if err := b.a.changeRoutes(set[:1]); err != nil {
		t.Error(err)
	}
	stale(1)
	if out, code := b.a.tool("rt", "sweep"); code != 0 || out != "1 stale route taken away; 1 are left\n" {
		t.Errorf("exit %d: %s", code, out)
	}
	stale(0)
	reaches("after the sweep")
	b.a.signal(syscall.SIGKILL)
	b.a.run()
	stale(1)
	if out, code := b.a.tool("apply", b.a.write()); code != 0 || !strings.Contains(out, "- network1 10.0.1.4/32") {
		t.Errorf("exit %d: %s", code, out)
	}
	stale(0)
	if err := ping(b.a1, b.b1.address, 56); err == nil {
		t.Error("a configuration that is applied did not replace the routes")
	}
	b.a.addsUp()
	b.a.signal(syscall.SIGTERM)
	b.a.deletes()
}
