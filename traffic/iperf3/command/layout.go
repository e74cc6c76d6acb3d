package command

import "fmt"

// The lines of iperf3's text, with its spaces: scripts cut them by columns.
const (
	separator   = "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
	banner      = "-----------------------------------------------------------\n"
	headPlain   = "Interval           Transfer     Bitrate\n"
	headRetr    = "Interval           Transfer     Bitrate         Retr\n"
	headCwnd    = "Interval           Transfer     Bitrate         Retr  Cwnd\n"
	headUDP     = "Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
	headUDPSent = "Interval           Transfer     Bitrate         Total Datagrams\n"

	omitted       = "(omitted)"
	saysSender    = "sender"
	saysReceiver  = "receiver"
	sumID         = "SUM"
	noneAvailable = "[%3s] (%s statistics not available)\n"
)

// header is a heading with the columns before it.
func header(columns string, bidirectional bool) string {
	if bidirectional {
		return "[ ID][Role] " + columns
	}
	return "[ ID] " + columns
}

// row is the part that all lines with figures share. The rate is in bits per second.
type row struct {
	id         string // a stream's socket, or SUM
	role       string // [TX-C] and the like in a bidirectional test
	start, end float64
	bytes      uint64
	rate       float64
	format     byte
}

func (r row) String() string {
	return fmt.Sprintf("[%3s]%s %6.2f-%-6.2f sec  %s  %s/sec", r.id, r.role, r.start, r.end, amount(float64(r.bytes), adaptiveBytes), amount(r.rate/8, r.format))
}

func (r row) plain(says string) string {
	return fmt.Sprintf("%s                  %s\n", r, says)
}

// retransmits has one more space in a sum than in a stream's line.
func (r row) retransmits(count int64, says string) string {
	space := ""
	if r.id == sumID {
		space = " "
	}
	return fmt.Sprintf("%s  %3d            %s%s\n", r, count, space, says)
}

func (r row) window(retransmits, congestionWindow int64, says string) string {
	return fmt.Sprintf("%s  %3d   %s       %s\n", r, retransmits, amount(float64(congestionWindow), adaptiveBytes), says)
}

func (r row) datagramsSent(count int64, says string) string {
	space := ""
	if r.role != "" {
		space = "          "
	}
	return fmt.Sprintf("%s %s %d  %s\n", r, space, count, says)
}

func (r row) datagrams(jitterSeconds float64, lost, total int64, lostPercent float64, says string) string {
	return fmt.Sprintf("%s  %5.3f ms  %d/%d (%.2g%%)  %s\n", r, jitterSeconds*1000, lost, total, lostPercent, says)
}

func percent(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
