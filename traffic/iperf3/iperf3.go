// Package iperf3 speaks the wire protocol of iperf3, as client and as server:
// one TCP control connection with states of a byte and JSON of a stated length,
// and data streams over TCP or UDP to the same port number. The engines of
// traffic/stream and traffic/datagram move the bytes.
//
// Run is a client's test, Serve answers many clients at once. Both tell an
// Observer what happens; how that looks to people is not this package's matter.
package iperf3

import "time"

// Protocol is what the data streams speak.
type Protocol string

// The protocols of the data streams.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// What iperf3 takes where nothing else is asked for, and its bounds
// (iperf_api.h and iperf.h of iperf 3.21).
const (
	DefaultPort           = 5201
	DefaultDuration       = 10 * time.Second
	DefaultInterval       = time.Second
	DefaultUDPRate        = 1 << 20 // bits per second
	DefaultTCPLength      = 128 << 10
	DefaultUDPLength      = 1460 // where the control connection's MSS is unknown
	DefaultPacingTimer    = 1000 // microseconds
	DefaultReceiveTimeout = 120 * time.Second
	DefaultSkew           = 10 * time.Second // between the clocks of a user and a server
	DefaultRateAverage    = 5 * time.Second  // over which a server's rate limit is judged

	MaxDuration  = 86400 * time.Second
	MaxOmit      = 600 * time.Second
	MaxParallel  = 128
	MaxLength    = 1 << 20
	MinUDPLength = 16
	MaxUDPLength = 65507
	MaxBurst     = 1000
	MaxMSS       = 32767
	MaxWindow    = 512 << 20
)

// Version is the iperf3 whose protocol this is; it stands in client_version.
const Version = "3.21"
