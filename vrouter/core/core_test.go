package core_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
)

// TestConstants: what core.go repeats of vr_types.h is the same there.
func TestConstants(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(golden.Folder(), "vr_types.h"))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{
		"VR_MAX_VIFS": core.MaxVifs, "VR_MAX_VRFS": core.MaxVRFs, "VR_MAX_NHS": core.MaxNexthops, "VR_MAX_LABELS": core.MaxLabels,
		"VR_MAX_GROUPS": core.MaxGroups, "VR_GROUP_MEMBERS": core.GroupMembers, "VR_GROUP_BUCKETS": core.GroupBuckets,
		"VR_BLOCK_BITS": core.BlockBits, "VR_BLOCK_ENTRIES": core.BlockEntries, "VR_MIN_LABEL": core.MinLabel,
		"VR_FABRIC_VRF": core.FabricVRF, "VR_PEERS_VRF": "VR_MAX_VRFS", "VR_VRF_SLOTS": "(VR_MAX_VRFS + 1)", "VR_LAYOUT": core.Layout, "VR_MAC_KNOWN": "(1ULL << 48)", "VR_ROUTE_CHILD": "(1ULL << 31)",
		"VR_ROUTE_TAIL": "(1ULL << 63)", "VR_ROUTE_TAIL_BITS": core.RouteTailBits,
		"VR_VNI_BUCKETS": core.VNIBuckets, "VR_MAC_BUCKETS": core.MACBuckets, "VR_FLOOD_TARGETS": core.FloodTargets, "VR_MAC_HASH": "0x9e3779b97f4a7c15ULL",
		"VR_TEMPLATE_LEN": core.TemplateLen, "VR_HOST_WAYS": core.HostWays, "VR_HOST_HASH": "0x9e3779b97f4a7c15ULL", "VR_VNI_HASH": "0x9e3779b1u",
	} {
		if line := fmt.Sprintf("#define %s %v\n", name, value); !strings.Contains(string(text), line) {
			t.Errorf("vr_types.h has no line %q", line)
		}
	}
	flows, err := os.ReadFile(filepath.Join(golden.Folder(), "vr_flow.h"))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]int{
		"VR_MAX_POLICIES": core.MaxPolicies, "VR_MAX_RULES": core.MaxRules, "VR_FLOW_ANSWERED": core.FlowAnswered,
		"VR_FLOW_CONFIRMED": core.FlowConfirmed, "VR_FLOW_FIN_OPENER": core.FlowFinOpener, "VR_FLOW_FIN_ANSWER": core.FlowFinAnswer,
		"VR_FLOW_RESET": core.FlowReset, "VR_FLOW_OUT": core.FlowOut, "VR_FLOW_IN": core.FlowIn, "VR_FAMILY_FRAGMENT": core.FamilyFragment,
		"VR_FAMILY_IP4": core.FamilyIP4, "VR_FAMILY_IP6": core.FamilyIP6,
	} {
		line := fmt.Sprintf("#define %s %v", name, value)
		if !strings.Contains(string(flows), line+"\n") && !strings.Contains(string(flows), line+" ") {
			t.Errorf("vr_flow.h has no line %q", line)
		}
	}
	if core.MACKnown != 1<<48 || core.RouteChild != 1<<31 {
		t.Error("the bits in core.go are others")
	}
}

func TestMACWord(t *testing.T) {
	mac := [6]byte{2, 0, 0, 0, 1, 3}
	word := core.MACWord(mac)
	if word != 0x1_0301_0000_0002 {
		t.Errorf("the word is %#x", word)
	}
	if back, known := core.MACOf(word); back != mac || !known {
		t.Errorf("back comes %x, %t", back, known)
	}
}

func TestRoute(t *testing.T) {
	r := core.MakeRoute(3, 1048575, 128)
	if r.Ref() != 3 || r.Label() != 1048575 || r.PrefixBits() != 128 || r&core.RouteChild != 0 {
		t.Errorf("%#x: nexthop %d, label %d, prefix /%d", uint64(r), r.Ref(), r.Label(), r.PrefixBits())
	}
	tail := r.WithTail(0x7fff)
	if back, bits := tail.Tail(); back != r || bits != 0x7fff || tail.PrefixBits() != 128 || tail&core.RouteChild != 0 || !r.MayHaveTail() {
		t.Errorf("with a tail %#x, and back %#x, %#x", uint64(tail), uint64(back), bits)
	}
	if core.MakeRoute(1<<16, 0, 32).MayHaveTail() || core.RouteTail != 1<<63 {
		t.Error("a nexthop of 17 bits may have a tail")
	}
}
