package vrouter_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// portsAddUp: rx = forwarded + answered + dropped at every port and in every network, and networks
// are the sum of their ports, in all three units.
func portsAddUp(s control.Stats) bool {
	sums := make(map[string][3]uint64)
	for _, v := range s.Vifs {
		sum := sums[v.Network]
		for i, n := range units(v.Rx) {
			sum[i] += n
		}
		sums[v.Network] = sum
		if !holds(v.Traffic) {
			return false
		}
	}
	for _, n := range s.Networks {
		for i, unit := range units(n.Rx) {
			if !holds(n.Traffic) || unit < sums[n.Name][i] { // ports that were removed count as well
				return false
			}
		}
	}
	return true
}

func holds(t control.Traffic) bool {
	rx, forwarded, answered, dropped := units(t.Rx), units(t.Forwarded), units(t.Answered), units(t.Dropped)
	for i := range rx {
		if rx[i] != forwarded[i]+answered[i]+dropped[i] {
			return false
		}
	}
	return true
}

func units(c control.Count) [3]uint64 { return [3]uint64{c.Packets, c.Segments, c.Bytes} }

// tool runs the program against a node's socket.
func (n *node) tool(args ...string) (stdout string, code int) {
	n.t.Helper()
	c := vrouterCommand(n.t, append(args, "--socket", n.socket())...)
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil && c.ProcessState == nil {
		n.t.Fatal(err)
	}
	return out.String() + problems.String(), c.ProcessState.ExitCode()
}

func (n *node) write() (file string) {
	n.t.Helper()
	text, err := json.Marshal(n.config)
	n.Must("writing the configuration", err)
	file = filepath.Join(n.folder, "wanted.json")
	writeFile(n.t, file, text)
	return file
}

// TestDryRun: a dry run tells what the real one then does, and changes nothing.
func TestDryRun(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.run("--lease")
	before := ask[[]control.Route](b.a, "rt")
	if out, code := b.a.tool("apply", b.a.write(), "--dry-run", "--exit-code"); code != 0 || out != "nothing changes\n" {
		t.Errorf("the same configuration: exit %d: %s", code, out)
	}
	b.a.config.Ports = b.a.config.Ports[:1]
	b.a.config.Routes = append(slices.Clone(b.a.config.Routes), b.a.config.Routes[0])
	b.a.config.Routes[1].Prefix = netip.MustParsePrefix("10.0.1.128/25")
	b.a.config.Routes[1].Via.Tunnel = netip.MustParseAddr("10.0.0.77")
	file := b.a.write()
	dry, code := b.a.tool("apply", file, "--dry-run", "--exit-code")
	for _, want := range []string{"- a2", "+ network1 10.0.1.128/25", "nexthops", "port a2: packets from and to it", "tunnel to 10.0.0.77: its MAC is not known"} {
		if !strings.Contains(dry, want) {
			t.Errorf("the dry run does not say %q:\n%s", want, dry)
		}
	}
	if code != 3 {
		t.Errorf("exit %d", code)
	}
	if after := ask[[]control.Route](b.a, "rt"); !slices.Equal(before, after) || ask[control.Status](b.a, "status").Changes != 1 {
		t.Errorf("the dry run changed the routes to %+v", after)
	}
	planned, _ := b.a.tool("apply", file, "--dry-run", "--json")
	done, code := b.a.tool("apply", file, "--json")
	if planned != done || code != 0 {
		t.Errorf("exit %d; planned\n%s\ndone\n%s", code, planned, done)
	}
	b.a.config.Ports[0].Interface = "v-nix"
	if out, code := b.a.tool("apply", b.a.write(), "--dry-run"); code != 2 || !strings.Contains(out, "make the veth first") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestNetworkStats: a tenant's packets and losses are found by network and port, and a network keeps
// its account when a port leaves it.
func TestNetworkStats(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.run("--lease")
	s := udpSocket(t, b.a1, 0)
	for range 5 {
		s.WriteToUDPAddrPort([]byte("no route"), netip.MustParseAddrPort("10.0.1.77:9"))
	}
	var stats control.Stats
	lab.Await(t, "5 packets without a route are the port's", func() bool {
		stats = b.a.addsUp()
		return stats.Vifs[0].Drops["no_route"] == 5
	})
	if n := stats.Networks[0]; n.Name != "network1" || n.Ports != 2 || n.Drops["no_route"] != 5 || n.Rx != stats.ReceivedVif || n.Answered != stats.Answered {
		t.Errorf("the network's account is %+v of %+v", n, stats)
	}
	if len(stats.Vifs[1].Drops) != 0 {
		t.Errorf("another port lost %v", stats.Vifs[1].Drops)
	}
	for scope, want := range map[string]string{"--network network1": "from  no_route", "--port a1": "from  no_route", "--port a2": "nothing was lost", "--port a3": `did you mean "a1"?`} {
		if out, _ := b.a.tool(append([]string{"drops"}, strings.Fields(scope)...)...); !strings.Contains(out, want) {
			t.Errorf("%s: %s", scope, out)
		}
	}
	b.a.config.Ports = b.a.config.Ports[1:]
	b.a.Must("removing a port", b.a.apply())
	if n := ask[control.Stats](b.a, "stats").Networks[0]; n.Ports != 1 || n.Drops["no_route"] != 5 {
		t.Errorf("without the port, the network's account is %+v", n)
	}
}

// TestTrace: a trace tells what the vRouter then does, counts nothing, and its frame goes on at the
// next node.
func TestTrace(t *testing.T) {
	inModes(t, func(t *testing.T, mode func(*bed) *bed) { testTrace(t, mode(newBed(t, config.MPLSoUDP))) })
}

func testTrace(t *testing.T, b *bed) {
	b.run("--lease")
	beside := "straight into its namespace"
	if len(b.a.mode) > 0 {
		beside = "to port a2 by v-a2"
	}
	before := [2]control.Stats{ask[control.Stats](b.a, "stats"), ask[control.Stats](b.b, "stats")}
	out, code := b.a.tool("trace", "--port", "a1", "--to", "10.0.1.4", "--proto", "udp", "--dport", "53", "--size", "1400", "--json")
	var first, second control.TraceReply
	if err := json.Unmarshal([]byte(out), &first); err != nil || code != 0 || first.Out == nil {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	if first.Result != "tunnel" || first.Out.Interface != "wire0" || first.Out.Length != 14+32+1400 {
		t.Errorf("%+v", first)
	}
	out, code = b.b.tool("trace", "--fabric", "--hex", first.Out.Hex, "--json")
	if err := json.Unmarshal([]byte(out), &second); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	if second.Result != "decap" || second.Out == nil || second.Out.Port != "b1" || second.Out.Length != 14+1400 {
		t.Errorf("%+v", second)
	}
	for args, want := range map[string]string{
		"--to 10.0.1.77":                      "no_route: no route to the destination",
		"--to 10.0.1.4 --size 1469":           "1469 bytes are more than the way's MTU, 1468",
		"--to 10.0.1.4 --size 1469 --no-df":   "mtu_exceeded",
		"--to 10.0.1.4 --from 10.0.1.9":       "spoofed_address",
		"--to 10.0.1.4 --ttl 1":               "ttl_expired",
		"--to 10.0.1.254":                     "the virtual gateway answers the echo request",
		"--to 10.0.1.9 --proto arp":           "10.0.1.9 is at 00:00:5e:00:01:00; to 10.0.1.3",
		"--to 10.0.1.5 --proto tcp":           beside,
		"--hex 00005e00010002000000010308004": "reading the frame",
	} {
		if out, _ := b.a.tool(append([]string{"trace", "--port", "a1"}, strings.Fields(args)...)...); !strings.Contains(out, want) {
			t.Errorf("%s: not %q in\n%s", args, want, out)
		}
	}
	after := [2]control.Stats{ask[control.Stats](b.a, "stats"), ask[control.Stats](b.b, "stats")}
	for i := range after { // the nodes may have asked each other by ARP meanwhile
		for _, s := range []*control.Stats{&before[i], &after[i]} {
			s.Passed, s.ReceivedFabric, s.Received = control.Count{}, control.Count{}, s.ReceivedVif
		}
	}
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("traces were counted: %+v after %+v", after, before)
	}
}

// TestLiveTrace: packets that pass are shown with what becomes of them, and arrive.
func TestLiveTrace(t *testing.T) {
	for _, way := range []config.Receive{config.ReceiveTC, config.ReceiveXDP} {
		t.Run(string(way), func(t *testing.T) { liveTrace(t, way) })
	}
}

func liveTrace(t *testing.T, way config.Receive) {
	b := newBed(t, config.MPLSoUDP)
	b.receive(way)
	b.run("--lease")
	if !slices.Contains(b.a.ready["kernel_features"].([]any), any("tcx")) {
		t.Skip("skip: needs tcx (Linux 6.6)")
	}
	links := len(b.a.held()["link_id"])
	results := b.a.watch(t, 4)
	for _, to := range []*container{b.b1, b.a2, b.b1} { // the second does not match
		if err := ping(b.a1, to.address, 56); err != nil {
			t.Error(err)
		}
	}
	want := []string{"port a1 tunnel", "fabric wire0 decap", "port a1 tunnel", "fabric wire0 decap"}
	if got := <-results; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	lab.Await(t, "nothing of the watch stays", func() bool { return len(b.a.held()["link_id"]) == links })
	b.a.addsUp()
}

// TestPollLiveTrace does the same in poll mode, where nothing outside tells when the watch begins.
func TestPollLiveTrace(t *testing.T) {
	b := pollBed(t, config.MPLSoUDP)
	pair := []string{"port a1 tunnel", "fabric wire0 decap"}
	results := b.a.watching(t, 4)
	for {
		select {
		case got := <-results:
			if !slices.Equal(got, append(pair, pair...)) && !slices.Equal(got, []string{pair[1], pair[0], pair[1], pair[0]}) {
				t.Errorf("%q, not %q again and again", got, pair)
			}
			b.a.addsUp()
			return
		default:
		}
		for _, to := range []*container{b.b1, b.a2} { // the second does not match
			if err := ping(b.a1, to.address, 56); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// watch shows so many packets between a1 and 10.0.1.4: where each was seen, and what became of it. It
// stands when this returns.
func (n *node) watch(t *testing.T, count int) <-chan []string {
	t.Helper()
	links := len(n.held()["link_id"])
	results := n.watching(t, count)
	lab.Await(t, "the watch stands", func() bool { return len(n.held()["link_id"]) == links+2 })
	return results
}

// watching does the same, but does not wait until it stands.
func (n *node) watching(t *testing.T, count int) <-chan []string {
	results := make(chan []string, 1)
	go func() {
		var list []string
		err := control.Watch(t.Context(), n.socket(), control.WatchRequest{Port: "a1", Host: "10.0.1.4", Count: count, Seconds: 20}, func(line json.RawMessage) error {
			var reply control.TraceReply
			err := json.Unmarshal(line, &reply)
			list = append(list, reply.At+" "+reply.Result)
			return err
		})
		if err != nil {
			t.Errorf("watching: %v", err)
		}
		results <- list
	}()
	return results
}

// TestLiveTraceNeedsTCX: elsewhere it is refused, and says why.
func TestLiveTraceNeedsTCX(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.a.run("--lease", "--clsact")
	if out, code := b.a.tool("trace", "--live"); code != 1 || !strings.Contains(out, "attached by tcx only") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestWatcherLeaves: a watch ends with its client, so that packets cost no more than ever; another
// one at the same time is refused.
func TestWatcherLeaves(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.run("--lease")
	if !slices.Contains(b.a.ready["kernel_features"].([]any), any("tcx")) {
		t.Skip("skip: needs tcx (Linux 6.6)")
	}
	links := len(b.a.held()["link_id"])
	conn, err := net.Dial("unix", b.a.socket())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(conn, `{"watch":{"port":"a2","seconds":3600}}`)
	conn.(*net.UnixConn).CloseWrite() // it asks no more, and listens
	lab.Await(t, "the watch stands", func() bool { return len(b.a.held()["link_id"]) == links+2 })
	if out, code := b.a.tool("trace", "--live", "--seconds", "1"); code != 1 || !strings.Contains(out, "somebody watches already") {
		t.Errorf("a second one: exit %d: %s", code, out)
	}
	conn.Close()
	lab.Await(t, "the watch has ended", func() bool { return len(b.a.held()["link_id"]) == links })
	again := vrouterCommand(t, "trace", "--live", "--seconds", "3600", "--socket", b.a.socket())
	var said bytes.Buffer
	again.Stderr = &said
	b.a.Start(again)
	lab.Await(t, "another watch stands", func() bool { return len(b.a.held()["link_id"]) == links+3 }) // two ports
	b.a.Must("interrupting it", again.Process.Signal(syscall.SIGINT))
	if err := again.Wait(); err != nil || said.String() != "0 packets matched\n" {
		t.Errorf("interrupted: %v: %s", err, said.String())
	}
	lab.Await(t, "that one has ended, too", func() bool { return len(b.a.held()["link_id"]) == links })
}

// TestMetricsEndpoint: Prometheus reads it, over a Unix socket here; other machines cannot.
func TestMetricsEndpoint(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	socket := filepath.Join(b.a.folder, "metrics")
	b.a.run("--lease", "--metrics", "unix:"+socket)
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	client := http.Client{Transport: &http.Transport{DialContext: (&dialer{socket}).dial}}
	response, err := client.Get("http://vrouter/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("%v, %v", response.Header, err)
	}
	for _, want := range []string{`vrouter_info{name="test-a",fabric="wire0",address="10.0.0.1"} 1`, `vrouter_port_packets_total{network="network1",port="a1",outcome="forwarded"} 0`} {
		if !strings.Contains(string(text), want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	client.CloseIdleConnections()
	b.a.end()
	if out, code := b.a.tool("run", "--config", b.a.write(), "--lease", "--metrics", "0.0.0.0:9475"); code != 2 || !strings.Contains(out, "to other machines") {
		t.Errorf("exit %d: %s", code, out)
	}
	if _, err := net.Dial("unix", socket); err == nil {
		t.Error("the socket is still there")
	}
}
