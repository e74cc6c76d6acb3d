package iperf3

import (
	"encoding/json"
	"net/netip"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// Observer is told what happens in one test, one call at a time and in this
// order: Connected, Interval as often as there are any, Ended at most once,
// Failed at most once. A test that was cut short has both: Ended with what there
// was until then, and Failed with the reason. A test that failed before it began
// has Failed alone. A client's errors that the protocol knows are ErrAccessDenied,
// ErrServerTerminated, ErrInterrupted and *ServerError.
type Observer interface {
	Connected(Start)
	Interval(Interval)
	Ended(End)
	Failed(error)
}

// Transcriber is an Observer of a server that keeps what it prints, for clients
// that ask for the server's output. It is asked after Ended. One of both is
// empty: JSON is sent to the client as an object, text as it is.
type Transcriber interface {
	Transcript() (text string, json json.RawMessage)
}

// Start is a test whose streams all stand.
type Start struct {
	Server  bool      // this end is the server
	Session uint64    // a server's count from 1; 0 for a client
	Time    time.Time // when the test began
	// Host and Port are what a client connected to as it was asked, or at a
	// server the client's address.
	Host string
	Port int
	// ClientVersion is what the client calls itself.
	ClientVersion string
	Cookie        string // 36 characters
	ControlLocal  netip.AddrPort
	ControlRemote netip.AddrPort
	ControlMSS    int // bytes (TCP_MAXSEG), 0 where the system does not tell: tcp_mss_default
	// The buffers of the first data socket as they really are (SO_SNDBUF,
	// SO_RCVBUF), bytes; 0 where the system does not tell.
	SendBufferActual    int
	ReceiveBufferActual int
	Test                Test
	Connections         []Connection // in the order of their ids
}

// Test is what was asked for.
type Test struct {
	Protocol         Protocol
	Parallel         int // streams in each direction
	Length           int // bytes: blksize
	Omit             time.Duration
	Duration         time.Duration // 0: ends by Bytes or Blocks
	Bytes            uint64
	Blocks           uint64
	Reverse          bool
	Bidirectional    bool
	Interval         time.Duration // of this end's reports, 0: none
	BitsPerSecond    float64       // per stream, 0: as fast as it goes
	Burst            int
	FQRate           float64
	Window           int // 0: not asked for
	MSS              int // 0: not asked for
	NoDelay          bool
	TOS              int
	Congestion       string
	ZeroCopy         bool
	SkipReceiveCopy  bool
	Counters64Bit    bool
	RepeatingPayload bool
	DontFragment     bool
	GSO, GRO         bool
	GetServerOutput  bool
	EndsQuiet        bool // the client ends when nothing more comes of datagrams, some of which may be lost
	Title            string
	ExtraData        string
}

// Connection is one data stream.
type Connection struct {
	ID     int  // 1, 3, 4, 5, ...: 2 is never used
	Socket int  // the descriptor where there is one, else the ID; the key of streams in iperf3's JSON
	Sender bool // this end sends
	Local  netip.AddrPort
	Remote netip.AddrPort
}

// Interval is a part of a test. Its times are seconds since the test began, or
// since what is omitted ended; those of the omitted part count from its own begin.
type Interval struct {
	Start   float64
	End     float64
	Seconds float64
	Omitted bool
	Streams []StreamInterval // in the order of their ids
}

// StreamInterval is what one stream did in an interval.
type StreamInterval struct {
	ID            int
	Socket        int
	Sender        bool
	Bytes         uint64
	BitsPerSecond float64
	TCP           *TCPState // of a TCP sender where the system tells it
	UDP           *Datagrams
}

// TCPState is a TCP sender at an interval's end.
type TCPState struct {
	Retransmits      int64 // segments, in the interval
	CongestionWindow int64 // bytes: snd_cwnd
	SendWindow       int64 // bytes, the peer's: snd_wnd
	RTT              int64 // microseconds
	RTTVar           int64 // microseconds
	PMTU             int64 // bytes
	Reorder          int64 // events (tcpi_reord_seen)
}

// Datagrams are counts of UDP. Those of iperf3's own arithmetic come first: a
// gap adds to Lost what it spans, and whatever comes late takes one away again,
// a duplicate too. True tells them apart; it is nil at a sender.
type Datagrams struct {
	Packets       int64 // a sender's: sent; a receiver's: by which the highest number grew
	Lost          int64
	OutOfOrder    int64
	LostPercent   float64
	JitterSeconds float64
	True          *Arrivals
}

// Arrivals are what really became of numbered datagrams at their receiver. Each
// number is counted once as received, lost or late; Duplicate and Corrupt are
// apart.
type Arrivals struct {
	Received    uint64 // different numbers
	Lost        uint64 // never came, as far as is known by now
	Late        uint64 // came after the receiver's window had given them up
	Reordered   uint64 // came in time, after a higher number (RFC 4737, section 3)
	Duplicate   uint64
	Corrupt     uint64
	SocketDrops uint64 // lost in the socket's buffer (SO_RXQ_OVFL); part of Lost
}

// End is a test's result, from both ends' figures.
type End struct {
	Streams []StreamEnd // in the order of their ids
	Local   CPU
	Remote  CPU  // zero where the peer did not tell
	Partial bool // the peer's figures are missing: the test was cut short
	// CPUShared says that other clients' traffic ran meanwhile: Local, which is the
	// process's, is that of all of them.
	CPUShared bool
	// The congestion control of the TCP sender and of the receiver, "" where
	// unknown. In a bidirectional test: this end's where it sends, and the peer's.
	SenderCongestion   string
	ReceiverCongestion string
	// What a server printed, where a client asked for it; one of both.
	ServerOutputText string
	ServerOutputJSON json.RawMessage
	// Jitter is how much the transit times of successive datagrams differed (|D|
	// in RFC 3550, section 6.4.1), over all UDP streams that this end receives. Lag
	// is how late paced datagrams left, over all that it sends. Both are without the
	// omitted part, and nil where there is none.
	Jitter *result.Histogram
	Lag    *result.Histogram
	// Away is for how long this end's system had no way to the other end for the datagrams that it was to send, as its
	// interface was down or no route led there; of several streams the mean, with what was omitted. AwayWhy is what the
	// system said, nil where there was always one.
	Away    time.Duration
	AwayWhy error
	// Stood is for how long this end's program stood still in what counts: it was stopped, or had no CPU. RemoteStood is that of the
	// other end, which one of iperf3 does not tell.
	Stood, RemoteStood time.Duration
	// Limit is what bounded the test, by what both ends tell; without a verdict it says why there is none.
	Limit result.Limit

	work work
}

// work is what this end's hot threads did in what counts, those that send and those that receive.
type work struct {
	send, receive           traffic.CrewTime
	sendCalls, receiveCalls uint64
	lacks                   shortfall
	away                    time.Duration // as End.Away
	awayWhy                 error
}

// CPU is process time over elapsed time, in per cent of one CPU.
type CPU struct{ Total, User, System float64 }

// StreamEnd is one stream's result, without what was omitted.
type StreamEnd struct {
	ID       int
	Socket   int
	Sender   bool    // this end sends
	Sent     Sum     // by the sender's figures
	Received Sum     // by the receiver's
	TCP      *TCPEnd // of a TCP sender where this end is it
	UDP      *UDPEnd
}

// Sum is one end's figures of one stream.
type Sum struct {
	Seconds       float64
	Bytes         uint64
	BitsPerSecond float64
	Retransmits   int64 // -1 where unknown
}

// TCPEnd is a TCP sender over the whole test, from its interval readings.
type TCPEnd struct {
	MaxCongestionWindow int64 // bytes
	MaxSendWindow       int64 // bytes
	MaxRTT              int64 // microseconds
	MinRTT              int64
	MeanRTT             int64
	Reorder             int64
}

// UDPEnd is one UDP stream over the whole test.
type UDPEnd struct {
	JitterSeconds   float64
	SentPackets     int64   // by the sender's figures
	ReceivedPackets int64   // by the receiver's: the highest number
	Lost            int64   // iperf3's arithmetic
	LostPercent     float64 // of SentPackets
	OutOfOrder      int64   // known where this end receives
	// True is what really happened, where this end receives.
	True *Arrivals
}
