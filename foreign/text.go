package foreign

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf16"
)

// plain is a file's text as UTF-8. Windows' tools and shells also write UTF-16 with a byte order mark (RFC 2781,
// section 3.2); bytes that are no text are replaced.
func plain(text []byte) string {
	order := binary.ByteOrder(nil)
	switch {
	case len(text) >= 2 && text[0] == 0xff && text[1] == 0xfe:
		order = binary.LittleEndian
	case len(text) >= 2 && text[0] == 0xfe && text[1] == 0xff:
		order = binary.BigEndian
	default:
		return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\ufffd"), "\ufeff")
	}
	units := make([]uint16, 0, len(text)/2)
	for i := 2; i+1 < len(text); i += 2 {
		units = append(units, order.Uint16(text[i:]))
	}
	return string(utf16.Decode(units))
}

// The largest figures that are believed: a machine that sends a Pbit/s for a year exceeds them.
const (
	mostSeconds = 1e9
	mostBytes   = 1e18
	mostPackets = 1e15
)

// within refuses a number that no tool can have counted.
func within(what string, v, most float64) error {
	if math.IsNaN(v) || v < 0 || v > most {
		return fmt.Errorf("%s of %g cannot be", what, v)
	}
	return nil
}
