package measure

import (
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"

	"windtunnel/ethtool"
	"windtunnel/result"
)

// offloads are what an interface may have on, in the order of a packet's way out and in, each with which of the kernel's
// features it is (netdev_features_strings in net/ethtool/common.c): of several, one that is on is enough.
var offloads = []struct {
	word   string
	prefix string
	suffix string
}{
	{result.OffloadTxChecksum, "tx-checksum-", ""},
	{"scatter-gather", "tx-scatter-gather", ""},
	{result.OffloadTSO, "tx-tcp", "-segmentation"},
	{result.OffloadGSO, "tx-generic-segmentation", ""},
	{"UDP segmentation", "tx-udp-segmentation", ""},
	{"tunnel segmentation", "tx-udp_tnl", "-segmentation"},
	{"rx checksum", "rx-checksum", ""},
	{result.OffloadGRO, "rx-gro", "rx-gro"}, // and not rx-gro-hw, rx-gro-list
	{"LRO", "rx-lro", ""},
}

// joinsNothing is the most that the longest packet which GRO makes may be for nothing to be joined to another
// (skb_gro_receive in net/core/gro.c): no packet is as short.
const joinsNothing = 64

// readSettings asks the kernel what the caller's stack has an interface set to. It changes nothing.
func readSettings(device string) (*result.LinkSettings, error) {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return nil, fmt.Errorf("looking at the interface: %w", err)
	}
	tool, err := ethtool.Open()
	if err != nil {
		return nil, fmt.Errorf("opening an ethtool socket: %w", err)
	}
	defer tool.Close()
	have, err := tool.Features(device)
	if err != nil {
		return nil, fmt.Errorf("reading its offloads: %w", err)
	}
	attrs := link.Attrs()
	return &result.LinkSettings{MTU: attrs.MTU, On: offloadsOn(have, int(attrs.GROMaxSize))}, nil
}

// offloadsOn names what is on. GRO that may make no packet longer than one joins none; 0: the kernel does not say how
// long (Linux before 5.17).
func offloadsOn(have map[string]bool, longest int) []string {
	on := []string{}
	for _, o := range offloads {
		some := false
		for feature, is := range have {
			some = some || is && strings.HasPrefix(feature, o.prefix) && strings.HasSuffix(feature, o.suffix)
		}
		if some && !(o.word == result.OffloadGRO && longest > 0 && longest <= joinsNothing) {
			on = append(on, o.word)
		}
	}
	return on
}
