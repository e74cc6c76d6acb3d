package oneoff

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// RecvText tells a person what a receiver does, a line each.
type RecvText struct{ Out io.Writer }

var _ RecvShow = RecvText{}

func (t RecvText) line(at time.Time, format string, args ...any) {
	fmt.Fprintf(t.Out, "%s  %s\n", at.Format(time.TimeOnly), result.Clean(fmt.Sprintf(format, args...)))
}

// Listens names what is served, and where.
func (t RecvText) Listens(at time.Time, protocol string, addresses []string) {
	t.line(at, "%s listens on %s", protocol, strings.Join(addresses, ", "))
}

// Deaf says which protocol is not served.
func (t RecvText) Deaf(at time.Time, protocol string, why error) {
	t.line(at, "%s is not served: %v", protocol, why)
}

// Lacks says where a protocol is not served.
func (t RecvText) Lacks(at time.Time, protocol string, why error) {
	t.line(at, "%s is not served everywhere: %s", protocol, clipLong(why.Error()))
}

// Event is a line, but for intervals: many clients would bury the rest.
func (t RecvText) Event(at time.Time, e traffic.ServerEvent) {
	if e.What == traffic.SessionInterval {
		return
	}
	line := fmt.Sprintf("%s #%d  %s  %s", e.Protocol, e.Session, e.Client, e.What)
	if e.Says != "" {
		line += ": " + clipLong(e.Says)
	}
	switch {
	case e.End == nil:
	case e.End.Error == e.Says: // which is told already
		line += ": " + cameIn(*e.End, e.Requests)
	default:
		line += ": " + counted(*e.End, e.Requests)
	}
	t.line(at, "%s", line)
}

// leastRated is the shortest time, in seconds, over which a rate is told: two lone
// datagrams have come at any.
const leastRated = 0.05

// counted is an end in a few words, and why it does not count.
func counted(end result.PairEnd, requests bool) string {
	if end.Error != "" {
		return cameIn(end, requests) + "; " + clipLong(end.Error)
	}
	return cameIn(end, requests)
}

// cameIn is what an end took, whose packets may be requests.
func cameIn(end result.PairEnd, requests bool) string {
	if end.WindowSeconds <= 0 {
		return "nothing"
	}
	if text := tooShort(end); text != "" {
		return text
	}
	text := fmt.Sprintf("%s for %.1f s", rate(8*float64(end.Bytes)/end.WindowSeconds), end.WindowSeconds)
	switch perSecond := float64(end.Packets) / end.WindowSeconds; {
	case requests:
		text += fmt.Sprintf(", %d requests, %s", end.Packets, requestRate(perSecond))
	case end.Packets > 0:
		text += ", " + packetRate(perSecond)
	}
	if a := end.Arrived; a != nil && a.Expected > 0 {
		if slices.Contains(a.Untold, result.Loss) {
			text += ", " + lossUntold(a)
		} else {
			text += ", lost " + share(a.Lost, a.Expected)
		}
	}
	if back := end.Opposite; back != nil && tooShort(*back) == "" {
		text += ", back " + rate(8*float64(back.Bytes)/back.WindowSeconds)
	}
	return text
}

// tooShort is what to say in place of a rate; "" where there is one.
func tooShort(end result.PairEnd) string {
	if end.WindowSeconds >= leastRated {
		return ""
	}
	return fmt.Sprintf("%d bytes in %.1f ms, which is too short for a rate", end.Bytes, 1000*end.WindowSeconds)
}

// RecvJSON writes one object a line, with the time "at" which it was so: {"what": "listening", "deaf" or "lacks", ...}, and
// every traffic.ServerEvent. A reader that went away does not end the receiver, nor does a full disk, of which Lost hears each
// time; it may be nil.
type RecvJSON struct {
	Out  io.Writer
	Lost func(error)
}

var _ RecvShow = RecvJSON{}

type listening struct {
	At        time.Time `json:"at"`
	What      string    `json:"what"`
	Protocol  string    `json:"protocol"`
	Addresses []string  `json:"addresses,omitempty"`
	Says      string    `json:"says,omitempty"`
}

type happened struct {
	At time.Time `json:"at"`
	traffic.ServerEvent
}

// Listens names what is served, and where.
func (j RecvJSON) Listens(at time.Time, protocol string, addresses []string) {
	j.write(listening{At: at, What: "listening", Protocol: protocol, Addresses: addresses})
}

// Deaf says which protocol is not served.
func (j RecvJSON) Deaf(at time.Time, protocol string, why error) {
	j.write(listening{At: at, What: "deaf", Protocol: protocol, Says: why.Error()})
}

// Lacks says where a protocol is not served.
func (j RecvJSON) Lacks(at time.Time, protocol string, why error) {
	j.write(listening{At: at, What: "lacks", Protocol: protocol, Says: why.Error()})
}

// Event is one object.
func (j RecvJSON) Event(at time.Time, e traffic.ServerEvent) { j.write(happened{at, e}) }

func (j RecvJSON) write(object any) {
	if err := writeLine(j.Out, object); err != nil && !errors.Is(err, syscall.EPIPE) && j.Lost != nil {
		j.Lost(err)
	}
}

func writeLine(out io.Writer, object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encoding a line: %w", err)
	}
	if _, err := out.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("writing a line: %w", err)
	}
	return nil
}
