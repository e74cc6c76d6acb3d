package kernel

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// A flowerFilter is one of tc's filters of that kind that has a cookie of ours.
type flowerFilter struct {
	ifindex          uint32
	handle           uint32
	priority, family uint16 // family is the protocol, as an EtherType
	cookie           cookie
	inDevice         bool // some device has it
	count            core.Count
}

// cookie is what a vRouter's filters are marked with (TCA_ACT_COOKIE, 16 bytes at most): a mark that is every vRouter's, and
// one of its name.
type cookie [16]byte

// A filterTable is where filters for devices are put: the kernel's, or a test's.
type filterTable interface {
	// offers is why an interface's device takes no filters; nil: it does.
	offers(ifindex uint32) error
	// tunnels are the names of the interfaces by which devices are told of tunnels.
	tunnels() (map[config.Encapsulation]string, error)
	// put runs tc's commands, which add filters at interfaces, and says of each why it was refused; nil: it was not.
	put(devices, commands []string) ([]error, error)
	// list has all filters with a vRouter's cookie.
	list() ([]flowerFilter, error)
	remove(flowerFilter) error
	// claim says that a cookie's vRouter lives, until it is closed, or its process ends. An error is that another one does.
	claim(cookie) (io.Closer, error)
}

// kernelFlower is the kernel's. Filters are added by tc, which knows all words of all kernels, and are looked at and
// removed by netlink, because tc's answers differ from version to version.
type kernelFlower struct{}

const (
	tcProgram = "tc"
	// tcTime bounds how long commands take: a start, and some ms each, as switches take them.
	tcTime    = 5 * time.Second
	tcEach    = 2 * time.Millisecond
	flowerTag = "vrouter\x00" // the first half of a cookie
)

func (kernelFlower) offers(ifindex uint32) error {
	if err := OffloadsFilters(ifindex); err != nil {
		return err
	}
	if _, err := exec.LookPath(tcProgram); err != nil {
		return errors.New("giving it filters needs tc (Debian: apt-get install iproute2)")
	}
	return nil
}

// tunnels are those of the kernel's devices that take what a filter says of a tunnel: of all VNIs, and of MPLS.
func (kernelFlower) tunnels() (map[config.Encapsulation]string, error) {
	links, err := Whole(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("listing the interfaces: %w", err)
	}
	found := make(map[config.Encapsulation]string)
	for _, link := range links {
		up := link.Attrs().Flags&net.FlagUp != 0
		switch l := link.(type) {
		case *netlink.Vxlan:
			if up && l.FlowBased && l.Port == portVXLAN {
				found[config.VXLAN] = l.Name
			}
		case *netlink.BareUDP:
			if up && l.Port == portMPLSoUDP && l.EtherType == unix.ETH_P_MPLS_UC {
				found[config.MPLSoUDP] = l.Name
			}
		}
	}
	return found, nil
}

const portMPLSoUDP = 6635 // RFC 7510, section 7

func (kernelFlower) put(devices, commands []string) ([]error, error) {
	tried := make(map[string]error)
	for _, name := range devices {
		if _, before := tried[name]; !before {
			tried[name] = addIngress(name)
		}
	}
	refused, input := make([]error, len(commands)), &bytes.Buffer{}
	for i, command := range commands {
		if refused[i] = tried[devices[i]]; refused[i] != nil {
			command = "" // so that lines stay numbered as commands are
		}
		fmt.Fprintln(input, command)
	}
	ctx, cancel := context.WithTimeout(context.Background(), tcTime+time.Duration(len(commands))*tcEach)
	defer cancel()
	run := exec.CommandContext(ctx, tcProgram, "-force", "-batch", "-")
	var said bytes.Buffer
	run.Stdin, run.Stderr = input, &said
	err := run.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("giving devices %d filters: tc was not done after %v", len(commands), tcTime+time.Duration(len(commands))*tcEach)
	}
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return nil, fmt.Errorf("running tc: %w", err)
	}
	for line, why := range tcRefusals(said.String()) {
		if line <= len(refused) {
			refused[line-1] = why
		}
	}
	return refused, nil
}

// addIngress makes room for filters at an interface. It stays there, where it does nothing without them, and others may
// use it.
func addIngress(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("finding %s: %w", name, err)
	}
	return addClsact(uint32(link.Attrs().Index))
}

// tcRefusals reads what a batch of tc's says of the lines that failed, numbered from 1: the reasons, and then which
// line they were of.
func tcRefusals(said string) map[int]error {
	refused, why := make(map[int]error), []string(nil)
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if number, failed := strings.CutPrefix(line, "Command failed -:"); failed {
			if n, err := strconv.Atoi(number); err == nil && n > 0 {
				refused[n] = errors.New(strings.Join(why, "; "))
			}
			why = nil
		} else if line != "" && line != "We have an error talking to the kernel" {
			why = append(why, strings.TrimPrefix(line, "Error: "))
		}
	}
	return refused
}

func (kernelFlower) remove(f flowerFilter) error {
	attributes := netlink.FilterAttrs{LinkIndex: int(f.ifindex), Parent: netlink.HANDLE_MIN_INGRESS, Handle: f.handle, Priority: f.priority, Protocol: f.family}
	err := netlink.FilterDel(&netlink.GenericFilter{FilterAttrs: attributes, FilterType: flowerKind})
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("removing a filter of %s: %w", nameOf(f.ifindex), err)
	}
	return nil
}

// claim binds a name of the network namespace that ends with the socket (unix(7), abstract).
func (kernelFlower) claim(c cookie) (io.Closer, error) {
	return net.ListenPacket("unixgram", fmt.Sprintf("@vrouter-filters-%x", c[:]))
}

func (kernelFlower) list() ([]flowerFilter, error) {
	qdiscs, err := Whole(func() ([]netlink.Qdisc, error) { return netlink.QdiscList(nil) })
	if err != nil {
		return nil, fmt.Errorf("listing the qdiscs: %w", err)
	}
	var all []flowerFilter
	for _, q := range qdiscs {
		if q.Type() != "clsact" && q.Type() != "ingress" {
			continue
		}
		request := nl.NewNetlinkRequest(unix.RTM_GETTFILTER, unix.NLM_F_DUMP)
		request.AddData(&nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(q.Attrs().LinkIndex), Parent: netlink.HANDLE_MIN_INGRESS})
		messages, err := Whole(func() ([][]byte, error) { return request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWTFILTER) })
		if err != nil {
			return nil, fmt.Errorf("listing the filters of %s: %w", nameOf(uint32(q.Attrs().LinkIndex)), err)
		}
		for _, m := range messages {
			if f, ours := readFlower(m); ours {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

const (
	flowerKind     = "flower"
	flowerInDevice = 1 << 2 // TCA_CLS_FLAGS_IN_HW of linux/pkt_cls.h
)

// attributes are the types and the values of a list, up to the first one that is longer than what is left of it.
// (nl.ParseRouteAttr panics at a list that ends before the padding of its last one.)
func attributes(list []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(list) >= unix.SizeofRtAttr {
			length := int(binary.NativeEndian.Uint16(list))
			if length < unix.SizeofRtAttr || length > len(list) || !yield(binary.NativeEndian.Uint16(list[2:])&nl.NLA_TYPE_MASK, list[unix.SizeofRtAttr:length]) {
				return
			}
			list = list[min((length+unix.RTA_ALIGNTO-1)&^(unix.RTA_ALIGNTO-1), len(list)):]
		}
	}
}

// attribute is the value of one of a list, nil if there is none.
func attribute(list []byte, of uint16) []byte {
	for kind, value := range attributes(list) {
		if kind == of {
			return value
		}
	}
	return nil
}

// readFlower reads a filter, and whether it is a vRouter's. All that a filter does has the device's count of it; the last
// action is the one that has the cookie.
func readFlower(message []byte) (f flowerFilter, ours bool) {
	if len(message) < nl.SizeofTcMsg {
		return f, false
	}
	head, attributes := nl.DeserializeTcMsg(message), message[nl.SizeofTcMsg:]
	if string(bytes.TrimRight(attribute(attributes, nl.TCA_KIND), "\x00")) != flowerKind {
		return f, false
	}
	f.ifindex, f.handle, f.priority, f.family = uint32(head.Ifindex), head.Handle, uint16(head.Info>>16), nl.Swap16(uint16(head.Info))
	options := attribute(attributes, nl.TCA_OPTIONS)
	if flags := attribute(options, nl.TCA_FLOWER_FLAGS); len(flags) >= 4 {
		f.inDevice = binary.NativeEndian.Uint32(flags)&flowerInDevice != 0
	}
	last := lastAction(attribute(options, nl.TCA_FLOWER_ACT))
	mark := attribute(last, nl.TCA_ACT_COOKIE)
	if len(mark) != len(f.cookie) || !bytes.HasPrefix(mark, []byte(flowerTag)) {
		return f, false
	}
	f.count = actionCount(last)
	copy(f.cookie[:], mark)
	return f, true
}

// lastAction is that with the highest number, which is the attribute's type.
func lastAction(list []byte) (last []byte) {
	highest := -1
	for number, action := range attributes(list) {
		if int(number) > highest {
			highest, last = int(number), action
		}
	}
	return last
}

// actionCount is struct gnet_stats_basic: bytes, and the lower half of the packets; all of them are beside it where
// that is not enough (___gnet_stats_copy_basic in net/core/gen_stats.c).
func actionCount(action []byte) (c core.Count) {
	stats := attribute(action, nl.TCA_ACT_STATS)
	basic, long := attribute(stats, nl.TCA_STATS_BASIC), attribute(stats, nl.TCA_STATS_PKT64)
	if len(basic) < 12 {
		return c
	}
	c.Bytes, c.Packets = binary.NativeEndian.Uint64(basic), uint64(binary.NativeEndian.Uint32(basic[8:]))
	if len(long) >= 8 {
		c.Packets = binary.NativeEndian.Uint64(long)
	}
	c.Segments = c.Packets
	return c
}
