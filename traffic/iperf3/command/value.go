package command

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// between reads a whole number within bounds; unit is what may follow it.
func between(value string, low, high int, unit string) (int, error) {
	digits := value
	if unit != "" {
		digits = strings.TrimSuffix(strings.TrimSuffix(value, unit), " ")
	}
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("'%s' is no whole number from %d to %d%s", value, low, high, spaced(unit))
	}
	return n, nil
}

func spaced(unit string) string {
	switch unit {
	case "s":
		return " (seconds)"
	case "ms":
		return " (milliseconds)"
	}
	return ""
}

func seconds(value string, low, high time.Duration) (time.Duration, error) {
	n, err := between(value, int(low/time.Second), int(high/time.Second), "s")
	return time.Duration(n) * time.Second, err
}

func milliseconds(value string, low, high time.Duration) (time.Duration, error) {
	n, err := between(value, int(low/time.Millisecond), int(high/time.Millisecond), "ms")
	return time.Duration(n) * time.Millisecond, err
}

// The bounds of an interval, of a report or of the averaging of a limit.
const (
	shortestInterval = 100 * time.Millisecond
	longestInterval  = 60 * time.Second
)

// interval reads seconds, also parts of them; 0 is -1: none.
func interval(value string) (time.Duration, error) {
	number, err := strconv.ParseFloat(strings.TrimSuffix(value, "s"), 64)
	length := time.Duration(math.Round(number * float64(time.Second)))
	switch {
	case err != nil || math.IsNaN(number):
	case number == 0:
		return -1, nil
	case number >= shortestInterval.Seconds() && number <= longestInterval.Seconds():
		return length, nil
	}
	return 0, fmt.Errorf("invalid report interval '%s' (min = %g, max = %g seconds, 0 for none)", value, shortestInterval.Seconds(), longestInterval.Seconds())
}

// integer reads a whole number as C writes them: 52, 064 and 0x34 are the same.
func integer(value string, low, high int64) (int, error) {
	n, err := strconv.ParseInt(value, 0, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("'%s' is no number from %d to %d (decimal, octal as 064, or 0x34)", value, low, high)
	}
	return int(n), nil
}

// hostDevice splits HOST%DEVICE. An IPv6 link-local address keeps its device:
// there it is the address's zone.
func hostDevice(value string) (host, device string) {
	host, device, found := strings.Cut(value, "%")
	if address, err := netip.ParseAddr(host); found && err == nil && address.Is6() && address.IsLinkLocalUnicast() {
		return value, ""
	}
	return host, device
}

// dscps are the names of DSCPs as the whole byte (RFC 2474, 2597, 3246, 5865),
// and those of RFC 1349's bits.
var dscps = map[string]int{
	"cs0": 0x00, "cs1": 0x20, "cs2": 0x40, "cs3": 0x60, "cs4": 0x80, "cs5": 0xa0, "cs6": 0xc0, "cs7": 0xe0,
	"af11": 0x28, "af12": 0x30, "af13": 0x38, "af21": 0x48, "af22": 0x50, "af23": 0x58,
	"af31": 0x68, "af32": 0x70, "af33": 0x78, "af41": 0x88, "af42": 0x90, "af43": 0x98,
	"ef": 0xb8, "va": 0xb0, "lowdelay": 0x10, "throughput": 0x08, "reliability": 0x04,
}

func dscp(value string) (int, error) {
	if byName, ok := dscps[strings.ToLower(value)]; ok {
		return byName, nil
	}
	n, err := integer(value, 0, 63)
	if err != nil {
		return 0, fmt.Errorf("bad DSCP '%s': a number from 0 to 63 or a name as ef, af11, cs1", value)
	}
	return n << 2, nil
}
