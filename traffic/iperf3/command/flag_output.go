package command

import (
	"fmt"
	"strings"
)

// outputFlags say how results are shown.
func outputFlags() []*flag {
	return []*flag{
		{long: "format", short: 'f', takes: "kmgtKMGT", says: "the unit of bit rates: Kbits to Tbits, KBytes to TBytes (what fits)", set: setFormat},
		{long: "verbose", short: 'V', says: "more in the text", set: onOutput(func(o *output) { o.verbose = true })},
		{long: "json", short: 'J', says: "one JSON object, when the test has ended", set: onOutput(func(o *output) { o.json = true })},
		{long: "json-stream", says: "a line of JSON for each event, as it happens", set: onOutput(func(o *output) { o.json, o.stream = true, true })},
		{long: "json-stream-full-output", says: "with --json-stream: the whole object after it", set: onOutput(func(o *output) { o.full = true })},
		{long: "plain", says: "nothing but what iperf3 prints: no true figures beside its own", set: onOutput(func(o *output) { o.plain = true })},
		{long: "logfile", takes: "FILE", says: "append to a file instead of printing",
			set: func(s *settings, v string) error { s.output.logfile = v; return nil }},
		{long: "forceflush", says: "let no output wait; it never does here", set: onOutput(func(*output) {})},
		{long: "timestamps", takes: "FORMAT", optional: true, says: "begin each line with the time, as strftime(3) writes it ('%c ')", set: setTimestamps},
		{long: "debug", short: 'd', takes: "LEVEL", optional: true, says: "tell on stderr: failures (1), what is asked for (2), events (3), intervals (4)", set: setDebug},
	}
}

func onOutput(set func(*output)) func(*settings, string) error {
	return func(s *settings, _ string) error { set(&s.output); return nil }
}

func setFormat(s *settings, value string) error {
	if value == "" || !strings.Contains("kmgtKMGT", value[:1]) {
		return fmt.Errorf("bad format specifier '%s' (valid formats are in the set [kmgtKMGT])", value)
	}
	s.output.format = value[0]
	return nil
}

func setTimestamps(s *settings, value string) error {
	s.output.stamped = true
	if s.output.stampAs = value; value == "" {
		s.output.stampAs = ctimeStamp
	}
	return checkStamp(s.output.stampAs)
}

// The levels of -d; each has those below it.
const (
	debugFailures = 1 + iota
	debugAsked
	debugEvents
	debugIntervals
)

func setDebug(s *settings, value string) (err error) {
	if s.output.debug = debugIntervals; value != "" {
		s.output.debug, err = between(value, 0, debugIntervals, "")
	}
	return err
}
