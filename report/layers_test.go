package report

import (
	"slices"
	"strings"
	"testing"

	"windtunnel/analysis"
	"windtunnel/result"
)

// profile has samples of one node's CPU as the node's trial has it busy: so many of a hundred parts in each function,
// and two parts of a hundred by windtunnel.
func profile(t result.Trial, node string, parts map[string]int32, order ...string) result.Profile {
	const period = 0.001
	s := t.Nodes[node]
	busy := int32(s.CPUs[0].Busy / period)
	p := result.Profile{Cell: t.Cell, Block: t.Block, Attempt: t.Attempt, Node: node, WindowSeconds: s.WindowSeconds, PeriodSeconds: period,
		CPUs: []int{s.CPUs[0].CPU}, Names: append([]string{"do_idle", "net_rx_action", "user/main.work"}, order...)}
	cell := result.ProfileTask{Name: "worker", Whose: result.OfCell, Frames: []result.ProfileFrame{{-1, 2, busy / 10}, {-1, 1, 0}}}
	seen := busy / 10
	for i, name := range order {
		cell.Frames = append(cell.Frames, result.ProfileFrame{1, int32(i) + 3, busy * parts[name] / 100})
		seen += busy * parts[name] / 100
	}
	us := busy / 50
	all := int32(s.WindowSeconds / period)
	p.Tasks = []result.ProfileTask{cell,
		{Name: "windtunnel", Whose: result.OfUs, Frames: []result.ProfileFrame{{-1, 2, us}}},
		{Name: "idle", Whose: result.OfIdle, Frames: []result.ProfileFrame{{-1, 0, all - seen - us}}}}
	p.Taken = uint64(all)
	return p
}

// layered is a run whose stacks were sampled, but those of the cell with the vRouter on node a.
func layered() *maker {
	m := contrail().trials("A", 1, 6, raw).trials("B", 1, 6, containers).trials("D", 1, 6, overlay)
	m.file.Run.Plan.Profile = true
	order := []string{"_copy_to_iter", "tcp_v4_rcv", "ip_rcv", "br_handle_frame", "veth_poll", "bpf_prog_0123456789abcdef_vr_fabric", "dev_gro_receive", "some_function"}
	parts := map[string]map[string]int32{
		"A": {"_copy_to_iter": 40, "tcp_v4_rcv": 20, "ip_rcv": 5, "dev_gro_receive": 20},
		"B": {"_copy_to_iter": 30, "tcp_v4_rcv": 20, "ip_rcv": 5, "br_handle_frame": 10, "veth_poll": 5, "dev_gro_receive": 15},
		"D": {"_copy_to_iter": 10, "tcp_v4_rcv": 30, "ip_rcv": 10, "veth_poll": 10, "bpf_prog_0123456789abcdef_vr_fabric": 20, "some_function": 5},
	}
	for _, t := range m.file.Trials {
		a := profile(t, "a", parts[t.Cell], order...)
		if t.Cell == "D" {
			a = result.Profile{Cell: t.Cell, Block: t.Block, Attempt: t.Attempt, Node: "a", Missing: "sampling stacks: a perf event on CPU 0: permission denied"}
		}
		m.file.Profiles = append(m.file.Profiles, a, profile(t, "b", parts[t.Cell], order...))
	}
	return m.ended("precision")
}

func TestGoldenLayers(t *testing.T) {
	for _, format := range []string{"text", "json", "csv", "folded"} {
		golden(t, "layers", format, layered())
	}
}

// TestStacksThatDidNotFitAreTold: what a record had no room for stands under the table of layers.
func TestStacksThatDidNotFitAreTold(t *testing.T) {
	m := layered()
	for i := range m.file.Profiles {
		if p := &m.file.Profiles[i]; p.Cell == "B" && p.Node == "b" {
			p.Cut, p.Lost = p.Taken/100, p.Taken/1000
			p.Tasks[0].Frames[0][2] -= int32(p.Lost)
			late := int32(p.Taken / 500)
			p.Tasks[0].Frames[0][2] -= late
			p.Tasks[0].Frames = append(p.Tasks[0].Frames, result.ProfileFrame{-1, int32(len(p.Names)), late})
			p.Names = append(slices.Clone(p.Names), result.LateFrame)
		}
	}
	var told strings.Builder
	if err := Write("text", &told, analysis.Of(m.file), Options{}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(told.String()), " ")
	for _, want := range []string{"for a caller's layer: at most 1 %, in B on node b.", "count as other: at most 0.1 %, in B on node b.",
		"(a hypervisor's timer is late), so that only whose they are is known: at most 0.2 %, in B on node b."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, told.String())
		}
	}
}
