package command

import (
	"fmt"

	"windtunnel/traffic/iperf3"
)

// shapeFlags say what a client's streams are like.
func shapeFlags() []*flag {
	return []*flag{
		{long: "length", short: 'l', takes: "SIZE", role: ofClient, says: "bytes of one write or datagram (TCP: 128K; UDP: what fits the path)", set: setLength},
		{long: "window", short: 'w', takes: "SIZE", role: ofClient, says: "the sockets' buffers at both ends, and so TCP's window", set: setWindow},
		{long: "congestion", older: []string{"linux-congestion"}, short: 'C', takes: "NAME", role: ofClient, says: "TCP's congestion control at both ends",
			set: func(s *settings, v string) error { s.client.Congestion = v; return nil }},
		{long: "set-mss", short: 'M', takes: "N", role: ofClient, says: "TCP's largest segment",
			set: func(s *settings, v string) (err error) {
				s.client.MSS, err = between(v, 0, iperf3.MaxMSS, "")
				return err
			}},
		{long: "no-delay", short: 'N', role: ofClient, says: "send small segments at once (no Nagle)", set: onClient(func(o *iperf3.Options) { o.NoDelay = true })},
		{long: "tos", short: 'S', takes: "N", role: ofClient, says: "the byte of DSCP and ECN, 0 to 255: 52, 064, 0x34",
			set: func(s *settings, v string) (err error) { s.client.TOS, err = integer(v, 0, 255); return err }},
		{long: "dscp", takes: "N|NAME", role: ofClient, says: "the DSCP, 0 to 63 or as ef, af11, cs1",
			set: func(s *settings, v string) (err error) { s.client.TOS, err = dscp(v); return err }},
		{long: "fq-rate", takes: "RATE", role: ofClient, says: "bits/sec of each stream, paced by the kernel (SO_MAX_PACING_RATE)",
			set: func(s *settings, v string) (err error) { s.client.FQRate, err = parseUnit(v, ofRates); return err }},
		{long: "no-fq-socket-pacing", role: ofClient, says: "the older --fq-rate 0", set: onClient(func(o *iperf3.Options) { o.FQRate = 0 })},
		{long: "pacing-timer", takes: "US", role: ofClient, says: "told to the server, whose pacing it may be (1000)", set: setPacingTimer},
		{long: "cport", takes: "PORT", role: ofClient, says: "the local port of the first stream",
			set: func(s *settings, v string) (err error) {
				s.client.ClientPort, err = between(v, 1, highestPort, "")
				return err
			}},
		{long: "zerocopy", short: 'Z', role: ofClient, says: "send without copying", set: onClient(func(o *iperf3.Options) { o.ZeroCopy = true })},
		{long: "skip-rx-copy", role: ofClient, says: "drop received data in the kernel (MSG_TRUNC)", set: onClient(func(o *iperf3.Options) { o.SkipReceiveCopy = true })},
		{long: "udp-counters-64bit", role: ofClient, says: "longer numbers in datagrams", set: onClient(func(o *iperf3.Options) { o.Counters64Bit = true })},
		{long: "gsro", role: ofClient, says: "UDP segmentation and aggregation in the kernel at both ends", set: onClient(func(o *iperf3.Options) { o.GSO, o.GRO = true, true })},
		{long: "repeating-payload", role: ofClient, says: "0123456789 over and over as payload, instead of random bytes", set: onClient(func(o *iperf3.Options) { o.RepeatingPayload = true })},
		{long: "dont-fragment", role: ofClient, says: "set IPv4's Don't Fragment (UDP)", set: onClient(func(o *iperf3.Options) { o.DontFragment = true })},
	}
}

func setLength(s *settings, value string) error {
	length, err := whole(value, ofSizes)
	if err != nil {
		return err
	}
	if length > iperf3.MaxLength {
		return fmt.Errorf("block size too large: '%s' (maximum = %d bytes)", value, iperf3.MaxLength)
	}
	s.client.Length, s.output.sized = int(length), length > 0
	return nil
}

func setWindow(s *settings, value string) error {
	window, err := whole(value, ofSizes)
	if err != nil {
		return err
	}
	if window > iperf3.MaxWindow {
		return fmt.Errorf("socket buffer size too large: '%s' (maximum = %d bytes)", value, iperf3.MaxWindow)
	}
	s.client.Window = int(window)
	return nil
}

func setPacingTimer(s *settings, value string) error {
	const highest = 1e9
	us, err := whole(value, ofSizes)
	if err == nil && (us == 0 || us > highest) {
		err = fmt.Errorf("'%s' is no number from 1 to %d (microseconds)", value, int(highest))
	}
	s.client.PacingTimer = int(us)
	return err
}

// refusedFlags are those of iperf3 that cannot be had here.
func refusedFlags() []*flag {
	const sctp = "SCTP is not spoken here: TCP (without it) and UDP (-u) are"
	return []*flag{
		{long: "sctp", role: ofClient, refuses: sctp},
		{long: "xbind", short: 'X', takes: "NAME", refuses: sctp + "; -B binds those"},
		{long: "nstreams", takes: "N", role: ofClient, refuses: sctp + "; -P gives them parallel streams"},
		{long: "flowlabel", short: 'L', takes: "N", role: ofClient, refuses: "the kernel picks a label for each flow (net.ipv6.auto_flowlabels); " +
			"to steer flows use -P, --cport or --dscp"},
		{long: "file", short: 'F', takes: "FILE", refuses: "payload is not read from nor written to files, which would measure the disk; " +
			"-n SIZE sends as many bytes as a file of that size has"},
	}
}
