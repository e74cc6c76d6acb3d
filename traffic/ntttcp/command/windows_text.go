package command

import (
	"fmt"
	"io"
	"strings"
)

// writeText prints the tables of NTttcp for Windows (PrintOutput in ntttcp.c):
// scripts cut them at their columns.
func (r windowsResult) writeText(out io.Writer) error {
	var b strings.Builder
	if !r.flags.hideThreads {
		r.threadLines(&b)
	}
	b.WriteString("\n\n#####  Totals:  #####\n")
	block(&b, "   Bytes(MEG)    realtime(s) Avg Frame Size Throughput(MB/s)",
		"================ =========== ============== ================",
		"%16.6f %11.3f %14.3f %16.3f",
		float64(r.outcome.Bytes)/windowsMB, r.outcome.Seconds, r.averageFrame(), r.bytesPerSecond()/windowsMB)
	block(&b, "Throughput(Buffers/s) Cycles/Byte       Buffers",
		"===================== =========== =============",
		"%21.3f %11.3f %13.3f",
		ratio(r.buffers(), r.outcome.Seconds), r.cyclesPerByte(), r.buffers())
	block(&b, "DPCs(count/s) Pkts(num/DPC)   Intr(count/s) Pkts(num/intr)",
		"============= ============= =============== ==============",
		"%13.3f %13.3f   %13.3f  %13.3f",
		r.perSecond(r.usage.softirqs), r.receivedPer(r.usage.softirqs),
		r.perSecond(r.usage.interrupts), r.receivedPer(r.usage.interrupts))
	sent, received, retransmitted, errors := r.packets()
	block(&b, "Packets Sent Packets Received Retransmits Errors Avg. CPU %",
		"============ ================ =========== ====== ==========",
		"%12d %16d %11d %6d %10.3f",
		sent, received, retransmitted, errors, 100*r.busy())
	_, err := io.WriteString(out, b.String())
	return err
}

// block is a title, its rule and one line of figures.
func block(b *strings.Builder, title, rule, format string, values ...any) {
	fmt.Fprintf(b, "\n\n%s\n%s\n", title, rule)
	fmt.Fprintf(b, format+"\n", values...)
}

func (r windowsResult) threadLines(b *strings.Builder) {
	b.WriteString("\n\nThread  Time(s) Throughput(KB/s) Avg B / Compl\n")
	b.WriteString("======  ======= ================ =============\n")
	for i, thread := range r.outcome.Threads {
		fmt.Fprintf(b, "%6d %8.3f %16.3f %13.3f\n", i, r.outcome.Seconds,
			ratio(float64(thread.Bytes), r.outcome.Seconds)/windowsKB,
			ratio(float64(thread.Bytes), float64(thread.Calls)))
	}
}
