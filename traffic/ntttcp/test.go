package ntttcp

import (
	"fmt"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// Sync is how the two ends agree on a start.
type Sync string

// The ways: each tool's own, and none.
const (
	SyncLinux   Sync = "linux"   // a connection to the port below the data ports
	SyncWindows Sync = "windows" // a token connection for each data connection
	SyncNone    Sync = "none"    // -N, -ns: senders begin, receivers count from the first connection
)

// The defaults and bounds of both tools (const.h, ntttcp.c).
const (
	DefaultPort       = 5001
	MaxPorts          = 512
	MaxThreadsPerPort = 25600
	MaxConnsPerThread = 1000
	MaxMappings       = 1024
	MaxMessage        = 16 << 20 // ours: what the engine takes in a call
	MaxDatagram       = 65535 - 20 - 8
	maxConnections    = 1 << 15 // ours: over all threads
	defaultWait       = 10 * time.Minute
	windowsTries      = 100
	windowsTryPause   = 100 * time.Millisecond
	windowsConcurrent = 10
)

// The payload's bytes: NTttcp for Windows fills all with A, ntttcp-for-linux UDP
// with B.
const (
	tcpFill      byte = 'A'
	LinuxUDPFill byte = 'B'
)

// Thread is one thread as the tools count them: of a sender, connections to one
// port of one receiver; of a receiver, one port.
type Thread struct {
	Host        string // the receiver's, for a sender; the own address to bind, for a receiver ("": all)
	Port        int
	CPU         int // -1: any
	Connections int // a sender's; a receiver takes what comes, or as many as this with SyncWindows and Exact
	LocalPort   int // of the first connection of a sender; 0: the system's choice
}

// Test is one end of a test, whichever tool's command line it came from. Times
// are whole seconds in both tools.
type Test struct {
	Role    traffic.Role
	Sync    Sync
	Threads []Thread
	UDP     bool
	IPv6    bool

	LocalHost     string  // a sender's own address (-nic, -a); "": by the route
	Message       int     // bytes of one call
	AnyLength     bool    // a TCP receiver may take more in a call
	Datagram      int     // bytes of one datagram where the message is cut into several (-uso); 0: the message
	Fill          byte    // what the payload is made of; 0: A
	Coalesce      bool    // a UDP receiver may take several datagrams in one call (-uro)
	SendBuffer    int     // SO_SNDBUF, bytes; <0: the system's
	ReceiveBuffer int     // SO_RCVBUF, bytes; <0: the system's
	NoDelay       bool    // TCP_NODELAY
	BitsPerSecond float64 // of each connection; 0: as fast as it goes
	CPUs          []int   // where hot threads are pinned, in turn; empty: as the threads say
	HotThreads    int     // 0: as many as there are CPUs, at most one for each connection

	Messages uint64 // of each thread, sent or received; 0: no bound (-n)
	WarmUp   time.Duration
	Run      time.Duration // 0: until stopped
	CoolDown time.Duration
	Sample   time.Duration // 0: one window; else windows of this length (-sam)
	Wait     time.Duration // for the other end to come; 0: 10 min

	SharePort bool // -sp: data ports are handed out on the first port
	GoesOn    bool // a UDP sender goes on where nobody listens, as ntttcp-for-linux's
	Exact     bool // a receiver's every port takes one connection, and the test begins when all came
	Many      bool // -M: a receiver waits for several clients
	Last      bool // -L: a sender is the last of them

	// Say is told what happens, from one goroutine at a time; may be nil.
	Say func(Event)
	// Edge is called when a window begins (true) and ends; may be nil.
	Edge func(begins bool)
	// Observe is told twice a second what moved since the last time; may be nil.
	Observe func(bytes uint64, took time.Duration)
}

// What an Event says.
type What int

// The events of a test, in the order in which they come.
const (
	Listening   What = iota // N ports
	Adjusted                // the total became N s, as the receiver would misread it
	Agreed                  // the total is N s
	Connected               // N connections stand, after Took
	Waiting                 // for the last client
	Progressing             // traffic flows
	WarmedUp
	Completed // the window is over
	CoolingDown
	CycleEnded
	Interrupted // by the context
	PeerEnded   // the other end stopped early
	Refused     // a client, Text says why
	Noted       // Text says what is not as asked for
)

// Event is something that a person at the tool is told.
type Event struct {
	What What
	N    int
	Took time.Duration
	Text string
}

func (t *Test) say(e Event) {
	if t.Say != nil {
		t.Say(e)
	}
}

// takeTurns lets Say be called from one goroutine at a time.
func (t *Test) takeTurns() {
	if t.Say == nil {
		return
	}
	var mu sync.Mutex
	say := t.Say
	t.Say = func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		say(e)
	}
}

func (t *Test) note(format string, values ...any) {
	t.say(Event{What: Noted, Text: fmt.Sprintf(format, values...)})
}

func (t *Test) edge(begins bool) {
	if t.Edge != nil {
		t.Edge(begins)
	}
}

func (t *Test) wait() time.Duration {
	if t.Wait <= 0 {
		return defaultWait
	}
	return t.Wait
}

// wanted is the total of a test that nobody else has a say in; 0: continuous.
func (t *Test) wanted() time.Duration {
	if t.Run == 0 {
		return 0
	}
	return t.WarmUp + t.Run + t.CoolDown
}

// base is the first data port.
func (t *Test) base() int { return t.Threads[0].Port }

func (t *Test) network() string {
	name := "tcp"
	if t.UDP {
		name = "udp"
	}
	return name + t.family()
}

func (t *Test) family() string {
	if t.IPv6 {
		return "6"
	}
	return "4"
}

// Impossible is the error of a test that no engine can do, or no machine like this one: nothing has listened or been sent.
type Impossible struct{ error }

// check finds it.
func (t *Test) check() error {
	if err := t.possible(); err != nil {
		return Impossible{err}
	}
	return nil
}

func (t *Test) possible() error {
	if len(t.Threads) == 0 {
		return fmt.Errorf("a test needs at least one thread")
	}
	if t.Message < 1 || t.Message > MaxMessage {
		return fmt.Errorf("a buffer of %d bytes: it must have 1 to %d", t.Message, MaxMessage)
	}
	if t.UDP && t.datagram() > MaxDatagram {
		return fmt.Errorf("a datagram of %d bytes: UDP over IPv4 takes at most %d", t.datagram(), MaxDatagram)
	}
	connections := 0
	for _, thread := range t.Threads {
		if thread.CPU >= 0 && !traffic.HasCPU(thread.CPU) {
			return fmt.Errorf("CPU %d: this machine has no such one, or this process may not use it; * is any", thread.CPU)
		}
		connections += max(thread.Connections, 1)
	}
	if err := t.checkPorts(); err != nil {
		return err
	}
	if connections > maxConnections {
		return fmt.Errorf("%d connections: at most %d", connections, maxConnections)
	}
	if t.Sync == SyncWindows && len(t.Threads) > maxWindowsSync {
		return fmt.Errorf("%d threads: with token ports %d above the data ports at most %d; use -ns on both ends", len(t.Threads), tokenOffset, maxWindowsSync)
	}
	return nil
}

// checkPorts names all ports that a test needs where some of them are none.
func (t *Test) checkPorts() error {
	lowest, highest := t.Threads[0].Port, t.Threads[0].Port
	for _, thread := range t.Threads {
		lowest, highest = min(lowest, thread.Port), max(highest, thread.Port)
	}
	if t.Sync == SyncWindows {
		highest += tokenOffset
	}
	if t.SharePort && t.Role == traffic.Receive { // its first port hands out those above it
		highest++
	}
	if t.Sync == SyncLinux {
		lowest--
	}
	if lowest < 1 || highest > maxPort {
		return fmt.Errorf("the test needs the ports %d to %d; choose -p so that they lie between 1 and %d", lowest, highest, maxPort)
	}
	return nil
}

func (t *Test) datagram() int {
	if t.Datagram > 0 {
		return t.Datagram
	}
	return t.Message
}

// Outcome is what this end saw in one window.
type Outcome struct {
	Seconds     float64
	Bytes       uint64
	Calls       uint64
	Packets     uint64 // datagrams; of TCP none are counted
	Threads     []ThreadOutcome
	Connections int           // that carried the test
	RTT         time.Duration // mean over a sender's TCP connections at the window's end; 0: not known
	CPUSeconds  float64       // of the hot threads
	Stood       time.Duration // for how long this end's program stood still: it was stopped, or had no CPU
	// Limit is what bounded the window, by what this end knows; without a verdict it says why there is none.
	Limit result.Limit
}

// ThreadOutcome is one Thread's share.
type ThreadOutcome struct {
	Bytes uint64
	Calls uint64

	packets uint64 // datagrams
}

// Report is how a test went: one Outcome, or one for each sample.
type Report struct {
	Outcomes []Outcome
	// Early says why the test ended before its time; "": it did not.
	Early string
	// Cut is a test that was to last and lost its streams: not one that either end ended by a word, nor by senders that come
	// and go, as they may without sync.
	Cut bool
	// Missed is why connections that came late were closed; nil: none was.
	Missed error
}
