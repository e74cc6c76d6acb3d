package iperf3

import (
	"crypto/rsa"
	"time"
)

// Options are a client's test. The zero value of a field is what iperf3 does
// without the flag, but for the rate: DefaultUDPRate is set by whoever reads
// the flags.
type Options struct {
	Host       string // name or IP of the server
	Port       int    // 0: DefaultPort
	Family     int    // 4 or 6: only that; 0: any (-4, -6)
	Bind       string // local IP (-B)
	BindDevice string // SO_BINDTODEVICE (--bind-dev, -B %dev)
	ClientPort int    // of the first data stream; the next ones follow it (--cport)

	Protocol      Protocol      // "": TCP
	Duration      time.Duration // 0: DefaultDuration, if neither Bytes nor Blocks ends the test; <0: until interrupted (-t 0)
	Bytes         uint64        // ends the test (-n), 0: no
	Blocks        uint64        // ends the test (-k), 0: no
	Omit          time.Duration // in whole seconds, which is how the server is told: rounded up
	Parallel      int           // streams in each direction, 0: 1
	Reverse       bool
	Bidirectional bool
	Interval      time.Duration // of reports, 0: DefaultInterval, <0: none

	Length        int     // bytes of one call or datagram, 0: the protocol's default
	BitsPerSecond float64 // per stream, 0: as fast as it goes
	Burst         int     // packets sent back to back within the rate (-b 1M/10)
	FQRate        float64 // bits per second per stream, by the kernel (SO_MAX_PACING_RATE); 0: none
	PacingTimer   int     // microseconds, told to the server, 0: DefaultPacingTimer; the engines pace finer

	Window           int // bytes of the socket's buffers, 0: the kernel's tuning
	MSS              int // bytes, 0: the path's
	NoDelay          bool
	TOS              int    // the whole byte: a DSCP is shifted by two
	Congestion       string // "": the system's
	MultipathTCP     bool
	DontFragment     bool // IPv4 UDP
	ZeroCopy         bool // -Z: sendfile in iperf3; here the engine's zero copy
	SkipReceiveCopy  bool // --skip-rx-copy: TCP receivers drop the payload in the kernel; for UDP only the server is told
	Counters64Bit    bool // --udp-counters-64bit
	RepeatingPayload bool
	GSO, GRO         bool // told to a server of 3.21; the engine segments where it can

	Title           string
	ExtraData       string
	GetServerOutput bool

	Username     string
	Password     string
	PublicKey    *rsa.PublicKey // of the server
	PKCS1Padding bool           // --use-pkcs1-padding: for servers before 3.17

	ConnectTimeout time.Duration // of each connection, 0: 30 s
	ReceiveTimeout time.Duration // without a byte where this end receives, 0: DefaultReceiveTimeout
	SendTimeout    time.Duration // unacknowledged data (TCP_USER_TIMEOUT), 0: the kernel's
	KeepAlive      KeepAlive     // of the control connection

	CPUs           []int // hot threads are pinned here, in turn (-A n); empty: not pinned
	ServerAffinity int   // the CPU asked of the server plus 1 (-A n,m); 0: none asked

	// Asked is called once when the server has been told of the test, which it may still refuse: with all of a Start but what the
	// streams tell; may be nil.
	Asked func(Start)
}

// KeepAlive are the TCP keepalives of the control connection (--cntl-ka).
type KeepAlive struct {
	On       bool
	Idle     time.Duration // 0: the system's
	Interval time.Duration
	Count    int
}

// ServerOptions bound a server and say whom it trusts.
type ServerOptions struct {
	Host       string // the IP to bind, "": all
	Port       int    // 0: DefaultPort; <0: any free one
	Family     int    // 4 or 6: only that; 0: both
	BindDevice string
	CPUs       []int         // hot threads are pinned here, in turn; empty: not pinned
	Interval   time.Duration // of reports, 0: DefaultInterval, <0: none

	MaxClients  int           // sessions at once, 0: no bound but 1024
	MaxBytes    uint64        // of payload in one session, 0: no bound
	MaxTime     time.Duration // of one session's test, with what it omits, 0: no bound (--server-max-duration)
	TimedOnly   bool          // with MaxTime: who does not say how long its test lasts is refused, as by --server-max-duration
	MaxRate     float64       // bits per second of one session, all its streams, 0: no bound (--server-bitrate-limit)
	RateAverage time.Duration // over which MaxRate is judged, 0: DefaultRateAverage

	PrivateKey *rsa.PrivateKey // nil: everybody may test
	Users      Users           // who may test, where there is a key
	// ReadUsers, where it is not nil, is asked for Users when a client comes, so that
	// a file that was changed counts at once, as in iperf3.
	ReadUsers    func() (Users, error)
	Skew         time.Duration // allowed between a user's clock and this one, 0: DefaultSkew
	PKCS1Padding bool          // --use-pkcs1-padding: for clients before 3.17

	OneOff         bool          // take one client, and end after it (-1); one without authorization does not count
	IdleTimeout    time.Duration // end after so long without a session (--idle-timeout), 0: never
	ReceiveTimeout time.Duration // without a byte from a client that should send, 0: DefaultReceiveTimeout
	SendTimeout    time.Duration // unacknowledged data (TCP_USER_TIMEOUT), 0: the kernel's
	StallTimeout   time.Duration // without a byte that a client takes, where none come, 0: DefaultReceiveTimeout
	KeepAlive      KeepAlive

	// Ready is called once with the address, when it listens; may be nil.
	Ready func(address string)
	// Refused is told of clients that were turned away before their test began,
	// from many goroutines; may be nil.
	Refused func(client string, why error)
}

// Users are the passwords of users: by name, the SHA-256 in hexadecimal of
// "{NAME}PASSWORD", of which each will do.
type Users map[string][]string
