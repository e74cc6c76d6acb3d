package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The bases of a suffix: iperf3 takes 1000 for rates and 1024 for sizes, counts
// and microseconds (D11; units.c of iperf 3.21).
const (
	ofRates = 1000.0
	ofSizes = 1024.0
)

const suffixes = "kmgt"

// parseUnit reads a number with an optional suffix K, M, G or T in either case.
// What follows the suffix does not count, so that "2Gb" and "128KB" are read as
// iperf3 reads them.
func parseUnit(text string, base float64) (float64, error) {
	number, rest := splitNumber(text)
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || value < 0 || math.IsInf(value, 0) || math.IsNaN(value) {
		return 0, fmt.Errorf("invalid unit value or suffix: '%s': a number with K, M, G or T, as in 10M", text)
	}
	if rest == "" {
		return value, nil
	}
	power := strings.IndexByte(suffixes, rest[0]|0x20)
	if power < 0 {
		return 0, fmt.Errorf("invalid unit value or suffix: '%s': the suffix is K, M, G or T, as in 10M", text)
	}
	return value * math.Pow(base, float64(power+1)), nil
}

// splitNumber cuts after the digits, point and exponent of a decimal number.
func splitNumber(text string) (number, rest string) {
	text = strings.TrimLeft(text, " \t")
	end := 0
	for end < len(text) && (isDigit(text[end]) || text[end] == '.' || end == 0 && (text[0] == '+' || text[0] == '-')) {
		end++
	}
	if exponent := exponentLength(text[end:]); exponent > 0 {
		end += exponent
	}
	return text[:end], text[end:]
}

// exponentLength is the length of "e9", "E-3" at the start of the text, or 0.
func exponentLength(text string) int {
	if text == "" || text[0]|0x20 != 'e' {
		return 0
	}
	at := 1
	if at < len(text) && (text[at] == '+' || text[at] == '-') {
		at++
	}
	digits := at
	for at < len(text) && isDigit(text[at]) {
		at++
	}
	if at == digits {
		return 0
	}
	return at
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// whole makes an integer of a parsed number; fractions are cut off, as iperf3 does.
func whole(text string, base float64) (uint64, error) {
	value, err := parseUnit(text, base)
	if err != nil {
		return 0, err
	}
	if value >= math.MaxInt64 {
		return 0, fmt.Errorf("'%s' is larger than any test: at most %d", text, int64(math.MaxInt64))
	}
	return uint64(value), nil
}

var (
	byteNames = [...]string{"Bytes", "KBytes", "MBytes", "GBytes", "TBytes"}
	bitNames  = [...]string{"bits", "Kbits", "Mbits", "Gbits", "Tbits"}
)

// adaptiveBytes and adaptiveBits are the formats of Transfer, and of Bitrate
// without -f.
const (
	adaptiveBytes = 'A'
	adaptiveBits  = 'a'
)

// amount writes a number of bytes in four places with its unit: an upper-case
// format in bytes by 1024, a lower-case one in bits by 1000; A and a take the
// largest unit under which the number is at least 1.
func amount(bytes float64, format byte) string {
	names, base, value := byteNames[:], ofSizes, bytes
	if format >= 'a' {
		names, base, value = bitNames[:], ofRates, bytes*8
	}
	power := strings.IndexByte(suffixes, format|0x20) + 1
	if power == 0 {
		for rest := value; rest >= base && power < len(names)-1; rest /= base {
			power++
		}
	}
	value /= math.Pow(base, float64(power))
	return fmt.Sprintf("%4.*f %s", decimals(value), value, names[power])
}

// decimals keeps a number in four places, where rounding does not carry it over.
func decimals(value float64) int {
	switch {
	case value < 9.995:
		return 2
	case value < 99.95:
		return 1
	}
	return 0
}
