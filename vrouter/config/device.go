package config

import (
	"path"
	"regexp"
	"strings"
)

// Device is what packets come from and go to: one of Interface, Vhost, VirtioUser, Tap and PCI. All but
// a plain interface are the poll mode's.
type Device struct {
	Interface string `json:"interface,omitempty"`
	// Driver is how an interface is read and written: "af_packet", the default, or "af_xdp".
	Driver Driver `json:"driver,omitempty"`
	// Vhost is the path of a vhost-user socket, whose other side is a VM or a process with virtio-user.
	Vhost string `json:"vhost,omitempty"`
	// VirtioUser is the path of one whose other side is a switch: the vRouter stands for the VM.
	// It connects.
	VirtioUser string    `json:"virtio_user,omitempty"`
	VhostMode  VhostMode `json:"vhost_mode,omitempty"`
	// Tap is the name of an interface that the vRouter makes.
	Tap string `json:"tap,omitempty"`
	// Netns is the path of the network namespace that the tap is in, a container's; empty: the vRouter's own.
	Netns string `json:"netns,omitempty"`
	PCI   string `json:"pci,omitempty"` // the address of a device
}

// VhostMode is who makes a vhost-user socket. The other side connects to it.
type VhostMode string

const (
	// VhostServer: the vRouter does, and the VM connects (QEMU's chardev with reconnect).
	VhostServer VhostMode = "server"
	// VhostClient: the VM does (QEMU's chardev with server=on), and the vRouter connects.
	VhostClient VhostMode = "client"
)

var (
	vhostModes       = []string{string(VhostServer), string(VhostClient)}
	interfaceDrivers = []string{string(DriverPacket), string(DriverXDP)}
	pciPattern       = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
)

// MTUs of ports that are no interfaces: the least is IPv4's (RFC 791, section 3.2), and the most leaves
// a buffer of the poll mode room for the Ethernet header and a VLAN tag (poll/ports.h).
const (
	DefaultDeviceMTU = 1500
	minDeviceMTU     = 68
	maxDeviceMTU     = 3840 - 18
	maxSocketPath    = 107  // sun_path of unix(7), and the zero that ends it
	maxPath          = 4095 // PATH_MAX of linux/limits.h, and the zero
)

// device is the port's.
func (p Port) device() Device {
	return Device{p.Interface, p.Driver, p.Vhost, p.VirtioUser, p.VhostMode, p.Tap, p.Netns, p.PCI}
}

// places are what a device can be, by their keys; one of them is not empty.
func (d Device) places() [][2]string {
	return [][2]string{{"interface", d.Interface}, {"vhost", d.Vhost}, {"virtio_user", d.VirtioUser}, {"tap", d.Tap}, {"pci", d.PCI}}
}

// Place is an interface's name, a socket's path or a PCI address. No two of them look alike, but a tap
// is an interface, too.
func (d Device) Place() string {
	for _, place := range d.places() {
		if place[1] != "" {
			return place[1]
		}
	}
	return ""
}

// Place is where the port's packets come from and go to.
func (p Port) Place() string { return p.device().Place() }

// How is the driver that the poll mode takes for it.
func (d Device) How() Driver {
	switch {
	case d.Vhost != "" && d.VhostMode == VhostClient:
		return DriverVhostClient
	case d.Vhost != "":
		return DriverVhostServer
	case d.VirtioUser != "":
		return DriverVirtioClient
	case d.Tap != "":
		return DriverTap
	case d.PCI != "":
		return DriverPCI
	case d.Driver != "":
		return d.Driver
	}
	return DriverPacket
}

// PollOnly is the key by which a device is the poll mode's; empty if it is not.
func (d Device) PollOnly() string {
	if d.Driver != "" {
		return "driver"
	}
	for _, place := range d.places()[1:] {
		if place[1] != "" {
			return place[0]
		}
	}
	return ""
}

// PollOnly is the same of a port.
func (p Port) PollOnly() string { return p.device().PollOnly() }

// How is the driver that the poll mode takes for the port.
func (p Port) How() Driver { return p.device().How() }

// DeviceMTU is that of a port that is no interface.
func (p Port) DeviceMTU() uint32 {
	if p.MTU == 0 {
		return DefaultDeviceMTU
	}
	return p.MTU
}

// Attachment is the port's, at the vif that it has.
func (p Port) Attachment(vif, ifindex uint32) Attachment {
	at := Attachment{Vif: vif, Ifindex: ifindex, Interface: p.Place(), Driver: p.How()}
	if at.Driver == DriverTap {
		at.MAC, at.Netns = p.MAC, p.Netns
	}
	if !at.Driver.IsInterface() {
		at.MTU = p.DeviceMTU()
	}
	return at
}

// Attachment is the fabric's, whose interface has an index and an MTU.
func (f Fabric) Attachment(ifindex, mtu uint32) Attachment {
	if f.Device == nil {
		return Attachment{Ifindex: ifindex, Interface: f.Interface, Driver: DriverPacket}
	}
	return Attachment{Ifindex: ifindex, Interface: f.Device.Place(), Driver: f.Device.How(), MTU: mtu, Host: f.Interface}
}

// place checks where the port is, and that no other is there.
func (k *checker) place(at string, p Port) *Error {
	d := p.device()
	if err := k.device(at, "the port", d); err != nil {
		return err
	}
	switch {
	case p.Interface != "" && p.MTU != 0:
		return bad(at+".mtu", `is for a port without an "interface"; that has its own: ip link set %s mtu %d`, p.Interface, p.MTU)
	case p.MTU != 0 && (p.MTU < minDeviceMTU || p.MTU > maxDeviceMTU):
		return bad(at+".mtu", "%d is not between %d and %d", p.MTU, minDeviceMTU, maxDeviceMTU)
	}
	return nil
}

// device checks one, and that nobody else has it.
func (k *checker) device(at, whose string, d Device) *Error {
	key := ""
	for _, place := range d.places() {
		switch {
		case place[1] == "":
		case key != "":
			return bad(at+"."+place[0], "%s has its %q, too; leave one of them out", whose, key)
		default:
			key = place[0]
		}
	}
	if key == "" {
		return bad(at, `%s needs an "interface", or, in poll mode, a "vhost" or "virtio_user" socket, a "tap" or a "pci" address`, whose)
	}
	if err := d.check(at, key); err != nil {
		return err
	}
	place := d.Place()
	if d.Netns != "" {
		place += " in " + d.Netns
	}
	if k.interfaces[place] {
		return bad(at+"."+key, "%q is in use already", place)
	}
	k.interfaces[place] = true
	return nil
}

// check looks at a device that has one place, by its key.
func (d Device) check(at, key string) *Error {
	place := d.Place()
	switch {
	case d.VhostMode != "" && key != "vhost": // DPDK's virtio-user would wait for a switch, and all ports with it
		return bad(at+".vhost_mode", `is for "vhost", the path of a socket; a "virtio_user" port always connects`)
	case d.VhostMode != "" && d.VhostMode != VhostServer && d.VhostMode != VhostClient:
		return bad(at+".vhost_mode", "there is no %q%s", d.VhostMode, Nearest(string(d.VhostMode), vhostModes))
	case d.Driver != "" && key != "interface":
		return bad(at+".driver", `is for an "interface"; a %q has its own`, key)
	case d.Driver != "" && !d.Driver.IsInterface():
		return bad(at+".driver", "there is no %q%s", d.Driver, Nearest(string(d.Driver), interfaceDrivers))
	case d.Netns != "" && key != "tap":
		return bad(at+".netns", `is for a "tap", which is made in there; what else there is has to be in the vRouter's own`)
	case d.Netns != "" && (!path.IsAbs(d.Netns) || path.Clean(d.Netns) != d.Netns || len(d.Netns) > maxPath):
		return bad(at+".netns", "%q is no whole path of a network namespace, such as /run/netns/c1", d.Netns)
	case (key == "interface" || key == "tap") && !interfacePattern.MatchString(place):
		return bad(at+"."+key, "%q is no interface's name", place)
	case key == "pci" && !pciPattern.MatchString(place):
		return bad(at+".pci", "%q is no PCI address such as 0000:03:00.0; `lspci -D` shows them", place)
	case key == "vhost" || key == "virtio_user":
		return socketPath(at+"."+key, place)
	}
	return nil
}

// socketPath: one that means the same to all who read it, DPDK's device arguments among them.
func socketPath(at, socket string) *Error {
	switch {
	case !path.IsAbs(socket) || path.Clean(socket) != socket || socket == "/":
		return bad(at, "%q is no whole path of a socket, such as /run/vm1.sock", socket)
	case len(socket) > maxSocketPath:
		return bad(at, "the path has %d bytes; a socket's has at most %d (unix(7))", len(socket), maxSocketPath)
	case strings.ContainsFunc(socket, func(r rune) bool { return r <= ' ' || r >= 127 || strings.ContainsRune(`,=[]\"'`, r) }):
		return bad(at, "%q has a character that DPDK cannot have in a socket's path: a blank, a comma, =, [, ], a quote, a backslash, or none of ASCII", socket)
	}
	return nil
}

// fabricDevice checks what the fabric is, if it is none of the host's interfaces.
func (k *checker) fabricDevice() *Error {
	switch d := k.config.Fabric.Device; {
	case d == nil:
		return nil
	case d.Tap != "":
		return bad("fabric.device.tap", `has no other side; a fabric that is an interface of the host's is an "interface" alone`)
	case d.Interface != "" && d.How() != DriverXDP:
		return bad("fabric.device.interface", `is for "driver": "af_xdp"; without that driver, the fabric is the "interface" alone, and has no "device"`)
	default:
		return k.device("fabric.device", "the fabric's device", *d)
	}
}
