package command

// parameter is one of the tool's settings, under its XML and its JSON name.
type parameter struct {
	xml, json string
	value     any
}

// parameters has many that only Windows' tool has; there the value is what
// ntttcp-for-linux always writes.
func (l *linuxFlags) parameters() []parameter {
	send, receive := linuxSendBuffer, linuxReceiveBuffer
	if l.buffer > 0 {
		send, receive = l.buffer, l.buffer
	}
	no := truth(false)
	return []parameter{
		{"send_socket_buff", "sendSocketBuff", send}, {"recv_socket_buff", "recvSocketBuff", receive},
		{"port", "port", l.port}, {"sync_port", "syncPort", l.port - 1}, {"no_sync", "noSync", truth(l.noSync)},
		{"wait_timeout_milliseconds", "waitTimeoutMilliseconds", 0}, {"async", "async", no},
		{"verbose", "verbose", truth(l.verbose)}, {"wsa", "wsa", no}, {"use_ipv6", "useIpv6", truth(l.v6)},
		{"udp", "udp", truth(l.udp)}, {"verify_data", "verifyData", no}, {"wait_all", "waitAll", no},
		{"run_time", "runTime", l.run}, {"warmup_time", "warmupTime", l.warmUp}, {"cooldown_time", "cooldownTime", l.coolDown},
		{"dash_n_timeout", "dashNTimeout", 0}, {"bind_sender", "bindSender", no}, {"sender_name", "senderName", "NA"},
		{"max_active_threads", "maxActiveThreads", 0}, {"tp", "tp", no}, {"no_stdio_buffer", "noStdioBuffer", no},
		{"throughput_Bpms", "throughputBpms", 0}, {"cpu_burn", "cpuBurn", 0}, {"latency_measurement", "latencyMeasurement", no},
		{"use_io_compl_ports", "useIOComplPorts", "NA"}, {"cpu_from_idle_flag", "cpuFromIdleFlag", no},
		{"get_estats", "getEstats", no}, {"qos_flag", "qosFlag", no},
		{"jitter_measurement", "jitterMeasurement", no}, {"packet_spacing", "packetSpacing", 0},
	}
}

func (r linuxResult) root() string {
	if r.flags.send {
		return "ntttcps"
	}
	return "ntttcpr"
}

// xml is the tool's document (write_result_into_xml_file in util.c).
func (r linuxResult) xml() string {
	var t tree
	t.in(r.root(), attribute("computername", r.computer)+attribute("version", linuxXMLVersion), func() {
		t.in("parameters", "", func() {
			for _, p := range r.flags.parameters() {
				t.leaf(p.xml, p.value)
			}
		})
		r.threads(&t)
		if r.flags.send {
			t.leaf("conns_tested", r.outcome.Connections)
		}
		r.totals(&t)
		r.system(&t)
		t.leaf("os", r.os)
	})
	return t.String()
}

func (r linuxResult) threads(t *tree) {
	if !r.flags.verbose {
		return
	}
	for i, thread := range r.outcome.Threads {
		rate := ratio(float64(thread.Bytes), r.outcome.Seconds)
		t.in("thread", attribute("index", itoa(i)), func() {
			t.figure("realtime", "s", "%.3f", r.outcome.Seconds)
			t.figure("throughput", "KB/s", "%.3f", rate/linuxKB)
			t.figure("throughput", "MB/s", "%.3f", rate/linuxMB)
			t.figure("throughput", "mbps", "%.3f", 8*rate/megabit)
			t.figure("avg_bytes_per_compl", "B", "%.3f", 0.0)
		})
	}
}

// totals has zeros where the tool has them: what only Windows' tool measures.
func (r linuxResult) totals(t *tree) {
	rate := r.bytesPerSecond()
	t.figure("total_bytes", "MB", "%.6f", float64(r.outcome.Bytes)/linuxMB)
	t.figure("realtime", "s", "%.6f", r.outcome.Seconds)
	t.figure("avg_bytes_per_compl", "B", "%.3f", 0.0)
	t.figure("threads_avg_bytes_per_compl", "B", "%.3f", 0.0)
	t.figure("avg_frame_size", "B", "%.3f", 0.0)
	t.figure("throughput", "MB/s", "%.3f", rate/linuxMB)
	t.figure("throughput", "mbps", "%.3f", 8*rate/megabit)
	t.figure("throughput", "Bps", "%.3f", rate)
	t.leaf("total_buffers", "0.000")
	t.figure("throughput", "buffers/s", "%.3f", 0.0)
	t.figure("avg_packets_per_interrupt", "packets/interrupt", "%.3f", r.packetsPerInterrupt())
	t.figure("interrupts", "count/sec", "%.3f", r.perSecond(r.usage.device))
	t.figure("total_interrupts", "count", "%d", r.usage.device)
	t.figure("dpcs", "count/sec", "%.3f", 0.0)
	t.figure("avg_packets_per_dpc", "packets/dpc", "%.3f", 0.0)
	t.leaf("packets_sent", r.usage.nicSent)
	t.leaf("packets_received", r.usage.nicReceived)
	t.leaf("packets_retransmitted", r.usage.tcp.retransmitted)
	t.leaf("errors", 0)
	t.leaf("bufferCount", 0)
	t.leaf("bufferLen", 0)
}

func (r linuxResult) system(t *tree) {
	if r.flags.showRetransmits {
		t.figure("tcp_retransmits", "retrans_segs", "%d", r.usage.tcp.retransmitted)
		for _, kind := range r.retransmits() {
			t.figure("tcp_retransmits", kind.name, "%.2f", kind.value)
		}
	}
	cpu := r.usage.cpu
	t.figure("cpu_cores", "cpu cores", "%d", cpu.cpus)
	t.figure("cpu_speed", "MHz", "%.3f", r.usage.mhz)
	for _, part := range []struct {
		name string
		time float64
	}{{"user", cpu.user}, {"system", cpu.system}, {"idle", cpu.idle}, {"iowait", cpu.iowait}, {"softirq", cpu.softirq}} {
		t.figure(part.name, "%", "%.2f", 100*r.usage.share(part.time))
	}
	t.figure("cycles_per_byte", "cycles/byte", "%.2f", r.cyclesPerByte())
	t.figure("cpu_busy_all", "%", "%.2f", r.busy())
	t.leaf("io", 0)
	if r.showsRTT() {
		t.figure("tcp_average_rtt", "us", "%d", r.rttMicroseconds())
	}
}
