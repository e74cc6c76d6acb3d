package result

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The units of suites and of the command line. They are strict, because a
// figure that is off by 8, or by 1.024, looks like a result: sizes are bytes
// (kB is 1000, KiB 1024), rates are bits (decimal prefixes only), and a number
// without its unit is refused.

// unit is 10^tens times factor. The power of ten goes into the number's own
// exponent, so that 7375.159 Mbit/s is 7375159000 and not the product nearest to it.
type unit struct {
	word   string
	tens   int
	factor float64
}

var sizeUnits = []unit{
	{"B", 0, 1},
	{"kB", 3, 1}, {"MB", 6, 1}, {"GB", 9, 1}, {"TB", 12, 1},
	{"KiB", 0, 1 << 10}, {"MiB", 0, 1 << 20}, {"GiB", 0, 1 << 30}, {"TiB", 0, 1 << 40},
}

var rateUnits = []unit{
	{"bit/s", 0, 1},
	{"kbit/s", 3, 1}, {"Kbit/s", 3, 1}, {"Mbit/s", 6, 1}, {"Gbit/s", 9, 1}, {"Tbit/s", 12, 1},
}

var durationUnits = []unit{
	{"ns", -9, 1}, {"us", -6, 1}, {"µs", -6, 1}, {"ms", -3, 1}, {"s", 0, 1}, {"min", 0, 60}, {"m", 0, 60}, {"h", 0, 3600},
}

var percentUnits = []unit{{"%", 0, 1}}

func (u unit) size() float64 { return u.factor * math.Pow10(u.tens) }

// meant are units that people write and that could be two things, or none of
// ours: what to write instead.
var meant = map[string]string{
	"k": "kB (1000 bytes) or KiB (1024 bytes)", "K": "kB (1000 bytes) or KiB (1024 bytes)",
	"KB": "kB (1000 bytes) or KiB (1024 bytes)", "kb": "kB (1000 bytes) or KiB (1024 bytes)",
	"m": "MB or MiB", "M": "MB (1000000 bytes) or MiB (1048576 bytes)", "mb": "MB or MiB",
	"g": "GB or GiB", "G": "GB (10^9 bytes) or GiB (2^30 bytes)", "gb": "GB or GiB",
	"T": "TB or TiB", "t": "TB or TiB",
}

var meantDurations = map[string]string{
	"sec": "s", "secs": "s", "second": "s", "seconds": "s", "msec": "ms", "usec": "us",
	"mins": "min", "minute": "min", "minutes": "min", "hour": "h", "hours": "h",
}

var meantRates = map[string]string{
	"bps": "bit/s", "kbps": "kbit/s", "Kbps": "kbit/s", "Mbps": "Mbit/s", "Gbps": "Gbit/s", "Tbps": "Tbit/s",
	"bit": "bit/s", "kbit": "kbit/s", "Kbit": "kbit/s", "Mbit": "Mbit/s", "Gbit": "Gbit/s", "Tbit": "Tbit/s",
	"k": "kbit/s", "K": "kbit/s", "M": "Mbit/s", "G": "Gbit/s", "T": "Tbit/s",
	"MB/s": "Mbit/s, eight times as many", "GB/s": "Gbit/s, eight times as many", "kB/s": "kbit/s, eight times as many",
}

// ParseSize reads a number of bytes: 1390B, 128KiB, 4 GB.
func ParseSize(text string) (int64, error) {
	v, err := quantity(text, "size", "1390B or 128KiB", sizeUnits, meant)
	if err != nil {
		return 0, err
	}
	if v != math.Trunc(v) {
		return 0, fmt.Errorf("`%s` is not a whole number of bytes", Clip(text))
	}
	return int64(v), nil
}

// ParseBitRate reads bits per second: 10Gbit/s, 7375.159 Mbit/s.
func ParseBitRate(text string) (float64, error) {
	return quantity(text, "rate", "10Gbit/s", rateUnits, meantRates)
}

// packetUnits count packets, frames, datagrams or transactions a second.
var packetUnits = []unit{
	{"/s", 0, 1}, {"k/s", 3, 1}, {"M/s", 6, 1},
	{"pps", 0, 1}, {"kpps", 3, 1}, {"Mpps", 6, 1},
	{"packets/s", 0, 1}, {"kpackets/s", 3, 1}, {"Mpackets/s", 6, 1},
}

var meantPacketRates = map[string]string{"k": "k/s", "K": "k/s", "M": "M/s", "m": "M/s", "Kpps": "kpps", "mpps": "Mpps"}

// ParsePacketRate reads packets, frames or transactions a second: 10k/s, 1.2Mpps.
func ParsePacketRate(text string) (float64, error) {
	return quantity(text, "packet rate", "10k/s or 1.2Mpps", packetUnits, meantPacketRates)
}

// FormatPacketRate writes a packet rate with the prefix that fits.
func FormatPacketRate(perSecond float64) string { return inPacketUnit(perSecond, exact) }

func inPacketUnit(perSecond float64, digits int) string {
	best := packetUnits[0]
	for _, u := range packetUnits[:3] {
		if perSecond >= u.size() {
			best = u
		}
	}
	return decimal(perSecond/best.size(), digits) + best.word
}

// exact stands for as many digits as it takes to read the same number again.
const exact = -1

// decimal writes a number in so many significant digits at most, without an exponent.
func decimal(v float64, digits int) string {
	if digits != exact { // what it has just written can be read
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// ParseSeconds reads a duration in seconds: 500ms, 3s, 2m.
func ParseSeconds(text string) (float64, error) {
	return quantity(text, "duration", "500ms or 3s", durationUnits, meantDurations)
}

// ParseDuration reads the same as ParseSeconds.
func ParseDuration(text string) (time.Duration, error) {
	seconds, err := ParseSeconds(text)
	if err != nil {
		return 0, err
	}
	ns := math.Round(seconds * 1e9)
	if ns >= math.MaxInt64 {
		return 0, fmt.Errorf("`%s` is too long", Clip(text))
	}
	return time.Duration(ns), nil
}

// ParsePercent reads a percentage as its number: 14.799% is 14.799.
func ParsePercent(text string) (float64, error) {
	return quantity(text, "percentage", "5%", percentUnits, nil)
}

// ParseLossRatio reads a share below the whole: 0, 0.1%, 50%.
func ParseLossRatio(text string) (float64, error) {
	if text == "0" {
		return 0, nil
	}
	percent, err := ParsePercent(text)
	if err != nil {
		return 0, err
	}
	if percent >= 100 {
		return 0, fmt.Errorf("`%s` is all or more; write less than 100%%", Clip(text))
	}
	return percent / 100, nil
}

// ParseCount reads a whole number without a unit.
func ParseCount(text string) (int64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || v > largestExact:
		return 0, fmt.Errorf("`%s` is too large", Clip(text))
	case err != nil || v < 0 || text[0] == '+':
		return 0, fmt.Errorf("`%s` is not a whole number", Clip(text))
	}
	return v, nil
}

// largestExact keeps every integer exact in a float64, as JSON's readers have it.
const largestExact = 1 << 53

func quantity(text, what, example string, units []unit, instead map[string]string) (float64, error) {
	number, word := splitUnit(text)
	if _, err := ParseNumber(number); err != nil {
		return 0, fmt.Errorf("`%s` is not a %s; write it like %s", Clip(text), what, example)
	}
	for _, u := range units {
		if u.word != word {
			continue
		}
		v, err := strconv.ParseFloat(number+"e"+strconv.Itoa(u.tens), 64)
		if err != nil || v*u.factor > largestExact {
			return 0, fmt.Errorf("`%s` is too large", Clip(text))
		}
		return v * u.factor, nil
	}
	return 0, badUnit(text, word, units, instead)
}

func badUnit(text, word string, units []unit, instead map[string]string) error {
	words := make([]string, len(units))
	for i, u := range units {
		words[i] = u.word
	}
	if len(units) == 1 && units[0].word == "" {
		return fmt.Errorf("`%s` is a plain number; leave out the unit", Clip(text))
	}
	if word == "" {
		return fmt.Errorf("`%s` lacks its unit (valid: %s)", Clip(text), Listed(words))
	}
	if better, ok := instead[word]; ok {
		return fmt.Errorf("`%s`: say %s", Clip(text), better)
	}
	return fmt.Errorf("`%s`: %s", Clip(text), UnknownWord("unit", word, words))
}

// splitUnit parts "128 KiB" into its number and its unit.
func splitUnit(text string) (number, word string) {
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimSpace(text[end:])
}

// ParseNumber reads digits with at most one point: no sign, exponent, NaN or
// infinity.
func ParseNumber(text string) (float64, error) {
	const longest = 32
	if text == "" || len(text) > longest || strings.Trim(text, "0123456789.") != "" || text[0] == '.' {
		return 0, fmt.Errorf("`%s` is not a number", Clip(text))
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("`%s` is not a number", Clip(text))
	}
	return v, nil
}

// FormatSize writes bytes in the largest unit that keeps them whole.
func FormatSize(bytes int64) string {
	for i := len(sizeUnits) - 1; i > 0; i-- {
		u := sizeUnits[i]
		if f := int64(u.size()); bytes >= f && bytes%f == 0 {
			return fmt.Sprintf("%d%s", bytes/f, u.word)
		}
	}
	return fmt.Sprintf("%dB", bytes)
}

// FormatBitRate writes bits per second with the prefix that fits.
func FormatBitRate(bitsPerSecond float64) string { return inRateUnit(bitsPerSecond, exact) }

func inRateUnit(bitsPerSecond float64, digits int) string {
	best := rateUnits[0]
	for _, u := range rateUnits {
		if bitsPerSecond >= u.size() && u.word != "Kbit/s" {
			best = u
		}
	}
	return decimal(bitsPerSecond/best.size(), digits) + best.word
}

// FormatValue writes an option's kept value the way a suite would.
func FormatValue(t OptionType, v any) string {
	if word, is := v.(string); is { // of its own, or for a value of another type
		return word
	}
	o := Options{"": v}
	switch t {
	case Count:
		return strconv.FormatInt(o.Int(""), 10)
	case Size:
		return FormatSize(o.Int(""))
	case BitRate:
		return FormatBitRate(o.Float(""))
	case PacketRate:
		return FormatPacketRate(o.Float(""))
	case Duration:
		return time.Duration(math.Round(o.Float("") * 1e9)).String()
	}
	return fmt.Sprint(v)
}
