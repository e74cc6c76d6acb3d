package command

import (
	"time"

	"windtunnel/traffic/iperf3"
)

// settings are a command line that was read.
type settings struct {
	role   role
	client iperf3.Options
	server iperf3.ServerOptions
	output output

	// What both ends take; share gives it to them.
	port           int
	family         int
	bind, device   string
	interval       time.Duration
	cpu            int // -1: any
	receiveTimeout time.Duration
	sendTimeout    time.Duration
	keepAlive      iperf3.KeepAlive

	daemon  bool
	told    string // file that a daemon's parent waits to read, by its descriptor
	pidfile string
	help    bool
	version bool

	publicKey, privateKey, users string // files
	all                          []given
}

// output is how results are shown.
type output struct {
	format     byte // of bit rates: kmgt, KMGT, or adaptiveBits
	verbose    bool
	json       bool
	stream     bool // a line of JSON for each event
	full       bool // the whole JSON after the stream
	plain      bool // nothing but what iperf3 prints
	logfile    string
	stamped    bool
	stampAs    string // as strftime(3)
	debug      int    // 0: none
	title      string
	sized      bool // the length of datagrams was given
	serverSaid bool // the client asks for the server's output
}

// ctimeStamp is iperf3's format of timestamps where none is given.
const ctimeStamp = "%c "

func defaults() *settings {
	s := &settings{cpu: -1}
	s.output.format = adaptiveBits
	return s
}

// has tells whether a flag was given.
func (s *settings) has(long string) bool {
	for _, g := range s.all {
		if g.flag.long == long {
			return true
		}
	}
	return false
}

// share gives both ends what is common to them.
func (s *settings) share() {
	var cpus []int
	if s.cpu >= 0 {
		cpus = []int{s.cpu}
	}
	c, v := &s.client, &s.server
	c.Port, v.Port = s.port, s.port
	c.Family, v.Family = s.family, s.family
	c.Bind, v.Host = s.bind, s.bind
	if s.device != "" {
		c.BindDevice, v.BindDevice = s.device, s.device
	}
	c.Interval, v.Interval = s.interval, s.interval
	c.CPUs, v.CPUs = cpus, cpus
	c.ReceiveTimeout, v.ReceiveTimeout = s.receiveTimeout, s.receiveTimeout
	c.SendTimeout, v.SendTimeout = s.sendTimeout, s.sendTimeout
	c.KeepAlive, v.KeepAlive = s.keepAlive, s.keepAlive
}
