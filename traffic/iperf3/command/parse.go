package command

import (
	"errors"
	"fmt"
	"strings"

	"windtunnel/traffic/iperf3"
)

// parse reads a command line. The warnings are what is odd and goes on.
func parse(args []string) (s *settings, warnings []string, err error) {
	flags := append(allFlags(), daemonFlags()...)
	all, rest, err := scan(args, flags)
	if err != nil {
		return nil, nil, err
	}
	s = defaults()
	s.all = all
	for _, g := range all {
		if g.flag.set == nil {
			return nil, nil, fmt.Errorf("%s: %s", g.flag.name(), g.flag.refuses)
		}
		if err := g.flag.set(s, g.value); err != nil {
			return nil, nil, fmt.Errorf("%s: %w%s", g.flag.name(), err, meantLong(g.as, flags))
		}
		if s.help || s.version {
			return s, nil, nil // iperf3 looks no further either
		}
	}
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	s.share()
	return s, append(strayWarnings(rest), s.warnings()...), nil
}

func strayWarnings(rest []string) (warnings []string) {
	if len(rest) > 0 {
		warnings = append(warnings, fmt.Sprintf("'%s' belongs to no option and is left out", strings.Join(rest, " ")))
	}
	return warnings
}

func (s *settings) warnings() (all []string) {
	if s.output.json && s.output.format != adaptiveBits {
		all = append(all, "-f has no effect on JSON: its rates are bits_per_second")
	}
	if s.has("no-fq-socket-pacing") {
		all = append(all, "--no-fq-socket-pacing is deprecated: it is --fq-rate 0")
	}
	if s.output.full && !s.output.stream {
		all = append(all, "--json-stream-full-output has no effect without --json-stream")
	}
	return all
}

// check refuses what does not go together, and completes what depends on it.
func (s *settings) check() error {
	if s.role == ofBoth {
		return errors.New("must either be a client (-c) or server (-s)")
	}
	for _, g := range s.all {
		if g.flag.role != ofBoth && g.flag.role != s.role {
			return fmt.Errorf("%s is %s only: leave it out, or %s", g.flag.name(), side(g.flag.role), beThe(g.flag.role))
		}
	}
	if s.role == ofServer {
		return s.checkServer()
	}
	return s.checkClient()
}

func side(r role) string {
	if r == ofServer {
		return "server"
	}
	return "client"
}

func beThe(r role) string {
	if r == ofServer {
		return "start with -s"
	}
	return "start with -c HOST"
}

func (s *settings) checkServer() error {
	if s.client.MultipathTCP {
		return errors.New("-m (--mptcp): the client decides on Multipath TCP: leave it out here")
	}
	if s.client.ServerAffinity != 0 {
		return errors.New("-A (--affinity): N,M is client only: a server takes -A N")
	}
	if (s.privateKey == "") != (s.users == "") {
		return errors.New("you must specify a path to a valid RSA private key and a user credential file: --rsa-private-key-path and --authorized-users-path")
	}
	return nil
}

func (s *settings) checkClient() error {
	c := &s.client
	switch {
	case c.Host == "":
		return errors.New("-c (--client): there is no host: -c HOST")
	case c.Reverse && c.Bidirectional:
		return errors.New("cannot be both reverse and bidirectional: -R or --bidir")
	case s.ends() > 1:
		return errors.New("only one test end condition (-t, -n, -k) may be specified")
	case s.has("rcv-timeout") && !c.Reverse && !c.Bidirectional:
		return errors.New("client receive timeout is valid only in receiving mode: --rcv-timeout with -R or --bidir")
	case (c.Username == "") != (s.publicKey == ""):
		return errors.New("you must specify a username, password, and path to a valid RSA public key: --username, IPERF3_PASSWORD and --rsa-public-key-path")
	}
	if c.Protocol == iperf3.UDP {
		return s.checkUDP()
	}
	return nil
}

// ends counts the conditions that end the test; none is a time of 10 s.
func (s *settings) ends() (count int) {
	if s.has("time") {
		count++
	}
	if s.client.Bytes > 0 {
		count++
	}
	if s.client.Blocks > 0 {
		count++
	}
	return count
}

func (s *settings) checkUDP() error {
	c := &s.client
	if c.MultipathTCP {
		return errors.New("-m (--mptcp) is for TCP: leave it or -u out")
	}
	if c.Length != 0 && (c.Length < iperf3.MinUDPLength || c.Length > iperf3.MaxUDPLength) {
		return fmt.Errorf("block size invalid: %d (minimum = %d bytes, maximum = %d bytes)", c.Length, iperf3.MinUDPLength, iperf3.MaxUDPLength)
	}
	if !s.has("bitrate") {
		c.BitsPerSecond = iperf3.DefaultUDPRate
	}
	return nil
}
