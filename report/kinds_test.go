package report

import (
	"windtunnel/result"
)

// otherKinds has a cell of every kind of load but bulk TCP alone: datagrams with
// losses, frames whose generator was the limit, requests, and TCP with requests
// beside it.
func otherKinds() *maker {
	m := newRun().ratio("F", "D", result.ReceivedPacketRate).ratio("D", "D2", result.Loss).ratio("S", "P", result.CPUPercent("b"))
	for _, c := range []struct{ name, says, kind, beside string }{
		{"D", "datagrams", "datagram", ""}, {"D2", "datagrams again", "datagram", ""}, {"F", "frames", "frame", ""},
		{"V", "frames both ways", "frame", ""}, {"P", "requests", "ping", ""}, {"S", "bulk TCP", "stream", "ping"},
	} {
		m.cell(result.Cell{Name: c.name, Says: c.says, Path: "wire", Pairs: onNodes})
		last := &m.file.Cells[len(m.file.Cells)-1]
		last.Traffic, last.Beside = c.kind, c.beside
		if c.name == "V" {
			last.Pairs = append(last.Pairs, result.Pair{From: last.Pairs[0].To, To: last.Pairs[0].From})
			last.Layout = map[string]string{"overhead_bytes": "32"}
			last.Published = map[result.Metric]float64{result.ReceivedPacketRate: 4e6, result.LineShare10G: 26}
		}
		m.trials(c.name, 1, 6, raw)
	}
	for i := range m.file.Trials {
		t := &m.file.Trials[i]
		for k := range t.Pairs {
			packed(t.Cell, float64(t.Block), &t.Pairs[k])
		}
		if t.Cell == "V" {
			b := t.Nodes["b"]
			b.Switches = []result.SwitchSample{{Switch: "vrouter@b", Polling: &result.Polling{Cores: 1, Busy: 6e9, Idle: 1e9, Hertz: 3e9, Timed: 1000, Stages: map[string]uint64{"receive": 62e3, "decide": 151e3, "send": 40e3}}}}
			t.Nodes["b"] = b
		}
	}
	return m.ended("budget")
}

// packed turns a bulk TCP pair into that of another kind.
func packed(cell string, block float64, p *result.PairSample) {
	switch cell {
	case "D", "D2":
		datagrams(p, uint64(1000*block))
	case "F", "V":
		datagrams(p, 0)
		p.Sender.Offered.Method, p.Sender.Offered.Why = "xdp-live-frames", ""
		p.Receiver.Arrived.Method = "xdp"
		p.Receiver.Frames = &result.Frames{Size: 64, WireSize: 84, Layer: "ethernet", CountedAt: "xdp wire0", Flows: 1}
		if cell == "V" {
			p.Receiver.Packets *= 3
			p.Sender.Packets, p.Receiver.Arrived.Expected = p.Receiver.Packets, p.Receiver.Packets
			p.Receiver.Frames.Size, p.Receiver.Frames.WireSize, p.Receiver.Frames.Mix = 353.8333, 373.8333, "aAaaAagaAaaA (a 64, A 570, g 1518)"
			return
		}
		p.Limit = &result.Limit{Verdict: result.GeneratorLimited, Says: "the generator's threads were 99 % busy and reached 0.95 of what they reach by themselves"}
	case "P":
		p.Sender.Connections = nil
		requests(&p.Sender, block)
		p.Receiver.Packets = p.Sender.Packets
	case "S":
		p.Beside = &result.Beside{Kind: "ping", Sender: result.PairEnd{WindowSeconds: 3}, Receiver: result.PairEnd{WindowSeconds: 3}}
		requests(&p.Beside.Sender, 10*block)
	}
}

func datagrams(p *result.PairSample, lost uint64) {
	const size = 1400
	p.Sender.Connections = nil
	p.Receiver.Packets = p.Receiver.Bytes / size
	p.Sender.Packets = p.Receiver.Packets + lost
	p.Sender.Offered = &result.Offered{Method: "sendmmsg", Why: "the path refuses UDP_SEGMENT"}
	p.Receiver.Arrived = &result.Arrived{
		Expected: p.Sender.Packets, Lost: lost, Reordered: 12, Duplicate: 3, SocketDrops: lost / 2, Jitter: 12e-6, Flows: 1, Method: "udp-gro",
	}
}

func requests(e *result.PairEnd, slow float64) {
	intended, actual := result.NewRecorder(), result.NewRecorder()
	for i := range 1000 {
		intended.Record(int64(20e3 + slow*float64(i)*100))
		actual.Record(int64(20e3 + slow*float64(i)*50))
	}
	e.Packets = 3000
	e.Latencies = map[string]result.Histogram{result.LatencyIntended: intended.Histogram(), result.LatencyActual: actual.Histogram()}
}
