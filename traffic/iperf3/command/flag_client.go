package command

import (
	"fmt"
	"strings"
	"time"

	"windtunnel/traffic/iperf3"
)

// clientFlags say whom to test with, and what ends the test.
func clientFlags() []*flag {
	return []*flag{
		{long: "client", short: 'c', takes: "HOST[%DEV]", says: "be a client of this server", set: setRole(ofClient)},
		{long: "udp", short: 'u', role: ofClient, says: "UDP instead of TCP", set: onClient(func(o *iperf3.Options) { o.Protocol = iperf3.UDP })},
		{long: "connect-timeout", takes: "MS", role: ofClient, says: "give up connecting after so long (30000)", set: setConnectTimeout},
		{long: "bitrate", older: []string{"bandwidth"}, short: 'b', takes: "RATE[/BURST]", role: ofClient,
			says: "bits/sec of each stream (UDP: 1048576; TCP: as fast as it goes; 0: as fast as it goes), and datagrams sent at once", set: setRate},
		{long: "time", short: 't', takes: "SECONDS", role: ofClient, says: "how long to send (10; 0: until interrupted)", set: setTime},
		{long: "bytes", short: 'n', takes: "SIZE", role: ofClient, says: "send so much instead of so long",
			set: func(s *settings, v string) (err error) { s.client.Bytes, err = whole(v, ofSizes); return err }},
		{long: "blockcount", short: 'k', takes: "N", role: ofClient, says: "send so many blocks instead of so long",
			set: func(s *settings, v string) (err error) { s.client.Blocks, err = whole(v, ofSizes); return err }},
		{long: "parallel", short: 'P', takes: "N", role: ofClient, says: "streams in each direction (1)",
			set: func(s *settings, v string) (err error) {
				s.client.Parallel, err = between(v, 1, iperf3.MaxParallel, "")
				return err
			}},
		{long: "reverse", short: 'R', role: ofClient, says: "the server sends", set: onClient(func(o *iperf3.Options) { o.Reverse = true })},
		{long: "bidir", role: ofClient, says: "both send at once", set: onClient(func(o *iperf3.Options) { o.Bidirectional = true })},
		{long: "omit", short: 'O', takes: "SECONDS", role: ofClient, says: "run so long before what is counted",
			set: func(s *settings, v string) (err error) {
				s.client.Omit, err = seconds(v, 0, iperf3.MaxOmit)
				return err
			}},
		{long: "title", short: 'T', takes: "TEXT", role: ofClient, says: "begin every line with it",
			set: func(s *settings, v string) error { s.client.Title, s.output.title = v, v; return nil }},
		{long: "extra-data", takes: "TEXT", role: ofClient, says: "put it into both ends' JSON",
			set: func(s *settings, v string) error { s.client.ExtraData = v; return nil }},
		{long: "get-server-output", role: ofClient, says: "show what the server printed, too",
			set: func(s *settings, _ string) error {
				s.client.GetServerOutput, s.output.serverSaid = true, true
				return nil
			}},
		{long: "username", takes: "NAME", role: ofClient, says: "who tests; the password is asked for, or IPERF3_PASSWORD",
			set: func(s *settings, v string) error { s.client.Username = v; return nil }},
		{long: "rsa-public-key-path", takes: "FILE", role: ofClient, says: "the server's key, for the user's password",
			set: func(s *settings, v string) error { s.publicKey = v; return nil }},
	}
}

func onClient(set func(*iperf3.Options)) func(*settings, string) error {
	return func(s *settings, _ string) error { set(&s.client); return nil }
}

func setConnectTimeout(s *settings, value string) error {
	ms, err := whole(value, ofSizes)
	if longest := uint64(iperf3.MaxDuration.Milliseconds()); err == nil && ms > longest {
		return fmt.Errorf("'%s' is more than %d (milliseconds)", value, longest)
	}
	s.client.ConnectTimeout = time.Duration(ms) * time.Millisecond
	return err
}

func setRate(s *settings, value string) (err error) {
	rate, burst, given := strings.Cut(value, "/")
	if s.client.BitsPerSecond, err = parseUnit(rate, ofRates); err != nil || !given {
		return err
	}
	if s.client.Burst, err = between(burst, 1, iperf3.MaxBurst, ""); err != nil {
		return fmt.Errorf("invalid burst count '%s' (maximum = %d)", burst, iperf3.MaxBurst)
	}
	return nil
}

func setTime(s *settings, value string) (err error) {
	if s.client.Duration, err = seconds(value, 0, iperf3.MaxDuration); err != nil {
		return fmt.Errorf("test duration valid values are 0 to %.0f seconds: %w", iperf3.MaxDuration.Seconds(), err)
	}
	if s.client.Duration == 0 {
		s.client.Duration = -1
	}
	return nil
}
