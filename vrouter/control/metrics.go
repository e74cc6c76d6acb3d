package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"windtunnel/vrouter/core"
)

// metricsTime bounds each step of a scrape: reading the request, and writing the reply.
const metricsTime = 5 * time.Second

// maxMetricsHeader bounds a request's header, in bytes.
const maxMetricsHeader = 8 << 10

// ListenMetrics makes the socket of the metrics: 127.0.0.1:PORT or unix:/path. Whoever reaches it
// reads every tenant's counters, and nothing asks who it is; so it is never one for other machines.
func ListenMetrics(address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return Listen(path)
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, Refuse(fmt.Errorf("%q is no address for metrics; give 127.0.0.1:9100, [::1]:9100 or unix:/run/vrouter-metrics.sock", address))
	}
	if !at.Addr().IsLoopback() {
		return nil, Refuse(fmt.Errorf("metrics at %s would show every network's counters to other machines, without asking who they are; give 127.0.0.1:%d or unix:/path, and put a proxy with authentication in front", at, at.Port()))
	}
	listener, err := net.Listen("tcp", at.String())
	if err != nil {
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			err = fmt.Errorf("%w; is the loopback up in this network namespace? `ip link set lo up`", err)
		}
		return nil, fmt.Errorf("serving metrics at %s: %w", at, err)
	}
	return listener, nil
}

// ServeMetrics answers Prometheus at a socket until the context ends, one scrape at a time.
func (a *Agent) ServeMetrics(ctx context.Context, listener net.Listener) error {
	var one sync.Mutex
	handler := http.NewServeMux()
	handler.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		one.Lock()
		defer one.Unlock()
		a.scrape(w)
	})
	server := &http.Server{
		Handler: handler, MaxHeaderBytes: maxMetricsHeader, ErrorLog: log.New(io.Discard, "", 0),
		ReadTimeout: metricsTime, WriteTimeout: metricsTime, IdleTimeout: metricsTime,
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics at %s: %w", listener.Addr(), err)
	}
	return nil
}

func (a *Agent) scrape(w http.ResponseWriter) {
	stats, err := a.Stats(Scope{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = WriteMetrics(w, a.Status(), stats) // a scraper that went away has no use for an error
}

// WriteMetrics writes what METRICS.md lists.
func WriteMetrics(w io.Writer, status Status, s Stats) error {
	e := &exposition{}
	e.family("vrouter_info", "gauge", "What runs; always 1.")
	info := []string{"name", status.Name, "fabric", status.Fabric}
	for _, l := range [][]string{{"address", status.Address}, {"address6", status.Address6}} {
		if l[1] != "" {
			info = append(info, l...)
		}
	}
	e.sample("vrouter_info", 1, info...)
	e.gauge("vrouter_networks", "Networks of the configuration.", float64(status.Networks))
	e.gauge("vrouter_ports", "Ports of the configuration.", float64(status.Ports))
	e.gauge("vrouter_routes", "Routes of the configuration.", float64(status.Routes))
	e.gauge("vrouter_missing_ports", "Ports whose interface is gone.", float64(len(status.Missing)))
	e.gauge("vrouter_problem", "1 while the machine lacks what the configuration needs: the status says what.", map[bool]float64{true: 1}[status.Problem != ""])
	e.gauge("vrouter_ecmp_groups", "Groups of several ways to one destination.", float64(status.Groups))
	e.gauge("vrouter_ecmp_avoided_members", "Their members that cannot be reached and get no flow.", float64(status.Avoided))
	e.gauge("vrouter_unresolved_tunnels", "Tunnel ends whose MAC address is not known.", float64(len(status.Unresolved)))
	e.family("vrouter_configurations_total", "counter", "Configurations that were applied since the process began.")
	e.sample("vrouter_configurations_total", float64(status.Changes))
	e.gauge("vrouter_configuration_applied_timestamp_seconds", "When the configuration in force was applied, Unix time.", float64(status.Applied.UnixMilli())/1000)
	e.node(s)
	e.networks(s.Networks)
	e.vifs(s.Vifs)
	return e.writeTo(w)
}

func (e *exposition) node(s Stats) {
	e.counters("vrouter_received_%s_total", "%s that the hooks saw.", []labelled{
		{s.ReceivedVif, []string{"from", "port"}}, {s.ReceivedFabric, []string{"from", "fabric"}},
	})
	e.counters("vrouter_%s_total", "%s by what became of them; their sum is what was received.", outcomes(nil, s.Forwarded, s.Passed, s.Answered, s.Dropped))
	e.family("vrouter_fast_packets_total", "counter", "Received packets that XDP forwarded without tc.")
	e.sample("vrouter_fast_packets_total", float64(s.Fast.Ports), "from", "port")
	e.sample("vrouter_fast_packets_total", float64(s.Fast.Fabric), "from", "fabric")
	all := make(map[string]uint64)
	for _, r := range core.DropReasons[1:] {
		all[r.Name] = s.Drops[r.Name]
	}
	e.packets("vrouter_dropped_packets_total", "Packets that were lost, by reason.", "reason", []labelledReasons{{all, nil}})
	e.counters("vrouter_flooded_%s_total", "%s that were for all of a network.", []labelled{{s.Flooded, nil}})
	e.counters("vrouter_copies_%s_total", "%s that were made of those, by what became of them.", []labelled{
		{s.Copies, []string{"outcome", "forwarded"}}, {s.CopiesDropped, []string{"outcome", "dropped"}},
	})
	e.packets("vrouter_dropped_copies_total", "Copies that were lost, by reason; only reasons that occurred.", "reason", []labelledReasons{{s.CopyDrops, nil}})
}

// outcomes are the rows of one account; a port's or network's has none that were passed on.
func outcomes(labels []string, forwarded, passed, answered, dropped Count) []labelled {
	row := func(c Count, outcome string) labelled {
		return labelled{c, append(slices.Clone(labels), "outcome", outcome)}
	}
	rows := []labelled{row(forwarded, "forwarded"), row(answered, "answered"), row(dropped, "dropped")}
	if labels == nil {
		rows = append(rows, row(passed, "passed"))
	}
	return rows
}

func (e *exposition) networks(networks []NetworkStats) {
	e.family("vrouter_network_ports", "gauge", "Ports of the network.")
	for _, n := range networks {
		e.sample("vrouter_network_ports", float64(n.Ports), "network", n.Name)
	}
	e.family("vrouter_network_flows", "gauge", "Flows of the network's ports in flow mode.")
	for _, n := range networks {
		e.sample("vrouter_network_flows", float64(n.Flows), "network", n.Name)
	}
	var rows []scoped
	for _, n := range networks {
		rows = append(rows, scoped{[]string{"network", n.Name}, n.Traffic})
	}
	e.traffic("network", rows)
}

func (e *exposition) vifs(vifs []VifStats) {
	var rows []scoped
	for _, v := range vifs {
		rows = append(rows, scoped{[]string{"network", v.Network, "port", v.Name}, v.Traffic})
	}
	e.traffic("port", rows)
}

type scoped struct {
	labels []string
	Traffic
}

// traffic writes the metrics of networks, or of ports.
func (e *exposition) traffic(of string, rows []scoped) {
	var received, became, delivered, lost []labelled
	var reasons []labelledReasons
	for _, r := range rows {
		with := func(more ...string) []string { return append(slices.Clone(r.labels), more...) }
		received = append(received, labelled{r.Rx, r.labels})
		became = append(became, outcomes(r.labels, r.Forwarded, Count{}, r.Answered, r.Dropped)...)
		delivered = append(delivered, labelled{r.Tx, r.labels})
		lost = append(lost, labelled{r.Lost, r.labels})
		reasons = append(reasons, labelledReasons{r.Drops, with("direction", "from")}, labelledReasons{r.Losses, with("direction", "to")})
	}
	e.counters("vrouter_"+of+"_received_%s_total", "%s that the "+of+"'s containers sent.", received)
	e.counters("vrouter_"+of+"_%s_total", "%s that the "+of+"'s containers sent, by what became of them.", became)
	e.counters("vrouter_"+of+"_delivered_%s_total", "%s that were given to the "+of+"'s containers.", delivered)
	e.counters("vrouter_"+of+"_lost_%s_total", "%s that came from the fabric for the "+of+" and were lost here.", lost)
	e.packets("vrouter_"+of+"_dropped_packets_total", "Packets from and to the "+of+" that were lost, by reason; only reasons that occurred.", "reason", reasons)
}

func sortedReasons(m map[string]uint64) []string { return slices.Sorted(maps.Keys(m)) }
