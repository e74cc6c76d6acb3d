package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"windtunnel/traffic/ntttcp"
)

func wallClock() time.Time { return time.Now() }

// linuxRun is one run as ntttcp-for-linux.
type linuxRun struct {
	flags   *linuxFlags
	out     io.Writer
	console console
	now     func() time.Time
	log     *shared    // -O
	edges   []counters // at the beginning and the end of the window
}

// rule is the line under the tool's title and its result.
var rule = strings.Repeat("-", 57) + "\n"

func (r *linuxRun) run(ctx context.Context) error {
	fmt.Fprintf(r.out, "NTTTCP for Linux %s (Windtunnel)\n%s", linuxVersion, rule)
	for _, note := range r.flags.notes() {
		r.console.note("%s", note)
	}
	if r.flags.console != "" {
		log, err := r.openLog()
		if err != nil {
			return err
		}
		defer log.Close()
		r.log.w = log
	}
	for _, file := range []string{r.flags.xml, r.flags.json} {
		if err := checkTarget(file); err != nil {
			return err
		}
	}
	if !r.flags.send && !r.flags.receive {
		r.info("no role specified. use receiver role")
	}
	if r.flags.verbose {
		io.WriteString(r.out, r.flags.listing()+rule)
	}
	test := r.flags.test()
	test.Say = r.say
	test.Edge = func(bool) {
		r.edges = append(r.edges, readCounters(watched{nic: r.flags.nic, device: r.flags.device, v6: r.flags.v6}))
	}
	if !r.flags.quiet {
		test.Observe = func(bytes uint64, took time.Duration) {
			fmt.Fprintf(r.out, "Real-time throughput: %s\n", throughput(bytes, took.Seconds()))
		}
	}
	if r.flags.hold && !r.flags.send {
		return r.serve(ctx, test)
	}
	report, err := ntttcp.Run(ctx, test)
	if err != nil {
		return explain(err)
	}
	if err := r.show(ctx, report); err != nil {
		return err
	}
	return cutShort(report)
}

// serve is a receiver with -H: one test after the other until it is stopped.
func (r *linuxRun) serve(ctx context.Context, test ntttcp.Test) error {
	receiver, err := test.Listen(ctx)
	if err != nil {
		return explain(err)
	}
	defer receiver.Close()
	for {
		r.edges = nil
		report, err := receiver.Run(ctx)
		if err != nil {
			return explain(err)
		}
		// Whatever becomes of one test, the receiver stays for the next one.
		if err := r.show(ctx, report); errors.Is(err, errInterrupted) {
			return err
		} else if err != nil {
			r.console.note("%v", err)
		}
	}
}

// openLog begins a new log file, as the tool does; the older one is kept.
func (r *linuxRun) openLog() (*os.File, error) {
	kept, err := keepOld(r.flags.console)
	if err != nil {
		return nil, err
	}
	if kept != "" {
		r.console.note("%s was there; it is %s now", r.flags.console, kept)
	}
	f, err := os.OpenFile(r.flags.console, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("writing the log: %w", err)
	}
	return f, nil
}

func (r *linuxRun) show(ctx context.Context, report ntttcp.Report) error {
	if len(report.Outcomes) == 0 {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return fmt.Errorf("there is nothing to report: %s", cmp.Or(report.Early, "the time that was agreed on ended")+" in the warm-up")
	}
	begin, end := r.edges[0], r.edges[1]
	result := linuxResult{r.flags, report.Outcomes[0], end.since(begin), computer(), systemName()}
	for _, line := range result.lines() {
		r.info("%s", line)
	}
	io.WriteString(r.out, rule)
	r.console.missing(begin, end)
	r.console.short(result.outcome.Seconds)
	r.console.limit(result.outcome.Limit)
	var unsaved []error
	if r.flags.xml != "" {
		unsaved = append(unsaved, r.console.saved(r.flags.xml, result.xml()))
	}
	if r.flags.json != "" {
		text, err := result.json()
		if err == nil {
			err = r.console.saved(r.flags.json, text)
		}
		unsaved = append(unsaved, err)
	}
	if err := errors.Join(unsaved...); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// info is a line of the tool's log.
func (r *linuxRun) info(format string, values ...any) {
	line := r.now().Format("15:04:05") + " INFO: " + fmt.Sprintf(format, values...) + "\n"
	io.WriteString(r.out, line)
	io.WriteString(r.log, line)
}

func (r *linuxRun) say(e ntttcp.Event) {
	switch e.What {
	case ntttcp.Listening:
		r.info("%d threads created", e.N+number01(!r.flags.noSync)) // one more for the sync port
	case ntttcp.Connected:
		r.info("%d threads created", r.flags.ports*r.flags.threads)
		r.info("%d connections created in %d microseconds", e.N, e.Took.Microseconds())
	case ntttcp.Adjusted:
		r.console.note("a total of %d s would be taken for a letter of the protocol by ntttcp-for-linux's receiver; the cool-down is 1 s longer", e.N-1)
	case ntttcp.Agreed:
		r.agreed(e.N)
	case ntttcp.Waiting:
		r.info("waiting for the last client to join the test")
	case ntttcp.Progressing:
		r.info("Network activity progressing...")
	case ntttcp.WarmedUp:
		r.info("Test warmup completed.")
	case ntttcp.Completed:
		r.info("Test run completed.")
	case ntttcp.CoolingDown:
		r.info("Test cooldown is in progress...")
	case ntttcp.CycleEnded:
		r.info("Test cycle finished.")
	case ntttcp.Interrupted:
		r.info("Test was interrupted.")
	case ntttcp.PeerEnded:
		r.info("Test was interrupted.")
		r.console.note("the test ended after %.3f s, before its time (%s)", e.Took.Seconds(), e.Text)
	case ntttcp.Noted, ntttcp.Refused:
		r.console.note("%s", e.Text)
	}
}

// agreed is told where the total is not this end's own time.
func (r *linuxRun) agreed(total int) {
	switch {
	case total == 0 && r.flags.run != 0:
		r.info("test is negotiated to run with continuous mode")
	case total != r.flags.run:
		r.info("Test cycle time negotiated is: %d seconds", total)
	}
}

// listing is the settings, as the tool lists them with -V.
func (l *linuxFlags) listing() string {
	var t tree
	yes := func(on bool) string {
		if on {
			return "yes"
		}
		return "no"
	}
	if l.send {
		t.line("*** sender role")
		t.line("connections:\t\t\t %d X %d X %d", l.ports, l.threads, l.conns)
	} else {
		t.line("*** receiver role")
		t.line("ports:\t\t\t\t %d", l.ports)
		t.line("multiple clients:\t\t %s", yes(l.many))
	}
	t.line("server address:\t\t\t %s", l.host)
	t.line("protocol:\t\t\t %s", map[bool]string{true: "UDP", false: "TCP"}[l.udp])
	t.line("server port starting at:\t %d", l.port)
	t.line("%s socket buffer (bytes):\t %d", map[bool]string{true: "sender", false: "receiver"}[l.send], l.messageLength())
	t.line("tcp nodelay:\t %s", yes(l.noDelay))
	t.line("test warm-up (sec):\t\t %d", l.warmUp)
	t.line("test duration (sec):\t\t %d", l.run)
	t.line("test cool-down (sec):\t\t %d", l.coolDown)
	return t.String()
}
