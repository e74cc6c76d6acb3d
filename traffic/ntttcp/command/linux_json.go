package command

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any // string, object or []object
}

// MarshalJSON writes the members as they stand.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// metric is a figure with its unit, a string as all values of the tool's JSON.
func metric(unit, format string, value any) object {
	return object{{"metric", unit}, {"value", fmt.Sprintf(format, value)}}
}

// json is the tool's document (write_result_into_json_file in util.c).
func (r linuxResult) json() (string, error) {
	var parameters object
	for _, p := range r.flags.parameters() {
		parameters = append(parameters, member{p.json, fmt.Sprint(p.value)})
	}
	body := object{{"computername", r.computer}, {"version", linuxXMLVersion}, {"parameters", parameters}}
	if r.flags.verbose {
		body = append(body, member{"threads", r.threadObjects()})
	}
	body = append(body, r.totalMembers()...)
	body = append(body, r.systemMembers()...)
	text, err := json.MarshalIndent(object{{r.root(), body}}, "", "    ")
	return string(text) + "\n", err
}

func (r linuxResult) threadObjects() []object {
	var all []object
	for i, thread := range r.outcome.Threads {
		rate := ratio(float64(thread.Bytes), r.outcome.Seconds)
		all = append(all, object{
			{"index", itoa(i)}, {"realTime", metric("s", "%.3f", r.outcome.Seconds)},
			{"throughputs", []object{
				metric("KB/s", "%.3f", rate/linuxKB), metric("MB/s", "%.3f", rate/linuxMB), metric("mbps", "%.3f", 8*rate/megabit),
			}},
			{"avgBytesPerCompl", metric("B", "%.3f", 0.0)},
		})
	}
	return all
}

func (r linuxResult) totalMembers() object {
	rate := r.bytesPerSecond()
	return object{
		{"totalBytes", metric("MB", "%.6f", float64(r.outcome.Bytes)/linuxMB)},
		{"realTime", metric("s", "%.6f", r.outcome.Seconds)},
		{"avgBytesPerCompl", metric("B", "%.3f", 0.0)},
		{"threadsAvgBytesPerCompl", metric("B", "%.3f", 0.0)},
		{"avgFrameSize", metric("B", "%.3f", 0.0)},
		{"throughputs", []object{
			metric("MB/s", "%.3f", rate/linuxMB), metric("mbps", "%.3f", 8*rate/megabit),
			metric("Bps", "%.3f", rate), metric("buffer/s", "%.3f", 0.0),
		}},
		{"totalBuffers", "0.000"},
		{"avgPacketsPerInterrupt", metric("packets/interrupt", "%.3f", r.packetsPerInterrupt())},
		{"interrupt", metric("count/sec", "%.3f", r.perSecond(r.usage.device))},
		{"interruptTotal", metric("count", "%d", r.usage.device)},
		{"dpcs", metric("count/sec", "%.3f", 0.0)},
		{"avgPacketsPerDpc", metric("packets/dpc", "%.3f", 0.0)},
		{"cycles", metric("cycles/byte", "%.3f", r.cyclesPerByte())},
	}
}

func (r linuxResult) systemMembers() object {
	all := object{
		{"packetsSent", fmt.Sprint(r.usage.nicSent)}, {"packetsReceived", fmt.Sprint(r.usage.nicReceived)},
		{"packets_retransmitted", fmt.Sprint(r.usage.tcp.retransmitted)},
		{"errors", "0"}, {"cpu", metric("%", "%.3f", r.busy())},
		{"bufferCount", "0"}, {"bufferLen", "0"}, {"io", "0"},
	}
	if r.flags.showRetransmits {
		kinds := []object{metric("retrans_segs", "%d", r.usage.tcp.retransmitted)}
		for _, kind := range r.retransmits() {
			kinds = append(kinds, metric(kind.name, "%.2f", kind.value))
		}
		all = append(all, member{"tcp_retransmits", kinds})
	}
	if r.showsRTT() {
		all = append(all, member{"tcpAverageRtt metric", fmt.Sprintf("%d us", r.rttMicroseconds())})
	}
	return append(all, member{"os", r.os})
}
