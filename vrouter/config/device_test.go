package config_test

import (
	"strings"
	"testing"

	"windtunnel/vrouter/config"
)

// vhostSample is the sample with a VM's port.
func vhostSample(port string) string {
	return strings.Replace(sample, `"interface":"v-sender"`, port, 1)
}

func TestVhostPort(t *testing.T) {
	for text, want := range map[string]config.Attachment{
		`"vhost":"/run/vm1.sock"`:                                  {Vif: 3, Interface: "/run/vm1.sock", Driver: config.DriverVhostServer, MTU: 1500},
		`"vhost":"/run/vm1.sock","vhost_mode":"server"`:            {Vif: 3, Interface: "/run/vm1.sock", Driver: config.DriverVhostServer, MTU: 1500},
		`"vhost":"/run/vm1.sock","vhost_mode":"client","mtu":3822`: {Vif: 3, Interface: "/run/vm1.sock", Driver: config.DriverVhostClient, MTU: 3822},
		`"vhost":"/run/vm1.sock","mtu":68`:                         {Vif: 3, Interface: "/run/vm1.sock", Driver: config.DriverVhostServer, MTU: 68},
		`"interface":"v-sender"`:                                   {Vif: 3, Interface: "v-sender", Driver: config.DriverPacket},
		`"vhost":"/` + strings.Repeat("x", 106) + `"`:              {Vif: 3, Interface: "/" + strings.Repeat("x", 106), Driver: config.DriverVhostServer, MTU: 1500},
		`"interface":"v-sender","driver":"af_xdp"`:                 {Vif: 3, Interface: "v-sender", Driver: config.DriverXDP},
		`"virtio_user":"/run/s.sock"`:                              {Vif: 3, Interface: "/run/s.sock", Driver: config.DriverVirtioClient, MTU: 1500},
		`"tap":"tap0","mtu":1400`:                                  {Vif: 3, Interface: "tap0", Driver: config.DriverTap, MTU: 1400, MAC: parsed.Ports[0].MAC},
		`"tap":"eth0","netns":"/run/netns/c1"`:                     {Vif: 3, Interface: "eth0", Driver: config.DriverTap, MTU: 1500, MAC: parsed.Ports[0].MAC, Netns: "/run/netns/c1"},
		`"pci":"0000:03:00.1"`:                                     {Vif: 3, Interface: "0000:03:00.1", Driver: config.DriverPCI, MTU: 1500},
	} {
		c, err := config.Parse([]byte(vhostSample(text)), "f")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.Ports[0].Attachment(3, 0); got != want {
			t.Errorf("%s: %+v, not %+v", text, got, want)
		}
	}
	c := config.Port{Vhost: "/run/vm1.sock"}
	if c.DeviceMTU() != 1500 {
		t.Errorf("without an MTU, it is %d", c.DeviceMTU())
	}
	if c.MTU = 3000; c.DeviceMTU() != 3000 {
		t.Errorf("with an MTU of 3000, it is %d", c.DeviceMTU())
	}
}

func TestVhostErrors(t *testing.T) {
	const at = `"interface":"v-sender"`
	wrong(t, []mistake{
		{"neither", at + `,`, ``, `ports[0]: the port needs an "interface", or, in poll mode, a "vhost" or "virtio_user" socket, a "tap" or a "pci" address`},
		{"both", at, at + `,"vhost":"/run/x"`, `ports[0].vhost: the port has its "interface", too`},
		{"mode of an interface", at, at + `,"vhost_mode":"client"`, `ports[0].vhost_mode: is for "vhost", the path of a socket`},
		{"mtu of an interface", at, at + `,"mtu":1400`, `ports[0].mtu: is for a port without an "interface"; that has its own: ip link set v-sender mtu 1400`},
		{"no whole path", at, `"vhost":"x.sock"`, `ports[0].vhost: "x.sock" is no whole path of a socket`},
		{"two paths to one", at, `"vhost":"/run/../run/x"`, `ports[0].vhost: "/run/../run/x" is no whole path of a socket`},
		{"the root", at, `"vhost":"/"`, `ports[0].vhost: "/" is no whole path of a socket`},
		{"too long", at, `"vhost":"/` + strings.Repeat("x", 107) + `"`, `ports[0].vhost: the path has 108 bytes; a socket's has at most 107`},
		{"comma", at, `"vhost":"/run/x,client=1"`, `has a character that DPDK cannot have in a socket's path`},
		{"blank", at, `"vhost":"/run/x y"`, `has a character that DPDK cannot have in a socket's path`},
		{"line", at, `"vhost":"/run/x\ny"`, `has a character that DPDK cannot have in a socket's path`},
		{"not ascii", at, `"vhost":"/run/ü"`, `has a character that DPDK cannot have in a socket's path`},
		{"mode", at, `"vhost":"/run/x","vhost_mode":"sever"`, `ports[0].vhost_mode: there is no "sever"; did you mean "server"?`},
		{"small mtu", at, `"vhost":"/run/x","mtu":67`, `ports[0].mtu: 67 is not between 68 and 3822`},
		{"three", at, at + `,"tap":"tap0","pci":"0000:03:00.0"`, `ports[0].tap: the port has its "interface", too`},
		{"mode of a tap", at, `"tap":"tap0","vhost_mode":"server"`, `ports[0].vhost_mode: is for "vhost"`},
		{"mode of a switch's socket", at, `"virtio_user":"/run/s","vhost_mode":"server"`, `a "virtio_user" port always connects`},
		{"driver", at, at + `,"driver":"af_xpd"`, `ports[0].driver: there is no "af_xpd"; did you mean "af_xdp"?`},
		{"driver of another kind", at, at + `,"driver":"pci"`, `ports[0].driver: there is no "pci"`},
		{"driver of a tap", at, `"tap":"tap0","driver":"af_xdp"`, `ports[0].driver: is for an "interface"; a "tap" has its own`},
		{"tap's name", at, `"tap":"a/b"`, `ports[0].tap: "a/b" is no interface's name`},
		{"netns of an interface", at, at + `,"netns":"/run/netns/c1"`, `ports[0].netns: is for a "tap"`},
		{"netns by its name", at, `"tap":"eth0","netns":"c1"`, `ports[0].netns: "c1" is no whole path of a network namespace`},
		{"pci address", at, `"pci":"03:00.0"`, `ports[0].pci: "03:00.0" is no PCI address such as 0000:03:00.0; ` + "`lspci -D` shows them"},
		{"socket of a switch", at, `"virtio_user":"x"`, `ports[0].virtio_user: "x" is no whole path of a socket`},
		{"tap mtu", at, `"tap":"tap0","mtu":9000`, `ports[0].mtu: 9000 is not between 68 and 3822`},
		{"large mtu", at, `"vhost":"/run/x","mtu":3823`, `ports[0].mtu: 3823 is not between 68 and 3822`},
	})
}

// TestVhostTwice: a socket is one port's.
func TestVhostTwice(t *testing.T) {
	c := parsed
	second := c.Ports[0]
	c.Ports = []config.Port{c.Ports[0], second}
	for i := range c.Ports {
		c.Ports[i].Interface, c.Ports[i].Vhost = "", "/run/x"
	}
	c.Ports[1].Name = "second"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), `ports[1].vhost: "/run/x" is in use already`) {
		t.Errorf("%v", err)
	}
}

// TestFabricDevice: the fabric may be a device that is no interface of the host's.
func TestFabricDevice(t *testing.T) {
	const at = `"interface":"wire0"`
	for device, want := range map[string]config.Attachment{
		`{"pci":"0000:03:00.0"}`:                 {Interface: "0000:03:00.0", Driver: config.DriverPCI},
		`{"interface":"eth1","driver":"af_xdp"}`: {Interface: "eth1", Driver: config.DriverXDP},
		`{"vhost":"/run/a"}`:                     {Interface: "/run/a", Driver: config.DriverVhostServer},
		`{"virtio_user":"/run/a"}`:               {Interface: "/run/a", Driver: config.DriverVirtioClient},
	} {
		c, err := config.Parse([]byte(strings.Replace(sample, at, at+`,"device":`+device, 1)), "f")
		if err != nil {
			t.Errorf("%s: %v", device, err)
			continue
		}
		want.Ifindex, want.MTU, want.Host = 7, 1600, "wire0"
		if got := c.Fabric.Attachment(7, 1600); got != want {
			t.Errorf("%s: %+v, not %+v", device, got, want)
		}
	}
	if got := parsed.Fabric.Attachment(7, 1600); got != (config.Attachment{Ifindex: 7, Interface: "wire0", Driver: config.DriverPacket}) {
		t.Errorf("without a device: %+v", got)
	}
	wrong(t, []mistake{
		{"nothing", at, at + `,"device":{}`, `fabric.device: the fabric's device needs an "interface"`},
		{"tap", at, at + `,"device":{"tap":"t"}`, `fabric.device.tap: has no other side`},
		{"interface alone", at, at + `,"device":{"interface":"eth1"}`, `fabric.device.interface: is for "driver": "af_xdp"`},
		{"the host's own", at, at + `,"device":{"interface":"wire0","driver":"af_xdp"}`, `fabric.device.interface: "wire0" is in use already`},
		{"unknown", at, at + `,"device":{"pic":"0000:03:00.0"}`, `unknown key "pic"; there is driver, interface, netns, pci`},
	})
}

// TestPinned: a device of PCI anywhere, and AF_XDP nowhere.
func TestPinned(t *testing.T) {
	pci, xdp, veth := config.Port{PCI: "0000:03:00.0"}, config.Port{Interface: "v1", Driver: config.DriverXDP}, config.Port{Interface: "v2"}
	for _, c := range []struct {
		fabric *config.Device
		ports  []config.Port
		want   bool
	}{
		{nil, []config.Port{veth}, false},
		{nil, []config.Port{veth, pci}, true},
		{&config.Device{PCI: "0000:03:00.0"}, []config.Port{veth}, true},
		{&config.Device{PCI: "0000:03:00.0"}, []config.Port{xdp}, false},
		{&config.Device{Interface: "wire0", Driver: config.DriverXDP}, []config.Port{pci}, false},
	} {
		if got := (config.Config{Fabric: config.Fabric{Device: c.fabric}, Ports: c.ports}).Pinned(); got != c.want {
			t.Errorf("fabric %+v, ports %+v: %t", c.fabric, c.ports, got)
		}
	}
}
