package vrouter_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// TestChangeUnderTraffic: while configurations come and go, no packet that both the old and the new
// one forward is lost.
func TestChangeUnderTraffic(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.run("--lease")
	sender, receiver := udpSocket(t, b.a1, 0), udpSocket(t, b.b1, 0)
	var came atomic.Int64
	go func() { // meanwhile, because a socket holds some thousands, and changes take a slow machine its time
		for buffer := make([]byte, 64); ; came.Add(1) {
			if _, err := receiver.Read(buffer); err != nil {
				return // the test has closed it
			}
		}
	}()
	stop, sent := make(chan struct{}), make(chan int)
	go func() {
		for count := 0; ; count++ {
			select {
			case <-stop:
				sent <- count
				return
			case <-time.After(100 * time.Microsecond):
				sender.WriteTo([]byte("datagram"), receiver.LocalAddr())
			}
		}
	}()
	for i := range 60 {
		if err := b.a.churn(i); err != nil {
			t.Errorf("change %d: %v", i, err)
		}
	}
	close(stop)
	want := <-sent
	for deadline := time.Now().Add(patience); int(came.Load()) < want && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := int(came.Load()); got != want || want < 100 {
		t.Errorf("%d datagrams arrived, %d were sent: %v", got, want, ask[control.Stats](b.a, "stats").Drops)
	}
	b.a.addsUp()
}

// churn applies another of a few configurations, in all of which a1 reaches b1.
func (n *node) churn(i int) error {
	whole := n.config
	defer func() { n.config = whole }()
	n.config.Ports = whole.Ports[:1+i%2]
	n.config.Routes = append([]config.Route{}, whole.Routes...)
	for j := range i % 7 {
		r := whole.Routes[0]
		r.Prefix = netip.MustParsePrefix(fmt.Sprintf("10.0.%d.0/24", j))
		n.config.Routes = append(n.config.Routes, r)
	}
	return n.apply()
}

// TestNeighbourMoves: when the far end gets another MAC, packets follow.
func TestNeighbourMoves(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.run("--lease")
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Fatal(err)
	}
	b.b.SetMAC("wire0", "02:00:00:00:99:99")
	b.b.Forget("wire0") // its ARP answers then tell a of the change
	b.a.Forget("wire0")
	lab.Await(t, "the new MAC is in the table", func() bool {
		for _, n := range ask[[]control.Nexthop](b.a, "nh") {
			if n.Type == "tunnel" {
				return n.MAC == "02:00:00:00:99:99"
			}
		}
		return false
	})
	// b has forgotten a, and may notice after its first look: the answers wait for the next.
	lab.Await(t, "answers come by the new MAC", func() bool { return ping(b.a1, b.b1.address, 56) == nil })
}

// TestInterfaceReturns: a port whose veth is deleted is missing, and works again with a new one.
func TestInterfaceReturns(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.run("--lease")
	b.a.Delete("v-a1")
	lab.Await(t, "the port is missing", func() bool { return len(ask[control.Status](b.a, "status").Missing) == 1 })
	lab.Veth(b.a.Namespace, "v-a1", b.a1.Namespace, "eth0", containerMTU, "02:00:00:00:01:03")
	b.a1.Address("eth0", "10.0.1.3/24")
	lab.Await(t, "the port is back", func() bool { return len(ask[control.Status](b.a, "status").Missing) == 0 })
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Error(err)
	}
}

// TestRefusals: what cannot be applied changes nothing, and says why.
func TestRefusals(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.run("--lease")
	good := b.a.config
	for want, change := range map[string]func(*config.Config){
		"make the veth first": func(c *config.Config) { c.Ports = append([]config.Port{}, c.Ports...); c.Ports[0].Interface = "v-nix" },
		"this vRouter is":     func(c *config.Config) { c.Name = "another" },
		"start it anew":       func(c *config.Config) { c.Fabric.Interface = "wire1" },
		"there is no network": func(c *config.Config) { c.Routes = append([]config.Route{}, c.Routes...); c.Routes[0].Network = "nix" },
		"ports[2].":           func(c *config.Config) { c.Ports = append(c.Ports, config.Port{}) },
	} {
		b.a.config = good
		change(&b.a.config)
		if err := b.a.apply(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, not: %s", err, want)
		}
	}
	b.a.config = good
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Error(err)
	}
	if s := ask[control.Status](b.a, "status"); s.Changes != 1 {
		t.Errorf("%d configurations were applied", s.Changes)
	}
}

// changeRoutes asks a node for changes of its routes.
func (n *node) changeRoutes(changes []config.Change) error {
	text, err := json.Marshal(changes)
	if err != nil {
		return err
	}
	_, err = control.Ask(n.socket(), control.Request{Routes: text})
	return err
}

// TestRouteComesAndGoes: a single route that is taken away and put back, also to a node that no other
// route leads to.
func TestRouteComesAndGoes(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	whole := b.a.config.Routes
	b.a.config.Routes = nil
	b.run("--lease")
	if err := b.a.changeRoutes([]config.Change{{Network: "network1", Prefix: whole[0].Prefix, Via: &whole[0].Via}}); err != nil {
		t.Fatal(err)
	}
	lab.Await(t, "the new tunnel is resolved", func() bool { return len(ask[control.Status](b.a, "status").Unresolved) == 0 })
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Error(err)
	}
	remove := config.Change{Network: "network1", Prefix: whole[0].Prefix, Remove: true}
	for range 2 { // the second time there is nothing to remove
		if err := b.a.changeRoutes([]config.Change{remove}); err != nil {
			t.Error(err)
		}
	}
	if s := ask[control.Status](b.a, "status"); s.Routes != 0 {
		t.Errorf("%d routes are left", s.Routes)
	}
	flags := []string{"10.0.1.4/32", "--network", "network1", "--socket", b.a.socket()}
	for _, words := range [][]string{{"rt", "add", "--tunnel", "10.0.0.2", "--encapsulation", "mplsoudp", "--label", "17"}, {"rt", "del"}} {
		if text, err := vrouterCommand(t, append(words, flags...)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", words, err, text)
		}
		if s, want := ask[control.Status](b.a, "status"), map[string]int{"add": 1}[words[1]]; s.Routes != want {
			t.Errorf("after %s there are %d routes", words, s.Routes)
		}
	}
	err := b.a.changeRoutes([]config.Change{{Network: "network1", Prefix: whole[0].Prefix, Via: &whole[0].Via}, {Network: "network1"}})
	if err == nil || !strings.Contains(err.Error(), "routes[1].prefix") || len(ask[[]control.Route](b.a, "rt")) != 3 {
		t.Errorf("a wrong change: %v; routes %v", err, ask[[]control.Route](b.a, "rt"))
	}
}
