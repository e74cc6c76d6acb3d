package analysis

import (
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"windtunnel/result"
)

var update = flag.Bool("update", false, "write the published table anew")

// TestLayersArePublished: docs/layers.md has the very table.
func TestLayersArePublished(t *testing.T) {
	const file = "../docs/layers.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "<!-- the table begins: written by `go test ./analysis -run LayersArePublished -update` -->\n")
	_, after, ok2 := strings.Cut(rest, "<!-- the table ends -->")
	if !ok || !ok2 {
		t.Fatal("docs/layers.md has no place for the table")
	}
	want := before + "<!-- the table begins: written by `go test ./analysis -run LayersArePublished -update` -->\n" + LayerTable() + "<!-- the table ends -->" + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Error("docs/layers.md has another table: go test ./analysis -run LayersArePublished -update")
	}
	for program, layer := range programLayers {
		if !strings.Contains(string(text), "`"+program+"`") {
			t.Errorf("docs/layers.md does not say that %s is %s", program, layer)
		}
	}
}

func TestNoSymbolIsInTwoRows(t *testing.T) {
	seen := map[string]Layer{}
	for _, row := range layerTable {
		for symbol := range strings.FieldsSeq(row.symbols) {
			if other, ok := seen[symbol]; ok {
				t.Errorf("%s is in %s and in %s", symbol, other, row.layer)
			}
			seen[symbol] = row.layer
		}
	}
}

func TestSymbolsHaveTheirLayers(t *testing.T) {
	names := newLayerNames()
	for symbol, want := range map[string]Layer{
		"_copy_to_iter": "copy", "tcp_sendmsg_locked": "TCP", "tcp_gro_receive": "GRO", "tcp4_gro_receive": "GRO", "__tcp_transmit_skb.isra.0": "TCP",
		"ip_rcv": "IP", "ip_tunnel_xmit": "tunnels", "br_handle_frame": "bridge", "br_nf_pre_routing": "netfilter", "veth_xmit": "veth",
		"vxlan_xmit_one": "VXLAN", "vxlan_gro_receive": "GRO", "bpf_prog_6deef7357e7b4530_vr_fabric": LayerVRouter, "bpf_prog_6deef7357e7b4530_queue_by": "BPF and tc",
		"bpf_prog_run_clear_cb": "BPF and tc", "inet_sendmsg": "socket", "inet_gro_receive": "GRO", "udp_sendmsg": "UDP", "kmem_cache_alloc_noprof": "buffers",
		"skb_release_data": "buffers", "virtnet_poll": "driver", "schedule": "scheduler", "do_syscall_64": "system call", "handle_softirqs": "interrupts",
		"__napi_poll.constprop.0": "net core", "skb_segment": "GSO", "dev_gro_receive": "GRO", "tun_get_user": "tap", "ovs_dp_process_packet": "switch",
	} {
		if got, _ := names.of(symbol); got != want {
			t.Errorf("%s is %q, not %q", symbol, got, want)
		}
	}
	for _, helper := range []string{"memcpy_orig", "_raw_spin_lock", "native_queued_spin_lock_slowpath", "__rcu_read_unlock", "list_del", "", "user/main.main"} {
		if got, ok := names.of(helper); ok {
			t.Errorf("%q is %s: it is its caller's", helper, got)
		}
	}
}

// stack is one of a task's samples, outermost first.
func stack(whose, program string, samples int32, frames ...string) (result.ProfileTask, []string) {
	task := result.ProfileTask{Name: program, Whose: whose}
	for i := range frames {
		task.Frames = append(task.Frames, result.ProfileFrame{int32(i) - 1, int32(i), 0})
	}
	task.Frames[len(frames)-1][2] = samples
	return task, frames
}

func TestStacksHaveTheirLayers(t *testing.T) {
	for name, c := range map[string]struct {
		whose, program, frames string
		want                   Layer
	}{
		"a helper is its caller's":           {result.OfCell, "windtunnel", "entry_SYSCALL_64_after_hwframe do_syscall_64 tcp_sendmsg _raw_spin_lock_bh", "TCP"},
		"the innermost counts":               {result.OfCell, "windtunnel", "do_syscall_64 tcp_recvmsg tcp_recvmsg_locked skb_copy_datagram_iter _copy_to_iter", "copy"},
		"it left before the clock rang":      {result.OfCell, "windtunnel", "[late]", LayerOther},
		"idle no more when the clock rang":   {result.OfIdle, "idle", "[late]", layerIdle},
		"nothing known":                      {result.OfCell, "windtunnel", "[unknown]", LayerOther},
		"a program":                          {result.OfCell, "windtunnel", "user/runtime.goexit user/windtunnel/traffic.run", LayerUser},
		"the vRouter's process":              {result.OfCell, "vrouter-poll", "user/[unknown]", LayerVRouter},
		"a thread that receives":             {result.OfCell, "napi/wire0-8193", "kthread napi_threaded_poll __napi_poll veth_poll napi_gro_receive", "GRO"},
		"idle":                               {result.OfIdle, "idle", "cpu_startup_entry do_idle default_idle_call default_idle pv_native_safe_halt", layerIdle},
		"idle, about to idle":                {result.OfIdle, "idle", "cpu_startup_entry do_idle tick_nohz_get_sleep_length", layerIdle},
		"the idle task gives way":            {result.OfIdle, "idle", "cpu_startup_entry do_idle schedule_idle __schedule", "scheduler"},
		"the idle task wakes up":             {result.OfIdle, "idle", "cpu_startup_entry do_idle tick_nohz_idle_exit", "interrupts"},
		"packets while idle":                 {result.OfIdle, "idle", "do_idle default_idle asm_sysvec_call_function_single irq_exit_rcu handle_softirqs net_rx_action process_backlog ip_rcv", "IP"},
		"packets that interrupt others":      {result.OfOthers, "cc1", "asm_sysvec_apic_timer_interrupt irq_exit_rcu handle_softirqs net_rx_action veth_poll", "veth"},
		"a timer that interrupts others":     {result.OfOthers, "cc1", "asm_sysvec_apic_timer_interrupt hrtimer_interrupt", BesideOthers},
		"packets that others send":           {result.OfOthers, "iperf3", "do_syscall_64 tcp_sendmsg __local_bh_enable_ip do_softirq handle_softirqs net_rx_action ip_rcv", BesideOthers},
		"packets that were left to ksoftirq": {result.OfKernel, "ksoftirqd/1", "kthread smpboot_thread_fn run_ksoftirqd handle_softirqs net_rx_action veth_poll", "veth"},
		"other work of the kernel's":         {result.OfKernel, "kworker/1:2", "kthread worker_thread process_one_work", BesideKernel},
		"measuring":                          {result.OfUs, "windtunnel", "user/runtime.goexit", BesideUs},
		"who has ended":                      {result.OfEnded, "sh", "user/[unknown]", BesideOthers},
	} {
		task, list := stack(c.whose, c.program, 1, strings.Fields(c.frames)...)
		layers := frameLayers(task, list, newLayerNames())
		if got := layers[len(layers)-1]; got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// sampled is a run of cells A and B whose node b was sampled: of B's trials 300 samples of a thousand are the bridge's.
func sampled(blocks int) result.File {
	pair := []result.Pair{{From: result.Place{Node: "a"}, To: result.Place{Node: "b"}}}
	f := result.File{Run: result.Run{Plan: result.Plan{Profile: true}, Nodes: []result.RunNode{{Name: "a"}, {Name: "b"}}, Ratios: []result.Ratio{{Over: "B", Under: "A"}}},
		Cells: []result.Cell{{Name: "A", Traffic: "stream", Pairs: pair}, {Name: "B", Traffic: "stream", Pairs: pair}}}
	for block := 1; block <= blocks; block++ {
		for _, cell := range f.Cells {
			bridge, busy := int32(0), 0.5
			if cell.Name == "B" {
				bridge, busy = 300, 0.8
			}
			end := result.PairEnd{WindowSeconds: 1, Bytes: 1024 * uint64(1_000_000+block)}
			f.Trials = append(f.Trials, result.Trial{Cell: cell.Name, Block: block, Attempt: 1, WindowSeconds: 1,
				Pairs: []result.PairSample{{From: "a", To: "b", Sender: end, Receiver: end}},
				Nodes: map[string]result.NodeSample{"a": {WindowSeconds: 1, CPUs: []result.CPUSample{{Busy: 0.1}}},
					"b": {WindowSeconds: 1, CPUs: []result.CPUSample{{CPU: 1, Busy: busy}}, Links: []result.LinkSample{}}}})
			f.Profiles = append(f.Profiles,
				result.Profile{Cell: cell.Name, Block: block, Attempt: 1, Node: "a", Missing: "no perf events here"},
				result.Profile{Cell: cell.Name, Block: block, Attempt: 1, Node: "b", WindowSeconds: 1, PeriodSeconds: 0.001, CPUs: []int{1}, Taken: 1000,
					Names: []string{"tcp_v4_rcv", "br_handle_frame", "do_idle", "worker_thread"},
					Tasks: []result.ProfileTask{
						{Name: "windtunnel", Whose: result.OfCell, Frames: []result.ProfileFrame{{-1, 0, 450}, {-1, 1, bridge}}},
						{Name: "idle", Whose: result.OfIdle, Frames: []result.ProfileFrame{{-1, 2, 500 - bridge}}},
						{Name: "kworker/1:1", Whose: result.OfKernel, Frames: []result.ProfileFrame{{-1, 3, 50}}},
					}})
		}
	}
	return f
}

func TestLayersAddUp(t *testing.T) {
	f := Of(sampled(6))
	b, _ := f.Cell("B")
	at := b.LayersOf("b")
	if at.Reason != "" || at.Trials != 6 || len(at.Costs) != 3 {
		t.Fatalf("%+v", at)
	}
	near := func(what string, got result.Figure, want float64) {
		t.Helper()
		if math.Abs(got.Mean-want) > 1e-3*math.Abs(want) || got.Low == nil {
			t.Errorf("%s: %+v, want %g", what, got, want)
		}
	}
	near("TCP", at.Costs[0].PerKiB, 450)
	near("bridge", at.Costs[1].PerKiB, 300)
	near("bridge's share", at.Costs[1].Share, 37.5)
	near("kernel threads", at.Costs[2].PerKiB, 50)
	near("sum", at.Sum.PerKiB, 800)
	near("measured", at.Measured.PerKiB, 800)
	near("coverage", at.Coverage, 100)
	if at.Costs[0].PerPacket.Known() {
		t.Errorf("a cost by packets that nobody counted: %+v", at.Costs[0].PerPacket)
	}
	if a := b.LayersOf("a"); !strings.Contains(a.Reason, "no perf events") {
		t.Errorf("%+v", a)
	}
	r := f.Ratios[0].Layers
	if len(r) != 1 || r[0].Node != "b" || r[0].Changes[0].Layer != "bridge" {
		t.Fatalf("%+v", r)
	}
	near("the bridge's part of the difference", r[0].Changes[0].PerKiB, 300)
	near("the whole difference", r[0].Sum, 300)
	if root := b.Flames[0].Root; math.Abs(root.Seconds-6*0.8) > 1e-9 || len(root.Called()) != 2 {
		t.Errorf("%+v", root)
	}
}
