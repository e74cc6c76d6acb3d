package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"windtunnel/vrouter/control"
	"windtunnel/vrouter/poll"
)

func printStatus(reply []byte, out io.Writer, _ control.Scope) error {
	var s control.Status
	if err := decode(reply, &s); err != nil {
		return err
	}
	none := func(list []string) string {
		if len(list) == 0 {
			return "none"
		}
		return strings.Join(list, ", ")
	}
	return columns(out, func(line func(string)) {
		line("name\t" + s.Name)
		line(fmt.Sprintf("fabric\t%s, %s", s.Fabric, strings.Trim(s.Address+", "+s.Address6, ", ")))
		if s.FabricDriver != "" {
			line(fmt.Sprintf("driver\t%s of %s", s.FabricDriver, cmp.Or(s.FabricDevice, s.Fabric)))
		}
		line(fmt.Sprintf("receive\t%s: %s", s.Receive, s.ReceiveWhy))
		line(fmt.Sprintf("fast\t%s: %s", s.Fast.Way, s.Fast.Why))
		line(fmt.Sprintf("networks\t%d", s.Networks))
		line(fmt.Sprintf("ports\t%d, missing: %s", s.Ports, none(s.Missing)))
		stale := ""
		if s.Stale > 0 {
			stale = fmt.Sprintf(" (%d stale)", s.Stale)
		}
		line(fmt.Sprintf("routes\t%d%s, unresolved tunnels: %s", s.Routes, stale, none(s.Unresolved)))
		if s.Groups > 0 {
			line(fmt.Sprintf("ecmp\t%d groups of ways, ways that cannot be reached: %d", s.Groups, s.Avoided))
		}
		line(fmt.Sprintf("applied\t%s, the %s configuration", s.Applied.Format(time.RFC3339), ordinal(s.Changes)))
		line("kernel\t" + none(s.KernelFeatures))
		if s.Poll != nil {
			statusPoll(line, *s.Poll)
		}
		if s.Offload != nil {
			statusOffload(line, *s.Offload)
		}
		for text := range strings.Lines(s.Problem) {
			line("problem\t" + strings.TrimSpace(text))
		}
	})
}

// statusOffload says what devices do in software's place, and why not more.
func statusOffload(line func(string), o control.Offloaded) {
	at := ""
	if !o.Settled {
		at = "; the tables have just changed, and rules are yet to be given"
	}
	line(fmt.Sprintf("offload\tdevices have %d rules, which took %d packets%s", o.Rules, o.Packets, at))
	for _, p := range o.Ports {
		if !p.Takes {
			line(fmt.Sprintf("\t%s: %s", p.Port, p.Why))
		}
	}
	for _, p := range o.XDP {
		if p.Takes {
			line(fmt.Sprintf("\t%s: its device runs XDP", p.Port))
		} else {
			line(fmt.Sprintf("\t%s: no XDP in its device: %s", p.Port, p.Why))
		}
	}
	for _, r := range o.Refused {
		line(fmt.Sprintf("\t%d rules refused: %s", r.Count, r.Why))
	}
	for _, r := range o.Software {
		line(fmt.Sprintf("\t%d ways without a rule: %s", r.Count, r.Why))
	}
}

// statusPoll says what the poll mode's process does. Its cores never rest, so their cycles tell.
func statusPoll(line func(string), p control.Poll) {
	process := "is being started anew"
	if p.PID != 0 {
		process = fmt.Sprintf("process %d, %s pages", p.PID, p.Memory)
	}
	line(fmt.Sprintf("poll\t%s, restarts: %d", process, p.Restarts))
	for _, c := range p.Cores {
		if all := c.Busy + c.Idle; all > 0 {
			handed := ""
			if p.HandOver {
				handed = fmt.Sprintf(", %d of them forwarded by others", c.Handed)
			}
			line(fmt.Sprintf("cpu %d\t%.1f %% of its cycles for packets, %d received%s, %d missed", c.CPU, 100*float64(c.Busy)/float64(all), c.Packets, handed, c.Missed))
			if len(p.Cores) > 1 && len(c.StageCycles) > 0 {
				line("\t" + stagesText(c.StageCycles))
			}
		}
	}
	if p.CyclesPerPacket > 0 {
		line(fmt.Sprintf("packet\t%.0f cycles on average", p.CyclesPerPacket))
	}
	if len(p.StageCycles) > 0 {
		line("stages\t" + stagesText(p.StageCycles))
	}
	if len(p.Unlinked) > 0 {
		line("unlinked\t" + strings.Join(p.Unlinked, ", ") + ": nobody is at their sockets")
	}
}

func stagesText(cycles map[string]float64) string {
	var stages []string
	for _, name := range poll.Stages {
		stages = append(stages, fmt.Sprintf("%s %.0f", name, cycles[name]))
	}
	return strings.Join(stages, ", ") + " cycles a packet"
}

func ordinal(n int) string {
	suffix := "th"
	if n%100/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// printDrops tells the reasons that occurred; that of a network or port, by direction.
func printDrops(reply []byte, out io.Writer, _ control.Scope) error {
	var drops []control.Drop
	if err := decode(reply, &drops); err != nil {
		return err
	}
	var lost []control.Drop
	scoped := false
	for _, d := range drops {
		scoped = scoped || d.Direction != ""
		if d.Packets > 0 {
			lost = append(lost, d)
		}
	}
	if len(lost) == 0 {
		_, err := fmt.Fprintln(out, "nothing was lost")
		return err
	}
	return columns(out, func(line func(string)) {
		head := "REASON\tPACKETS\tSEGMENTS\tBYTES\tMEANS"
		if scoped {
			head = "WAY\t" + head
		}
		line(head)
		for _, d := range lost {
			row := fmt.Sprintf("%s\t%d\t%d\t%d\t%s", d.Reason, d.Packets, d.Segments, d.Bytes, d.Says)
			if scoped {
				row = d.Direction + "\t" + row
			}
			line(row)
		}
	})
}

// printStats tells the node's account, then that of each network and port; in a scope, only theirs.
func printStats(reply []byte, out io.Writer, scope control.Scope) (err error) {
	var s control.Stats
	if err := decode(reply, &s); err != nil {
		return err
	}
	if scope == (control.Scope{}) {
		err = printNode(s, out)
	}
	if err == nil {
		err = printBlock(out, "NETWORK\tPORTS"+trafficHead, s.Networks, func(n control.NetworkStats) string {
			return fmt.Sprintf("%s\t%d%s", n.Name, n.Ports, traffic(n.Traffic))
		})
	}
	if err == nil {
		err = printBlock(out, "PORT\tNETWORK"+trafficHead, s.Vifs, func(v control.VifStats) string {
			return fmt.Sprintf("%s\t%s%s", v.Name, v.Network, traffic(v.Traffic))
		})
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "Networks and ports are in packets, from and to their containers. `vrouter drops` says why.")
	return err
}

// printBlock prints rows and an empty line; without rows, nothing.
func printBlock[R any](out io.Writer, head string, records []R, row func(R) string) error {
	if len(records) == 0 {
		return nil
	}
	err := printRows(out, head, records, row)
	if err == nil {
		_, err = fmt.Fprintln(out)
	}
	return err
}

const trafficHead = "\tRECEIVED\tFORWARDED\tANSWERED\tDROPPED\tDELIVERED\tLOST"

func printNode(s control.Stats, out io.Writer) error {
	type account struct {
		name string
		control.Count
	}
	accounts := []account{
		{"received", s.Received}, {"  from ports", s.ReceivedVif}, {"  from the fabric", s.ReceivedFabric},
		{"forwarded", s.Forwarded}, {"passed", s.Passed}, {"answered", s.Answered}, {"dropped", s.Dropped},
	}
	if s.Flooded.Packets > 0 {
		accounts = append(accounts, account{"flooded, of these", s.Flooded}, account{"  copies that left", s.Copies}, account{"  copies dropped", s.CopiesDropped})
	}
	return printBlock(out, "NODE\tPACKETS\tSEGMENTS\tBYTES", accounts, func(a account) string {
		return fmt.Sprintf("%s\t%d\t%d\t%d", a.name, a.Packets, a.Segments, a.Bytes)
	})
}

func traffic(t control.Traffic) string {
	var b strings.Builder
	for _, c := range []control.Count{t.Rx, t.Forwarded, t.Answered, t.Dropped, t.Tx, t.Lost} {
		fmt.Fprintf(&b, "\t%d", c.Packets)
	}
	return b.String()
}
