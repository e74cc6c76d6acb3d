package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"windtunnel/traffic/ntttcp"
)

// windowsRun is one run as NTttcp for Windows.
type windowsRun struct {
	flags   *windowsFlags
	out     io.Writer
	console console
	edges   []counters // at the beginning and the end of each window
}

func (r *windowsRun) run(ctx context.Context) error {
	fmt.Fprintf(r.out, "Version %s (Windtunnel)\n", windowsVersion)
	for _, note := range r.flags.notes() {
		r.console.note("%s", note)
	}
	test := r.flags.test()
	if err := checkTarget(r.flags.xml); err != nil {
		return err
	}
	test.Say = r.say
	test.Edge = func(bool) { r.edges = append(r.edges, readCounters(watched{v6: r.flags.v6})) }
	if r.flags.verbose {
		io.WriteString(r.out, r.flags.listing())
	}
	report, err := ntttcp.Run(ctx, test)
	if err != nil {
		return explain(err)
	}
	if len(report.Outcomes) == 0 && ctx.Err() != nil {
		return errInterrupted
	}
	if err := r.show(report); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return cutShort(report)
}

func (r *windowsRun) show(report ntttcp.Report) error {
	if len(report.Outcomes) == 0 {
		return fmt.Errorf("there is nothing to report: %s in the warm-up", report.Early)
	}
	var results []windowsResult
	for i, outcome := range report.Outcomes {
		begin, end := r.edges[2*i], r.edges[2*i+1]
		results = append(results, windowsResult{r.flags, outcome, end.since(begin), computer()})
		if i == 0 {
			r.console.missing(begin, end)
			r.console.short(outcome.Seconds)
		}
		r.console.limit(outcome.Limit)
	}
	var unsaved error
	if r.flags.xml != "" {
		if unsaved = r.console.saved(r.flags.xml, windowsXML(results)); unsaved == nil {
			return nil
		}
	}
	for _, result := range results { // also of a file that could not be written after all
		if err := result.writeText(r.out); err != nil {
			return err
		}
	}
	return unsaved
}

func (r *windowsRun) say(e ntttcp.Event) {
	switch e.What {
	case ntttcp.Progressing:
		fmt.Fprintln(r.out, "Network activity progressing...")
	case ntttcp.Noted, ntttcp.Refused:
		r.console.note("%s", e.Text)
	case ntttcp.Interrupted:
		r.console.note("interrupted; the figures are of the time until then")
	case ntttcp.PeerEnded:
		r.console.note("the test ended after %s, before its time (%s); the figures are of the time until then", e.Took.Round(time.Millisecond), e.Text)
	default:
		if text := verbose(e); r.flags.verbose && text != "" {
			fmt.Fprintf(r.out, "%s %s\n", time.Now().Format("15:04:05.000"), text)
		}
	}
}

// verbose is what -v adds.
func verbose(e ntttcp.Event) string {
	switch e.What {
	case ntttcp.Listening:
		return "listening on " + plural(e.N, "port")
	case ntttcp.Connected:
		return fmt.Sprintf("%s after %s", plural(e.N, "connection"), e.Took.Round(time.Microsecond))
	case ntttcp.WarmedUp:
		return "test warmup completed"
	case ntttcp.Completed:
		return "stop recording results"
	case ntttcp.CoolingDown:
		return "test cooldown"
	case ntttcp.CycleEnded:
		return "test finish"
	}
	return ""
}

// listing is the settings, as the tool lists them with -v.
func (w *windowsFlags) listing() string {
	var t tree
	t.line("buffers_length: %d", w.bufferLength())
	t.line("num_buffers_to_send: %d", w.shownBufferCount())
	for _, p := range w.settings() {
		t.line("%s: %v", p.name, p.value)
	}
	for i, m := range w.mappings {
		cpu := "*"
		if m.cpu >= 0 {
			cpu = itoa(m.cpu)
		}
		t.line("mapping[%d]: %d,%s,%s", i, m.threads, cpu, m.host)
	}
	return t.String()
}
