package kernel

import (
	"encoding/binary"
	"encoding/hex"
	"os/exec"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/internal/lab"
	"windtunnel/vrouter/offload"
)

// TestVethTakesNoFilters: real filters, for real interfaces that no device is behind: each is refused with the kernel's own
// words, or because it knows no flower at all, and nothing is left.
func TestVethTakesNoFilters(t *testing.T) {
	lab.NeedRoot(t)
	if _, err := exec.LookPath(tcProgram); err != nil {
		t.Skip("skip: needs tc (Debian: apt-get install iproute2)")
	}
	here, there := lab.NewNamespace(t), lab.NewNamespace(t)
	for _, name := range []string{"fabric", "vif2"} {
		lab.Veth(here, name, there, name, 1500, "")
	}
	rule := offload.Rule{Name: "sender", Vif: 2, Pattern: []offload.Item{{Kind: offload.Eth}}, Actions: []offload.Action{{Do: offload.CountIt}, {Do: offload.ToPort}}}
	nowhere := rule
	nowhere.Vif = 3
	plan := offload.Plan{Rules: []offload.Rule{rule, nowhere, rule}, Ports: map[uint32]offload.Port{0: {Device: "fabric"}, 2: {Device: "vif2"}, 3: {Device: "gone"}}}
	f := filterRules{table: kernelFlower{}, cookie: cookieOf("a")}
	here.Do(func() error {
		if err := f.sweep(); err != nil {
			return err
		}
		if err := f.give(plan); err != nil {
			return err
		}
		other, err := kernelFlower{}.claim(f.cookie)
		if err == nil {
			other.Close()
			t.Error("two vRouters have one cookie")
		}
		return f.count()
	})
	for i, g := range f.given {
		if missing := i == 1; g.Taken || g.Why == "" || g.Why == "the device has no such filter" || missing != strings.Contains(g.Why, "finding gone") {
			t.Errorf("rule %d: taken %v, %q", i, g.Taken, g.Why)
		}
		t.Logf("rule %d: %s", i, g.Why)
	}
	here.Do(f.close)
	here.Do(func() error {
		links, err := kernelFlower{}.tunnels()
		if len(links) != 0 {
			t.Errorf("tunnel devices that there are not: %v", links)
		}
		return err
	})
}

// TestTcRefusals: what tc says of a batch belongs to the line that it names.
func TestTcRefusals(t *testing.T) {
	said := "Error: TC classifier not found.\nWe have an error talking to the kernel\nCommand failed -:1\n" +
		"Unknown action \"mirrrred\"\nIllegal \"action\"\nCommand failed -:3\nbad line\nCommand failed -:0\n"
	got := tcRefusals(said)
	if len(got) != 2 || got[1].Error() != "TC classifier not found." || got[3].Error() != `Unknown action "mirrrred"; Illegal "action"` {
		t.Errorf("%v", got)
	}
}

// flowerMessage is a filter as the kernel tells of it, with two actions.
func flowerMessage(mark []byte, flags uint32, packets, long uint64) []byte {
	head := &nl.TcMsg{Ifindex: 7, Handle: 9, Info: filterPriority<<16 | uint32(nl.Swap16(unix.ETH_P_IP))}
	options := nl.NewRtAttr(nl.TCA_OPTIONS|unix.NLA_F_NESTED, nil)
	options.AddRtAttr(nl.TCA_FLOWER_FLAGS, nl.Uint32Attr(flags))
	actions := options.AddRtAttr(nl.TCA_FLOWER_ACT|unix.NLA_F_NESTED, nil)
	for _, number := range []int{2, 1} { // the order in the message says nothing
		action := actions.AddRtAttr(number|unix.NLA_F_NESTED, nil)
		action.AddRtAttr(nl.TCA_ACT_KIND, nl.ZeroTerminated("gact"))
		stats := action.AddRtAttr(nl.TCA_ACT_STATS|unix.NLA_F_NESTED, nil)
		basic := make([]byte, 16)
		binary.NativeEndian.PutUint64(basic, 100*packets*uint64(number))
		binary.NativeEndian.PutUint32(basic[8:], uint32(packets)*uint32(number))
		stats.AddRtAttr(nl.TCA_STATS_BASIC, basic)
		if number == 1 {
			continue
		}
		if long > 0 {
			stats.AddRtAttr(nl.TCA_STATS_PKT64, binary.NativeEndian.AppendUint64(nil, long))
		}
		action.AddRtAttr(nl.TCA_ACT_COOKIE, mark)
	}
	kind := nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated(flowerKind))
	return append(append(head.Serialize(), kind.Serialize()...), options.Serialize()...)
}

// TestReadFlower: a filter's last action has its count and whose it is.
func TestReadFlower(t *testing.T) {
	mark := cookieOf("a")
	f, ours := readFlower(flowerMessage(mark[:], flowerInDevice, 5, 0))
	if !ours || f.ifindex != 7 || f.handle != 9 || f.priority != filterPriority || f.family != unix.ETH_P_IP || !f.inDevice || f.cookie != mark {
		t.Errorf("%v: %+v", ours, f)
	}
	if f.count.Packets != 10 || f.count.Segments != 10 || f.count.Bytes != 1000 {
		t.Errorf("%+v", f.count)
	}
	if f, _ := readFlower(flowerMessage(mark[:], 0, 5, 1<<33)); f.count.Packets != 1<<33 || f.inDevice {
		t.Errorf("%+v", f)
	}
	whole := flowerMessage(mark[:], 0, 5, 0)
	for name, message := range map[string][]byte{"another's": flowerMessage(make([]byte, 16), 0, 5, 0), "a short cookie": flowerMessage(mark[:8], 0, 5, 0), "nothing": nil, "a head": whole[:20]} {
		if _, ours := readFlower(message); ours {
			t.Errorf("%s is a vRouter's", name)
		}
	}
	for n := range whole { // cut anywhere, it is read without harm
		readFlower(whole[:n])
	}
}

// TestActionOfTheKernel: a real action of the kernel's, of a filter that it has, with packets that it took.
func TestActionOfTheKernel(t *testing.T) {
	lab.NeedRoot(t)
	here, there := lab.NewNamespace(t), lab.NewNamespace(t)
	lab.Veth(here, "in", there, "in", 1500, "")
	index, mark := here.Link("in").Attrs().Index, cookieOf("a")
	here.Do(func() error {
		if err := addClsact(uint32(index)); err != nil {
			return err
		}
		refused, err := kernelFlower{}.put([]string{"in"}, []string{"filter add dev in ingress protocol all prio 7 u32 match u32 0 0 action mirred egress redirect dev lo cookie " + hex.EncodeToString(mark[:])})
		if err == nil {
			err = refused[0]
		}
		if err != nil {
			t.Skipf("skip: needs tc, and a kernel with u32 and mirred: %v", err)
		}
		return nil
	})
	const frames, size = 5, 60 // an action at ingress, which the CPU does, counts a packet from behind its Ethernet header
	send := lab.Sender(there, "in")
	for range frames {
		send(make([]byte, size))
	}
	lab.Await(t, "the filter has counted them", func() (all bool) {
		here.Do(func() error {
			request := nl.NewNetlinkRequest(unix.RTM_GETTFILTER, unix.NLM_F_DUMP)
			request.AddData(&nl.TcMsg{Ifindex: int32(index), Parent: netlink.HANDLE_MIN_INGRESS})
			messages, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWTFILTER)
			for _, m := range messages {
				last := lastAction(attribute(attribute(m[nl.SizeofTcMsg:], nl.TCA_OPTIONS), nl.TCA_U32_ACT))
				if last == nil {
					continue
				}
				if got := attribute(last, nl.TCA_ACT_COOKIE); string(got) != string(mark[:]) {
					t.Errorf("the cookie is %x", got)
				}
				c := actionCount(last)
				all = c.Packets >= frames && c.Bytes >= frames*(size-ethHeader) && c.Bytes%c.Packets == 0
			}
			return err
		})
		return all
	})
}
