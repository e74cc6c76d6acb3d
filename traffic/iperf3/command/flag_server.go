package command

import (
	"fmt"
	"math"
	"strings"
	"time"

	"windtunnel/traffic/iperf3"
)

// serverFlags are those that only a server takes.
func serverFlags() []*flag {
	return []*flag{
		{long: "server", short: 's', says: "be a server, for many clients at once", set: setRole(ofServer)},
		{long: "daemon", short: 'D', role: ofServer, says: "go on in the background", set: func(s *settings, _ string) error { s.daemon = true; return nil }},
		{long: "one-off", short: '1', role: ofServer, says: "end after one client", set: onServer(func(o *iperf3.ServerOptions) { o.OneOff = true })},
		{long: "idle-timeout", takes: "SECONDS", role: ofServer, says: "listen anew, or with -1 end, after so long without a client",
			set: func(s *settings, v string) (err error) {
				s.server.IdleTimeout, err = seconds(v, time.Second, iperf3.MaxDuration)
				return err
			}},
		{long: "server-max-duration", takes: "SECONDS", role: ofServer, says: "the longest test that a client may ask for",
			set: func(s *settings, v string) (err error) {
				s.server.MaxTime, err = seconds(v, 0, iperf3.MaxDuration)
				s.server.TimedOnly = s.server.MaxTime > 0
				return err
			}},
		{long: "server-bitrate-limit", takes: "RATE[/SECONDS]", role: ofServer, says: "the most bits/sec of a test, all its streams, on average over so long (5)", set: setRateLimit},
		{long: "rsa-private-key-path", takes: "FILE", role: ofServer, says: "the server's key: with --authorized-users-path, only they may test",
			set: func(s *settings, v string) error { s.privateKey = v; return nil }},
		{long: "authorized-users-path", takes: "FILE", role: ofServer, says: "lines of NAME,SHA256 of \"{NAME}PASSWORD\"",
			set: func(s *settings, v string) error { s.users = v; return nil }},
		{long: "time-skew-threshold", takes: "SECONDS", role: ofServer, says: "how far a user's clock may be off (10)",
			set: func(s *settings, v string) (err error) {
				s.server.Skew, err = seconds(v, time.Second, math.MaxInt32*time.Second)
				return err
			}},
	}
}

func onServer(set func(*iperf3.ServerOptions)) func(*settings, string) error {
	return func(s *settings, _ string) error { set(&s.server); return nil }
}

func setRole(to role) func(*settings, string) error {
	return func(s *settings, value string) error {
		if s.role != ofBoth && s.role != to {
			return fmt.Errorf("cannot be both server and client")
		}
		s.role = to
		if to == ofClient {
			host, device := hostDevice(value)
			if s.client.Host = host; device != "" {
				s.client.BindDevice = device
			}
		}
		return nil
	}
}

func setRateLimit(s *settings, value string) (err error) {
	rate, average, given := strings.Cut(value, "/")
	if s.server.MaxRate, err = parseUnit(rate, ofRates); err != nil || !given {
		return err
	}
	if s.server.RateAverage, err = interval(average); err != nil {
		return fmt.Errorf("invalid time interval for calculating average data rate: %w", err)
	}
	s.server.RateAverage = max(s.server.RateAverage, 0) // 0 seconds: what there is without it
	return nil
}
