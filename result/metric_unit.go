package result

import "fmt"

// Parse reads a value of the metric in the unit that its records have.
func (m Metric) Parse(text string) (float64, error) {
	switch {
	case m.CPUNode() != "":
		return parseCPUPercent(text)
	case m == ReceivedRate || m == SentRate:
		return ParseBitRate(text)
	case m == SenderCost || m == ReceiverCost || m == TogetherCost:
		return quantity(text, "cost", "512 ns/KiB", []unit{{"ns/KiB", 0, 1}}, nil)
	case m == SenderPacketCost || m == ReceiverPacketCost || m == TogetherPacketCost || m == DevicePacketCost:
		return quantity(text, "cost", "900 ns/packet", []unit{{"ns/packet", 0, 1}}, nil)
	case m == Loss || m == LatePackets || m == Reordered || m == Duplicates || m == Corrupt || m == LineShare10G || m == LineShare40G:
		return ParsePercent(text)
	case m == Jitter || m == OutageTime || m.IsLatency():
		return ParseSeconds(text)
	case m == WirePacketRate || m == ReceivedPacketRate || m == SentPacketRate || m == TransactionRate || m == PacketsPerCore || m == PacketsPerBusyCore:
		return ParsePacketRate(text)
	case m == WirePacketSize || m == EndpointPacketSize:
		return quantity(text, "packet size", "1500B", sizeUnits, meant)
	}
	if m == FoundRate {
		if v, err := ParseBitRate(text); err == nil {
			return v, nil
		}
		return ParsePacketRate(text)
	}
	if m == DeviceCycles {
		return quantity(text, "cost", "400 cycles/packet", []unit{{"cycles/packet", 0, 1}}, nil)
	}
	return quantity(text, "number", "257", []unit{{"", 0, 1}}, nil)
}

// parseCPUPercent reads the share of a node's CPUs that was busy, of all of
// them: more than 100 % is a figure of another kind.
func parseCPUPercent(text string) (float64, error) {
	v, err := ParsePercent(text)
	if err == nil && v > 100 {
		return 0, fmt.Errorf("`%s` is more than all of the node's CPUs; divide it by their number", Clip(text))
	}
	return v, err
}
