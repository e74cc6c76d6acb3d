package command

import (
	"math"

	"windtunnel/traffic/ntttcp"
)

// windowsXML is the document of NTttcp for Windows: one result, or, with -sam,
// several in <samples>.
func windowsXML(results []windowsResult) string {
	var t tree
	all := func() {
		for _, r := range results {
			r.write(&t)
		}
	}
	if len(results) > 0 && results[0].flags.sample > 0 {
		t.line("<samples>")
		all()
		t.line("</samples>")
	} else {
		all()
	}
	return t.String()
}

func (r windowsResult) write(t *tree) {
	root := "ntttcpr"
	if r.flags.send {
		root = "ntttcps"
	}
	t.in(root, attribute("computername", r.computer)+attribute("version", windowsVersion), func() {
		t.in("parameters", "", func() { r.flags.parameters(t) })
		if !r.flags.hideThreads {
			for i, thread := range r.outcome.Threads {
				r.thread(t, i, thread)
			}
		}
		r.totals(t)
		r.system(t)
	})
}

func (w *windowsFlags) parameters(t *tree) {
	for _, p := range w.settings() {
		t.leaf(p.name, p.value)
	}
}

type setting struct {
	name  string
	value any
}

// shownBufferCount is what the tool itself prints: -t counts up to the largest.
func (w *windowsFlags) shownBufferCount() int {
	if w.runSeconds > 0 {
		return math.MaxInt64
	}
	return w.bufferCount()
}

// settings are the command line as the tool shows it: times in milliseconds.
func (w *windowsFlags) settings() []setting {
	const milliseconds = 1000
	return []setting{
		{"send_socket_buff", w.shownSendBuffer()}, {"recv_socket_buff", w.receiveBuffer}, {"port", w.port},
		{"sync_port", truth(w.sharePort)}, {"no_sync", truth(w.noSync)},
		{"wait_timeout_milliseconds", w.waitMillis}, {"async", truth(w.async)}, {"verbose", truth(w.verbose)},
		{"wsa", truth(w.wsa)}, {"use_ipv6", truth(w.v6)}, {"udp", truth(w.udp)},
		{"udp_unconnected", truth(w.unconnected)}, {"verify_data", truth(false)}, {"wait_all", truth(w.waitAll)},
		{"run_time", w.runSeconds * milliseconds}, {"warmup_time", w.warmUp * milliseconds}, {"cooldown_time", w.coolDown * milliseconds},
		{"dash_n_timeout", w.longestSeconds * milliseconds}, {"bind_sender", truth(w.nic != "")}, {"sender_name", w.nic},
		{"max_active_threads", w.shownActiveThreads()}, {"udp_uso_size", w.uso}, {"udp_receive_coalescing", number01(w.uro)},
		{"tp", truth(false)}, {"use_hvsocket_flag", truth(false)}, {"no_stdio_buffer", truth(w.unbuffered)},
		{"throughput_Bpms", w.kilobytes * 1024 / 1000}, {"cpu_burn", 0}, {"latency_measurement", truth(false)},
		{"use_io_compl_ports", truth(w.activeThreads != -1)}, {"cpu_from_idle_flag", truth(w.cpuFromIdle)},
		{"get_estats", truth(false)}, {"qos_flag", truth(false)}, {"jitter_measurement", truth(false)}, {"packet_spacing", w.spacing},
	}
}

func number01(on bool) int {
	if on {
		return 1
	}
	return 0
}

func (w *windowsFlags) shownActiveThreads() int {
	if w.activeThreads < 0 {
		return w.threads()
	}
	return w.activeThreads
}

func (r windowsResult) thread(t *tree, i int, thread ntttcp.ThreadOutcome) {
	rate := ratio(float64(thread.Bytes), r.outcome.Seconds)
	t.in("thread", attribute("index", itoa(i)), func() {
		t.figure("realtime", "s", "%.3f", r.outcome.Seconds)
		t.figure("throughput", "KB/s", "%.3f", rate/windowsKB)
		t.figure("throughput", "MB/s", "%.3f", rate/windowsMB)
		t.figure("throughput", "mbps", "%.3f", 8*rate/megabit)
		t.figure("throughput", "Bps", "%.1f", rate)
		t.figure("avg_bytes_per_compl", "B", "%.3f", ratio(float64(thread.Bytes), float64(thread.Calls)))
	})
}

func (r windowsResult) totals(t *tree) {
	rate := r.bytesPerSecond()
	t.figure("total_bytes", "MB", "%.6f", float64(r.outcome.Bytes)/windowsMB)
	t.figure("realtime", "s", "%.6f", r.outcome.Seconds)
	t.figure("avg_bytes_per_compl", "B", "%.3f", ratio(float64(r.outcome.Bytes), float64(r.outcome.Calls)))
	t.figure("threads_avg_bytes_per_compl", "B", "%.3f", r.meanOfThreads())
	t.figure("avg_frame_size", "B", "%.3f", r.averageFrame())
	t.figure("throughput", "MB/s", "%.3f", rate/windowsMB)
	t.figure("throughput", "mbps", "%.3f", 8*rate/megabit)
	t.figure("throughput", "Bps", "%.1f", rate)
	t.line("<total_buffers>%.3f</total_buffers>", r.buffers())
	t.figure("throughput", "buffers/s", "%.3f", ratio(r.buffers(), r.outcome.Seconds))
}

func (r windowsResult) system(t *tree) {
	sent, received, retransmitted, errors := r.packets()
	t.figure("avg_packets_per_interrupt", "packets/interrupt", "%.3f", r.receivedPer(r.usage.interrupts))
	t.figure("interrupts", "count/sec", "%.3f", r.perSecond(r.usage.interrupts))
	t.figure("dpcs", "count/sec", "%.3f", r.perSecond(r.usage.softirqs))
	t.figure("avg_packets_per_dpc", "packets/dpc", "%.3f", r.receivedPer(r.usage.softirqs))
	t.figure("cycles", "cycles/byte", "%.3f", r.cyclesPerByte())
	t.leaf("packets_sent", sent)
	t.leaf("packets_received", received)
	t.leaf("packets_retransmitted", retransmitted)
	t.leaf("errors", errors)
	t.figure("cpu", "%", "%.3f", 100*r.busy())
	t.leaf("num_processors", r.usage.cpu.cpus)
	t.leaf("bufferCount", r.shownBuffers())
	t.leaf("bufferLen", r.flags.bufferLength())
	t.leaf("io", r.flags.outstanding)
}

// shownBuffers is the greatest number where the time bounds the test.
func (r windowsResult) shownBuffers() int64 {
	if n := r.flags.bufferCount(); n > 0 {
		return int64(n)
	}
	return math.MaxInt64
}
