package result

import (
	"sort"
	"strings"
)

// Metric names one figure of a cell, as the records and reports spell it.
type Metric string

// The metrics of a cell. CPU use is per node: see CPUPercent.
const (
	ReceivedRate        Metric = "received_bits_per_second"
	SentRate            Metric = "sent_bits_per_second"
	SenderCost          Metric = "cpu_ns_per_kib.sender"
	ReceiverCost        Metric = "cpu_ns_per_kib.receiver"
	TogetherCost        Metric = "cpu_ns_per_kib.together" // of all nodes of the cell's pairs
	WirePacketRate      Metric = "wire_packets_per_second"
	WirePacketSize      Metric = "wire_bytes_per_packet"
	EndpointPacketSize  Metric = "endpoint_bytes_per_packet"
	Retransmits         Metric = "retransmits"
	ReceivedPacketRate  Metric = "received_packets_per_second"
	SentPacketRate      Metric = "sent_packets_per_second"
	TransactionRate     Metric = "transactions_per_second"
	Loss                Metric = "loss_percent"
	LatePackets         Metric = "late_percent"
	Reordered           Metric = "reordered_percent"
	Duplicates          Metric = "duplicate_percent"
	Corrupt             Metric = "corrupt_percent"
	Jitter              Metric = "jitter_seconds"
	SenderPacketCost    Metric = "cpu_ns_per_packet.sender"
	ReceiverPacketCost  Metric = "cpu_ns_per_packet.receiver"
	TogetherPacketCost  Metric = "cpu_ns_per_packet.together"
	PacketsPerCore      Metric = "packets_per_second_per_core"  // of those that the data plane may use
	PacketsPerBusyCore  Metric = "packets_per_busy_core_second" // of the cores that forward
	DevicePacketCost    Metric = "cpu_ns_per_packet.device"
	DeviceCycles        Metric = "cycles_per_packet.device"
	LineShare10G        Metric = "line_percent.10g"
	LineShare40G        Metric = "line_percent.40g"
	OutageTime          Metric = "outage_seconds"   // of a flow whose link's cable was pulled
	FoundRate           Metric = "found_per_second" // of a search's first goal, in its unit: of no trial
	cpuPercent                 = "cpu_percent."
	cpuWord                    = "cpu."
	defaultMetricOfCell        = ReceivedRate
)

// CPUPercent is the share of a node's CPUs that was busy, in percent of all of
// them.
func CPUPercent(node string) Metric { return Metric(cpuPercent + node) }

// CPUNode returns the node whose CPU use m names, "" for another metric.
func (m Metric) CPUNode() string {
	node, ok := strings.CutPrefix(string(m), cpuPercent)
	if !ok {
		return ""
	}
	return node
}

// metricWords are the words that suites use for metrics.
var metricWords = withLatencies(map[string]Metric{
	"received":                  ReceivedRate,
	"sent":                      SentRate,
	"cost.sender":               SenderCost,
	"cost.receiver":             ReceiverCost,
	"cost.together":             TogetherCost,
	"wire.packets":              WirePacketRate,
	"wire.bytes-per-packet":     WirePacketSize,
	"endpoint.bytes-per-packet": EndpointPacketSize,
	"retransmits":               Retransmits,
	"packets":                   ReceivedPacketRate,
	"packets.sent":              SentPacketRate,
	"transactions":              TransactionRate,
	"loss":                      Loss,
	"late":                      LatePackets,
	"reordered":                 Reordered,
	"duplicate":                 Duplicates,
	"corrupt":                   Corrupt,
	"jitter":                    Jitter,
	"cost.packet.sender":        SenderPacketCost,
	"cost.packet.receiver":      ReceiverPacketCost,
	"cost.packet.together":      TogetherPacketCost,
	"packets.core":              PacketsPerCore,
	"packets.busy-core":         PacketsPerBusyCore,
	"cost.packet.device":        DevicePacketCost,
	"cycles.packet":             DeviceCycles,
	"line.10g":                  LineShare10G,
	"line.40g":                  LineShare40G,
	"outage":                    OutageTime,
	"found":                     FoundRate,
})

// MetricByWord returns the metric that a suite's word stands for; "" is the
// received rate. The word "cpu.NODE" names a node's CPU use.
func MetricByWord(word string) (Metric, bool) {
	if word == "" {
		return defaultMetricOfCell, true
	}
	if node, ok := strings.CutPrefix(word, cpuWord); ok && node != "" {
		return CPUPercent(node), true
	}
	m, ok := metricWords[word]
	return m, ok
}

// Word is how a suite writes the metric: the inverse of MetricByWord.
func (m Metric) Word() string {
	if node := m.CPUNode(); node != "" {
		return cpuWord + node
	}
	for word, metric := range metricWords {
		if metric == m {
			return word
		}
	}
	return string(m)
}

// MetricWords lists the words that name a metric in a suite, for the given nodes.
func MetricWords(nodes []string) []string {
	words := make([]string, 0, len(metricWords)+len(nodes))
	for word := range metricWords {
		words = append(words, word)
	}
	for _, node := range nodes {
		words = append(words, cpuWord+node)
	}
	sort.Strings(words)
	return words
}
