package iperf3

import (
	"errors"
	"fmt"
	"math"
	"syscall"
	"time"

	"windtunnel/traffic"
)

// test is what the options ask for, with the defaults filled in; a UDP length of
// 0 is chosen when the control connection stands.
func (o Options) test() (Test, error) {
	t := Test{
		Protocol: o.Protocol, Parallel: max(1, o.Parallel), Length: o.Length, Omit: o.Omit, Duration: o.Duration,
		Bytes: o.Bytes, Blocks: o.Blocks, Reverse: o.Reverse, Bidirectional: o.Bidirectional, Interval: reportEvery(o.Interval),
		BitsPerSecond: o.BitsPerSecond, Burst: o.Burst, FQRate: o.FQRate, Window: o.Window, MSS: o.MSS, NoDelay: o.NoDelay,
		TOS: o.TOS, Congestion: o.Congestion, ZeroCopy: o.ZeroCopy, SkipReceiveCopy: o.SkipReceiveCopy,
		Counters64Bit: o.Counters64Bit, RepeatingPayload: o.RepeatingPayload, DontFragment: o.DontFragment,
		GSO: o.GSO, GRO: o.GRO, GetServerOutput: o.GetServerOutput, Title: o.Title, ExtraData: o.ExtraData,
	}
	if t.Protocol == "" {
		t.Protocol = TCP
	}
	if t.Duration == 0 && t.Bytes == 0 && t.Blocks == 0 {
		t.Duration = DefaultDuration
	}
	t.Duration = max(0, t.Duration)
	t.Omit = time.Duration(wholeSeconds(t.Omit)) * time.Second // both ends must omit the same
	if t.Length == 0 && t.Protocol == TCP {
		t.Length = DefaultTCPLength
	}
	if err := o.check(t); err != nil {
		return t, err
	}
	return t, checkCPUs(o.CPUs)
}

// checkCPUs refuses CPUs on which this process may not run, with the system's reason, which the other end is told.
func checkCPUs(cpus []int) error {
	if err := traffic.CheckCPUs(cpus); err != nil {
		return &OptionError{ErrorAffinity, fmt.Errorf("%w: %w", err, syscall.EINVAL)}
	}
	return nil
}

func reportEvery(asked time.Duration) time.Duration {
	if asked == 0 {
		return DefaultInterval
	}
	return max(0, asked)
}

// check refuses what iperf3 or a server of it would.
func (o Options) check(t Test) error {
	ends := 0
	for _, given := range []bool{o.Duration > 0, o.Bytes > 0, o.Blocks > 0} {
		ends += one(given)
	}
	switch {
	case o.Host == "":
		return errors.New("no server was named")
	case t.Protocol != TCP && t.Protocol != UDP:
		return fmt.Errorf("iperf3's %q is not spoken here: there are %s and %s", t.Protocol, TCP, UDP)
	case ends > 1:
		return errors.New("a test ends by its time, its bytes or its blocks: name only one")
	case t.Reverse && t.Bidirectional:
		return errors.New("a test is reverse or bidirectional, not both")
	case o.Username != "" && o.PublicKey == nil, o.Username == "" && o.PublicKey != nil:
		return errors.New("a user needs the server's public key, and a key a user")
	}
	return t.checkBounds(o)
}

func (t Test) checkBounds(o Options) error {
	least, most := 1, MaxLength
	if t.Protocol == UDP {
		least, most = MinUDPLength, MaxUDPLength
	}
	for _, b := range []struct {
		what           string
		v, least, most float64
	}{
		{"the time in seconds", t.Duration.Seconds(), 0, MaxDuration.Seconds()},
		{"the omitted time in seconds", t.Omit.Seconds(), 0, MaxOmit.Seconds()},
		{"the number of streams", float64(t.Parallel), 1, MaxParallel},
		{"the length in bytes", float64(t.Length), float64(least * one(t.Length != 0)), float64(most)},
		{"the bytes to move", float64(t.Bytes), 0, math.MaxInt64},
		{"the blocks to move", float64(t.Blocks), 0, math.MaxInt64},
		{"the rate in bit/s", t.BitsPerSecond, 0, math.MaxInt64},
		{"the kernel's rate in bit/s", t.FQRate, 0, math.MaxInt64},
		{"the burst in packets", float64(t.Burst), 0, MaxBurst},
		{"the window in bytes", float64(t.Window), 0, MaxWindow},
		{"the MSS in bytes", float64(t.MSS), 0, MaxMSS},
		{"the TOS", float64(t.TOS), 0, 255},
		{"the client's port", float64(o.ClientPort), 0, float64(65536 - t.streams())},
		{"the server's port", float64(o.Port), 0, 65535},
	} {
		if !(b.v >= b.least && b.v <= b.most) {
			return fmt.Errorf("%s is %g, not within %g and %g", b.what, b.v, b.least, b.most)
		}
	}
	return nil
}
