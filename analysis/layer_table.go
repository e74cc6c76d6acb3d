package analysis

import (
	"fmt"
	"slices"
	"strings"
)

// Layer is a part of what a packet costs, as the table names them.
type Layer string

// The layers that have a meaning of their own here: those of frames that no row of the table names.
const (
	LayerUser    Layer = "user"
	LayerVRouter Layer = "vRouter"
	LayerOther   Layer = "other"
	// LayerWakeUps has no samples: it is measured (idleTasksWork).
	LayerWakeUps Layer = "idle wake-ups"
)

// What CPUs do beside the cell's work. These are told apart from the cell's layers, and are part of CPU time
// as it was measured.
const (
	BesideKernel Layer = "kernel threads"
	BesideUs     Layer = "windtunnel"
	BesideOthers Layer = "other programs"
)

// layerRow is a row of the published table. A symbol that ends in * stands for all that begin so; the longest one
// that fits a frame's name counts.
type layerRow struct {
	layer   Layer
	says    string
	symbols string
}

// layerTable is published in docs/layers.md, which a test compares with it. Symbols are of Linux 5.15 to 6.18; of a
// name that is in no row, the caller's layer counts, so helpers (locks, memcpy, RCU) are their users'.
var layerTable = []layerRow{
	{LayerUser, "programs of the cell, outside of the kernel", ""},
	{"copy", "payload copied between programs and the kernel, or between buffers",
		"_copy_from_iter* _copy_to_iter* copy_from_iter* copy_to_iter* copy_page_from_iter* copy_page_to_iter* copy_user_* copy_from_user* copy_to_user* _copy_from_user* _copy_to_user* __copy_user* raw_copy_* __arch_copy_* rep_movs_alternative memcpy_to_page memcpy_from_page simple_copy_to_iter skb_copy_datagram_* __skb_datagram_iter skb_copy_bits skb_copy_and_* skb_copy_ubufs skb_do_copy_data_nocache skb_splice_from_iter"},
	{"checksum", "sums over payload", "csum_* __csum_* do_csum skb_checksum* __skb_checksum* __pskb_pull_tail_csum udp4_hwcsum crc32*"},
	{"buffers", "packets' memory: allocated, shared, freed",
		"alloc_skb* __alloc_skb build_skb* __build_skb* napi_build_skb napi_alloc_* __napi_alloc_* __netdev_alloc_* kfree_skb* __kfree_skb consume_skb __consume_stateless_skb napi_consume_skb skb_release_* skb_free_head skb_clone __skb_clone skb_copy __pskb_copy* pskb_copy* pskb_expand_head skb_attempt_defer_free skb_defer_free_flush napi_skb_* kmem_cache_* kmalloc* __kmalloc* kfree kfree_rcu* slab_* __slab_* ___slab_* __memcg_slab_* get_page_from_freelist __alloc_pages* alloc_pages* __alloc_frozen_pages* get_free_pages free_pages __free_pages* free_unref_* free_frozen_* __free_frozen_* rmqueue* page_frag_* __page_frag_* skb_page_frag_refill sk_page_frag_refill page_pool_* put_page __put_page __folio_put free_large_kmalloc clear_page_*"},
	{"socket", "sockets: calls, queues, accounts, waking who waits",
		"sock_* __sock_* ____sys_sendmsg ____sys_recvmsg ___sys_* __sys_send* __sys_recv* inet_sendmsg inet_recvmsg inet6_sendmsg inet6_recvmsg sk_* __sk_* lock_sock* release_sock __release_sock __lock_sock* sockfd_lookup* move_addr_to_* __skb_recv_* __skb_try_recv_* __skb_wait_* skb_recv_* skb_queue_* datagram_poll security_socket_* unix_* io_uring_* io_send* io_recv*"},
	{"TCP", "TCP, and its congestion control", "tcp_* __tcp_* tcp4_* tcp6_* tcp_v4_* tcp_v6_* inet_csk_* inet_ehash* __inet_lookup_established inet_lookup* cubictcp_* bictcp_* bbr_* reno_* dctcp_* sk_stream_* skb_rbtree_*"},
	{"UDP", "UDP", "udp_* __udp_* udp4_* udp6_* __udp4_* __udp6_* udpv6_* __udpv6_* udplite_* skb_consume_udp __skb_consume_udp"},
	{"IP", "IPv4, IPv6 and ICMP: routes, neighbours, fragments",
		"ip_* __ip_* ip6_* __ip6_* ipv4_* ipv6_* inet_* inet6_* fib_* __fib_* fib6_* rt_* rt6_* dst_* __dst_* neigh_* __neigh_* arp_* ndisc_* icmp_* icmpv6_* ping_* raw_*"},
	{"netfilter", "rules for packets, and connection tracking", "nf_* __nf_* nft_* ipt_* ip6t_* xt_* iptable_* ip6table_* br_nf_* nfnetlink_* nfqnl_* ebt_*"},
	{"bridge", "Linux bridges", "br_* __br_* nbp_* maybe_deliver deliver_clone fdb_find*"},
	{"macvlan", "macvlan and ipvlan", "macvlan_* macvtap_* ipvlan_*"},
	{"veth", "virtual pairs", "veth_* __veth_*"},
	{"VXLAN", "VXLAN devices, and UDP tunnels below them", "vxlan_* __vxlan_* udp_tunnel_* udp_tunnel6_* setup_udp_tunnel_*"},
	{"tunnels", "other encapsulation: GRE, Geneve, IPIP, WireGuard, IPsec", "geneve_* gre_* __gre_* ipgre_* erspan_* ip_tunnel_* iptunnel_* ip6_tnl_* ipip_* sit_* fou_* gue_* bareudp_* wg_* xfrm_* esp_* esp4_* esp6_* mpls_*"},
	{LayerVRouter, "the vRouter: its BPF programs in kernel mode, its process in poll mode", "bpf_prog_vr_*"},
	{"switch", "Open vSwitch's kernel module, and the programs ovs-vswitchd and dpdk-testpmd", "ovs_* __ovs_* do_execute_actions clone_execute"},
	{"BPF and tc", "hooks at devices: tc, XDP, and other BPF programs with what they call",
		"bpf_* __bpf_* tcf_* __tcf_* tc_run tcx_run tcx_* cls_bpf_* sch_handle_* skb_do_redirect xdp_* __xdp_* do_xdp_* mini_qdisc_* dev_map_* cpu_map_* generic_xdp_* netif_receive_generic_xdp"},
	{"GRO", "received packets put together", "gro_* __gro_* dev_gro_* napi_gro_* inet_gro_* ipv6_gro_* tcp_gro_* tcp4_gro_* tcp6_gro_* udp_gro_* udp4_gro_* udp6_gro_* skb_gro_* eth_gro_* vxlan_gro_* geneve_gro_* gre_gro_* skb_segment_list"},
	{"GSO", "packets cut to the MTU by the kernel", "skb_segment skb_mac_gso_segment __skb_gso_segment skb_gso_* tcp_gso_* tcp4_gso_* tcp6_gso_* inet_gso_* ipv6_gso_* udp4_ufo_* udp6_ufo_* __udp_gso_* skb_udp_tunnel_segment skb_eth_gso_segment validate_xmit_*"},
	{"net core", "between devices: queueing disciplines, backlogs, NAPI, handing on",
		"dev_* __dev_* netdev_* __netdev_* netif_* __netif_* process_backlog enqueue_to_backlog net_rx_action net_tx_action napi_* __napi_* qdisc_* __qdisc_* sch_direct_xmit pfifo_* fq_* fq_codel_* codel_* tbf_* htb_* hfsc_* netem_* noqueue_* skb_network_protocol rps_* get_rps_cpu __skb_flow_* __skb_get_hash* deliver_skb"},
	{"packet sockets", "AF_PACKET and AF_XDP", "packet_* __packet_* tpacket_* prb_* xsk_* __xsk_* xp_* run_filter"},
	{"tap", "tap devices, and vhost, which carries machines' packets", "tun_* __tun_* tap_* vhost_* __vhost_* handle_rx handle_tx*"},
	{"KVM", "virtual machines by the CPU", "kvm_* __kvm_* vmx_* svm_* vcpu_* nested_*"},
	{"driver", "drivers of NICs, and DMA", "virtnet_* virtqueue_* vring_* virtio_* vp_* e1000_* e1000e_* igb_* igc_* ixgbe_* ixgbevf_* i40e_* iavf_* ice_* idpf_* mlx4_* mlx5* bnxt_* bnx2x_* ena_* gve_* vmxnet3_* netvsc_* hv_* vmbus_* mana_* rtl8169_* rtl_* tg3_* nfp_* qede_* cxgb4_* sfc_* efx_* atl_* stmmac_* xennet_* dma_* iommu_* swiotlb_* loopback_xmit"},
	{"system call", "into the kernel and back, files, polling",
		"entry_SYSCALL_* do_syscall_* syscall_* __x64_sys_* __arm64_sys_* __se_sys_* __do_sys_* x64_sys_call invoke_syscall el0_svc* el0t_64_sync* do_el0_svc ksys_* vfs_* new_sync_* fdget* __fdget* __fget* fput ep_* __ep_* eventpoll_* do_epoll_* do_sys_poll do_poll do_select core_sys_select poll_* import_iovec* import_single_range eventfd_* pipe_* anon_pipe_*"},
	{"scheduler", "choosing who runs, waking and switching",
		"schedule* __schedule* preempt_schedule* __cond_resched* pick_* __pick_* try_to_wake_up ttwu_* sched_* __sched_* wake_up_* __wake_up* default_wake_function autoremove_wake_function ep_autoremove_wake_function woken_wake_function pollwake activate_task deactivate_task enqueue_task* dequeue_task* enqueue_entity dequeue_entity* dequeue_entities set_next_* put_prev_* update_curr* update_rq_* update_load_avg* update_cfs_* select_task_rq* select_idle_* finish_task_switch* context_switch __switch_to* switch_mm* switch_fpu_* prepare_to_wait* finish_wait wait_woken add_wait_queue remove_wait_queue futex_* do_futex __futex_* hrtimer_nanosleep do_nanosleep load_balance newidle_balance resched_* psi_* cpuacct_* __update_load_* smp_call_* generic_smp_call_* __smp_call_* flush_smp_call_* __flush_smp_call_* native_smp_send_* native_send_call_func_* x2apic_send_* native_apic_* do_idle do_sched_yield yield_task_* kthread_* reweight_* place_entity check_preempt_* wakeup_preempt*"},
	{"interrupts", "interrupts, timers and softirqs, but for what they do for packets",
		"asm_sysvec_* sysvec_* __sysvec_* asm_common_interrupt common_interrupt asm_* el1_interrupt el1h_64_irq* gic_* handle_irq* __handle_irq* handle_edge_irq handle_fasteoi_irq handle_percpu_* generic_handle_* irq_enter* irq_exit* __irq_exit* irqentry_* do_softirq* __do_softirq handle_softirqs __local_bh_* run_ksoftirqd smpboot_thread_fn hrtimer_* __hrtimer_* tick_* update_process_times run_timer_softirq __run_timers call_timer_fn run_timer_base timer_* mod_timer __mod_timer add_timer* del_timer* timekeeping_* ktime_* rcu_* lapic_* clockevents_* scheduler_tick pvclock_* account_* update_wall_time"},
	{"memory", "pages and address spaces of programs", "asm_exc_page_fault exc_page_fault do_user_addr_fault handle_mm_fault __handle_mm_fault do_anonymous_page do_wp_page do_mmap* __x64_sys_m* unmap_* tlb_* flush_tlb_* do_madvise* madvise_* lru_* mprotect_*"},
	{LayerWakeUps, "idle CPUs interrupted, woken and laid to rest again, where interrupts are off: measured, not sampled", ""},
	{LayerOther, "what is in no row of this table, and samples whose stack is not known or came too late", ""},
}

// layerNames finds a name's layer: whole names, and beginnings by length.
type layerNames struct {
	whole   map[string]Layer
	starts  map[string]Layer
	longest int
}

func newLayerNames() layerNames {
	n := layerNames{whole: map[string]Layer{}, starts: map[string]Layer{}}
	for _, row := range layerTable {
		for symbol := range strings.FieldsSeq(row.symbols) {
			if start, ok := strings.CutSuffix(symbol, "*"); ok {
				n.starts[start] = row.layer
				n.longest = max(n.longest, len(start))
			} else {
				n.whole[symbol] = row.layer
			}
		}
	}
	return n
}

// of is the layer of a kernel function's name, false where the table has none.
func (n layerNames) of(name string) (Layer, bool) {
	name = plainSymbol(name)
	if layer, ok := n.whole[name]; ok {
		return layer, true
	}
	for end := min(len(name), n.longest); end > 0; end-- {
		if layer, ok := n.starts[name[:end]]; ok {
			return layer, true
		}
	}
	return "", false
}

// plainSymbol is a symbol without what compilers add behind a dot (.isra.0, .cold), and a BPF program's without the
// hash in it (bpf_prog_ksym_set_name in kernel/bpf/core.c).
func plainSymbol(name string) string {
	name, _, _ = strings.Cut(name, ".")
	const program, hash = "bpf_prog_", 16
	if rest, ok := strings.CutPrefix(name, program); ok && len(rest) > hash && rest[hash] == '_' && hexadecimal(rest[:hash]) {
		return program + rest[hash+1:]
	}
	return name
}

func hexadecimal(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// Layers are the layers of the table, in its order, and then what CPUs do beside.
func Layers() []Layer {
	var all []Layer
	for _, row := range layerTable {
		all = append(all, row.layer)
	}
	return append(all, BesideKernel, BesideUs, BesideOthers)
}

// Beside reports whether a layer is none of the cell's.
func (l Layer) Beside() bool {
	return slices.Contains([]Layer{BesideKernel, BesideUs, BesideOthers}, l)
}

// LayerTable is the table as Markdown, for docs/layers.md.
func LayerTable() string {
	var b strings.Builder
	b.WriteString("| layer | what | symbols |\n|---|---|---|\n")
	for _, row := range layerTable {
		symbols := ""
		if row.symbols != "" {
			symbols = "`" + strings.Join(strings.Fields(row.symbols), "` `") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row.layer, row.says, symbols)
	}
	return b.String()
}
