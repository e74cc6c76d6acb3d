package profile

import (
	"reflect"
	"testing"
	"time"

	"windtunnel/result"
)

// TestHowLongIdleTasksHadCPUs by what the BPF programs leave behind: CPUs that idled at a window's beginning, at its end, at neither, and what
// is not known.
func TestHowLongIdleTasksHadCPUs(t *testing.T) {
	const began, ended = 1000, 1300
	for name, c := range map[string]struct {
		cpu  stacksStacksCpu
		want time.Duration
		bad  bool
	}{
		"never idle":                   {cpu: stacksStacksCpu{Window: began}},
		"idle from 1010 to 1050":       {cpu: stacksStacksCpu{Window: began, Idled: 1050 - 1010}, want: 40},
		"idle to 1050":                 {cpu: stacksStacksCpu{Window: began, Idled: 1050 - began}, want: 50},
		"idle to 1050 and from 1200":   {cpu: stacksStacksCpu{Window: began, Idled: 1050 - began - 1200}, want: 150},
		"idle from beginning to end":   {cpu: stacksStacksCpu{Window: began, Idled: -began}, want: 300},
		"idle to after the end":        {cpu: stacksStacksCpu{Window: began, Idled: 1301 - began}, want: 300},
		"another window":               {cpu: stacksStacksCpu{Window: 400, Idled: 40}, bad: true},
		"a switch that was missed":     {cpu: stacksStacksCpu{Window: began, Idled: 40, Missed: began}, bad: true},
		"one missed in another window": {cpu: stacksStacksCpu{Window: began, Idled: 40, Missed: 400}, want: 40},
	} {
		if got, err := c.cpu.idled(began, ended); got != c.want || err != nil != c.bad {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

// TestTheClocksOwnInterruptIsNoLayer: of the idle task's stacks, which have the interrupt in which they were taken, what that
// interrupted is kept, an interrupt's softirq included.
func TestTheClocksOwnInterruptIsNoLayer(t *testing.T) {
	list := []string{"bpf_prog_0123456789abcdef_stacks_expired", "bpf_trace_run2", "__hrtimer_run_queues", "hrtimer_interrupt", "sysvec_apic_timer_interrupt",
		"asm_sysvec_apic_timer_interrupt", "ip_rcv", "net_rx_action", "asm_sysvec_call_function_single", "do_idle", "el1_interrupt", "el1h_64_irq_handler", "el1h_64_irq"}
	named := map[uint64]string{}
	at := map[string]uint64{}
	for i, name := range list {
		at[name] = uint64(0x1000 + 16*i)
		named[at[name]], named[at[name]-1] = name, name
	}
	stack := func(names ...string) (s Seen) {
		s.Rung = true
		for _, name := range names {
			s.Kernel = append(s.Kernel, at[name])
		}
		return s
	}
	ring := list[:6]
	for name, c := range map[string]struct {
		frames []string
		want   []string
	}{
		"idle":                {append(ring[:6:6], "do_idle"), []string{"do_idle"}},
		"a softirq":           {append(ring[:6:6], "ip_rcv", "net_rx_action", "asm_sysvec_call_function_single", "do_idle"), []string{"ip_rcv", "net_rx_action", "asm_sysvec_call_function_single", "do_idle"}},
		"arm64":               {[]string{"hrtimer_interrupt", "el1_interrupt", "el1h_64_irq_handler", "el1h_64_irq", "do_idle"}, []string{"do_idle"}},
		"nothing outside":     {ring, []string{result.UnknownFrame}},
		"no interrupt at all": {[]string{"hrtimer_interrupt", "do_idle"}, []string{result.UnknownFrame}},
	} {
		n := newNaming(named)
		var got []string
		for _, number := range n.of(stack(c.frames...), false) {
			got = append(got, n.list[number])
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
