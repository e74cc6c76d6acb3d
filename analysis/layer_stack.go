package analysis

import (
	"slices"
	"strings"

	"windtunnel/result"
)

// layerIdle is no layer: the CPU had nothing to do.
const layerIdle Layer = "idle"

// frameLayers is the layer of each frame of a task, for samples that found it innermost: the first name that the
// table has, from there outwards, and by whose the task is and what interrupted it, whether it is the cell's at all.
func frameLayers(task result.ProfileTask, list []string, names layerNames) []Layer {
	layers := make([]Layer, len(task.Frames))
	own := make([]Layer, len(task.Frames)) // of the table alone
	marks := make([]mark, len(task.Frames))
	for i, f := range task.Frames {
		name := list[f.Name()]
		own[i] = LayerOther
		if caller := f.Caller(); caller >= 0 {
			own[i], marks[i] = own[caller], marks[caller]
		}
		if strings.HasPrefix(name, result.UserFrame) {
			own[i] = userLayer(task.Name)
		} else if layer, ok := names.of(name); ok {
			own[i] = layer
		}
		marks[i] = marks[i].with(plainSymbol(name))
		layers[i] = marks[i].placed(task.Whose, own[i])
	}
	return layers
}

// programLayers are programs that are a layer by themselves; others are users.
var programLayers = map[string]Layer{
	"vrouter": LayerVRouter, "vrouter-poll": LayerVRouter, "ovs-vswitchd": "switch", "ovsdb-server": "switch", "dpdk-testpmd": "switch",
}

func userLayer(program string) Layer {
	if layer, ok := programLayers[program]; ok {
		return layer
	}
	return LayerUser
}

// mark is what a stack tells of for whom the CPU works.
type mark struct {
	interrupted bool // it is an interrupt's work, whatever runs below
	packets     bool // and the packets' softirqs, or their thread's
	switching   bool // the idle task has ceased to idle
}

// interrupting are the symbols from which on a stack is an interrupt's (entry code of x86-64 and arm64, and where
// both run softirqs behind it), packeting those of packets' softirqs (net/core/dev.c), and switching what the idle
// task does that is not idling (do_idle in kernel/sched/idle.c).
var (
	interrupting = []string{"asm_sysvec_", "asm_common_interrupt", "common_interrupt", "sysvec_", "el1_interrupt", "el0_interrupt", "el1h_64_irq", "el0t_64_irq", "irq_exit", "__irq_exit"}
	packeting    = []string{"net_rx_action", "net_tx_action", "napi_threaded_poll", "__napi_poll", "process_backlog"}
	switching    = []string{"tick_nohz_idle_exit", "nohz_run_idle_balance", "schedule_idle", "flush_smp_call_function_queue", "__flush_smp_call_function_queue", "sched_ttwu_pending"}
)

func (m mark) with(name string) mark {
	begins := func(start string) bool { return strings.HasPrefix(name, start) }
	m.interrupted = m.interrupted || slices.ContainsFunc(interrupting, begins)
	m.packets = m.packets || slices.ContainsFunc(packeting, begins)
	m.switching = m.switching || slices.ContainsFunc(switching, begins)
	return m
}

// placed says for whom the CPU works. Packets that an interrupt brings are the cell's, whoever was interrupted:
// nobody else has traffic while it is measured. So is what the idle task does but idling, as it is how the cell's
// programs get the CPU.
func (m mark) placed(whose string, own Layer) Layer {
	switch {
	case whose == result.OfCell, m.packets && m.interrupted:
		return own
	case whose == result.OfIdle && !m.interrupted && !m.switching:
		return layerIdle
	case whose == result.OfIdle:
		return own
	case whose == result.OfKernel && m.packets:
		return own
	case whose == result.OfKernel:
		return BesideKernel
	case whose == result.OfUs:
		return BesideUs
	}
	return BesideOthers
}
