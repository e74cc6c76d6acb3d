package netns

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"windtunnel/ethtool"
	"windtunnel/testbed"
)

// NIC is an interface of a real host as it was found: everything that a run changes, or that moving it
// between namespaces loses.
type NIC struct {
	Device      string            `json:"device,omitempty"`
	Pin         string            `json:"pin,omitempty"` // the file that keeps its namespace while it is taken
	Up          bool              `json:"up,omitempty"`
	MTU         int               `json:"mtu,omitempty"`
	Promiscuous bool              `json:"promiscuous,omitempty"`
	Addresses   []Address         `json:"addresses,omitempty"`
	Routes      []HostRoute       `json:"routes,omitempty"`
	Features    map[string]bool   `json:"features,omitempty"` // the kernel's, of which offloads are made, as somebody wants them
	Table       []uint32          `json:"table,omitempty"`    // by which its driver spreads flows over queues
	Files       map[string]string `json:"files,omitempty"`    // below its folder in sysfs: steering
	Settings    map[string]string `json:"settings,omitempty"` // below net.FAMILY.conf.DEVICE: ipv6/disable_ipv6

	// Data is what a path is told of it; the rest is for people.
	Data          testbed.NIC `json:"data,omitzero"`
	Driver        string      `json:"driver,omitempty"`
	BitsPerSecond float64     `json:"bits_per_second,omitempty"` // 0: it does not say
}

// Address is one of an interface's, with what the kernel forgets otherwise.
type Address struct {
	Prefix string `json:"prefix"` // 10.0.0.2/24
	Label  string `json:"label,omitempty"`
	Broad  string `json:"broadcast,omitempty"`
	Scope  int    `json:"scope,omitempty"`
	Flags  int    `json:"flags,omitempty"`
	Valid  int    `json:"valid_seconds,omitempty"` // 0: for ever
}

// HostRoute is a route that somebody gave a host through an interface.
type HostRoute struct {
	Prefix   string `json:"prefix"`
	Gateway  string `json:"gateway,omitempty"`
	Source   string `json:"source,omitempty"`
	Table    int    `json:"table"`
	Metric   int    `json:"metric,omitempty"`
	Protocol int    `json:"protocol,omitempty"`
	Scope    int    `json:"scope,omitempty"`
	Type     int    `json:"type,omitempty"`
	Flags    int    `json:"flags,omitempty"`
	MTU      int    `json:"mtu,omitempty"`
}

// steeringFiles say who receives for an interface, and who sends by which of its queues (Documentation/networking/scaling.rst).
// A queue that an interface loses, because it is given fewer, loses its own of them.
var steeringFiles = []string{"queues/rx-*/rps_cpus", "queues/rx-*/rps_flow_cnt", "queues/tx-*/xps_cpus", "queues/tx-*/xps_rxqs", "threaded"}

// settingFiles are an interface's own settings of its stack, which it loses with its namespace.
var settingFiles = []string{
	"ipv4/rp_filter", "ipv4/arp_ignore", "ipv4/arp_announce", "ipv4/forwarding", "ipv4/proxy_arp",
	"ipv6/disable_ipv6", "ipv6/accept_ra", "ipv6/addr_gen_mode", "ipv6/autoconf", "ipv6/forwarding",
}

// lookAt reads what is to be put back.
func lookAt(h *handle, link netlink.Link) (NIC, error) {
	attrs := link.Attrs()
	n := NIC{Device: attrs.Name, Up: attrs.RawFlags&unix.IFF_UP != 0, MTU: attrs.MTU,
		Promiscuous: attrs.RawFlags&unix.IFF_PROMISC != 0, Files: map[string]string{}, Settings: map[string]string{}}
	n.Data = testbed.NIC{Device: attrs.Name, Virtual: link.Type() == "veth", MTU: attrs.MTU}
	n.Data.MostMTU = mostMTU(attrs.Index)
	n.Data.Queues, n.Data.Steered = receiveQueues("/sys", attrs.Name)
	sending, _ := filepath.Glob(filepath.Join("/sys/class/net", attrs.Name, "queues/tx-*"))
	n.Data.SendQueues = len(sending)
	err := withEthtool(func(tool *ethtool.Socket) (err error) {
		n.Driver, _ = tool.Driver(n.Device) // for people only
		if n.Features, err = tool.Wanted(n.Device); err != nil {
			return fmt.Errorf("reading the offloads of %s: %w", n.Device, err)
		}
		return n.lookAtQueues(tool)
	})
	if err != nil {
		return n, err
	}
	folder := filepath.Join("/sys/class/net", n.Device)
	n.readSteering(folder)
	for _, name := range settingFiles {
		if text, err := os.ReadFile(n.setting(name)); err == nil {
			n.Settings[name] = strings.TrimSpace(string(text))
		}
	}
	if text, err := os.ReadFile(filepath.Join(folder, "speed")); err == nil {
		if megabits, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && megabits > 0 {
			n.BitsPerSecond = float64(megabits) * 1e6
		}
	}
	return n, n.lookAtLayer3(h, link)
}

// mostMTU is the largest that an interface's driver takes (IFLA_MAX_MTU in rtnetlink(7)), 0 if it does not say.
func mostMTU(index int) int {
	request := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_ACK)
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index = int32(index)
	request.AddData(header)
	replies, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil || len(replies) != 1 || len(replies[0]) < header.Len() {
		return 0
	}
	attributes, err := nl.ParseRouteAttr(replies[0][header.Len():])
	if err != nil {
		return 0
	}
	for _, a := range attributes {
		if a.Attr.Type == unix.IFLA_MAX_MTU && len(a.Value) == 4 {
			return int(min(nl.NativeEndian().Uint32(a.Value), math.MaxInt32))
		}
	}
	return 0
}

// readSteering reads what is set of who receives and sends, in the interface's folder in sysfs.
func (n *NIC) readSteering(folder string) {
	for _, pattern := range steeringFiles {
		files, _ := filepath.Glob(filepath.Join(folder, pattern))
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				name, _ := filepath.Rel(folder, file)
				n.Files[name] = strings.TrimSpace(string(text))
			}
		}
	}
}

// receiveQueues is how many an interface uses, which are those that sysfs shows (net_rx_queue_update_kobjects in
// net/core/net-sysfs.c), 0 if it shows none, and whether what comes by them is steered to CPUs (RPS, Documentation/networking/scaling.rst).
func receiveQueues(sysfs, device string) (count int, steered bool) {
	queues, _ := filepath.Glob(filepath.Join(sysfs, "class/net", device, "queues/rx-*"))
	for _, queue := range queues {
		cpus, err := os.ReadFile(filepath.Join(queue, "rps_cpus"))
		steered = steered || err == nil && strings.Trim(string(cpus), "0,\n") != ""
	}
	return len(queues), steered
}

// setting is the file of one of settingFiles.
func (n NIC) setting(name string) string {
	family, key, _ := strings.Cut(name, "/")
	return filepath.Join("/proc/sys/net", family, "conf", n.Device, key)
}

func (n *NIC) lookAtLayer3(h *handle, link netlink.Link) error {
	given, err := addresses(h, link)
	if err != nil {
		return err
	}
	for _, a := range given {
		if a.Flags&(unix.IFA_F_TEMPORARY|unix.IFA_F_MANAGETEMPADDR) == 0 { // the kernel makes those itself, RFC 8981
			address := Address{Prefix: a.IPNet.String(), Label: a.Label, Scope: a.Scope, Flags: a.Flags}
			if a.Broadcast != nil {
				address.Broad = a.Broadcast.String()
			}
			if a.Flags&unix.IFA_F_PERMANENT == 0 {
				address.Valid = a.ValidLft
			}
			n.Addresses = append(n.Addresses, address)
		}
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		routed, err := h.RouteListFiltered(family, &netlink.Route{LinkIndex: link.Attrs().Index},
			netlink.RT_FILTER_OIF|netlink.RT_FILTER_TABLE) // table 0: all of them
		if err != nil {
			return fmt.Errorf("reading the routes of %s: %w", n.Device, err)
		}
		for _, r := range routed {
			if r.Table == unix.RT_TABLE_LOCAL || r.Protocol == unix.RTPROT_KERNEL || r.Protocol == unix.RTPROT_RA || r.Dst == nil {
				continue // the kernel's own, or the router's advertisement's
			}
			route := HostRoute{Prefix: r.Dst.String(), Table: r.Table, Metric: r.Priority, Protocol: int(r.Protocol),
				Scope: int(r.Scope), Type: r.Type, Flags: r.Flags & unix.RTNH_F_ONLINK, MTU: r.MTU}
			if r.Gw != nil {
				route.Gateway = r.Gw.String()
			}
			if r.Src != nil {
				route.Source = r.Src.String()
			}
			n.Routes = append(n.Routes, route)
		}
	}
	slices.SortStableFunc(n.Routes, func(a, b HostRoute) int { return len(a.Gateway) - len(b.Gateway) }) // gateways need their links first
	return nil
}

// reset puts back what goes with the interface into whatever namespace: MTU, promiscuity, queues, offloads, steering. What its
// other end keeps it from waits for unhold. It is called on a thread of the namespace that it is in, whose sysfs is given.
func (n NIC) reset(sysfs string) error {
	failed := withLinks(func(h *handle) error {
		link, err := h.LinkByName(n.Device)
		if err != nil {
			return err
		}
		return errors.Join(unlessHeld(n.resize(h, link)), n.listen(h, link))
	})
	// Channels before what is said of each queue.
	failed = errors.Join(failed, n.requeue())
	// NAPI threads first: a virtual pair has none without GRO, and then takes no word of them.
	for name, was := range n.Files {
		file := filepath.Join(sysfs, "class/net", n.Device, name)
		if now, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(now)) != was {
			failed = errors.Join(failed, os.WriteFile(file, []byte(was), 0))
		}
	}
	return errors.Join(failed, unlessHeld(withEthtool(n.refeature)))
}

// listen puts back whether the interface takes every frame. A switch that is killed leaves that on.
func (n NIC) listen(h *handle, link netlink.Link) error {
	switch now := link.Attrs().RawFlags&unix.IFF_PROMISC != 0; {
	case now && !n.Promiscuous:
		return h.SetPromiscOff(link)
	case !now && n.Promiscuous:
		return h.SetPromiscOn(link)
	}
	return nil
}

// restore puts everything back, in the host's own stack.
func (n NIC) restore() error {
	there := false
	err := withLinks(func(h *handle) (err error) { there, err = h.has(n.Device); return err })
	if err == nil && !there {
		return errGone
	}
	// Up also if it was not: a virtual pair takes no word of its NAPI threads while it has no NAPI.
	failed := errors.Join(err, n.bring(true), n.reset("/sys"))
	for name, was := range n.Settings {
		if now, err := os.ReadFile(n.setting(name)); err == nil && strings.TrimSpace(string(now)) != was {
			failed = errors.Join(failed, os.WriteFile(n.setting(name), []byte(was), 0))
		}
	}
	if !n.Up {
		failed = errors.Join(failed, n.bring(false))
	}
	return errors.Join(failed, withLinks(func(h *handle) error {
		link, err := h.LinkByName(n.Device)
		if err != nil {
			return err
		}
		var failed error
		for _, a := range n.Addresses {
			failed = errors.Join(failed, a.put(h, link))
		}
		for _, r := range n.Routes {
			failed = errors.Join(failed, r.put(h, link))
		}
		return failed
	}))
}

func (n NIC) bring(up bool) error {
	return withLinks(func(h *handle) error {
		link, err := h.LinkByName(n.Device)
		if err == nil && up {
			err = h.LinkSetUp(link)
		} else if err == nil {
			err = h.LinkSetDown(link)
		}
		if err != nil {
			return fmt.Errorf("bringing it up or down: %w", err)
		}
		return nil
	})
}

func (a Address) put(h *handle, link netlink.Link) error {
	address, err := netlink.ParseAddr(a.Prefix)
	if err != nil {
		return err
	}
	// What the kernel says of an address is no flag that it takes: permanent, tentative.
	const given = unix.IFA_F_NODAD | unix.IFA_F_HOMEADDRESS | unix.IFA_F_NOPREFIXROUTE | unix.IFA_F_MCAUTOJOIN
	address.Label, address.Scope, address.Flags = a.Label, a.Scope, a.Flags&given
	address.Broadcast = net.IPv4zero // none, which the library would else make up
	if a.Broad != "" {
		address.Broadcast = net.ParseIP(a.Broad).To4()
	}
	address.ValidLft, address.PreferedLft = a.Valid, a.Valid
	if err := h.AddrReplace(link, address); err != nil {
		return fmt.Errorf("giving it the address %s: %w", a.Prefix, err)
	}
	return nil
}

func (r HostRoute) put(h *handle, link netlink.Link) error {
	_, destination, err := net.ParseCIDR(r.Prefix)
	if err != nil {
		return err
	}
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: destination, Gw: net.ParseIP(r.Gateway), Src: net.ParseIP(r.Source),
		Table: r.Table, Priority: r.Metric, Protocol: netlink.RouteProtocol(r.Protocol), Scope: netlink.Scope(r.Scope),
		Type: r.Type, Flags: r.Flags, MTU: r.MTU}
	if err := h.RouteReplace(route); err != nil {
		return fmt.Errorf("giving it the route to %s: %w", r.Prefix, err)
	}
	return nil
}

// prefixOf is the address with its length, of those that it has.
func (n NIC) prefixOf(address netip.Addr) string {
	for _, a := range n.Addresses {
		if p, err := netip.ParsePrefix(a.Prefix); err == nil && p.Addr() == address {
			return a.Prefix
		}
	}
	return ""
}
