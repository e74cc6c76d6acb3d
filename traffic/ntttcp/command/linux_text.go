package command

import (
	"fmt"
)

// lines are the tool's result, without the time and the INFO before each
// (print_test_results in util.c).
func (r linuxResult) lines() []string {
	var all []string
	add := func(format string, values ...any) { all = append(all, fmt.Sprintf(format, values...)) }
	if r.flags.verbose {
		add("\tThread\tTime(s)\tThroughput")
		add("\t======\t=======\t==========")
		for i, thread := range r.outcome.Threads {
			add("\t%d\t %.2f\t %s", i, r.outcome.Seconds, throughput(thread.Bytes, r.outcome.Seconds))
		}
	}
	if r.flags.send {
		add("%d connections tested", r.outcome.Connections)
	}
	add("#####  Totals:  #####")
	add("test duration\t:%.2f seconds", r.outcome.Seconds)
	add("total bytes\t:%d", r.outcome.Bytes)
	add("\t throughput\t:%s", throughput(r.outcome.Bytes, r.outcome.Seconds))
	if !r.flags.udp {
		add("\t retrans segs\t:%d", r.usage.tcp.retransmitted)
	}
	if r.flags.showRetransmits {
		add("tcp retransmit:")
		for _, kind := range r.retransmits() {
			add("\t %s\t:%.2f", kind.text, kind.value)
		}
	}
	all = append(all, r.deviceLines()...)
	all = append(all, r.cpuLines()...)
	if r.showsRTT() {
		add("tcpi rtt\t\t:%d us", r.rttMicroseconds())
	}
	return all
}

func (r linuxResult) deviceLines() []string {
	var all []string
	add := func(format string, values ...any) { all = append(all, fmt.Sprintf(format, values...)) }
	if r.flags.nic != "" {
		add("total packets:")
		add("\t tx_packets\t:%d", r.usage.nicSent)
		add("\t rx_packets\t:%d", r.usage.nicReceived)
	}
	if r.flags.device != "" {
		add("interrupts:")
		add("\t total\t\t:%d", r.usage.device)
		add("\t interrupts/sec\t:%.3f", r.perSecond(r.usage.device))
	}
	if r.flags.nic != "" && r.flags.device != "" {
		add("\t pkts/interrupt\t:%.2f", r.packetsPerInterrupt())
	}
	return all
}

func (r linuxResult) cpuLines() []string {
	cpu := r.usage.cpu
	percent := func(part float64) string { return fmt.Sprintf("%.2f%%", 100*r.usage.share(part)) }
	return []string{
		fmt.Sprintf("cpu cores\t:%d", cpu.cpus),
		fmt.Sprintf("\t cpu speed\t:%.3fMHz", r.usage.mhz),
		"\t user\t\t:" + percent(cpu.user),
		"\t system\t\t:" + percent(cpu.system),
		"\t idle\t\t:" + percent(cpu.idle),
		"\t iowait\t\t:" + percent(cpu.iowait),
		"\t softirq\t:" + percent(cpu.softirq),
		fmt.Sprintf("\t cycles/byte\t:%.2f", r.cyclesPerByte()),
		fmt.Sprintf("cpu busy (all)\t:%.2f%%", r.busy()),
	}
}
