package iperf3

import (
	"errors"
	"math"
	"strings"
	"time"
)

// params is what a client asks of a server, in the order in which iperf3 writes
// it. Numbers stand where iperf3 writes numbers for switches.
type params struct {
	TCP            bool   `json:"tcp,omitempty"`
	UDP            bool   `json:"udp,omitempty"`
	Omit           int64  `json:"omit"` // seconds
	ServerAffinity *int   `json:"server_affinity,omitempty"`
	Time           int64  `json:"time"` // seconds, 0: ends by num or blockcount
	Num            uint64 `json:"num"`
	BlockCount     uint64 `json:"blockcount"`
	MSS            int    `json:"MSS,omitempty"`
	NoDelay        bool   `json:"nodelay,omitempty"`
	Parallel       int    `json:"parallel"`
	Reverse        bool   `json:"reverse,omitempty"`
	Bidirectional  bool   `json:"bidirectional,omitempty"`
	MPTCP          bool   `json:"mptcp,omitempty"`
	Window         int    `json:"window,omitempty"`
	Len            int    `json:"len,omitempty"`
	Bandwidth      uint64 `json:"bandwidth,omitempty"` // bits per second, each stream
	FQRate         uint64 `json:"fqrate,omitempty"`    // bits per second, each stream
	PacingTimer    int    `json:"pacing_timer,omitempty"`
	Burst          int    `json:"burst,omitempty"`
	*segmentation
	TOS              int    `json:"TOS,omitempty"`
	Title            string `json:"title,omitempty"`
	ExtraData        string `json:"extra_data,omitempty"`
	Congestion       string `json:"congestion,omitempty"`
	CongestionUsed   string `json:"congestion_used,omitempty"`
	GetServerOutput  int    `json:"get_server_output,omitempty"`
	Counters64Bit    int    `json:"udp_counters_64bit,omitempty"`
	RepeatingPayload int    `json:"repeating_payload,omitempty"`
	ZeroCopy         int    `json:"zerocopy,omitempty"`
	DontFragment     int    `json:"dont_fragment,omitempty"`
	AuthToken        string `json:"authtoken,omitempty"`
	SkipReceiveCopy  int    `json:"skip_rx_copy,omitempty"`
	EndsQuiet        int    `json:"windtunnel_ends_quiet,omitempty"` // iperf3 has no such key, and ignores it
	ClientVersion    string `json:"client_version"`
}

// segmentation is what a client of 3.21 says for UDP. The sizes bind nobody:
// each end chooses its own.
type segmentation struct {
	GSO         int `json:"gso"`
	GSODatagram int `json:"gso_dg_size"`
	GSOBuffer   int `json:"gso_bf_size"`
	GRO         int `json:"gro"`
	GROBuffer   int `json:"gro_bf_size"`
}

// segmentBuffer is what one call of segmented datagrams holds at most (D6).
const segmentBuffer = 65507

func one(on bool) int {
	if on {
		return 1
	}
	return 0
}

// newParams is the message for a test.
func newParams(t Test, o Options) params {
	p := params{
		TCP: t.Protocol == TCP, UDP: t.Protocol == UDP,
		Omit: wholeSeconds(t.Omit), Time: wholeSeconds(t.Duration), Num: t.Bytes, BlockCount: t.Blocks,
		MSS: t.MSS, NoDelay: t.NoDelay, Parallel: t.Parallel, Reverse: t.Reverse, Bidirectional: t.Bidirectional,
		MPTCP: o.MultipathTCP, Window: t.Window, Len: t.Length,
		Bandwidth: uint64(t.BitsPerSecond), FQRate: uint64(t.FQRate), PacingTimer: o.PacingTimer, Burst: t.Burst,
		TOS: t.TOS, Title: t.Title, ExtraData: t.ExtraData, Congestion: t.Congestion,
		GetServerOutput: one(t.GetServerOutput), Counters64Bit: one(t.Counters64Bit),
		RepeatingPayload: one(t.RepeatingPayload), ZeroCopy: one(t.ZeroCopy), DontFragment: one(t.DontFragment),
		SkipReceiveCopy: one(t.SkipReceiveCopy), EndsQuiet: one(t.EndsQuiet), ClientVersion: Version,
	}
	if p.PacingTimer == 0 {
		p.PacingTimer = DefaultPacingTimer
	}
	if o.ServerAffinity > 0 {
		cpu := o.ServerAffinity - 1
		p.ServerAffinity = &cpu
	}
	if p.UDP {
		p.segmentation = &segmentation{
			GSO: one(t.GSO), GSODatagram: t.Length, GSOBuffer: segmentBuffer / t.Length * t.Length,
			GRO: one(t.GRO), GROBuffer: segmentBuffer,
		}
	}
	return p
}

// wholeSeconds rounds up, so that a server's guard is not shorter than the test.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// readParams takes a client's message apart. What is absent is iperf3's default;
// unknown keys are ignored, as iperf3 does.
func readParams(body []byte) (params, error) {
	f, err := parseFields(body)
	if err != nil {
		return params{}, err
	}
	p := params{
		TCP: f.truth("tcp"), UDP: f.truth("udp"),
		Omit: f.integer("omit", 0, int64(MaxOmit/time.Second)), Time: f.integer("time", 0, int64(MaxDuration/time.Second)),
		Num: uint64(f.integer("num", 0, math.MaxInt64)), BlockCount: uint64(f.integer("blockcount", 0, math.MaxInt64)),
		MSS: int(f.integer("MSS", 0, MaxMSS)), NoDelay: f.truth("nodelay"),
		Reverse: f.truth("reverse"), Bidirectional: f.truth("bidirectional"), MPTCP: f.truth("mptcp"),
		Window: int(f.integer("window", 0, MaxWindow)), Len: int(f.integer("len", 0, MaxLength)),
		Bandwidth: uint64(f.integer("bandwidth", 0, math.MaxInt64)), FQRate: uint64(f.integer("fqrate", 0, math.MaxInt64)),
		PacingTimer: int(f.integer("pacing_timer", 0, math.MaxInt32)), Burst: int(f.integer("burst", 0, MaxBurst)),
		TOS: int(f.integer("TOS", 0, 255)), Title: f.text("title"), ExtraData: f.text("extra_data"),
		Congestion: f.text("congestion"), CongestionUsed: f.text("congestion_used"),
		GetServerOutput: one(f.truth("get_server_output")), Counters64Bit: one(f.truth("udp_counters_64bit")),
		RepeatingPayload: one(f.truth("repeating_payload")), ZeroCopy: one(f.truth("zerocopy")),
		DontFragment: one(f.truth("dont_fragment")), SkipReceiveCopy: one(f.truth("skip_rx_copy")), EndsQuiet: one(f.truth("windtunnel_ends_quiet")),
		AuthToken: f.text("authtoken"), ClientVersion: f.text("client_version"),
	}
	p.readRest(f)
	if f.err != nil {
		return params{}, f.err
	}
	return p, p.check(f)
}

func (p *params) readRest(f *fields) {
	p.Parallel = 1
	if f.has("parallel") {
		p.Parallel = int(f.integer("parallel", 1, MaxParallel))
	}
	if f.has("server_affinity") {
		cpu := int(f.integer("server_affinity", 0, 1024))
		p.ServerAffinity = &cpu
	}
	if p.UDP {
		p.segmentation = &segmentation{GSO: one(f.truth("gso")), GRO: one(f.truth("gro"))}
	}
}

// maxCongestionName is TCP_CA_NAME_MAX of linux/tcp.h.
const maxCongestionName = 16

func (p *params) check(f *fields) error {
	switch {
	case f.truth("sctp"):
		return errors.New("the client asks for SCTP, which is not spoken here")
	case p.TCP == p.UDP:
		return errors.New("the client asks for neither TCP nor UDP, or for both")
	case p.Reverse && p.Bidirectional:
		return errors.New("the client asks for reverse and bidirectional at once")
	case p.TCP && p.Len == 0:
		return errors.New("the client names no length of a block")
	case p.UDP && p.Len != 0 && (p.Len < MinUDPLength || p.Len > MaxUDPLength):
		return errors.New("the length of a datagram is out of bounds")
	case len(p.Congestion) >= maxCongestionName || strings.ContainsAny(p.Congestion, "\x00\n/"):
		return errors.New("the congestion control has no name that a kernel knows")
	}
	return nil
}

// test is what the parameters ask for, as this server runs it.
func (p params) test(interval time.Duration) Test {
	t := Test{
		Protocol: TCP, Parallel: p.Parallel, Length: p.Len,
		Omit: time.Duration(p.Omit) * time.Second, Duration: time.Duration(p.Time) * time.Second,
		Bytes: p.Num, Blocks: p.BlockCount, Reverse: p.Reverse, Bidirectional: p.Bidirectional, Interval: interval,
		BitsPerSecond: float64(p.Bandwidth), Burst: p.Burst, FQRate: float64(p.FQRate),
		Window: p.Window, MSS: p.MSS, NoDelay: p.NoDelay, TOS: p.TOS, Congestion: p.Congestion,
		ZeroCopy: p.ZeroCopy != 0, SkipReceiveCopy: p.SkipReceiveCopy != 0, Counters64Bit: p.Counters64Bit != 0,
		RepeatingPayload: p.RepeatingPayload != 0, DontFragment: p.DontFragment != 0,
		GetServerOutput: p.GetServerOutput != 0, EndsQuiet: p.EndsQuiet != 0, Title: p.Title, ExtraData: p.ExtraData,
	}
	if p.UDP {
		t.Protocol = UDP
		t.GSO, t.GRO = p.GSO != 0, p.GRO != 0
		if t.Length == 0 {
			t.Length = DefaultUDPLength
		}
	}
	return t
}
