package control

import (
	"io"
	"maps"
	"slices"
	"strconv"

	"windtunnel/vrouter/core"
)

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
	if status.Poll != nil {
		e.poll(*status.Poll)
	}
	if status.Offload != nil {
		e.offload(*status.Offload)
	}
	e.node(s)
	e.networks(s.Networks)
	e.vifs(s.Vifs)
	return e.writeTo(w)
}

func (e *exposition) poll(p Poll) {
	e.gauge("vrouter_poll_process_up", "1 while the poll mode's process runs.", map[bool]float64{true: 1}[p.PID != 0])
	e.family("vrouter_poll_restarts_total", "counter", "How often the process was started anew.")
	e.sample("vrouter_poll_restarts_total", float64(p.Restarts))
	e.family("vrouter_poll_cycles_total", "counter", "Cycles of rounds over the ports, by whether they found packets.")
	for _, c := range p.Cores {
		cpu := strconv.Itoa(c.CPU)
		e.sample("vrouter_poll_cycles_total", float64(c.Busy), "cpu", cpu, "state", "busy")
		e.sample("vrouter_poll_cycles_total", float64(c.Idle), "cpu", cpu, "state", "idle")
	}
	e.family("vrouter_poll_packets_total", "counter", "Packets that the CPU received.")
	for _, c := range p.Cores {
		e.sample("vrouter_poll_packets_total", float64(c.Packets), "cpu", strconv.Itoa(c.CPU))
	}
	e.family("vrouter_poll_handed_packets_total", "counter", "Packets that the CPU received and another one forwarded.")
	for _, c := range p.Cores {
		e.sample("vrouter_poll_handed_packets_total", float64(c.Handed), "cpu", strconv.Itoa(c.CPU))
	}
	e.family("vrouter_poll_missed_packets_total", "counter", "Packets that the kernel dropped, because a socket that the CPU reads had no room for them.")
	for _, c := range p.Cores {
		e.sample("vrouter_poll_missed_packets_total", float64(c.Missed), "cpu", strconv.Itoa(c.CPU))
	}
	e.family("vrouter_poll_stage_cycles_per_packet", "gauge", "Cycles of a packet's stages on average, of some of the rounds.")
	for _, stage := range slices.Sorted(maps.Keys(p.StageCycles)) {
		e.sample("vrouter_poll_stage_cycles_per_packet", p.StageCycles[stage], "stage", stage)
	}
}

// offload is of rules that devices have. Its counters are by all rules that there were, so that they never go back; they are in the
// others, too.
func (e *exposition) offload(o Offloaded) {
	refused := 0
	for _, r := range o.Refused {
		refused += r.Count
	}
	e.family("vrouter_offload_rules", "gauge", "Rules that devices were asked to take.")
	e.sample("vrouter_offload_rules", float64(o.Rules), "state", "taken")
	e.sample("vrouter_offload_rules", float64(refused), "state", "refused")
	e.gauge("vrouter_offload_settled", "1 while devices have what they take for the tables as they are.", map[bool]float64{true: 1}[o.Settled])
	e.counters("vrouter_offload_%s_total", "%s that devices took by rules, by what became of them.", []labelled{
		{o.Forwarded, []string{"outcome", "forwarded"}}, {o.Dropped, []string{"outcome", "dropped"}},
	})
	var received []labelled
	e.family("vrouter_offload_port_takes", "gauge", "1 if the device of the port, or of the fabric, takes rules.")
	for _, p := range o.Ports {
		e.sample("vrouter_offload_port_takes", map[bool]float64{true: 1}[p.Takes], "port", p.Port)
		received = append(received, labelled{p.Received, []string{"port", p.Port}})
	}
	e.family("vrouter_offload_port_rules", "gauge", "Rules that the device has for what comes by the port, or the fabric.")
	for _, p := range o.Ports {
		e.sample("vrouter_offload_port_rules", float64(p.Rules), "port", p.Port)
	}
	e.counters("vrouter_offload_port_received_%s_total", "%s that came by the port, or the fabric, and a device took by rules.", received)
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
